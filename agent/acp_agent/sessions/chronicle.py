"""One session's place in the store: what happens in it is kept here before anybody is told.

Another process may be writing in the same store, or the disk be full. What then is not kept at once
is kept as soon as that is over, in its order; who has to know that it is kept awaits it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from acp_agent.memory import Kept
from acp_agent.sessions import events
from acp_agent.sessions.entries import write_entry
from acp_agent.sessions.errors import StoreError
from acp_agent.sessions.events import Event
from acp_agent.sessions.patience import patiently
from acp_agent.sessions.records import Record, now, read_json
from acp_agent.sessions.store import Store
from acp_protocol.jsonrpc import Json


class Chronicle:
    """Keeps what happens in a session that this process has claimed."""

    def __init__(self, store: Store, record: Record) -> None:
        self.record = record
        """As it was when the session was opened."""
        self._store = store
        self._last: tuple[int, Event] | None = None
        self._due = deque[Callable[[], object]]()
        """What is to be kept, in its order."""

    async def secure(self, event: Event) -> None:
        """Keep an event; when this returns, a killed process loses it no more.

        Raises:
            StoreError: it cannot be kept; it will not be later, either.
        """
        await self._surely(partial(self._write, event))

    async def confirm(self, **members: Json) -> None:
        """Change members of the record, such as `settings` and `usage`, in the same way.

        Raises:
            StoreError: as for `secure`.
        """
        await self._surely(partial(self._store.change, self.record.number, **members))

    async def settle(self, patience: float | None = None) -> None:
        """Return when all is kept; wait up to `patience` for other processes, see `patiently`.

        Raises:
            StoreError: it cannot be kept now. It stays to be kept.
        """
        await patiently(self._flush, patience)

    def is_settled(self) -> bool:
        """Return whether all is kept, now that it was tried once more."""
        with suppress(StoreError):
            self._flush()
        return not self._due

    def keep(self, event: Event) -> None:
        """Keep an event as soon as that can be."""
        self._soon(partial(self._write, event))

    def remember(self, entry: Kept) -> None:
        """Keep what the model knows now, as soon as that can be."""
        self.keep(events.entry(write_entry(entry)))

    def events(self) -> Iterator[Event]:
        """Yield all that was kept, in order."""
        for body in self._store.events(self.record.number):
            yield events.checked(read_json(body))

    def told(self) -> Iterator[Event]:
        """Yield what the client is to be told again, in order."""
        return events.joined(self.events())

    def current(self) -> Record:
        """Return the record as it stands now, whoever has changed it."""
        return self._store.get(self.record.id) or self.record

    def touch(self) -> str:
        """Note that the session was used; return when, as it stands in the record."""
        at = now()
        self.note(updated=at)
        return at

    def suggest_title(self, title: str) -> bool:
        """Give the session a title unless it has one; return whether it gets it."""
        if self.current().title is not None:
            return False
        self._soon(partial(self._store.suggest_title, self.record.number, title))
        return True

    def note(self, **members: Json) -> None:
        """Change members of the record as soon as that can be."""
        self._soon(partial(self._store.change, self.record.number, **members))

    def _write(self, event: Event) -> None:
        body = json.dumps(event)
        if self._last is not None and events.replaces(event, self._last[1]):
            place = self._last[0]
            self._store.replace(place, body)
        else:
            place = self._store.append(self.record.number, body)
        self._last = (place, event)

    def _soon(self, work: Callable[[], object]) -> None:
        self._due.append(work)
        # Whoever awaits the next thing hears of what is wrong.
        self.is_settled()

    async def _surely(self, work: Callable[[], object]) -> None:
        self._due.append(work)
        try:
            await self.settle()
        except BaseException:
            with suppress(ValueError):
                self._due.remove(work)
            raise

    def _flush(self) -> None:
        while self._due:
            self._due[0]()
            self._due.popleft()
