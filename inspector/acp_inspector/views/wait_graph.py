"""The wait graph: which side waits for which, since when and for what.

Messages do not name their dependencies. An edge is certain if the protocol implies it: a prompt
cannot end before the requests that the agent sends for it have responses. Other edges are likely; a
cycle with a likely edge is a likely deadlock.

Source: ACP, Prompt Turn; Tool Calls, "Requesting Permission"; Terminals; Elicitation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Final, Literal, TypeAlias

from acp_inspector.session.exchanges import Exchange
from acp_inspector.session.turn import SessionTurn
from acp_inspector.views.subjects import request_subject
from acp_protocol.framing import Side, opposite
from acp_protocol.json_values import get
from acp_protocol.jsonrpc import RequestId
from acp_protocol.schema.vocabulary import RESTORING, USER_METHODS

Party: TypeAlias = Literal["client", "agent", "user", "terminal", "hold", "gone"]

HANG_SECONDS: Final = 30.0
"""Seconds of silence after which a wait counts as hung."""
_WORKING_METHODS: Final = frozenset({*RESTORING, "session/prompt"})
"""Requests of the client during which the agent sends requests of its own."""


@dataclass(slots=True, eq=False)
class PendingWait:
    """A side that waits for a response, or for the end of a turn."""

    frame: int
    """The frame of the request, or the one that began the turn."""
    since: float
    """Seconds since the journal began."""
    waiter: Side
    awaited: Party
    method: str
    """`turn` for work of version 2, whose prompt has its response already."""
    id: RequestId
    session: str | None
    subject: str
    """A short description; not escaped."""
    waits_for: list[PendingWait] = field(default_factory=list["PendingWait"])
    """The waits that must end before this one."""
    likely_waits_for: list[PendingWait] = field(default_factory=list["PendingWait"])
    """The waits that probably must end before this one."""
    silence: float = 0.0
    """Seconds since the other side last sent something in the session."""

    @property
    def is_leaf(self) -> bool:
        """Whether it depends on nothing else in the graph."""
        return not self.waits_for and not self.likely_waits_for


@dataclass(frozen=True, slots=True)
class WaitGraph:
    """All pending waits after one frame."""

    n: int
    at: float
    """Seconds since the journal began."""
    waits: tuple[PendingWait, ...]
    """By their frames."""
    cycles: tuple[tuple[PendingWait, ...], ...]
    """Deadlocks: each waits for the next, and the last for the first."""

    @property
    def roots(self) -> list[PendingWait]:
        """The waits that nothing else depends on, and one of each cycle."""
        below = {wait for each in self.waits for wait in (*each.waits_for, *each.likely_waits_for)}
        roots = [wait for wait in self.waits if wait not in below]
        return roots + [cycle[0] for cycle in self.cycles if cycle[0] not in roots]

    def hung(self, limit: float = HANG_SECONDS) -> list[PendingWait]:
        """Return the waits at the end of a chain that show no progress.

        Args:
            limit: Seconds of silence. Waits for the user or at a breakpoint are not hung.
        """
        stuck = {wait for cycle in self.cycles for wait in cycle}
        return [
            wait
            for wait in self.waits
            if wait.awaited == "gone"
            or wait in stuck
            or (wait.is_leaf and wait.awaited in {"client", "agent"} and wait.silence >= limit)
        ]


@dataclass(frozen=True, slots=True)
class WaitContext:
    """The context of a wait graph besides the open requests."""

    n: int
    at: float
    turns: Sequence[SessionTurn] = ()
    """Running turns of version 2."""
    gone: frozenset[Side] = frozenset()
    """Sides that have closed the connection."""
    held: Mapping[int, float] = field(default_factory=dict[int, float])
    """Frames that a breakpoint has paused, and since when."""
    asking: frozenset[str] = frozenset()
    """Sessions whose state is `requires_action` (version 2)."""
    last_sent: Mapping[tuple[Side, str | None], float] = field(
        default_factory=dict[tuple[Side, "str | None"], float]
    )
    """The time of the last frame of each side, by session; None: in any session."""
    subject: Callable[[Exchange], str] = lambda exchange: request_subject(
        exchange.request.method, exchange.request.params
    )
    """Returns a short description of a request; not escaped."""


def wait_graph(waiting: Sequence[Exchange], known: WaitContext) -> WaitGraph:
    """Return the wait graph, given the requests that were open then, oldest first."""
    # A side that has closed the connection waits for nothing.
    waiting = [exchange for exchange in waiting if exchange.requester not in known.gone]
    waits = [_wait(exchange, known) for exchange in waiting]
    pairs = list(zip(waits, waiting, strict=True))
    turns = [_of_turn(turn, known) for turn in known.turns]
    client_waits = [(one, its) for one, its in pairs if one.waiter == "client"]
    works = [*turns, *(one for one, _ in client_waits if one.method in _WORKING_METHODS)]
    for wait, exchange in pairs:
        if wait.waiter == "agent":
            for above in _above(wait, exchange, client_waits, works):
                # Without a session it may belong to any work in progress.
                is_sure = wait.session is not None or wait.method == "elicitation/create"
                (above.waits_for if is_sure else above.likely_waits_for).append(wait)
    _queue(waits, turns)
    _guess(waits)
    everything = sorted([*turns, *waits], key=lambda wait: wait.frame)
    return WaitGraph(known.n, known.at, tuple(everything), tuple(_cycles(everything)))


def _wait(exchange: Exchange, known: WaitContext) -> PendingWait:
    request = exchange.request
    whom = opposite(exchange.requester)
    wait = PendingWait(
        frame=exchange.request_frame.seq,
        since=exchange.request_frame.time,
        waiter=exchange.requester,
        awaited=_whom(exchange, known),
        method=request.method,
        id=request.id,
        session=exchange.session,
        subject=known.subject(exchange),
    )
    wait.silence = known.at - _sign_of_life(whom, wait, known)
    return wait


def _whom(exchange: Exchange, known: WaitContext) -> Party:
    if exchange.request_frame.seq in known.held:
        return "hold"
    if opposite(exchange.requester) in known.gone:
        return "gone"
    if exchange.requester == "agent" and exchange.request.method in USER_METHODS:
        return "user"
    if exchange.request.method == "terminal/wait_for_exit":
        return "terminal"
    return opposite(exchange.requester)


def _of_turn(turn: SessionTurn, known: WaitContext) -> PendingWait:
    whom: Party = "gone" if "agent" in known.gone else "agent"
    if whom == "agent" and turn.session_id in known.asking:
        whom = "user"
    wait = PendingWait(turn.began, turn.began_at, "client", whom, "turn", None, turn.session_id, "")
    wait.silence = known.at - _sign_of_life("agent", wait, known)
    return wait


def _sign_of_life(side: Side, wait: PendingWait, known: WaitContext) -> float:
    return max(wait.since, known.last_sent.get((side, wait.session), 0.0))


def _above(
    wait: PendingWait,
    exchange: Exchange,
    client_waits: Sequence[tuple[PendingWait, Exchange]],
    works: Sequence[PendingWait],
) -> Iterator[PendingWait]:
    """Yield the work during which the agent sends a request: the oldest of each session.

    Args:
        wait: What the agent waits for.
        exchange: Its request.
        client_waits: What the client waits for.
        works: What the agent may be working on, by session, oldest first.
    """
    scope = get(exchange.request.params, "requestId")
    if wait.method == "elicitation/create" and scope is not None:
        for one, its in client_waits:
            if type(its.request.id) is type(scope) and its.request.id == scope:
                yield one
        return
    seen: set[str | None] = set()
    for one in works:
        is_meant = one.frame < wait.frame and wait.session in {None, one.session}
        if is_meant and one.session not in seen:
            seen.add(one.session)
            yield one


def _queue(waits: Sequence[PendingWait], turns: Sequence[PendingWait]) -> None:
    """Make a second prompt of a session wait for the first one."""
    working: dict[str | None, PendingWait] = {turn.session: turn for turn in turns}
    for wait in waits:
        if wait.waiter == "client" and wait.method == "session/prompt":
            before = working.setdefault(wait.session, wait)
            if before is not wait and before.frame < wait.frame:
                wait.waits_for.append(before)


def _guess(waits: Sequence[PendingWait]) -> None:
    """Add likely edges: a client that requests before it responds may need the response first."""
    backs = [wait for wait in waits if wait.waiter == "client"]
    for owed in waits:
        if owed.waiter == "agent" and owed.awaited == "client":
            for back in backs:
                is_prompt = owed.session is None and back.method == "session/prompt"
                is_its = is_prompt or back.session == owed.session is not None
                if is_its and back.frame > owed.frame:
                    owed.likely_waits_for.append(back)


def _cycles(waits: Sequence[PendingWait]) -> Iterator[tuple[PendingWait, ...]]:
    """Yield cycles that share no edge with an earlier one."""
    graph = {wait: {*wait.waits_for, *wait.likely_waits_for} for wait in waits}
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            found: list[PendingWait] = error.args[1]
            # It is listed in reverse, with the first one repeated at the end.
            cycle = found[:0:-1]
            yield tuple(cycle)
            graph[cycle[-1]].discard(cycle[0])
        else:
            return
