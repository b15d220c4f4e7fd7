"""What decides what the agent says and does."""

__all__: list[str] = []
