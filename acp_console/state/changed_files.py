"""The files that a session has changed, with the lines added and removed."""

from __future__ import annotations

from collections.abc import Iterable

from acp_console.state.line_diff import file_changes
from acp_inspector.analysis.items import Item, ToolCallItem
from acp_protocol.json_values import get_text


class ChangedFiles:
    """Follows the diffs of tool calls that are done."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[str, tuple[int, int] | None]] = {}
        """Lines added and removed by each call, by path; None: it deleted the file."""

    def note(self, items: Iterable[Item]) -> None:
        """Take tool calls that are new or have changed."""
        for item in items:
            if not isinstance(item, ToolCallItem):
                continue
            changes: dict[str, tuple[int, int] | None] = {}
            for change in (each for content in item.content for each in file_changes(content)):
                added, removed = changes.get(change.path) or (0, 0)
                counts = added + change.added, removed + change.removed
                if change.path:
                    changes[change.path] = None if change.is_deleted else counts
            if item.facts.kind == "delete":
                places = (get_text(each, "path") for each in item.facts.locations)
                changes.update((path, None) for path in places if path is not None)
            if changes and item.facts.status == "completed":
                self._calls[id(item)] = changes
            else:
                self._calls.pop(id(item), None)

    def clear(self) -> None:
        self._calls.clear()

    def files(self) -> dict[str, tuple[int, int] | None]:
        """Return added and removed lines of each file, None if deleted; the last changed last."""
        total: dict[str, tuple[int, int] | None] = {}
        for changes in self._calls.values():
            for path, change in changes.items():
                before = total.pop(path, None) or (0, 0)
                total[path] = change and (before[0] + change[0], before[1] + change[1])
        return total
