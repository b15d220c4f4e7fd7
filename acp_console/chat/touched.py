"""What a tool call says that it runs and touches, wherever it says so.

Agents put commands and paths into any member of `rawInput`, at any depth, under names of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, cast

from acp_protocol.json_values import as_list, as_object, get, get_list, get_string, get_text
from acp_protocol.jsonrpc import Json, parse

Command: TypeAlias = str | list[str]
"""A line for a shell, or the words of a program."""

_PROGRAMS: Final = frozenset(
    {"command", "cmd", "commands", "command_line", "cmdline", "script", "shell", "code", "program",
     "executable"}
)  # fmt: skip
_ARGUMENTS: Final = frozenset({"args", "argv"})
_EDITOR_COMMANDS: Final = frozenset({"view", "create", "str_replace", "insert", "undo_edit"})
"""What the text editor tool of some models calls a command."""
_PATH_NAMES: Final = re.compile(
    r"(?:^|_)(?:(?:abs_?|file_?)?paths?|files?|file_?names?|dirs?|director(?:y|ies)|folders?)$"
)
"""Names of members whose texts are paths."""
_BY_PATH: Final = re.compile(r"(?:^|_)(?:changes|edits|files)$")
"""Names of members whose members are named by paths."""
_PATH: Final = re.compile(r"(?i)(?:/|~|file:|\.\.(?:/|$)).*|.*/\.\.(?:/.*)?")
"""A text that is a path which may lead outside, whatever its name is."""
_TEXT_NAMES: Final = re.compile(
    r"(?:^|_)(?:contents?|text|str|string|replacement|description|reason|patch|diff)$"
)
"""Names of members that are texts."""
_SIDE_NAMES: Final = re.compile(r"(?:^|_)(?:old|new)$")
"""Names of members that are texts, or in a call that moves a file its paths."""
_PATCH: Final = re.compile(
    r"^(?:diff --git .*|\*\*\* Begin Patch\s*|--- .*\n\+\+\+ .*)$", re.MULTILINE
)
_PATCHED: Final = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File:|\*\*\* Move to:|(?:rename|copy) (?:from|to)|Index:"
    r"|---|\+\+\+) +([^\t\r\n]+)",
    re.MULTILINE,
)
"""A line of a patch that names a file."""
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|-")


def commands_of(tool_call: Mapping[str, Json]) -> list[Command]:
    """Return each command in `rawInput` of a tool call."""
    raw = _input(tool_call)
    if isinstance(raw, str) and raw and tool_call.get("kind") == "execute":
        return [raw]
    return [each for node, _ in _nodes(raw) for each in _commands(node)]


def has_command(tool_call: Mapping[str, Json]) -> bool:
    """Return whether a call may run something, whatever kind of call it is said to be."""
    return shows_terminal(tool_call) or any(
        _spelled(name) in _PROGRAMS | _ARGUMENTS and not _is_no_command(value)
        for node, _ in _nodes(_input(tool_call))
        for name, value in as_object(node).items()
    )


def shows_terminal(tool_call: Mapping[str, Json]) -> bool:
    return any(get(each, "type") == "terminal" for each in as_list(tool_call.get("content")))


def paths_of(tool_call: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the files in the locations, the diffs and `rawInput` of a call."""
    found: list[str] = []
    for field in ("locations", "content"):
        # Version 2 lists the files that a diff changes, and the old paths of moved ones.
        named = as_list(tool_call.get(field))
        changes = [change for entry in named for change in get_list(entry, "changes")]
        for entry in [*named, *changes]:
            found += filter(None, (get_text(entry, name) for name in ("path", "oldPath")))
            found += _patched(get_string(get(entry, "patch"), "text"))
    is_move = tool_call.get("kind") == "move"
    for node, name in _nodes(_input(tool_call)):
        if isinstance(node, str):
            found += _paths_in_text(node, name, is_move=is_move)
        elif _BY_PATH.search(name):
            found += as_object(node)
        else:
            found += filter(_PATH.fullmatch, as_object(node))
    return tuple(dict.fromkeys(found))


def _input(tool_call: Mapping[str, Json]) -> Json:
    """Return `rawInput`; some agents send it as text."""
    raw = tool_call.get("rawInput")
    if isinstance(raw, str) and raw.lstrip()[:1] in {"{", "["}:
        try:
            return parse(raw.encode())
        except (ValueError, RecursionError):
            return raw
    return raw


def _nodes(value: Json, name: str = "") -> Iterator[tuple[Json, str]]:
    """Yield a value and all in it, each with the name of the member that it is in."""
    pending = [(value, name)]
    while pending:
        node, name = pending.pop()
        yield node, name
        if isinstance(node, dict):
            members = cast("dict[str, Json]", node)
            pending += [(each, _spelled(key)) for key, each in reversed(members.items())]
        else:
            pending += [(each, name) for each in reversed(as_list(node))]


def _spelled(name: str) -> str:
    """Return the name of a member in lower case, with `_` between its words."""
    return _CAMEL.sub("_", name).lower()


def _is_no_command(value: Json) -> bool:
    return value is None or value == [] or (isinstance(value, str) and value in _EDITOR_COMMANDS)


def _commands(node: Json) -> Iterator[Command]:
    """Yield the commands in the members of an object."""
    members = {_spelled(name): each for name, each in as_object(node).items()}
    arguments = [each for name in _ARGUMENTS for each in _words(members.get(name))]
    heads = [name for name in members if name in _PROGRAMS and not _is_no_command(members[name])]
    if not heads and arguments:
        yield arguments
    for head in heads:
        words = _words(members[head])
        if head == "commands" or len(words) == 1:
            yield from ([word, *arguments] if arguments else word for word in words)
        elif words:
            yield [*words, *arguments]


def _words(value: Json) -> list[str]:
    """Return the words in a list, or a single one; an object has none."""
    if value is None or isinstance(value, dict):
        return []
    return [str(each) for each in (as_list(value) if isinstance(value, list) else [value])]


def _paths_in_text(text: str, name: str, *, is_move: bool) -> Iterator[str]:
    if name.endswith(("patch", "diff")) or not _TEXT_NAMES.search(name):
        yield from _patched(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and _PATH_NAMES.search(name):
        yield lines[0]
    elif _TEXT_NAMES.search(name) or (_SIDE_NAMES.search(name) and not is_move):
        return
    elif lines and all(map(_PATH.fullmatch, lines)):
        yield from lines


def _patched(text: str) -> Iterator[str]:
    """Yield the files that a patch changes."""
    if _PATCH.search(text) is None:
        return
    for found in _PATCHED.finditer(text):
        name = found[1].strip().strip('"')
        if name != "/dev/null":
            yield name[2:] if name[:2] in {"a/", "b/"} else name
