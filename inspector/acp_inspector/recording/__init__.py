"""Recordings on disk: their format, reading and writing them."""

__all__: list[str] = []
