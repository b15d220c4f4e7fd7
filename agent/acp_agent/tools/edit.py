"""Changing parts of files: exact replacements, and patches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from acp_agent.models.model import ToolOffer
from acp_agent.tools.changes import Change, change_call, read, read_if_there
from acp_agent.tools.tool import (
    Call,
    Kind,
    ToolFailedError,
    argument,
    flag,
    parameters,
    text_parameter,
    titled,
)
from acp_agent.tools.unified import PatchError, read_patch
from acp_agent.workspace import Workspace
from acp_protocol.jsonrpc import Json

EDIT_LIMIT: Final = 200
"""Replacements of one call."""
SHOWN: Final = 80
"""Characters of a text that was not found which are repeated."""
_EDIT: Final[Mapping[str, Json]] = {
    "new": text_parameter("The text to put there."),
    "old": {
        "type": ["string", "null"],
        "description": "The text to replace, exactly as it stands in the file and nowhere else in "
        "it; without it, `new` is added to the end.",
    },
    "all": {"type": "boolean", "description": "Replace it wherever it stands."},
}


class EditTool:
    """Replaces text in a file, or adds to its end."""

    offer = ToolOffer(
        "edit",
        "Replace text in a file, or add to its end. Either `new` and `old`, or several of them in "
        "`edits`, which are made one after the other, all or none.",
        parameters(
            {"path": text_parameter("The file, relative to the session's directory.")},
            {
                **_EDIT,
                "edits": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": dict(_EDIT),
                        "required": ["new"],
                        "additionalProperties": False,
                    },
                    "minItems": 1,
                    "maxItems": EDIT_LIMIT,
                },
            },
        ),
    )
    kind: Kind = "edit"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Work out the new text, so that the user can be shown the change before it is made."""
        name = argument(arguments, "path")
        path = workspace.path(name)
        before = after = await read(workspace, path)
        for edit in _edits(arguments):
            after = _edited(name, after, edit)
        return change_call(workspace, titled("Edit", name), [Change(path, before, after)])


class PatchTool:
    """Changes and makes files as a patch tells."""

    offer = ToolOffer(
        "patch",
        "Change files, or make new ones, by a patch in the unified format of `diff -u` and git. "
        "Its context must be in the file exactly; it may stand some lines off.",
        parameters({"patch": text_parameter("The patch, with `---` and `+++` before each file.")}),
    )
    kind: Kind = "edit"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Work out the new texts, so that the user can be shown the changes before."""
        try:
            changes = await _changes(argument(arguments, "patch"), workspace)
        except PatchError as problem:
            raise ToolFailedError(f"the patch does not fit: {problem}") from None
        more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
        title = titled("Patch", next(iter(changes))) + more
        return change_call(workspace, title, list(changes.values()))


async def _changes(text: str, workspace: Workspace) -> dict[str, Change]:
    """Return what a patch changes, by the names in it."""
    changes: dict[str, Change] = {}
    paths: set[str] = set()
    for patch in read_patch(text):
        path = workspace.path(patch.name)
        if path in paths:
            raise PatchError(f"{patch.name} stands in it twice")
        paths.add(path)
        before = await read_if_there(workspace, path)
        changes[patch.name] = Change(path, before, patch.applied(before))
    return changes


def _edits(arguments: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """Return the edits that are wanted, in their order."""
    edits: Json = arguments.get("edits")
    if edits is None:
        return [arguments]
    if "new" in arguments:
        raise ToolFailedError("either `new` and `old`, or `edits`, and not both")
    listed = cast("list[Json]", edits) if isinstance(edits, list) else []
    if not 0 < len(listed) <= EDIT_LIMIT or not all(isinstance(each, dict) for each in listed):
        raise ToolFailedError(f"the argument edits is no list of 1 to {EDIT_LIMIT} edits")
    return listed


def _edited(name: str, text: str, edit: Mapping[str, Json]) -> str:
    """Return `text` as `edit` wants it."""
    new, is_all = argument(edit, "new"), flag(edit, "all")
    if edit.get("old") is None:
        gap = "" if text.endswith("\n") or not text else "\n"
        return text + gap + new
    old = argument(edit, "old")
    shown = repr(old if len(old) <= SHOWN else f"{old[:SHOWN]}…")
    count = text.count(old) if old else 0
    if count == 0:
        raise ToolFailedError(f"{name} does not hold the text {shown}")
    if count > 1 and not is_all:
        raise ToolFailedError(
            f"{name} holds the text {shown} {count} times: give more of what stands around it, "
            "or replace all"
        )
    return text.replace(old, new)
