"""Frames held, changed, broken and made up between a client and its agent, on purpose and told."""

__all__: list[str] = []
