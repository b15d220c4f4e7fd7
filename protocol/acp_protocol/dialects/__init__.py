"""Named ways of speaking that differ from the published protocol: one module for each.

A dialect turns frames into the official v1 frames that say the same, and back. It does no I/O.
"""

__all__: list[str] = []
