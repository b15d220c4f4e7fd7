"""One language to say which frames are meant, for breakpoints, tables and exports alike."""

__all__: list[str] = []
