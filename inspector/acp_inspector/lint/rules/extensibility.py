"""Extensions: custom methods, `_meta`, and trace contexts.

Source: ACP, "Extensibility"; W3C Trace Context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, cast

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, EndContext, Problem, quoted
from acp_inspector.lint.registry import LintSubject, fix
from acp_inspector.lint.rules.methods import RETIRED, is_ours
from acp_inspector.lint.state import opposite
from acp_protocol.json_text import json_text
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.methods import is_method
from acp_protocol.schema.vocabulary import CALL_UPDATES, OPENING
from acp_protocol.trace_context import KEYS

rule = LintSubject("extensibility", page="extensibility.mdx")

_QUOTED_TRACE: Final = tuple(b'"%b"' % name.encode() for name in KEYS)
WITH_PATHS: Final = (
    *on.request(*OPENING, "session/list"),
    *on.request("session/request_permission"),
    *on.request("fs/read_text_file", "fs/write_text_file", "terminal/create"),
    *on.result("session/list"),
    *on.update(*CALL_UPDATES),
    *on.update("terminal_update", "subagent_update"),
)
"""Messages in which the schema has paths."""
PATHS: Final = frozenset({"path", "cwd", "oldPath"})
"""Fields that hold a path in any object."""
FREE: Final = frozenset({"_meta", "rawInput", "rawOutput", "content", "text", "requestedSchema"})
"""Fields with arbitrary content, which is not searched; the items of content are."""

_TRACEPARENT: Final = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_ABSOLUTE: Final = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


@rule.error(369, "must", "sender", on.call(), case="methods.known")
@fix("Begin the names of your own methods with “_”.")
def unprefixed_method(context: Context) -> CheckResult:
    """Custom methods start with `_`."""
    method = context.method or ""
    if not method or method.startswith("$/") or is_method(method):
        return None
    if method.startswith("_"):
        return OK
    if RETIRED.match(method) or is_ours(method):
        # In a namespace of the protocol it is probably a typo, which another rule reports.
        return None
    return context.problem(
        f"{quoted(method)} does not begin with “_”", path="method", topic=context.topic()
    )


@rule.error(370, "must", "responder", on.END)
@fix("Respond with a result, or with -32601.")
def custom_request_unanswered(ending: EndContext) -> CheckResult:
    """Custom requests are answered (result or -32601)."""
    state = ending.state
    own = [ask for ask in state.open() if ask.method.startswith("_")]
    answered = [ask for ask in state.responded.values() if ask.method.startswith("_")]
    if not own and not answered:
        return None
    found: list[Problem] = []
    for ask in own:
        later = [
            each
            for each in state.responded.values()
            if each.side == ask.side and each.seq > ask.seq
        ]
        if ending.is_over or later:
            severity = "error" if later or ending.blames_responder else "warning"
            found += ending.problem(f"{ask.method} was never answered", ask, severity=severity)
    return tuple(found)


@rule.error(372, "schema", "sender", on.EVERY_MESSAGE, source="extensibility.mdx")
@fix("Make _meta an object.")
def malformed_meta(context: Context) -> CheckResult:
    """`_meta` is an object or null."""
    found = list(_metas(context))
    for path, meta in found:
        if meta is not None and not isinstance(meta, dict):
            return context.problem(f"_meta is {quoted(meta)}", path=path)
    return OK if found else None


def _metas(context: Context) -> Iterator[tuple[str, Json]]:
    """Yield every outermost `_meta` of a message, with its path."""
    raw = context.frame.data
    if b"_meta" not in raw and b"\\u" not in raw:
        return
    todo: list[tuple[str, Json]] = [
        (name, context.value[name]) for name in ("params", "result") if name in context.value
    ]
    while todo:
        path, value = todo.pop()
        for name, inner in as_object(value).items():
            if name == "_meta":
                yield f"{path}._meta", inner
            elif isinstance(inner, dict | list) and name not in {"rawInput", "rawOutput"}:
                todo.append((f"{path}.{name}", cast("Json", inner)))
        if isinstance(value, list):
            todo += [(f"{path}.{n}", inner) for n, inner in enumerate(as_list(value))]


@rule.warning(374, "should", "sender", on.EVERY_MESSAGE)
@fix("Write traces as W3C Trace Context does.")
def malformed_trace(context: Context) -> CheckResult:
    """`_meta.traceparent` has W3C form (`00-` 32 hex `-` 16 hex `-` 2 hex); `tracestate` and
    `baggage` are strings.
    """
    if not _speaks_of_traces(context):
        return None
    for path, meta in _metas(context):
        for name in KEYS:
            value = as_object(meta).get(name)
            is_bad = value is not None and not isinstance(value, str)
            if name == "traceparent" and isinstance(value, str):
                is_bad = not _TRACEPARENT.fullmatch(value)
            if is_bad:
                return context.problem(f"{name} is {quoted(value)}", path=f"{path}.{name}")
    return OK


@rule.info(375, "should", "sender", on.EVERY_MESSAGE, source="rfds/meta-propagation.mdx")
@fix("Put trace keys at the root of _meta.")
def nested_trace(context: Context) -> CheckResult:
    """Trace keys are at the `_meta` root, not nested under a vendor key."""
    if not _speaks_of_traces(context):
        return None
    for path, meta in _metas(context):
        for name, inner in as_object(meta).items():
            if isinstance(inner, dict) and "traceparent" in inner:
                return context.problem(
                    f"traceparent is below {quoted(name)}", path=f"{path}.{name}"
                )
    return OK


def _speaks_of_traces(context: Context) -> bool:
    raw = context.frame.data
    may_be = b"trace" in raw or b"baggage" in raw
    return may_be and any(name in raw for name in _QUOTED_TRACE)


@rule.info(379, "should", "sender", on.call())
@fix("Send it only to a peer whose capabilities announce it in _meta.")
def unannounced_extension(context: Context) -> CheckResult:
    """Extension methods are announced in a capability's `_meta` before use."""
    method = context.method or ""
    if not method.startswith("_") or context.version is None:
        return None
    vendor = method[1:].partition("/")[0]
    announced = context.state.of(_Announced).by(context.state.capabilities[opposite(context.side)])
    if method in announced or (vendor and vendor in announced):
        return OK
    return context.problem(
        f"the {context.side} sends {method}, which the {opposite(context.side)} did not announce",
        context.state.initialize,
        path="method",
    )


@dataclass(slots=True)
class _Announced:
    """The `_meta` of both sides' capabilities, as JSON."""

    by_claims: dict[int, tuple[dict[str, Json], str]] = field(
        default_factory=dict[int, tuple[dict[str, Json], str]]
    )

    def by(self, claims: dict[str, Json]) -> str:
        """Return the `_meta` of these capabilities; they are searched once."""
        known = self.by_claims.get(id(claims))
        if known is None or known[0] is not claims:
            known = claims, json_text([meta for _, meta in _claimed_metas(claims)])
            self.by_claims[id(claims)] = known
        return known[1]


def _claimed_metas(claims: Json) -> Iterator[tuple[str, Json]]:
    for name, inner in as_object(claims).items():
        if name == "_meta":
            yield name, inner
        elif isinstance(inner, dict):
            yield from _claimed_metas(inner)


@rule.warning(381, "must", "sender", WITH_PATHS, last=True, source="overview.mdx")
@fix("Send absolute paths.")
def relative_path(context: Context) -> CheckResult:
    """Absolute paths everywhere a path is expected; relative, `~` or `file://` forms are
    reported.
    """
    raw = context.frame.data
    if not (b'"path"' in raw or b'"cwd"' in raw or b'Path"' in raw or b'Directories"' in raw):
        return None
    found: list[Problem] = []
    is_any = False
    for place, path in _paths(context):
        is_any = True
        is_new = place not in context.reported
        if is_new and isinstance(path, str) and not _ABSOLUTE.match(path):
            found += context.problem(f"the path {quoted(path)} is not absolute", path=place)
    return tuple(found) if is_any else None


def _paths(context: Context) -> Iterator[tuple[str, Json]]:
    todo: list[tuple[str, Json]] = [
        (name, context.value[name]) for name in ("params", "result") if name in context.value
    ]
    while todo:
        place, value = todo.pop()
        for name, inner in as_object(value).items():
            if name in PATHS:
                yield f"{place}.{name}", inner
            elif name == "additionalDirectories":
                listed = enumerate(as_list(inner))
                yield from ((f"{place}.{name}.{n}", each) for n, each in listed)
            elif as_list(inner) or (as_object(inner) and name not in FREE):
                todo.append((f"{place}.{name}", inner))
        todo += [(f"{place}.{n}", inner) for n, inner in enumerate(as_list(value))]
