"""The observer's side of a running proxy: finding it, watching it, asking it for deeds."""

__all__: list[str] = []
