"""Plays the agent of a recording for a live client.

Each request of the client is matched to a recorded one by method, session and content; then the
messages of its scene (see `agent_script`) are sent in their order, each as soon as the client has
sent what the recorded agent waited for. What the recorded client sent before a message only by
chance, such as a prompt in another session, is waited for a moment, so that sessions interleave as
recorded where the client does the same.

One task decides and sends, another one reads: what is sent depends on nothing but the order of
what comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from math import inf
from typing import Final, Literal, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from acp_inspector.compare.diff import CompareOptions, compare
from acp_inspector.compare.id_map import IdMap, secrets_between
from acp_inspector.compare.likeness import Content, content, likeness
from acp_inspector.compare.values import with_directories
from acp_inspector.journal import Entry, Frame, Journal
from acp_inspector.replay.acts import AgentJudge
from acp_inspector.replay.agent_script import (
    AgentScript,
    Cue,
    ScriptLine,
    places,
)
from acp_inspector.replay.result import ReplayResult, emptiness
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.dialects.base import session_in
from acp_protocol.endpoint import CancelRequested, Endpoint, EndpointEvent, ProtocolViolation
from acp_protocol.errors import ConnectionClosedError, FrameTooLongError
from acp_protocol.framing import Side
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import as_object, get, get_int
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    encode,
    encode_notification,
    id_key,
    is_array_of_messages,
    is_request_id,
    parse,
    read_message,
)
from acp_protocol.schema.vocabulary import CANCELLING, CLOSING, OPENING
from acp_protocol.transport.base import FramedTransport

MissPolicy: TypeAlias = Literal["nearest", "error", "fail"]

CLIENT_TIMEOUT: Final = 300.0
"""Seconds that a client may stay silent: a person may sit before it."""
QUIET_SECONDS: Final = 0.5
"""Seconds of silence after which nothing is waited for that came first only by chance."""
MAX_UNRECORDED: Final = 1000
"""Messages of the client that the recording does not have, before the play ends."""
MAX_NAMED: Final = 5
"""Recorded messages that one sentence names."""
_QUEUE: Final = 64
"""Messages of the client that wait to be handled; more wait in its pipe."""
_SHOWN: Final = 100
"""Characters of params that an error quotes."""
ABOUT_CLIENT: Final = frozenset({"initialize", *OPENING})
"""Requests by which a client describes itself and its directories: the next one matches."""
_WITHOUT_RESULT: Final = frozenset(
    {
        *("session/set_mode", "session/set_model", *CLOSING),
        *("authenticate", "auth/login", "logout", "auth/logout"),
    }
)
"""Requests whose result is empty, so that the nearest one is known without a recorded one."""
_MADE_ID: Final = 1_000_000


@dataclass(slots=True, eq=False)
class _Run:
    """A scene that is played."""

    cue: Cue | None
    """Its recorded request; None for what the agent sends first."""
    lines: Sequence[ScriptLine]
    ids: IdMap
    id: RequestId = None
    """The id of the live request."""
    is_again: bool = False
    """Whether the scene was played before."""
    next: int = 0
    due: float | None = None
    """When the next message is sent; None while something else is waited for."""
    replies: set[Cue] = field(default_factory=set[Cue])
    """Recorded responses of the client whose live counterparts have come."""
    is_open: bool = False
    """Whether the live request has no response yet."""
    session: str | None = None
    """The live session of the request."""

    @property
    def line(self) -> ScriptLine:
        return self.lines[self.next]

    def missing(self) -> Cue | None:
        """Return what the next message has to wait for."""
        for cue in self.line.needs:
            has_come = cue in self.replies if not cue.method else cue.is_used or self.is_again
            if not has_come:
                return cue
        return None

    def preceding(self) -> list[Cue]:
        """Return what still came before the next message by chance."""
        found = [] if self.is_again else self.line.follows
        return [cue for cue in found if not (cue.is_used or cue.is_waived)]


class PlayEndedError(Exception):
    """The play cannot go on; the text says why."""


class AgentPlayer:
    """One play of the agent's side."""

    def __init__(
        self,
        script: AgentScript,
        transport: FramedTransport,
        *,
        on_miss: MissPolicy = "nearest",
        speed: float = 0.0,
        is_redacted: bool = False,
        options: CompareOptions | None = None,
        judge: AgentJudge | None = None,
        directories: Mapping[str, str] | None = None,
    ) -> None:
        """Play `script`.

        Args:
            script: the recorded agent.
            transport: the connection to the client.
            on_miss: what a request gets that the recording does not have.
            speed: recorded pauses are multiplied by this; 0: no pauses.
            is_redacted: the recording has placeholders in place of secrets.
            options: how the client is compared, and what is not.
            judge: judges what is sent, if the recording may only talk.
            directories: the live directory of each recorded one that no client names.
        """
        self._script = script
        self._transport = transport
        self._on_miss: MissPolicy = on_miss
        self._speed = speed
        self._is_redacted = is_redacted
        self._options = options or {}
        self._judge = judge
        has_batches = any(is_array_of_messages(frame.data) for frame in script.frames)
        self._endpoint = Endpoint(allow_batches=has_batches)
        self._journal = Journal()
        self._ids = IdMap(directories, is_redacted=is_redacted)
        self._directories = self._ids.directories
        """The live directory of each recorded one."""
        self._compared_ids = IdMap(directories, is_redacted=is_redacted)
        """The ids that the client got from us, which it has to use."""
        self._maps: dict[str, IdMap] = {}
        """The ids of live sessions that do not share those of the others."""
        self._sessions: dict[str, str] = {}
        """The recorded session of each live one whose id the recording does not have."""
        self._runs: list[_Run] = []
        self._own_requests: dict[tuple[str, RequestId], tuple[_Run, ScriptLine]] = {}
        """Our requests, by live id."""
        self._request_ids: dict[tuple[str, RequestId], RequestId] = {}
        """The live id of the last of our requests with each recorded one."""
        self._live_ids: dict[tuple[str, RequestId], RequestId] = {}
        """The live id of each recorded request of the client."""
        self._made = count(1)
        self._outbox: deque[bytes] = deque()
        self._array: list[bytes] = []
        """Messages that are sent in one array, once all of it are there."""
        self._array_seq = 0
        """The recorded frame of that array."""
        self._active_at = 0.0
        self._unrecorded = 0
        self._is_over = False
        self._has_left = False
        self._sent = 0
        self._errors: list[str] = []
        self.notes: list[str] = list(script.notes)
        """What the user should know and what does not decide the verdict."""

    async def play(
        self,
        *,
        timeout: float = CLIENT_TIMEOUT,
        quiet: float = QUIET_SECONDS,
        max_unrecorded: int = MAX_UNRECORDED,
    ) -> None:
        """Play until the client leaves, or until something ends the play.

        Args:
            timeout: seconds that the client may stay silent; no pause is longer.
            quiet: seconds of silence after which nothing is waited for that came first by chance.
            max_unrecorded: messages of the client that the recording does not have, before the play
                ends.
        """
        if not self._script.cues:
            self._errors.append("the recording holds no frame of a client: nothing to play")
            return
        sender, incoming = anyio.create_memory_object_stream[bytes | str](_QUEUE)
        self._active_at = anyio.current_time()
        if self._script.opening:
            self._runs.append(_Run(None, self._script.opening, self._ids))
        async with incoming, sender, BackgroundTasks() as tasks:
            tasks.start_soon(self._listen, sender)
            try:
                while not self._has_ended():
                    wait = self._wait(timeout, quiet)
                    if self._outbox or wait <= 0:
                        # What has come is handled first: it may change what is sent next.
                        await anyio.lowlevel.checkpoint()
                        try:
                            received = incoming.receive_nowait()
                        except anyio.WouldBlock:
                            await self._act(timeout)
                            continue
                    else:
                        received = None
                        with anyio.move_on_after(wait):
                            received = await incoming.receive()
                    if received is not None:
                        self._receive(received, max_unrecorded)
            except PlayEndedError as problem:
                if text := str(problem):
                    self._errors.append(text)

    async def _listen(self, incoming: MemoryObjectSendStream[bytes | str]) -> None:
        """Hand over what comes; at the end a text, empty if the client has left."""
        end = ""
        try:
            while True:
                line = await self._transport.receive()
                await incoming.send(line)
        except FrameTooLongError as problem:
            end = f"the client sent a frame of more than {problem.limit} bytes"
        except ConnectionClosedError:
            pass
        await incoming.send(end)

    # Sending

    def _has_ended(self) -> bool:
        """Return whether the play is over, or all is played of an agent that ended too early."""
        is_played = (
            self._script.has_agent_left
            and not self._runs
            and all(cue.is_used for cue in self._script.cues)
        )
        # A client may send everything at once, leave, and read what comes.
        has_left = self._has_left and all(run.missing() is not None for run in self._runs)
        return (self._is_over or is_played or has_left) and not self._outbox and not self._array

    def _wait(self, timeout: float, quiet: float) -> float:
        """Return the seconds until something is to do unless a message comes."""
        now = anyio.current_time()
        ready = [run for run in self._runs if run.missing() is None]
        free = [run for run in ready if not run.preceding()]
        for run in free:
            if run.due is None:
                run.due = now + min(run.line.pause * self._speed, timeout)
        if self._has_left or self._array:
            return 0.0
        if free:
            # While it waits for us, the silence of the client means nothing.
            return min(run.due for run in free if run.due is not None) - now
        return self._active_at + (quiet if ready else timeout) - now

    async def _act(self, timeout: float) -> None:
        """Do what is due: send something, or draw the conclusion from a silence."""
        if self._outbox:
            await self._send(self._outbox.popleft(), timeout)
            return
        ready = [run for run in self._runs if run.missing() is None]
        if self._array and not any(run.line.frame.seq == self._array_seq for run in ready):
            await self._send_array(timeout)
            return
        if not ready:
            raise PlayEndedError(f"the client kept silent for {timeout:g} s{self._awaited()}")
        free = [run for run in ready if not run.preceding()]
        if not free:
            for cue in min(ready, key=lambda run: run.line.at).preceding():
                cue.is_waived = True
            return
        now = inf if self._has_left else anyio.current_time()
        run = min(
            (each for each in free if each.due is not None and each.due <= now),
            key=lambda each: each.line.at,
        )
        line = run.line
        frame = self._frame(run, line)
        if frame is not None:
            self._sent += 1
            await self._put(line, frame, timeout)
        run.next += 1
        run.due = None
        if run.next == len(run.lines):
            self._finish(run)

    async def _put(self, line: ScriptLine, frame: bytes, timeout: float) -> None:
        """Send a message, in an array if it was recorded in one: with the last of its messages."""
        seq = line.frame.seq
        if self._array and seq != self._array_seq:
            await self._send_array(timeout)
        if line.is_response or not line.is_in_array:
            await self._send(frame, timeout)
            return
        self._array_seq = seq
        self._array.append(frame)
        if len(self._array) == self._script.arrays[seq]:
            await self._send_array(timeout)

    async def _send_array(self, timeout: float) -> None:
        array, self._array = self._array, []
        await self._send(b"[%b]" % b",".join(array), timeout)

    def _record(self, side: Side, line: bytes) -> Frame:
        """Append a frame to the journal; its header may be what tells the client's dialect."""
        framed = self._transport.framed(line)
        if framed.header:
            return self._journal.wire(side, framed)
        return self._journal.line(side, line)

    def _awaited(self) -> str:
        """Return what is waited for, as the end of a sentence."""
        needed = [cue.name for run in self._runs if (cue := run.missing()) is not None]
        expected = needed or [cue.name for cue in self._script.cues if not cue.is_used]
        return f"; expected next: {expected[0]}" if expected else " and did not leave"

    async def _send(self, frame: bytes, timeout: float) -> None:
        sent = self._record("agent", frame)
        if self._judge is not None and (acts := self._judge.judge([sent])):
            raise PlayEndedError(
                f"with the ids and directories of this run the client would do this: {acts[0]}; "
                "allow it with --trust"
            )
        try:
            with anyio.fail_after(timeout):
                await self._transport.send(frame)
        except TimeoutError:
            raise PlayEndedError(f"the client did not read for {timeout:g} s") from None
        except ConnectionClosedError:
            raise PlayEndedError from None
        self._active_at = anyio.current_time()

    def _finish(self, run: _Run) -> None:
        self._runs.remove(run)
        is_lacking = run.is_open and run.cue is not None and not run.cue.is_answered
        if is_lacking and not self._script.is_complete:
            assert run.cue is not None
            text = f"the recording ends before the response to {run.cue.name}"
            self._respond(self._endpoint.send_error(run.id, INTERNAL_ERROR, text))

    def _respond(self, frame: bytes | None) -> None:
        if frame is not None:
            self._outbox.append(frame)

    def _frame(self, run: _Run, line: ScriptLine) -> bytes | None:
        """Return what is sent for a recorded message; None if nothing is."""
        if line.is_response and run.is_open:
            run.is_open = False
            return self._response(run, line.message)
        members = as_object(line.value)
        if not members:
            return line.raw
        live = run.ids.to_live(members)
        if get(members, "method") != "$/cancel_request":
            self._compared_ids.learn(members, live, learns_secrets=False)
        match line.message:
            case Request(id=id_, method=method):
                live["id"] = self._open(id_, method, run, line)
            case Notification(method="$/cancel_request", params=params):
                named = get(params, "requestId")
                if isinstance(named, str | int):
                    live["params"] = {
                        **as_object(live["params"]),
                        "requestId": self._request_ids.get(id_key(named), named),
                    }
            case SuccessResponse(id=id_) | ErrorResponse(id=id_) | InvalidMessage(id=id_):
                if id_ is not None and "method" not in live:
                    live["id"] = self._live_ids.get(id_key(id_), id_)
            case _:
                pass
        return line.raw if live == members else encode(live)

    def _response(self, run: _Run, recorded: Message) -> bytes | None:
        if isinstance(recorded, ErrorResponse):
            text, data = run.ids.to_live(recorded.message), run.ids.to_live(recorded.data)
            return self._endpoint.send_error(run.id, recorded.code, text, data)
        assert isinstance(recorded, SuccessResponse)
        live = run.ids.to_live(recorded.result)
        self._compared_ids.learn(recorded.result, live, learns_secrets=False)
        return self._endpoint.send_result(run.id, live)

    def _open(self, recorded: RequestId, method: str, run: _Run, line: ScriptLine) -> RequestId:
        """Return the live id of a request of ours: the recorded one unless it is taken."""
        live = recorded
        while id_key(live) in self._own_requests:
            number = _MADE_ID + next(self._made)
            live = f"{recorded}-{number}" if isinstance(recorded, str) else number
        self._own_requests[id_key(live)] = run, line
        self._request_ids[id_key(recorded)] = live
        self._endpoint.expect_response(live, method)
        return live

    # Receiving

    def _receive(self, raw: bytes | str, max_unrecorded: int) -> None:
        if isinstance(raw, str):
            if raw:
                raise PlayEndedError(raw)
            self._has_left = True
            return
        self._active_at = anyio.current_time()
        received = self._record("client", raw)
        if self._judge is not None:
            self._judge.judge([received])
        for event in self._endpoint.receive(raw):
            self._apply(event, raw)
        if self._unrecorded > max_unrecorded:
            raise PlayEndedError(
                f"the client sent more than {max_unrecorded} messages that the recording lacks"
            )

    def _apply(self, event: EndpointEvent, raw: bytes) -> None:
        match event:
            case Request(id=id_, method=method, params=params):
                self._begin_scene(method, params, id_, is_request=True)
            case CancelRequested(id=id_):
                self._cancel_request(id_)
            case Notification(method=method, params=params):
                self._apply_notification(method, params)
            case SuccessResponse() | ErrorResponse():
                self._apply_response(event)
            case ProtocolViolation():
                self._apply_violation(event, raw)

    def _begin_scene(self, method: str, params: Json, id_: RequestId, *, is_request: bool) -> None:
        """Begin the scene of a request, or of an object without JSON-RPC."""
        cue, is_exact = self._match(method, params)
        is_miss = cue is None or cue.is_used or not (is_exact or method in ABOUT_CLIENT)
        self._unrecorded += is_miss
        if is_miss and is_request and self._refuse(cue, method, params, id_):
            return
        if cue is None or cue.scene is None:
            return
        is_again = cue.is_used
        cue.is_used = True
        ids = self._bind(cue, params, id_, is_again=is_again)
        run = _Run(cue, cue.scene, ids, id_, is_again, is_open=is_request)
        run.session = session_in(params)
        self._runs.append(run)
        if not run.lines:
            self._finish(run)

    def _refuse(self, nearest: Cue | None, method: str, params: Json, id_: RequestId) -> bool:
        """Respond to a request that the recording does not have; return whether that is done."""
        made = None if nearest is not None else self._made_up(method, params)
        if made is not None:
            self._respond(self._endpoint.send_result(id_, made))
            return True
        if nearest is not None and self._on_miss == "nearest":
            return False
        code, text, data = METHOD_NOT_FOUND, f"the recording has no {method}", None
        if nearest is not None:
            shown = single_line(encode(nearest.params).decode(errors="replace"), _SHOWN)
            why = "has no more" if nearest.is_used else "has no such"
            code = INVALID_PARAMS
            text = f"the recording {why} {method}; nearest: frame {nearest.frame.seq}, {shown}"
            data = {"nearest": {"frame": nearest.frame.seq, "params": nearest.params}}
        self._respond(self._endpoint.send_error(id_, code, text, data))
        if self._on_miss == "fail":
            self._errors.append(single_line(f"{method}: {text}", 3 * _SHOWN))
            # The client gets its response before the connection is closed.
            self._is_over = True
        return True

    def _made_up(self, method: str, params: Json) -> Json:
        """Return a minimal response where the recording has none at all.

        Every client has to ask for the first two.
        """
        if method == "initialize":
            return {"protocolVersion": get_int(params, "protocolVersion") or 1}
        if method == "session/new" and self._script.sessions:
            return {"sessionId": min(self._script.sessions)}
        if method in _WITHOUT_RESULT and self._on_miss == "nearest":
            return {}
        return None

    def _match(self, method: str, params: Json) -> tuple[Cue | None, bool]:
        """Return the recorded request for a live one, and whether its content is the same.

        The best one has the same content and was not used yet; then the same content, then the most
        similar of those that were not used, then of all.
        """
        live = session_in(params)
        session = self._recorded_session(live)
        found = [
            cue
            for cue in self._script.requests.get(method, ())
            if session is None or cue.session in {None, session}
        ]
        live_content = self._content(params)
        same = [cue for cue in found if self._is_same(cue.content, live_content)]
        exact = [cue for cue in same if not cue.is_used]
        if exact:
            return max(exact, key=lambda cue: self._nearness(cue, params)), True
        unused = [cue for cue in found if not cue.is_used]
        if method in ABOUT_CLIENT and unused:
            return unused[0], False
        if same:
            return same[-1], True
        candidates = unused or found
        nearest = max(candidates, key=lambda cue: likeness(cue.content, live_content), default=None)
        return nearest, False

    def _nearness(self, cue: Cue, params: Json) -> tuple[bool, int, int]:
        """Return how well a recorded request with the same content fits a live one.

        Best are the same ids and directories; then a directory that is bound to the live one
        already; then one with the same last names.
        """
        is_same = cue.params == params
        for recorded, live in zip(places(cue.params), places(params), strict=False):
            known = self._directories.get(recorded)
            if known is not None:
                return is_same, 1 if known == live else -1, 0
            names = zip(recorded.split("/")[::-1], live.split("/")[::-1], strict=False)
            return is_same, 0, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], names))
        return is_same, 0, 0

    def _recorded_session(self, live: str | None) -> str | None:
        if live is None:
            return None
        return self._sessions.get(live, live if live in self._script.sessions else None)

    def _content(self, params: Json) -> Content:
        """Return what live params are about, with the recorded directories."""
        recorded = {live: each for each, live in reversed(self._directories.items())}
        return {
            path: with_directories(each, recorded) if isinstance(each, str) else each
            for path, each in content(params).items()
        }

    def _is_same(self, recorded: Content, live: Content) -> bool:
        """Return whether both are about the same, with a secret for each placeholder."""
        if recorded == live or not self._is_redacted or recorded.keys() != live.keys():
            return recorded == live
        return all(
            each == live[path]
            or (
                isinstance(each, str)
                and isinstance(other := live[path], str)
                and bool(secrets_between(each, other))
            )
            for path, each in recorded.items()
        )

    def _bind(self, cue: Cue, params: Json, id_: RequestId, *, is_again: bool) -> IdMap:
        """Learn the ids and directories of a live request; return those of its scene."""
        live = session_in(params)
        ids = self._maps.get(live or "", self._ids)
        pairs = zip(places(cue.params), places(params), strict=False)
        # A relative directory is none where an absolute one was recorded: it is a difference.
        named = [pair for pair in pairs if pair[1].startswith("/") or pair[0][0] != "/"]
        is_other = any(
            self._directories.get(each, live_path) != live_path for each, live_path in named
        )
        if cue.opened is not None and (is_other or (is_again and cue.session is None)):
            # Two live sessions share a recorded one or its directory.
            ids = IdMap({**self._directories, **dict(named)}, is_redacted=self._is_redacted)
            own = f"{cue.opened}-{next(self._made)}" if is_again else cue.opened
            ids.agree("sessionId", cue.opened, own)
            self._sessions[own], self._maps[own] = cue.opened, ids
        else:
            for each, live_path in named:
                self._ids.add_directory(each, live_path)
                self._compared_ids.add_directory(each, live_path)
        if live is not None and cue.session is not None and live != cue.session:
            self._sessions.setdefault(live, cue.session)
        ids.learn(cue.params, params)
        if isinstance(cue.message, Request | InvalidMessage):
            recorded = cue.id
            ids.agree("requestId", recorded, id_)
            self._live_ids[id_key(recorded)] = id_
        return ids

    def _apply_notification(self, method: str, params: Json) -> None:
        session = self._recorded_session(session_in(params))
        if method in CANCELLING:
            self._cancel_session(method, session_in(params))
            return
        live_content = self._content(params)
        found = [
            cue
            for cue in self._script.others.get(method, ())
            if not cue.is_used and (session is None or cue.session in {None, session})
        ]
        found.sort(key=lambda cue: not self._is_same(cue.content, live_content))
        if found:
            found[0].is_used = True
            self._ids.learn(found[0].params, params)
        else:
            self._unrecorded += 1

    def _cancel_session(self, method: str, live: str | None) -> None:
        """Use the recorded message that cancels in a session, or else end what runs there."""
        session = self._recorded_session(live)
        running = [
            run
            for run in self._runs
            if run.cue is not None
            and live in {None, run.session}
            and run.cue.method == "session/prompt"
        ]
        cues = [
            cue
            for cue in self._script.others.get(method, ())
            if not cue.is_used and (live is None or cue.session in {None, session})
        ]
        needed = [cue for cue in cues for run in running for line in run.lines if cue in line.needs]
        if needed or (cues and not running):
            (needed or cues)[0].is_used = True
            return
        self._unrecorded += 1
        for run in running if method == "session/cancel" else []:
            self._abort(run)

    def _cancel_request(self, id_: RequestId) -> None:
        running = [run for run in self._runs if run.is_open and id_key(run.id) == id_key(id_)]
        recorded = [key for key, live in self._live_ids.items() if id_key(live) == id_key(id_)]
        for cue in self._script.others.get("$/cancel_request", ()):
            named = get(cue.params, "requestId")
            # A client may also cancel what it has never requested.
            is_its = is_request_id(named) and id_key(named) in (recorded or [id_key(id_)])
            if is_its and not cue.is_used:
                cue.is_used = True
                return
        self._unrecorded += 1
        for run in running:
            self._abort(run, is_request=True)

    def _abort(self, run: _Run, *, is_request: bool = False) -> None:
        """End a scene because the client cancels it, although the recorded client did not."""
        assert run.cue is not None
        self._runs.remove(run)
        rest = run.lines[run.next :]
        names = ", ".join(line.name for line in rest[:MAX_NAMED])
        self._errors.append(f"the client cancelled {run.cue.name}; not sent: {names}")
        if is_request:
            error = self._endpoint.send_error(run.id, REQUEST_CANCELLED, "Request cancelled")
            self._respond(error)
        elif run.is_open:
            self._respond(self._endpoint.send_result(run.id, {"stopReason": "cancelled"}))
        else:
            update = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "cancelled"}
            params = {"sessionId": run.cue.session, "update": update}
            self._respond(encode_notification("session/update", run.ids.to_live(params)))
        run.is_open = False

    def _apply_response(self, response: SuccessResponse | ErrorResponse) -> None:
        run, line = self._own_requests[id_key(response.id)]
        cue = line.reply
        if cue is None:
            self._unrecorded += 1
            return
        run.replies.add(cue)
        if not run.is_again:
            cue.is_used = True
        if isinstance(cue.message, SuccessResponse) and isinstance(response, SuccessResponse):
            run.ids.learn(cue.message.result, response.result)

    def _apply_violation(self, violation: ProtocolViolation, raw: bytes) -> None:
        for cue in self._script.cues:
            is_plain = isinstance(cue.message, InvalidMessage) and cue.scene is None
            if is_plain and not cue.is_used and cue.frame.data == raw:
                cue.is_used = True
                self._respond(None if cue.refusal is None else cue.refusal.frame.data)
                return
        message = read_message(raw)
        if isinstance(message, SuccessResponse | ErrorResponse):
            astray = [cue for cue in self._script.astray if not cue.is_used]
            astray.sort(key=lambda cue: id_key(cue.id) != id_key(message.id))
            if astray:
                astray[0].is_used = True
                return
        if isinstance(message, InvalidMessage) and not message.is_response:
            value = _value(raw)
            method = get(value, "method") or get(value, "type")
            if isinstance(method, str) and method in self._script.requests:
                self._begin_scene(method, value, message.id, is_request=False)
                return
        self._unrecorded += 1
        if len(self.notes) < MAX_NAMED + len(self._script.notes):
            self.notes.append(
                f"the client broke the protocol: {single_line(violation.reason, 200)}"
            )
        self._respond(violation.reply)

    # Judging

    def result(self) -> ReplayResult:
        """Return what the client did, compared with the recording."""
        unused = [cue for cue in self._script.cues if not cue.is_used]
        comparison = compare(
            [*self._reached(unused)],
            self._journal.entries,
            sides=("client",),
            ids=self._compared_ids,
            dialect=self._script.dialect,
            **self._options,
        )
        errors = list(self._errors)
        if unused:
            errors.append(f"not reached: {_names(unused)}")
        unsent = [line for run in self._runs if not run.is_again for line in run.lines[run.next :]]
        if any(line.is_response or isinstance(line.message, Request) for line in unsent):
            errors.append(f"the client left before this was sent: {_names(unsent)}")
        elif unsent:
            self.notes.append(f"the client left before this was sent: {_names(unsent)}")
        empty, bare = emptiness(comparison)
        errors += [] if errors or comparison.differences else empty
        self.notes += bare
        return ReplayResult(
            comparison.differences,
            tuple(errors),
            self._sent,
            comparison.compared[0],
            len(unused),
            tolerated=comparison.tolerated,
            side="agent",
        )

    def _reached(self, unused: Sequence[Cue]) -> Iterator[Entry]:
        """Yield the recorded entries without client frames that the live client did not send."""
        used = {cue.frame.seq for cue in self._script.cues if cue.is_used}
        left = {cue.frame.seq for cue in unused} - used
        for entry in self._script.entries:
            if not (isinstance(entry, Frame) and entry.seq in left):
                yield entry


def _value(raw: bytes) -> Json:
    try:
        return parse(raw)
    except ValueError:
        return None


def _names(messages: Sequence[Cue] | Sequence[ScriptLine]) -> str:
    names = ", ".join(each.name for each in messages[:MAX_NAMED])
    more = len(messages) - MAX_NAMED
    return f"{names} and {more} more" if more > 0 else names
