"""Journals on disk: the format, writing and reading it."""

__all__: list[str] = []
