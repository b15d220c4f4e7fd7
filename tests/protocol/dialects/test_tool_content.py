"""What a dialect reports of a tool call piece by piece adds up to one official call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from acp_protocol.dialects.base import Dialect
from acp_protocol.dialects.registry import open_dialect
from acp_protocol.dialects.reported_calls import MAX_BYTES
from acp_protocol.jsonrpc import Json, encode_notification, encode_request
from acp_protocol.tool_calls import merge

DIFF: Final[Json] = {"type": "diff", "path": "/w/a.py", "oldText": "a\n", "newText": "b\n"}
TERMINAL: Final[Json] = {"type": "terminal", "terminalId": "t1"}
OUTPUT: Final[Json] = {"type": "content", "content": {"type": "text", "text": "1 line"}}
CALL: Final[dict[str, Json]] = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "edit"}
CHANGE: Final[dict[str, Json]] = {"sessionUpdate": "tool_call_update", "toolCallId": "c1"}
PENDING: Final[dict[str, Json]] = {"toolCallId": "c1", "title": "Edit a.py", "status": "pending"}
ASKED: Final[dict[str, Json]] = {"sessionId": "s1", "toolCall": PENDING, "options": []}

UNIFIED: Final = "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-a\n+b\n"
EVENTS: Final[Mapping[str, Sequence[dict[str, Json]]]] = {
    "openoxide": (
        {"type": "tool_call", "id": "c1", "name": "edit"},
        {"type": "diff", "id": "c1", "path": "/w/a.py", "unified_diff": UNIFIED},
        {"type": "tool_result", "id": "c1", "output": "1 line"},
    ),
    "acpex": (
        {"kind": "tool_call", "content": {"toolCallId": "c1", "function": {"name": "edit"}}},
        CHANGE | {"content": [DIFF]},
        {"kind": "tool_call_update", "content": {"toolCallId": "c1", "output": "1 line"}},
    ),
}


def events(dialect: str, *which: int) -> list[bytes]:
    """Return these events of a call, as an agent of the dialect sends them."""
    told = (EVENTS[dialect][each] for each in which)
    return [
        encode_notification(
            "session/update",
            {"session_id": "s1", **event}
            if dialect == "openoxide"
            else {"sessionId": "s1", "update": event},
        )
        for event in told
    ]


def call_of(dialect: Dialect, frames: Sequence[bytes]) -> dict[str, Any]:
    """Return the tool call that frames of the agent add up to."""
    call: dict[str, Any] = {}
    for raw in frames:
        for line in dialect.read(raw, "agent").forward:
            params = json.loads(line)["params"]
            call = merge(call, params.get("update", params.get("toolCall")), 1)
    return call


@pytest.mark.parametrize("dialect", EVENTS)
def test_a_diff_and_an_output_of_one_call_add_to_each_other(dialect: str) -> None:
    call = call_of(open_dialect(dialect), events(dialect, 0, 1, 2))
    assert (call["status"], call["content"]) == ("completed", [DIFF, OUTPUT])


@pytest.mark.parametrize("status", ["completed", "failed", "in_progress", None])
@pytest.mark.parametrize("dialect", EVENTS)
def test_an_output_says_how_the_call_is_unless_it_is_done(dialect: str, status: str | None) -> None:
    """The dialects have no status, so an output alone means that the call is done."""
    given = {"content": [OUTPUT]} | ({} if status is None else {"status": status})
    params: Json = {"sessionId": "s1", "update": CHANGE | given}
    frames = open_dialect(dialect).write(encode_notification("session/update", params), "agent")
    assert (b'"status"' in b"".join(frames)) == (status != "completed")
    assert call_of(open_dialect(dialect), frames)["status"] == (status or "in_progress")


@pytest.mark.parametrize("status", ["exploded", "cancelled", [], {}, None])
@pytest.mark.parametrize("dialect", EVENTS)
def test_a_status_that_version_1_does_not_have_means_nothing(dialect: str, status: Json) -> None:
    (raw,) = events(dialect, 2)
    said = json.dumps({"output": "1 line", "status": status})[1:-1].encode()
    raw = raw.replace(b'"output":"1 line"', said)
    assert call_of(open_dialect(dialect), [raw])["status"] == "completed"


def test_a_diff_may_come_after_the_output() -> None:
    call = call_of(open_dialect("openoxide"), events("openoxide", 0, 2, 1))
    assert call["content"] == [OUTPUT, DIFF]


@pytest.mark.parametrize("dialect", EVENTS)
def test_an_output_and_a_diff_that_come_twice_are_there_once(dialect: str) -> None:
    call = call_of(open_dialect(dialect), events(dialect, 0, 1, 1, 2, 2))
    assert call["content"] == [DIFF, OUTPUT]


@pytest.mark.parametrize("dialect", EVENTS)
def test_an_output_adds_to_what_the_user_was_asked_about(dialect: str) -> None:
    begin, end = events(dialect, 0, 2)
    asked = ASKED | {"toolCall": PENDING | {"content": [DIFF]}}
    permission = encode_request(1, "session/request_permission", asked)
    call = call_of(open_dialect(dialect), [begin, permission, end])
    assert call["content"] == [DIFF, OUTPUT]


@pytest.mark.parametrize("dialect", EVENTS)
def test_another_call_has_its_own_content(dialect: str) -> None:
    spoken = open_dialect(dialect)
    call_of(spoken, events(dialect, 0, 1))
    (other,) = (raw.replace(b"c1", b"c2") for raw in events(dialect, 2))
    assert call_of(spoken, [other])["content"] == [OUTPUT]


@pytest.mark.parametrize("dialect", ["acpex", "openoxide"])
@pytest.mark.parametrize(
    "updates",
    [
        [CALL | {"content": [DIFF]}, CHANGE | {"status": "completed", "rawOutput": {"files": 1}}],
        [CALL, CHANGE | {"status": "completed", "content": [DIFF, OUTPUT]}],
        [CALL, CHANGE | {"content": [TERMINAL]}, CHANGE | {"status": "completed"}],
        [CALL, CHANGE | {"status": "completed", "content": [TERMINAL, OUTPUT]}],
        [CALL | {"status": "completed", "content": [DIFF, TERMINAL, OUTPUT]}],
    ],
    ids=["begun-with-a-diff", "ended-with-a-diff", "terminal", "ended-with-a-terminal", "replayed"],
)
def test_nothing_that_an_agent_reports_is_lost_on_its_way_through_the_dialect(
    dialect: str, updates: Sequence[dict[str, Json]]
) -> None:
    writer, reader = open_dialect(dialect), open_dialect(dialect)
    official: dict[str, Any] = {}
    frames: list[bytes] = []
    for update in updates:
        raw = encode_notification("session/update", {"sessionId": "s1", "update": update})
        frames += writer.write(raw, "agent")
        official = merge(official, update, 1)
    content = call_of(reader, frames)["content"]
    assert all(item in content for item in official["content"])
    assert content.count(DIFF) <= 1
    assert content.count(TERMINAL) <= 1


def test_content_that_the_dialect_cannot_write_is_sent_once() -> None:
    """Permission requests are official: what they show needs no message of its own after that."""
    writer = open_dialect("acpex")
    asked = ASKED | {"toolCall": PENDING | {"content": [DIFF]}}
    writer.write(encode_request(1, "session/request_permission", asked), "agent")
    end = CHANGE | {"status": "completed", "content": [DIFF], "rawOutput": {"files": 1}}
    raw = encode_notification("session/update", {"sessionId": "s1", "update": end})
    assert len(writer.write(raw, "agent")) == 1


@pytest.mark.parametrize("dialect", ["continuum", "acpex", "openoxide"])
def test_a_request_for_permission_does_not_set_a_call_back(dialect: str) -> None:
    spoken = open_dialect(dialect)
    if dialect == "continuum":
        tool = {"sessionId": "s1", "toolCallId": "c1", "title": "Edit a.py", "kind": "edit"}
        begun = [encode_notification("session/update", tool | {"status": "in_progress"})]
        asked = tool
    else:
        begun, asked = events(dialect, 0), ASKED
    call = call_of(spoken, [*begun, encode_request(1, "session/request_permission", asked)])
    assert call["status"] == "in_progress"
    assert call["title"] == "Edit a.py"


@pytest.mark.parametrize("is_request", [True, False])
def test_a_call_that_continuum_asks_about_first_waits(is_request: bool) -> None:
    tool = {"sessionId": "s1", "toolCallId": "c1", "title": "Edit a.py", "kind": "edit"}
    method = "session/request_permission"
    raw = encode_request(1, method, tool) if is_request else encode_notification(method, tool)
    assert call_of(open_dialect("continuum"), [raw])["status"] == "pending"


def test_an_output_that_is_an_object_is_kept_as_it_is() -> None:
    begin, end = events("openoxide", 0, 2)
    end = end.replace(b'"1 line"', b'{"lines":1}')
    call = call_of(open_dialect("openoxide"), [begin, end])
    assert call["rawOutput"] == {"lines": 1}
    assert call["content"][0]["content"]["text"] == '{"lines":1}'


def test_a_flood_of_diffs_is_not_repeated_for_ever() -> None:
    """Each message has the content of those before it, but only so much."""
    spoken = open_dialect("openoxide")
    size = 0
    for number in range(30):
        diff = f"--- a\n+++ a\n@@ -{number + 1} +{number + 1} @@\n-{number}\n+{'x' * 100_000}\n"
        event = {"type": "diff", "id": "c1", "path": "/a", "unified_diff": diff}
        raw = encode_notification("session/update", {"session_id": "s1"} | event)
        (line,) = spoken.read(raw, "agent").forward
        size = max(size, len(line))
    assert MAX_BYTES / 2 < size < MAX_BYTES + 200_000
