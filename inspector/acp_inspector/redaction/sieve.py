"""Takes secrets out of entries before they are recorded, one after the other, as they come.

Unlike a file that is read twice, what comes is seen once: a secret that only a later line gives
away stands bare in the lines before. It all happens where the recording is written, hence beside
the way that the traffic takes; the wire knows nothing of it.

Source: docs/redaction.md, "While recording".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.recording.encoder import Batch, LongLine
from acp_inspector.recording.format import (
    Header,
    RecordingError,
    decode_line,
    encode_entry,
    encode_header,
)
from acp_inspector.recording.parts import part_paths
from acp_inspector.redaction.finder import Finder, Hit, is_telling
from acp_inspector.redaction.ledger import Ledger, highest_placeholder, redact_text
from acp_inspector.redaction.rules import RULES, chosen_rules
from acp_protocol.errors import AcpError

if TYPE_CHECKING:
    from acp_inspector.proxy.log import Sink

SECRETS: Final = 100_000
"""Distinct secrets with placeholders of their own; lines with further ones are left out."""
LEARNED: Final = 200
"""Secrets that are looked for from then on wherever they stand; each makes all lines cost more."""
LONGEST: Final = 16 * 2**20
"""Bytes of a line, at most: whoever looks through more has the interpreter's lock for too long."""


class TooLongError(AcpError):
    """A line would take so long to look through that the traffic would feel it."""


class Sieve:
    """Returns entries without their secrets; the same secret has the same placeholder throughout.

    Entries without a secret come back as they are.
    """

    def __init__(
        self,
        *,
        environment: Mapping[str, str] = os.environ,
        first: int = 1,
        limit: int = SECRETS,
    ) -> None:
        """Take the variables whose values are looked for, and the first placeholder's number."""
        self._finder = Finder(chosen_rules(()), environment)
        self._ledger = Ledger(first=first, limit=limit)
        self._learned: set[str] = set()

    def header(self, header: Header) -> Header:
        """Return the header without secrets, with the names of the rules that are applied."""
        line = encode_header(replace(header, redacted=None))
        found = decode_line(self._cut(line.decode())[:-1].encode())
        assert isinstance(found, Header)
        return replace(found, redacted=list(RULES))

    def entry(self, entry: Entry | LongLine) -> Entry:
        """Return `entry` without secrets.

        Raises:
            LedgerFullError: it holds a secret beyond the number that are told apart.
            TooLongError: it is longer than `LONGEST`.
        """
        if _size(entry) > LONGEST:
            raise TooLongError(f"it is longer than {LONGEST >> 20} MiB")
        if isinstance(entry, LongLine):
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

    def _learn(self, hits: Iterable[Hit]) -> bool:
        """Look for what was found wherever it stands from now on; tell whether that is more."""
        news = {
            hit.value: hit.rules
            for hit in hits
            if hit.value not in self._learned and is_telling(hit.value)
        }
        news = dict(list(news.items())[: LEARNED - len(self._learned)])
        if news:
            self._learned.update(news)
            self._finder.know(news.items())
        return bool(news)


class RedactedSink:
    """Writes what a sieve leaves of the entries; one that it cannot treat is dropped and told."""

    def __init__(self, inner: Sink, sieve: Sieve, warn: Callable[[str], None]) -> None:
        self._inner = inner
        self._sieve = sieve
        self._warn = warn
        self.dropped = 0
        """Entries that were left out because nobody knows what is in them."""
        self.first_number = inner.first_number
        self.time_offset = inner.time_offset

    def write(self, entries: Iterable[Entry]) -> None:
        """Write entries without their secrets; never raises."""
        self._inner.write([self._redacted(entry) for entry in Batch.of(entries).singly()])

    def close(self) -> None:
        """Close the inner one."""
        self._inner.close()

    def _redacted(self, entry: Entry | LongLine) -> Entry:
        try:
            return self._sieve.entry(entry)
        except Exception as problem:  # noqa: BLE001 - a border: what it says may hold the secret
            reason = str(problem) if isinstance(problem, AcpError) else type(problem).__name__
            if not self.dropped:
                self._warn(f"cannot redact a line ({reason}); it is left out of the recording")
            self.dropped += 1
            told = {"count": 1, "why": f"it could not be redacted: {reason}"}
            return JournalEvent(entry.n, entry.at, "dropped", told)


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


def _size(entry: Entry | LongLine) -> int:
    match entry:
        case Frame(raw=said) | StderrText(text=said) | LongLine(raw=said):
            return len(said)
        case JournalEvent(data=data):
            was = data.get("was")
            return len(was) if isinstance(was, str) else 0
