"""Who waits for whom."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.journal import Entry, JournalEvent
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.wait_graph import HANG_SECONDS, WaitGraph
from tests.inspector.session.traffic import HELLO, talks
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update


def graph(*said: Said, later: float = 0.0, events: tuple[JournalEvent, ...] = ()) -> WaitGraph:
    """Return who waits after what was said and, `later` seconds after that, still is."""
    model = SessionModel()
    entries: list[Entry] = sorted([*frames(*said), *events], key=lambda entry: entry.seq)
    model.read(entries)
    return model.waiting(at=model.at + later)


def edges(found: WaitGraph) -> list[tuple[str, list[str]]]:
    """Return each wait as who waits for whom, and the methods it depends on."""
    return [
        (f"{wait.waiter} {wait.awaited} {wait.method}", [inner.method for inner in wait.waits_for])
        for wait in found.waits
    ]


CONSENT = ask("agent", 3, "session/request_permission", sessionId="s1", toolCall={"title": "Edit"})


def test_a_prompt_waits_for_a_permission_that_waits_for_you_though_both_have_one_id() -> None:
    found = graph(prompt(3, "edit"), CONSENT, later=1.0)
    assert edges(found) == [
        ("client agent session/prompt", ["session/request_permission"]),
        ("agent user session/request_permission", []),
    ]
    (root,) = found.roots
    assert (root.subject, root.waits_for[0].subject) == ("edit", "Edit")
    assert found.at - root.since > found.at - root.waits_for[0].since >= 1.0


def test_nobody_waits_once_all_is_answered() -> None:
    done = answer("client", 3, {"outcome": {"outcome": "cancelled"}})
    assert graph(prompt(3, "x"), CONSENT, done, answer("agent", 3, {})).waits == ()


def test_a_wait_for_a_program_is_told_as_that() -> None:
    wait = ask("agent", 1, "terminal/wait_for_exit", sessionId="s1", terminalId="t")
    found = graph(prompt(1, "make"), wait, later=2 * HANG_SECONDS)
    assert edges(found)[1] == ("agent terminal terminal/wait_for_exit", [])
    assert found.hung() == []


def test_what_another_session_asks_holds_nothing_up_here() -> None:
    elsewhere = ask("agent", 1, "fs/read_text_file", sessionId="s2", path="/a")
    assert edges(graph(prompt(1, "x"), elsewhere))[0] == ("client agent session/prompt", [])


def test_a_question_for_the_sake_of_a_request_belongs_to_it_whatever_it_is() -> None:
    asked = ask("client", "a", "authenticate", methodId="x")
    sign_in = ask("agent", 1, "elicitation/create", requestId="a", message="Code?")
    assert edges(graph(asked, sign_in))[0] == ("client agent authenticate", ["elicitation/create"])


def test_a_second_prompt_waits_for_the_first() -> None:
    found = graph(prompt(1, "a"), prompt(2, "b"), CONSENT)
    assert edges(found)[1] == ("client agent session/prompt", ["session/prompt"])
    assert found.roots == [found.waits[1]]


def test_silence_makes_a_hang_and_a_sign_of_life_does_not() -> None:
    quiet = graph(prompt(1, "x"), later=HANG_SECONDS)
    assert [wait.method for wait in quiet.hung()] == ["session/prompt"]
    assert graph(prompt(1, "x"), later=HANG_SECONDS / 2).hung() == []
    speaking = graph(prompt(1, "x"), *[chunk("y")] * int(HANG_SECONDS * 10), later=1.0)
    assert speaking.hung() == []


def test_who_waits_for_you_does_not_hang() -> None:
    assert graph(prompt(3, "x"), CONSENT, later=10 * HANG_SECONDS).hung() == []


def test_nobody_answers_after_the_agent_has_left() -> None:
    left = JournalEvent(9, 1.0, "exit", {"code": 0})
    found = graph(prompt(1, "x"), events=(left,))
    assert [wait.awaited for wait in found.hung()] == ["gone"]


def test_a_question_that_is_held_waits_for_whoever_holds_it() -> None:
    held = JournalEvent(2, 0.2, "held", {"of": 1})
    assert edges(graph(prompt(1, "x"), events=(held,))) == [("client hold session/prompt", [])]
    released = JournalEvent(3, 0.3, "released", {"of": 1})
    both = graph(prompt(1, "x"), events=(held, released))
    assert edges(both) == [("client agent session/prompt", [])]


def test_a_prompt_from_within_a_tool_is_a_likely_deadlock() -> None:
    tool = ask("agent", 1, "mcp/message", serverId="m", requestId="9")
    found = graph(prompt(1, "use the tool"), tool, prompt(2, "from within"))
    (cycle,) = found.cycles
    assert sorted(wait.frame for wait in cycle) == [1, 2, 3]
    for wait, following in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
        assert following in (*wait.waits_for, *wait.likely_waits_for)
    assert len(found.roots) == 1
    assert set(found.hung()) == set(cycle)


def test_what_the_user_does_beside_a_permission_is_no_deadlock() -> None:
    found = graph(prompt(1, "x"), CONSENT, prompt(2, "and this"))
    assert found.cycles == ()


def test_work_of_version_two_is_waited_for_though_its_prompt_is_answered() -> None:
    said = (*HELLO, prompt(1, "x"), answer("agent", 1, {"messageId": "m"}))
    found = graph(*said, update("state_update", state="running"), CONSENT)
    assert edges(found) == [
        ("client agent turn", ["session/request_permission"]),
        ("agent user session/request_permission", []),
    ]
    asking = graph(*said, update("state_update", state="requires_action"))
    assert edges(asking) == [("client user turn", [])]
    rested = graph(
        *said, update("state_update", state="running"), update("state_update", state="idle")
    )
    assert rested.waits == ()


@given(talks(), st.integers(0, 27))
def test_who_waited_at_a_frame_is_who_waits_after_the_frames_until_then(
    talk: list[Said], n: int
) -> None:
    said = frames(*talk)
    everything, until = SessionModel(), SessionModel()
    everything.read(said)
    until.read(said[:n])
    then, now = everything.waiting(min(n, len(said))), until.waiting()
    assert edges(then) == edges(now)
    assert [[wait.frame for wait in cycle] for cycle in then.cycles] == [
        [wait.frame for wait in cycle] for cycle in now.cycles
    ]
    assert [wait.silence for wait in then.waits] == [wait.silence for wait in now.waits]


def test_who_has_left_waits_for_nothing() -> None:
    left = JournalEvent(9, 1.0, "exit", {"code": 0})
    assert edges(graph(prompt(3, "x"), CONSENT, events=(left,))) == [
        ("client gone session/prompt", [])
    ]
