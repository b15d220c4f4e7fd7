"""Recordings as regression tests: playing them, and comparing by meaning."""

__all__: list[str] = []
