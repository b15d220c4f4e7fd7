"""What is stored of sessions, in memory or in a directory, whatever version a client speaks."""

__all__: list[str] = []
