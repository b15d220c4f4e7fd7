"""The files that a session has changed, with the lines added and removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from acp_console.chat.line_diff import FileChange, file_changes
from acp_inspector.session.items import Effect, Item, ToolCallItem
from acp_protocol.json_values import get_text

Changes: TypeAlias = dict[str, FileChange | None]
"""The files that an item changed, by path; None for a write without a diff."""


class ChangedFiles:
    """Follows the diffs of tool calls that are done, and what was written without asking."""

    def __init__(self) -> None:
        self._items: dict[int, Changes] = {}
        """What each item changed."""

    def note(self, items: Iterable[Item]) -> None:
        """Take items that are new or have changed."""
        for item in items:
            if isinstance(item, ToolCallItem | Effect):
                if changes := changes_of(item):
                    self._items[id(item)] = changes
                else:
                    self._items.pop(id(item), None)

    def clear(self) -> None:
        self._items.clear()

    def files(self) -> dict[str, FileChange]:
        """Return the changed files by path; the last changed last.

        A write through the client adds nothing to the lines of the call that it belongs to.
        """
        return total_changes(self._items.values())


def total_changes(every: Iterable[Changes]) -> dict[str, FileChange]:
    """Return the changed files by path; the last changed last."""
    total: Changes = {}
    for changes in every:
        for path, change in changes.items():
            earlier = total.pop(path, None)
            if change is not None:
                total[path] = change.after(earlier)
            else:
                total[path] = None if earlier is None or earlier.is_deleted else earlier
    return {path: each or FileChange(path, is_counted=False) for path, each in total.items()}


def changes_of(item: Item) -> Changes:
    """Return what an item changed, if it is a call that is done, or a write."""
    match item:
        case ToolCallItem():
            return {**_changes_of_call(item)}
        case Effect(path=str(path)) if path:
            return {path: None}
        case _:
            return {}


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
