"""Reads the settings from a file, the environment, and flags, and shows them."""

__all__: list[str] = []
