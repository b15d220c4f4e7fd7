"""What only Continuum Router has: its configuration file and its admin endpoints."""

__all__: list[str] = []
