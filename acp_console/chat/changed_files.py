"""The files that a session has changed, with the lines added and removed."""

from __future__ import annotations

from collections.abc import Iterable

from acp_console.chat.line_diff import FileChange, file_changes
from acp_inspector.session.items import Effect, Item, ToolCallItem
from acp_protocol.json_values import get_text


class ChangedFiles:
    """Follows the diffs of tool calls that are done, and what was written without asking."""

    def __init__(self) -> None:
        self._items: dict[int, dict[str, FileChange]] = {}
        """The files that each item changed, by path."""

    def note(self, items: Iterable[Item]) -> None:
        """Take items that are new or have changed."""
        for item in items:
            match item:
                case ToolCallItem():
                    changes = _changes_of_call(item)
                case Effect(path=str(path)) if path:
                    changes = {path: FileChange(path, is_counted=False)}
                case _:
                    continue
            if changes:
                self._items[id(item)] = changes
            else:
                self._items.pop(id(item), None)

    def clear(self) -> None:
        self._items.clear()

    def files(self) -> dict[str, FileChange]:
        """Return the changed files by path; the last changed last."""
        total: dict[str, FileChange] = {}
        for changes in self._items.values():
            for path, change in changes.items():
                total[path] = change.after(total.pop(path, None))
        return total


def _changes_of_call(call: ToolCallItem) -> dict[str, FileChange]:
    if call.facts.status != "completed":
        return {}
    found: dict[str, FileChange] = {}
    for change in (each for content in call.content for each in file_changes(content)):
        if change.path:
            found[change.path] = change.after(found.get(change.path))
    if call.facts.kind == "delete":
        places = (get_text(each, "path") for each in call.facts.locations)
        found |= {path: FileChange(path, is_deleted=True) for path in places if path is not None}
    return found
