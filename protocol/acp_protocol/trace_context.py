"""Propagates W3C Trace Context: from a request that is handled to the messages its handler sends.

The values are passed on as they came.

Source: ACP, Extensibility, "_meta": `traceparent`, `tracestate`, `baggage`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final

from acp_protocol.json_values import as_object, get_object
from acp_protocol.jsonrpc import Json

KEYS: Final = ("traceparent", "tracestate", "baggage")
"""Fields of `_meta` that belong to a trace."""

_trace: ContextVar[Mapping[str, str] | None] = ContextVar("trace", default=None)


def set_trace(params: Json) -> None:
    """Make the trace context in `params` that of the current task; none clears it."""
    meta = get_object(params, "_meta")
    if not meta and _trace.get() is None:
        return
    trace = {key: meta[key] for key in KEYS if isinstance(meta.get(key), str)}
    # Without a parent the rest means nothing.
    _trace.set(trace if "traceparent" in trace else None)


def add_trace(params: Json) -> Json:
    """Return `params` with the trace context of the current task in `_meta`.

    Fields that the caller put into `_meta` win. Params that are not an object are returned as
    they are.
    """
    trace = _trace.get()
    if trace is None or not (params is None or isinstance(params, dict)):
        return params
    fields = as_object(params)
    meta = fields.get("_meta")
    if "traceparent" in as_object(meta) or not (meta is None or isinstance(meta, dict)):
        return fields
    return {**fields, "_meta": {**trace, **as_object(meta)}}
