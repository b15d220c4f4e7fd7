"""The chat screen and what it consists of."""

__all__: list[str] = []
