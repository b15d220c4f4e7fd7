"""The man in the middle for ACP over HTTP and WebSocket, with all that the stdio proxy has."""

__all__: list[str] = []
