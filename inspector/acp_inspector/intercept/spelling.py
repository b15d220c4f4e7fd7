"""A frame as a person edits it: spread over lines, and gathered again onto one.

Nothing but white space between the parts is added or taken away, so that the order of members, the
spelling of numbers and members that stand there twice survive an edit somewhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

from acp_protocol.errors import AcpError
from acp_protocol.host.text import one_line, visible

INDENT: Final = "  "
PICTURE: Final = 60
"""Characters of a line that a picture shows."""
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_OPENING: Final = frozenset("{[")
_CLOSING: Final = frozenset("}]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class NoTextError(AcpError):
    """Bytes cannot be shown so that they could be edited; the message says why."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a text is no JSON, and where."""

    reason: str
    line: int
    """From 1 on."""
    column: int
    """From 1 on; of the first character that does not fit."""
    picture: str
    """What stands there, safe to show, and a caret below."""

    def __str__(self) -> str:
        """Return the place and the reason."""
        return f"line {self.line}, column {self.column}: {self.reason}"


def spread(raw: bytes) -> str:
    """Return a frame over several lines where it is JSON; anything else as it is.

    Characters that could deceive or upset who edits them stand there as escapes.

    Raises:
        NoTextError: it is no JSON, and has signs in it that a person cannot edit.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise NoTextError(f"byte {problem.start} is no UTF-8") from None
    if find_flaw(text) is None:
        return "".join(_spread(_TOKEN.findall(text)))
    if visible(text) != text or "\n" in text or "\t" in text:
        raise NoTextError("there are control characters or invisible ones in it")
    return text


def gather(text: str) -> bytes:
    """Return what `text` spells, on one line; the text has to be without a flaw."""
    return _encoded("".join(_TOKEN.findall(text)))


def as_it_stands(text: str) -> bytes:
    """Return the bytes of a text whatever it spells, without the line endings around it."""
    return _encoded(text.strip("\r\n"))


def joined(text: str) -> bytes:
    """Return the bytes of a text whatever it spells, on one line.

    Line breaks and the indentation behind them are layout: they came in with `spread`.
    """
    return _encoded("".join(line.strip(" \t\r") for line in text.split("\n")))


def find_flaw(text: str) -> Flaw | None:
    """Return why `text` is no JSON; None if it is."""
    try:
        _DECODER.decode(text)
    except json.JSONDecodeError as problem:
        return _flaw(text, problem.pos, _reason(problem))
    except _NoNumberError as problem:
        found = re.search(rf"(?<![\w\"]){re.escape(problem.name)}(?![\w\"])", text)
        return _flaw(text, found.start() if found else 0, f"{problem.name} is no number in JSON")
    except RecursionError:
        return _flaw(text, 0, "nested too deeply to be read")
    except ValueError:
        return _flaw(text, 0, "a number is too long to be read")
    return None


class _NoNumberError(ValueError):
    """There is NaN or an infinity."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _refuse(name: str) -> NoReturn:
    raise _NoNumberError(name)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def _reason(problem: json.JSONDecodeError) -> str:
    return problem.msg[:1].lower() + problem.msg[1:].removesuffix(" at")


def _flaw(text: str, position: int, reason: str) -> Flaw:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : len(text) if end < 0 else end]
    column = position - start
    begin = max(column - PICTURE * 2 // 3, 0)
    shown = one_line(line[begin : begin + PICTURE], PICTURE * 2)
    before = len(one_line(line[begin:column] + ".", PICTURE * 2)) - 1
    number = text.count("\n", 0, position) + 1
    return Flaw(reason, number, column + 1, f"{shown}\n{' ' * before}^")


def _spread(parts: list[str]) -> Iterator[str]:
    depth = 0
    before = ""
    for part in parts:
        is_closing = part in _CLOSING
        depth -= is_closing
        if before == ":":
            yield " "
        elif before == "," or is_closing != (before in _OPENING):
            # Between what opens and what closes at once there is nothing.
            yield "\n" + INDENT * depth if before and part not in {",", ":"} else ""
        depth += part in _OPENING
        yield _harmless(part)
        before = part


def _harmless(part: str) -> str:
    if part.isascii() and part.isprintable():
        return part
    return "".join(sign if visible(sign) == sign else _escape(sign) for sign in part)


def _escape(sign: str) -> str:
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))


def _encoded(text: str) -> bytes:
    return _SURROGATE.sub(lambda found: _escape(found[0]), text).encode()
