"""What an unfolded tool call shows, as pieces that are drawn one by one.

All that is known of it while the user is asked; else its content, or its output without any.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from acp_console.chat.line_diff import (
    CONTEXT,
    DiffLine,
    LineNumbers,
    absolute,
    hidden_lines,
    is_patch_of,
    line_hunks,
    line_numbers,
    moved_head,
    patch_lines,
)
from acp_console.chat.places import diff_begin, output_begin
from acp_console.tui.transcript.code import is_language
from acp_console.tui.transcript.markdown import MAX_BLOCK
from acp_console.wording.values import decoded_size, fenced, plural
from acp_inspector.session.items import PermissionRequest, TerminalItem, ToolCallItem
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_text import json_text
from acp_protocol.json_values import as_object, get, get_list, get_string, get_text
from acp_protocol.jsonrpc import Json

_IS_NEW: Final = re.compile(r"(?i)is_?new|new_?file")
"""Arguments that say that a file is new."""
_PATH: Final = re.compile(r"(?i)path$")
_TEXT: Final = re.compile(r"(?i)(?:content|text|patch|diff|str|string|new)$")
_OLD_TEXT: Final = re.compile(r"(?i)(?:old$|old.*(?:content|text|str|string)$)")
"""Names of members of a call's input that a diff may show: each only as what it says."""
_OLD: Final = re.compile(r"(?i)old[_-]?(?:str|string|text|content)?")
_NEW: Final = re.compile(r"(?i)new[_-]?(?:str|string|text|content)?")
"""Names of members that are replaced and that replace."""
SUBJECTS: Final = frozenset({"command", "cmd", "cwd", "path", "file_path", "filePath", "abs_path"})
"""Members of a call's input that say what it runs or touches."""
_CHIP_WIDTHS: Final = {"type": 40, "mimeType": 60}
"""Members of a content block that its chip shows, and how many characters of them."""
_ATTACHED: Final = frozenset({"image", "audio", "resource"})
"""Types of content that are shown as a chip in place of their bytes."""
TERMINAL_LANGUAGES: Final = frozenset(
    {"", "ansi", "console", "output", "shell-session", "terminal", "text"}
)
"""Languages of blocks whose escape sequences are colours."""
HUNK_LINES: Final = 100
"""Lines of a diff that are rendered at a time."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of what an unfolded call shows."""

    kind: str
    text: str = ""
    hunk: Sequence[DiffLine] = ()
    """Lines of a diff: sign, text, and the line it is changed from or to."""
    numbers: Sequence[LineNumbers] = ()
    """The numbers of these lines, if they are known."""
    path: str = ""
    """The file that they belong to."""
    begin: int | None = None
    """The number of the first line of what was read."""
    block: Json = None
    """The content that an attachment is."""


def pieces(text: str) -> list[str]:
    """Cut a text into pieces that are rendered on their own, at line ends where possible."""
    return [text[begin:end] for begin, end in spans(text)]


def spans(text: str) -> list[tuple[int, int]]:
    """Return where each piece of a text begins and ends."""
    found: list[tuple[int, int]] = []
    begin = 0
    while len(text) - begin > MAX_BLOCK:
        cut = text.rfind("\n", begin, begin + MAX_BLOCK) + 1
        cut = cut if cut > begin else begin + MAX_BLOCK
        found.append((begin, cut))
        begin = cut
    return [*found, (begin, len(text))]


def described(block: Json) -> str:
    """Return a line for content that is not text: its type, its name, and its size."""
    kind = single_line(get_string(block, "type") or "unknown content", _CHIP_WIDTHS["type"])
    inner = get(block, "resource") if kind == "resource" else block
    name = get_string(inner, "title") or get_string(inner, "name") or get_string(inner, "uri")
    data = _attached_data(block)
    size = f"{decoded_size(data):,} bytes" if data else ""
    mime_type = single_line(get_string(inner, "mimeType"), _CHIP_WIDTHS["mimeType"])
    return " · ".join(filter(None, (kind, single_line(name, 120), mime_type, size)))


def _attached_data(block: Json) -> str:
    """Return the bytes of a block in base64; empty if it has none."""
    if get_string(block, "type") == "resource":
        inner = get(block, "resource")
        return get_string(inner, "blob") or get_string(inner, "data")
    return get_string(block, "data") or get_string(block, "blob")


def _is_in_chip(name: str, text: str, block: Json) -> bool:
    """Return whether the chip of a block says all of one of its members."""
    if name in {"data", "blob"}:
        return get_string(block, "type") in _ATTACHED and text == _attached_data(block)
    return len(text) <= _CHIP_WIDTHS.get(name, -1)


def open_permission(call: ToolCallItem) -> PermissionRequest | None:
    permission = call.permission
    return permission if permission is not None and permission.outcome is None else None


def call_pieces(call: ToolCallItem) -> list[Piece]:
    """Return what a call shows unfolded; all that is known of it while the user is asked."""
    permission, facts = open_permission(call), call.facts
    found: list[Piece] = []
    if permission is not None:
        found += _for_decision(permission, call)
    else:
        paths = {path for each in call.content for path in _diff_paths(each)}
        for name, text in _members(facts.raw_input):
            if name in SUBJECTS and text not in facts.title and text not in paths:
                found += _named(name, text)
    for content in call.content:
        found += _content(content, call)
    if not call.content and facts.raw_output is not None:
        output = facts.raw_output
        text = output if isinstance(output, str) else json_text(output, indent=2)
        found += [Piece("output", each) for each in pieces(text)]
    if permission is not None:
        # Colours and what is drawn over can hide text.
        found = [replace(each, text=each.text.replace("\x1b", "␛")) for each in found]
    return found


def _for_decision(permission: PermissionRequest, call: ToolCallItem) -> list[Piece]:
    """Return why a call is asked about, and its input and locations but for what diffs show."""
    facts, members = call.facts, _members(call.facts.raw_input)
    found: list[Piece] = []
    if facts.name and facts.name.casefold() not in facts.title.casefold().split():
        found += _named("tool", facts.name)
    if permission.title not in {"", facts.title}:
        found += _named("request", permission.title)
    if permission.description:
        found += _named("reason", permission.description)
    # Path and text of one change belong together.
    shown = max(
        (_names_shown(each, members, permission.cwd) for each in call.content),
        key=len,
        default=set[str](),
    )
    for name, text in members:
        if name not in shown:
            found += _named(name, text)
    known = {word.strip("`'\"") for word in facts.title.split()}
    known.update(path for each in call.content for path in _diff_paths(each))
    known.update(text for name, text in members if not _TEXT.search(name))
    for each in facts.locations:
        path, line = get_string(each, "path") or json_text(each), get(each, "line")
        if path not in known and absolute(path, permission.cwd) not in known:
            found += _named("location", path if line is None else f"{path}:{line}")
    return found


def _names_shown(content: Json, members: Sequence[tuple[str, str]], cwd: str | None) -> set[str]:
    """Return the names of the members that a diff shows, each as what its name says."""
    if get_string(content, "type") != "diff":
        return set()
    paths, (old, new, patch) = _diff_paths(content), _diff_texts(content)
    found = _shown_replacement(content, members)
    for name, text in members:
        if _PATH.search(name):
            is_shown = text in paths or absolute(text, cwd) in paths
        elif _IS_NEW.fullmatch(name):
            # A change without an old text is shown as that of a new file.
            is_shown = text == "true" and get(content, "oldText") is None
        elif _OLD_TEXT.search(name):
            is_shown = text == old
        else:
            is_text = text in {new, patch} or is_patch_of(text, content, cwd)
            is_shown = _TEXT.search(name) is not None and is_text
        if text and is_shown:
            found.add(name)
    return found


def _shown_replacement(diff: Json, members: Sequence[tuple[str, str]]) -> set[str]:
    """Return the names of the members whose replacement a diff shows as lines."""
    sides = [
        [(name, text) for name, text in members if mark.fullmatch(name)] for mark in (_OLD, _NEW)
    ]
    after = get_text(diff, "newText")
    if after is None or any(len(each) != 1 for each in sides):
        return set()
    (old_name, old), (new_name, new) = sides[0][0], sides[1][0]
    before = get_string(diff, "oldText")
    is_shown = (
        old != ""
        and after in {before.replace(old, new, 1), before.replace(old, new)}
        and _is_among(old, "-", before, after)
        and _is_among(new, "+", before, after)
    )
    return {old_name, new_name} if is_shown else set()


def _is_among(text: str, sign: str, before: str, after: str) -> bool:
    """Return whether a text stands in the lines that are shown of one side of a change."""
    return any(
        text.removesuffix("\n") in "\n".join(line for mark, line, _ in hunk if mark in {" ", sign})
        for hunk in line_hunks(before, after)
    )


def _members(value: Json) -> list[tuple[str, str]]:
    """Return the members of an object as text; another value but null is one called "input"."""
    alone = {} if value is None else {"input": value}
    members = as_object(value) if isinstance(value, dict) else alone
    return [
        (name, each if isinstance(each, str) else json_text(each)) for name, each in members.items()
    ]


def _named(name: str, text: str) -> list[Piece]:
    return [Piece("input", f"{name}: {each}") for each in pieces(text)]


def _content(content: Json, call: ToolCallItem) -> list[Piece]:
    is_open = open_permission(call) is not None
    block = content
    match content:
        case {"type": "diff"} if found := _diff(content, call, is_open=is_open):
            return found
        case {"type": "terminal", "terminalId": str(key)} if key in call.terminals:
            return _terminal(call.terminals[key])
        case {"type": "content", "content": {"type": "text", "text": str(text)}}:
            return _numbered(_output(text), call)
        case {"type": "content", "content": inner}:
            block = inner
            found = [Piece("attachment", f"[{described(block)}]", block=block)]
            inner = get(block, "resource") if get_string(block, "type") == "resource" else block
        case _:
            found = [Piece("note", f"[{described(content)}]")]
            inner = content
    if is_open:
        for name, text in _members(inner):
            found += [] if _is_in_chip(name, text, block) else _named(name, text)
    return found


def _diff(diff: Json, call: ToolCallItem, *, is_open: bool = False) -> list[Piece]:
    """Return the texts, the files and the patch of a diff, as far as it has them.

    `is_open`: also the text that is said to be there already, or how much of it is left out.
    """
    found: list[Piece] = []
    old, new = get_text(diff, "oldText"), get_text(diff, "newText")
    if new is not None:
        about = "" if old is not None else "  new file"
        path, begin = get_string(diff, "path"), diff_begin(call.facts, diff)
        found.append(Piece("path", path + about))
        shown = hunks(old or "", new, path=path, begin=begin) if old is not None or new else []
        found += shown or [Piece("note", "empty")]
        if is_open and old == new:
            found += _cut_hunk([(" ", line, "") for line in new.removesuffix("\n").split("\n")])
        elif is_open and (hidden := hidden_lines(old or "", new)):
            found.append(Piece("note", f"{plural(hidden, 'more line')}, unchanged"))
    for change in get_list(diff, "changes"):
        paths = " → ".join(
            filter(None, (get_string(change, "oldPath"), get_string(change, "path")))
        )
        kind = get_string(change, "fileType")
        about = f"  {kind}" if kind not in {"", "text"} else ""
        found.append(Piece("path", f"{get_string(change, 'operation')} {paths}{about}"))
    patch = get_text(get(diff, "patch"), "text")
    return found if patch is None else found + _patch(patch)


def _diff_paths(content: Json) -> set[str]:
    """Return the paths that `_diff` shows."""
    if get_string(content, "type") != "diff":
        return set()
    found = set[str]()
    if get_text(content, "newText") is not None:
        found.add(get_string(content, "path"))
    for change in get_list(content, "changes"):
        found |= {get_string(change, "oldPath"), get_string(change, "path")}
    return found - {""}


def _diff_texts(content: Json) -> tuple[str | None, str | None, str | None]:
    """Return the old text, the new text and the patch, as far as `_diff` shows all of them."""
    old, new = get_string(content, "oldText"), get_text(content, "newText")
    patch = get_text(get(content, "patch"), "text")
    is_whole = new is not None and not hidden_lines(old, new)
    return (old, new, patch) if is_whole else (None, None, patch)


def _terminal(terminal: TerminalItem) -> list[Piece]:
    """Return the command, its output so far, and how it ended unless that was well."""
    facts = terminal.facts
    found = [Piece("command", facts.command)] if facts.command else []
    found += [Piece("output", each) for each in pieces(terminal.newest_text) if each]
    if facts.is_over and facts.exit_code != 0:
        found.append(Piece("note", f"ended with {facts.signal or facts.exit_code}"))
    return found


def _output(text: str) -> list[Piece]:
    """Return a tool's output; one code block around all of it is taken off.

    A fence stays if it says something else than how its text is drawn.
    """
    if (block := fenced(text)) is not None:
        language, inner = block
        if language in TERMINAL_LANGUAGES or is_language(language):
            return [Piece(f"code {language}", each) for each in pieces(inner)]
    return [Piece("output", each) for each in pieces(text)]


def _numbered(output: list[Piece], call: ToolCallItem) -> list[Piece]:
    """Number the lines of what was read, where the call says at which it begins."""
    begin = output_begin(call.facts, output[0].text)
    if begin is None:
        return output
    found: list[Piece] = []
    for piece in output:
        found.append(replace(piece, begin=begin))
        begin += piece.text.count("\n")
    return found


def content_text(content: Json) -> str:
    match content:
        case {"type": "content", "content": {"type": "text", "text": str(text)}}:
            return text
        case _:
            return ""


def hunks(
    old: str, new: str, *, context: int = CONTEXT, path: str = "", begin: int | None = None
) -> list[Piece]:
    """Return the lines that differ, with some around them.

    `begin` is the number of their first line in the file at `path`; without it they have none.
    """
    if old == new:
        return [Piece("note", "nothing changes")]
    found: list[Piece] = []
    for hunk in line_hunks(old, new, context):
        moved = [moved_head(hunk[0], None if begin is None else begin - 1), *hunk[1:]]
        found += _cut_hunk(moved, path)
    ends = [each.endswith("\n") for each in (old, new)]
    if old and new and ends[0] != ends[1]:
        which = "the old" if ends[0] else "the new"
        found.append(Piece("note", f"only {which} text ends with a new line"))
    return found


def _cut_hunk(lines: Sequence[DiffLine], path: str = "") -> list[Piece]:
    numbers = line_numbers(lines)
    numbers = numbers if any(map(any, numbers)) else []
    cuts = (slice(at, at + HUNK_LINES) for at in range(0, len(lines), HUNK_LINES))
    return [Piece("diff", hunk=lines[cut], numbers=numbers[cut], path=path) for cut in cuts]


def _patch(patch: str) -> list[Piece]:
    """Return the files and lines of a patch in git's format."""
    found: list[Piece] = []
    lines: list[DiffLine] = []
    about = ""
    for path, line in patch_lines(patch):
        if line is not None:
            lines.append(line)
            about = path
            continue
        found += _cut_hunk(lines, about)
        lines = []
        found.append(Piece("path", path))
    found += _cut_hunk(lines, about)
    return found if patch else [Piece("note", "an empty patch")]
