"""What a person does to the traffic of a running proxy, in a thread beside the screen.

The screen asks for deeds and looks at the state; it never waits for a socket.
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

from acp_inspector.attach.attachment import AttachError, Attachment, RefusedError
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Message

LOOK: Final = 0.25
"""Seconds between two looks at what is held."""
AGAIN: Final = 1.0
"""Seconds after which a proxy that did not answer is asked again."""
ANSWER_LIMIT: Final = 60.0
"""Seconds for which the answer to a frame of ours is waited for."""
SENT: Final = 50
"""Frames of ours that are remembered."""

Presence: TypeAlias = Literal["connecting", "there", "gone"]


@dataclass(frozen=True)
class HeldFrame:
    """A frame that waits for a decision, as the proxy tells of it."""

    id: int
    n: int
    side: Side
    left: float
    """Seconds until it leaves by itself."""
    waiting: int
    """Frames that wait behind it."""
    raw: bytes
    """Its bytes, or its beginning where it is very long."""
    size: int
    """Bytes of all of it."""

    @property
    def is_whole(self) -> bool:
        """Whether all of it is here."""
        return len(self.raw) == self.size

    @cached_property
    def message(self) -> Message:
        """What it says, as far as that is here."""
        return jsonrpc.read_message(self.raw)


@dataclass(frozen=True, slots=True)
class DeskState:
    """What is held, and why."""

    presence: Presence = "connecting"
    """Whether the proxy answers."""
    is_paused: bool = False
    limit: float = 60.0
    """Seconds after which a held frame leaves by itself."""
    breakpoints: tuple[tuple[int, str], ...] = ()
    """Number and filter of each."""
    holds: tuple[HeldFrame, ...] = field(default=())
    struck: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many frames each rule and add-on has done something to."""

    def hold(self, number: int) -> HeldFrame | None:
        """Return the hold of that number; None when it has left."""
        return next((hold for hold in self.holds if hold.id == number), None)


@dataclass
class Sent:
    """A frame of ours, and what came of it."""

    side: Side
    """Whom the receiver takes for its sender."""
    text: str
    id: str | None = None
    """The id that it got, once it is on its way."""
    answer: bytes | None = None
    problem: str = ""
    """Why it was not sent."""
    is_over: bool = False
    """Whether nothing more will come of it."""


class Desk:
    """Asks one proxy for deeds, one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wishes: SimpleQueue[tuple[str, dict[str, Any]] | None] = SimpleQueue()
        self._is_closed = False
        self.state = DeskState()
        self.refusals: deque[str] = deque(maxlen=20)
        """Why deeds were not done, for the screen to tell."""
        self.sent: deque[Sent] = deque(maxlen=SENT)
        """Frames of ours, oldest first."""

    def start(self) -> None:
        """Begin to look."""
        threading.Thread(target=self._run, name="desk", daemon=True).start()

    def do(self, deed: str, **members: Any) -> None:
        """Ask for a deed; what comes of it shows in the state, or as a refusal."""
        self._wishes.put((deed, members))

    def send(self, side: Side, raw: bytes, *, is_forced: bool, keeps_id: bool) -> Sent:
        """Send a frame as if `side` had sent it; what comes of it shows in what is returned."""
        sent = Sent(side, raw.decode(errors="replace"))
        self.sent.append(sent)
        members = {"from": side, **spelled(raw), "force": is_forced, "keep_id": keeps_id}
        threading.Thread(
            target=self._send, args=(sent, members), name="desk sends", daemon=True
        ).start()
        return sent

    def whole(self, hold: HeldFrame) -> bytes:
        """Return all of a held frame; waits for the socket, hence not for the event loop.

        Raises:
            AttachError: it is not held any more, or the proxy is gone.
        """
        if hold.is_whole:
            return hold.raw
        try:
            with Attachment(self._path) as attachment:
                attachment.ask("hello", passing=True)
                return _bytes(attachment.ask("read", id=hold.id))
        except OSError as problem:
            raise AttachError(f"the proxy is gone: {problem}") from None

    def close(self) -> None:
        """Leave; what was held for this person is released by the proxy."""
        self._wishes.put(None)

    def _run(self) -> None:
        while not self._is_closed:
            try:
                with Attachment(self._path) as attachment:
                    self.state = _read(attachment.ask("state"))
                    while self._attend(attachment):
                        self.state = _read(attachment.ask("state"))
            except (OSError, AttachError):
                # Either it has ended, and with it everything that was held; or it is busy with a
                # peer that does not read, and will answer again.
                self.state = DeskState("gone")
                self._wait_for_it()

    def _wait_for_it(self) -> None:
        try:
            wish = self._wishes.get(timeout=AGAIN)
        except Empty:
            return
        if wish is None:
            self._is_closed = True
        else:
            self.refusals.append("the proxy does not answer")

    def _attend(self, attachment: Attachment) -> bool:
        """Do what is wished for, or nothing for a moment; tell whether to go on."""
        try:
            wish = self._wishes.get(timeout=LOOK)
        except Empty:
            return True
        if wish is None:
            self._is_closed = True
            return False
        deed, members = wish
        try:
            attachment.ask(deed, **members)
        except RefusedError as problem:
            self.refusals.append(str(problem))
        return True

    def _send(self, sent: Sent, members: dict[str, Any]) -> None:
        # On a connection of its own: the desk does not wait for anybody's answer.
        try:
            with Attachment(self._path) as attachment:
                attachment.ask("hello", passing=True)
                told = attachment.ask("inject", wait=ANSWER_LIMIT, **members)
        except (OSError, AttachError) as problem:
            sent.problem = str(problem)
        else:
            sent.id = told["id"]
            sent.answer = _bytes(told["answer"]) if "answer" in told else None
        sent.is_over = True


def spelled(raw: bytes) -> dict[str, str]:
    """Return bytes as they travel in a question."""
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(raw).decode()}


def _bytes(told: Mapping[str, str]) -> bytes:
    return base64.b64decode(told["b64"]) if "b64" in told else told["text"].encode()


def _read(state: Any) -> DeskState:
    told = cast("dict[str, Any]", state)
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
        for hold in told["holds"]
    )
    points = tuple((point["id"], point["filter"]) for point in told["breakpoints"])
    limit = float(told.get("limit", 60.0))
    return DeskState("there", told["paused"], limit, points, holds, told["struck"])
