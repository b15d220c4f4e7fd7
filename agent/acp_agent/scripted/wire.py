"""The way of a frame to the client: where faults are applied, and the one owner of stdout."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from random import Random
from typing import Final, TypeAlias

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, TaskGroup

from acp_protocol import jsonrpc
from acp_protocol.dialects.base import Dialect
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.faults import Crash, Fault, FrameKind, Hang, OutgoingFrame, frame_kind, with_id
from acp_protocol.framing import Framing
from acp_protocol.jsonrpc import Json
from acp_protocol.transport import Transport
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.stdio import StreamTransport

EndProcess: TypeAlias = Callable[[Crash | Hang], None]
"""Ends the process, or makes it ignore signals."""
FaultsOf: TypeAlias = Callable[[Json, Random], Iterable[Fault]]
"""Returns the faults of a message."""
SLICE_S: Final = 0.02
"""Between two writes of a frame that is written slowly."""
_striking: Final[ContextVar[tuple[Sequence[Fault], Random]]] = ContextVar("striking")
"""The faults of what this task sends, and their random numbers."""
_batch: Final[ContextVar[OpenBatch | None]] = ContextVar("batch", default=None)
"""Collects what this task sends."""
_has_requests: Final[ContextVar[anyio.Event | None]] = ContextVar("has_requests", default=None)
"""Set once this task has sent a request; None: it is the task that sends the batch."""


def strike(faults: Sequence[Fault], random: Random) -> None:
    """Apply faults to all that this task sends from now on."""
    _striking.set((faults, random))


@contextmanager
def striking(faults: Sequence[Fault], random: Random) -> Generator[None]:
    """Apply faults to what this task sends inside the block."""
    token = _striking.set((faults, random))
    try:
        yield
    finally:
        _striking.reset(token)


class OpenBatch:
    """Collects messages that are sent in one array."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.is_open = True
        """Whether messages are still collected."""

    def add(self, line: bytes) -> None:
        """Add a message.

        Raises:
            RuntimeError: it is a request for which the task that sends the array would wait.
        """
        if isinstance(jsonrpc.read_message(line), jsonrpc.Request):
            has_requests = _has_requests.get()
            if has_requests is None:
                raise RuntimeError(
                    "a request in batch() would wait for its own array: "
                    "start it with batch.start(call.ask(…)), and await that after the block"
                )
            has_requests.set()
        self.messages.append(line)


@contextmanager
def batching() -> Generator[OpenBatch]:
    """Collect what this task, and those that it starts, send inside the block."""
    batch = OpenBatch()
    token = _batch.set(batch)
    try:
        yield batch
    finally:
        batch.is_open = False
        _batch.reset(token)


@contextmanager
def asking(has_requests: anyio.Event) -> Generator[None]:
    """Set `has_requests` once this task has sent a request to a batch, at the latest at the end."""
    token = _has_requests.set(has_requests)
    try:
        yield
    finally:
        has_requests.set()
        _has_requests.reset(token)


def write_stderr(text: str) -> None:
    """Write at once and in one piece: the process may end in the next moment."""
    sys.stderr.flush()
    # A closed stderr must not end the script.
    with suppress(OSError):
        os.write(2, text.encode("utf-8", "backslashreplace"))


class ScriptTransport:
    """Official frames: chooses their faults, and hands them to the dialect or to the wire."""

    def __init__(
        self, wire: Wire, dialect: Dialect | None, faults_of: FaultsOf | None, random: Random
    ) -> None:
        self._inner: Transport = (
            wire if dialect is None else DialectTransport(wire, "agent", dialect)
        )
        self._faults_of = faults_of
        self._random = random

    async def send(self, line: bytes) -> None:
        batch = _batch.get()
        if batch is not None and batch.is_open:
            batch.add(line)
            return
        if self._faults_of is None:
            await self._inner.send(line)
            return
        faults, random = _striking.get(((), self._random))
        more = list(self._faults_of(jsonrpc.parse(line), self._random))
        with striking([*faults, *more], random):
            await self._inner.send(line)

    async def receive(self) -> bytes:
        return await self._inner.receive()

    async def aclose(self) -> None:
        await self._inner.aclose()


class Wire(StreamTransport):
    """Writes frames whole, one after the other, with the faults that strike them."""

    def __init__(
        self,
        incoming: ByteReceiveStream,
        outgoing: ByteSendStream,
        tasks: TaskGroup,
        end: EndProcess,
        framing: Framing = "lines",
    ) -> None:
        super().__init__(incoming, outgoing, framing=framing)
        self._frame_kind: Framing = framing
        self._tasks = tasks
        self._end = end
        self._lock = anyio.Lock()
        self._is_open = True
        self._is_hung = False
        self._waiting = 0
        """Frames that are delayed."""
        self._idle = anyio.Event()
        self._behind: deque[OutgoingFrame] = deque()
        """Frames that others are to overtake."""
        self._ids = ResponseIds()

    async def receive(self) -> bytes:
        frame = await super().receive()
        if self._is_hung:
            await anyio.sleep_forever()
        self._ids.note_request(frame)
        return frame

    async def send(self, line: bytes) -> None:
        faults, random = _striking.get(((), Random(0)))  # noqa: S311 - not about secrets
        await self.send_frame(OutgoingFrame(line, self._frame_kind), faults, random)

    async def send_frame(
        self, frame: OutgoingFrame, faults: Sequence[Fault], random: Random
    ) -> None:
        """Write a frame with its faults; one that others overtake is written by a task."""
        for fault in faults:
            fault(frame, random)
        # Large frames are read once more only if somebody asks what they are.
        if faults or self._behind:
            frame.kind = _kind(frame.raw)
        frame.raw = self._ids.respond(frame)
        if frame.delay_s:
            self._waiting += 1
            self._tasks.start_soon(self._write_later, frame)
        elif frame.behind:
            self._behind.append(frame)
            self._tasks.start_soon(self._release_after_timeout, frame)
        else:
            await self._write_whole(frame)

    async def flush(self) -> None:
        """Write all that still waits; return when it is written."""
        while self._behind:
            await self._write_whole(self._behind.popleft())
        while self._waiting:
            self._idle = anyio.Event()
            await self._idle.wait()

    async def close_stdout(self) -> None:
        """Close stdout; what is sent after that goes nowhere."""
        self._is_open = False
        await self.close_sending()

    async def _write_later(self, frame: OutgoingFrame) -> None:
        try:
            await anyio.sleep(frame.delay_s)
            await self._write_quietly(frame)
        finally:
            self._waiting -= 1
            self._idle.set()

    async def _release_after_timeout(self, frame: OutgoingFrame) -> None:
        await anyio.sleep(frame.behind_s)
        if frame in self._behind:
            self._behind.remove(frame)
            await self._write_quietly(frame)

    async def _write_quietly(self, frame: OutgoingFrame) -> None:
        try:
            await self._write_whole(frame)
        except ConnectionClosedError:
            return

    async def _write_whole(self, frame: OutgoingFrame) -> None:
        # Half a frame is a fault as well, but never one by accident.
        with anyio.CancelScope(shield=True):
            async with self._lock:
                await self._write(frame)
                await self._release_overtaken(frame)

    async def _release_overtaken(self, frame: OutgoingFrame) -> None:
        """Write what has waited for this frame, and what has waited for that."""
        written = [frame]
        while written:
            last = written.pop(0)
            for held in list(self._behind) if last.is_frame else ():
                held.behind -= held.behind_kind in {None, last.kind}
                if not held.behind:
                    self._behind.remove(held)
                    await self._write(held)
                    written.append(held)

    async def _write(self, frame: OutgoingFrame) -> None:
        if self._is_hung:
            await anyio.sleep_forever()
        if frame.end is not None:
            await self._end_process(frame.end)
            return
        for number, piece in enumerate(frame.pieces()):
            if number and frame.pause_s:
                await anyio.sleep(frame.pause_s)
            await self._write_piece(piece, frame.rate)
        if frame.cut_at is not None:
            await self.close_stdout()

    async def _write_piece(self, piece: bytes, rate: float | None) -> None:
        size = max(1, len(piece) if rate is None else round(rate * SLICE_S))
        for begin in range(0, len(piece), size):
            if rate is not None and begin:
                await anyio.sleep(size / rate)
            if not self._is_open:
                return
            try:
                await self._outgoing.send(piece[begin : begin + size])
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                raise ConnectionClosedError from None

    async def _end_process(self, end: Crash | Hang) -> None:
        if isinstance(end, Hang):
            self._is_hung = True
            self._end(end)
            await anyio.sleep(end.seconds)
            self._is_hung = False
            end = Crash()
        self._is_open = False
        self._end(end)


class ResponseIds:
    """The ids of open requests of the client, for responses that get a wrong one."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, Json], tuple[str, Json]] = {}
        """The method and the id of each open request; those that were swapped have another id."""
        self._previous: Json = None

    def note_request(self, raw: bytes) -> None:
        """Remember the requests of the client in a frame."""
        message = jsonrpc.read_message(raw)
        for each in message.entries if isinstance(message, jsonrpc.Batch) else (message,):
            if isinstance(each, jsonrpc.Request):
                self._open[jsonrpc.id_key(each.id)] = (each.method, each.id)

    def respond(self, frame: OutgoingFrame) -> bytes | None:
        """Return the bytes of a frame; of a response, with the id that it gets."""
        is_swapped = any(key != jsonrpc.id_key(id_) for key, (_, id_) in self._open.items())
        is_response = frame.framing is not None and b'"method"' not in (frame.raw or b"")[:64]
        if frame.raw is None or not is_response:
            return frame.raw
        message = jsonrpc.read_message(frame.raw)
        if not isinstance(message, jsonrpc.SuccessResponse | jsonrpc.ErrorResponse):
            return frame.raw
        frame.kind = "response"
        key = jsonrpc.id_key(message.id)
        if frame.wrong_id == "swapped":
            is_swapped = self._swap(key) or is_swapped
        _, id_ = self._open.pop(key, ("", message.id))
        previous, self._previous = self._previous, message.id
        if frame.wrong_id is None and not is_swapped:
            return frame.raw
        return with_id(frame.raw, id_, frame.wrong_id, previous)

    def _swap(self, key: tuple[str, Json]) -> bool:
        """Exchange the ids of a request and of the oldest other one of its method."""
        method, mine = self._open.get(key, ("", None))
        for other, (other_method, theirs) in self._open.items():
            is_fresh = other == jsonrpc.id_key(theirs) and key == jsonrpc.id_key(mine)
            if other != key and other_method == method and is_fresh:
                self._open[other], self._open[key] = (method, mine), (method, theirs)
                return True
        return False


def _kind(raw: bytes | None) -> FrameKind | None:
    try:
        return None if raw is None else frame_kind(jsonrpc.parse(raw))
    except ValueError:
        return None
