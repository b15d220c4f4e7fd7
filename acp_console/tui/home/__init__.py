"""The first screen."""

__all__: list[str] = []
