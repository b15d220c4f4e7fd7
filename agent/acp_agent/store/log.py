"""The log of one session: each event is in the store before the client is notified of it.

Another process may be writing to the store, or the disk be full. What cannot be written at once is
written, in its order, as soon as that is over; callers that depend on it wait for it.

A streamed message takes one row, which each piece of it rewrites, up to `ROW_LIMIT` characters.
Each piece is committed before it is sent: a process that is killed loses nothing that the client
has seen. The model's reply refers to these rows and holds only words that are in none of them.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Self

from acp_agent.models.types import AssistantMessage
from acp_agent.store import events
from acp_agent.store.database import SessionRecord, SessionStore, now, read_json
from acp_agent.store.entries import HistoryItem, joined, write_entry
from acp_agent.store.errors import LostLockError
from acp_agent.store.events import Event
from acp_protocol.jsonrpc import Json


class SessionLog:
    """Writes the events and the record of a session whose lock this process holds."""

    def __init__(self, store: SessionStore, record: SessionRecord) -> None:
        self.record = record
        """The record as it was when the session was opened."""
        self.texts = Texts()
        """The streamed texts since the last entry, as the rows hold them."""
        self._store = store
        self._last: tuple[int, Event] | None = None
        self._due = deque[Callable[[], object]]()
        """Writes that are not done yet, in order."""
        self._is_lost = False
        """Whether the lock was lost, and with it what was due."""

    async def append_now(self, event: Event) -> None:
        """Append an event; when this returns, it is committed.

        Raises:
            StoreError: it cannot be written, and will not be later.
        """
        await self._do_now(partial(self._write, event))

    async def update_now(self, **members: Json) -> None:
        """Change fields of the record, such as `settings` and `usage`, in the same way."""
        await self._do_now(partial(self._store.change, self.record.number, **members))

    async def flush(self, max_wait_s: float | None = None) -> None:
        """Return when everything is written; wait up to `max_wait_s` for other processes.

        Raises:
            StoreError: it cannot be written now, and is tried again later.
        """
        await self._store.run(self._flush, max_wait_s)

    def is_flushed(self) -> bool:
        """Try to write what is due; return whether everything is written."""
        if self._due:
            self._store.submit(self._flush)
        return not self._due

    def append(self, event: Event) -> None:
        """Append an event as soon as possible."""
        self._do_soon(partial(self._write, event))

    def append_entry(self, entry: HistoryItem) -> None:
        """Append an entry of the model's history as soon as possible."""
        # It is written when it is known which of its texts are in rows.
        self._do_soon(lambda: self._write(events.entry(write_entry(entry, self.texts))))

    def events(self) -> Iterator[Event]:
        """Yield all events, in order."""
        for body in self._store.events(self.record.number):
            yield events.check_event(read_json(body))

    async def replayable(self) -> AsyncGenerator[Event]:
        """Yield the events to replay to the client, in order."""
        joined = events.JoinedTexts()
        place = 0
        number = self.record.number
        while rows := await self._store.run(partial(self._store.events_after, number, place)):
            place = rows[-1][0]
            for _, body in rows:
                for event in joined.add(events.check_event(read_json(body))):
                    yield event
        for event in joined.end():
            yield event

    async def current(self) -> SessionRecord:
        """Return the record as it is now; other processes may have changed it."""
        return await self._store.run(partial(self._store.get, self.record.id)) or self.record

    def touch(self) -> str:
        """Note that the session was used; return the time as the record holds it."""
        at = now()
        self.update(updated=at)
        return at

    async def suggest_title(self, title: str) -> bool:
        """Set the title unless there is one; return whether it is set."""
        if (await self.current()).title is not None:
            return False
        self._do_soon(partial(self._store.suggest_title, self.record.number, title))
        return True

    def update(self, **members: Json) -> None:
        """Change fields of the record as soon as possible."""
        self._do_soon(partial(self._store.change, self.record.number, **members))

    def _write(self, event: Event) -> None:
        row, whole = None, event
        if self._last is not None:
            row, last = self._last
            if events.continues(last, event, events.ROW_LIMIT):
                whole = events.text(last["kind"], last["id"], last["text"] + event["text"])
            elif not events.replaces(event, last):
                row = None
        if row is None:
            row = self._store.append(self.record.number, json.dumps(whole))
        else:
            self._store.replace(row, json.dumps(whole))
        self._last = (row, whole)
        self.texts.add(event)

    def _do_soon(self, work: Callable[[], object]) -> None:
        self._due.append(work)
        # A caller that waits for a later write gets the error.
        self._store.submit(self._flush)

    async def _do_now(self, work: Callable[[], object]) -> None:
        self._due.append(work)
        try:
            await self.flush()
        except BaseException:
            with suppress(ValueError):
                self._due.remove(work)
            raise

    def _flush(self) -> None:
        if not self._due and not self._is_lost:
            return
        try:
            with self._store.errors():
                self._store.locks.check(self.record.number)
        except LostLockError:
            # None of it can be written any more.
            self._due.clear()
            self._is_lost = True
            raise
        while self._due:
            self._due[0]()
            self._due.popleft()


class Texts(list[tuple[str, str]]):
    """Kind and text of what was streamed since the last entry; neighbours of one kind are one."""

    _is_open = False

    def add(self, event: Event) -> None:
        if event["what"] == "entry":
            self.clear()
        elif event["what"] == "text" and self._is_open and self[-1][0] == event["kind"]:
            self[-1] = (event["kind"], self[-1][1] + event["text"])
        elif event["what"] == "text":
            self.append((event["kind"], event["text"]))
        self._is_open = event["what"] == "text"


class History(list[HistoryItem]):
    """The history of the model; entries that are added are written to the log."""

    def __init__(self, entries: Sequence[HistoryItem], log: SessionLog) -> None:
        super().__init__(entries)
        self._log = log

    def append(self, entry: HistoryItem, /) -> None:
        """Add an entry, as it will be after it was restored."""
        if isinstance(entry, AssistantMessage):
            entry = AssistantMessage(tuple(joined(entry.events)))
        super().append(entry)
        self._log.append_entry(entry)

    def extend(self, entries: Iterable[HistoryItem], /) -> None:
        for entry in entries:
            self.append(entry)

    def __iadd__(self, entries: Iterable[HistoryItem], /) -> Self:
        self.extend(entries)
        return self
