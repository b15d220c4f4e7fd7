"""Pausing, changing and sending frames."""

__all__: list[str] = []
