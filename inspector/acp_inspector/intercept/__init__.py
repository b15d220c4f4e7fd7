"""Pause, change, break and inject frames between a client and its agent."""

__all__: list[str] = []
