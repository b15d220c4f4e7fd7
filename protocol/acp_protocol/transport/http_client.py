"""The client's end of ACP over HTTP: messages are posted, and come on streams of events.

Messages are posted in order. A notification or a response waits only a moment for what the server
holds open, a request waits for the requests before it. If a POST is refused, a request gets an
error response from here, which the observer sees as injected.

A stream that the server ends is opened again. One that breaks is opened again only where its events
have ids: without these a message may be lost, and the connection ends with `RemoteClosedError`.

Source: ACP, RFD "Streamable HTTP and WebSocket transport".
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Final, Literal, TypeAlias

import anyio
import httpx

from acp_protocol.errors import ConnectionClosedError, FrameTooLongError
from acp_protocol.jsonrpc import Json, SuccessResponse, read_message
from acp_protocol.transport.http import EVENT_STREAM
from acp_protocol.transport.http_exchanges import (
    LATER,
    REDIRECTS,
    ClientConnection,
    Post,
    Refusal,
    is_structure,
    redirected,
    refusal_of,
    response_in,
    retry_after,
)
from acp_protocol.transport.http_frames import (
    ERROR_BODY,
    UNSENT,
    HttpFrames,
    HttpSetup,
    events_in,
    mapped_error,
    opened,
)
from acp_protocol.transport.remote import (
    LIMITS,
    NEEDS_TLS_HINT,
    Notify,
    RemoteAgent,
    RemoteClosedError,
    RemoteLimits,
    WireObserver,
    as_closed,
    fits_header,
    in_one_line,
    is_refused,
    messages_in,
    retry_delays,
    shown_headers,
    shown_url,
)

logger = logging.getLogger(__name__)

MAX_REDIRECTS: Final = 5
PYTHON_HINT: Final = (
    "servers made with the Python SDK cannot go on with a session over HTTP; "
    "use ws:// or wss:// in place of http"
)

NO_STREAM_HINT: Final = (
    "an agent that speaks OpenOxide needs --dialect openoxide; others may take ws:// or wss://"
)

StreamEnd: TypeAlias = Literal["ended", "broken", "unreachable", "not listening"]


class _Moved(str):
    """The URL to which a stream was redirected."""

    __slots__ = ()


class _NotSentError(Exception):
    """No connection could be made, so the server has got nothing."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class _UnknownOutcomeError(Exception):
    """The server may have got the request, or not."""


@dataclass(eq=False, slots=True)
class _Posting:
    """A message on its way."""

    post: Post
    sent: anyio.Event = field(default_factory=anyio.Event)
    """Set when all of it was written, and the server has to respond."""
    seq: int | None = None
    """The number of its frame in the journal."""
    done: anyio.Event = field(default_factory=anyio.Event)


@dataclass(eq=False, slots=True)
class _Stream:
    """The stream of the connection, or that of a session."""

    session: str | None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    tried: anyio.Event = field(default_factory=anyio.Event)
    """Set once the server has answered its GET."""
    posted: anyio.Event = field(default_factory=anyio.Event)
    """Set when a message about the session was taken, so that the server may know it now."""
    is_reading: bool = False
    was_open: bool = False
    refused: int | None = None
    """The status with which the server refuses it."""
    taken: int = 0
    """Events that were read."""
    is_taking: bool = False
    """Whether an event waits until it can be received."""
    last_event: str = ""
    delay_s: float | None = None
    """The delay before it is opened again, if the server names one."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A response that was read to its end, or as far as it matters."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def refusal(self) -> Refusal:
        return refusal_of(self.status, self.body, self.media_type)


class HttpTransport(HttpFrames):
    """Frames over HTTP; made by `open_http`."""

    def __init__(self, setup: HttpSetup) -> None:
        super().__init__(setup)
        self._url = setup.agent.url
        self._state = ClientConnection()
        self._streams: dict[str | None, _Stream] = {}
        self._postings: list[_Posting] = []
        self._has_room = anyio.Event()
        self._opening_done = anyio.Event()
        """Set once `initialize` has a response, or failed."""
        self._is_cut_off = False
        """Whether the user knows that no stream can be opened."""
        self._numbers = itertools.count(1)
        self._http_version = "" if setup.agent.is_secure else "HTTP/1.1"
        """Unknown until the first response where TLS decides it."""

    # The transport

    async def send(self, line: bytes) -> None:
        """Let a frame be posted in its turn; wait only if too many are on their way.

        Line breaks in it separate messages, as they would in a stream.
        """
        for each in messages_in(line):
            await self._send_one(each)

    async def _send_one(self, line: bytes) -> None:
        while len(self._postings) >= self._limits.open_posts and self._end is None:
            self._has_room = anyio.Event()
            await self._has_room.wait()
        if self._end is not None or self._is_closing:
            raise as_closed(self.closed_error())
        posting = _Posting(self._state.post(line))
        self._postings.append(posting)
        self._tasks.start_soon(self._run, posting)

    async def _stop(self) -> None:
        with anyio.move_on_after(self._limits.close_s, shield=True):
            if self._end is None:
                await self._send_last()
        for stream in self._streams.values():
            stream.scope.cancel()

    async def _delete(self) -> None:
        if self._state.id is not None:
            with suppress(_NotSentError, _UnknownOutcomeError):
                await self._exchange("DELETE", self._state.delete_headers())

    async def _send_last(self) -> None:
        """Wait for notifications and responses that are on their way."""
        for posting in list(self._postings):
            if not posting.post.is_request:
                await posting.done.wait()

    def _finish(self, reason: ConnectionClosedError | FrameTooLongError) -> None:
        """End the connection; what came before is still received."""
        if self._end is not None or self._is_closing:
            return
        super()._finish(reason)
        self._opening_done.set()
        self._has_room.set()
        for stream in self._streams.values():
            stream.scope.cancel()

    # Posting

    async def _run(self, posting: _Posting) -> None:
        try:
            await self._wait_for_turn(posting)
            if self._end is None:
                await self._carry(posting)
        finally:
            if posting.post.is_opening:
                self._opening_done.set()
            self._postings.remove(posting)
            posting.sent.set()
            posting.done.set()
            self._has_room.set()

    async def _wait_for_turn(self, posting: _Posting) -> None:
        earlier = self._postings[: self._postings.index(posting)]
        is_request = posting.post.is_request
        for each in earlier:
            if each.post.is_request and not is_request:
                await self._wait_unless_held(each, earlier)
            else:
                await each.done.wait()
        if self._state.has_begun and not posting.post.is_opening:
            # Without the id of the connection nothing can be posted.
            await self._opening_done.wait()

    async def _wait_unless_held(self, posting: _Posting, others: Sequence[_Posting]) -> None:
        """Wait for a request to be sent, and a moment for its response."""
        before = itertools.takewhile(lambda each: each is not posting, others)
        if any(each.post.is_request and not each.done.is_set() for each in before):
            # It waits for one that the server holds open.
            return
        await posting.sent.wait()
        with anyio.move_on_after(self._limits.held_s):
            await posting.done.wait()

    async def _carry(self, posting: _Posting) -> None:
        """Post a message, and deliver or report what the server says to it."""
        post = posting.post
        if post.session is not None and not fits_header(post.session):
            self._refuse(posting, Refusal(0, "the id of the session cannot be in a header"))
            return
        if post.is_request and post.session is not None and self._state.id is not None:
            await self._open_stream(post.session)
        try:
            answer = await self._post(posting)
        except _NotSentError as problem:
            if post.is_opening:
                self._finish(_closed_by(problem.refusal))
            else:
                self._refuse(posting, problem.refusal)
        except _UnknownOutcomeError as problem:
            self._lose(posting, problem)
        else:
            await self._take_answer(posting, answer)

    async def _post(self, posting: _Posting) -> _Answer:
        """Post a message; again while the server says that it takes nothing now."""
        delays = retry_delays(self._limits)
        ends_at = anyio.current_time() + self._limits.give_up_s
        while True:
            delay = next(delays)
            try:
                answer = await self._exchange("POST", self._state.headers(posting.post), posting)
            except _NotSentError:
                if posting.post.is_opening or anyio.current_time() + delay > ends_at:
                    raise
            else:
                if answer.status == HTTPStatus.NOT_FOUND and self._knows_no_session(answer):
                    session = posting.post.session
                    if session is not None and self._state.forget_header(session):
                        continue
                if answer.status not in LATER:
                    return answer
                delay = retry_after(answer.headers.get("retry-after"), time.time()) or delay
                if anyio.current_time() + delay > ends_at:
                    return answer
            await anyio.sleep(delay)

    def _knows_no_session(self, answer: _Answer) -> bool:
        """Return whether 404 is about the session, and not the connection."""
        detail = answer.body[:ERROR_BODY].lower()
        if (b"session" in detail) != (b"connection" in detail):
            return b"session" in detail
        stream = self._streams.get(None)
        return stream is not None and stream.is_reading

    async def _take_answer(self, posting: _Posting, answer: _Answer) -> None:
        post = posting.post
        if post.is_opening:
            await self._take_opening(posting, answer)
        elif answer.status < HTTPStatus.MULTIPLE_CHOICES:
            self._note_taken(post)
            if _has_message(answer.body):
                await self._hand_on(in_one_line(answer.body), None)
        elif answer.status == HTTPStatus.NOT_FOUND and not self._knows_no_session(answer):
            detail = answer.refusal.detail
            self._finish(_gone("the server does not know the connection any more", detail))
        else:
            response = response_in(answer.body)
            if response is not None:
                await self._hand_on(in_one_line(answer.body), None)
            if response is None or response.id != post.request_id:
                self._refuse(posting, self._explained(post, answer))

    def _explained(self, post: Post, answer: _Answer) -> Refusal:
        """Return why a POST was refused, with what is known about the session."""
        stream = self._streams.get(post.session) if post.session is not None else None
        is_about_session = answer.status in {HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST}
        if is_about_session and stream is not None and stream.refused == HTTPStatus.NOT_FOUND:
            return Refusal(
                answer.status,
                f"the server does not know the session ({answer.status})",
                PYTHON_HINT,
            )
        return answer.refusal

    async def _take_opening(self, posting: _Posting, answer: _Answer) -> None:
        """Take the response to `initialize`, and open the stream of the connection."""
        response = response_in(answer.body)
        if response is None:
            if answer.status < HTTPStatus.MULTIPLE_CHOICES:
                reason = f"the response to initialize is not JSON-RPC but {_kind(answer)}"
                self._finish(RemoteClosedError(reason, hint="is it an ACP endpoint?"))
            else:
                self._finish(_closed_by(answer.refusal))
            return
        self._state.opened(answer.headers, response)
        if self._state.id is None and isinstance(response, SuccessResponse):
            self._finish(
                RemoteClosedError(
                    "the response to initialize has no Acp-Connection-Id",
                    hint="a proxy may have removed the header",
                )
            )
            return
        if self._state.id is not None:
            self._opening_done.set()
            await self._open_stream(None)
        await self._hand_on(in_one_line(answer.body), None)

    def _note_taken(self, post: Post) -> None:
        stream = None if post.session is None else self._streams.get(post.session)
        if stream is not None:
            stream.posted.set()

    def _refuse(self, posting: _Posting, refusal: Refusal) -> None:
        """Give a request the error response that will not come; report any other message.

        What is no message gets an error without an id, as an agent on stdio sends it.
        """
        if self._end is not None:
            return
        post = posting.post
        if not post.gets_error:
            self._notify(f"{post.name} did not reach the agent: {refusal.reason}")
            return
        self._state.settled(post)
        frame = refusal.error_frame(post.request_id)
        if self._observer is not None:
            seq = self._observer.wire("agent", self.framed(frame)).seq
            known = {} if posting.seq is None else {"answers": posting.seq}
            self._observer.event("injected", of=seq, by="transport", **known)
        self._put(frame)

    def _lose(self, posting: _Posting, problem: _UnknownOutcomeError) -> None:
        """Say that it is not known whether a message has reached the agent."""
        if posting.post.is_opening:
            reason = f"the server did not respond to initialize: {problem}"
            hint = "" if self._agent.is_secure else NEEDS_TLS_HINT
            self._finish(RemoteClosedError(reason, hint=hint, can_return=True))
            return
        name = posting.post.name
        reason = f"it is not known whether the agent has got {name}: {problem}"
        self._refuse(posting, Refusal(0, reason))

    # Requests

    async def _exchange(
        self, method: str, headers: Mapping[str, str], posting: _Posting | None = None
    ) -> _Answer:
        """Send a request and read its response, at the same origin wherever it redirects to."""
        for _ in range(MAX_REDIRECTS):
            answer = await self._once(method, headers, posting)
            if answer.status not in REDIRECTS:
                return answer
            target = redirected(self._url, answer.status, answer.headers.get("location"), method)
            if isinstance(target, Refusal):
                raise _NotSentError(target)
            self._url = target
        raise _NotSentError(Refusal(0, "the server redirects again and again"))

    async def _once(
        self, method: str, headers: Mapping[str, str], posting: _Posting | None
    ) -> _Answer:
        content = None if posting is None else posting.post.frame
        extensions = {} if posting is None else {"trace": partial(_note_sent, posting)}
        request = self._client.build_request(
            method, self._url, headers=headers, content=content, extensions=extensions
        )
        again = None if posting is None else posting.seq
        number = self._note_request(request, again)
        if posting is not None and again is None and self._observer is not None:
            # One message, however often it is posted.
            posting.seq = self._observer.wire("client", self.framed(posting.post.frame)).seq
        is_opening = posting is not None and posting.post.is_opening
        try:
            with anyio.fail_after(None if is_opening else self._limits.post_s):
                response = await self._client.send(request, stream=True)
                try:
                    body = await self._body(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            limit = self._limits.post_s
            raise _UnknownOutcomeError(f"no response within {limit:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._mapped(error) from None
        self._note_response(number, response)
        if _has_message(body):
            # The observer gets it right behind its response.
            self._observe(in_one_line(body))
        return _Answer(response.status_code, response.headers, body)

    def _mapped(self, error: Exception) -> _NotSentError | _UnknownOutcomeError:
        """Return an error of httpx as one of ours."""
        refusal = mapped_error(self._agent, error, self._limits)
        is_unsent = isinstance(error, UNSENT)
        return _NotSentError(refusal) if is_unsent else _UnknownOutcomeError(refusal.reason)

    # Streams

    async def _open_stream(self, session: str | None) -> None:
        """Open a stream if it is not, and wait a moment for what the server says to it."""
        stream = self._streams.get(session)
        if stream is None:
            if len(self._streams) > self._limits.sessions:
                self._notify(f"more than {self._limits.sessions} sessions: no stream for {session}")
                return
            stream = self._streams[session] = _Stream(session)
            self._tasks.start_soon(self._keep_reading, stream)
        with anyio.move_on_after(self._limits.open_s):
            await stream.tried.wait()

    async def _keep_reading(self, stream: _Stream) -> None:
        with stream.scope:
            try:
                await self._read_again(stream)
            except FrameTooLongError as problem:
                self._finish(problem)
            except RemoteClosedError as reason:
                self._finish(reason)
        stream.tried.set()
        if self._streams.get(stream.session) is stream:
            del self._streams[stream.session]

    async def _read_again(self, stream: _Stream) -> None:
        """Read a stream, again when it has ended, until that makes no sense any more.

        Raises:
            RemoteClosedError: the connection cannot go on.
        """
        delays = retry_delays(self._limits)
        ends_at = anyio.current_time() + self._limits.stream_give_up_s
        while True:
            outcome = await self._read(stream)
            was_open, stream.was_open = stream.was_open, False
            if was_open and outcome == "ended":
                delays = retry_delays(self._limits)
                ends_at = anyio.current_time() + self._limits.stream_give_up_s
            delay = next(delays) if stream.delay_s is None else stream.delay_s
            is_late = anyio.current_time() + delay > ends_at
            if isinstance(outcome, Refusal):
                if self._is_given_up(stream, outcome, is_late=is_late):
                    return
                with anyio.move_on_after(delay):
                    # The server may know the session once a message about it has come.
                    await stream.posted.wait()
                    stream.posted = anyio.Event()
                    continue
                continue
            if outcome == "broken" and not stream.last_event:
                raise _gone(
                    f"the connection to {self._agent.host} broke, and what was sent meanwhile may "
                    "be lost"
                )
            if is_late or outcome == "not listening":
                # A server that does not listen has ended, and what it knew with it.
                raise _gone(f"{self._agent.host} cannot be reached any more")
            if outcome == "unreachable" and not self._is_cut_off:
                self._is_cut_off = True
                self._notify(f"{self._agent.host} cannot be reached; trying again")
            await anyio.sleep(delay)

    def _is_given_up(self, stream: _Stream, refusal: Refusal, *, is_late: bool) -> bool:
        """Return whether a stream that the server refuses is given up.

        Raises:
            RemoteClosedError: the connection cannot go on without it.
        """
        stream.refused = refusal.status
        stream.tried.set()
        is_unknown = refusal.status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}
        if stream.session is None and is_unknown:
            raise _gone("the server has ended the connection", refusal.detail)
        may_change = refusal.status in {*LATER, HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND}
        if may_change and not is_late:
            return False
        if refusal.status == HTTPStatus.METHOD_NOT_ALLOWED:
            # It has answered initialize at this URL.
            raise RemoteClosedError("the server opens no streams (405)", hint=NO_STREAM_HINT)
        if stream.session is None or not may_change:
            raise _closed_by(refusal)
        self._notify(f"the messages of session {stream.session} cannot be read: {refusal.reason}")
        return True

    async def _read(self, stream: _Stream) -> StreamEnd | Refusal:
        """Read a stream to its end; return how it ended."""
        for _ in range(MAX_REDIRECTS):
            outcome = await self._read_at(stream)
            if not isinstance(outcome, _Moved):
                return outcome
            self._url = str(outcome)
        return Refusal(HTTPStatus.LOOP_DETECTED, "the server redirects again and again")

    async def _read_at(self, stream: _Stream) -> StreamEnd | Refusal | _Moved:
        headers = self._state.stream_headers(stream.session, stream.last_event)
        request = self._client.build_request("GET", self._url, headers=headers)
        number = self._note_request(request)
        try:
            response = await self._client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            logger.info("no stream: %s", self._mapped(error))
            stream.tried.set()
            return "not listening" if is_refused(error) else "unreachable"
        try:
            self._note_response(number, response)
            return await self._read_response(stream, response, number)
        except (httpx.HTTPError, TimeoutError) as error:
            logger.info("a stream broke: %s", error or type(error).__name__)
            return "broken"
        finally:
            stream.is_reading = False
            with anyio.move_on_after(self._limits.close_s, shield=True):
                await response.aclose()

    async def _read_response(
        self, stream: _Stream, response: httpx.Response, number: int
    ) -> StreamEnd | Refusal | _Moved:
        if response.status_code in REDIRECTS:
            location = response.headers.get("location")
            target = redirected(self._url, response.status_code, location, "GET")
            return target if isinstance(target, Refusal) else _Moved(target)
        if response.status_code == HTTPStatus.NO_CONTENT:
            return Refusal(HTTPStatus.GONE, "the server has ended the stream for good (204)")
        kind = response.headers.get("content-type", "")
        if response.status_code != HTTPStatus.OK:
            return refusal_of(response.status_code, await self._body(response), kind)
        if kind.partition(";")[0].strip().lower() != EVENT_STREAM:
            what = kind or "of no type"
            raise RemoteClosedError(
                f"the stream of the server is {what}, not {EVENT_STREAM}",
                hint="is it an ACP endpoint?",
            )
        stream.is_reading = stream.was_open = True
        self._is_cut_off = False
        stream.refused = None
        stream.tried.set()
        async with aclosing(events_in(response, self._limits)) as events:
            async for event in events:
                if event.retry is not None:
                    stream.delay_s = min(event.retry / 1000, self._limits.max_retry_s)
                if event.data:
                    await self._take_event(stream, event.data, event.id, event.event, number)
                stream.last_event = event.id
        self._note("http_end", id=number)
        return "ended" if _has_visible_end(response) else "broken"

    async def _take_event(
        self, stream: _Stream, data: str, event_id: str, kind: str, number: int
    ) -> None:
        frame = in_one_line(data.encode("utf-8", "replace"))
        if stream.session is None:
            await self._wait_history(frame)
        known = {"event": kind if kind != "message" else "", "event_id": event_id}
        self._note("sse_event", id=number, **{key: each for key, each in known.items() if each})
        self._observe(frame)
        if is_structure(frame):
            stream.taken += 1
            stream.is_taking = True
            await self._hand_on(frame, stream.session)
            stream.is_taking = False
        else:
            logger.warning("an event of %d bytes is not a message, and was skipped", len(frame))

    async def _wait_history(self, frame: bytes) -> None:
        """Let the history of a session come before the response that ends it.

        That comes on the stream of the connection, and is there as soon as the server has sent it,
        while most of the history may still wait to be read.
        """
        ended = self._streams.get(self._state.history_ended_by(read_message(frame)))
        if ended is None or ended.session is None:
            return
        with anyio.move_on_after(self._limits.history_s):
            taken = -1
            while ended.is_reading and (ended.is_taking or ended.taken != taken):
                taken = ended.taken
                await anyio.sleep(self._limits.quiet_s)

    # Receiving

    async def _hand_on(self, frame: bytes, stream: str | None) -> None:
        """Let a frame of the agent be received; wait while too many are not received yet."""
        changes = self._state.received(read_message(frame), stream)
        # It comes before what the stream of its session says.
        self._put(frame)
        for session in changes.opened:
            await self._open_stream(session)
        for session in changes.closed:
            if (closed := self._streams.pop(session, None)) is not None:
                closed.scope.cancel()
        await self._wait_room()

    # The observer

    def _note(self, name: str, **data: Json) -> None:
        if self._observer is not None:
            self._observer.event(name, **data)

    def _note_request(self, request: httpx.Request, again: int | None = None) -> int:
        """Note a request; `again` is the frame in its body, if an earlier request had it."""
        number = next(self._numbers)
        if self._observer is not None:
            path = shown_url(str(request.url))
            version = {"version": self._http_version} if self._http_version else {}
            repeated = {} if again is None else {"of": again}
            headers = shown_headers(request.headers.multi_items(), self._agent.own_headers)
            self._observer.event(
                "http_request",
                id=number,
                method=request.method,
                path=path,
                **version,
                headers=headers,
                **repeated,
            )
        return number

    def _note_response(self, number: int, response: httpx.Response) -> None:
        self._http_version = response.http_version
        headers = shown_headers(response.headers.multi_items())
        self._note("http_response", id=number, status=response.status_code, headers=headers)


async def _note_sent(posting: _Posting, step: str, details: object) -> None:
    del details
    if step.endswith("send_request_body.complete"):
        posting.sent.set()


def _has_message(body: bytes) -> bool:
    return bool(body.strip()) and is_structure(body)


def _has_visible_end(response: httpx.Response) -> bool:
    """Return whether the end of a body is marked, so that nothing of it is missing."""
    names = {"transfer-encoding", "content-length"}
    return response.http_version == "HTTP/2" or not names.isdisjoint(response.headers)


def _kind(answer: _Answer) -> str:
    kind = answer.media_type.partition(";")[0].strip()
    return kind or ("nothing" if not answer.body else "of no type")


def _closed_by(refusal: Refusal) -> RemoteClosedError:
    return RemoteClosedError(refusal.reason, hint=refusal.hint, can_return=refusal.is_passing)


def _gone(reason: str, detail: str = "") -> RemoteClosedError:
    return RemoteClosedError(f"{reason}: {detail}" if detail else reason, can_return=True)


@asynccontextmanager
async def open_http(
    agent: RemoteAgent,
    *,
    limits: RemoteLimits = LIMITS,
    observer: WireObserver | None = None,
    notify: Notify = logger.warning,
) -> AsyncGenerator[HttpTransport]:
    """Connect to an agent over HTTP; end the connection with the block.

    Nothing is sent before the first frame. `observer` gets all frames and the HTTP around them;
    `notify` gets a sentence about each message that did not reach the agent.

    Raises:
        RemoteAddressError: the user's certificates or the proxy cannot be used.
    """
    async with opened(HttpTransport, agent, limits, observer, notify) as transport:
        yield transport
