"""One row for one frame."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.session.exchanges import Exchanges
from acp_inspector.views.frame_row import FrameRow
from tests.inspector.talks import (
    Said,
    answer,
    ask,
    batch,
    chunk,
    frames,
    paired_row,
    prompt,
    update,
)


def row_of(*said: Said) -> FrameRow:
    """Return the row of the last frame."""
    exchanges = Exchanges()
    return [paired_row(frame, exchanges) for frame in frames(*said)][-1]


@pytest.mark.parametrize(
    ("said", "kind", "summary"),
    [
        (prompt(1, "hello"), "request", '"hello"'),
        (chunk("Hi\n"), "notification", 'agent_message_chunk "Hi⏎"'),
        (
            update("tool_call", toolCallId="c1", title="Read a", status="pending"),
            "notification",
            "tool_call c1 Read a pending",
        ),
        (chunk(""), "notification", 'agent_message_chunk ""'),
        (update("plan", entries=[1, 2]), "notification", "plan 0 of 2 steps done"),
        (update("brand_new"), "notification", "brand_new"),
        (
            update("brand_new", number=1, label="first", by="me", of="three"),
            "notification",
            "brand_new first me",
        ),
        (update("session_info_update", title=None), "notification", "session_info_update no title"),
        (
            update("session_info_update", title="The cart", updatedAt="2026-01-01T00:00:00Z"),
            "notification",
            'session_info_update title "The cart", updated 2026-01-01T00:00:00Z',
        ),
        (
            update("usage_update", used=10, size=100, cost={"amount": 0.5, "currency": "USD"}),
            "notification",
            "usage_update 10 of 100 tokens, 0.5 USD",
        ),
        (
            update(
                "available_commands_update", availableCommands=[{"name": "tour"}, {"name": "x"}]
            ),
            "notification",
            "available_commands_update 2 commands: /tour /x",
        ),
        (
            update(
                "config_option_update", configOptions=[{"id": "model", "currentValue": "small"}]
            ),
            "notification",
            "config_option_update model small",
        ),
        (
            update("state_update", state="idle", stopReason="end_turn"),
            "notification",
            "state_update idle end_turn",
        ),
        (
            update("agent_message", messageId="m", content=[{"type": "text", "text": "Hi"}]),
            "notification",
            'agent_message "Hi"',
        ),
        (
            update(
                "plan_update",
                plan={"type": "items", "planId": "p", "entries": [{"status": "completed"}, 1]},
            ),
            "notification",
            "plan_update 1 of 2 steps done",
        ),
        (
            ask("agent", 1, "session/request_permission", toolCall={}, options=[1, 2]),
            "request",
            "(2 options)",
        ),
        (
            ask("agent", 1, "session/request_permission", title="Run it", options=[1, 2]),
            "request",
            "Run it (2 options)",
        ),
        (
            ask("agent", 1, "session/request_permission", toolCall={"title": "Edit"}, options=[1]),
            "request",
            "Edit (1 options)",
        ),
        (ask("agent", 1, "fs/read_text_file", path="/a"), "request", "path /a"),
        (
            ask("agent", 1, "terminal/create", command="cat", args=["a b", "c"], cwd="/w"),
            "request",
            "cat a b c",
        ),
        (ask("agent", 1, "terminal/output", terminalId="t1"), "request", "terminalId t1"),
        (
            ask("client", 1, "session/set_config_option", configId="model", value="small"),
            "request",
            "model small",
        ),
        (("agent", b"oops"), "malformed", "no JSON: expecting value at character 0"),
        (("agent", b"[1,2]"), "batch", "2 messages: malformed, malformed"),
        (("agent", b"[]"), "batch", "0 messages"),
        (
            batch(*(ask("agent", id_, "terminal/kill") for id_ in range(9))),
            "batch",
            f"9 messages: {', '.join(['terminal/kill'] * 8)}, …",
        ),
    ],
)
def test_a_row_says_what_matters(said: Said, kind: str, summary: str) -> None:
    row = row_of(said)
    assert (row.kind, row.summary) == (kind, summary)


def test_an_answer_has_the_method_session_and_time_of_its_question() -> None:
    row = row_of(prompt(4, "x"), answer("agent", 4, {"stopReason": "end_turn"}))
    assert (row.kind, row.method, row.session) == ("result", "session/prompt", "s1")
    assert row.latency == pytest.approx(0.1)
    assert row.summary == "stopReason end_turn"
    error = ("agent", {"id": 9, "error": {"code": -32601, "message": "Method not found"}})
    assert row_of(error).summary == "-32601 Method not found"  # pyright: ignore[reportArgumentType] - a tuple of literals


def test_text_from_the_wire_is_made_visible_and_cut() -> None:
    row = row_of(chunk("\x1b[31m" + "x" * 10_000))
    assert "\x1b" not in row.summary
    assert len(row.summary) <= 200


wild = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
names = st.sampled_from(
    ["session/update", "session/prompt", "session/request_permission", "initialize"]
)


@given(
    names,
    st.fixed_dictionaries(
        {}, optional={"update": wild, "prompt": wild, "toolCall": wild, "options": wild}
    ),
    wild,
)
def test_no_frame_is_too_strange_for_a_row(
    method: str, params: dict[str, object], extra: object
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    reply = {"jsonrpc": "2.0", "id": 1, "result": extra}
    row_of(("client", json.dumps(message).encode()), ("agent", json.dumps(reply).encode()))
