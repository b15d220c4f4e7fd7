"""Plays recordings against live agents and compares the results."""

__all__: list[str] = []
