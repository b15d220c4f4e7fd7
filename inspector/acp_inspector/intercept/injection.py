"""Injected frames and the responses to them, which the peer does not receive.

An injected request gets an id that no peer uses: a prefix with a random part, and a number. If a
peer's own id begins with that prefix, another one is used.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from acp_inspector.intercept.message import (
    InterceptedFrame,
    check_single_line,
    encode,
    parse_or_none,
)
from acp_protocol import jsonrpc
from acp_protocol.framing import Side, opposite
from acp_protocol.jsonrpc import Batch, InvalidMessage, Json, Request, RequestId

MAX_EXPECTED: Final = 1000
"""Most pending injected requests; beyond that the oldest are given up."""
BROKEN_TIMEOUT_S: Final = 60.0
"""Seconds in which an error without an id counts as the response to a broken injected frame."""
ID_NAME: Final = "acp-console"
MAX_FOREIGN_PREFIXES: Final = 10_000
"""Prefixes of foreign ids that are remembered; no peer has that many by accident."""

_Key: TypeAlias = tuple[Side, str]
"""The sender, and the id as JSON represents it, valid or not."""


class IdSpace:
    """Issues ids for injected requests."""

    def __init__(self, token: Callable[[], str] = lambda: os.urandom(4).hex()) -> None:
        self._token = token
        self._issued = 0
        self._foreign: set[str] = set()
        self._prefix = self._fresh_prefix()

    def issue(self) -> str:
        """Return an id that was never issued or seen."""
        self._issued += 1
        return f"{self._prefix}-{self._issued}"

    def add_foreign(self, id_: RequestId) -> None:
        """Remember the id of a peer's own request."""
        is_like_ours = isinstance(id_, str) and id_.startswith(ID_NAME)
        if is_like_ours and len(self._foreign) < MAX_FOREIGN_PREFIXES:
            self._foreign.add(str(id_).rpartition("-")[0])
            if self._prefix in self._foreign:
                self._prefix = self._fresh_prefix()

    def may_contain_id(self, raw: bytes) -> bool:
        """Return, without parsing, whether a frame may contain an issued id."""
        # Issued ids are plain ASCII: one that is written with escapes contains a \u.
        return ID_NAME.encode() in raw or b"\\u" in raw

    def _fresh_prefix(self) -> str:
        while (prefix := f"{ID_NAME}-{self._token()}") in self._foreign:
            pass
        return prefix


@dataclass(slots=True)
class Injection:
    """An injected frame, and the response to it."""

    side: Side
    """The apparent sender."""
    raw: bytes
    by: str
    ids: tuple[str, ...] = ()
    """The ids that its requests got; none if it has no request, or keeps its own."""
    seq: int | None = None
    """Its number, once it was sent."""
    response: bytes | None = None
    """The first frame that responded to it."""
    expected: tuple[_Key, ...] = ()
    """The keys by which its responses are recognised."""
    is_broken: bool = False
    """Whether the receiver may be unable to respond with its id."""
    _responded: threading.Event = field(default_factory=threading.Event)
    _sent: threading.Event = field(default_factory=threading.Event)

    @property
    def id(self) -> str | None:
        """The id of its first request."""
        return self.ids[0] if self.ids else None

    @property
    def expects_response(self) -> bool:
        """Whether a response may come."""
        return bool(self.expected) or self.is_broken

    def wait_for_response(self, timeout: float) -> bytes | None:
        """Wait at most `timeout` seconds for the response; return None on timeout."""
        self._responded.wait(timeout)
        return self.response

    def wait_until_sent(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until it is sent; return whether it is."""
        return self._sent.wait(timeout)

    def set_sent(self, number: int) -> None:
        self.seq = number
        self._sent.set()

    def set_response(self, response: bytes) -> None:
        """Store a response, unless there was one before."""
        if self.response is None:
            self.response = response
        self._responded.set()


class Injections:
    """Issues ids for injected requests, and recognises the responses."""

    def __init__(self, ids: IdSpace, clock: Callable[[], float] = time.monotonic) -> None:
        self._ids = ids
        self._clock = clock
        self._expected: OrderedDict[_Key, Injection] = OrderedDict()
        self._broken: deque[tuple[float, Injection]] = deque(maxlen=MAX_EXPECTED)
        """The injections that may get a response without an id, and until when."""
        self._has_odd_ids = False
        """Whether responses with invalid ids are expected, for requests broken on purpose."""
        self._lock = threading.Lock()

    @property
    def are_expected(self) -> bool:
        """Whether frames must be searched for responses."""
        return bool(self._expected or self._broken)

    def make(
        self, side: Side, raw: bytes, by: str, *, keeps_id: bool = False, is_forced: bool = False
    ) -> list[Injection]:
        """Return one injection for each line of `raw`, with issued ids for its requests.

        Raises:
            InterceptError: there is a line ending inside, and it is not forced.
        """
        whole = raw.removesuffix(b"\n").removesuffix(b"\r")
        if not is_forced:
            check_single_line(whole)
        return [self._make(side, line, by, keeps_id) for line in whole.split(b"\n")]

    def expect(self, injection: Injection) -> None:
        """Expect the responses to `injection`; the peer does not receive them."""
        with self._lock:
            for key in injection.expected:
                self._expected[key] = injection
            while len(self._expected) > MAX_EXPECTED:
                self._expected.popitem(last=False)
            if injection.is_broken:
                self._broken.append((self._clock() + BROKEN_TIMEOUT_S, injection))
            self._has_odd_ids = self._has_odd_ids or len(injection.expected) > len(injection.ids)

    def take_response(self, frame: InterceptedFrame) -> bool:
        """Drop a frame that responds to an injected one; return whether it does.

        A batch with other entries is forwarded without these responses.
        """
        raw = frame.frame.data
        with self._lock:
            while self._broken and self._broken[0][0] < self._clock():
                self._broken.popleft()
            is_ours = self._ids.may_contain_id(raw) or self._has_odd_ids
            if not (is_ours or (self._broken and b'"error"' in raw)):
                return False
        message = jsonrpc.read_message(raw)
        entries = message.entries if isinstance(message, Batch) else (message,)
        value = parse_or_none(raw)
        values: list[Json] = value if isinstance(message, Batch) else [value]
        sender = opposite(frame.frame.side)
        with self._lock:
            for entry in entries:
                if isinstance(entry, Request):
                    self._ids.add_foreign(entry.id)
            found = [self._find(sender, each) for each in values]
            self._has_odd_ids = self._has_odd_ids and bool(self._expected)
        return _deliver(frame, values, found)

    def _find(self, sender: Side, value: Json) -> Injection | None:
        """Return the injection that `value` responds to, and stop expecting it."""
        response = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
        if "method" in response or not ("result" in response or "error" in response):
            return None
        injection = self._expected.pop((sender, _id_json(response.get("id"))), None)
        if injection is None and response.get("id") is None and "error" in response:
            injection = next((it for _, it in self._broken if it.side == sender), None)
        if injection is not None and injection.is_broken:
            # It gets one response, with or without its id.
            self._broken = deque(
                (each for each in self._broken if each[1] is not injection), MAX_EXPECTED
            )
            for key in injection.expected:
                self._expected.pop(key, None)
        return injection

    def _make(self, side: Side, line: bytes, by: str, keeps_id: bool) -> Injection:
        if keeps_id:
            return Injection(side, line, by)
        message = jsonrpc.read_message(line)
        is_broken = isinstance(message, InvalidMessage) or (
            isinstance(message, Batch)
            and (
                not message.entries or any(isinstance(it, InvalidMessage) for it in message.entries)
            )
        )
        value: Any = parse_or_none(line)
        entries: list[Any] = value if isinstance(message, Batch) else [value]
        keys: list[_Key] = []
        ids: list[str] = []
        for index, entry in enumerate(entries):
            if not (isinstance(entry, dict) and "method" in entry and "id" in entry):
                continue
            own: dict[str, Json] = cast("dict[str, Json]", entry)
            if jsonrpc.is_request_id(own["id"]):
                with self._lock:
                    ids.append(self._ids.issue())
                own = entries[index] = own | {"id": ids[-1]}
            keys.append((side, _id_json(own["id"])))
        raw = encode(entries if isinstance(message, Batch) else entries[0]) if ids else line
        return Injection(side, raw, by, tuple(ids), expected=tuple(keys), is_broken=is_broken)


def _deliver(frame: InterceptedFrame, values: list[Json], found: list[Injection | None]) -> bool:
    """Deliver each response to its injection; return whether nothing is left for the peer."""
    ours = [injection for injection in found if injection is not None]
    if not ours:
        return False
    rest = [value for value, injection in zip(values, found, strict=True) if injection is None]
    by = ours[0].by
    if rest:
        frame.edit(encode(rest), by)
    else:
        frame.is_dropped = True
        frame.add_event("discarded", by, answers=ours[0].seq)
    for injection in ours:
        injection.set_response(frame.frame.data)
    return not rest


def _id_json(id_: Json) -> str:
    return json.dumps(id_, sort_keys=True)
