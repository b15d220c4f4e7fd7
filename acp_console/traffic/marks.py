"""The user's marks and comments, kept beside the recording whose entries they belong to.

A mark names its entry by number and by a hash of its bytes. Where the file has changed since, the
mark is stale: it is shown as such, and never belongs to another entry. Recordings themselves are
not touched. The files may come from elsewhere, together with their recording.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from acp_console.paths import FileWriteError, write_private
from acp_inspector.filter.entries import ENTRY_TYPES, EntrySequence, RecordingEntries
from acp_inspector.journal import Entry, JournalEvent
from acp_inspector.recording.format import SUFFIX
from acp_protocol.errors import AcpError, describe_os_error
from acp_protocol.host.regular_files import read_regular
from acp_protocol.host.state import state_directory

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NOTES_SUFFIX: Final = ".notes.json"
VERSION: Final = 1
MAX_BYTES: Final = 1 << 20
"""Bytes of a file with marks, at most."""
MAX_COMMENT: Final = 500
"""Characters of a comment, at most."""
DIGEST_CHARS: Final = 16


class NotesError(AcpError):
    """A file with marks cannot be read; it is left as it is."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark of an entry."""

    seq: int
    digest: str
    """Of the bytes that the entry had."""
    comment: str = ""
    """Untrusted."""


@dataclass(frozen=True, slots=True)
class _Notes:
    """The content of a file."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    v: Literal[1]
    marks: list[Mark]


@cache
def _adapter() -> TypeAdapter[_Notes]:
    # It takes time to import, and most recordings have no marks.
    from pydantic import TypeAdapter

    return TypeAdapter(_Notes)


class NotesFile:
    """A file with the marks of one recording, or of the traffic of one proxy."""

    def __init__(
        self, recording: Path | None, *, apart: str = "", after: int = 0, offset: int = 0
    ) -> None:
        """Keep marks beside `recording`; None: in the state directory, by the name `apart`.

        If the marks are those of a journal that is written to several recordings: `after` is its
        last entry that is not in this one, and `offset` is what the recording adds to its numbers.
        """
        self.after = after
        self._offset = offset
        self._beside: Path | None = None
        if recording is not None:
            path = recording.absolute()
            self._beside = path.with_name(f"{path.name.removesuffix(SUFFIX)}{NOTES_SUFFIX}")
            apart = f"{path.name[:60]}-{sha256(os.fsencode(path)).hexdigest()[:DIGEST_CHARS]}"
        self._apart = state_directory() / "notes" / f"{apart}{NOTES_SUFFIX}"

    def read(self) -> list[Mark]:
        """Return the marks, by the numbers of the journal.

        Raises:
            NotesError: the file cannot be read, or is none of ours.
        """
        found: list[tuple[float, Path]] = []
        for path in (self._beside, self._apart):
            with suppress(OSError):
                if path is not None:
                    found.append((path.lstat().st_mtime, path))
        if not found:
            return []
        path = max(found)[1]
        try:
            # What is linked to may be any file, and is replaced with the next mark.
            notes = _adapter().validate_json(read_regular(path, MAX_BYTES))
        except OSError as problem:
            reason = describe_os_error(problem)
            raise NotesError(f"the marks in {path} cannot be read: {reason}") from None
        except ValueError:
            raise NotesError(
                f"the marks in {path} are not used: it is not a file of marks that this version "
                "can read"
            ) from None
        return [replace(each, seq=each.seq - self._offset) for each in notes.marks]

    def change(self, before: Mark | None, after: Mark | None) -> None:
        """Replace one mark; None: there was none, or it is removed.

        Other programs may have changed other marks meanwhile, which stay.

        Raises:
            NotesError: the file cannot be read.
            FileWriteError: it cannot be written.
        """
        marks = [each for each in self.read() if each not in {before, after}]
        marks += [] if after is None else [after]
        moved = [replace(each, seq=each.seq + self._offset) for each in marks]
        notes = {"v": VERSION, "marks": [asdict(each) for each in sorted(moved, key=_place)]}
        text = f"{json.dumps(notes, indent=1, ensure_ascii=False)}\n"
        if self._beside is not None:
            with suppress(FileWriteError, OSError):
                write_private(self._beside, text, is_followed=False)
                if not marks:
                    self._beside.unlink()
                self._apart.unlink(missing_ok=True)
                return
        write_private(self._apart, text)


def _place(mark: Mark) -> tuple[int, str]:
    return mark.seq, mark.digest


class Marks:
    """The marks of the entries of one connection."""

    def __init__(
        self,
        entries: EntrySequence,
        row_of: Callable[[int], int | None],
        notes: Callable[[], Sequence[NotesFile]] = tuple,
    ) -> None:
        """Mark `entries`, whose rows `row_of` finds; `notes` returns where the marks are kept."""
        self._entries = entries
        self._row_of = row_of
        self._notes = notes
        self._marks: dict[int, Mark] = {}
        """By row."""
        self._waiting: list[Mark] = []
        """Those whose entries were not read yet."""
        self.stale: list[Mark] = []
        """Those whose entries are not there any more."""
        self.numbers: frozenset[int] = frozenset()
        """The numbers of the marked entries."""
        self.revision = 0
        """Number of changes so far."""

    def load(self) -> None:
        """Read the marks.

        Raises:
            NotesError: a file cannot be read.
        """
        for notes in self._notes():
            self._waiting += notes.read()

    def forget(self) -> None:
        """Look for the entries of all marks again: they were replaced."""
        self._waiting += [*self._marks.values(), *self.stale]
        self._marks.clear()
        self.stale = []
        self._count()

    def find_entries(self) -> bool:
        """Look for the entries of marks that were read; return whether any mark was settled."""
        is_complete = isinstance(self._entries, RecordingEntries) and self._entries.is_complete
        waiting: list[Mark] = []
        for mark in self._waiting:
            row = self._row_of(mark.seq)
            if row is None and not is_complete:
                waiting.append(mark)
            elif row is not None and self._digest(row) == mark.digest:
                self._marks[row] = mark
            else:
                self.stale.append(mark)
        has_changed = len(waiting) < len(self._waiting)
        self._waiting = waiting
        if has_changed:
            self._count()
        return has_changed

    @property
    def rows(self) -> list[int]:
        """The marked rows, in order."""
        return sorted(self._marks)

    def __contains__(self, row: object) -> bool:
        return row in self._marks

    def comment(self, row: int) -> str:
        """Return the comment on a row; empty if there is none."""
        mark = self._marks.get(row)
        return "" if mark is None else mark.comment

    def can_mark(self, row: int) -> bool:
        """Whether a row is an entry; a header or a line that cannot be read has no mark."""
        return self._entry(row) is not None

    def set(self, row: int, comment: str = "") -> None:
        """Mark a row.

        Raises:
            NotesError: the file with the marks cannot be read; the mark is only on the screen.
            FileWriteError: it cannot be written; the same.
        """
        entry = self._entry(row)
        if entry is not None:
            before = self._marks.get(row)
            self._marks[row] = Mark(entry.seq, digest(entry), comment.strip()[:MAX_COMMENT])
            self._keep(before, self._marks[row])

    def remove(self, row: int) -> None:
        """Remove the mark of a row; raises as `set` does."""
        if (mark := self._marks.pop(row, None)) is not None:
            self._keep(mark, None)

    def remove_stale(self, mark: Mark) -> None:
        """Remove a mark whose entry is not there any more; raises as `set` does."""
        self.stale.remove(mark)
        self._keep(mark, None)

    def _keep(self, before: Mark | None, after: Mark | None) -> None:
        self._count()
        mark = after or before
        assert mark is not None
        places = [notes for notes in self._notes() if notes.after < mark.seq]
        if places:
            places[-1].change(before, after)

    def _count(self) -> None:
        self.numbers = frozenset(mark.seq for mark in self._marks.values())
        self.revision += 1

    def _entry(self, row: int) -> Entry | None:
        try:
            entry = self._entries[row]
        except AcpError:
            return None
        return entry if isinstance(entry, ENTRY_TYPES) else None

    def _digest(self, row: int) -> str:
        entry = self._entry(row)
        return "" if entry is None else digest(entry)


def digest(entry: Entry) -> str:
    """Return a short hash of what an entry says, whatever its number and its time."""
    if isinstance(entry, JournalEvent):
        data = json.dumps([entry.name, dict(entry.data)], sort_keys=True).encode()
    else:
        data = entry.data
    return sha256(data).hexdigest()[:DIGEST_CHARS]
