"""A tool call as the user sees it, from `pending` to its last status."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from acp_agent.models.types import ToolSpec
from acp_agent.permissions.audit import AuditLog
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.tools.call import Outcome, PreparedCall, ReportContent
from acp_agent.tools.registry import builtin_tools
from acp_agent.world.workspace import Workspace
from acp_protocol import jsonrpc
from acp_protocol.call_rules.rules import PolicyRule
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind
from tests.agent.client import SILENCE, open_session, selected

TOOLS = builtin_tools()

NO_ANSWER = "not allowed: the client could not ask the user, or answered with what was not offered"


async def test_reading_is_shown_and_needs_no_consent(cwd: Path) -> None:
    async with open_session(cwd) as session:
        assert await session.turn("read notes.md") == "end_turn"
    (call,) = session.calls
    path = str(cwd / "notes.md")
    assert call["toolCallId"] == "call_1"
    assert (call["name"], call["title"], call["kind"]) == ("read", "Read notes.md", "read")
    assert call["statuses"] == ["pending", "in_progress", "completed"]
    assert call["locations"] == [{"path": path}]
    assert (call["rawInput"], call["rawOutput"]) == ({"path": "notes.md"}, {"lines": 4})
    assert "Buy milk." in call["content"][0]["content"]["text"]
    assert session.client.requests == []


async def test_an_edit_is_shown_with_both_texts_before_it_is_asked_for(cwd: Path) -> None:
    before = (cwd / "notes.md").read_text()
    async with open_session(cwd) as session:
        await session.turn("edit notes.md: milk => bread")
    after = before.replace("milk", "bread")
    assert (cwd / "notes.md").read_text() == after
    (asked,) = session.client.requests
    diff = {"type": "diff", "path": str(cwd / "notes.md"), "oldText": before, "newText": after}
    assert asked.params["toolCall"]["content"] == [diff]
    assert asked.params["toolCall"]["toolCallId"] == "call_1"
    assert [option["kind"] for option in asked.params["options"]] == [
        "allow_once",
        "allow_always",
        "reject_once",
        "reject_always",
        "allow_always",
    ]
    (call,) = session.calls
    assert call["content"] == [diff]
    assert call["statuses"] == ["pending", "in_progress", "completed"]


@pytest.mark.parametrize("option", ["reject", "reject-always"])
async def test_what_was_not_allowed_is_not_done(cwd: Path, option: str) -> None:
    async with open_session(cwd, permission=selected(option)) as session:
        assert await session.turn("edit notes.md: milk => bread") == "end_turn"
    (call,) = session.calls
    assert call["statuses"] == ["pending", "failed"]
    assert [block["type"] for block in call["content"]] == ["diff", "content"]
    assert call["rawOutput"] == {"error": "rejected by the user"}
    assert "milk" in (cwd / "notes.md").read_text()


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"outcome": "allow"},
        {"outcome": {"optionId": "allow"}},
        selected("something-else"),
        selected(""),
    ],
)
async def test_a_broken_answer_is_no_consent_and_no_refusal_of_the_user(
    cwd: Path, answer: Json
) -> None:
    async with open_session(cwd, permission=answer, lints=False) as session:
        assert await session.turn("delete notes.md") == "end_turn"
    assert (cwd / "notes.md").exists()
    assert session.calls[0]["rawOutput"] == {"error": NO_ANSWER}


async def test_a_client_that_cannot_ask_has_not_consented(cwd: Path) -> None:
    no = RequestFailedError(jsonrpc.METHOD_NOT_FOUND, "Method not found")
    async with open_session(cwd, permission=no, lints=False) as session:
        assert await session.turn("delete notes.md") == "end_turn"
    assert (cwd / "notes.md").exists()
    assert session.calls[0]["statuses"] == ["pending", "failed"]
    assert session.calls[0]["rawOutput"] == {"error": NO_ANSWER}


async def test_always_holds_for_the_same_kind_and_program_only(cwd: Path) -> None:
    async with open_session(cwd, permission=selected("allow-always")) as session:
        await session.turn("run echo a\nrun echo b\nrun true\nwrite x: 1\nedit x: 1 => 2\ndelete x")
    titles = [request.params["toolCall"]["title"] for request in session.client.requests]
    assert titles == ["Run echo a", "Run true", "Write x", "Delete x"]
    assert all(call["statuses"][-1] == "completed" for call in session.calls)


async def test_the_rules_decide_before_anybody_is_asked_and_all_is_written_down(
    cwd: Path, tmp_path: Path
) -> None:
    log = tmp_path / "audit.jsonl"
    rules = PermissionPolicy("allow_all", frozenset(), frozenset({"execute"}))
    orders = "write src/x: secret\nrun git status\nrun git status -s\nread gone\nwrite ../y: 1"
    async with open_session(
        cwd, permission=selected("allow-always"), permissions=rules, audit=AuditLog(log)
    ) as session:
        await session.turn(orders)
        await session.ask("session/set_mode", modeId="architect")
        await session.turn("delete src/x")
    assert [asked.params["toolCall"]["title"] for asked in session.client.requests] == [
        "Run git status"
    ]
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert "secret" not in log.read_text()
    assert [(each["call"], each["verdict"], each["why"]) for each in told] == [
        ("call_1", "allow", "policy"),
        ("call_2", "allow", "user"),
        ("call_3", "allow", "rule"),
        ("call_4", "allow", "policy"),
        ("call_6", "forbidden", "mode"),
    ]
    assert told[0]["paths"] == ["src/x"]
    assert told[2]["commands"] == ["git status -s"]
    assert told[2]["rule"] == "execute git status"


async def test_what_the_configuration_denies_fails_the_call_and_says_by_which_rule(
    cwd: Path,
) -> None:
    rules = PermissionPolicy("allow_all", rules=(PolicyRule("deny", "delete", "path", "*.md"),))
    async with open_session(cwd, permissions=rules) as session:
        await session.turn("delete notes.md")
    assert session.client.requests == []
    (call,) = session.calls
    assert call["statuses"] == ["pending", "failed"]
    reason = "forbidden by the configuration of the agent: deny delete *.md"
    assert call["content"][-1]["content"]["text"] == reason
    assert (cwd / "notes.md").exists()


async def test_a_turn_that_is_cancelled_before_the_answer_is_written_down(
    cwd: Path, tmp_path: Path
) -> None:
    log = tmp_path / "audit.jsonl"
    async with (
        open_session(cwd, permission=SILENCE, audit=AuditLog(log)) as session,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(session.turn, "delete notes.md")
        await session.client.until(lambda: session.client.requests)
        await session.cancel()
    (told,) = [json.loads(line) for line in log.read_text().splitlines()]
    assert (told["verdict"], told["why"], told["paths"]) == ("cancelled", "turn", ["notes.md"])


async def test_a_program_runs_in_the_clients_terminal(cwd: Path) -> None:
    answers = {
        "terminal/create": {"terminalId": "t1"},
        "terminal/wait_for_exit": {"exitCode": 0},
        "terminal/output": {"output": "hi", "truncated": False},
        "terminal/release": {},
    }
    async with open_session(cwd, answers=answers, capabilities={"terminal": True}) as session:
        await session.turn("run echo hi")
    assert session.client.requested[1:] == [
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
    ]
    (call,) = session.calls
    assert call["content"] == [{"type": "terminal", "terminalId": "t1"}]
    assert call["rawOutput"] == {"exitCode": 0}
    assert "hi" in session.text


async def test_nothing_runs_on_after_a_cancelled_turn_and_nothing_is_told(cwd: Path) -> None:
    """Also of a program that does not want to end."""
    program = (
        'call run {"command":["sh","-c","trap \'\' TERM; echo $$; while :; do sleep 0.05; done"]}'
    )

    def written() -> list[str]:
        updates = [each for each in session.of("tool_call_update") if each.get("content")]
        return [update["content"][0]["content"]["text"] for update in updates]

    ends: list[tuple[str, int]] = []
    async with open_session(cwd) as session:

        async def prompt() -> None:
            ends.append((await session.turn(program), len(session.updates)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(prompt)
            await session.client.until(written)
            await session.cancel()
    assert ends == [("cancelled", len(session.updates))]
    pid = int(written()[0].split("\n")[1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_mode_that_forbids_says_so(cwd: Path) -> None:
    async with open_session(cwd, mode="architect") as session:
        await session.turn("run ls")
    assert session.calls[0]["rawOutput"] == {"error": "this mode changes nothing and runs nothing"}


async def test_a_mode_that_was_set_while_the_user_was_asked_has_the_last_word(cwd: Path) -> None:
    async def set_mode_and_allow(params: Json) -> Json:
        del params
        await session.ask("session/set_mode", modeId="architect")
        return selected("allow")

    async with open_session(cwd, permission=set_mode_and_allow) as session:
        assert await session.turn("delete notes.md") == "end_turn"
    (call,) = session.calls
    assert call["statuses"] == ["pending", "failed"]
    assert call["rawOutput"] == {"error": "this mode changes nothing and runs nothing"}
    assert (cwd / "notes.md").exists()


async def test_arguments_that_make_no_sense_fail_the_call(cwd: Path) -> None:
    async with open_session(cwd) as session:
        assert await session.turn("edit notes.md: cheese => bread") == "end_turn"
    (call,) = session.calls
    assert call["statuses"] == ["pending", "failed"]
    assert "does not hold the text 'cheese'" in session.text


class BrokenTool:
    """A tool with a mistake in it."""

    offer = ToolSpec("read", "", {})
    kind: ToolKind = "read"

    def __init__(self, *, is_early: bool) -> None:
        self._is_early = is_early

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        del arguments, workspace
        if self._is_early:
            raise ZeroDivisionError("inside")

        async def run(report: ReportContent) -> Outcome:
            raise ZeroDivisionError("inside")

        return PreparedCall("Break", self.kind, run)


@pytest.mark.parametrize("is_early", [True, False])
async def test_a_mistake_of_ours_fails_the_call_alone_and_says_nothing_of_our_inside(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_early: bool
) -> None:
    monkeypatch.setitem(TOOLS, "read", BrokenTool(is_early=is_early))
    async with open_session(cwd) as session:
        assert await session.turn("read notes.md") == "end_turn"
    assert session.calls[0]["status"] == "failed"
    assert session.calls[0]["rawOutput"] == {"error": "failed by a mistake of the agent's"}
    assert b"inside" not in b"".join(session.client.received)
    assert "ZeroDivisionError: inside" in caplog.text
