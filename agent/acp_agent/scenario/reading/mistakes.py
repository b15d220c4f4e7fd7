"""What is wrong with a text that is no TOML, for somebody who writes it for the first time."""

from __future__ import annotations

import re
import tomllib
from typing import Final

_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_YAML: Final = re.compile(r"\s*(?:- +)?[\w-]+ *:(?:\s|$)")
_SHORT: Final = "; TOML writes `key = value`, and `key: value` is another language"
_ONE_LINE: Final = (
    "; a table in braces stands on one line, and only a list within it may go on over several. "
    "Long steps can be written as `[[prompt.steps]]`"
)
_TOLD: Final = {
    "Cannot overwrite": "; the key stands there twice",
    "Unclosed array": "; a comma is missing between two entries, or the `]` behind the last",
    "character '\\n'": '; a text ends on its line, or stands in `"""`',
}
"""What the library says about a mistake, and what was probably meant."""


def explain(text: str, problem: tomllib.TOMLDecodeError | RecursionError) -> tuple[int, str]:
    """Return the line, from 1 on, in which a text is no TOML, and a sentence about it."""
    if isinstance(problem, RecursionError):
        return 1, "no TOML: brackets stand too deep in each other"
    told = str(problem)
    lines = text.split("\n")
    line, column = len(lines), len(lines[-1]) + 1
    if found := _PLACE.search(told):
        told = told[: found.start()]
        line, column = (int(found[1]), int(found[2])) if found[1] else (line, column)
    hint = _hint(told, text, lines[line - 1], column - 1)
    return line, f"no TOML, at column {column}: {told[:1].lower()}{told[1:]}{hint}"


def _hint(told: str, text: str, line: str, at: int) -> str:
    """Return the half sentence that says what was probably meant; nothing if nobody knows."""
    rest = line[at:].rstrip("\r")
    if text.lstrip().startswith("{"):
        return "; this looks like JSON, and a scenario is TOML"
    if rest.startswith(":") or _YAML.match(line):
        return _SHORT
    if not rest and ("key part" in told or "inline table" in told):
        return _ONE_LINE
    if rest.startswith("}") and "key part" in told:
        return "; no comma may stand before `}`"
    if told.startswith("Invalid value"):
        return _value_hint(rest)
    return next((hint for begin, hint in _TOLD.items() if begin in told), "")


def _value_hint(rest: str) -> str:
    """Return what was probably meant by something that is no value."""
    if rest.lower().startswith(("true", "false")):
        return "; `true` and `false` are written small"
    if rest.startswith(("None", "null")):
        return "; TOML has no null: leave the key out, or write JSON in a text"
    return "; a text stands in quotes" if rest[:1].isalpha() else ""
