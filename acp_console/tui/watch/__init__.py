"""The screen for proxies and recordings."""

__all__: list[str] = []
