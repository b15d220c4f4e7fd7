"""Redacts entries one by one before they are recorded.

Unlike a file, which is read twice, live traffic is seen only once: a secret that only a later line
identifies stays in the lines before. This runs where the recording is written and does not affect
the traffic.

Source: docs/redaction.md, "While recording".
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from acp_inspector.journal import Entry, JournalEvent, Sink
from acp_inspector.recording.format import (
    Header,
    RecordingError,
    decode_line,
    encode_entry,
    encode_header,
    with_right_length,
)
from acp_inspector.recording.rotation import part_paths
from acp_inspector.redaction.detector import SecretDetector, SecretMatch, is_worth_redacting
from acp_inspector.redaction.json_strings import JsonLiteral
from acp_inspector.redaction.patterns import RULES, chosen_rules
from acp_inspector.redaction.placeholders import PlaceholderMap, highest_placeholder, redact_text
from acp_protocol.errors import AcpError

MAX_SECRETS: Final = 100_000
"""Most distinct secrets; entries with further ones are dropped."""
MAX_LEARNED: Final = 200
"""Most secrets that are searched for everywhere once found; each one slows down every line."""
MAX_ENTRY_BYTES: Final = 16 * 2**20
"""Longest entry to search; longer ones would hold the GIL for too long."""


class RedactionTooLongError(AcpError):
    """An entry is too long to be searched without slowing down the traffic."""


class EntryRedactor:
    """Replaces secrets in entries; a secret always gets the same placeholder.

    Entries without secrets are returned unchanged.
    """

    def __init__(
        self,
        *,
        environment: Mapping[str, str] = os.environ,
        rules: Iterable[str] = (),
        first: int = 1,
        limit: int = MAX_SECRETS,
    ) -> None:
        """Begin.

        Args:
            environment: Values of secret variables in it are found.
            rules: Names of the rules; all if empty.
            first: The number of the first placeholder.
            limit: Most distinct secrets.
        """
        self._detector = SecretDetector(chosen_rules(rules), environment)
        self._placeholders = PlaceholderMap(first=first, limit=limit)
        self._learned: set[str] = set()

    def header(self, header: Header) -> Header:
        """Return the header without secrets, and with the applied rules."""
        line = encode_header(replace(header, redacted=None))
        found = decode_line(self._redact(line.decode())[:-1].encode())
        assert isinstance(found, Header)
        return replace(found, redacted=[name for name in RULES if name in self._detector.rules])

    def entry(self, entry: Entry) -> Entry:
        """Return `entry` without secrets.

        Raises:
            TooManySecretsError: it contains a secret beyond the limit.
            RedactionTooLongError: it is longer than `MAX_ENTRY_BYTES`.
        """
        content = entry.data.get("was") if isinstance(entry, JournalEvent) else entry.data
        if isinstance(content, str | bytes | bytearray) and len(content) > MAX_ENTRY_BYTES:
            raise RedactionTooLongError(f"it is longer than {MAX_ENTRY_BYTES >> 20} MiB")
        line = encode_entry(entry).decode()
        cut = self._redact(line)
        if cut == line:
            return entry
        found = decode_line(with_right_length(cut)[:-1].encode())
        if not isinstance(found, type(entry)):
            raise TypeError("what is left is no entry of its kind")
        return found

    def _redact(self, text: str) -> str:
        # A placeholder in the traffic must not be reused for another secret.
        self._placeholders.first = max(self._placeholders.first, highest_placeholder(text) + 1)
        cut, hits = redact_text(text, self._detector, self._placeholders)
        new = {
            hit.value: hit.rules
            for hit in hits
            if hit.value not in self._learned and is_worth_redacting(hit.value)
        }
        new = dict(list(new.items())[: MAX_LEARNED - len(self._learned)])
        if new:
            # Search for these secrets everywhere from now on; one that is identified at the end
            # of a line may also occur at its start.
            self._learned.update(new)
            self._detector.add_known(new.items())
            cut, _ = redact_text(cut, self._detector, self._placeholders)
        return cut


class RedactingSink:
    """Redacts entries before writing them; an entry that cannot be redacted is dropped."""

    def __init__(self, inner: Sink, redactor: EntryRedactor, warn: Callable[[str], None]) -> None:
        self._inner = inner
        self._redactor = redactor
        self._warn = warn
        self.dropped = 0
        """Number of entries that were left out because they could not be redacted."""
        self.first_number = inner.first_number
        self.time_offset = inner.time_offset

    def write(self, entries: Iterable[Entry]) -> None:
        """Write entries without their secrets; never raises."""
        self._inner.write([self._redacted(entry) for entry in entries])

    def close(self) -> None:
        self._inner.close()

    def _redacted(self, entry: Entry) -> Entry:
        try:
            return self._redactor.entry(entry)
        except Exception as problem:  # noqa: BLE001 - never stops the recording; the message may contain the secret
            reason = str(problem) if isinstance(problem, AcpError) else type(problem).__name__
            if not self.dropped:
                self._warn(f"cannot redact a line ({reason}); it is left out of the recording")
            self.dropped += 1
            data = {"count": 1, "why": f"it could not be redacted: {reason}"}
            return JournalEvent(entry.seq, entry.time, "dropped", data)


def next_placeholder(path: Path) -> int:
    """Return the number for the next placeholder of the recording at `path`."""
    highest = 0
    try:
        for part in part_paths(path):
            with part.open("rb") as lines:
                for line in lines:
                    if b"secret:" in line:
                        text = line.decode(errors="surrogateescape")
                        highest = max(highest, highest_placeholder(text))
    except (OSError, RecordingError):
        # The writer meets the same error and reports it.
        pass
    return highest + 1


STREAM_WINDOW: Final = 16 * 1024
"""Characters of an unfinished line or private key to buffer."""
MAX_STREAM_CHARACTERS: Final = 4 * STREAM_WINDOW
"""Characters of an unfinished secret to buffer."""
STREAM_OVERLAP: Final = 512
"""Characters of a longer line that are searched again with what follows."""
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
class StreamMatch:
    """A secret in joined text."""

    match: SecretMatch
    """Its offsets are those in the joined text."""
    parts: tuple[tuple[int, int, int], ...]
    """The number of the line, from 1, and start and end there, of each part of the secret."""
    text: str
    """The joined text."""


@dataclass(slots=True)
class _Stream:
    """The part of a stream that has not been searched yet."""

    text: str = ""
    pieces: list[tuple[int, int, JsonLiteral]] = field(
        default_factory=list[tuple[int, int, JsonLiteral]]
    )
    """The strings that it comes from: where each starts in `text`, and the number of its line."""
    threshold: int = STREAM_WINDOW
    """The size at which it is searched even if no line has ended."""

    def drop(self, size: int) -> None:
        """Forget the first `size` characters."""
        self.text = self.text[size:]
        self.pieces = [
            (start - size, line, literal)
            for start, line, literal in self.pieces
            if start + len(literal.text) > size
        ]
        self.threshold = STREAM_WINDOW

    def search(self, detector: SecretDetector, end: int | None = None) -> Iterator[StreamMatch]:
        """Yield the secrets before `end`."""
        text = self.text[:end]
        for hit in detector.find(text):
            parts = [
                (
                    line,
                    literal.offset(max(hit.start - start, 0)),
                    literal.offset(min(hit.end - start, len(literal.text))),
                )
                for start, line, literal in self.pieces
                if start < hit.end and hit.start < start + len(literal.text)
            ]
            yield StreamMatch(hit, tuple(parts), text)


class StreamDetector:
    """Joins text that is streamed in chunks, and finds secrets that span chunks."""

    def __init__(self, detector: SecretDetector) -> None:
        self._detector = detector
        self._streams: defaultdict[tuple[str, ...], _Stream] = defaultdict(_Stream)

    def feed(self, number: int, line: str) -> Iterator[StreamMatch]:
        """Add a line of the recording; yield the secrets in text that is now complete."""
        found = _streamed(line)
        if found is None:
            return
        name, literal = found
        stream = self._streams[name]
        stream.pieces.append((len(stream.text), number, literal))
        stream.text += literal.text
        if len(stream.text) >= stream.threshold:
            yield from self._search_unfinished(stream)
        elif "\n" in literal.text and len(stream.text) < STREAM_WINDOW:
            end = stream.text.rfind("\n") + 1
            key_ends = (found.start() for found in _KEY_END.finditer(stream.text, 0, end))
            # A private key that has begun must be searched together with its end.
            if stream.text.rfind("-----BEGIN", 0, end) <= max(key_ends, default=-1):
                yield from stream.search(self._detector, end)
                stream.drop(end)

    def finish(self) -> Iterator[StreamMatch]:
        """Yield the secrets in the remaining text."""
        for stream in self._streams.values():
            yield from stream.search(self._detector)
        self._streams.clear()

    def _search_unfinished(self, stream: _Stream) -> Iterator[StreamMatch]:
        """Search a long unfinished line, except for matches near its end, which may go on."""
        size = len(stream.text)
        near_end = size - STREAM_OVERLAP
        found = [each for each in stream.search(self._detector) if each.match.start < near_end]
        last = max((each.match.end for each in found), default=0)
        if last < size or size >= MAX_STREAM_CHARACTERS:
            yield from found
            stream.drop(max(last, near_end))
        else:
            stream.threshold = size + STREAM_WINDOW


def _streamed(line: str) -> tuple[tuple[str, ...], JsonLiteral] | None:
    """Return the stream that a line continues, and its text; None for any other line.

    Keys inside of strings do not match, because their quotes are escaped.
    """
    if not line.startswith(_ENTRY):
        return None
    if _STDERR in line[:80]:
        found = _STDERR_TEXT.search(line)
        return None if found is None else (("stderr",), JsonLiteral(found[1], found.start(1)))
    if _CHUNK not in line:
        return None
    texts = list(_TEXT.finditer(line))
    names = dict(_NAMES.findall(line))
    if len(texts) != 1 or not names.get("sessionUpdate", "").endswith("_chunk"):
        return None
    return tuple(map("=".join, sorted(names.items()))), JsonLiteral(texts[0][1], texts[0].start(1))
