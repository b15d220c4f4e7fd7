"""Converts logs and exports of other tools to recordings.

A format is only supported if a real file of it was seen; docs/importing.md names the exceptions,
which are known only from source code.
"""

__all__: list[str] = []
