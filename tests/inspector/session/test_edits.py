"""A frame that was sent with other bytes is shown as it was sent, from that frame on."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.session.edits import Edits, FrameEdit, edit_of, edit_text
from acp_inspector.session.items import (
    AgentMessage,
    ElicitationItem,
    Notice,
    PlanItem,
    TextItem,
    ToolCallItem,
    TurnEnd,
)
from acp_inspector.session.updates import UPDATES
from acp_inspector.views.annotations import Annotations
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.to_json import session_to_json
from acp_protocol.dialects.registry import DIALECTS, open_dialect
from acp_protocol.framing import Side
from tests.inspector.talks import Said, answer, ask, chunk, encoded, prompt, update

START = (
    ask("client", 0, "initialize", protocolVersion=1, clientCapabilities={}),
    answer("agent", 0, {"protocolVersion": 1, "agentCapabilities": {}}),
    ask("client", 1, "session/new", cwd="/w", mcpServers=[]),
    answer("agent", 1, {"sessionId": "s1"}),
)


def line(said: Said) -> bytes:
    assert not isinstance(said[1], bytes)
    return encoded(said[1])


def edited(of: int, was: Said, now: Said, *, seq: int, dialect: str | None = None) -> JournalEvent:
    lines = [line(was), line(now)]
    if dialect is not None:
        lines = [b"".join(open_dialect(dialect, "/w").write(each, was[0])) for each in lines]
    data: dict[str, Any] = {"of": of, "by": "person"}
    data |= {"was": lines[0].decode(), "now": lines[1].decode()}
    return JournalEvent(seq, 1.0, "edited", data)


def model(*said: Said, at: int, now: Said, dialect: str | None = None) -> SessionModel:
    """Return the session in which the message at a place was sent as another one."""
    every, peer = [*START, *said], open_dialect(dialect, "/w") if dialect else None
    found = SessionModel(open_dialect(dialect, "/w") if dialect else None)
    lines = [
        line(each) if peer is None else b"".join(peer.write(line(each), each[0])) for each in every
    ]
    frames = [
        Frame(number, 0.0, each[0], data)
        for number, (each, data) in enumerate(zip(every, lines, strict=True), 1)
    ]
    of = len(START) + at + 1
    event = edited(of, said[at], now, seq=len(every) + 1, dialect=dialect)
    found.read([*frames, event])
    return found


def texts(found: SessionModel, n: int | None = None) -> list[str]:
    session = found.conversations.at(found.n if n is None else n)["s1"]
    return [item.text for item in session.items if isinstance(item, TextItem)]


@pytest.mark.parametrize("dialect", [None, *DIALECTS])
def test_a_prompt_is_what_was_sent(dialect: str | None) -> None:
    found = model(prompt(2, "bread"), at=0, now=prompt(2, "cheese"), dialect=dialect)
    assert texts(found) == ["cheese"]
    assert texts(found, len(START) + 1) == ["cheese"]


@pytest.mark.parametrize("sent", ["[]", '["cheese"]', '["cheese", "wine"]', '["a", "b", "c"]'])
@pytest.mark.parametrize("came", ['["bread"]', '["bread", "milk"]'])
def test_a_prompt_may_have_other_blocks(came: str, sent: str) -> None:
    was, now = (
        ask("client", 2, "session/prompt", sessionId="s1",
            prompt=[{"type": "text", "text": each} for each in json.loads(words)])
        for words in (came, sent)
    )  # fmt: skip
    found = model(was, chunk("thanks"), at=0, now=now)
    for n in range(len(START) + 1, found.n + 1):
        assert texts(found, n)[0] == "".join(json.loads(sent))
    assert texts(found, len(START)) == []


def test_what_is_waited_for_is_what_was_sent() -> None:
    found = model(prompt(2, "bread"), at=0, now=prompt(2, "cheese"))
    assert [each.subject for each in found.waiting().waits] == ["cheese"]
    other = model(prompt(2, "bread"), answer("agent", 3, {}), at=0, now=prompt(3, "cheese"))
    assert not other.waiting().waits


def test_an_agent_repeats_the_prompt_that_it_got() -> None:
    found = model(prompt(2, "bread"), at=0, now=prompt(2, "cheese"))
    echo = chunk("cheese", kind="user_message_chunk", messageId="m")
    found.read([Frame(found.n + 1, 0.0, "agent", line(echo))])
    assert texts(found) == ["cheese"]


@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk"])
def test_a_piece_of_a_message_is_what_was_sent(kind: str) -> None:
    said = [chunk(each, kind=kind) for each in ("one ", "two ", "three")]
    found = model(*said, at=1, now=chunk("2 ", kind=kind))
    assert texts(found) == ["one 2 three"]
    first = len(START) + 1
    shown = [texts(found, n) for n in range(first, found.n)]
    assert shown == [["one "], ["one 2 "], ["one 2 three"]]


def test_a_tool_call_is_what_was_sent() -> None:
    was = update("tool_call", toolCallId="c", title="ls", rawInput={"command": "ls"})
    now = update("tool_call", toolCallId="c", title="pwd", rawInput={"command": "pwd"})
    [call] = model(was, at=0, now=now).conversations.get("s1").items
    assert isinstance(call, ToolCallItem)
    assert (call.facts.title, call.facts.raw_input) == ("pwd", {"command": "pwd"})


def call_at(found: SessionModel, n: int) -> ToolCallItem:
    [call] = found.conversations.at(n)["s1"].items
    assert isinstance(call, ToolCallItem)
    return call


def test_a_tool_call_is_what_was_sent_from_its_frame_on() -> None:
    said = [
        update("tool_call", toolCallId="c", title="ls", status="pending", content=[]),
        update("tool_call_update", toolCallId="c", title="cat"),
        update("tool_call_update", toolCallId="c", status="completed"),
    ]
    text = [{"type": "content", "content": {"type": "text", "text": "x"}}]
    now = update("tool_call_update", toolCallId="c", title="pwd", content=text)
    found, first = model(*said, at=1, now=now), len(START) + 1
    shown = [call_at(found, n) for n in range(first, found.n + 1)]
    assert [each.facts.title for each in shown] == ["ls", "pwd", "pwd", "pwd"]
    assert [each.facts.status for each in shown] == ["pending"] * 2 + ["completed"] * 2
    assert [each.content for each in shown] == [[], text, text, text]


def test_a_plan_is_what_was_sent() -> None:
    was, now = (update("plan", entries=[{"content": text}]) for text in ("a", "b"))
    found = model(was, at=0, now=now)
    [plan] = found.conversations.get("s1").items
    assert isinstance(plan, PlanItem)
    assert plan.entries == [{"content": "b"}]
    [before] = found.conversations.at(found.n - 1)["s1"].items
    assert isinstance(before, PlanItem)
    assert before.entries == [{"content": "b"}]


def test_a_title_is_what_was_sent() -> None:
    was, now = (update("session_info_update", title=text) for text in ("a", "b"))
    found = model(was, at=0, now=now)
    titles = [found.conversations.at(n)["s1"].info.title for n in range(len(START), found.n + 1)]
    assert titles == [None, "b", "b"]


def notices(found: SessionModel, n: int | None = None) -> list[str]:
    session = found.conversations.at(found.n if n is None else n)["s1"]
    return [item.text for item in session.items if isinstance(item, Notice)]


@pytest.mark.parametrize(
    ("was", "now", "text"),
    [
        (update("current_mode_update", currentModeId="ask"),
         update("current_mode_update", currentModeId="code"), "mode: code"),
        (update("notice", title="a"), update("notice", title="b"), "b"),
        (update("unknown_a"), update("unknown_b"), "update unknown_b"),
        (update("compaction_update", compactionId="a", status="completed"),
         update("compaction_update", compactionId="b", status="failed"),
         "context compaction: failed"),
        (update("subagent_update", sessionId="a", title="A"),
         update("subagent_update", sessionId="b", title="B"), "subagent: B"),
    ],
)  # fmt: skip
def test_a_notice_is_only_that_of_what_was_sent(was: Said, now: Said, text: str) -> None:
    found = model(was, at=0, now=now)
    assert notices(found) == notices(found, found.n - 1) == [text]


@pytest.mark.parametrize(
    ("name", "field", "of"),
    [
        ("config_option_update", "configOptions", "config_options"),
        ("available_commands_update", "availableCommands", "commands"),
    ],
)
def test_what_is_offered_is_what_was_sent(name: str, field: str, of: str) -> None:
    offers: list[dict[str, Any]] = [{field: [{"id": each, "name": each}]} for each in "ab"]
    was, now = (update(name, **offer) for offer in offers)
    found = model(was, at=0, now=now)
    for n in (found.n - 1, found.n):
        info = found.conversations.at(n)["s1"].info
        assert getattr(info, of) == [{"id": "b", "name": "b"}]


def test_an_update_of_another_kind_leaves_nothing_of_what_came() -> None:
    found = model(update("plan", entries=[{"content": "a"}]), at=0, now=chunk("b"))
    [message] = found.conversations.get("s1").items
    assert isinstance(message, AgentMessage)
    assert message.text == "b"


def test_the_end_of_a_turn_is_what_was_sent() -> None:
    said = prompt(2, "hello"), chunk("hi"), answer("agent", 2, {"stopReason": "end_turn"})
    found = model(*said, at=2, now=answer("agent", 2, {"stopReason": "refusal"}))
    for n in (found.n - 1, found.n):
        *_, end = found.conversations.at(n)["s1"].items
        assert isinstance(end, TurnEnd)
        assert end.stop_reason == "refusal"
    [turn] = found.conversations.get("s1").turns
    assert turn.stop_reason == "refusal"


def test_a_turn_that_was_cancelled_on_the_way_cancels_its_calls() -> None:
    said = (
        prompt(2, "hello"),
        update("tool_call", toolCallId="c", title="ls", status="pending"),
        answer("agent", 2, {"stopReason": "end_turn"}),
    )
    found = model(*said, at=2, now=answer("agent", 2, {"stopReason": "cancelled"}))
    call = found.conversations.get("s1").known_call("c")
    assert call is not None
    assert call.status == "cancelled"


def test_a_response_may_be_an_error_when_it_is_sent() -> None:
    said = prompt(2, "hello"), answer("agent", 2, {"stopReason": "end_turn"})
    error: Said = ("agent", {"id": 2, "error": {"code": -32000, "message": "no"}})
    *_, end = model(*said, at=1, now=error).conversations.get("s1").items
    assert isinstance(end, TurnEnd)
    assert (end.stop_reason, end.error) == (None, "no (-32000)")


def test_the_output_of_a_terminal_is_what_was_sent() -> None:
    said = (
        ask("agent", 5, "terminal/create", sessionId="s1", command="ls"),
        answer("client", 5, {"terminalId": "t"}),
        update("tool_call", toolCallId="c", content=[{"type": "terminal", "terminalId": "t"}]),
        ask("agent", 6, "terminal/output", sessionId="s1", terminalId="t"),
        answer("client", 6, {"output": "secret", "truncated": False}),
        ask("agent", 7, "terminal/output", sessionId="s1", terminalId="t"),
        answer("client", 7, {"output": "hidden, and more", "truncated": False}),
    )
    was = answer("client", 6, {"output": "hidden", "truncated": False})
    found = model(*said, at=4, now=was)
    first = len(START) + 5
    shown = [call_of(found, "c", n).terminals["t"].text for n in range(first, found.n + 1)]
    assert shown == ["hidden", "hidden", "hidden, and more", "hidden, and more"]


@pytest.mark.parametrize("was", ["accept", "decline"])
@pytest.mark.parametrize("now", ["accept", "decline", "cancel"])
def test_the_answer_to_a_form_is_what_was_sent(was: str, now: str) -> None:
    form = ask("agent", 8, "elicitation/create", sessionId="s1", mode="form", message="who?",
               requestedSchema={"type": "object"})  # fmt: skip
    said = form, answer("client", 8, {"action": was})
    found = model(*said, at=1, now=answer("client", 8, {"action": now}))
    for n in (found.n - 1, found.n):
        [line] = found.conversations.at(n)["s1"].items
        assert isinstance(line, ElicitationItem)
        assert line.outcome == {"action": now}


def test_content_that_later_frames_have_extended_is_what_was_sent() -> None:
    text = [{"type": "content", "content": {"type": "text", "text": each}} for each in "abcd"]
    said = (
        update("tool_call", toolCallId="c", content=text[:1]),
        update("tool_call_content_chunk", toolCallId="c", content=text[1]),
        update("tool_call_content_chunk", toolCallId="c", content=text[2]),
    )
    now = update("tool_call", toolCallId="c", content=[text[3], text[0]])
    found, first = model(*said, at=0, now=now), len(START) + 1
    shown = [call_at(found, n).content for n in range(first, found.n)]
    sent = [text[3], text[0]]
    assert shown == [sent, [*sent, text[1]], [*sent, text[1], text[2]]]


def test_an_item_knows_the_edits_of_its_frames() -> None:
    said = prompt(2, "hello"), chunk("one "), chunk("two")
    found, frame = model(*said, at=2, now=chunk("2")), len(START) + 3
    for n, edited_frames in ((frame - 1, []), (frame, [frame])):
        session = found.conversations.at(n)["s1"]
        question, message = session.items
        assert not session.edits_of(question)
        assert [each.of for each in session.edits_of(message)] == edited_frames
    assert session_to_json(found.conversations.at(found.n)["s1"])["edited"] == {
        message.key: [frame]
    }


def call_of(found: SessionModel, key: str, n: int) -> ToolCallItem:
    calls = [
        item for item in found.conversations.at(n)["s1"].items
        if isinstance(item, ToolCallItem) and item.key == key
    ]  # fmt: skip
    return calls[0]


def permission(**call: Any) -> Said:
    options = [
        {"optionId": each, "name": each, "kind": each} for each in ("allow_once", "reject_once")
    ]
    return ask("agent", 9, "session/request_permission", sessionId="s1",
               toolCall={"toolCallId": "c", **call}, options=options)  # fmt: skip


def chosen(option: str) -> Said:
    return answer("client", 9, {"outcome": {"outcome": "selected", "optionId": option}})


def test_an_item_that_an_array_has_changed_twice_was_edited_once() -> None:
    was, now = (
        b"[%b]" % b",".join(line(chunk(text)) for text in pieces)
        for pieces in (("a", "b"), ("a", "c"))
    )
    change: dict[str, Any] = {"of": 6, "by": "rule", "was": was.decode(), "now": now.decode()}
    frames = [
        Frame(n, 0.0, each[0], line(each)) for n, each in enumerate([*START, prompt(2, "hello")], 1)
    ]
    found = SessionModel()
    found.read([*frames, Frame(6, 0.0, "agent", was), JournalEvent(7, 0.0, "edited", change)])
    session = found.conversations.at(7)["s1"]
    assert texts(found)[-1] == "ac"
    assert [each.of for each in session.edits_of(session.items[-1])] == [6]


def test_what_a_permission_is_asked_for_is_what_was_sent() -> None:
    found = model(permission(title="ls"), at=0, now=permission(title="rm"))
    [call] = found.conversations.get("s1").items
    assert isinstance(call, ToolCallItem)
    assert call.facts.title == "rm"
    assert len(call.permissions) == 1


def test_what_the_user_chose_is_what_was_sent() -> None:
    said = permission(title="ls"), chosen("allow_once")
    found, first = model(*said, at=1, now=chosen("reject_once")), len(START) + 1
    shown = [call_at(found, n).status for n in range(first, found.n + 1)]
    assert shown == ["pending", "rejected", "rejected"]


TEXT: Any = {"type": "text", "text": "a"}
PICTURE: Any = {"type": "image", "data": "", "mimeType": "image/png"}
FIELDS: dict[str, Any] = {
    "messageId": ["m1", "m2"], "toolCallId": ["c1", "c2"], "terminalId": ["t1", "t2"],
    "planId": ["p1", "p2"], "compactionId": ["k1", "k2"], "sessionId": ["s2", "s3"],
    "senderSessionId": ["s2", "s3"], "title": ["A", None, 1], "description": ["D", "E"],
    "status": ["pending", "in_progress", "completed", "failed", "cancelled"],
    "state": ["running", "idle", "requires_action", {"state": "running"}],
    "stopReason": ["end_turn", "cancelled"], "kind": ["read", "execute"],
    "content": [TEXT, PICTURE, [TEXT], [{"type": "content", "content": TEXT},
                                        {"type": "terminal", "terminalId": "t1"}], None],
    "entries": [[{"content": "a"}], []], "plan": [{"planId": "p1", "entries": [{"content": "a"}]}],
    "currentModeId": ["ask", "code"], "configOptions": [[{"id": "a", "category": "mode"}], []],
    "availableCommands": [[{"name": "a"}], []], "summary": [[TEXT], []], "data": ["YQ==", "Yg=="],
    "output": [{"data": "YQ=="}, {"data": "Yg=="}], "exitStatus": [{"exitCode": 1}, None],
    "command": ["ls", "cat"], "rawInput": [{"command": "ls"}, 1], "used": [1, 2],
    "cost": [{"amount": 1}], "background": [[{"id": "b"}], []],
}  # fmt: skip
"""Values of the fields of updates."""


def some_of(fields: dict[str, list[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in fields.items()})


def sides(side: Side, messages: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Said]:
    return st.tuples(st.just(side), messages)


IDS = st.integers(2, 5)
CALLS: dict[str, dict[str, list[Any]]] = {
    "session/prompt": {"prompt": [[TEXT], [PICTURE, TEXT], []]},
    "session/load": {"cwd": ["/w"]}, "session/resume": {}, "session/close": {},
    "session/set_mode": {"modeId": ["ask", "code"]},
    "session/set_config_option": {"configId": ["a"], "value": ["b", "c"]},
    "session/cancel": {}, "session/fork": {"cwd": ["/w"]},
}  # fmt: skip
QUESTIONS: dict[str, dict[str, list[Any]]] = {
    "session/request_permission": {
        "toolCall": [{"toolCallId": "c1", "title": "ls"}, {"toolCallId": "c2", "title": "cat"}],
        "options": [[{"optionId": each, "kind": each} for each in ("allow_once", "reject_once")]],
        "title": ["a", "b"], "subject": [{"type": "command", "command": "ls"}],
    },
    "elicitation/create": {"message": ["who?"], "mode": ["form", "url"], "url": ["http://a"]},
    "fs/write_text_file": {"path": ["/w/a", "/w/b"], "content": ["a"]},
    "terminal/create": {"command": ["ls", "cat"]}, "terminal/output": {"terminalId": ["t1", "t2"]},
    "terminal/wait_for_exit": {"terminalId": ["t1"]}, "terminal/release": {"terminalId": ["t1"]},
}  # fmt: skip
RESULTS: dict[str, Any] = {
    "stopReason": ["end_turn", "cancelled", "refusal"], "sessionId": ["s1", "s2"],
    "terminalId": ["t1", "t2"], "output": ["a", "ab", "b"], "exitStatus": [{"exitCode": 0}],
    "outcome": [{"outcome": "selected", "optionId": "allow_once"},
                {"outcome": "selected", "optionId": "reject_once"}, {"outcome": "cancelled"}],
    "action": ["accept", "decline"], "messageId": ["m1"], "protocolVersion": [1, 2],
    "configOptions": FIELDS["configOptions"],
}  # fmt: skip


def requests(calls: dict[str, dict[str, list[Any]]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from(sorted(calls)).flatmap(
        lambda method: st.fixed_dictionaries({
            "id": IDS, "method": st.just(method),
            "params": some_of(calls[method]).map(lambda found: {"sessionId": "s1"} | found),
        })
    )  # fmt: skip


UPDATE = st.tuples(st.sampled_from([*sorted(UPDATES), "unknown"]), some_of(FIELDS)).map(
    lambda each: update(each[0], **{k: v for k, v in each[1].items() if k != "kind"})
)
RESPONSES = st.one_of(
    st.fixed_dictionaries({"id": IDS, "result": some_of(RESULTS)}),
    st.fixed_dictionaries({"id": IDS, "error": st.just({"code": -32000, "message": "no"})}),
)
SAID: dict[Side, st.SearchStrategy[Said]] = {
    "client": sides("client", requests(CALLS) | RESPONSES),
    "agent": UPDATE | sides("agent", requests(QUESTIONS) | RESPONSES),
}


def shape_of(found: SessionModel, n: int) -> Any:
    """Return all that is known of the sessions after a frame, but for the marks of edits."""
    shapes = [session_to_json(each) for each in found.conversations.at(n).values()]
    return [{name: value for name, value in each.items() if name != "edited"} for each in shapes]


@pytest.mark.parametrize("dialect", [None, *DIALECTS])
@pytest.mark.parametrize("version", [1, 2])
@settings(max_examples=25)
@given(data=st.data())
def test_what_was_edited_is_as_if_it_had_been_sent_at_first(
    version: int, dialect: str | None, data: st.DataObject
) -> None:
    welcome = answer("agent", 0, {"protocolVersion": version})
    rest = data.draw(st.lists(st.one_of(*SAID.values()), min_size=1, max_size=12))
    said = [START[0], welcome, *START[2:], *rest]
    peer, *ours = (None if dialect is None else open_dialect(dialect, "/w") for _ in range(3))
    lines = [b"".join(peer.write(line(each), each[0])) if peer else line(each) for each in said]
    at = data.draw(st.integers(0, len(said) - 1))
    now = data.draw(SAID[said[at][0]].map(line) | st.sampled_from([b"", b"[]", b"no JSON"]))
    # The event follows its frame, at once or later.
    place = data.draw(st.integers(at + 1, len(said)))
    numbers = [*range(1, place + 1), *range(place + 2, len(said) + 2)]
    came: list[Entry] = [
        Frame(n, 0.0, each[0], written)
        for n, each, written in zip(numbers, said, lines, strict=True)
    ]
    sent = [*came[:at], replace(came[at], data=now), *came[at + 1 :]]
    change = {"of": at + 1, "by": "rule", "was": lines[at].decode(), "now": now.decode()}
    came.insert(place, JournalEvent(place + 1, 0.0, "edited", change))
    expected, found = map(SessionModel, ours)
    expected.read(sent)
    found.read(came)
    assert not found.is_outdated
    for n in numbers:
        assert shape_of(found, n) == shape_of(expected, n)


def test_a_model_says_when_an_edit_comes_too_late() -> None:
    frame, said = Frame(1, 0.0, "client", line(prompt(2, "bread"))), prompt(2, "bread")
    found = SessionModel()
    found.apply(frame)
    assert not found.is_outdated
    event = edited(1, said, prompt(2, "cheese"), seq=2)
    found.apply(event)
    assert found.is_outdated
    again = SessionModel(edits=found.edits.copy())
    for each in (frame, event):
        again.apply(each)
    assert not again.is_outdated
    assert texts(again) == ["cheese"]


@pytest.mark.parametrize("now", [b"no JSON", b"[]", b"\xff", b'{"jsonrpc":"2.0"}'])
def test_what_was_sent_may_be_no_message(now: bytes) -> None:
    event = JournalEvent(2, 0.0, "edited", {
        "of": 1, "by": "rule", "was": line(prompt(2, "bread")).decode(),
        "now_b64": b64encode(now).decode(),
    })  # fmt: skip
    found = SessionModel()
    found.read([Frame(1, 0.0, "client", line(prompt(2, "bread"))), event])
    edit = edit_of(event)
    assert edit is not None
    assert edit.now == now
    assert "→" in edit_text(edit)


@pytest.mark.parametrize(
    "data",
    [
        {}, {"of": 1}, {"of": True, "was": "{}", "now": "{}"}, {"of": 1, "was": "{}"},
        {"of": 1, "was": 1, "now": []}, {"of": 1, "was": "{}", "now_b64": "?"},
    ],
)  # fmt: skip
def test_an_event_without_both_lines_is_no_edit(data: dict[str, Any]) -> None:
    assert edit_of(JournalEvent(2, 0.0, "edited", data)) is None


@pytest.mark.parametrize(
    ("was", "now", "text"),
    [
        ('{"a":{"text":"milk and bread"}}', '{"a":{"text":"milk and cheese"}}',
         'text "…bread" → "…cheese"'),
        ('{"text":"' + "x" * 99 + 'bread"}', '{"text":"' + "x" * 99 + 'cheese"}',
         'text "…xxxxxxxxxxxxbread" → "…xxxxxxxxxxxxcheese"'),
        ('{"text":"notes.txt milk=>bread, at once"}', '{"text":"notes.txt milk=>cheese, at once"}',
         'text "…bread…" → "…cheese…"'),
        ('{"text":"say it"}', '{"text":"say it twice, say it"}',
         'text "…it" → "…it twice, say it"'),
        ('{"a":1}', '{"a":true}', "a 1 → true"),
        ('{"a":1}', "{}", "a 1 → nothing"),
        ('{"a":[1,2]}', '{"a":[1]}', "a [1, 2] → [1]"),
        ('{"a":1,"b":1,"c":1,"d":1}', '{"a":2,"b":2,"c":2,"d":2}',
         "a 1 → 2, b 1 → 2, c 1 → 2, 1 more"),
        ('{"a": 1}', '{"a":1}', "spelling alone"),
        ('{"a":"x"}', '{"a":"\\u202e"}', 'a "x" → "‹202e›"'),
    ],
)  # fmt: skip
def test_an_edit_says_what_it_changed(was: str, now: str, text: str) -> None:
    assert edit_text(FrameEdit(2, 1, "person", was.encode(), now.encode())) == text


def test_a_frame_that_was_edited_twice_is_known_as_it_came_and_as_it_was_sent() -> None:
    first, second, third = (prompt(2, text) for text in ("bread", "cheese", "milk"))
    events = [edited(1, first, second, seq=2), edited(1, second, third, seq=3)]
    for told in (events, [*events, *events]):
        edit = Edits(told).of(1)
        assert edit is not None
        assert (edit.seq, edit.was, edit.now) == (3, line(first), line(third))


def test_notes_know_the_last_edit_of_a_frame() -> None:
    notes = Annotations()
    for seq in (5, 9):
        notes.note_edit(edited(3, prompt(2, "a"), prompt(2, "b"), seq=seq))
    assert (notes.edited_by(3), notes.edited_by(4)) == (9, 0)
    assert (notes.edited_between(1, 8), notes.edited_between(4, 8)) == (9, 0)
