"""Two sources of traffic, compared side by side."""

__all__: list[str] = []
