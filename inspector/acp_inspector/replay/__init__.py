"""Recordings as regression tests: playing them, and comparing by meaning."""

__all__ = ["bindings", "comparison", "player", "verdict"]
