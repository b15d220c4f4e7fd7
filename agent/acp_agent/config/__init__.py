"""What the agent is started with: one configuration from a file, the environment and flags."""

__all__: list[str] = []
