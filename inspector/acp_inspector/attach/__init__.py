"""The observer's side of a running proxy: find it, watch it, send it commands."""

__all__: list[str] = []
