"""Recordings made of what other tools wrote down.

What must never enter this room: a format that nobody has seen written. Where one is known from its
source only, docs/importing.md says so.
"""

__all__: list[str] = []
