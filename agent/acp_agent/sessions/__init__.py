"""What is kept of sessions, in memory or in a directory; what travels on the wire is not known."""

__all__: list[str] = []
