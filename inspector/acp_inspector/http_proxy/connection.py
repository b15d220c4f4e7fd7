"""One ACP connection through the proxy: what is recorded of it, and how its frames go on.

Everything runs in the event loop but the two threads that take intercepted frames out of their
channels: hooks and holds may take their time there. While nothing intercepts, frames do not meet a
channel.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from anyio.abc import TaskGroup

from acp_inspector.http_proxy.headers import HeaderRedactor, Headers, value_of
from acp_inspector.intercept.message import InterceptedFrame, verbatim
from acp_inspector.journal import Frame
from acp_inspector.proxy.session import ProxySession
from acp_protocol import jsonrpc
from acp_protocol.errors import AcpError
from acp_protocol.framing import Side, WireFrame
from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json

if TYPE_CHECKING:
    from acp_inspector.intercept.channel import Channel
    from acp_inspector.intercept.rules import RequestFault

MAX_BODY_SHOWN: Final = 1 << 16
"""Bytes of a body that is no message which a recording keeps."""
MAX_WAITING: Final = 1000
"""Injected frames that wait for a stream, and requests whose stream is remembered."""
NO_STREAM: Final = "no stream"
"""What has dropped a frame that nothing could carry any more."""


class CarrierGoneError(AcpError):
    """What was to carry a frame is closed."""


class Carrier(ABC):
    """Sends frames where they were going when they came, or where injected ones belong."""

    def __init__(self) -> None:
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @abstractmethod
    async def send(self, frame: InterceptedFrame, wire: bytes) -> None:
        """Send a frame; `wire` is how it came, empty if it is injected.

        Raises:
            CarrierGoneError: it cannot be sent.
        """

    def dropped(self, frame: InterceptedFrame) -> None:  # noqa: B027 - few have to know
        """Take note that the frame will not be sent."""

    def admitted(self) -> None:
        """Take note that a frame will be sent or dropped later."""
        self._under_way += 1
        self._idle.clear()

    def settled(self) -> None:
        """Take note that it was."""
        self._under_way -= 1
        if not self._under_way:
            self._idle.set()

    async def wait_settled(self) -> None:
        """Wait until all that was admitted was sent or dropped."""
        await self._idle.wait()


class Handover(Carrier):
    """Hands a frame to the task that waits for it: the body of a request, or of a response."""

    def __init__(self) -> None:
        super().__init__()
        self._decided: asyncio.Future[tuple[InterceptedFrame, bool]] = asyncio.Future()
        self._sent = asyncio.Event()

    async def send(self, frame: InterceptedFrame, wire: bytes) -> None:
        """Hand the frame over, and wait until it is written."""
        del wire
        if self._decided.done():
            raise CarrierGoneError("the request is over")
        self._decided.set_result((frame, True))
        await self._sent.wait()

    def dropped(self, frame: InterceptedFrame) -> None:
        if not self._decided.done():
            self._decided.set_result((frame, False))

    async def decision(self) -> tuple[InterceptedFrame, bool]:
        """Wait for the frame; return it, and whether it is to be sent."""
        return await self._decided

    def close(self) -> None:
        """Let the next frame go on: this one is written, or no reader waits for it any more."""
        self._sent.set()
        self._decided.cancel()


class Posting(Handover):
    """Hands over the body of a POST, or a response that somebody else gives in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = Handover()


@dataclass(eq=False)
class ProxyConnection:
    """A connection: its recording and interception, and what is open on it."""

    number: int
    session: ProxySession
    url: str
    tasks: TaskGroup
    """What outlives a request runs in it; must not raise."""
    redactor: HeaderRedactor = field(default_factory=HeaderRedactor)
    id: str | None = None
    """Its `Acp-Connection-Id`, once the server has given it."""
    is_claimed: bool = False
    """Whether it has begun, or is just being opened."""
    is_over: bool = False
    open: int = 0
    """Exchanges that are under way."""
    last_used: float = field(init=False)
    streams: dict[str | None, Carrier] = field(default_factory=dict[str | None, Carrier])
    """The open streams of events by their session; that of the connection has none."""
    sockets: dict[Side, Carrier] = field(default_factory=dict[Side, Carrier])
    """Of a WebSocket: where frames of a side go."""
    poster: Carrier | None = None
    """Posts injected frames of the client."""
    posted_with: Headers = ()
    """The headers of the client's last POST."""
    posted_to: bytes = b"/"
    """Where it was posted to."""

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.last_used = self._loop.time()
        self._order: dict[Side, asyncio.Lock] = {"client": asyncio.Lock(), "agent": asyncio.Lock()}
        """Held while a frame gets its number and its place in the channel."""
        self._channels: dict[Side, Channel] = {}
        self._carriers: dict[int, tuple[Carrier, bytes]] = {}
        self._client_requests: OrderedDict[int, tuple[Carrier | None, str | None]] = OrderedDict()
        """Of requests of the client: who waits for the response in its body, and the session."""
        self._waiting: deque[InterceptedFrame] = deque(maxlen=MAX_WAITING)
        """Injected frames for which no stream is open."""
        self._aborts: dict[int, Callable[[str], None]] = {}
        self._exchanges = 0
        self._has_begun = False
        self._threads: list[threading.Thread] = []
        self.finished = asyncio.Event()
        """Set when nothing is held or delayed any more."""
        self.session.kill = lambda number: self._call(self.abort)
        self.session.dropped = lambda frame: self._call(self._drop, frame)
        if self.session.controller is not None:
            self.session.controller.connect("client", self._open_channel)
            self.session.controller.connect("agent", self._open_channel)

    # Recording.

    def begin(self) -> None:
        """Record that a connection begins here."""
        self.event("connect", url=self.url)
        self._has_begun = True

    def event(self, name: str, **data: Json) -> None:
        if self.session.recorder is not None:
            self.session.recorder.event(name, **data)

    def fault_of(self, request: str, number: int) -> RequestFault | None:
        """Return what the first rule that acts on a request does to it, and record that."""
        for rule in self.session.rules:
            fault = rule.fault_of(request)
            if fault is None:
                continue
            if self.session.controller is not None:
                self.session.controller.get().note_match(fault.by)
            if fault.refusal is not None:
                self.event("refused", id=number, by=fault.by, status=fault.refusal.status)
            elif fault.late:
                self.event("late", id=number, by=fault.by, seconds=fault.late)
            elif fault.delay:
                self.event("delayed", id=number, by=fault.by, seconds=fault.delay)
            elif fault.cut_at is not None:
                self.event("cut", id=number, by=fault.by, at=fault.cut_at)
            return fault
        return None

    def new_exchange(self) -> int:
        """Return the number of a new exchange."""
        self._exchanges += 1
        return self._exchanges

    async def admit(
        self,
        side: Side,
        name: str,
        data: dict[str, Json],
        raw: bytes,
        carrier: Carrier,
        wire: bytes = b"",
    ) -> InterceptedFrame | None:
        """Record a frame behind the event of what carries it.

        Returns the frame if it has to be sent at once. None: `carrier` gets it when it is its turn.
        """
        async with self._order[side]:
            channel = self._channels.get(side)
            is_wanted = channel is not None and not channel.pass_by()
            if channel is not None and is_wanted:
                channel.announce()
            frame = await self._record(side, name, data, raw)
            if channel is None or not is_wanted:
                return InterceptedFrame.of(frame)
            self._carriers[frame.seq] = carrier, wire
            carrier.admitted()
            if side == "client":
                self._remember(frame, carrier)
            await asyncio.to_thread(channel.put, frame)
            return None

    async def note(
        self, side: Side, name: str, data: dict[str, Json], raw: bytes, ending: bytes = b"\n"
    ) -> None:
        """Record a frame that is not intercepted, behind the event of what carries it."""
        if (channel := self._channels.get(side)) is not None:
            channel.pass_by()
        await self._record(side, name, data, raw, ending)

    def wants(self, side: Side) -> bool:
        """Return whether frames of a side are intercepted now."""
        channel = self._channels.get(side)
        return channel is not None and channel.wants_frames

    async def _record(
        self, side: Side, name: str, data: dict[str, Json], raw: bytes, ending: bytes = b"\n"
    ) -> Frame:
        recorder, wire = self.session.recorder, WireFrame(b"", raw, ending)
        if recorder is None:
            return Frame(0, 0.0, side, raw, ending)
        has_room = recorder.reserve(len(raw), waits=False)
        if not has_room:
            has_room = await asyncio.to_thread(recorder.reserve, len(raw))
        return recorder.carried(name, data, side, wire, has_room=has_room)

    # Exchanges.

    @contextmanager
    def exchange(self, number: int, abort: Callable[[str], None]) -> Generator[None]:
        """Count an exchange as under way; `abort` breaks it off."""
        self.open += 1
        self.last_used = self._loop.time()
        self._aborts[number] = abort
        try:
            yield
        finally:
            self.open -= 1
            self._aborts.pop(number, None)
            self.last_used = self._loop.time()

    def abort(self, why: str = "the server died") -> None:
        """Break off everything that is open."""
        for abort in [*self._aborts.values()]:
            abort(why)

    async def pause(self, seconds: float) -> None:
        """Wait, unless the connection comes to its end."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.finished.wait(), seconds)

    def open_stream(self, session: str | None, carrier: Carrier) -> None:
        """Take a stream of events for frames that are injected, and send those that wait."""
        self.streams[session] = carrier
        waiting, self._waiting = [*self._waiting], deque(maxlen=MAX_WAITING)
        for frame in waiting:
            self.tasks.start_soon(self._deliver, frame)

    def close_stream(self, session: str | None, carrier: Carrier) -> None:
        if self.streams.get(session) is carrier:
            del self.streams[session]

    # Intercepted frames.

    def _open_channel(self, channel: Channel) -> None:
        """Send from now on what comes out of a channel; called by any thread."""
        channel.is_whole = True
        channel.framing = "lines"
        channel.start(is_writing=False, is_at_boundary=True)
        thread = threading.Thread(
            target=self._write, args=[channel], name=f"{channel.side}", daemon=True
        )
        self._threads.append(thread)
        self._channels[channel.side] = channel
        thread.start()

    def _write(self, channel: Channel) -> None:
        while (frame := channel.take_frame()) is not None:
            done = asyncio.run_coroutine_threadsafe(self._deliver(frame), self._loop)
            with suppress(Exception):
                done.result()

    async def _deliver(self, frame: InterceptedFrame) -> None:
        own, wire = self._carriers.pop(frame.frame.seq, (None, b""))
        carrier = own or self._carrier_of(frame)
        if carrier is None:
            if len(self._waiting) == MAX_WAITING:
                self._lose(self._waiting.popleft())
            self._waiting.append(frame)
            return
        try:
            await carrier.send(frame, wire)
        except (CarrierGoneError, OSError):
            self._lose(frame)
        finally:
            if own is not None:
                own.settled()

    def _lose(self, frame: InterceptedFrame) -> None:
        self.event("discarded", of=frame.frame.seq, by=NO_STREAM)

    def _carrier_of(self, frame: InterceptedFrame) -> Carrier | None:
        """Return what an injected frame goes by; None if nothing is open for it yet."""
        side = frame.frame.side
        if self.sockets:
            return self.sockets.get(side)
        if side == "client":
            return self.poster
        waiting, session = self._client_requests.get(
            frame.answers or 0, (None, session_of(frame.raw))
        )
        if waiting is not None:
            return waiting
        streams = self.streams
        return streams.get(session) or streams.get(None) or next(iter(streams.values()), None)

    def _remember(self, frame: Frame, carrier: Carrier) -> None:
        """Remember where a response in the server's place has to go."""
        message = jsonrpc.read_message(frame.data)
        if not isinstance(message, jsonrpc.Request):
            return
        opens = message.method == "initialize"
        waiting = carrier.answer if opens and isinstance(carrier, Posting) else None
        self._client_requests[frame.seq] = waiting, session_of(frame.data)
        if len(self._client_requests) > MAX_WAITING:
            self._client_requests.popitem(last=False)

    def _drop(self, frame: InterceptedFrame) -> None:
        carrier, _ = self._carriers.pop(frame.frame.seq, (None, b""))
        if carrier is not None:
            carrier.dropped(frame)
            carrier.settled()

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function in the event loop, from any thread."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *arguments)

    # The end.

    async def close(self) -> None:
        """Send what is held, and end recording and interception."""
        self.is_over = True
        self.finished.set()
        if self.session.controller is not None:
            self.session.controller.finish()
        for channel in self._channels.values():
            channel.end()
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        for thread in self._threads:
            thread.join(END_TIMEOUT_S)
        # A file of a connection that never came is removed.
        self.session.withdraw_recording()
        self.session.close()


END_TIMEOUT_S: Final = 2.0
"""Seconds that frames under way have to be sent at the end."""


def session_of(raw: bytes) -> str | None:
    """Return the session that a call names."""
    message = jsonrpc.read_message(raw)
    if isinstance(message, jsonrpc.Request | jsonrpc.Notification):
        return get_text(message.params, "sessionId")
    return None


def body_members(body: bytes) -> dict[str, Json]:
    """Return the members of an event for a body that is no message; a long one is cut."""
    if not body:
        return {}
    shown = verbatim("body", body[:MAX_BODY_SHOWN])
    return shown if len(body) <= MAX_BODY_SHOWN else shown | {"bytes": len(body)}


def connection_named(headers: Headers) -> str | None:
    return value_of(headers, b"acp-connection-id")
