"""The files that a session has changed, with the lines added and removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from acp_inspector.analysis.items import Item, ToolCallItem
from acp_protocol.jsonrpc import Json

COUNTED = 200_000
"""Characters of a diff whose lines are counted."""


class ChangedFiles:
    """Follows the diffs of tool calls that are done."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[str, tuple[int, int]]] = {}
        """Lines added and removed by each call, by path."""

    def note(self, items: Iterable[Item]) -> None:
        """Take tool calls that are new or have changed."""
        for item in items:
            if not isinstance(item, ToolCallItem):
                continue
            changes = dict(filter(None, map(_change, item.content)))
            if changes and item.facts.status == "completed":
                self._calls[id(item)] = changes
            else:
                self._calls.pop(id(item), None)

    def clear(self) -> None:
        self._calls.clear()

    def files(self) -> list[tuple[str, int, int]]:
        """Return path, added and removed lines of each file, the last changed one last."""
        total: dict[str, tuple[int, int]] = {}
        for changes in self._calls.values():
            for path, (added, removed) in changes.items():
                before = total.pop(path, (0, 0))
                total[path] = before[0] + added, before[1] + removed
        return [(path, added, removed) for path, (added, removed) in total.items()]


def _change(content: Json) -> tuple[str, tuple[int, int]] | None:
    match content:
        case {"type": "diff", "path": str(path), "newText": str(new), **others}:
            old = others.get("oldText")
            before = old if isinstance(old, str) else ""
            if len(before) + len(new) > COUNTED:
                return path, (0, 0)
            gone, come = Counter(before.splitlines()), Counter(new.splitlines())
            return path, ((come - gone).total(), (gone - come).total())
        case {"type": "diff", "path": str(path)}:
            return path, (0, 0)
        case _:
            return None
