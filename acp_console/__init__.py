"""The console: command line, client runtime and terminal screens."""

__all__: list[str] = []
