"""Filters for frames that are still on their way: breakpoints and rules.

The filter language is imported when there is an expression to compile, so a proxy that only
forwards starts without it. A filter of responses may need a field of their requests, so
requests are remembered, within bounds, as soon as an expression needs them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    ErrorResponse,
    Request,
    RequestId,
    SuccessResponse,
    id_key,
    read_message,
)

if TYPE_CHECKING:
    from acp_inspector.analysis.exchanges import Exchange
    from acp_inspector.filter.compiler import Filter
    from acp_inspector.filter.frames import EntryFields

Matcher: TypeAlias = Callable[[Frame], bool]
"""Returns whether a frame matches; called by the writers of both directions."""

MAX_PENDING: Final = 1000
"""Requests that are remembered at once; the oldest are forgotten."""
MAX_REQUEST_BYTES: Final = 1 << 16
"""Of a longer request the method is remembered, but not its params."""


def compile_live(expression: str) -> Filter:
    """Return the filter for frames that have not arrived yet.

    Raises:
        FilterError: the expression is wrong, or needs something that is only known later or
            that no frame has.

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


class LiveExchanges:
    """The requests that wait for a response, and the exchange of each side's newest frame."""

    def __init__(self) -> None:
        self._pending: OrderedDict[tuple[Side, tuple[str, RequestId]], Exchange] = OrderedDict()
        self._newest: dict[Side, tuple[int, Exchange | None]] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, frame: Frame) -> None:
        """Remember the request in a frame, or find the one that it responds to."""
        from acp_inspector.analysis.exchanges import Exchange

        exchange: Exchange | None = None
        match read_message(frame.data):
            case Request() as request:
                exchange = Exchange(frame, request)
                # What is remembered holds neither the bytes nor large params.
                params = request.params if len(request.raw) <= MAX_REQUEST_BYTES else None
                self._pending[frame.side, id_key(request.id)] = Exchange(
                    replace(frame, data=b""), replace(request, params=params, raw=b"")
                )
                if len(self._pending) > MAX_PENDING:
                    self._pending.popitem(last=False)
            case SuccessResponse(id=id_) | ErrorResponse(id=id_):
                sender: Side = "agent" if frame.side == "client" else "client"
                exchange = self._pending.pop((sender, id_key(id_)), None)
                if exchange is not None:
                    exchange.response_frame = frame
            case _:
                pass
        self._newest[frame.side] = frame.seq, exchange

    def of(self, frame: Frame) -> Exchange | None:
        """Return the exchange of a frame, if that is the newest of its side."""
        seq, exchange = self._newest.get(frame.side, (0, None))
        return exchange if seq == frame.seq else None


class LiveFilters:
    """Compiles expressions for the frames of one connection, and remembers its requests."""

    def __init__(self) -> None:
        self._pending: LiveExchanges | None = None
        self._lock = threading.Lock()
        self._fields: dict[Side, tuple[Frame, EntryFields]] = {}

    def compile(self, expression: str) -> Matcher:
        """Return a function that returns whether a frame matches `expression`.

        Raises:
            FilterError: see `compile_live`.

        Source: docs/filters.md.
        """
        compiled = compile_live(expression)
        if compiled.needs_exchanges and self._pending is None:
            self._pending = LiveExchanges()
        return lambda frame: compiled.matches_or_raise(self._fields_of(frame))

    def add(self, frame: Frame) -> None:
        """Remember a frame before any filter looks at it."""
        if self._pending is not None:
            with self._lock:
                self._pending.add(frame)

    def _fields_of(self, frame: Frame) -> EntryFields:
        """Return the fields of a frame, which is parsed once for all filters."""
        known = self._fields.get(frame.side)
        if known is None or known[0] is not frame:
            from acp_inspector.filter.frames import EntryFields

            # It uses only the exchange of this frame.
            exchanges: Any = self._pending
            known = frame, EntryFields(frame, exchanges)
            self._fields[frame.side] = known
        return known[1]
