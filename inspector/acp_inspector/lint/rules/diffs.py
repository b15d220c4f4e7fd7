"""The diffs that tool calls show.

Source: ACP, "Tool Calls", "Overview".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import Context, Place, Violation, items, quoted
from acp_inspector.lint.on import Triggers
from acp_inspector.lint.registry import check, each_of
from acp_inspector.lint.rules.tool_calls import TOOL_CALL_MESSAGES, content_of
from acp_inspector.lint.text_checks import NOWHERE, PatchedFile, is_absolute, read_patch
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json

DIFF_MESSAGES: Final[Triggers] = (*TOOL_CALL_MESSAGES, *on.update("tool_call_content_chunk"))
"""Messages that may show a diff."""
PAIRS: Final = frozenset({"move", "copy"})
"""File operations with an old and a new path."""
OPERATIONS: Final = frozenset({"add", "delete", "modify"}) | PAIRS
CHARACTERS: Final = 1_000_000
"""Longest patch to check, in characters; longer ones are skipped."""


def _diffs(context: Context) -> list[Place]:
    if context.variant == "tool_call_content_chunk":
        item = as_object(context.update.get("content"))
        return [("params.update.content", item)] if item.get("type") == "diff" else []
    place, content = content_of(context)
    return [each for each in items(place, content) if each[1].get("type") == "diff"]


def _changes(context: Context) -> list[Place]:
    return [
        change
        for place, diff in _diffs(context)
        for change in items(f"{place}.changes", diff.get("changes"))
    ]


def _diffs_and_changes(context: Context) -> list[Place]:
    return _diffs(context) + _changes(context)


@check("ACP-L204", DIFF_MESSAGES)
@each_of(_diffs)
def diffs_are_complete(context: Context, place: str, diff: dict[str, Json]) -> Iterator[Violation]:
    # ACP-L207 reports a path that is not absolute.
    if not isinstance(diff.get("path"), str):
        what = "is not a string" if "path" in diff else "is missing"
        yield f"the path of the diff {what}", f"{place}.path"
    if not isinstance(diff.get("newText"), str):
        what = "is not a string" if "newText" in diff else "is missing"
        yield f"the newText of the diff {what}", f"{place}.newText"


@check("ACP-L205", DIFF_MESSAGES)
@each_of(_diffs)
def diffs_have_changes(context: Context, place: str, diff: dict[str, Json]) -> Iterator[Violation]:
    if not isinstance(diff.get("changes"), list):
        what = "are not an array" if "changes" in diff else "are missing"
        yield f"the changes of the diff {what}", f"{place}.changes"
    for name in ("path", "oldText", "newText"):
        if name in diff:
            yield f"the diff has version 1's {name}", f"{place}.{name}"


@check("ACP-L206", DIFF_MESSAGES)
@each_of(_changes)
def changes_have_their_paths(
    context: Context, place: str, change: dict[str, Json]
) -> Iterator[Violation]:
    operation = change.get("operation")
    if isinstance(operation, str) and operation not in OPERATIONS:
        return
    is_pair = isinstance(operation, str) and operation in PAIRS
    wanted = ("oldPath", "path") if is_pair else ("path",)
    for name in wanted:
        if not isinstance(change.get(name), str):
            yield f"the change {quoted(operation)} has no {name}", f"{place}.{name}"


@check("ACP-L207", DIFF_MESSAGES)
@each_of(_diffs_and_changes)
def paths_of_diffs_are_absolute(
    context: Context, place: str, each: dict[str, Json]
) -> Iterator[Violation]:
    for name in ("path", "oldPath"):
        path = each.get(name)
        if isinstance(path, str) and not is_absolute(path):
            yield f"the {name} {quoted(path)} is not absolute", f"{place}.{name}"


def _patches(context: Context) -> list[Place]:
    """Return the diffs with a Git patch."""
    return [
        (place, diff)
        for place, diff in _diffs(context)
        if (patch := as_object(diff.get("patch"))).get("format") == "git_patch"
        and isinstance(text := patch.get("text"), str)
        and len(text) <= CHARACTERS
    ]


def _text(diff: dict[str, Json]) -> str:
    text = as_object(diff.get("patch")).get("text")
    return text if isinstance(text, str) else ""


@check("ACP-L208", DIFF_MESSAGES)
@each_of(_patches)
def patches_are_bare_and_absolute(
    context: Context, place: str, diff: dict[str, Json]
) -> Iterator[Violation]:
    patch, where = read_patch(_text(diff)), f"{place}.patch.text"
    if patch.preamble:
        yield f"the patch begins with {quoted(patch.preamble)}, not “diff --git”", where
    elif not patch.files:
        yield "the patch has no “diff --git”", where
    for file in patch.files:
        names = [name for name in file.names if name != NOWHERE and not is_absolute(name)]
        header = file.header.removeprefix('"')
        if names or not is_absolute(header):
            yield f"the path {quoted(names[0] if names else header)} is not absolute", where


@check("ACP-L209", DIFF_MESSAGES)
@each_of(_patches)
def patches_agree_with_changes(
    context: Context, place: str, diff: dict[str, Json]
) -> Iterator[Violation]:
    """Flag files in a patch that `changes` lacks or describes differently.

    A patch may show a moved file as one deleted and one added file, as Git can write it.
    """
    changes = [as_object(each) for each in as_list(diff.get("changes"))]
    for file in read_patch(_text(diff)).files:
        if file.path is None or not is_absolute(file.path):
            continue
        if not any(_is_reported_by(file, change) for change in changes):
            yield (
                f"the patch has {file.operation} of {quoted(file.path)}, changes has not",
                f"{place}.changes",
            )


def _is_reported_by(file: PatchedFile, change: dict[str, Json]) -> bool:
    operation, path, old = change.get("operation"), change.get("path"), change.get("oldPath")
    if not isinstance(operation, str) or operation not in OPERATIONS:
        return path == file.path
    if operation == file.operation:
        return path == file.path and (file.old is None or operation not in PAIRS or old == file.old)
    if file.operation == "delete":
        return operation == "move" and old == file.path
    return file.operation == "add" and operation in PAIRS and path == file.path


@check("ACP-L210", DIFF_MESSAGES)
@each_of(_diffs)
def texts_come_with_a_patch(
    context: Context, place: str, diff: dict[str, Json]
) -> Iterator[Violation]:
    if diff.get("patch") is not None:
        return
    for change in map(as_object, as_list(diff.get("changes"))):
        if change.get("fileType") == "text":
            yield f"the text {quoted(change.get('path'))} changes without a patch", f"{place}.patch"
            return


@check("ACP-L211", DIFF_MESSAGES)
@each_of(_diffs)
def diffs_change_something(
    context: Context, place: str, diff: dict[str, Json]
) -> Iterator[Violation]:
    if diff.get("changes") == []:
        yield "the diff has no changes", f"{place}.changes"
