"""The client: agents, connections, sessions, permissions and files."""

__all__: list[str] = []
