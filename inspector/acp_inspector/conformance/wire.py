"""One side of a connection that can send any bytes, and whose waits have a limit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from itertools import count
from typing import Final, TypeAlias, TypeVar, cast

import anyio
from anyio.abc import TaskGroup

from acp_inspector.conformance.model import (
    Case,
    CaseFailedError,
    Evidence,
    NotOfferedError,
    NotReachedError,
    Result,
    evidence,
)
from acp_inspector.journal import Entry, Frame, Journal
from acp_inspector.messages import DecodedFrame
from acp_inspector.session.events import RequestSent
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.fold import Sessions
from acp_inspector.session.turn import SessionTurn
from acp_protocol.dialects.spellings import BATCHES_HINT, SENDS_BATCHES
from acp_protocol.endpoint import Endpoint, ProtocolViolation
from acp_protocol.errors import ConnectionClosedError, FrameTooLongError
from acp_protocol.framing import Side, opposite
from acp_protocol.json_values import get_int
from acp_protocol.jsonrpc import (
    Batch,
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Request,
    RequestId,
    SuccessResponse,
    encode_notification,
    encode_request,
    id_key,
    read_message,
)
from acp_protocol.transport import Transport

T = TypeVar("T")
Reply: TypeAlias = SuccessResponse | ErrorResponse
MAX_MESSAGES: Final = 10_000
"""Messages that a peer may send in one case; one that sends more floods."""
MAX_BYTES: Final = 128 * 2**20
"""Bytes of such messages."""
MAX_LINTED: Final = 1_000
"""Entries of a flood that are linted."""
START_FACTOR: Final = 4
"""Timeouts that the first message of a peer may take: it has to start."""


class CaseWire:
    """What both sides need; a subclass says what it does with a message."""

    side: Side

    def __init__(
        self,
        transport: Transport,
        *,
        timeout: float,
        settle: float,
        takes_batches: bool = False,
        max_messages: int = MAX_MESSAGES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._transport = transport
        self._max = max_messages, max_bytes
        self.timeout = timeout
        """Seconds that the peer has for each step."""
        self.settle_seconds = settle
        """Seconds in which the peer may still send what it must not."""
        self.takes_batches = takes_batches
        """Whether the messages of an array count, after the array itself, as if they came alone."""
        self._arrays = Endpoint(allow_batches=takes_batches)
        """Joins the responses to the requests of an array."""
        self._in_arrays: set[tuple[str, RequestId]] = set()
        """The keys of the ids of requests that came in arrays and have no response yet."""
        self.journal = Journal()
        self.messages: list[Message] = []
        """What the peer has sent, in order."""
        self.has_ended = False
        """Whether nothing more is read: the peer has closed the connection, or `flood` says why."""
        self.flood = ""
        """How the peer floods; empty if it does not."""
        self.is_left = False
        """Whether what the peer still sends is dropped."""
        self.has_sent_array = False
        """Whether it has sent an array in the case, and they are not taken."""
        self.turns: dict[tuple[str, RequestId], SessionTurn] = {}
        """The turns of our prompts, by the key of their id."""
        self._sessions = Sessions(exchanges=Exchanges(is_lean=True))
        self._replies: dict[tuple[str, RequestId], list[tuple[int, Reply]]] = {}
        self._ids = count(1)
        self.change = anyio.Event()
        """Set, and replaced, when something has come."""
        self._sending = anyio.Lock()
        self._begun = 0
        self._received = (0, 0)
        """Messages of the case, and their bytes."""
        self._tasks: TaskGroup

    def run(self, tasks: TaskGroup) -> None:
        """Read what the peer sends, until the tasks end."""
        self._tasks = tasks
        tasks.start_soon(self._listen)

    def received(self, message: Message, at: int) -> None:
        """Do what a message calls for; `at` is its place in `messages`."""

    # What proves a verdict

    def begin(self) -> None:
        """Begin a case: its frames are those from here on."""
        self._begun = len(self.journal)
        self._received = (0, 0)
        self.has_sent_array = False

    def linted(self) -> Sequence[Entry]:
        """Return what the linter gets: of a flood only the start."""
        entries = self.journal.entries
        return entries[: self._begun + MAX_LINTED] if self.flood else entries

    def frames(self) -> tuple[Evidence, ...]:
        return evidence(
            (each for each in self.journal.entries[self._begun :] if isinstance(each, Frame)),
            opposite(self.side),
        )

    # Sending

    async def send(self, *lines: bytes) -> None:
        """Send lines, several of them in one write."""
        try:
            with anyio.fail_after(self.timeout):
                async with self._sending:
                    written = [each for line in lines if (each := self._joined(line)) is not None]
                    for line in written:
                        self._note(self.side, line)
                    if written:
                        await self._transport.send(b"\n".join(written))
        except TimeoutError:
            raise CaseFailedError(f"the {opposite(self.side)} does not read") from None
        except ConnectionClosedError:
            self.has_ended = True
            raise CaseFailedError(f"the {opposite(self.side)} closed the connection") from None

    def _joined(self, line: bytes) -> bytes | None:
        """Return what to send: the responses to an array in one array, with the last of them."""
        if not self._in_arrays:
            return line
        message = read_message(line)
        if not isinstance(message, SuccessResponse | ErrorResponse):
            return line
        if (key := id_key(message.id)) not in self._in_arrays:
            return line
        self._in_arrays.remove(key)
        if isinstance(message, SuccessResponse):
            return self._arrays.send_result(message.id, message.result)
        return self._arrays.send_error(message.id, message.code, message.message, message.data)

    async def notify(self, method: str, params: Json = None) -> None:
        await self.send(encode_notification(method, params))

    async def start(self, method: str, params: Json = None, id_: RequestId = None) -> RequestId:
        """Send a request and return its id."""
        if id_ is None:
            id_ = next(self._ids)
        await self.send(encode_request(id_, method, params))
        return id_

    async def request(self, method: str, params: Json = None, id_: RequestId = None) -> Reply:
        """Send a request and return its response."""
        at = len(self.messages)
        id_ = await self.start(method, params, id_)
        return await self.response(id_, at, f"a response to {method}")

    async def result(self, method: str, params: Json = None) -> Mapping[str, Json]:
        """Return the result of a request that must succeed."""
        return result_of(await self.request(method, params), method)

    async def refused(
        self, method: str, params: Json, *codes: int, data_session: str | None = None
    ) -> ErrorResponse:
        """Send a request that must fail with one of `codes` (any if there is none)."""
        reply = await self.request(method, params)
        return error_of(reply, method, *codes)

    async def response(self, id_: RequestId, at: int, what: str) -> Reply:
        """Wait for the response with this id that comes after message `at`."""

        def found() -> Reply | None:
            replies = self._replies.get(id_key(id_), ())
            return next((reply for place, reply in replies if place >= at), None)

        return await self.wait_for(found, what)

    async def message(self, wanted: Callable[[Message], bool], at: int, what: str) -> Message:
        """Wait for a message that comes after message `at`."""
        return await self.wait_for(
            lambda: next((each for each in self.messages[at:] if wanted(each)), None), what
        )

    async def wait_for(self, find: Callable[[], T | None], what: str) -> T:
        """Wait until `find` returns something.

        Raises:
            CaseFailedError: it takes too long, or the peer ends first, or sends an array, which may
                hold what is awaited.
        """
        peer = opposite(self.side)
        limit = self.timeout if self.messages else START_FACTOR * self.timeout
        with anyio.move_on_after(limit):
            while True:
                change = self.change
                if (found := find()) is not None:
                    return found
                if self.has_ended:
                    ended = self.flood or "closed the connection"
                    raise CaseFailedError(f"the {peer} {ended} before {what}")
                if self.has_sent_array:
                    raise CaseFailedError(f"the {peer} {SENDS_BATCHES}; {BATCHES_HINT}")
                await change.wait()
        raise CaseFailedError(f"the {peer} did not send {what} within {limit:g} s")

    async def ping(self) -> None:
        """Return when the peer has read everything so far, as far as can be seen."""
        await self.request("_conform/ping", {})

    async def settle(self) -> None:
        """Give the peer time to send what it must not."""
        await self.ping()
        await anyio.sleep(self.settle_seconds)

    async def _listen(self) -> None:
        try:
            while True:
                line = await self._transport.receive()
                if self.is_left:
                    continue
                self._note(opposite(self.side), line)
                self._count(len(line))
                if line.strip() and not self.flood:
                    await self._accept_all(read_message(line))
                if self.flood:
                    break
                self.wake()
        except FrameTooLongError as problem:
            self.flood = f"sent a message of more than {problem.limit} bytes"
        except ConnectionClosedError:
            pass
        self.has_ended = True
        self.wake()

    def _note(self, side: Side, line: bytes) -> None:
        """Keep a line; note the turns of prompts. What looks like a dialect is read as it is."""
        frame = self.journal.line(side, line)
        for message, exchange in self._sessions.exchanges.pair(DecodedFrame(frame)):
            for event in self._sessions.apply(frame, message, exchange):
                match event:
                    case RequestSent(message=Request(id=id_, method="session/prompt")):
                        if side == self.side and event.turn is not None:
                            self.turns[id_key(id_)] = event.turn
                    case _:
                        pass

    def _count(self, size: int) -> None:
        messages, bytes_ = self._received[0] + 1, self._received[1] + size
        self._received = messages, bytes_
        if messages > self._max[0]:
            self.flood = f"floods: it sent more than {self._max[0]} messages"
        elif bytes_ > self._max[1]:
            self.flood = f"floods: it sent more than {self._max[1]} bytes"

    def wake(self) -> None:
        change, self.change = self.change, anyio.Event()
        change.set()

    async def _accept_all(self, message: Message) -> None:
        """Accept a message, and those of an array; refuse what is none, where arrays are taken."""
        self._accept(message)
        if not self.takes_batches:
            self.has_sent_array |= isinstance(message, Batch)
            return
        if not isinstance(message, Batch | InvalidMessage):
            return
        for event in self._arrays.receive(message.raw):
            if isinstance(event, Request):
                self._in_arrays.add(id_key(event.id))
            elif isinstance(event, ProtocolViolation) and event.reply is not None:
                with suppress(CaseFailedError):
                    await self.send(event.reply)
        for entry in message.entries if isinstance(message, Batch) else ():
            self._accept(entry)

    def _accept(self, message: Message) -> None:
        at = len(self.messages)
        self.messages.append(message)
        if isinstance(message, SuccessResponse | ErrorResponse):
            self._replies.setdefault(id_key(message.id), []).append((at, message))
        self.received(message, at)


async def becomes_true(
    check: Callable[[], Awaitable[bool]], limit: float, *, attempts: int
) -> bool:
    """Return whether one of some attempts within `limit` seconds succeeds: no message tells."""
    for attempt in range(attempts):
        if attempt:
            await anyio.sleep(limit / attempts)
        if await check():
            return True
    return False


async def play_case(case: Case, wire: CaseWire, limit: float) -> Result:
    """Play the steps of a case within `limit` seconds; return what came of it."""
    assert case.steps is not None
    wire.begin()
    try:
        with anyio.fail_after(limit):
            await case.steps(wire)
    except TimeoutError:
        return Result(case, "fail", "the case took too long", wire.frames())
    except CaseFailedError as problem:
        return Result(case, "fail", str(problem), wire.frames())
    except NotOfferedError as problem:
        return Result(case, "not offered", str(problem))
    except NotReachedError as problem:
        return Result(case, "not reached", str(problem))
    return Result(case, "pass", frames=wire.frames())


def result_of(reply: Reply, method: str) -> Mapping[str, Json]:
    """Return the result of a response that must be no error."""
    if isinstance(reply, ErrorResponse):
        raise CaseFailedError(f"{method} failed: {reply.code} {reply.message}")
    result = reply.result
    if not isinstance(result, dict):
        raise CaseFailedError(f"the result of {method} is not an object")
    return cast("dict[str, Json]", result)


def error_of(reply: Reply, method: str, *codes: int) -> ErrorResponse:
    """Return the error of a response that must be one, with one of `codes` if there are any."""
    if isinstance(reply, SuccessResponse):
        raise CaseFailedError(f"{method} succeeded, where an error was expected")
    # A server refuses by a status what has no session in its header.
    is_refused = get_int(reply.data, "httpStatus") == HTTPStatus.BAD_REQUEST
    if codes and reply.code not in codes and not is_refused:
        wanted = " or ".join(map(str, codes))
        raise CaseFailedError(f"{method} failed with {reply.code}, where {wanted} was expected")
    return reply
