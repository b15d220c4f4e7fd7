"""The wire: frames, messages, shapes, connections, and what they need of the machine."""

__all__: list[str] = []
