"""A frame that was sent with other bytes is shown as it was sent, from that frame on."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.session.edits import Edit, edit_of, edit_text
from acp_inspector.session.items import PlanItem, TextItem, ToolCallItem
from acp_inspector.views.annotations import Annotations
from acp_inspector.views.session_model import SessionModel
from acp_protocol.dialects.registry import DIALECTS, open_dialect
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
    other = model(prompt(2, "bread"), at=0, now=prompt(3, "cheese"))
    assert [each.subject for each in other.waiting().waits] == ["bread"]


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


def permission(**call: Any) -> Said:
    options = [
        {"optionId": each, "name": each, "kind": each} for each in ("allow_once", "reject_once")
    ]
    return ask("agent", 9, "session/request_permission", sessionId="s1",
               toolCall={"toolCallId": "c", **call}, options=options)  # fmt: skip


def chosen(option: str) -> Said:
    return answer("client", 9, {"outcome": {"outcome": "selected", "optionId": option}})


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
    assert edit_text(Edit(2, 1, "person", was.encode(), now.encode())) == text


def test_notes_know_the_last_edit_of_a_frame() -> None:
    notes = Annotations()
    for seq in (5, 9):
        notes.note_edit(edited(3, prompt(2, "a"), prompt(2, "b"), seq=seq))
    assert (notes.edited_by(3), notes.edited_by(4)) == (9, 0)
    assert (notes.edited_between(1, 8), notes.edited_between(4, 8)) == (9, 0)
