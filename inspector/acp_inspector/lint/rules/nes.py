"""Next edit suggestions: what a client asks, and what comes back.

The published schemas of 2026-11 do not have them any more; peers of the ones before still do.

Source: ACP, `nes/*` (unstable, before 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, entries, members, quoted
from acp_inspector.lint.registry import asks, calls, check, learns, results, tells
from acp_inspector.lint.state import Point
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


@dataclass(slots=True)
class NesSessions:
    """Every session for suggestions."""

    of: dict[str, NesSession] = field(default_factory=dict[str, NesSession])


def nes_session(moment: Moment) -> NesSession | None:
    """Return the session for suggestions that a message is about."""
    return moment.state.of(NesSessions).of.get(moment.session_id or "")


def _id(moment: Moment) -> str:
    return "suggestionId" if moment.version == 2 else "id"


@learns(results("nes/start"))
def _keep_session(moment: Moment) -> None:
    id_ = moment.result_object.get("sessionId")
    if isinstance(id_, str):
        moment.state.of(NesSessions).of[id_] = NesSession(moment.point)


@learns(results("nes/close"))
def _close_session(moment: Moment) -> None:
    if (session := nes_session(moment)) is not None:
        session.closed = moment.point


@learns(results("nes/suggest"))
def _keep_suggestions(moment: Moment) -> None:
    session = nes_session(moment)
    for each in map(members, entries(moment.result_object.get("suggestions"))):
        id_ = each.get(_id(moment))
        if session is not None and isinstance(id_, str) and len(session.suggested) < SUGGESTIONS:
            session.suggested[id_] = moment.point


@learns(tells(*VERDICTS))
def _forget_suggestion(moment: Moment) -> None:
    session, id_ = nes_session(moment), moment.params.get(_id(moment))
    if session is not None and isinstance(id_, str):
        session.suggested.pop(id_, None)


@check("ACP-L389", calls(*REQUESTS, *VERDICTS), fix="Ask only agents that claim nes.")
def suggestions_are_claimed(moment: Moment) -> Found:
    """Tell of a client that asks an agent which claims none."""
    if moment.state.claims("agent", "nes"):
        return FINE
    return moment.problem("the agent did not claim nes", moment.state.initialize, path="method")


@check("ACP-L391", asks("nes/suggest"), fix="Send what the agent asked for, and no more of it.")
def context_is_asked_for(moment: Moment) -> Found:
    """Tell of context that the agent did not ask for, or of more than it wants."""
    context = members(moment.params.get("context"))
    wanted = members(moment.state.claim("agent", "nes.context"))
    for name, value in context.items():
        if name == "_meta" or value is None:
            continue
        if not isinstance(wanted.get(name), dict):
            return moment.problem(
                f"the agent did not ask for {name}",
                moment.state.initialize,
                path=f"params.context.{name}",
            )
        most = members(wanted[name]).get("maxCount")
        if isinstance(most, int) and len(entries(value)) > most:
            return moment.problem(
                f"{len(entries(value))} of {name} are sent, {most} are wanted",
                moment.state.initialize,
                path=f"params.context.{name}",
            )
    return FINE if context else None


@check("ACP-L392", results("nes/suggest"), fix="Suggest edits alone to who claims no more.")
def kinds_are_claimed(moment: Moment) -> Found:
    """Tell of kinds of suggestions that the client did not claim."""
    for n, each in enumerate(map(members, entries(moment.result_object.get("suggestions")))):
        kind = each.get("kind")
        if not isinstance(kind, str) or kind == "edit":
            continue
        if not isinstance(moment.state.claim("client", f"nes.{kind}"), dict):
            return moment.problem(
                f"the client did not claim {quoted(kind)}",
                moment.state.initialize,
                path=f"result.suggestions.{n}.kind",
            )
    return FINE


@check("ACP-L393", calls(*WITH_SESSION), fix="Use the id that nes/start answered.")
def sessions_are_those_for_suggestions(moment: Moment) -> Found:
    """Tell of a chat session's id, of an unknown one, and of a closed one."""
    session = nes_session(moment)
    if session is None:
        what = "that of a chat session" if moment.session is not None else "not known"
        return moment.problem(
            f"the session {quoted(moment.session_id)} is {what}", path="params.sessionId"
        )
    if session.closed is not None:
        return moment.problem(
            "the session was closed before", session.closed, path="params.sessionId"
        )
    return FINE


@check("ACP-L396", tells(*VERDICTS), fix="Accept or reject each suggestion once.")
def verdicts_are_about_suggestions(moment: Moment) -> Found:
    """Tell of a verdict about what was not suggested, or about which there was one before."""
    session, id_ = nes_session(moment), moment.params.get(_id(moment))
    if session is None:
        return None
    if isinstance(id_, str) and id_ in session.suggested:
        return FINE
    return moment.problem(
        f"no suggestion {quoted(id_)} waits for a verdict", path=f"params.{_id(moment)}"
    )


@check("ACP-L397", results("initialize"), fix="Choose one of the client's encodings.")
def encodings_are_offered(moment: Moment) -> Found:
    """Tell of an encoding of positions that the client did not offer."""
    names = ("agentCapabilities", "capabilities")
    chosen = next(
        (
            members(moment.result_object.get(name)).get("positionEncoding")
            for name in names
            if "positionEncoding" in members(moment.result_object.get(name))
        ),
        None,
    )
    if chosen is None:
        return None
    offered = entries(moment.state.claim("client", "positionEncodings"))
    if chosen in offered or (not offered and chosen == "utf-16"):
        return FINE
    return moment.problem(
        f"the client did not offer {quoted(chosen)}", moment.ask, path="result.positionEncoding"
    )


@check(
    "ACP-L398",
    asks("nes/suggest"),
    results("nes/suggest"),
    tells("document/didChange", "document/didFocus"),
    fix="Count lines and characters from 0, and let a range begin before it ends.",
)
def positions_make_sense(moment: Moment) -> Found:
    """Tell of negative positions, and of ranges that end before they begin."""
    place = "result" if moment.kind == "result" else "params"
    is_any = False
    for path, fault in _positions(place, moment.value.get(place)):
        is_any = True
        if fault is not None:
            return moment.problem(fault, path=path)
    return FINE if is_any else None


def _positions(place: str, value: Json) -> Iterator[tuple[str, str | None]]:
    """Yield each position and range with what is wrong with it."""
    todo: list[tuple[str, Json]] = [(place, value)]
    while todo:
        path, each = todo.pop()
        held = members(each)
        if "line" in held and "character" in held:
            numbers = (held["line"], held["character"])
            is_bad = any(type(number) is not int or number < 0 for number in numbers)
            yield path, f"the position is {quoted(each)}" if is_bad else None
        elif "start" in held and "end" in held:
            start, end = (_order(held[name]) for name in ("start", "end"))
            is_bad = start is not None and end is not None and start > end
            yield path, "the range ends before it begins" if is_bad else None
        todo += [(f"{path}.{name}", inner) for name, inner in held.items() if name != "text"]
        todo += [(f"{path}.{n}", inner) for n, inner in enumerate(entries(each))]


def _order(position: Json) -> tuple[int, int] | None:
    line, character = (members(position).get(name) for name in ("line", "character"))
    is_sound = type(line) is int and type(character) is int
    return (line, character) if is_sound else None  # pyright: ignore[reportReturnType] - both ints
