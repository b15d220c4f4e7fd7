"""What an agent does: in the turn of a session, and besides it.

Besides it run its subagents and background work; tool calls and terminals that can be cancelled
alone belong to it.

Source: ACP version 2, Prompt Lifecycle, "Background Work"; Subagents.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from acp_console.wording.values import format_clock, format_cost, format_tokens, plural
from acp_inspector.session.conversation import Conversation, SessionSnapshot
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.fold import Sessions
from acp_inspector.session.items import (
    AgentMessage,
    ElicitationItem,
    Item,
    TerminalItem,
    Thought,
    ToolCallItem,
)
from acp_inspector.session.turn import SessionTurn
from acp_inspector.views.wait_graph import HANG_SECONDS, PendingWait, WaitContext, wait_graph
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get, get_string
from acp_protocol.jsonrpc import Json
from acp_protocol.tool_calls import is_final

MAX_DEPTH: Final = 8
"""Subagents of subagents that are followed."""
SIGNS: Final = {"running": "◐", "requires_action": "?", "idle": "●", "ended": "✓"}
TITLE: Final = 60
"""Characters of the title of what runs, at most."""
MAX_WAITS: Final = 50
"""The newest requests without a response that are looked at."""
PAUSE_S: Final = 3.0
"""Seconds without a frame after which an agent that wrote or thought counts as waited for."""
WAITS: Final = "waits for the agent"
REQUEST_VERBS: Final = {"fs/read_text_file": "reads", "fs/write_text_file": "writes"}
OPENINGS: Final = {
    "initialize": "the agent starts",
    "authenticate": "logs in",
    "session/new": "opens a session",
    "session/load": "loads the session",
    "session/resume": "resumes the session",
}
"""The requests that open a session, and what happens meanwhile."""
WORDS: Final = {"requires_action": "needs action", "": "not known"}


@dataclass(frozen=True, slots=True)
class Work:
    """Something that runs besides a turn; its texts are untrusted."""

    kind: str
    """`subagent`, `tool_call`, `terminal`, or the agent's own word."""
    session_id: str
    """The session that it belongs to."""
    key: str
    """The id of the child session, the tool call or the terminal."""
    title: str
    state: str
    can_cancel: bool = False
    depth: int = 0
    """How many subagents stand between it and the session."""

    @property
    def sign(self) -> str:
        return SIGNS.get(self.state, "○")

    @property
    def word(self) -> str:
        return WORDS.get(self.state, self.state)


@dataclass(frozen=True, slots=True)
class TurnWork:
    """How far a turn is, and what it waits for; its texts are safe to show."""

    seconds: float
    """Since its begin; of one that is over, all that it took."""
    activity: str = ""
    """What happens now, or what is waited for; empty once it is over."""
    silence: float = 0.0
    """Seconds without a frame of the agent, once it is silent for long; else 0."""
    waits_for_user: bool = False
    tools: int = 0
    """Tool calls so far."""
    used: tuple[str, ...] = ()
    """Tokens and cost, as far as the agent has sent them."""
    ending: str = ""
    """The stop reason of one that is over, or "failed"."""
    is_opening: bool = False
    """Whether no turn runs yet: the session is being opened."""

    @property
    def is_silent(self) -> bool:
        return self.silence > 0

    @property
    def parts(self) -> list[str]:
        """Return what is said of it, the most important first."""
        silence = f"no frame for {_in_words(self.silence)}" if self.is_silent else ""
        tools = plural(self.tools, "tool") if self.tools else ""
        parts = (format_clock(self.seconds), silence, self.activity, tools, *self.used)
        return [each for each in parts if each]


def turn_work(
    fold: Sessions,
    talk: Conversation,
    now: float,
    *,
    asks_user: bool = False,
    is_stopped: bool = False,
) -> TurnWork | None:
    """Return what the turn of a session does, or how the last one ended; None before any.

    Args:
        fold: the connection that the session belongs to.
        talk: the session.
        now: seconds since the journal began.
        asks_user: whether a permission, a form or a page is open, also of a subagent.
        is_stopped: whether the agent has ended, and with it the turn.
    """
    turn = talk.turn or next(reversed(talk.turns), None)
    if turn is None:
        return None
    tools = talk.calls_since(turn.began)
    if turn.duration is not None:
        used = _used(get(turn.usage, "totalTokens"), talk.info.usage)
        return TurnWork(turn.duration, tools=tools, used=used, ending=_ending(turn))
    if is_stopped:
        took, used = talk.received_at - turn.began_at, _used(None, talk.info.usage)
        return TurnWork(max(took, 0.0), tools=tools, used=used, ending="failed")
    wait = _innermost(fold, talk, turn, now)
    silence = now - max(talk.received_at, turn.began_at)
    if wait is not None and wait.awaited == "terminal":
        # It is the program that takes long.
        silence = 0.0
    asks_user = asks_user or (wait is not None and wait.awaited == "user")
    return TurnWork(
        max(now - turn.began_at, 0.0),
        "waits for you" if asks_user else _activity(talk, wait, silence, now),
        silence if silence >= HANG_SECONDS else 0.0,
        asks_user,
        tools,
        _used(None, talk.info.usage),
    )


def opening_work(fold: Sessions, now: float) -> TurnWork | None:
    """Return what is waited for until a session is open; None if no request of that kind is.

    Args:
        fold: the connection that the session belongs to.
        now: seconds since the journal began.
    """
    for each in reversed(fold.exchanges.open()):
        method = each.request.method
        if method in OPENINGS and each.requester == "client":
            took = max(now - each.request_frame.time, 0.0)
            if took >= HANG_SECONDS:
                return TurnWork(took, f"waits for {method}", took, is_opening=True)
            return TurnWork(took, OPENINGS[method], is_opening=True)
    return None


def past_work(session: SessionSnapshot, at: float) -> TurnWork | None:
    """Return how far the turn of a session was after the frame of a snapshot; None before any.

    Args:
        session: the session after the frame.
        at: the time of the frame, in seconds since the journal began.
    """
    turn = next(reversed(session.turns), None)
    if turn is None:
        return None
    first = bisect_left(session.items.frames(), turn.began)
    items = session.items[first:]
    tools = sum(isinstance(each, ToolCallItem) for each in items)
    if turn.duration is not None:
        used = _used(get(turn.usage, "totalTokens"), session.info.usage)
        return TurnWork(turn.duration, tools=tools, used=used, ending=_ending(turn))
    asks = session.info.state == "requires_action" or any(map(_is_asking, items))
    return TurnWork(
        max(at - turn.began_at, 0.0),
        "waits for you" if asks else "",
        waits_for_user=asks,
        tools=tools,
        used=_used(None, session.info.usage),
    )


def _is_asking(item: Item) -> bool:
    """Return whether an item waits for the user."""
    if isinstance(item, ElicitationItem):
        return item.outcome is None
    permission = item.permission if isinstance(item, ToolCallItem) else None
    return permission is not None and permission.outcome is None


def _ending(turn: SessionTurn) -> str:
    return "failed" if turn.error else turn.stop_reason or "end_turn"


def _innermost(
    fold: Sessions, talk: Conversation, turn: SessionTurn, now: float
) -> PendingWait | None:
    """Return the wait of a session that no other one has to end before."""
    asking = {talk.session_id} if talk.info.state == "requires_action" else set[str]()
    known = WaitContext(
        talk.cursor.n,
        now,
        turns=[turn] if talk.version >= 2 else (),
        asking=frozenset(asking),
        last_sent={("agent", talk.session_id): talk.received_at},
    )
    graph = wait_graph(fold.exchanges.open()[-MAX_WAITS:], known)
    waits = [each for each in graph.waits if each.session == talk.session_id and each.is_leaf]
    return waits[-1] if waits else None


def _activity(talk: Conversation, wait: PendingWait | None, silence: float, now: float) -> str:
    requested = wait if wait is not None and wait.waiter == "agent" else None
    open_calls = talk.open_calls()[-MAX_WAITS:]
    running = [each for each in open_calls if each.facts.status == "in_progress"]
    if len(running) > 1 and requested is None:
        return f"{len(running)} tools run"
    if len(running) == 1:
        facts = running[0].facts
        title = single_line(facts.title or facts.name or facts.kind, TITLE)
        if silence >= HANG_SECONDS:
            return f"waits for “{title}”"
        since = "" if facts.began_at is None else f" {format_clock(now - facts.began_at)}"
        return f"{title}{since}"
    if requested is not None:
        return f"{_request_words(talk, requested)} {format_clock(now - requested.since)}"
    last = talk.items[-1] if talk.items else None
    if silence < PAUSE_S and isinstance(last, Thought):
        return "thinks"
    if silence < PAUSE_S and isinstance(last, AgentMessage):
        return "writes"
    return f"waits for the agent {format_clock(silence)}" if silence < HANG_SECONDS else WAITS


def _request_words(talk: Conversation, wait: PendingWait) -> str:
    """Return what a request of the agent does, as "reads cart.py"; safe to show."""
    method, subject = wait.method, wait.subject
    if method in REQUEST_VERBS:
        name = PurePath(subject).name
        return single_line(f"{REQUEST_VERBS[method]} {name or 'a file'}", TITLE)
    if method.startswith("terminal/"):
        # A terminal is called by its id, but for its begin.
        terminal = talk.known_terminal(subject)
        command = subject if terminal is None else terminal.facts.command
        is_named = terminal is not None or method == "terminal/create"
        return single_line(f"runs {(is_named and command) or 'a program'}", TITLE)
    return single_line(f"waits for {method} {subject}".rstrip(), TITLE)


def _in_words(seconds: float) -> str:
    return f"{int(seconds)} s" if seconds < 120 else f"{format_clock(seconds)} min"


def _used(total: Json, usage: Json) -> tuple[str, ...]:
    """Return the tokens of a turn, or else of the context, and the cost of the session."""
    used = get(usage, "used")
    tokens = ""
    if isinstance(total, int | float):
        tokens = f"{format_tokens(total)} tokens"
    elif isinstance(used, int | float):
        tokens = f"{format_tokens(used)} in context"
    return tuple(filter(None, (tokens, format_cost(get(usage, "cost")))))


def background_of(talks: Conversations, session_id: str) -> list[Work]:
    """Return the subagents of a session and its background work, each before what works for it."""
    return list(_background(talks, session_id, 0))


def work_of(talks: Conversations, session_id: str) -> list[Work]:
    """Return the same, and what can be cancelled alone; it looks at each tool call."""
    found = background_of(talks, session_id)
    known = {(each.kind, each.key) for each in found}
    talk = talks.sessions.get(session_id)
    if talk is not None:
        more = [_call(talk, call, 0) for call in talk.open_calls()]
        more += [_terminal(talk, each, 0) for each in talk.terminals if not each.is_over]
        found += [each for each in more if each.can_cancel and (each.kind, each.key) not in known]
    return found


def _background(talks: Conversations, session_id: str, depth: int) -> Iterator[Work]:
    talk = talks.sessions.get(session_id)
    if talk is None or depth > MAX_DEPTH:
        return
    for item in talk.subagents:
        facts = item.facts
        title = facts.title or facts.description or item.session_id
        can_cancel = facts.can_cancel and facts.state != "idle"
        yield Work("subagent", session_id, item.session_id, title, facts.state, can_cancel, depth)
        yield from _background(talks, item.session_id, depth + 1)
    for entry in talk.info.background:
        kind = get_string(entry, "type")
        call = talk.known_call(get_string(entry, "toolCallId")) if kind == "tool_call" else None
        terminal = (
            talk.known_terminal(get_string(entry, "terminalId")) if kind == "terminal" else None
        )
        if call is not None:
            yield _call(talk, call, depth)
        elif terminal is not None:
            yield _terminal(talk, terminal, depth)
        elif kind != "subagent":
            yield Work(kind, session_id, "", kind or "unknown work", "running", depth=depth)


def _call(talk: Conversation, call: ToolCallItem, depth: int) -> Work:
    facts = call.facts
    is_over = is_final(facts.status)
    state = "running" if facts.status == "in_progress" else facts.status
    title, can_cancel = facts.title or call.key, facts.can_cancel and not is_over
    return Work("tool_call", talk.session_id, call.key, title, state, can_cancel, depth)


def _terminal(talk: Conversation, terminal: TerminalItem, depth: int) -> Work:
    facts = terminal.facts
    state, can_cancel = "ended" if facts.is_over else "running", facts.can_cancel
    title = facts.command or terminal.key
    return Work(
        "terminal",
        talk.session_id,
        terminal.key,
        title,
        state,
        can_cancel and not facts.is_over,
        depth,
    )
