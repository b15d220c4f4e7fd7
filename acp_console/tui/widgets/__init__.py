"""The parts of the screens; each can be built again from what it is handed."""

__all__: list[str] = []
