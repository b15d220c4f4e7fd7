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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Any, Final, Self, cast

from acp_agent.models.types import (
    AssistantMessage,
    Attachment,
    Image,
    ModelEvent,
    PlanChange,
    PlannedStep,
    PromptMessage,
    ProviderBlock,
    ReasoningDelta,
    Stop,
    TextDelta,
    TokenUsage,
    ToolResult,
    ToolUse,
)
from acp_agent.sessions import events
from acp_agent.sessions.events import Event
from acp_agent.sessions.store import (
    DAMAGED,
    SessionRecord,
    SessionStore,
    StoreError,
    now,
    read_json,
    retry_busy,
)
from acp_agent.turn.history import HistoryItem, LocalExchange, Summary
from acp_protocol.jsonrpc import Json


class SessionLog:
    """Writes the events and the record of a session whose lock this process holds."""

    def __init__(self, store: SessionStore, record: SessionRecord) -> None:
        self.record = record
        """The record as it was when the session was opened."""
        self.texts = Texts()
        """What was said since the last entry, as the rows hold it."""
        self._store = store
        self._last: tuple[int, Event] | None = None
        self._due = deque[Callable[[], object]]()
        """Writes that are not done yet, in order."""

    async def append_now(self, event: Event) -> None:
        """Append an event; when this returns, it is committed.

        Raises:
            StoreError: it cannot be written, and will not be later.
        """
        await self._surely(partial(self._write, event))

    async def update_now(self, **members: Json) -> None:
        """Change fields of the record, such as `settings` and `usage`, in the same way.

        Raises:
            StoreError: as for `secure`.
        """
        await self._surely(partial(self._store.change, self.record.number, **members))

    async def flush(self, max_wait_s: float | None = None) -> None:
        """Return when everything is written; wait up to `patience` seconds for others.

        Raises:
            StoreError: it cannot be written now, and is tried again later.
        """
        await retry_busy(self._flush, max_wait_s)

    def is_flushed(self) -> bool:
        """Try to write what is due; return whether everything is written."""
        with suppress(StoreError):
            self._flush()
        return not self._due

    def append(self, event: Event) -> None:
        """Append an event as soon as possible."""
        self._soon(partial(self._write, event))

    def append_entry(self, entry: HistoryItem) -> None:
        """Append an entry of the model's history as soon as possible."""
        # Only then is it known which of its words are in rows.
        self._soon(lambda: self._write(events.entry(write_entry(entry, self.texts))))

    def events(self) -> Iterator[Event]:
        """Yield all events, in order."""
        for body in self._store.events(self.record.number):
            yield events.check_event(read_json(body))

    def replayable(self) -> Iterator[Event]:
        """Yield the events to replay to the client, in order."""
        return events.join_texts(self.events())

    def current(self) -> SessionRecord:
        """Return the record as it is now; other processes may have changed it."""
        return self._store.get(self.record.id) or self.record

    def touch(self) -> str:
        """Note that the session was used; return the time as the record holds it."""
        at = now()
        self.update(updated=at)
        return at

    def suggest_title(self, title: str) -> bool:
        """Set the title unless there is one; return whether it is set."""
        if self.current().title is not None:
            return False
        self._soon(partial(self._store.suggest_title, self.record.number, title))
        return True

    def update(self, **members: Json) -> None:
        """Change fields of the record as soon as possible."""
        self._soon(partial(self._store.change, self.record.number, **members))

    def _write(self, event: Event) -> None:
        row, last = self._last if self._last is not None else (0, None)
        if last is not None and events.continues(last, event, events.ROW_LIMIT):
            whole = events.text(last["kind"], last["id"], last["text"] + event["text"])
            self._store.replace(row, json.dumps(whole))
        elif last is not None and events.replaces(event, last):
            whole = event
            self._store.replace(row, json.dumps(event))
        else:
            whole = event
            row = self._store.append(self.record.number, json.dumps(event))
        self._last = (row, whole)
        self.texts.take(event)

    def _soon(self, work: Callable[[], object]) -> None:
        self._due.append(work)
        # A caller that waits for a later write gets the error.
        self.is_flushed()

    async def _surely(self, work: Callable[[], object]) -> None:
        self._due.append(work)
        try:
            await self.flush()
        except BaseException:
            with suppress(ValueError):
                self._due.remove(work)
            raise

    def _flush(self) -> None:
        while self._due:
            self._due[0]()
            self._due.popleft()


class Texts(list[tuple[str, str]]):
    """Kind and text of what was said since the last entry; neighbours of one kind are one."""

    _is_open = False

    def take(self, event: Event) -> None:
        """Add an event of the log."""
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

    def extend(self, entries: object, /) -> None:
        """Add several entries."""
        for entry in cast("Sequence[HistoryItem]", entries):
            self.append(entry)

    def __iadd__(self, entries: object, /) -> Self:
        """Add several entries."""
        self.extend(entries)
        return self


_CLASSES: Final[Mapping[str, type[Any]]] = {
    # The names are those of the file format, and outlive the names of the classes.
    "UserSaid": PromptMessage,
    "Attachment": Attachment,
    "Image": Image,
    "ModelSaid": AssistantMessage,
    "Say": TextDelta,
    "Think": ReasoningDelta,
    "ShowPlan": PlanChange,
    "Step": PlannedStep,
    "CallTool": ToolUse,
    "Sealed": ProviderBlock,
    "Stopped": Stop,
    "ToolAnswered": ToolResult,
    "Aside": LocalExchange,
    "Compacted": Summary,
}
_FIELDS: Final[Mapping[type[Any], Mapping[str, str]]] = {
    PromptMessage: {"text": "text", "attachments": "attachments", "images": "images"},
    Attachment: {"uri": "uri", "text": "text"},
    Image: {"mime_type": "mime_type", "data": "data"},
    AssistantMessage: {"events": "events"},
    TextDelta: {"text": "text"},
    ReasoningDelta: {"text": "text"},
    PlanChange: {"entries": "steps"},
    PlannedStep: {"content": "content", "status": "status"},
    ToolUse: {"name": "name", "arguments": "arguments", "id": "id", "fault": "fault"},
    ProviderBlock: {"model": "maker", "content": "content"},
    Stop: {"reason": "reason", "why": "why"},
    ToolResult: {"name": "name", "text": "text", "is_failed": "is_failed"},
    LocalExchange: {"text": "text"},
    Summary: {"summary": "summary", "requests": "requests"},
}
"""Fields, and their names in the file format, which outlive those of the fields."""
_USAGE: Final[Mapping[str, str]] = {
    "input_tokens": "read",
    "output_tokens": "written",
    "reasoning_tokens": "thought",
    "cache_read_tokens": "cached_read",
    "cache_write_tokens": "cached_written",
    "cost": "cost",
    "window": "window",
}
_NAMES: Final[Mapping[type[Any], str]] = {kind: name for name, kind in _CLASSES.items()}
_KINDS: Final[Mapping[type[Any], str]] = {
    TextDelta: "agent_message_chunk",
    ReasoningDelta: "agent_thought_chunk",
}


def write_entry(entry: HistoryItem, texts: Sequence[tuple[str, str]] = ()) -> dict[str, Json]:
    """Return an entry as JSON; words that are among `texts` are written as their index there."""
    return _written(entry, list(texts))


def read_entry(value: Json, texts: Sequence[tuple[str, str]] = ()) -> HistoryItem:
    """Return an entry from its JSON; `texts` are those that it was written with.

    Fields that this version does not know are left out, and so are events of unknown types.

    Raises:
        StoreError: it is none.
    """
    entry = _read(value, texts)
    if not isinstance(
        entry, PromptMessage | AssistantMessage | ToolResult | LocalExchange | Summary
    ):
        raise StoreError(DAMAGED)
    return entry


def write_usage(usage: TokenUsage) -> dict[str, Json]:
    """Return the usage of a session as JSON."""
    return {stored: getattr(usage, name) for name, stored in _USAGE.items()}


def read_usage(value: Mapping[str, Json]) -> TokenUsage:
    """Return the usage from its JSON; nothing was used if it cannot be read."""
    known = {name: value[stored] for name, stored in _USAGE.items() if stored in value}
    try:
        return TokenUsage(**known)
    except TypeError:
        return TokenUsage(0, 0)


def joined(events_: Sequence[ModelEvent]) -> Iterator[ModelEvent]:
    """Yield events with neighbouring pieces of text, or of thought, as one."""
    for kind, group in groupby(events_, type):
        if kind in _KINDS:
            yield kind("".join(cast("TextDelta | ReasoningDelta", each).text for each in group))
        else:
            yield from group


def _written(entry: Any, texts: list[tuple[str, str]]) -> dict[str, Json]:
    members: dict[str, Json] = {}
    parts: dict[str, Json] = {}
    for name, stored_name in _FIELDS[type(entry)].items():
        value = getattr(entry, name)
        if isinstance(value, tuple):
            parts[stored_name] = [_written(part, texts) for part in cast("tuple[Any, ...]", value)]
        else:
            members[stored_name] = value
    written = {"is": _NAMES[type(entry)], "members": members} | ({"parts": parts} if parts else {})
    kind = _KINDS.get(cast("type[Any]", type(entry)))
    for place, (shown_as, shown) in enumerate(texts):
        if shown_as == kind and shown and entry.text.startswith(shown):
            members["text"] = entry.text[len(shown) :]
            return written | {"behind": place}
    return written


def _read(value: Json, texts: Sequence[tuple[str, str]]) -> Any:
    try:
        kind: Any = _CLASSES[value["is"]]
        parts = {
            name: tuple(_read(part, texts) for part in each if part["is"] in _CLASSES)
            for name, each in value.get("parts", {}).items()
        }
        given = {**value["members"], **parts}
        if "behind" in value:
            given["text"] = texts[value["behind"]][1] + given["text"]
        known = {name: given[stored] for name, stored in _FIELDS[kind].items() if stored in given}
        return kind(**known)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise StoreError(DAMAGED) from None
