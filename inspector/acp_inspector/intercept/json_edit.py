"""Editing a frame's JSON by hand in an editor.

A frame is written on several lines and later joined to one. Only white space between
tokens is added or removed, so the order of fields, the digits of numbers and duplicate keys survive
an edit elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls, single_line

INDENT: Final = "  "
MAX_PICTURE_CHARS: Final = 60
"""Characters of a line that `SyntaxProblem.picture` shows."""
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_OPENING: Final = frozenset("{[")
_CLOSING: Final = frozenset("}]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class NotEditableError(AcpError):
    """Bytes cannot be edited as text; the message says why."""


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """Why a text is not JSON, and where."""

    reason: str
    line: int
    """From 1 on."""
    column: int
    """From 1 on; of the first character that does not fit."""
    picture: str
    """The text there, safe to show, with a caret below."""

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.reason}"


def pretty(raw: bytes) -> str:
    """Return a frame on several indented lines if it is JSON; other text as it is.

    Invisible and control characters become escapes.

    Raises:
        NotEditableError: it is not JSON, and contains characters that a person cannot edit.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise NotEditableError(f"byte {problem.start} is not UTF-8") from None
    if find_syntax_error(text) is None:
        return "".join(_spread(_TOKEN.findall(text)))
    if escape_controls(text) != text or "\n" in text or "\t" in text:
        raise NotEditableError("it contains control or invisible characters")
    return text


def minify(text: str) -> bytes:
    """Return the JSON in `text` on one line; it has to be valid."""
    return _encoded("".join(_TOKEN.findall(text)))


def verbatim_bytes(text: str) -> bytes:
    """Return the bytes of any text, without the line endings around it."""
    return _encoded(text.strip("\r\n"))


def unwrap(text: str) -> bytes:
    """Return the bytes of any text on one line.

    Line breaks and the indentation behind them are layout that `pretty` has added.
    """
    return _encoded("".join(line.strip(" \t\r") for line in text.split("\n")))


def find_syntax_error(text: str) -> SyntaxProblem | None:
    """Return why `text` is not JSON; None if it is."""
    try:
        _DECODER.decode(text)
    except json.JSONDecodeError as problem:
        reason = problem.msg[:1].lower() + problem.msg[1:].removesuffix(" at")
        return _problem_at(text, problem.pos, reason)
    except _NotANumberError as problem:
        found = re.search(rf"(?<![\w\"]){re.escape(problem.name)}(?![\w\"])", text)
        return _problem_at(
            text, found.start() if found else 0, f"{problem.name} is not a number in JSON"
        )
    except RecursionError:
        return _problem_at(text, 0, "nested too deeply")
    except ValueError:
        return _problem_at(text, 0, "a number is too long")
    return None


class _NotANumberError(ValueError):
    """The text contains NaN or an infinity."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _refuse(name: str) -> NoReturn:
    raise _NotANumberError(name)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def _problem_at(text: str, position: int, reason: str) -> SyntaxProblem:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : len(text) if end < 0 else end]
    column = position - start
    begin = max(column - MAX_PICTURE_CHARS * 2 // 3, 0)
    shown = single_line(line[begin : begin + MAX_PICTURE_CHARS], MAX_PICTURE_CHARS * 2)
    before = len(single_line(line[begin:column] + ".", MAX_PICTURE_CHARS * 2)) - 1
    number = text.count("\n", 0, position) + 1
    return SyntaxProblem(reason, number, column + 1, f"{shown}\n{' ' * before}^")


def _spread(parts: list[str]) -> Iterator[str]:
    depth = 0
    before = ""
    for part in parts:
        is_closing = part in _CLOSING
        depth -= is_closing
        if before == ":":
            yield " "
        elif before == "," or is_closing != (before in _OPENING):
            # Empty brackets stay on one line.
            yield "\n" + INDENT * depth if before and part not in {",", ":"} else ""
        depth += part in _OPENING
        yield _escaped(part)
        before = part


def _escaped(part: str) -> str:
    if part.isascii() and part.isprintable():
        return part
    return "".join(char if escape_controls(char) == char else _escape(char) for char in part)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))


def _encoded(text: str) -> bytes:
    return _SURROGATE.sub(lambda found: _escape(found[0]), text).encode()
