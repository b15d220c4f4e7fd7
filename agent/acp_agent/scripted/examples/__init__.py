"""Scripts that `acp-agent --script NAME` runs."""
