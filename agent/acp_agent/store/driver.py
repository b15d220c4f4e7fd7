"""What a store needs of a database; SQLite and PostgreSQL have a driver each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Locks(Protocol):
    """The sessions that this process has open.

    A lock ends with its process, however that ends. No two connections have the same session open,
    be they of one process or of several ones.
    """

    def take(self, number: int) -> bool:
        """Lock a session; return False if it is locked already, by whatever process."""
        ...

    def release(self, number: int) -> None:
        """Unlock a session; nothing happens if this process does not have it."""
        ...

    def is_taken(self, number: int) -> bool:
        """Return whether any process has the session open."""
        ...

    def check(self, number: int) -> None:
        """Return if this process may write to a session.

        Raises:
            StoreError: it has lost the lock, and another process may have the session open.
        """
        ...

    def close(self) -> None:
        """Unlock all sessions."""
        ...


class Driver(Protocol):
    """A database with one connection, which one thread uses at a time."""

    is_immediate: bool
    """Whether statements are done at once, so that an event loop can wait for them."""
    types: Mapping[str, str]
    """The types of columns that differ from database to database."""

    @property
    def locks(self) -> Locks:
        """The locks of sessions."""
        ...

    def execute(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        """Execute a statement with `:name` for each value; return its rows.

        A text that is damaged is returned as None.
        """
        ...

    def append(self, number: int, body: str) -> int:
        """Append an event to a session; return the number of its row."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Commit what is executed in the block, or nothing of it if it raises."""
        ...

    def errors(self) -> AbstractContextManager[None]:
        """Turn the exceptions of the library and of the system into a StoreError."""
        ...

    def begin_migration(self) -> int:
        """Return the format of the database, 0 for an empty one; no other process changes it.

        Raises:
            StoreError: it was made by another program.
        """
        ...

    def end_migration(self, format_: int) -> None:
        """Mark the database as one of ours in a format."""
        ...

    def listen(self, is_wanted: Callable[[int], object]) -> None:
        """Call `is_wanted` when another process wants a session, at the latest at `poll`."""
        ...

    def poll(self) -> None:
        """Receive what other processes want; connect again if the connection broke."""
        ...

    def ask_for(self, number: int) -> None:
        """Let other processes know that this one wants a session."""
        ...

    def interrupt(self, max_s: float) -> None:
        """Break off a statement that has run for longer; other threads may call this."""
        ...

    def close(self) -> None: ...


INSERT_EVENT = "INSERT INTO event (session, body) VALUES (:session, :body) RETURNING place"
