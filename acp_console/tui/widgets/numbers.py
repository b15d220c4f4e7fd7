"""Numbers as a person reads them, the same everywhere: with a space between thousands."""

from __future__ import annotations


def number(count: float, digits: int = 0) -> str:
    """Return a number, with so many digits behind the point."""
    return f"{count:,.{digits}f}".replace(",", " ")


def many(count: int, word: str) -> str:
    """Return a number of things."""
    return f"{number(count)} {word}" if count == 1 else f"{number(count)} {word}s"
