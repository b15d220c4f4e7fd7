"""The diffs that tool calls show.

Source: ACP, "Tool Calls", "Overview".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema
from acp_inspector.lint.context import Context, Place, Violation, items, quoted
from acp_inspector.lint.on import Triggers
from acp_inspector.lint.registry import LintSubject, checked_by, details, each_of, fix
from acp_inspector.lint.rules.tool_calls import TOOL_CALL_MESSAGES, content_of, in_calls
from acp_inspector.lint.text_checks import NOWHERE, PatchedFile, is_absolute, read_patch
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json

rule = LintSubject("tool-calls", page="tool-calls.mdx")

DIFF_MESSAGES: Final[Triggers] = (*TOOL_CALL_MESSAGES, *on.update("tool_call_content_chunk"))
"""Messages that may show a diff."""
CHANGES: Final = (
    *in_calls("content.*.changes|path|oldText|newText"),
    "content.changes|path|oldText|newText",
)
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


@rule.error(204, "schema", "agent", DIFF_MESSAGES, version=1, case="tool-call.diff")
@details(source="v1/tool-calls.mdx")
@fix("Send path and newText.")
@checked_by(schema, at=in_calls("content.*.path|newText"))
def incomplete_diff() -> None:
    """Diffs have `path` and `newText`."""


@rule.error(205, "must", "agent", DIFF_MESSAGES, version=2, case="tool-call.diff")
@details(source="v2/tool-calls.mdx; v2/extensibility.mdx")
@fix("Send changes, and a patch with the text.")
@checked_by(schema, at=CHANGES, kinds=("missing", "type", "member"))
def diff_without_changes() -> None:
    """Diffs have `changes`; v1 fields `oldText`/`newText`/`path` are absent."""


@rule.error(206, "schema", "agent", DIFF_MESSAGES, version=2, case="tool-call.diff")
@details(source="v2/tool-calls.mdx")
@fix("Send oldPath and path for move and copy, path for all else.")
@checked_by(
    schema, at=(*in_calls("content.*.changes.*.path|oldPath"), "content.changes.*.path|oldPath")
)
def incomplete_diff_change() -> None:
    """`move` and `copy` changes have `oldPath` and `path`; other operations have `path`."""


@rule.error(207, "must", "agent", DIFF_MESSAGES, source="overview.mdx", case="tool-call.diff-path")
@fix("Send absolute paths in diffs.")
@each_of(_diffs_and_changes)
def relative_diff_path(context: Context, place: str, each: dict[str, Json]) -> Iterator[Violation]:
    """All diff paths are absolute."""
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


@rule.error(208, "must", "agent", DIFF_MESSAGES, version=2, since="2026-11", case="tool-call.patch")
@fix("Send what `git diff -p` prints, with absolute paths and without a/ and b/.")
@each_of(_patches)
def malformed_git_patch(context: Context, place: str, diff: dict[str, Json]) -> Iterator[Violation]:
    """`git_patch` text consists of `diff --git` sections with absolute paths without `a/` `b/`
    prefixes (`/dev/null` allowed in `---`/`+++`), without commit or mail headers.
    """
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


@rule.error(209, "must", "agent", DIFF_MESSAGES, version=2, case="tool-call.patch")
@fix("List every file of the patch in changes, with what happens to it.")
@each_of(_patches)
def patch_differs_from_changes(
    context: Context, place: str, diff: dict[str, Json]
) -> Iterator[Violation]:
    """Every file in `patch.text` appears in `changes` with a matching operation.

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


@rule.warning(210, "should", "agent", DIFF_MESSAGES, version=2)
@fix("Send a patch with the changes of text.")
@each_of(_diffs)
def text_change_without_patch(
    context: Context, place: str, diff: dict[str, Json]
) -> Iterator[Violation]:
    """Text changes come with a `patch`."""
    if diff.get("patch") is not None:
        return
    for change in map(as_object, as_list(diff.get("changes"))):
        if change.get("fileType") == "text":
            yield f"the text {quoted(change.get('path'))} changes without a patch", f"{place}.patch"
            return


@rule.warning(211, "heuristic", "agent", DIFF_MESSAGES, version=2)
@fix("Send a diff only where something changes.")
@each_of(_diffs)
def empty_diff(context: Context, place: str, diff: dict[str, Json]) -> Iterator[Violation]:
    """A diff has at least one change."""
    if diff.get("changes") == []:
        yield "the diff has no changes", f"{place}.changes"
