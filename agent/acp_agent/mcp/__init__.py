"""The MCP servers of a session, whose tools the model calls as any other tool."""

__all__: list[str] = []
