"""The client: agents and how to reach them, sessions, permissions, files."""

__all__: list[str] = []
