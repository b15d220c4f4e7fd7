"""Rules about tool calls: what a call touches, and which rule decides about it."""
