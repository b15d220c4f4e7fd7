"""The rows of the traffic: content, filtering, searching."""

__all__: list[str] = []
