"""Proxy chains: one hop, between a conductor (the client) and a proxy (the agent).

The recording of one hop does not show messages of other hops.

Source: ACP, `proxy/*` (unstable).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from acp_inspector.journal import JournalEvent, StderrChunk
from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, Problem, quoted
from acp_inspector.lint.registry import LintSubject, fix, track
from acp_inspector.lint.state import LintState, SentRequest
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json, parse
from acp_protocol.schema.explain import unknown_fields
from acp_protocol.schema.methods import find_method
from acp_protocol.schema.validate import schema_type

rule = LintSubject("proxy-chains")
extensibility = LintSubject("extensibility", page="extensibility.mdx", version=2)

SUCCESSOR: Final = "proxy/successor"
INITIALIZE: Final = "proxy/initialize"


@dataclass(slots=True)
class _Hop:
    """The start of this hop's component, and the response of its successor."""

    forwarded: SentRequest | None = None
    """The `initialize` that the proxy sent to its successor."""
    version: Json = None
    """The version in the successor's response."""


@track(on.request(SUCCESSOR))
def _keep_forwarded(context: Context) -> None:
    is_initialize = context.side == "agent" and context.params.get("method") == "initialize"
    if is_initialize and context.key is not None:
        context.state.of(_Hop).forwarded = context.state.newest


@track(on.result(SUCCESSOR))
def _keep_version(context: Context) -> None:
    hop = context.state.of(_Hop)
    if context.request is not None and context.request is hop.forwarded:
        hop.version = context.result_object.get("protocolVersion")


@rule.error(501, "must", "proxy", on.call(SUCCESSOR), source="schema; rfds/proxy-chains.mdx")
@fix("Begin each component with a successor as a proxy.")
def wrong_proxy_initialize(context: Context) -> CheckResult:
    """The conductor sends `proxy/initialize` to every component with a successor and plain
    `initialize` to the last one.
    """
    begun = context.state.initialize
    if begun is None:
        return None
    if begun.method == INITIALIZE:
        return OK
    return context.problem("the hop began with a plain initialize", begun, path="method")


@rule.error(502, "must", "proxy", on.response(INITIALIZE))
@fix("Ask the successor before answering.")
def initialize_not_forwarded(context: Context) -> CheckResult:
    """A proxy forwards `initialize` through `proxy/successor` before it answers `proxy/initialize`
    successfully.
    """
    if context.kind == "failure":
        return None
    if context.state.of(_Hop).forwarded is not None:
        return OK
    return context.problem("the successor got no initialize request", context.request)


@rule.error(503, "must", "proxy", on.result(INITIALIZE))
@fix("Answer with the successor's version.")
def proxy_changes_version(context: Context) -> CheckResult:
    """The `proxy/initialize` response keeps the successor's `protocolVersion`."""
    hop = context.state.of(_Hop)
    if hop.version is None:
        return None
    version = context.result_object.get("protocolVersion")
    if version == hop.version:
        return OK
    return context.problem(
        f"the successor answered version {quoted(hop.version)}, the proxy {quoted(version)}",
        hop.forwarded,
        at="protocolVersion",
    )


@rule.error(504, "must", "proxy", on.call(SUCCESSOR))
@fix("Wrap params as they are: an object or an array.")
def malformed_successor_params(context: Context) -> CheckResult:
    """`proxy/successor.params`, if present and non-null, is an object or array; result and error of
    the wrapped request pass unchanged.
    """
    params = context.params.get("params")
    if params is None or isinstance(params, dict | list):
        return OK
    return context.problem(f"the wrapped params are {quoted(params)}", at="params")


@rule.warning(505, "implied", "proxy", on.call(SUCCESSOR))
@fix("Leave the wrapped _meta alone.")
def proxy_copies_meta(context: Context) -> CheckResult:
    """Envelope `_meta` is not copied into the wrapped message, and the wrapped `_meta` is left
    alone.
    """
    outer = as_object(context.params.get("_meta"))
    inner = as_object(as_object(context.params.get("params")).get("_meta"))
    if not outer:
        return None
    if all(name in inner and inner[name] == value for name, value in outer.items()):
        return context.problem("the envelope's _meta was copied", at="params._meta")
    return OK


@rule.error(506, "must", "proxy", on.call(SUCCESSOR))
@fix("Cancel the envelope's request on its own hop.")
def cancel_wrapped(context: Context) -> CheckResult:
    """`$/cancel_request` is not wrapped or forwarded to another hop; it names the envelope request
    of its own hop.
    """
    if context.params.get("method") == "$/cancel_request":
        return context.problem("a $/cancel_request is wrapped", at="method")
    return OK


DEPTH: Final = 64
"""Levels of a message to search."""


@extensibility.warning(380, "should", "proxy", on.EVENTS)
@fix("Pass on what you do not know, and every _meta, as it came.")
def unknown_value_lost(entry: StderrChunk | JournalEvent, state: LintState) -> CheckResult:
    """A proxy or replayer preserves unknown values and `_meta` (compare both sides of a hop)."""
    if not isinstance(entry, JournalEvent) or entry.name != "edited":
        return None
    was, now = (_message(entry.data.get(name)) for name in ("was", "now"))
    if was is None or now is None:
        return None
    frame = entry.data.get("of")
    frames = (frame, entry.seq) if isinstance(frame, int) else (entry.seq,)
    places = [*_metas(was, ""), *_unknown_members(was, state.version or 1)]
    for place in places:
        if not _has(now, place):
            return (Problem(f"{place} was lost on the way", frames, None, place),)
    return OK if places else None


def _message(line: Json) -> Json:
    if not isinstance(line, str):
        return None
    try:
        return parse(line.encode())
    except ValueError:
        return None


def _metas(value: Json, path: str, depth: int = 0) -> Iterator[str]:
    """Yield the paths of everything below a `_meta`."""
    if depth > DEPTH:
        return
    for name, inner in as_object(value).items():
        place = f"{path}.{name}" if path else name
        if name == "_meta":
            yield from (f"{place}.{key}" for key in as_object(inner))
        else:
            yield from _metas(inner, place, depth + 1)
    for n, inner in enumerate(as_list(value)):
        yield from _metas(inner, f"{path}.{n}", depth + 1)


def _unknown_members(message: Json, version: int) -> list[str]:
    method = as_object(message).get("method")
    kind = "request" if "id" in as_object(message) else "notification"
    row = find_method(method, version, kind=kind) if isinstance(method, str) else None
    if row is None or row.params is None:
        return []
    return unknown_fields(
        schema_type(row.params, version), as_object(message).get("params"), "params"
    )


def _has(value: Json, path: str) -> bool:
    parts = path.split(".")
    for place, part in enumerate(parts):
        held, listed = as_object(value), as_list(value)
        # Keys of _meta may have dots in them.
        rest = ".".join(parts[place:])
        if rest in held:
            return True
        if part in held:
            value = held[part]
        elif part.isdigit() and int(part) < len(listed):
            value = listed[int(part)]
        else:
            return False
    return True
