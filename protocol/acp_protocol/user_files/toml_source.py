"""Files that people write, with the line of each value.

The standard library's TOML parser reports no lines, so `key_lines` scans a text that was parsed
before.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, cast

from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json

MAX_BYTES: Final = 2**20
MAX_NESTING: Final = 64
"""Levels of tables and lists in a configuration."""

KeyPath: TypeAlias = tuple[str | int, ...]
"""The path of a value: keys, and indexes in lists."""


class InvalidFileError(AcpError):
    """A file, a variable or a flag holds something invalid; `problems` has a line for each."""

    def __init__(self, *problems: str) -> None:
        # They repeat names and values of the file, which may come from anywhere.
        self.problems = tuple(escape_controls(each).replace("\n", "⏎") for each in problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The content of a file."""

    path: Path
    tree: Mapping[str, Json]
    lines: Mapping[KeyPath, int] = field(repr=False)
    """The line of each value, from 1."""

    def line(self, path: KeyPath) -> int:
        """Return the line of a value, or of the nearest table around it; 0 if there is none."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)

    def at(self, path: KeyPath) -> str:
        """Return the file and the line of a value, as in `acp-agent.toml:7`."""
        line = self.line(path)
        return f"{self.path}:{line}" if line else str(self.path)


def spelled(path: KeyPath) -> str:
    """Return a path as messages write it: `model.others.1.name`, where 1 is the first table."""
    return ".".join(str(step + 1 if isinstance(step, int) else step) for step in path)


def as_table(value: Json) -> dict[str, Json] | None:
    """Return `value` if it is a table."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None


def read_text(path: Path) -> str:
    """Return the text of a configuration file.

    Raises:
        InvalidFileError: it cannot be read, or others may change it.
    """
    return decode_text(str(path), read_own(path))


def read_own(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file that only its user can change.

    Raises:
        InvalidFileError: it cannot be read, or others may change it.
    """
    try:
        # Opening a FIFO would block, and a device has no end.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor has no path
            found = os.fstat(descriptor)
            folders = [(each, each.stat().st_mode) for each in path.resolve().parents]
            content = file.read(max_bytes + 1) if stat.S_ISREG(found.st_mode) else None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "invalid name"
        raise InvalidFileError(f"{path}: cannot be read: {reason}") from None
    if content is None:
        raise InvalidFileError(f"{path}: cannot be read: not a regular file")
    # A configuration names programs that are started.
    if found.st_uid not in {os.getuid(), 0}:
        raise InvalidFileError(f"{path}: it belongs to another user; make a copy of your own")
    if found.st_mode & stat.S_IWOTH:
        raise InvalidFileError(f"{path}: every user may write to it; run chmod o-w {path}")
    for folder, mode in folders:
        # A user who may write to a directory may rename its files, unless it is sticky.
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise InvalidFileError(f"{path}: every user may replace it; run chmod o-w {folder}")
    if len(content) > max_bytes:
        raise InvalidFileError(f"{path}: larger than {max_bytes // 2**10} KiB")
    return content


def decode_text(name: str, content: bytes) -> str:
    """Return the text of a file in UTF-8, without the mark that some editors put first.

    Raises:
        InvalidFileError: it is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"0x{error.object[error.start]:02x}"
        raise InvalidFileError(f"{name}:{line}: not UTF-8: it has the byte {byte}") from None


def parse_toml(path: Path, text: str) -> ParsedFile:
    """Return the content of `text`, which is the TOML file at `path`.

    Raises:
        InvalidFileError: it is not TOML; the message says what was probably meant.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, reason = _toml_problem(text.replace("\r\n", "\n"), str(error))
        raise InvalidFileError(f"{path}:{line}: {reason}") from None
    except RecursionError:
        raise InvalidFileError(f"{path}:1: not TOML: brackets are nested too deeply") from None
    except ValueError:
        raise InvalidFileError(f"{path}:1: a number has too many digits") from None
    if _is_deep(tree):
        raise InvalidFileError(f"{path}:1: keys are nested more than {MAX_NESTING} levels deep")
    return ParsedFile(path, tree, key_lines(text))


def _is_deep(tree: Json) -> bool:
    """Return whether tables and lists are nested more than `MAX_NESTING` levels deep."""
    level: list[Json] = [tree]
    for _ in range(MAX_NESTING):
        deeper: list[Json] = []
        for each in level:
            if isinstance(each, dict):
                deeper += cast("dict[str, Json]", each).values()
            elif isinstance(each, list):
                deeper += cast("list[Json]", each)
        level = deeper
    return bool(level)


_POSITION: Final = re.compile(r" ?\(at (?:line (\d+), column (\d+)|end of document)\)$")
_TWICE: Final = re.compile(r"Cannot (overwrite a value|declare .* twice|mutate )")
_YAML_LINE: Final = re.compile(r"\s*(?:- +)?[\w-]+ *:(?:\s|$)")
_ONE_LINE: Final = (
    "; a table in braces must be on one line, and only a list in it may span several. "
    "Write long steps as `[[prompt.steps]]`"
)
_HINTS: Final = {
    "Unclosed array": "; a comma is missing between two entries, or the `]` after the last one",
    "character '\\n'": '; a string ends on its line, or is written in `"""`',
}


def _toml_problem(text: str, message: str) -> tuple[int, str]:
    """Return the line of a syntax error, and a sentence about it."""
    end = text.rstrip("\n")
    line, column = end.count("\n") + 1, len(end) - end.rfind("\n")
    if found := _POSITION.search(message):
        message = message[: found.start()]
        if found[1] and int(found[1]) <= line:
            line, column = int(found[1]), int(found[2])
    lines = text.split("\n")
    if _TWICE.match(message):
        offset = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
        scanner = _TomlScanner(text[:offset])
        scanner.scan()
        path, start = scanner.last_statement
        name = spelled(tuple(step for step in path if isinstance(step, str)))
        return start, f"{name}: is set twice, as a whole or in part"
    hint = _toml_hint(message, text, lines[line - 1], column - 1)
    return line, f"not TOML, at column {column}: {message[:1].lower()}{message[1:]}{hint}"


def _toml_hint(message: str, text: str, line: str, at: int) -> str:
    """Return what was probably meant, to be added to the message; "" if it is not known."""
    rest = line[at:]
    if text.lstrip().startswith("{"):
        return "; this looks like JSON"
    if rest.startswith(":") or _YAML_LINE.match(line):
        return "; TOML writes `key = value`, and `key: value` is YAML"
    if not rest and ("key part" in message or "inline table" in message):
        return _ONE_LINE
    if rest.startswith("}") and "key part" in message:
        return "; remove the comma before `}`"
    if message.startswith("Invalid value"):
        if rest.lower().startswith(("true", "false")):
            return "; write `true` and `false` in lower case"
        if rest.startswith(("None", "null")):
            return "; TOML has no null: leave the key out, or write JSON in a string"
        return "; put strings in quotes" if rest[:1].isalpha() else ""
    return next((hint for part, hint in _HINTS.items() if part in message), "")


def key_lines(text: str) -> Mapping[KeyPath, int]:
    """Return the line of every key and every list entry in a text that is known to be TOML."""
    scanner = _TomlScanner(text.replace("\r\n", "\n"))
    scanner.scan()
    return scanner.lines


_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BASIC: Final = r'"((?:\\.|[^"\\])*)"'
_KEY: Final = re.compile(rf"[ \t]*(?:{_BASIC}|'([^']*)'|([A-Za-z0-9_-]+))[ \t]*")
_STRING: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' + r"|'''.*?'{3,5}" + rf"|{_BASIC}" + r"|'[^']*'", re.DOTALL
)
_SCALAR: Final = re.compile(r"[^,\]}#\n]*")


class _TomlScanner:
    """Notes the line of each key; it looks only at what it needs to find the next one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._tables: dict[KeyPath, int] = {}
        """The number of tables that each list of tables has so far."""
        self.lines: dict[KeyPath, int] = {}
        self.last_statement: tuple[KeyPath, int] = ((), 1)

    def scan(self) -> None:
        table: KeyPath = ()
        while sign := self._next():
            line = self._line(self._at)
            if sign == "[":
                table = self._header()
                self.last_statement = table, line
            else:
                self.last_statement = self._assignment(table), line

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at)

    def _next(self) -> str:
        """Skip blanks and comments; return the next character, "" at the end."""
        if found := _BLANK.match(self._text, self._at):
            self._at = found.end()
        return self._text[self._at : self._at + 1]

    def _note(self, path: KeyPath, at: int, depth: int = 0) -> None:
        """Note `at` for `path` and for the tables around it, down to `depth` keys."""
        for length in range(depth + 1, len(path) + 1):
            self.lines.setdefault(path[:length], self._line(at))

    def _header(self) -> KeyPath:
        begin = self._at
        width = 2 if self._text.startswith("[[", begin) else 1
        self._at += width
        keys = self._key()
        self._at += width
        path: KeyPath = ()
        for place, key in enumerate(keys, start=1):
            path = (*path, key)
            if width == 2 and place == len(keys):
                self._tables[path] = self._tables.get(path, 0) + 1
            if path in self._tables:
                path = (*path, self._tables[path] - 1)
        self._note(path, begin)
        return path

    def _key(self) -> list[str]:
        keys: list[str] = []
        while found := _KEY.match(self._text, self._at):
            basic, literal, bare = found.groups()
            if basic is not None and "\\" in basic:
                basic = next(iter(tomllib.loads(f'"{basic}" = 0')))
            keys.append(basic or literal or bare or "")
            self._at = found.end()
            if not self._text.startswith(".", self._at):
                break
            self._at += 1
        return keys

    def _assignment(self, table: KeyPath) -> KeyPath:
        begin = self._at
        path = (*table, *self._key())
        self._note(path, begin, len(table))
        self._at += 1
        self._value(path)
        return path

    def _value(self, path: KeyPath) -> None:
        sign = self._next()
        if sign in {"{", "["}:
            self._at += 1
            number = 0
            while (inner := self._next()) not in {"}", "]", ""}:
                if inner == ",":
                    self._at += 1
                elif sign == "{":
                    self._assignment(path)
                else:
                    self._note((*path, number), self._at, len(path))
                    self._value((*path, number))
                    number += 1
            self._at += 1
            return
        found = (_STRING if sign in {'"', "'"} else _SCALAR).match(self._text, self._at)
        self._at = found.end() if found else self._at + 1
