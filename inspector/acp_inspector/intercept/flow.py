"""What the hooks of an add-on get into their hands.

Deeds are tried on a draft: a hook that fails half-way has done nothing.
"""

from __future__ import annotations

from functools import cached_property

from acp_inspector.intercept.passage import DeedError, Inject, Passage, encode, refuse_line_endings
from acp_inspector.journal import Frame
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json


class AddonFrame:
    """A frame as a hook sees it."""

    def __init__(self, frame: Frame) -> None:
        self.n = frame.n
        """Its number in the recording."""
        self.side: Side = frame.side
        """Who sent it: `client` or `agent`."""
        self.raw = frame.raw
        """Its bytes, without the line ending."""

    def json(self) -> Json:
        """Return what it spells, the same object every time; None if it is no JSON."""
        return self._json

    @cached_property
    def _json(self) -> Json:
        try:
            return jsonrpc.parse(self.raw)
        except ValueError:
            return None


class Flow:
    """What a hook can do, to the frame at hand and beside it."""

    def __init__(self, name: str, inject: Inject, passage: Passage | None = None) -> None:
        self._name = name
        self._inject = inject
        self._passage = passage
        self._draft = passage.draft() if passage else None
        self._injected: list[tuple[Side, bytes]] | None = [] if passage else None
        self._is_over = False

    def drop(self) -> None:
        """Let the frame be lost, and tell nobody."""
        self._frame("drop").drop(self._name)

    def discard(self) -> None:
        """Let the frame not leave; who asked with it is told."""
        self._frame("discard").discard(self._name)

    def replace(self, content: object) -> None:
        """Let the frame leave as these bytes, or as this value in JSON.

        Raises:
            DeedError: the bytes are more than one line, or JSON has no spelling for the value.
        """
        raw = content if isinstance(content, bytes) else encode(content)
        self._frame("replace").edit(raw, self._name)

    def answer(self, *, result: Json = None, error: Json = None) -> None:
        """Answer the request in the other peer's place; it does not leave.

        Raises:
            DeedError: the frame is no request, or the error has no `code` and `message`.
        """
        self._frame("answer").answer(self._name, result=result, error=error)

    def delay(self, seconds: float) -> None:
        """Let the frame, and those behind it, wait."""
        self._frame("delay").delay(seconds, self._name)

    def inject(self, side: Side, raw: bytes) -> None:
        """Send a frame as if `side` had sent it, once the hook is through.

        A request gets an id of its own, and its answer is kept from the other peer.

        Raises:
            DeedError: that is no side, or more than one line.
        """
        if side not in {"client", "agent"}:
            raise DeedError(f"a frame comes from `client` or `agent`, not from {side!r}")
        refuse_line_endings(raw)
        if self._is_over:
            raise DeedError("it is too late to inject anything")
        if self._injected is None:
            self._inject(side, raw, self._name)
        else:
            self._injected.append((side, raw))

    def note(self, text: str) -> None:
        """Leave a note on the frame in the recording."""
        self._frame("note").tell("note", self._name, text=str(text))

    def settle(self) -> Passage:
        """Make the deeds come true; return what has become of the frame."""
        assert self._draft is not None
        done, self._draft = self._draft, None
        injected, self._injected = self._injected or [], None
        for side, raw in injected:
            self._inject(side, raw, self._name)
        return done

    def give_up(self) -> None:
        """Let nothing come of it any more, whatever a hook that hangs may still do."""
        self._is_over = True
        self._draft = None

    def _frame(self, deed: str) -> Passage:
        if self._draft is None:
            raise DeedError(f"there is no frame at hand to {deed}")
        return self._draft
