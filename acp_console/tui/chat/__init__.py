"""The chat screen and its widgets."""

__all__: list[str] = []
