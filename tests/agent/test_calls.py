"""A tool call as the user sees it, from `pending` to its last status."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import pytest

from acp_agent.models.model import ToolOffer
from acp_agent.tools.catalogue import TOOLS
from acp_agent.tools.tool import Call, Kind, Outcome, Report
from acp_agent.workspace import Workspace
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.conftest import selected, talk


async def test_reading_is_shown_and_needs_no_consent(cwd: Path) -> None:
    async with talk(cwd) as it:
        assert await it.prompt("read notes.md") == "end_turn"
    (call,) = it.client.calls
    path = str(cwd / "notes.md")
    assert call["toolCallId"] == "call_1"
    assert (call["name"], call["title"], call["kind"]) == ("read", "Read notes.md", "read")
    assert call["statuses"] == ["pending", "in_progress", "completed"]
    assert call["locations"] == [{"path": path}]
    assert (call["rawInput"], call["rawOutput"]) == ({"path": "notes.md"}, {"lines": 4})
    assert "Buy milk." in call["content"][0]["content"]["text"]
    assert it.client.asked == []


async def test_an_edit_is_shown_with_both_texts_before_it_is_asked_for(cwd: Path) -> None:
    before = (cwd / "notes.md").read_text()
    answers: dict[str, Json] = {"session/request_permission": selected("allow")}
    async with talk(cwd, answers=answers) as it:
        await it.prompt("edit notes.md: milk => bread")
    after = before.replace("milk", "bread")
    assert (cwd / "notes.md").read_text() == after
    (asked,) = it.client.asked
    diff = {"type": "diff", "path": str(cwd / "notes.md"), "oldText": before, "newText": after}
    assert asked.params["toolCall"]["content"] == [diff]
    assert asked.params["toolCall"]["toolCallId"] == "call_1"
    assert [option["kind"] for option in asked.params["options"]] == [
        "allow_once",
        "allow_always",
        "allow_always",
        "reject_once",
        "reject_always",
    ]
    (call,) = it.client.calls
    assert call["content"] == [diff]
    assert call["statuses"] == ["pending", "in_progress", "completed"]


@pytest.mark.parametrize("option", ["reject", "reject-always", "something-else", ""])
async def test_what_was_not_allowed_is_not_done(cwd: Path, option: str) -> None:
    answers: dict[str, Json] = {"session/request_permission": selected(option)}
    async with talk(cwd, answers=answers) as it:
        assert await it.prompt("edit notes.md: milk => bread") == "end_turn"
    (call,) = it.client.calls
    assert call["statuses"] == ["pending", "failed"]
    assert [block["type"] for block in call["content"]] == ["diff", "content"]
    assert call["rawOutput"] == {"error": "rejected by the user"}
    assert "milk" in (cwd / "notes.md").read_text()


@pytest.mark.parametrize("answer", [{}, {"outcome": "allow"}, {"outcome": {"optionId": "allow"}}])
async def test_a_broken_answer_is_no_consent(cwd: Path, answer: Json) -> None:
    async with talk(cwd, answers={"session/request_permission": answer}) as it:
        assert await it.prompt("delete notes.md") == "end_turn"
    assert (cwd / "notes.md").exists()


async def test_a_client_that_cannot_ask_has_not_consented(cwd: Path) -> None:
    async with talk(cwd) as it:
        assert await it.prompt("delete notes.md") == "end_turn"
    assert (cwd / "notes.md").exists()
    assert it.client.calls[0]["statuses"] == ["pending", "failed"]


async def test_always_holds_for_the_same_kind_and_program_only(cwd: Path) -> None:
    answers: dict[str, Json] = {"session/request_permission": selected("allow-always")}
    async with talk(cwd, answers=answers) as it:
        await it.prompt("run echo a\nrun echo b\nrun true\nwrite x: 1\nedit x: 1 => 2\ndelete x")
    titles = [request.params["toolCall"]["title"] for request in it.client.asked]
    assert titles == ["Run echo a", "Run true", "Write x", "Delete x"]
    assert all(call["statuses"][-1] == "completed" for call in it.client.calls)


async def test_a_mode_that_forbids_says_so(cwd: Path) -> None:
    async with talk(cwd, mode="read-only") as it:
        await it.prompt("run ls")
    assert it.client.calls[0]["rawOutput"] == {
        "error": "this mode changes nothing and runs nothing"
    }


async def test_arguments_that_make_no_sense_fail_the_call(cwd: Path) -> None:
    async with talk(cwd) as it:
        assert await it.prompt("edit notes.md: cheese => bread") == "end_turn"
    (call,) = it.client.calls
    assert call["statuses"] == ["pending", "failed"]
    assert "does not hold the text 'cheese'" in it.client.text


class BrokenTool:
    """A tool with a mistake in it."""

    offer = ToolOffer("read", "", {})
    kind: Kind = "read"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        del arguments, workspace

        async def run(report: Report) -> Outcome:
            raise ZeroDivisionError("inside")

        return Call("Break", self.kind, run)


async def test_a_mistake_of_ours_ends_the_call_and_says_nothing_of_our_inside(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(TOOLS, "read", BrokenTool())
    with caplog.at_level(logging.CRITICAL):
        async with talk(cwd) as it:
            with pytest.raises(RequestFailedError) as raised:
                await it.prompt("read notes.md")
            assert await it.prompt("hello") == "end_turn"
    assert (raised.value.code, raised.value.message) == (jsonrpc.INTERNAL_ERROR, "Internal error")
    assert it.client.calls[0]["statuses"] == ["pending", "in_progress", "failed"]
    assert b"inside" not in b"".join(it.wire)
