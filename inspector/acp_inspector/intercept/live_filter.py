"""Filters for frames in transit: breakpoints and rules.

The filter language is imported when there is an expression to compile, so a proxy that only
forwards starts without it. A filter may need the request of a response, so a bounded number of
requests is remembered once an expression needs them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from acp_inspector.journal import Frame
from acp_protocol.framing import Side

if TYPE_CHECKING:
    from acp_inspector.filter.compiler import Filter
    from acp_inspector.filter.frames import EntryFields
    from acp_inspector.messages import DecodedFrame, Decoder
    from acp_inspector.session.exchanges import Exchanges

Matcher: TypeAlias = Callable[[Frame], bool]
"""Returns whether a frame matches; called by the writers of both directions."""

MAX_PENDING: Final = 1000
"""Requests that are remembered at once; the oldest are forgotten."""
MAX_REQUEST_BYTES: Final = 1 << 16
"""Of a longer request the method is remembered, but not its params."""


def compile_live(expression: str) -> Filter:
    """Return the filter for future frames.

    Raises:
        FilterError: the expression is invalid, or needs a value that is only known later or that no
        frame has.

    Source: docs/intercept.md, "Nothing is held for ever".
    """
    from acp_inspector.filter.compiler import compile_filter
    from acp_inspector.filter.errors import FilterError
    from acp_inspector.filter.fields import FIELDS

    compiled = compile_filter(expression)
    fields = sorted(compiled.fields - {"$"}, key=expression.find)
    for name in fields:
        if name == "pending" or FIELDS[name].cost == "notes":
            text = f"`{name}` is not known while a frame is still under way"
            at = max(expression.find(name), 0)
            raise FilterError(expression, at, text, length=len(name))
    if fields and compiled.fields <= {"stderr", "event"}:
        text = f"only frames pass here, and no frame has `{fields[0]}`"
        raise FilterError(expression, 0, text, length=len(expression))
    return compiled


class LiveFilters:
    """Compiles expressions for the frames of one connection, and remembers its requests."""

    def __init__(
        self, dialect: str | None = None, earlier: Callable[[], Iterable[Frame]] = tuple
    ) -> None:
        """Begin.

        Args:
            dialect: That of the connection; None: it is recognised by its first frames.
            earlier: Returns the frames before the first filter, in order, as far as they are
                known. Called by the thread that sets the first filter.
        """
        self._dialect = dialect
        self._earlier = earlier
        self._decoder: Decoder | None = None
        self._exchanges: Exchanges | None = None
        self._lock = threading.Lock()
        self._decoded: dict[Side, DecodedFrame] = {}
        """The last frame of each side."""
        self._fields: dict[Side, tuple[Frame, EntryFields]] = {}

    @property
    def needs_every_frame(self) -> bool:
        """Whether it has to see each frame, because a dialect is spoken or may be."""
        return self._decoder is not None and not self._decoder.is_official

    def compile(
        self,
        expression: str,
        under_way: Callable[[], Mapping[Side, int]] = dict[Side, int],
    ) -> Matcher:
        """Return a function that returns whether a frame matches `expression`.

        Args:
            expression: The filter.
            under_way: Returns the numbers of the frames from which on `add` follows; a side that
                is not in it has sent none that waits.

        Raises:
            FilterError: see `compile_live`.

        Source: docs/filters.md.
        """
        compiled = compile_live(expression)
        if self._decoder is None:
            self._decoder = self._begin(under_way)
        if compiled.needs_exchanges and self._exchanges is None:
            from acp_inspector.session.exchanges import Exchanges

            self._exchanges = Exchanges(
                is_lean=True, max_open=MAX_PENDING, max_request_bytes=MAX_REQUEST_BYTES
            )
        return lambda frame: compiled.matches_or_raise(self._fields_of(frame))

    def _begin(self, under_way: Callable[[], Mapping[Side, int]]) -> Decoder:
        """Return a decoder that knows the connection so far, if a dialect is spoken there."""
        from acp_inspector.messages import Decoder

        first = Decoder(self._dialect)
        frames: list[Frame] = []
        for frame in () if first.is_official else self._earlier():
            frames.append(frame)
            if first.dialect is None:
                first.decode(frame)
            if first.is_official:
                # By its first frames; nothing has to be known of the others.
                return first
        decoder, waiting = Decoder(self._dialect, rereads=True), under_way()
        for frame in frames:
            if frame.seq < waiting.get(frame.side, frame.seq + 1):
                decoder.decode(frame)
        return decoder

    def add(self, frame: Frame) -> None:
        """Remember a frame before any filter looks at it."""
        if self._decoder is not None:
            with self._lock:
                decoded = self._decoded[frame.side] = self._decoder.decode(frame)
                if self._exchanges is not None:
                    self._exchanges.pair(decoded)

    def _fields_of(self, frame: Frame) -> EntryFields:
        """Return the fields of a frame, which is parsed once for all filters."""
        known = self._fields.get(frame.side)
        if known is None or known[0] is not frame:
            from acp_inspector.filter.frames import EntryFields

            decoded = self._decoded.get(frame.side)
            if decoded is not None and decoded.frame is not frame:
                # A rule has changed it, or it is one message of an array.
                with self._lock:
                    decoded = self._decoder.reread(frame) if self._decoder else None
            known = (frame, EntryFields(frame, self._exchanges, decoded=decoded))
            self._fields[frame.side] = known
        return known[1]
