"""Secrets that were cut in two: by the chunks of a message, or by the pieces of stderr.

Agents stream word by word, and what no chunk gives away stands on the reader's screen as a whole.
So the text of each stream is joined and looked at line by line, a private key as a whole; what is
found there is told by where its parts stand in the lines of the recording.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.redaction.finder import Finder, Hit
from acp_inspector.redaction.ledger import Ledger
from acp_inspector.redaction.literals import Spelled

LIMIT: Final = 16 * 1024
"""Characters of a line of text, or of a private key, that are waited for."""
LONGEST: Final = 4 * LIMIT
"""Characters of a single secret that are waited for."""
OVERLAP: Final = 512
"""Characters of a longer line that are looked at again together with what follows."""
_CHUNK: Final = '_chunk"'
_STDERR: Final = '"from":"agent","stderr":"'
_ENTRY: Final = '{"n":'
_STRING: Final = r'"((?:[^"\\]|\\.)*+)"'
_STDERR_TEXT: Final = re.compile(r'"stderr":' + _STRING)
_TEXT: Final = re.compile(r'"text"\s*:\s*' + _STRING)
_NAMES: Final = re.compile(
    r'"(from|sessionId|sessionUpdate|messageId|toolCallId)"\s*:\s*' + _STRING
)
_KEY_END: Final = re.compile(r"-----END [^-\n]*-----")


@dataclass(frozen=True, slots=True)
class Part:
    """Where a part of a secret is spelled."""

    line: int
    """Number of the recording's line, from 1."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A secret in joined text."""

    hit: Hit
    """Its place is one in the joined text."""
    parts: tuple[Part, ...]
    text: str
    """What was joined."""


@dataclass(frozen=True, slots=True)
class _Piece:
    line: int
    literal: Spelled
    skipped: int = 0
    """Characters of it that were looked at already."""

    @property
    def text(self) -> str:
        return self.literal.text[self.skipped :]

    def part(self, start: int, end: int) -> Part:
        place = self.literal.place
        return Part(self.line, place(self.skipped + start), place(self.skipped + end))


@dataclass(slots=True)
class _Stream:
    """What of a stream has not been looked at yet."""

    pieces: list[_Piece] = field(default_factory=list[_Piece])
    size: int = 0
    enough: int = LIMIT
    """The size at which it is looked at though no line has ended."""

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    def add(self, piece: _Piece) -> None:
        self.pieces.append(piece)
        self.size += len(piece.text)

    def drop(self, size: int) -> None:
        """Forget the first `size` characters."""
        before, self.pieces, self.size, self.enough = self.pieces, [], 0, LIMIT
        at = 0
        for piece in before:
            length = len(piece.text)
            if at + length > size:
                self.add(_Piece(piece.line, piece.literal, piece.skipped + max(size - at, 0)))
            at += length

    def parts(self, start: int, end: int) -> Iterator[Part]:
        """Yield where the characters from `start` to `end` are spelled."""
        at = 0
        for piece in self.pieces:
            length = len(piece.text)
            first, last = max(start - at, 0), min(end - at, length)
            if first < last:
                yield piece.part(first, last)
            at += length


class Seams:
    """Joins what belongs together, and finds the secrets in it."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._streams: defaultdict[tuple[str, ...], _Stream] = defaultdict(_Stream)

    def feed(self, number: int, line: str) -> Iterator[Joined]:
        """Yield what is certain now that `line` has come, the recording's line of that number."""
        found = _streamed(line)
        if found is None:
            return
        name, literal = found
        stream = self._streams[name]
        stream.add(_Piece(number, literal))
        if stream.size >= stream.enough:
            yield from self._look_at_most(stream)
        elif "\n" in literal.text and stream.size < LIMIT:
            text = stream.text
            end = text.rfind("\n") + 1
            if not _is_key_open(text):
                yield from self._look(stream, text[:end])
                stream.drop(end)

    def finish(self) -> Iterator[Joined]:
        """Yield what is left where no more will come."""
        for stream in self._streams.values():
            yield from self._look(stream, stream.text)
        self._streams.clear()

    def _look_at_most(self, stream: _Stream) -> Iterator[Joined]:
        """Look at a long line, but for what begins near its end: that may go on."""
        near_end = stream.size - OVERLAP
        found = [each for each in self._look(stream, stream.text) if each.hit.start < near_end]
        last = max((each.hit.end for each in found), default=0)
        if last < stream.size or stream.size >= LONGEST:
            yield from found
            stream.drop(max(last, near_end))
        else:
            stream.enough = stream.size + LIMIT

    def _look(self, stream: _Stream, text: str) -> Iterator[Joined]:
        for hit in self._finder.find(text):
            yield Joined(hit, tuple(stream.parts(hit.start, hit.end)), text)


@dataclass(slots=True)
class Stitches:
    """What was found at seams, to be cut out of the lines in which it stands."""

    _parts: dict[int, list[tuple[Part, Hit, bool]]] = field(
        default_factory=dict[int, list[tuple[Part, Hit, bool]]]
    )

    def add(self, found: Iterable[Joined], known: Ledger) -> None:
        """Take what has to be cut out, and let `known` have it."""
        for joined in found:
            known.placeholder(joined.hit)
            for part in joined.parts:
                is_first = part is joined.parts[0]
                self._parts.setdefault(part.line, []).append((part, joined.hit, is_first))

    def cut(self, number: int, line: str, ledger: Ledger) -> str:
        """Return `line` without what was found; the first part of each becomes its placeholder."""
        left = len(line)
        pieces: list[str] = []
        parts = self._parts.pop(number, [])
        for part, hit, is_first in sorted(parts, key=lambda each: -each[0].start):
            if part.end > left:
                # It was found twice, in what two looks have in common.
                continue
            pieces += (line[part.end : left], ledger.placeholder(hit) if is_first else "")
            left = part.start
        return line[:left] + "".join(reversed(pieces)) if pieces else line


def _streamed(line: str) -> tuple[tuple[str, ...], Spelled] | None:
    """Return which stream a line goes on with, and its text; None for any other line.

    What is inside of a string has its quotes escaped, hence is not taken for a member.
    """
    if not line.startswith(_ENTRY):
        return None
    if _STDERR in line[:80]:
        found = _STDERR_TEXT.search(line)
        return None if found is None else (("stderr",), Spelled(found[1], found.start(1)))
    if _CHUNK not in line:
        return None
    texts = list(_TEXT.finditer(line))
    told = dict(_NAMES.findall(line))
    if len(texts) != 1 or not told.get("sessionUpdate", "").endswith("_chunk"):
        return None
    return tuple(map("=".join, sorted(told.items()))), Spelled(texts[0][1], texts[0].start(1))


def _is_key_open(text: str) -> bool:
    """Tell whether a private key has begun whose end has not come."""
    ends = [found.start() for found in _KEY_END.finditer(text)]
    return text.rfind("-----BEGIN") > max(ends, default=-1)
