"""Converts logs and exports of other tools to recordings.

No format belongs here that was never seen in a real file. Where one is known from its
source only, docs/importing.md says so.
"""

__all__: list[str] = []
