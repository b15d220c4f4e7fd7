"""Forwards every byte between a client and its agent unchanged, and records it off that path."""

__all__: list[str] = []
