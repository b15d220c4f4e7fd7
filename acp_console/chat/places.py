"""Where in its file a text stands that a tool call shows, as far as that is known.

Agents send whole files or parts of them, and say of neither which it is. A wrong number is worse
than none, so there is one only where what the agent sent leaves no doubt.
"""

from __future__ import annotations

from collections.abc import Iterator

from acp_console.chat.line_diff import line_hunks, line_numbers
from acp_inspector.session.items import CallFacts
from acp_protocol.json_values import as_list, as_object, get, get_string
from acp_protocol.jsonrpc import Json
from acp_protocol.text_lines import split_lines


def location_line(facts: CallFacts, path: str = "") -> int | None:
    """Return the line of the only location of a call, if it is in the file at `path`."""
    if len(facts.locations) != 1 or path not in {"", get_string(facts.locations[0], "path")}:
        return None
    line = get(facts.locations[0], "line")
    return line if type(line) is int and line > 0 else None


def diff_begin(facts: CallFacts, diff: Json) -> int | None:
    """Return the number that the first line of the texts of a diff has in its file."""
    old, new = get_string(diff, "oldText"), get_string(diff, "newText")
    if not old:
        return 1
    line = location_line(facts, get_string(diff, "path"))
    if old in _texts(facts.raw_input):
        return line  # What is replaced, and not all that there is.
    if line is None or line == 1:
        return 1
    if line > len(split_lines(old)):
        return line
    return 1 if line == _first_change(old, new) else None


def output_begin(facts: CallFacts, output: str) -> int | None:
    """Return the number of the first line of what was read; None if it is unknown or shown."""
    line = location_line(facts) if facts.kind == "read" else None
    return None if line is None or output.lstrip().startswith(str(line)) else line


def _first_change(old: str, new: str) -> int:
    hunk = next(iter(line_hunks(old, new)), ())
    numbers = zip(hunk, line_numbers(hunk), strict=True)
    return next((max(each) for line, each in numbers if line[0] in {"-", "+"}), 0)


def _texts(value: Json, depth: int = 4) -> Iterator[str]:
    """Yield the texts in a value."""
    if isinstance(value, str):
        yield value
    elif depth:
        for each in (*as_object(value).values(), *as_list(value)):
            yield from _texts(each, depth - 1)
