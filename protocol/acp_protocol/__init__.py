"""The Agent Client Protocol: framing, JSON-RPC, schema, connections, transports, processes."""

__all__: list[str] = []
