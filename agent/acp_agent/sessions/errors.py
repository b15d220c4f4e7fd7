"""What goes wrong with a store of sessions, as sentences for its user."""

from __future__ import annotations

import sqlite3
from typing import Final

from acp_protocol.errors import AcpError

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


DAMAGED: Final = _SENTENCES[sqlite3.SQLITE_CORRUPT]


def sentence_for(problem: sqlite3.Error) -> str:
    """Return what `problem` means to the user, without the text of the library."""
    # The low byte is the kind; the rest tells it more exactly. Text that is no UTF-8 has no code.
    code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    return _SENTENCES.get(code, DAMAGED)
