"""Who waits for whom, as sentences and as a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from acp_console.wording.values import cell_text, format_seconds
from acp_inspector.session.exchanges import Exchange
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.wait_graph import PendingWait, WaitGraph

MAX_DEPTH: Final = 30
"""Levels of nested waits that are shown."""
_WAITED_FOR: Final = {
    "user": "you",
    "hold": "the user who paused it",
    "gone": "no one: the other side has left",
    "terminal": "a program",
}


@dataclass(frozen=True, slots=True)
class WaitLine:
    """One line of the tree; all of it is safe to show."""

    stem: str
    """The lines that connect it to the one above."""
    text: str
    wait: PendingWait
    is_repeated: bool = False
    """Whether this wait is one of those above it."""


def wait_sentence(wait: PendingWait, graph: WaitGraph) -> str:
    """Return who waits for whom, for what and since when; safe to show."""
    awaited = _WAITED_FOR.get(wait.awaited, f"the {wait.awaited}")
    name = "the end of the turn"
    if wait.method != "turn":
        name = f"{cell_text(wait.method)} {cell_text(json.dumps(wait.id, ensure_ascii=False))}"
    about = f" “{cell_text(wait.subject)}”" if wait.subject else ""
    since = f"frame {wait.frame}, for {format_seconds(graph.at - wait.since)}"
    return f"the {wait.waiter} waits for {awaited}: {name}{about} ({since})"


def unanswered_sentence(exchange: Exchange, model: SessionModel) -> str:
    """Return who never got which response; safe to show."""
    request = exchange.request
    name = f"{cell_text(request.method)} {cell_text(json.dumps(request.id, ensure_ascii=False))}"
    subject = model.subject(exchange)
    about = f" “{cell_text(subject)}”" if subject else ""
    took = format_seconds(max(model.at - exchange.request_frame.time, 0.0))
    withdrawn = ", withdrawn" if exchange.cancel_frame is not None else ""
    since = f"frame {exchange.request_frame.seq}, {took} before the end{withdrawn}"
    return f"the {exchange.requester} got no response: {name}{about} ({since})"


def wait_tree(graph: WaitGraph) -> Iterator[WaitLine]:
    """Yield each wait, and nested below it the waits that it depends on."""
    for root in graph.roots:
        yield from _branch(root, graph, frozenset(), "")


def alarms(graph: WaitGraph) -> Iterator[tuple[str, int]]:
    """Yield deadlocks and hung requests, each with the frame that it is about."""
    for cycle in graph.cycles:
        steps = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
        is_sure = all(awaited in wait.waits_for for wait, awaited in steps)
        frames = " → ".join(str(wait.frame) for wait in (*cycle, cycle[0]))
        yield f"{'deadlock' if is_sure else 'likely deadlock'}: frames {frames}", cycle[0].frame
    for wait in graph.hung():
        why = "no one is left to respond"
        if wait.awaited != "gone":
            why = f"no sign of life for {format_seconds(wait.silence)}"
        yield f"hung: frame {wait.frame}, {cell_text(wait.method)}: {why}", wait.frame


def _branch(
    wait: PendingWait, graph: WaitGraph, above: frozenset[PendingWait], stem: str, sign: str = ""
) -> Iterator[WaitLine]:
    if wait in above or len(above) > MAX_DEPTH:
        yield WaitLine(stem + sign, f"… frame {wait.frame} again", wait, is_repeated=True)
        return
    yield WaitLine(stem + sign, wait_sentence(wait, graph), wait)
    below = [(each, "") for each in wait.waits_for] + [
        (each, "likely: ") for each in wait.likely_waits_for
    ]
    stem += "" if not sign else "    " if sign.startswith("└") else "│   "
    for place, (each, how) in enumerate(below):
        branch = "└── " if place == len(below) - 1 else "├── "
        yield from _branch(each, graph, above | {wait}, stem, branch + how)
