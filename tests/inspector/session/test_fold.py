"""The one fold: when turns begin and end, and what each message means for its session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.lint.engine import Linter
from acp_inspector.recording.format import Header
from acp_inspector.recording.reader import read_recording
from acp_inspector.session.events import (
    UPDATES,
    NotificationSent,
    SessionClosed,
    SessionEvent,
    SessionOpened,
    TurnBegan,
    TurnEnded,
    Updated,
)
from acp_inspector.session.fold import Sessions
from acp_inspector.session.turn import SessionTurn
from acp_protocol.errors import RequestFailedError
from acp_protocol.schema.words import UPDATE_KINDS
from tests.inspector.lint.talk import Case, cases
from tests.inspector.session.traffic import talks
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

ROOT = Path(__file__).parents[3]
RECORDINGS = sorted(ROOT.glob("recordings/**/*.acp.ndjson"))


def greeted(version: int) -> list[Said]:
    """Return the frames 1 and 2, which agree on a version; 0: an unknown one."""
    if not version:
        return [ask("client", 1, "authenticate"), answer("agent", 1, {})]
    return [
        ask("client", 1, "initialize", protocolVersion=version),
        answer("agent", 1, {"protocolVersion": version}),
    ]


def taken(id_: int) -> Said:
    return answer("agent", id_, {"messageId": f"m{id_}"})


def ended(id_: int) -> Said:
    return answer("agent", id_, {"stopReason": "end_turn"})


def failed(id_: int) -> Said:
    return "agent", {"id": id_, "error": {"code": -32000, "message": "no"}}


def closed(id_: int) -> list[Said]:
    return [ask("client", id_, "session/close", sessionId="s1"), answer("agent", id_, {})]


def state(name: str, **more: Any) -> Said:
    return update("state_update", state=name, **more)


FAILED = str(RequestFailedError(-32000, "no"))
RUNNING, IDLE = state("running"), state("idle")
DONE = state("idle", stopReason="end_turn")

Turn = tuple[int, int | None, str | None]
"""The frames that begin and end a turn, and its stop reason or error."""

TURNS: dict[str, tuple[int, Sequence[Said], Sequence[Turn]]] = {
    # The turns of version 1.
    "a stop reason ends a turn": (1, [prompt(3, "a"), ended(3)], [(3, 4, "end_turn")]),
    # Steps and scripts let this turn go on for ever.
    "a result without a stop reason ends a turn of version 1": (
        1,
        [prompt(3, "a"), answer("agent", 3, {})],
        [(3, 4, None)],
    ),
    "an error response ends a turn": (1, [prompt(3, "a"), failed(3)], [(3, 4, FAILED)]),
    # Steps ended the work of the session with the first response.
    "each prompt of version 1 is a turn of its own": (
        1,
        [prompt(3, "a"), prompt(4, "b"), ended(3), ended(4)],
        [(3, 5, "end_turn"), (4, 6, "end_turn")],
    ),
    # Conversations had a second turn, and steps and scripts ended the prompt's.
    "a state is no sign of a turn in version 1": (
        1,
        [prompt(3, "a"), RUNNING, IDLE, ended(3), RUNNING],
        [(3, 6, "end_turn")],
    ),
    # The turns of version 2.
    "the state idle ends a turn of version 2": (
        2,
        [prompt(3, "a"), taken(3), RUNNING, chunk("x"), DONE],
        [(3, 7, "end_turn")],
    ),
    "a prompt joins the turn that runs": (
        2,
        [prompt(3, "a"), taken(3), RUNNING, prompt(4, "b"), taken(4), DONE],
        [(3, 8, "end_turn")],
    ),
    # Steps and scripts ended the turn that had just begun.
    "an idle from before the prompt ends nothing": (
        2,
        [prompt(3, "a"), IDLE, taken(3), RUNNING, DONE],
        [(3, 7, "end_turn")],
    ),
    # In a conversation this turn never ended.
    "a turn may be over before its prompt gets a response": (
        2,
        [prompt(3, "a"), chunk("x"), IDLE, taken(3)],
        [(3, 5, None)],
    ),
    "a turn without output may be over before its prompt gets a response": (
        2,
        [prompt(3, "a"), DONE, taken(3)],
        [(3, 4, "end_turn")],
    ),
    # Steps and scripts ended the turn of the others too.
    "a rejected prompt leaves the turn of the others": (
        2,
        [prompt(3, "a"), taken(3), prompt(4, "b"), failed(4), DONE],
        [(3, 7, "end_turn")],
    ),
    # A conversation ended it, because the first prompt had begun it.
    "a rejected first prompt leaves the turn of the next": (
        2,
        [prompt(3, "a"), prompt(4, "b"), failed(3), taken(4), DONE],
        [(3, 7, "end_turn")],
    ),
    "the last rejected prompt ends a turn that does not run": (
        2,
        [prompt(3, "a"), prompt(4, "b"), failed(3), failed(4)],
        [(3, 6, FAILED)],
    ),
    # Steps and scripts did not see it.
    "an agent of version 2 begins a turn by itself": (
        2,
        [RUNNING, chunk("x"), IDLE],
        [(3, 5, None)],
    ),
    "a prompt that crosses the end of a turn begins none before the agent runs": (
        2,
        [prompt(3, "a"), taken(3), RUNNING, prompt(4, "b"), DONE, taken(4), RUNNING, DONE],
        [(3, 7, "end_turn"), (9, 10, "end_turn")],
    ),
    "an agent of version 2 may end a turn as version 1 does": (
        2,
        [prompt(3, "a"), RUNNING, ended(3), IDLE],
        [(3, 5, "end_turn")],
    ),
    # Turns of a recording that begins in the middle of a connection.
    "a message id says that the prompt was taken": (
        0,
        [prompt(3, "a"), taken(3), RUNNING, DONE],
        [(3, 6, "end_turn")],
    ),
    "a stop reason ends a turn of an unknown version": (
        0,
        [prompt(3, "a"), ended(3)],
        [(3, 4, "end_turn")],
    ),
    # What ends turns in both versions. No fold ended turns with their session.
    "closing a session ends its turn": (
        2,
        [prompt(3, "a"), taken(3), RUNNING, *closed(4), IDLE],
        [(3, 7, "the session was closed")],
    ),
    "a prompt of a closed session still gets its response": (
        1,
        [prompt(3, "a"), *closed(4), answer("agent", 3, {"stopReason": "cancelled"})],
        [(3, 6, "cancelled")],
    ),
    "a turn without an end goes on": (1, [prompt(3, "a"), chunk("x")], [(3, None, None)]),
    # What is no turn.
    "an agent does not prompt": (
        1,
        [ask("agent", 3, "session/prompt", sessionId="s1", prompt=[])],
        [],
    ),
    "a client does not run": (2, [("client", RUNNING[1])], []),
}


def events_of(entries: Iterable[Entry]) -> Iterator[SessionEvent]:
    sessions = Sessions()
    for entry in entries:
        if isinstance(entry, JournalEvent) and entry.begins_connection:
            sessions.restart(entry.seq, entry.time)
        elif isinstance(entry, Frame):
            yield from sessions.feed(entry)


def turns_of(entries: Iterable[Entry]) -> list[SessionTurn]:
    events = events_of(entries)
    return [each.turn for each in events if isinstance(each, TurnBegan) and each.turn is not None]


@pytest.mark.parametrize("name", TURNS)
def test_turns(name: str) -> None:
    version, said, expected = TURNS[name]
    found = turns_of(frames(*greeted(version), *said))
    assert [(turn.began, turn.ended, turn.stop_reason or turn.error) for turn in found] == expected


def test_a_new_process_ends_all_turns() -> None:
    first = frames(*greeted(2), prompt(3, "a"), taken(3), prompt(4, "b", session="s2"))
    sessions = Sessions()
    began = [
        event.turn for frame in first for event in sessions.feed(frame)
        if isinstance(event, TurnBegan) and event.turn is not None
    ]  # fmt: skip
    sessions.restart(6, 0.6)
    assert [(turn.session_id, turn.ended) for turn in began] == [("s1", 6), ("s2", 6)]
    assert (sessions.version, sessions.session("s1").turns) == (1, {})


def test_a_session_is_open_from_the_response_to_its_end() -> None:
    sessions = Sessions()
    said = [
        ask("client", 1, "session/new", cwd="/w"),
        answer("agent", 1, {"sessionId": "s1"}),
        ask("client", 2, "session/load", sessionId="s1", cwd="/w"),
        # Some agents of version 1 have nothing to say here.
        answer("agent", 2, None),
        *closed(3),
    ]
    found: list[tuple[bool, list[str]]] = []
    for frame in frames(*said):
        events = sessions.feed(frame)
        meant = [type(each) for each in events if isinstance(each, SessionOpened | SessionClosed)]
        assert {each.session for each in events if type(each) in meant} <= {"s1"}
        found.append((sessions.session("s1").is_open, [each.__name__ for each in meant]))
    assert found == [
        (False, []),
        (True, ["SessionOpened"]),
        (False, []),
        (True, ["SessionOpened"]),
        (True, []),
        (False, ["SessionClosed"]),
    ]


def test_every_event_of_a_turn_names_it() -> None:
    said = [*greeted(2), prompt(3, "a"), taken(3), RUNNING, chunk("x"), DONE, chunk("late")]
    found = [(type(each).__name__, each.turn is not None) for each in events_of(frames(*said))]
    assert found[2:] == [
        ("RequestSent", True),
        ("TurnBegan", True),
        ("ResponseReceived", True),
        ("StateChanged", True),
        ("TextAdded", True),
        ("StateChanged", True),
        ("TurnEnded", True),
        ("TextAdded", False),
    ]


@pytest.mark.parametrize("version", [1, 2])
def test_each_kind_of_update_has_the_event_of_the_table(version: int) -> None:
    for kind in UPDATE_KINDS[version]:
        (frame,) = frames(update(kind, state="idle"))
        (event,) = Sessions().feed(frame)
        assert type(event) is UPDATES.get(kind, Updated)
        assert isinstance(event, Updated)
        assert event.kind == kind


def test_the_client_sends_no_updates() -> None:
    (frame,) = frames(("client", chunk("x")[1]))
    assert [type(each) for each in Sessions().feed(frame)] == [NotificationSent]


@given(talks())
def test_turns_that_began_have_ended_or_run(talk: list[Said]) -> None:
    sessions, began, over = Sessions(), set[int](), set[int]()
    for frame in frames(*talk):
        for event in sessions.feed(frame):
            turn = event.turn
            if isinstance(event, TurnBegan):
                assert turn is not None
                assert turn.number not in began
                began.add(turn.number)
            elif isinstance(event, TurnEnded):
                assert turn is not None
                assert turn.ended == frame.seq
                assert turn.number in began
                assert turn.number not in over
                over.add(turn.number)
    running = [turn for session in sessions.sessions.values() for turn in session.turns]
    assert {turn.number for turn in running} == began - over
    assert all(turn.ended is None for turn in running)


# What lint holds of turns, which its rules see with the frames that prove it


def is_difference(case: str, turn: SessionTurn | None, version: int | None) -> bool:
    """Return whether lint and the fold are known to differ about a session."""
    if version != 2:
        # A state in version 1 makes the session busy, so that a rule can name the update.
        # Lint takes a prompt whose POST was refused as one that the agent never got.
        names = ("-v1-a_state_is_told_in_version_1", "-v1-a_refused_prompt_is_sent_again")
        return case.endswith(names)
    if case.endswith("-a_child_speaks_before_it_is_announced"):
        # Lint believes no state of a session that was neither opened nor announced.
        return True
    if turn is None:
        # Lint takes a session for busy until a prompt gets its response, or until its state is
        # idle, whatever ends its turn otherwise. Recordings have no such turns.
        return "-v2-" in case
    # To lint a prompt that was taken is no work before the agent has reported that it runs.
    return not turn.has_run


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recordings_have_the_turns_that_lint_sees(path: Path) -> None:
    recording = read_recording(path)
    check_against_lint(path.stem, recording.entries, recording.header)


@pytest.mark.parametrize("case", cases()[::9], ids=str)
def test_talks_have_the_turns_that_lint_sees(case: Case) -> None:
    check_against_lint(str(case), case.talk().entries)


def check_against_lint(name: str, entries: Iterable[Entry], header: Header | None = None) -> None:
    dialect = None if header is None else header.dialect
    linter, sessions = Linter(unstable=True, dialect=dialect), Sessions(dialect)
    for entry in entries:
        linter.feed(entry)
        if isinstance(entry, JournalEvent) and entry.begins_connection:
            sessions.restart(entry.seq, entry.time)
        if not isinstance(entry, Frame):
            continue
        sessions.feed(entry)
        for id_, seen in linter._state.sessions.items():
            turn = sessions.session(id_).turn
            if seen.is_busy != (turn is not None):
                assert is_difference(name, turn, linter.version), (entry, turn)
