"""Sessions that are open: what each holds, and how many are awake."""

__all__: list[str] = []
