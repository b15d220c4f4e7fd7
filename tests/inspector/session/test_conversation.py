"""The state of a session after any frame, and how it comes to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.journal import Frame
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import Compaction, ElicitationItem, ToolCallItem
from acp_inspector.views.to_json import session_to_json
from acp_protocol.jsonrpc import Json
from tests.inspector.session.traffic import HELLO, TRAFFIC, real_frames, talks
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update
from tests.inspector.test_messages import ACPEX


def folded(said: list[Frame]) -> Conversations:
    conversations = Conversations()
    for frame in said:
        conversations.apply(frame)
    return conversations


def pictures(folds: Conversations, n: int) -> dict[str, Json]:
    return {key: session_to_json(snapshot) for key, snapshot in folds.at(n).items()}


def last_state(*said: Said) -> dict[str, Json]:
    told = folded(frames(*said))
    return pictures(told, len(said))


def texts(state: dict[str, Json]) -> list[str]:
    return [item["text"] for item in state["s1"]["items"] if item["type"] == "agent"]


@given(talks())
def test_the_state_at_a_frame_is_that_of_a_fold_which_stopped_there(talk: list[Said]) -> None:
    said = frames(*talk)
    everything, until = folded(said), Conversations()
    for frame in said:
        until.apply(frame)
        assert pictures(everything, frame.seq) == pictures(until, frame.seq)


@pytest.mark.parametrize("name", TRAFFIC)
def test_real_talks_can_be_looked_at_anywhere_too(shared: Path, name: str) -> None:
    said = real_frames(shared, name)
    everything, until = folded(said), Conversations()
    for place, frame in enumerate(said):
        until.apply(frame)
        # Every frame would take its time: about twenty places in each talk, and the end.
        if place % (len(said) // 20 + 1) == 0 or frame is said[-1]:
            assert pictures(everything, frame.seq) == pictures(until, frame.seq)
    assert everything.sessions


@given(st.text(min_size=1, max_size=30), st.data())
def test_chunk_by_chunk_or_all_at_once_gives_the_same_words(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole = last_state(chunk(text))["s1"]["items"]
    assert last_state(*map(chunk, pieces))["s1"]["items"] == whole


@given(st.lists(st.text(max_size=5), max_size=6))
def test_chunks_and_a_whole_message_of_version_two_say_the_same(words: list[str]) -> None:
    blocks = [{"type": "text", "text": word} for word in words]
    whole = update("agent_message", messageId="m", content=blocks)
    pieces = [chunk(word, messageId="m") for word in words]
    if pieces:
        assert texts(last_state(*HELLO, *pieces)) == texts(last_state(*HELLO, whole))


@given(talks(), st.integers(0, 25))
def test_a_fold_that_pauses_goes_on_as_if_it_had_not(talk: list[Said], n: int) -> None:
    said = frames(*talk)
    paused = folded(said[:n])
    # Looking at a state must leave no trace in it.
    pictures(paused, n)
    for frame in said[n:]:
        paused.apply(frame)
    assert pictures(paused, len(said)) == pictures(folded(said), len(said))


def test_a_tool_call_has_a_history() -> None:
    told = folded(
        frames(
            update("tool_call", toolCallId="c", title="Look", status="pending"),
            update("tool_call_update", toolCallId="c", status="in_progress"),
            update("tool_call_update", toolCallId="c", status="completed", title="Looked"),
        )
    )
    (call,) = told.get("s1").items
    assert isinstance(call, ToolCallItem)
    history = [(n, facts.title, facts.status) for n, facts in call.history]
    assert history == [
        (1, "Look", "pending"),
        (2, "Look", "in_progress"),
        (3, "Looked", "completed"),
    ]
    (then,) = told.get("s1").at(2).items
    assert isinstance(then, ToolCallItem)
    assert then.facts.status == "in_progress"


def test_what_is_told_again_does_not_stand_twice_and_what_stood_is_not_lost() -> None:
    load = ask("client", 2, "session/load", sessionId="s1", cwd="/")
    again = [chunk("one", messageId="m"), chunk("two", messageId="n")]
    told = folded(frames(*again, load, again[0], answer("agent", 2, {}), again[1]))
    assert texts(pictures(told, 6)) == ["one", "two"]
    assert texts(pictures(told, 4)) == ["one"]
    assert texts(pictures(told, 3)) == []
    assert texts(pictures(told, 2)) == ["one", "two"]


def kinds(state: dict[str, Json]) -> list[str]:
    return [item.get("text", item["type"]) for item in state["s1"]["items"]]


LATE = "the following came after the end of the turn"
MIXED = "history came after the response to session/load: the reply begins further below"


def test_output_after_the_end_of_a_turn_is_marked_once() -> None:
    ended = [prompt(2, "go"), chunk("one"), answer("agent", 2, {"stopReason": "end_turn"})]
    offer = update("available_commands_update", availableCommands=[])
    state = last_state(*ended, offer, chunk("two"), chunk(" three"))
    assert kinds(state) == ["go", "one", "turn_end", LATE, "two three"]
    again = [prompt(3, "on"), chunk("four"), answer("agent", 3, {"stopReason": "end_turn"})]
    state = last_state(*ended, *again, chunk("five"))
    assert kinds(state)[-2:] == [LATE, "five"]


def test_output_in_the_frame_that_ends_the_turn_is_not_late() -> None:
    text = [{"type": "text", "text": "two"}]
    state = last_state(*ACPEX[:6], answer("agent", 3, {"content": text, "stopReason": "done"}))
    assert kinds(state) == ["hi", "Hellotwo", "turn_end"]


def test_a_conversation_that_is_loaded_again_is_not_late() -> None:
    ended = [prompt(2, "go"), chunk("one"), answer("agent", 2, {"stopReason": "end_turn"})]
    load = ask("client", 3, "session/load", sessionId="s1", cwd="/")
    again = [chunk("go", kind="user_message_chunk"), chunk("one")]
    state = last_state(*ended, load, *again, answer("agent", 3, {}))
    assert kinds(state) == ["go", "one"]
    state = last_state(*ended, load, answer("agent", 3, {}), *again)
    assert kinds(state) == ["go", "one"]


def test_history_in_the_middle_of_a_turn_is_marked() -> None:
    load = ask("client", 1, "session/load", sessionId="s1", cwd="/")
    loaded = [load, answer("agent", 1, {})]
    old = chunk("OLD question", kind="user_message_chunk")
    state = last_state(*loaded, prompt(2, "go"), chunk("OLD"), old, chunk("new"))
    assert kinds(state) == ["go", "OLD", MIXED, "OLD question", "new"]
    echo = [chunk(piece, kind="user_message_chunk") for piece in "go"]
    assert kinds(last_state(*loaded, prompt(2, "go"), *echo, chunk("new"))) == ["go", "new"]


def test_a_session_that_could_not_be_loaded_is_as_it_was() -> None:
    load = ask("client", 2, "session/load", sessionId="s1", cwd="/")
    refused: Said = ("agent", {"id": 2, "error": {"code": -32002, "message": "gone"}})
    state = last_state(chunk("one", messageId="m"), load, refused, chunk("!", messageId="m"))
    assert texts(state) == ["one!"]
    assert state["s1"]["errors"][0]["code"] == -32002


def test_turns_of_version_one_lie_between_a_prompt_and_its_answer() -> None:
    told = folded(
        frames(
            prompt(1, "a"),
            update("available_commands_update", availableCommands=[]),
            chunk("x"),
            answer("agent", 1, {"stopReason": "end_turn"}),
            prompt(2, "b", session="s2"),
        )
    )
    (turn,) = told.get("s1").turns
    assert (turn.number, turn.began, turn.ended, turn.stop_reason) == (1, 1, 4, "end_turn")
    assert turn.first_update == pytest.approx(0.1)
    assert turn.first_output == pytest.approx(0.2)
    (other,) = told.get("s2").turns
    assert (other.number, other.ended) == (2, None)
    (then,) = told.get("s1").at(2).turns
    assert (then.ended, then.first_output) == (None, None)


def test_turns_of_version_two_lie_between_work_and_rest() -> None:
    state = last_state(
        *HELLO,
        prompt(1, "a"),
        answer("agent", 1, {"messageId": "m"}),
        update("state_update", state="running"),
        prompt(2, "and this"),
        answer("agent", 2, {"messageId": "n"}),
        update("state_update", state="idle", stopReason="end_turn"),
        update("state_update", state="idle", stopReason="end_turn"),
        update("state_update", state="running"),
        update("state_update", state="idle", stopReason="max_tokens"),
    )
    told = [(each["began"], each["ended"], each["prompted"]) for each in state["s1"]["turns"]]
    assert told == [(3, 8, True), (10, 11, False)]


def test_a_prompt_refused_during_work_ends_no_turn() -> None:
    state = last_state(
        *HELLO,
        prompt(1, "a"),
        update("state_update", state="running"),
        prompt(2, "not now"),
        ("agent", {"id": 2, "error": {"code": -32602, "message": "busy"}}),
    )
    assert [turn["ended"] for turn in state["s1"]["turns"]] == [None]


def test_the_clients_terminal_is_known_as_far_as_the_agent_asks_about_it() -> None:
    shown = [{"type": "terminal", "terminalId": "t"}]
    said: list[Said] = [
        ask("agent", 1, "terminal/create", sessionId="s1", command="make", args=["all"]),
        answer("client", 1, {"terminalId": "t"}),
        update("tool_call", toolCallId="c", title="Make", content=shown),
        ask("agent", 2, "terminal/output", sessionId="s1", terminalId="t"),
        answer("client", 2, {"output": "one\n", "truncated": False}),
        ask("agent", 3, "terminal/output", sessionId="s1", terminalId="t"),
        answer("client", 3, {"output": "one\ntwo\n", "truncated": False}),
        ask("agent", 4, "terminal/wait_for_exit", sessionId="s1", terminalId="t"),
        answer("client", 4, {"exitCode": 2}),
        ask("agent", 5, "terminal/release", sessionId="s1", terminalId="t"),
        answer("client", 5, {}),
    ]
    told = folded(frames(*said))
    (terminal,) = pictures(told, len(said))["s1"]["terminals"]
    assert (terminal["command"], terminal["output"]) == ("make all", "one\ntwo\n")
    assert (terminal["exitCode"], terminal["isOver"], terminal["isReleased"]) == (2, True, True)
    assert pictures(told, 6)["s1"]["items"][-1]["terminals"][0]["output"] == "one\n"


def test_an_id_that_was_given_again_is_another_terminal() -> None:
    said: list[Said] = []
    shown_terminal = [{"type": "terminal", "terminalId": "t"}]
    for place, word in enumerate(("one", "two")):
        said += [
            ask("agent", 1, "terminal/create", sessionId="s1", command=word),
            answer("client", 1, {"terminalId": "t"}),
            update("tool_call", toolCallId=word, content=shown_terminal),
            ask("agent", 2, "terminal/output", sessionId="s1", terminalId="t"),
            answer("client", 2, {"output": f"{word} {place}"}),
            ask("agent", 3, "terminal/release", sessionId="s1", terminalId="t"),
            answer("client", 3, {}),
        ]
    items = last_state(*said)["s1"]["items"]
    shown = [(each["key"], each["terminals"][0]["output"]) for each in items if "terminals" in each]
    assert shown == [("one", "one 0"), ("two", "two 1")]


def test_what_is_no_block_is_kept_as_it_came() -> None:
    (item,) = last_state(update("agent_message_chunk", content="bare"))["s1"]["items"]
    assert (item["text"], item["blocks"]) == ("", ["bare"])


def test_what_the_user_is_asked_is_an_item_until_it_is_answered() -> None:
    question = ask("agent", 1, "elicitation/create", sessionId="s1", mode="form", message="Name?")
    told = folded(frames(question, answer("client", 1, {"action": "accept", "content": {}})))
    (item,) = told.get("s1").items
    assert isinstance(item, ElicitationItem)
    assert (item.text, item.outcome) == ("asks you: Name?", {"action": "accept", "content": {}})
    (then,) = told.get("s1").at(1).items
    assert isinstance(then, ElicitationItem)
    assert then.outcome is None


def test_a_question_for_the_sake_of_a_request_belongs_to_the_requests_session() -> None:
    told = folded(
        frames(prompt(7, "x"), ask("agent", 1, "elicitation/create", requestId=7, message="?"))
    )
    assert [type(item).__name__ for item in told.get("s1").items][1:] == ["ElicitationItem"]


def test_a_compaction_is_one_line_that_changes() -> None:
    told = folded(
        frames(
            update("compaction_update", compactionId="k", status="in_progress"),
            update("compaction_summary_chunk", compactionId="k", content={"type": "text"}),
            update("compaction_update", compactionId="k", status="completed"),
        )
    )
    (line,) = told.get("s1").items
    assert isinstance(line, Compaction)
    assert (line.text, len(line.summary)) == ("context compaction: completed", 1)


def test_sessions_know_where_they_come_from() -> None:
    state = last_state(
        ask("client", 1, "session/new", cwd="/a"),
        answer("agent", 1, {"sessionId": "s1"}),
        ask("client", 2, "session/fork", sessionId="s1", cwd="/a"),
        answer("agent", 2, {"sessionId": "s2"}),
        update("subagent_update", sessionId="s3", title="Reader"),
        ask("client", 3, "session/close", sessionId="s1"),
        answer("agent", 3, {}),
    )
    told: dict[str, Any] = {
        key: (each["openedBy"], each["parent"], each["isClosed"]) for key, each in state.items()
    }
    assert told == {
        "s1": ("session/new", None, True),
        "s2": ("session/fork", "s1", False),
        "s3": (None, "s1", False),
    }


def test_a_cost_that_is_not_told_again_stays_in_version_two_only() -> None:
    said = (
        update("usage_update", used=1, size=9, cost={"amount": 2, "currency": "USD"}),
        update("usage_update", used=2, size=9),
    )
    assert "cost" not in last_state(*said)["s1"]["usage"]
    second = last_state(*HELLO, *said)["s1"]["usage"]
    assert second == {"used": 2, "size": 9, "cost": {"amount": 2, "currency": "USD"}}
