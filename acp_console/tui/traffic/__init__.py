"""The traffic pane: the frames of a connection, and their details."""

__all__: list[str] = []
