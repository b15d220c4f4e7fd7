"""The rows of the traffic: what is shown of each, filtering, searching."""

__all__: list[str] = []
