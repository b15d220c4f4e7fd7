"""The trace context that a request carries, handed on to what its handler says.

Both sides and whatever stands between them can so tell which call led to which. The keys are those
of W3C Trace Context; their values are passed on as they came.

Source: ACP, Extensibility, "_meta": `traceparent`, `tracestate`, `baggage`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final, cast

from acp_protocol.jsonrpc import Json

KEYS: Final = ("traceparent", "tracestate", "baggage")
"""Members of `_meta` that belong to a trace."""

_trace: ContextVar[Mapping[str, str] | None] = ContextVar("trace", default=None)


def entered(params: Json) -> None:
    """Let what is said from here on, in this task, belong to the trace that `params` carry."""
    found: dict[str, str] | None = None
    meta = cast("dict[str, Json]", params).get("_meta") if isinstance(params, dict) else None
    if isinstance(meta, dict):
        members = cast("dict[str, Json]", meta)
        kept = {key: members[key] for key in KEYS if isinstance(members.get(key), str)}
        # Without a parent the rest means nothing.
        found = kept if "traceparent" in kept else None
    _trace.set(found)


def traced(params: Json) -> Json:
    """Return `params` with the trace context of this task; as they are when there is none.

    What the caller put into `_meta` stays; params that are no object cannot carry a trace.
    """
    trace = _trace.get()
    if trace is None:
        return params
    if not (params is None or isinstance(params, dict)):
        return params
    members = cast("dict[str, Json]", params) if params else {}
    meta: Json = members.get("_meta")
    if not (meta is None or isinstance(meta, dict)):
        return cast("Json", params)
    own = cast("dict[str, Json]", meta) if meta else {}
    return members if "traceparent" in own else {**members, "_meta": {**trace, **own}}
