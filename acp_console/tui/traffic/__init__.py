"""The frames of a connection, and what is shown of each."""

__all__: list[str] = []
