"""Next edit suggestions: requests and responses.

The schemas of 2026-11 no longer have them; peers with older schemas still do.

Source: ACP, `nes/*` (unstable, before 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, is_one_of, quoted
from acp_inspector.lint.registry import check, track
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json

REQUESTS: Final = ("nes/start", "nes/suggest", "nes/close")
VERDICTS: Final = ("nes/accept", "nes/reject")
DOCUMENTS: Final = tuple(
    f"document/did{what}" for what in ("Open", "Change", "Close", "Save", "Focus")
)
WITH_SESSION: Final = ("nes/suggest", "nes/close", *VERDICTS, *DOCUMENTS)
SUGGESTIONS: Final = 10_000


@dataclass(slots=True)
class NesSession:
    """A session for suggestions."""

    begun: Point
    closed: Point | None = None
    suggested: dict[str, Point] = field(default_factory=dict[str, Point])
    """Suggestions that were neither accepted nor rejected."""


class NesSessions(dict[str, NesSession]):
    """Every session for suggestions."""


def nes_session(context: Context) -> NesSession | None:
    """Return the session for suggestions that a message is about."""
    return context.state.of(NesSessions).get(context.session_id or "")


def _id(context: Context) -> str:
    return "suggestionId" if context.version == 2 else "id"


@track(on.result("nes/start"))
def _keep_session(context: Context) -> None:
    id_ = context.result_object.get("sessionId")
    if isinstance(id_, str):
        context.state.of(NesSessions)[id_] = NesSession(context.point)


@track(on.result("nes/close"))
def _close_session(context: Context) -> None:
    if (session := nes_session(context)) is not None:
        session.closed = context.point


@track(on.result("nes/suggest"))
def _keep_suggestions(context: Context) -> None:
    session = nes_session(context)
    for each in map(as_object, as_list(context.result_object.get("suggestions"))):
        id_ = each.get(_id(context))
        if session is not None and isinstance(id_, str) and len(session.suggested) < SUGGESTIONS:
            session.suggested[id_] = context.point


@track(on.notification(*VERDICTS))
def _forget_suggestion(context: Context) -> None:
    session, id_ = nes_session(context), context.params.get(_id(context))
    if session is not None and isinstance(id_, str):
        session.suggested.pop(id_, None)


@check("ACP-L389", on.call(*REQUESTS, *VERDICTS))
def suggestions_are_claimed(context: Context) -> CheckResult:
    if context.state.claims("agent", "nes"):
        return OK
    return context.problem("the agent did not claim nes", context.state.initialize, path="method")


@check("ACP-L391", on.request("nes/suggest"))
def context_is_requested(context: Context) -> CheckResult:
    offered = as_object(context.params.get("context"))
    wanted = as_object(context.state.claim("agent", "nes.context"))
    for name, value in offered.items():
        if name == "_meta" or value is None:
            continue
        if not isinstance(wanted.get(name), dict):
            return context.problem(
                f"the agent did not ask for {name}", context.state.initialize, at=f"context.{name}"
            )
        most = as_object(wanted[name]).get("maxCount")
        if isinstance(most, int) and len(as_list(value)) > most:
            return context.problem(
                f"{len(as_list(value))} of {name} are sent, {most} are wanted",
                context.state.initialize,
                at=f"context.{name}",
            )
    return OK if offered else None


@check("ACP-L392", on.result("nes/suggest"))
def kinds_are_claimed(context: Context) -> CheckResult:
    for n, each in enumerate(map(as_object, as_list(context.result_object.get("suggestions")))):
        kind = each.get("kind")
        if not isinstance(kind, str) or kind == "edit":
            continue
        if not isinstance(context.state.claim("client", f"nes.{kind}"), dict):
            return context.problem(
                f"the client did not claim {quoted(kind)}",
                context.state.initialize,
                at=f"suggestions.{n}.kind",
            )
    return OK


@check("ACP-L393", on.call(*WITH_SESSION))
def sessions_are_those_for_suggestions(context: Context) -> CheckResult:
    session = nes_session(context)
    if session is None:
        what = "that of a chat session" if context.session is not None else "not known"
        return context.problem(
            f"the session {quoted(context.session_id)} is {what}", at="sessionId"
        )
    if session.closed is not None:
        return context.problem("the session was closed before", session.closed, at="sessionId")
    return OK


@check("ACP-L396", on.notification(*VERDICTS))
def verdicts_are_about_suggestions(context: Context) -> CheckResult:
    session, id_ = nes_session(context), context.params.get(_id(context))
    if session is None:
        return None
    if isinstance(id_, str) and id_ in session.suggested:
        return OK
    return context.problem(f"no suggestion {quoted(id_)} is pending", at=f"{_id(context)}")


@check("ACP-L397", on.result("initialize"))
def encodings_are_offered(context: Context) -> CheckResult:
    names = ("agentCapabilities", "capabilities")
    chosen = next(
        (
            as_object(context.result_object.get(name)).get("positionEncoding")
            for name in names
            if "positionEncoding" in as_object(context.result_object.get(name))
        ),
        None,
    )
    if chosen is None:
        return None
    offered = as_list(context.state.claim("client", "positionEncodings"))
    if chosen in offered or (not offered and chosen == "utf-16"):
        return OK
    return context.problem(
        f"the client did not offer {quoted(chosen)}", context.request, at="positionEncoding"
    )


@check(
    "ACP-L398",
    on.request("nes/suggest"),
    on.result("nes/suggest"),
    on.notification("document/didChange", "document/didFocus"),
)
def positions_make_sense(context: Context) -> CheckResult:
    place = "result" if context.kind == "result" else "params"
    is_any = False
    for path, fault in _positions(place, context.value.get(place)):
        is_any = True
        if fault is not None:
            return context.problem(fault, path=path)
    return OK if is_any else None


def _positions(place: str, value: Json) -> Iterator[tuple[str, str | None]]:
    """Yield each position and range, with its error."""
    todo: list[tuple[str, Json]] = [(place, value)]
    while todo:
        path, each = todo.pop()
        held = as_object(each)
        if "line" in held and "character" in held:
            numbers = (held["line"], held["character"])
            is_bad = any(type(number) is not int or number < 0 for number in numbers)
            yield path, f"the position is {quoted(each)}" if is_bad else None
        elif "start" in held and "end" in held:
            start, end = (_order(held[name]) for name in ("start", "end"))
            is_bad = start is not None and end is not None and start > end
            yield path, "the range ends before it begins" if is_bad else None
        todo += [(f"{path}.{name}", inner) for name, inner in held.items() if name != "text"]
        todo += [(f"{path}.{n}", inner) for n, inner in enumerate(as_list(each))]


def _order(position: Json) -> tuple[int, int] | None:
    line, character = (as_object(position).get(name) for name in ("line", "character"))
    is_sound = type(line) is int and type(character) is int
    return (line, character) if is_sound else None  # pyright: ignore[reportReturnType] - both ints


OPENED: Final = 10_000


@dataclass(slots=True)
class _Document:
    opened: Point
    version: int | None = None
    closed: Point | None = None


class _Documents(dict[tuple[str, str], _Document]):
    """Documents by session and URI."""


def _key(context: Context) -> tuple[str, str] | None:
    uri = context.params.get("uri")
    if context.session_id is None or not isinstance(uri, str):
        return None
    return context.session_id, uri


def _known(context: Context) -> _Document | None:
    key = _key(context)
    return None if key is None else context.state.of(_Documents).get(key)


@track(on.notification(*DOCUMENTS))
def _keep_document(context: Context) -> None:
    key, documents = _key(context), context.state.of(_Documents)
    if key is None:
        return
    if context.method == "document/didOpen" and len(documents) < OPENED:
        documents[key] = _Document(context.point)
    document = documents.get(key)
    if document is None:
        return
    version = context.params.get("version")
    if type(version) is int:
        document.version = version
    if context.method == "document/didClose":
        document.closed = context.point


@check("ACP-L390", on.notification(*DOCUMENTS))
def events_are_requested(context: Context) -> CheckResult:
    name = (context.method or "").partition("/")[2]
    if isinstance(context.state.claim("agent", f"nes.events.document.{name}"), dict):
        return OK
    return context.problem(
        f"the agent did not ask for {name}", context.state.initialize, path="method"
    )


@check("ACP-L394", on.notification("document/didChange"))
def changes_are_of_the_right_kind(context: Context) -> CheckResult:
    kind = context.state.claim("agent", "nes.events.document.didChange.syncKind")
    if not is_one_of(kind, {"full", "incremental"}):
        return None
    for n, change in enumerate(map(as_object, as_list(context.params.get("contentChanges")))):
        has_range = change.get("range") is not None
        if has_range != (kind == "incremental"):
            what = "has a range" if has_range else "has no range"
            return context.problem(
                f"the change {what}; the agent asked for {kind}",
                context.state.initialize,
                at=f"contentChanges.{n}.range",
            )
    return OK


@check("ACP-L395", on.notification(*DOCUMENTS))
def documents_live_in_order(context: Context) -> CheckResult:
    if _key(context) is None or context.method == "document/didOpen":
        return None if _key(context) is None else OK
    document = _known(context)
    if document is None:
        return context.problem(f"{quoted(context.params.get('uri'))} was not opened", at="uri")
    if document.closed is not None:
        return context.problem("the document was closed", document.closed, at="uri")
    version = context.params.get("version")
    if context.method != "document/didChange" or type(version) is not int:
        return OK
    if document.version is not None and version <= document.version:
        return context.problem(
            f"the version goes from {document.version} to {version}", document.opened, at="version"
        )
    return OK
