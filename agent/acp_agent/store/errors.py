"""The errors of a store, as sentences for the user."""

from __future__ import annotations

from typing import Final

from acp_protocol.errors import AcpError

DAMAGED: Final = "the store is damaged; move it away, or take a copy of it back"
FULL: Final = "there is no room left on the disk"
BUSY: Final = "another process keeps the store busy; try again"
READ_ONLY: Final = "the store may not be written"


class StoreError(AcpError):
    """A store cannot be used; the message is a sentence for the user and names no path."""


class LostLockError(StoreError):
    """This process may no longer write to a session; another one may have it open."""


class BusyError(StoreError):
    """The store cannot be used now, as another process is writing; trying again may help."""
