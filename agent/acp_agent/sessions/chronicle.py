"""One session's place in the store: what happens in it is kept here before anybody is told."""

from __future__ import annotations

import json
from collections.abc import Iterator

from acp_agent.memory import Kept
from acp_agent.sessions import events
from acp_agent.sessions.entries import write_entry
from acp_agent.sessions.events import Event
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

    def keep(self, event: Event) -> None:
        """Keep an event; when this returns, a killed process loses it no more."""
        body = json.dumps(event)
        if self._last is not None and events.replaces(event, self._last[1]):
            place = self._last[0]
            self._store.replace(place, body)
        else:
            place = self._store.append(self.record.number, body)
        self._last = (place, event)

    def remember(self, entry: Kept) -> None:
        """Keep what the model knows now."""
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
        self._store.change(self.record.number, updated=at)
        return at

    def suggest_title(self, title: str) -> bool:
        """Give the session a title unless it has one; return whether it got it."""
        return self._store.suggest_title(self.record.number, title)

    def note(self, **members: Json) -> None:
        """Change members of the record, such as `settings` and `usage`."""
        self._store.change(self.record.number, **members)
