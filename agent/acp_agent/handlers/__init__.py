"""Handlers of the methods that a client calls, one class for each version of the protocol."""

__all__: list[str] = []
