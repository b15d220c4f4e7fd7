"""What goes wrong with a store of sessions, as sentences for its user."""

from __future__ import annotations

import sqlite3
from typing import Final

from acp_protocol.errors import AcpError

_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_SENTENCES: Final = {
    sqlite3.SQLITE_BUSY: "another process keeps the store busy; try again",
    sqlite3.SQLITE_LOCKED: "another process keeps the store busy; try again",
    sqlite3.SQLITE_FULL: "there is no room left on the disk",
    sqlite3.SQLITE_READONLY: "the store may not be written",
    sqlite3.SQLITE_PERM: "the store may not be read",
    sqlite3.SQLITE_CANTOPEN: "the store cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk does not read or write it",
    sqlite3.SQLITE_CORRUPT: "the store is damaged; move it away, or take a copy of it back",
    sqlite3.SQLITE_NOTADB: "the store is damaged, or no store; move it away",
}


class StoreError(AcpError):
    """A store cannot be used; the message is a sentence for the user and names no path."""


class BusyError(StoreError):
    """Another process is writing in the store; trying again may help."""


DAMAGED: Final = _SENTENCES[sqlite3.SQLITE_CORRUPT]


def error_for(problem: sqlite3.Error) -> StoreError:
    """Return what `problem` means to the user, without the text of the library."""
    # The low byte is the kind; the rest tells it more exactly. Text that is no UTF-8 has no code.
    code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    kind = BusyError if code in _BUSY else StoreError
    return kind(_SENTENCES.get(code, DAMAGED))
