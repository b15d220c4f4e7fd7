"""Frames of our own, and the answers to them, which are nobody else's."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from acp_inspector.intercept.ids import IdSpace
from acp_inspector.intercept.passage import Passage, encode, refuse_line_endings
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Batch, Json, Malformed, Request

ANSWERS_LIMIT: Final = 1000
"""Injected requests whose answers are waited for at once; the oldest are given up."""
BROKEN_LIMIT: Final = 60.0
"""Seconds for which an error without an id is taken for the answer to a broken frame of ours."""

_Key: TypeAlias = tuple[Side, str]
"""Who asks, and the id as JSON spells it: what the wire says, valid or not."""


@dataclass(slots=True)
class Injection:
    """A frame of ours, and what came of it."""

    side: Side
    """Whose frame the receiver takes it for."""
    raw: bytes
    by: str
    ids: tuple[str, ...] = ()
    """The ids that its requests got; none where it asks for nothing, or kept its own."""
    n: int | None = None
    """Its number, once it has left."""
    answer: bytes | None = None
    """The first frame that answered it."""
    awaited: tuple[_Key, ...] = ()
    """What answers to it are known by."""
    is_broken: bool = False
    """Whether the receiver may not be able to tell what it answers."""
    _answered: threading.Event = field(default_factory=threading.Event)
    _gone: threading.Event = field(default_factory=threading.Event)

    @property
    def id(self) -> str | None:
        """The id that its first request got."""
        return self.ids[0] if self.ids else None

    @property
    def is_question(self) -> bool:
        """Whether there may be an answer."""
        return bool(self.awaited) or self.is_broken

    def wait(self, limit: float) -> bytes | None:
        """Wait at most `limit` seconds for the answer; None when there is none by then."""
        self._answered.wait(limit)
        return self.answer

    def wait_to_leave(self, limit: float) -> bool:
        """Wait at most `limit` seconds until it has left; tell whether it has."""
        return self._gone.wait(limit)

    def take_number(self, number: int) -> None:
        """Hear that it has left."""
        self.n = number
        self._gone.set()

    def take_answer(self, answer: bytes) -> None:
        """Hear what the receiver said."""
        if self.answer is None:
            self.answer = answer
        self._answered.set()


class Injections:
    """Gives injected requests their ids, and recognises the answers."""

    def __init__(self, ids: IdSpace, clock: Callable[[], float] = time.monotonic) -> None:
        self._ids = ids
        self._clock = clock
        self._awaited: OrderedDict[_Key, Injection] = OrderedDict()
        self._broken: deque[tuple[float, Injection]] = deque(maxlen=ANSWERS_LIMIT)
        """Those that may be answered without an id, and until when."""
        self._has_odd_ids = False
        """Whether ids are awaited that are none of ours, because somebody wanted them broken."""
        self._lock = threading.Lock()

    @property
    def are_awaited(self) -> bool:
        """Whether answers have to be looked for."""
        return bool(self._awaited or self._broken)

    def make(
        self, side: Side, raw: bytes, by: str, *, keeps_id: bool = False, is_forced: bool = False
    ) -> list[Injection]:
        """Return the injections of `raw`, each on a line, with ids of ours for what asks.

        Raises:
            DeedError: there is a line ending inside, and it is not forced.
        """
        whole = raw.removesuffix(b"\n").removesuffix(b"\r")
        if not is_forced:
            refuse_line_endings(whole)
        return [self._make(side, line, by, keeps_id) for line in whole.split(b"\n")]

    def expect(self, injection: Injection) -> None:
        """Keep the answers to `injection` for it alone."""
        with self._lock:
            for key in injection.awaited:
                self._awaited[key] = injection
            while len(self._awaited) > ANSWERS_LIMIT:
                self._awaited.popitem(last=False)
            if injection.is_broken:
                self._broken.append((self._clock() + BROKEN_LIMIT, injection))
            self._has_odd_ids = self._has_odd_ids or len(injection.awaited) > len(injection.ids)

    def take(self, passage: Passage) -> bool:
        """Take a frame off its way if it answers one of ours; note the ids that peers use.

        An array in which others are answered too goes on without the answers to us.
        """
        raw = passage.frame.raw
        with self._lock:
            while self._broken and self._broken[0][0] < self._clock():
                self._broken.popleft()
            is_ours = self._ids.may_stand_in(raw) or self._has_odd_ids
            if not (is_ours or (self._broken and b'"error"' in raw)):
                return False
        message = jsonrpc.read_message(raw)
        entries = message.entries if isinstance(message, Batch) else (message,)
        value = jsonrpc.parse(raw) if not isinstance(message, Malformed) else _value(raw)
        values: list[Json] = value if isinstance(message, Batch) else [value]
        asker: Side = "client" if passage.frame.side == "agent" else "agent"
        with self._lock:
            for entry in entries:
                if isinstance(entry, Request):
                    self._ids.note(entry.id)
            found = [self._answered(asker, each) for each in values]
            self._has_odd_ids = self._has_odd_ids and bool(self._awaited)
        return _settle(passage, values, found)

    def _answered(self, asker: Side, value: Json) -> Injection | None:
        """Return the injection that `value` answers; it is no longer waited for."""
        answer = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
        if "method" in answer or not ("result" in answer or "error" in answer):
            return None
        injection = self._awaited.pop((asker, _spelled(answer.get("id"))), None)
        if injection is None and answer.get("id") is None and "error" in answer:
            injection = next((it for _, it in self._broken if it.side == asker), None)
        if injection is not None and injection.is_broken:
            # It is answered once, with its id or without.
            self._broken = deque(
                (each for each in self._broken if each[1] is not injection), ANSWERS_LIMIT
            )
            for key in injection.awaited:
                self._awaited.pop(key, None)
        return injection

    def _make(self, side: Side, line: bytes, by: str, keeps_id: bool) -> Injection:
        if keeps_id:
            return Injection(side, line, by)
        message = jsonrpc.read_message(line)
        is_broken = isinstance(message, Malformed) or (
            isinstance(message, Batch)
            and (not message.entries or any(isinstance(it, Malformed) for it in message.entries))
        )
        value: Any = _value(line)
        entries: list[Any] = value if isinstance(message, Batch) else [value]
        keys: list[_Key] = []
        ids: list[str] = []
        for place, entry in enumerate(entries):
            if not (isinstance(entry, dict) and "method" in entry and "id" in entry):
                continue
            own: dict[str, Json] = cast("dict[str, Json]", entry)
            if jsonrpc.is_request_id(own["id"]):
                with self._lock:
                    ids.append(self._ids.issue())
                own = entries[place] = own | {"id": ids[-1]}
            keys.append((side, _spelled(own["id"])))
        raw = encode(entries if isinstance(message, Batch) else entries[0]) if ids else line
        return Injection(side, raw, by, tuple(ids), awaited=tuple(keys), is_broken=is_broken)


def _settle(passage: Passage, values: list[Json], found: list[Injection | None]) -> bool:
    """Give each injection its answer; tell whether nothing is left for anybody else."""
    ours = [injection for injection in found if injection is not None]
    if not ours:
        return False
    rest = [value for value, injection in zip(values, found, strict=True) if injection is None]
    by = ours[0].by
    if rest:
        passage.edit(encode(rest), by)
    else:
        passage.is_dropped = True
        passage.tell("discarded", by, answers=ours[0].n)
    for injection in ours:
        injection.take_answer(passage.frame.raw)
    return not rest


def _value(raw: bytes) -> Json:
    try:
        return jsonrpc.parse(raw)
    except ValueError:
        return None


def _spelled(id_: Json) -> str:
    return json.dumps(id_, sort_keys=True)
