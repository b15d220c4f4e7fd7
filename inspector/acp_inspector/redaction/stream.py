"""Takes secrets out of entries before they are recorded, one after the other, as they come.

Unlike a file that is read twice, what comes is seen once: a secret that only a later line gives
away stands bare in the lines before. It all happens where the recording is written, hence beside
the way that the traffic takes; the wire knows nothing of it.

Source: docs/redaction.md, "While recording".
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.encoder import EntryBatch, LargeFrame
from acp_inspector.recording.format import (
    Header,
    RecordingError,
    decode_line,
    encode_entry,
    encode_header,
)
from acp_inspector.recording.rotation import part_paths
from acp_inspector.redaction.detector import SecretDetector, SecretMatch, is_worth_redacting
from acp_inspector.redaction.json_strings import JsonLiteral
from acp_inspector.redaction.patterns import RULES, chosen_rules
from acp_inspector.redaction.placeholders import PlaceholderMap, highest_placeholder, redact_text
from acp_protocol.errors import AcpError

if TYPE_CHECKING:
    from acp_inspector.proxy.sinks import Sink

MAX_SECRETS: Final = 100_000
"""Distinct secrets with placeholders of their own; lines with further ones are left out."""
MAX_LEARNED: Final = 200
"""Secrets that are looked for from then on wherever they stand; each makes all lines cost more."""
MAX_ENTRY_BYTES: Final = 16 * 2**20
"""Bytes of a line, at most: whoever looks through more has the interpreter's lock for too long."""


class RedactionTooLongError(AcpError):
    """A line would take so long to look through that the traffic would feel it."""


class EntryRedactor:
    """Returns entries without their secrets; the same secret has the same placeholder throughout.

    Entries without a secret come back as they are.
    """

    def __init__(
        self,
        *,
        environment: Mapping[str, str] = os.environ,
        first: int = 1,
        limit: int = MAX_SECRETS,
    ) -> None:
        """Take the variables whose values are looked for, and the first placeholder's number."""
        self._finder = SecretDetector(chosen_rules(()), environment)
        self._ledger = PlaceholderMap(first=first, limit=limit)
        self._learned: set[str] = set()

    def header(self, header: Header) -> Header:
        """Return the header without secrets, with the names of the rules that are applied."""
        line = encode_header(replace(header, redacted=None))
        found = decode_line(self._cut(line.decode())[:-1].encode())
        assert isinstance(found, Header)
        return replace(found, redacted=list(RULES))

    def entry(self, entry: Entry | LargeFrame) -> Entry:
        """Return `entry` without secrets.

        Raises:
            LedgerFullError: it holds a secret beyond the number that are told apart.
            TooLongError: it is longer than `LONGEST`.
        """
        if _size(entry) > MAX_ENTRY_BYTES:
            raise RedactionTooLongError(f"it is longer than {MAX_ENTRY_BYTES >> 20} MiB")
        if isinstance(entry, LargeFrame):
            entry = entry.frame()
        line = encode_entry(entry).decode()
        cut = self._cut(line)
        if cut == line:
            return entry
        found = decode_line(cut[:-1].encode())
        if not isinstance(found, type(entry)):
            raise TypeError("what is left is no entry of its kind")
        return found

    def _cut(self, text: str) -> str:
        # A placeholder that came over the wire must not come to mean another secret.
        self._ledger.first = max(self._ledger.first, highest_placeholder(text) + 1)
        cut, hits = redact_text(text, self._finder, self._ledger)
        if self._learn(hits):
            # What a name gives away at the end of a line may stand bare at its beginning.
            cut, _ = redact_text(cut, self._finder, self._ledger)
        return cut

    def _learn(self, hits: Iterable[SecretMatch]) -> bool:
        """Look for what was found wherever it stands from now on; tell whether that is more."""
        news = {
            hit.value: hit.rules
            for hit in hits
            if hit.value not in self._learned and is_worth_redacting(hit.value)
        }
        news = dict(list(news.items())[: MAX_LEARNED - len(self._learned)])
        if news:
            self._learned.update(news)
            self._finder.add_known(news.items())
        return bool(news)


class RedactingSink:
    """Writes what a sieve leaves of the entries; one that it cannot treat is dropped and told."""

    def __init__(self, inner: Sink, sieve: EntryRedactor, warn: Callable[[str], None]) -> None:
        self._inner = inner
        self._sieve = sieve
        self._warn = warn
        self.dropped = 0
        """Entries that were left out because nobody knows what is in them."""
        self.first_number = inner.first_number
        self.time_offset = inner.time_offset

    def write(self, entries: Iterable[Entry]) -> None:
        """Write entries without their secrets; never raises."""
        self._inner.write([self._redacted(entry) for entry in EntryBatch.of(entries).one_by_one()])

    def close(self) -> None:
        """Close the inner one."""
        self._inner.close()

    def _redacted(self, entry: Entry | LargeFrame) -> Entry:
        try:
            return self._sieve.entry(entry)
        except Exception as problem:  # noqa: BLE001 - a border: what it says may hold the secret
            reason = str(problem) if isinstance(problem, AcpError) else type(problem).__name__
            if not self.dropped:
                self._warn(f"cannot redact a line ({reason}); it is left out of the recording")
            self.dropped += 1
            told = {"count": 1, "why": f"it could not be redacted: {reason}"}
            return JournalEvent(entry.seq, entry.time, "dropped", told)


def next_placeholder(path: Path) -> int:
    """Return the number that the next placeholder of the recording at `path` should get."""
    highest = 0
    try:
        for part in part_paths(path):
            with part.open("rb") as lines:
                for line in lines:
                    if b"secret:" in line:
                        text = line.decode(errors="surrogateescape")
                        highest = max(highest, highest_placeholder(text))
    except (OSError, RecordingError):
        # Whoever writes there will meet the same problem, and tell it.
        pass
    return highest + 1


def _size(entry: Entry | LargeFrame) -> int:
    match entry:
        case Frame(data=said) | StderrChunk(data=said) | LargeFrame(data=said):
            return len(said)
        case JournalEvent(data=data):
            was = data.get("was")
            return len(was) if isinstance(was, str) else 0


STREAM_WINDOW: Final = 16 * 1024
"""Characters of a line of text, or of a private key, that are waited for."""
MAX_STREAM_CHARACTERS: Final = 4 * STREAM_WINDOW
"""Characters of a single secret that are waited for."""
STREAM_OVERLAP: Final = 512
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
class MatchPart:
    """Where a part of a secret is spelled."""

    line: int
    """Number of the recording's line, from 1."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class StreamMatch:
    """A secret in joined text."""

    hit: SecretMatch
    """Its place is one in the joined text."""
    parts: tuple[MatchPart, ...]
    text: str
    """What was joined."""


@dataclass(frozen=True, slots=True)
class _Piece:
    line: int
    literal: JsonLiteral
    skipped: int = 0
    """Characters of it that were looked at already."""

    @property
    def text(self) -> str:
        return self.literal.text[self.skipped :]

    def part(self, start: int, end: int) -> MatchPart:
        place = self.literal.place
        return MatchPart(self.line, place(self.skipped + start), place(self.skipped + end))


@dataclass(slots=True)
class _Stream:
    """What of a stream has not been looked at yet."""

    pieces: list[_Piece] = field(default_factory=list[_Piece])
    size: int = 0
    enough: int = STREAM_WINDOW
    """The size at which it is looked at though no line has ended."""

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    def add(self, piece: _Piece) -> None:
        self.pieces.append(piece)
        self.size += len(piece.text)

    def drop(self, size: int) -> None:
        """Forget the first `size` characters."""
        before, self.pieces, self.size, self.enough = self.pieces, [], 0, STREAM_WINDOW
        at = 0
        for piece in before:
            length = len(piece.text)
            if at + length > size:
                self.add(_Piece(piece.line, piece.literal, piece.skipped + max(size - at, 0)))
            at += length

    def parts(self, start: int, end: int) -> Iterator[MatchPart]:
        """Yield where the characters from `start` to `end` are spelled."""
        at = 0
        for piece in self.pieces:
            length = len(piece.text)
            first, last = max(start - at, 0), min(end - at, length)
            if first < last:
                yield piece.part(first, last)
            at += length


class StreamDetector:
    """Joins what belongs together, and finds the secrets in it."""

    def __init__(self, finder: SecretDetector) -> None:
        self._finder = finder
        self._streams: defaultdict[tuple[str, ...], _Stream] = defaultdict(_Stream)

    def feed(self, number: int, line: str) -> Iterator[StreamMatch]:
        """Yield what is certain now that `line` has come, the recording's line of that number."""
        found = _streamed(line)
        if found is None:
            return
        name, literal = found
        stream = self._streams[name]
        stream.add(_Piece(number, literal))
        if stream.size >= stream.enough:
            yield from self._look_at_most(stream)
        elif "\n" in literal.text and stream.size < STREAM_WINDOW:
            text = stream.text
            end = text.rfind("\n") + 1
            if not _is_key_open(text):
                yield from self._look(stream, text[:end])
                stream.drop(end)

    def finish(self) -> Iterator[StreamMatch]:
        """Yield what is left where no more will come."""
        for stream in self._streams.values():
            yield from self._look(stream, stream.text)
        self._streams.clear()

    def _look_at_most(self, stream: _Stream) -> Iterator[StreamMatch]:
        """Look at a long line, but for what begins near its end: that may go on."""
        near_end = stream.size - STREAM_OVERLAP
        found = [each for each in self._look(stream, stream.text) if each.hit.start < near_end]
        last = max((each.hit.end for each in found), default=0)
        if last < stream.size or stream.size >= MAX_STREAM_CHARACTERS:
            yield from found
            stream.drop(max(last, near_end))
        else:
            stream.enough = stream.size + STREAM_WINDOW

    def _look(self, stream: _Stream, text: str) -> Iterator[StreamMatch]:
        for hit in self._finder.find(text):
            yield StreamMatch(hit, tuple(stream.parts(hit.start, hit.end)), text)


@dataclass(slots=True)
class PendingCuts:
    """What was found at seams, to be cut out of the lines in which it stands."""

    _parts: dict[int, list[tuple[MatchPart, SecretMatch, bool]]] = field(
        default_factory=dict[int, list[tuple[MatchPart, SecretMatch, bool]]]
    )

    def add(self, found: Iterable[StreamMatch], known: PlaceholderMap) -> None:
        """Take what has to be cut out, and let `known` have it."""
        for joined in found:
            known.placeholder(joined.hit)
            for part in joined.parts:
                is_first = part is joined.parts[0]
                self._parts.setdefault(part.line, []).append((part, joined.hit, is_first))

    def cut(self, number: int, line: str, ledger: PlaceholderMap) -> str:
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


def _streamed(line: str) -> tuple[tuple[str, ...], JsonLiteral] | None:
    """Return which stream a line goes on with, and its text; None for any other line.

    What is inside of a string has its quotes escaped, hence is not taken for a member.
    """
    if not line.startswith(_ENTRY):
        return None
    if _STDERR in line[:80]:
        found = _STDERR_TEXT.search(line)
        return None if found is None else (("stderr",), JsonLiteral(found[1], found.start(1)))
    if _CHUNK not in line:
        return None
    texts = list(_TEXT.finditer(line))
    told = dict(_NAMES.findall(line))
    if len(texts) != 1 or not told.get("sessionUpdate", "").endswith("_chunk"):
        return None
    return tuple(map("=".join, sorted(told.items()))), JsonLiteral(texts[0][1], texts[0].start(1))


def _is_key_open(text: str) -> bool:
    """Tell whether a private key has begun whose end has not come."""
    ends = [found.start() for found in _KEY_END.finditer(text)]
    return text.rfind("-----BEGIN") > max(ends, default=-1)
