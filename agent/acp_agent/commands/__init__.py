"""The slash commands that the agent itself has, whichever model serves."""

__all__: list[str] = []
