"""What people report about agents and clients, retold as traffic: lint says what is wrong.

Each test is one public report of somebody who writes an agent, a client or an editor plug-in.
"""

from __future__ import annotations

from typing import Any

from acp_inspector.lint.engine import lint
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

OPENING: list[Said] = [
    ask("client", 0, "initialize", protocolVersion=1, clientInfo={"name": "c", "version": "1"}),
    answer("agent", 0, {"protocolVersion": 1, "agentInfo": {"name": "a", "version": "1"}}),
    ask("client", 1, "session/new", cwd="/w", mcpServers=[]),
    answer("agent", 1, {"sessionId": "s1"}),
]
CANCEL: Said = ("client", {"method": "session/cancel", "params": {"sessionId": "s1"}})


def found(*said: Said, after: list[Said] = OPENING) -> dict[str, tuple[int, ...]]:
    """Return the rules that `said` breaks, with the numbers of their frames from 1 on."""
    start = len(after)
    return {
        each.rule.name: tuple(n - start for n in each.frames)
        for each in lint(frames(*after, *said)).findings
        if any(n > start for n in each.frames)
    }


def test_a_cancel_with_an_id_is_a_request_that_no_agent_knows() -> None:
    rules = found(
        prompt(2, "go"),
        ask("client", 3, "session/cancel", sessionId="s1"),
        ("agent", {"id": 3, "error": {"code": -32601, "message": "Method not found"}}),
        answer("agent", 2, {"stopReason": "end_turn"}),
    )
    assert (2,) in rules.values()


def test_an_answer_to_a_cancel_is_an_answer_to_nothing() -> None:
    rules = found(
        prompt(2, "go"),
        CANCEL,
        ("agent", {"id": None, "error": {"code": -32601, "message": "unsupported"}}),
        answer("agent", 2, {"stopReason": "cancelled"}),
    )
    assert any(3 in numbers for numbers in rules.values())


def test_a_turn_that_ends_normally_after_a_cancel_is_mentioned() -> None:
    """The agent saw the cancel, and says that the turn is complete."""
    rules = found(
        prompt(2, "go"),
        chunk("one"),
        CANCEL,
        chunk("two"),
        answer("agent", 2, {"stopReason": "end_turn"}),
    )
    assert any(5 in numbers for numbers in rules.values())


def test_a_chunk_of_a_cancelled_turn_after_its_end() -> None:
    rules = found(
        prompt(2, "go"),
        CANCEL,
        answer("agent", 2, {"stopReason": "cancelled"}),
        chunk("late"),
        prompt(3, "again"),
        chunk("hello"),
        answer("agent", 3, {"stopReason": "end_turn"}),
    )
    assert 4 in rules["update-after-cancelled-turn"]


def test_a_cancelled_turn_without_a_cancel() -> None:
    rules = found(prompt(2, "go"), chunk("hello"), answer("agent", 2, {"stopReason": "cancelled"}))
    assert any(3 in numbers for numbers in rules.values())


def test_a_session_that_is_null() -> None:
    rules = found(
        ask("client", 1, "session/new", cwd="/w", mcpServers=[]),
        answer("agent", 1, None),
        after=OPENING[:2],
    )
    assert any(2 in numbers for numbers in rules.values())


def test_a_call_that_is_updated_but_was_never_announced() -> None:
    rules = found(
        prompt(2, "go"),
        update("tool_call_update", toolCallId="mcp-1", status="completed"),
        answer("agent", 2, {"stopReason": "end_turn"}),
    )
    assert any(2 in numbers for numbers in rules.values())


def test_a_permission_for_another_call_than_the_one_that_runs() -> None:
    """The agent asks for `shell-permission` each time, whatever the call's id is."""
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    rules = found(
        prompt(2, "go"),
        update("tool_call", toolCallId="c1", title="make", kind="execute", status="pending"),
        ask(
            "agent",
            0,
            "session/request_permission",
            sessionId="s1",
            toolCall={"toolCallId": "shell-permission", "title": "make"},
            options=options,
        ),
        answer("client", 0, {"outcome": {"outcome": "selected", "optionId": "y"}}),
        update("tool_call_update", toolCallId="c1", status="completed"),
        answer("agent", 2, {"stopReason": "end_turn"}),
    )
    assert any(3 in numbers for numbers in rules.values())


def test_updates_before_the_response_that_names_their_session() -> None:
    """Editors that learn the session from the response drop them; the commands are lost."""
    rules = found(
        ask("client", 1, "session/new", cwd="/w", mcpServers=[]),
        update("available_commands_update", availableCommands=[]),
        answer("agent", 1, {"sessionId": "s1"}),
        after=OPENING[:2],
    )
    assert rules["update-before-session"] == (2, 3)


def test_history_at_resume() -> None:
    claims: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}
    rules = found(
        ask("client", 1, "session/resume", sessionId="s1", cwd="/w", mcpServers=[]),
        chunk("earlier", kind="user_message_chunk"),
        chunk("old"),
        answer("agent", 1, {}),
        after=[OPENING[0], answer("agent", 0, {"protocolVersion": 1, "agentCapabilities": claims})],
    )
    assert "resume-replays-history" in rules


def test_a_log_in_json_answers_nothing() -> None:
    """A structured logger writes the id of the request that it is about."""
    rules = found(
        prompt(2, "go"),
        ("agent", b'{"id": 2, "level": "info", "result": "cache warmed"}'),
        ("agent", b'{"id": 2, "level": "error", "error": "retrying"}'),
        answer("agent", 2, {"stopReason": "end_turn"}),
    )
    assert not {"duplicate-response", "malformed-error", "schema-error"} & rules.keys()
    assert "wrong-jsonrpc-version" in rules
