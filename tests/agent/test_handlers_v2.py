"""Version 2, from the client: prompts that are answered at once, states, resuming."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import cast

import anyio
import pytest

from acp_agent.models.types import HistoryEntry, ModelEvent, SlashCommand, TextDelta, ToolSpec
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import LIMIT, SILENCE, open_session, selected


class Waiting:
    """A model that speaks when it is let."""

    name = "waiting"
    commands: Sequence[SlashCommand] = ()

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.go_on = anyio.Event()

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del history, tools
        self.begun.set()
        await self.go_on.wait()
        yield TextDelta("done")


class Broken:
    """A model that fails."""

    name = "broken"
    commands: Sequence[SlashCommand] = ()

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del history, tools
        yield TextDelta("well")
        raise RuntimeError("a secret of ours")


async def test_each_version_has_its_own_methods(cwd: Path) -> None:
    async with open_session(cwd, 2, lints=False) as session:
        code = (await session.refusal("session/set_mode", modeId="auto")).code
        assert code == jsonrpc.METHOD_NOT_FOUND


async def test_a_prompt_is_answered_at_once_and_its_turn_lies_between_two_states(
    cwd: Path,
) -> None:
    async with open_session(cwd, 2) as session:
        assert await session.turn("hello") == "end_turn"
        echo = session.updates[0]
        assert echo["sessionUpdate"] == "user_message"
        assert echo["content"] == [{"type": "text", "text": "hello"}]
        assert session.states() == [("running", None), ("idle", "end_turn")]
        chunks = [u for u in session.updates if u["sessionUpdate"] == "agent_message_chunk"]
        assert len({chunk["messageId"] for chunk in chunks}) == 1
        assert chunks[0]["messageId"] != echo["messageId"]


async def test_the_echo_has_the_id_of_the_answer(cwd: Path) -> None:
    async with open_session(cwd, 2) as session:
        message_id = (await session.prompt("hello"))["messageId"]
        await session.ends("end_turn")
        assert session.updates[0]["messageId"] == message_id


async def test_a_tool_call_asks_with_a_title_and_shows_its_diff_as_a_patch(cwd: Path) -> None:
    async with open_session(cwd, 2) as session:
        assert await session.turn("write greeting.txt: hello") == "end_turn"
        (question,) = session.client.requests
        assert question.params["title"]
        assert question.params["subject"]["type"] == "tool_call"
        calls = [u for u in session.updates if u["sessionUpdate"] == "tool_call_update"]
        assert "tool_call" not in session.client.kinds()
        assert [call["status"] for call in calls] == ["pending", "in_progress", "completed"]
        (diff,) = [block for block in calls[0]["content"] if block["type"] == "diff"]
        assert diff["changes"][0]["operation"] == "add"
        assert diff["patch"]["text"].endswith("@@ -0,0 +1 @@\n+hello\n")
    assert (cwd / "greeting.txt").read_text() == "hello\n"


async def test_cancel_ends_the_turn_with_a_state_and_withdraws_the_question(cwd: Path) -> None:
    async with open_session(cwd, 2, permission=SILENCE) as session:
        await session.prompt("write greeting.txt: hello")
        await session.client.until(lambda: session.client.requests)
        await session.cancel()
        await session.ends("cancelled")
        assert session.updates[-2]["status"] == "cancelled"
    assert not (cwd / "greeting.txt").exists()


async def test_a_prompt_during_a_turn_is_held_and_then_has_its_own(cwd: Path) -> None:
    model = Waiting()
    async with open_session(cwd, 2, model=model) as session, anyio.create_task_group() as tasks:
        await session.prompt("first")
        await model.begun.wait()
        answered = anyio.Event()

        async def second() -> None:
            await session.prompt("second")
            answered.set()

        tasks.start_soon(second)
        await session.ask("session/set_config_option", configId="mode", type="id", value="code")
        assert not answered.is_set()
        model.go_on.set()
        await answered.wait()
        await session.client.until(lambda: len(session.states()) == 4)
        said = [u["content"] for u in session.updates if u["sessionUpdate"] == "user_message"]
        assert [content[0]["text"] for content in said] == ["first", "second"]


@pytest.mark.parametrize("how", ["session/cancel", "$/cancel_request", "session/close"])
async def test_a_held_prompt_that_is_dropped_never_stood_in_the_conversation(
    cwd: Path, how: str
) -> None:
    model, codes = Waiting(), list[int]()
    async with open_session(cwd, 2, model=model) as session, anyio.create_task_group() as tasks:
        await session.prompt("first")
        await model.begun.wait()
        scope = anyio.CancelScope()

        async def second() -> None:
            with scope:
                prompt = [{"type": "text", "text": "second"}]
                codes.append((await session.refusal("session/prompt", prompt=prompt)).code)

        tasks.start_soon(second)
        await session.ask("session/set_config_option", configId="mode", type="id", value="code")
        if how == "$/cancel_request":
            scope.cancel()
            await session.cancel()
        elif how == "session/cancel":
            await session.cancel()
        else:
            await session.ask("session/close")
        await session.ends("cancelled")
        said = [u for u in session.updates if u["sessionUpdate"] == "user_message"]
        assert len(said) == 1
        tasks.cancel_scope.deadline = anyio.current_time() + LIMIT
    assert codes == ([] if how == "$/cancel_request" else [jsonrpc.REQUEST_CANCELLED])


async def test_what_fails_after_the_answer_is_told_by_the_state(
    cwd: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_session(cwd, 2, model=Broken()) as session:
        assert await session.turn("hello") == "error"
        state = session.updates[-1]
        assert state["error"] == {"code": jsonrpc.INTERNAL_ERROR, "message": "Internal error"}
        assert await session.turn("again") == "error"
    assert "a secret of ours" in caplog.text


def said(updates: list[Json]) -> list[tuple[str, str, str]]:
    """Return kind, id and text of the messages in `updates`, whatever pieces they came in."""
    messages: dict[tuple[str, str], str] = {}
    for update in updates:
        if "messageId" in update:
            content = update["content"]
            blocks = cast("list[Json]", content) if isinstance(content, list) else [content]
            key = update["sessionUpdate"].removesuffix("_chunk"), update["messageId"]
            messages[key] = messages.get(key, "") + "".join(block["text"] for block in blocks)
    return [(*key, text) for key, text in messages.items()]


async def test_a_session_is_resumed_with_all_that_was_said(cwd: Path) -> None:
    async with open_session(cwd, 2, lints=False) as session:
        await session.turn("hello")
        told = said(session.updates)
        await session.ask("session/close")
        refused = await session.refusal("session/prompt", prompt=[{"type": "text", "text": "x"}])
        assert refused.code == jsonrpc.RESOURCE_NOT_FOUND
        session.client.notifications.clear()
        again = await session.ask("session/resume", cwd=str(cwd), replayFrom={"type": "start"})
        assert again["configOptions"] == session.opened["configOptions"]
        assert session.updates[-1] == {"sessionUpdate": "state_update", "state": "idle"}
        assert len(session.states()) == 1
        assert said(session.updates) == told
        assert await session.turn("and more") == "end_turn"


async def test_without_a_cursor_nothing_is_told_again_but_the_state(cwd: Path) -> None:
    async with open_session(cwd, 2) as session:
        await session.turn("hello")
        session.client.notifications.clear()
        await session.ask("session/resume", cwd=str(cwd))
        assert session.updates == [{"sessionUpdate": "state_update", "state": "idle"}]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/resume", {"cwd": "/"}),
        ("session/resume", {"cwd": None, "replayFrom": "start"}),
        ("session/resume", {"cwd": None, "replayFrom": {"type": "_mine"}}),
        ("session/prompt", {"prompt": []}),
        ("session/prompt", {"prompt": [{"type": "image", "data": "", "mimeType": "image/png"}]}),
        ("session/set_config_option", {"configId": "nope", "type": "id", "value": "auto"}),
        ("session/set_config_option", {"configId": "mode", "type": "id", "value": "nope"}),
        ("session/set_config_option", {"configId": "mode", "type": "boolean", "value": True}),
        ("tool_call/cancel", {"toolCallId": "call_1"}),
        ("terminal/cancel", {"terminalId": "t"}),
    ],
)
async def test_what_makes_no_sense_is_refused(cwd: Path, method: str, params: Json) -> None:
    async with open_session(cwd, 2, lints=False) as session:
        if "cwd" in params and params["cwd"] is None:
            params = params | {"cwd": str(cwd)}
        assert (await session.refusal(method, **params)).code == jsonrpc.INVALID_PARAMS


async def test_a_mode_is_an_option_and_its_change_is_told(cwd: Path) -> None:
    async with open_session(cwd, 2, lints=False) as session:
        mode, *others = session.opened["configOptions"]
        assert [option["configId"] for option in others] == ["model", "thinking", "policy"]
        assert (mode["category"], mode["currentValue"]) == ("mode", "ask")
        answer = await session.ask(
            "session/set_config_option", configId="mode", type="id", value="read-only"
        )
        assert answer["configOptions"][0]["currentValue"] == "architect"
        assert session.client.kinds() == ["config_option_update"]


async def test_sessions_are_listed_and_a_missing_one_may_be_closed(cwd: Path) -> None:
    async with open_session(cwd, 2) as session:
        listed = await session.client.connection.request("session/list", {})
        assert [session["sessionId"] for session in listed["sessions"]] == [session.id]
        assert await session.client.connection.request("session/close", {"sessionId": "gone"}) == {}


async def test_commands_come_with_the_session(cwd: Path) -> None:
    async with open_session(cwd, 2) as session:
        assert {command["type"] for command in session.opened["availableCommands"]} == {"command"}


async def test_a_replay_comes_before_what_goes_on_meanwhile(cwd: Path) -> None:
    async with open_session(cwd, 2, permission=SILENCE) as session:
        await session.turn("hello")
        before = said(session.updates)
        await session.prompt("write greeting.txt: hello")
        await session.client.until(lambda: session.client.requests)
        session.client.notifications.clear()
        await session.ask("session/resume", cwd=str(cwd), replayFrom={"type": "start"})
        assert said(session.updates)[: len(before)] == before
        assert session.states() == [("requires_action", None)]
        await session.cancel()
        await session.ends("cancelled")


async def test_a_turn_that_is_cancelled_before_it_begins_does_nothing(cwd: Path) -> None:
    async with open_session(cwd, 2) as session:
        await session.ask("session/set_config_option", configId="mode", type="id", value="code")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.prompt, "write greeting.txt: hello")
            tasks.start_soon(session.cancel)
        await session.ends("cancelled")
    assert not (cwd / "greeting.txt").exists()


async def test_asking_for_consent_is_a_state_of_its_own(cwd: Path) -> None:
    async with open_session(cwd, 2, permission=selected("reject")) as session:
        await session.turn("write greeting.txt: hello")
        names = [state for state, _ in session.states()]
        assert names == ["running", "requires_action", "running", "idle"]


async def test_servers_that_were_not_offered_are_refused(cwd: Path) -> None:
    async with open_session(cwd, 2, lints=False) as session:
        server = {"type": "sse", "name": "a", "url": "http://localhost"}
        refused = await session.client.refusal("session/new", cwd=str(cwd), mcpServers=[server])
        assert refused.code == jsonrpc.INVALID_PARAMS


async def test_a_tool_call_is_ended_by_itself_and_the_turn_goes_on(cwd: Path) -> None:
    async with open_session(cwd, 2) as session:
        await session.prompt("run sleep 60 then read notes.md")
        await session.client.until(lambda: calls(session.updates).get("call_1", {}).get("status"))
        await session.client.until(
            lambda: calls(session.updates)["call_1"].get("capabilities") == {"cancel": {}}
        )
        assert await session.ask("tool_call/cancel", toolCallId="call_1") == {}
        await session.ends("end_turn")
        ended = calls(session.updates)
        assert (ended["call_1"]["status"], ended["call_1"]["capabilities"]) == ("cancelled", None)
        assert ended["call_2"]["status"] == "completed"
        refused = await session.refusal("tool_call/cancel", toolCallId="call_1")
        assert refused.code == jsonrpc.INVALID_PARAMS


async def test_a_terminal_is_ended_by_itself_and_the_turn_goes_on(cwd: Path) -> None:
    def terminals() -> list[Json]:
        updates = session.updates
        return [each for each in updates if each["sessionUpdate"] == "terminal_update"]

    async with open_session(cwd, 2) as session:
        await session.prompt("run sleep 60 then think")
        await session.client.until(terminals)
        [shown] = terminals()
        assert shown["capabilities"] == {"cancel": {}}
        assert await session.ask("terminal/cancel", terminalId=shown["terminalId"]) == {}
        await session.ends("end_turn")
        assert terminals()[-1]["capabilities"] is None
        refused = await session.refusal("terminal/cancel", terminalId=shown["terminalId"])
        assert refused.code == jsonrpc.INVALID_PARAMS


async def test_what_a_call_adds_to_its_content_is_told_by_itself(cwd: Path) -> None:
    async with open_session(cwd, 2) as session:
        await session.turn("run false")
        [chunk] = [
            update["content"]["content"]["text"]
            for update in session.updates
            if update["sessionUpdate"] == "tool_call_content_chunk"
        ]
        assert "exited with code 1" in chunk
        contents = [
            update["content"]
            for update in session.updates
            if update["sessionUpdate"] == "tool_call_update" and "content" in update
        ]
        assert len(contents) == 1


async def test_a_message_is_told_again_as_a_whole(cwd: Path) -> None:
    async with open_session(cwd, 2) as session:
        await session.turn("think of it then plan")
        session.client.notifications.clear()
        await session.ask("session/resume", cwd=str(cwd), replayFrom={"type": "start"})
        kinds = session.client.kinds()
        assert kinds.count("agent_thought") == 1
        assert kinds.index("agent_message") < kinds.index("plan_update")


async def test_a_client_that_cannot_ask_is_not_waited_for_any_more(cwd: Path) -> None:
    no = RequestFailedError(jsonrpc.METHOD_NOT_FOUND, "Method not found")
    async with open_session(cwd, 2, permission=no, lints=False) as session:
        await session.turn("write greeting.txt: hello then think")
        names = [state for state, _ in session.states()]
        assert names == ["running", "requires_action", "running", "idle"]


def calls(updates: list[Json]) -> dict[str, dict[str, Json]]:
    """Return the tool calls as their updates leave them."""
    calls: dict[str, dict[str, Json]] = {}
    for update in updates:
        if update["sessionUpdate"] == "tool_call_update":
            calls.setdefault(update["toolCallId"], {}).update(update)
    return calls
