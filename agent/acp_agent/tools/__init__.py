"""What the agent can do to the session's directory."""

__all__: list[str] = []
