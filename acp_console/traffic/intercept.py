"""Sends intercept commands to a running proxy from a thread.

The screen sends commands and reads the state; it never waits for a socket.
"""

from __future__ import annotations

import base64
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, Literal, TypeAlias, cast

from acp_console.listeners import Listeners
from acp_inspector.control.client import AttachError, ProxyClient, ProxyRefusedError, RunningProxy
from acp_inspector.control.server import encode_bytes
from acp_inspector.intercept.json_edit import NotEditableError, pretty
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import ErrorResponse, Message, Notification, Request, SuccessResponse

POLL_INTERVAL_S: Final = 0.25
"""Seconds between two polls of the proxy's state while it pauses messages, or may."""
IDLE_INTERVAL_S: Final = 1.0
"""The same while nothing is paused, and no breakpoint is set."""
RETRY_INTERVAL_S: Final = 1.0
"""Seconds after which a proxy that did not reply is polled again."""
RESPONSE_TIMEOUT_S: Final = 60.0
"""Seconds to wait for the response to an injected frame."""
MAX_INJECTED: Final = 50
"""Injected frames that are kept."""
MAX_EDITED_BYTES: Final = 2**17
"""Bytes of a frame that can be edited on a screen; larger ones make typing slow."""

Presence: TypeAlias = Literal["connecting", "there", "gone"]
DraftKind: TypeAlias = Literal["frame", "result", "error"]
"""What is written: the frame that is sent instead, or the response to a request."""


@dataclass(frozen=True)
class HeldFrame:
    """A paused frame, as the proxy reports it."""

    id: int
    seq: int
    side: Side
    seconds_left: float
    """Seconds until the proxy releases it."""
    queued_behind: int
    """Frames that wait behind it."""
    raw: bytes
    """The bytes; of a very long frame only the first ones."""
    size: int
    """Bytes of the whole frame."""

    @property
    def is_whole(self) -> bool:
        return len(self.raw) == self.size

    @cached_property
    def message(self) -> Message:
        return jsonrpc.read_message(self.raw)

    @property
    def name(self) -> str:
        """What it is, in a few words; not safe to show."""
        match self.message:
            case Request(method=method):
                return f"request {method}"
            case Notification(method=method):
                return f"notification {method}"
            case SuccessResponse():
                return "result"
            case ErrorResponse(message=message):
                return f"error {message}"
            case _:
                return "invalid message"


@dataclass(frozen=True, slots=True)
class InterceptState:
    """Which frames are paused, and why."""

    presence: Presence = "connecting"
    """Whether the proxy answers."""
    is_paused: bool = False
    limit: float = 60.0
    """Seconds after which the proxy releases a held frame."""
    breakpoints: tuple[tuple[int, str], ...] = ()
    """Number and filter of each."""
    held_frames: tuple[HeldFrame, ...] = field(default=())
    rule_counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many frames each rule and add-on has changed."""

    def find_held(self, number: int) -> HeldFrame | None:
        """Return the held frame with this number; None if it is no longer held."""
        return next((hold for hold in self.held_frames if hold.id == number), None)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is paused, nor will be."""
        return not (self.is_paused or self.breakpoints or self.held_frames)


@dataclass
class Draft:
    """What the user has written about one paused frame."""

    begin: str
    """The text of the frame before the user changed it."""
    texts: dict[DraftKind, str]
    """The text of each kind that was begun; that of the frame is always there."""
    kind: DraftKind = "frame"
    problem: str = ""
    """Why the frame cannot be edited here, if it cannot."""


@dataclass
class InjectedFrame:
    """An injected frame, and its response."""

    side: Side
    """The side that appears as the sender."""
    text: str
    id: str | None = None
    """Its id, once it is sent."""
    response: bytes | None = None
    error: str = ""
    """Why it was not sent."""
    is_over: bool = False
    """Whether no response can arrive any more."""


class InterceptClient:
    """Sends commands to one proxy, one after the other.

    Until the first one it only watches, and what others have paused does not depend on it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.has_decided = False
        """Whether it has sent a command, so that the proxy counts on it."""
        self.drafts: dict[int, Draft] = {}
        """What the user has written, by the id of the paused frame."""
        self._commands: SimpleQueue[tuple[str, dict[str, Any]] | None] = SimpleQueue()
        self._is_closed = False
        self.news = Listeners()
        """Called by the threads."""
        self.state = InterceptState()
        self.refusals: deque[str] = deque(maxlen=20)
        """Why commands were refused, for the screen to show."""
        self.sent: deque[InjectedFrame] = deque(maxlen=MAX_INJECTED)
        """Injected frames, oldest first."""

    def start(self) -> None:
        threading.Thread(target=self._run, name="intercept", daemon=True).start()

    def send_command(self, command: str, /, **members: Any) -> None:
        """Send a command; its effect shows in `state`, or its refusal in `refusals`."""
        self.has_decided = True
        self._commands.put((command, members))

    def inject(self, side: Side, raw: bytes, *, is_forced: bool, keeps_id: bool) -> InjectedFrame:
        """Send a frame as if `side` had sent it; the returned object gets the response."""
        sent = InjectedFrame(side, raw.decode(errors="replace"))
        self.sent.append(sent)
        members = {"from": side, **encode_bytes(raw), "force": is_forced, "keep_id": keeps_id}
        threading.Thread(
            target=self._send, args=(sent, members), name="intercept command", daemon=True
        ).start()
        return sent

    def read_frame(self, hold: HeldFrame) -> bytes:
        """Return all of a held frame; waits for the socket, so do not call it in the event loop.

        Raises:
            AttachError: the frame is no longer held, or the proxy is gone.
        """
        if hold.is_whole:
            return hold.raw
        try:
            with ProxyClient(self._path) as attachment:
                attachment.call("hello", passing=True)
                return _bytes(attachment.call("read", id=hold.id))
        except OSError as problem:
            raise AttachError(f"the proxy is gone: {problem}") from None

    def open_draft(self, hold: HeldFrame) -> Draft:
        """Return what was written about a frame; the first time, its own text.

        It waits for the socket, so do not call it in the event loop.
        """
        if hold.id in self.drafts:
            return self.drafts[hold.id]
        raw, text, problem = hold.raw, "", ""
        try:
            if hold.size > MAX_EDITED_BYTES:
                problem = f"it has {hold.size} bytes"
            else:
                raw = self.read_frame(hold)
                text = pretty(raw)
        except (AttachError, NotEditableError) as error:
            problem = str(error)
        if problem:
            text = escape_controls(raw.decode(errors="backslashreplace"))
        # What was written about frames that have left goes.
        kept = {id_: draft for id_, draft in self.drafts.items() if self.state.find_held(id_)}
        self.drafts = {hold.id: Draft(text, {"frame": text}, problem=problem), **kept}
        return self.drafts[hold.id]

    def close(self) -> None:
        """Disconnect; the proxy releases the frames that it paused for this user."""
        self._commands.put(None)

    def _run(self) -> None:
        while not self._is_closed:
            try:
                with ProxyClient(self._path) as attachment:
                    attachment.call("hello", passing=not self.has_decided)
                    self._take(_read(attachment.call("state")))
                    while self._attend(attachment):
                        self._take(_read(attachment.call("state")))
            except (OSError, AttachError):
                # Either the proxy has ended, and so all holds; or it is blocked by a peer that does
                # not read, and will reply again.
                self._take(InterceptState("gone"))
                self._wait_for_it()

    def _take(self, state: InterceptState) -> None:
        if state != self.state:
            self.state = state
            self.news()

    def _refuse(self, why: str) -> None:
        self.refusals.append(why)
        self.news()

    def _wait_for_it(self) -> None:
        try:
            command = self._commands.get(timeout=RETRY_INTERVAL_S)
        except Empty:
            return
        if command is None:
            self._is_closed = True
        else:
            self._refuse("the proxy does not respond")

    def _attend(self, attachment: ProxyClient) -> bool:
        """Run the next command, if one comes soon; return whether to continue."""
        try:
            interval = IDLE_INTERVAL_S if self.state.is_idle else POLL_INTERVAL_S
            command = self._commands.get(timeout=interval)
        except Empty:
            return True
        if command is None:
            self._is_closed = True
            return False
        name, members = command
        try:
            attachment.call(name, **members, passing=False)
        except ProxyRefusedError as problem:
            self._refuse(str(problem))
        return True

    def _send(self, sent: InjectedFrame, members: dict[str, Any]) -> None:
        # On a separate connection, so that other commands do not wait for this response.
        try:
            with ProxyClient(self._path) as attachment:
                attachment.call("hello", passing=True)
                reply = attachment.call("inject", wait=RESPONSE_TIMEOUT_S, **members)
        except (OSError, AttachError) as problem:
            sent.error = str(problem)
        else:
            sent.id = reply["id"]
            sent.response = _bytes(reply["answer"]) if "answer" in reply else None
        sent.is_over = True
        self.news()


class OpenProxies:
    """A client for each proxy that a screen shows, or that may pause messages for the user."""

    def __init__(self) -> None:
        self._clients: dict[RunningProxy, InterceptClient] = {}
        self.news = Listeners()
        """Called by the threads of the clients."""

    def open(self, proxy: RunningProxy) -> InterceptClient:
        """Return the client of a proxy, the same as before if it is still connected."""
        if proxy not in self._clients:
            client = self._clients[proxy] = InterceptClient(proxy.path)
            client.news.add(self.news)
            client.start()
        return self._clients[proxy]

    def leave(self, proxy: RunningProxy) -> None:
        """Disconnect from a proxy that is shown no longer, unless breakpoints depend on it."""
        client = self._clients[proxy]
        if client.state.presence == "gone" or not client.has_decided:
            del self._clients[proxy]
            client.close()
            self.news()

    def has(self, proxy: RunningProxy) -> bool:
        return proxy in self._clients

    def held(self) -> list[tuple[RunningProxy, HeldFrame]]:
        """Return all paused frames, those first that are released first."""
        found = [
            (proxy, hold)
            for proxy, client in self._clients.items()
            for hold in client.state.held_frames
        ]
        return sorted(found, key=lambda each: each[1].seconds_left)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


def _bytes(data: Mapping[str, str]) -> bytes:
    return base64.b64decode(data["b64"]) if "b64" in data else data["text"].encode()


def _read(state: Any) -> InterceptState:
    data = cast("dict[str, Any]", state)
    holds = tuple(
        HeldFrame(
            hold["id"],
            hold["n"],
            hold["from"],
            float(hold["left"]),
            hold["waiting"],
            _bytes(hold),
            hold["size"],
        )
        for hold in data["holds"]
    )
    points = tuple((point["id"], point["filter"]) for point in data["breakpoints"])
    limit = float(data.get("limit", 60.0))
    return InterceptState("there", data["paused"], limit, points, holds, data["struck"])
