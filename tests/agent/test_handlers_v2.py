"""Version 2, from the client: prompts that are answered at once, states, resuming."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import anyio
import pytest

from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import LIMIT, selected
from tests.agent.client_v2 import Broken, Waiting, code_of, talk


async def test_each_version_has_its_own_methods(cwd: Path) -> None:
    async with talk(cwd) as it:
        params = {"sessionId": it.session_id, "modeId": "auto"}
        code = await code_of(it.connection, "session/set_mode", params)
        assert code == jsonrpc.METHOD_NOT_FOUND


async def test_a_prompt_is_answered_at_once_and_its_turn_lies_between_two_states(
    cwd: Path,
) -> None:
    async with talk(cwd) as it:
        assert await it.turn("hello") == ("idle", "end_turn")
        echo = it.client.updates[0]
        assert echo["sessionUpdate"] == "user_message"
        assert echo["content"] == [{"type": "text", "text": "hello"}]
        assert it.client.states() == [("running", None), ("idle", "end_turn")]
        chunks = [u for u in it.client.updates if u["sessionUpdate"] == "agent_message_chunk"]
        assert len({chunk["messageId"] for chunk in chunks}) == 1
        assert chunks[0]["messageId"] != echo["messageId"]


async def test_the_echo_has_the_id_of_the_answer(cwd: Path) -> None:
    async with talk(cwd) as it:
        message_id = await it.prompt("hello")
        await it.client.until(lambda: it.client.states()[-1:] == [("idle", "end_turn")])
        assert it.client.updates[0]["messageId"] == message_id


async def test_a_tool_call_asks_with_a_title_and_shows_its_diff_as_a_patch(cwd: Path) -> None:
    async with talk(cwd, answer=selected("allow")) as it:
        assert await it.turn("write greeting.txt: hello") == ("idle", "end_turn")
        (question,) = it.client.asked
        assert question.params["title"]
        assert question.params["subject"]["type"] == "tool_call"
        calls = [u for u in it.client.updates if u["sessionUpdate"] == "tool_call_update"]
        assert "tool_call" not in it.client.kinds()
        assert [call["status"] for call in calls] == ["pending", "in_progress", "completed"]
        (diff,) = [block for block in calls[0]["content"] if block["type"] == "diff"]
        assert diff["changes"][0]["operation"] == "add"
        assert diff["patch"]["text"].endswith("@@ -0,0 +1 @@\n+hello\n")
    assert (cwd / "greeting.txt").read_text() == "hello\n"


async def test_cancel_ends_the_turn_with_a_state_and_withdraws_the_question(cwd: Path) -> None:
    async with talk(cwd) as it:
        await it.prompt("write greeting.txt: hello")
        await it.client.until(lambda: it.client.asked)
        await it.cancel()
        await it.client.until(lambda: it.client.states()[-1:] == [("idle", "cancelled")])
        assert it.client.updates[-2]["status"] == "cancelled"
    assert not (cwd / "greeting.txt").exists()


async def test_a_prompt_during_a_turn_is_held_and_then_has_its_own(cwd: Path) -> None:
    model = Waiting()
    async with talk(cwd, model=model) as it, anyio.create_task_group() as tasks:
        await it.prompt("first")
        await model.begun.wait()
        answered = anyio.Event()

        async def second() -> None:
            await it.prompt("second")
            answered.set()

        tasks.start_soon(second)
        await it.ask("session/set_config_option", configId="mode", type="id", value="auto")
        assert not answered.is_set()
        model.go_on.set()
        await answered.wait()
        await it.client.until(lambda: len(it.client.states()) == 4)
        said = [u["content"] for u in it.client.updates if u["sessionUpdate"] == "user_message"]
        assert [content[0]["text"] for content in said] == ["first", "second"]


@pytest.mark.parametrize("how", ["session/cancel", "$/cancel_request", "session/close"])
async def test_a_held_prompt_that_is_dropped_never_stood_in_the_conversation(
    cwd: Path, how: str
) -> None:
    model, codes = Waiting(), list[int]()
    async with talk(cwd, model=model) as it, anyio.create_task_group() as tasks:
        await it.prompt("first")
        await model.begun.wait()
        scope = anyio.CancelScope()

        async def second() -> None:
            with scope:
                prompt = [{"type": "text", "text": "second"}]
                params = {"sessionId": it.session_id, "prompt": prompt}
                codes.append(await code_of(it.connection, "session/prompt", params))

        tasks.start_soon(second)
        await it.ask("session/set_config_option", configId="mode", type="id", value="auto")
        if how == "$/cancel_request":
            scope.cancel()
            await it.cancel()
        elif how == "session/cancel":
            await it.cancel()
        else:
            await it.ask("session/close")
        await it.client.until(lambda: it.client.states()[-1:] == [("idle", "cancelled")])
        said = [u for u in it.client.updates if u["sessionUpdate"] == "user_message"]
        assert len(said) == 1
        tasks.cancel_scope.deadline = anyio.current_time() + LIMIT
    assert codes == ([] if how == "$/cancel_request" else [jsonrpc.REQUEST_CANCELLED])


async def test_what_fails_after_the_answer_is_told_by_the_state(
    cwd: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with talk(cwd, model=Broken()) as it:
        assert await it.turn("hello") == ("idle", "error")
        state = it.client.updates[-1]
        assert state["error"] == {"code": jsonrpc.INTERNAL_ERROR, "message": "Internal error"}
        assert await it.turn("again") == ("idle", "error")
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
    async with talk(cwd) as it:
        await it.turn("hello")
        told = said(it.client.updates)
        await it.ask("session/close")
        code = await code_of(
            it.connection,
            "session/prompt",
            {"sessionId": it.session_id, "prompt": [{"type": "text", "text": "x"}]},
        )
        assert code == jsonrpc.RESOURCE_NOT_FOUND
        it.client.updates.clear()
        again = await it.ask("session/resume", cwd=str(cwd), replayFrom={"type": "start"})
        assert again["configOptions"] == it.opened["configOptions"]
        assert it.client.updates[-1] == {"sessionUpdate": "state_update", "state": "idle"}
        assert len(it.client.states()) == 1
        assert said(it.client.updates) == told
        assert await it.turn("and more") == ("idle", "end_turn")


async def test_without_a_cursor_nothing_is_told_again_but_the_state(cwd: Path) -> None:
    async with talk(cwd) as it:
        await it.turn("hello")
        it.client.updates.clear()
        await it.ask("session/resume", cwd=str(cwd))
        assert it.client.updates == [{"sessionUpdate": "state_update", "state": "idle"}]


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
    async with talk(cwd) as it:
        params = {"sessionId": it.session_id} | params
        if "cwd" in params and params["cwd"] is None:
            params["cwd"] = str(cwd)
        assert await code_of(it.connection, method, params) == jsonrpc.INVALID_PARAMS


async def test_a_mode_is_an_option_and_its_change_is_told(cwd: Path) -> None:
    async with talk(cwd) as it:
        mode, *others = it.opened["configOptions"]
        assert [option["configId"] for option in others] == ["model", "thinking", "policy"]
        assert (mode["category"], mode["currentValue"]) == ("mode", "ask")
        answer = await it.ask(
            "session/set_config_option", configId="mode", type="id", value="read-only"
        )
        assert answer["configOptions"][0]["currentValue"] == "architect"
        assert it.client.kinds() == ["config_option_update"]


async def test_sessions_are_listed_and_a_missing_one_may_be_closed(cwd: Path) -> None:
    async with talk(cwd) as it:
        listed = await it.connection.request("session/list", {})
        assert [session["sessionId"] for session in listed["sessions"]] == [it.session_id]
        assert await it.connection.request("session/close", {"sessionId": "gone"}) == {}


async def test_commands_come_with_the_session(cwd: Path) -> None:
    async with talk(cwd) as it:
        assert {command["type"] for command in it.opened["availableCommands"]} == {"command"}


async def test_a_replay_comes_before_what_goes_on_meanwhile(cwd: Path) -> None:
    async with talk(cwd, answer=None) as it:
        await it.turn("hello")
        before = said(it.client.updates)
        await it.prompt("write greeting.txt: hello")
        await it.client.until(lambda: it.client.asked)
        it.client.updates.clear()
        await it.ask("session/resume", cwd=str(cwd), replayFrom={"type": "start"})
        assert said(it.client.updates)[: len(before)] == before
        assert it.client.states() == [("requires_action", None)]
        await it.cancel()
        await it.client.until(lambda: it.client.states()[-1:] == [("idle", "cancelled")])


async def test_a_turn_that_is_cancelled_before_it_begins_does_nothing(cwd: Path) -> None:
    async with talk(cwd) as it:
        await it.ask("session/set_config_option", configId="mode", type="id", value="auto")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(it.prompt, "write greeting.txt: hello")
            tasks.start_soon(it.cancel)
        await it.client.until(lambda: it.client.states()[-1:] == [("idle", "cancelled")])
    assert not (cwd / "greeting.txt").exists()


async def test_asking_for_consent_is_a_state_of_its_own(cwd: Path) -> None:
    async with talk(cwd, answer=selected("reject")) as it:
        await it.turn("write greeting.txt: hello")
        names = [state for state, _ in it.client.states()]
        assert names == ["running", "requires_action", "running", "idle"]


async def test_servers_that_were_not_offered_are_refused(cwd: Path) -> None:
    async with talk(cwd) as it:
        server = {"type": "sse", "name": "a", "url": "http://localhost"}
        params = {"cwd": str(cwd), "mcpServers": [server]}
        assert await code_of(it.connection, "session/new", params) == jsonrpc.INVALID_PARAMS


async def test_a_tool_call_is_ended_by_itself_and_the_turn_goes_on(cwd: Path) -> None:
    async with talk(cwd, answer=selected("allow")) as it:
        await it.prompt("run sleep 60 then read notes.md")
        await it.client.until(lambda: calls(it.client.updates).get("call_1", {}).get("status"))
        await it.client.until(
            lambda: calls(it.client.updates)["call_1"].get("capabilities") == {"cancel": {}}
        )
        assert await it.ask("tool_call/cancel", toolCallId="call_1") == {}
        await it.client.until(lambda: it.client.states()[-1:] == [("idle", "end_turn")])
        ended = calls(it.client.updates)
        assert (ended["call_1"]["status"], ended["call_1"]["capabilities"]) == ("cancelled", None)
        assert ended["call_2"]["status"] == "completed"
        params = {"sessionId": it.session_id, "toolCallId": "call_1"}
        assert await code_of(it.connection, "tool_call/cancel", params) == jsonrpc.INVALID_PARAMS


async def test_a_terminal_is_ended_by_itself_and_the_turn_goes_on(cwd: Path) -> None:
    def terminals() -> list[Json]:
        updates = it.client.updates
        return [each for each in updates if each["sessionUpdate"] == "terminal_update"]

    async with talk(cwd, answer=selected("allow")) as it:
        await it.prompt("run sleep 60 then think")
        await it.client.until(terminals)
        [shown] = terminals()
        assert shown["capabilities"] == {"cancel": {}}
        assert await it.ask("terminal/cancel", terminalId=shown["terminalId"]) == {}
        await it.client.until(lambda: it.client.states()[-1:] == [("idle", "end_turn")])
        assert terminals()[-1]["capabilities"] is None
        params = {"sessionId": it.session_id, "terminalId": shown["terminalId"]}
        assert await code_of(it.connection, "terminal/cancel", params) == jsonrpc.INVALID_PARAMS


async def test_what_a_call_adds_to_its_content_is_told_by_itself(cwd: Path) -> None:
    async with talk(cwd, answer=selected("allow")) as it:
        await it.turn("run false")
        [chunk] = [
            update["content"]["content"]["text"]
            for update in it.client.updates
            if update["sessionUpdate"] == "tool_call_content_chunk"
        ]
        assert "exited with code 1" in chunk
        contents = [
            update["content"]
            for update in it.client.updates
            if update["sessionUpdate"] == "tool_call_update" and "content" in update
        ]
        assert len(contents) == 1


async def test_a_message_is_told_again_as_a_whole(cwd: Path) -> None:
    async with talk(cwd) as it:
        await it.turn("think of it then plan")
        it.client.updates.clear()
        await it.ask("session/resume", cwd=str(cwd), replayFrom={"type": "start"})
        kinds = it.client.kinds()
        assert kinds.count("agent_thought") == 1
        assert kinds.index("agent_message") < kinds.index("plan_update")


async def test_a_client_that_cannot_ask_is_not_waited_for_any_more(cwd: Path) -> None:
    no = RequestFailedError(jsonrpc.METHOD_NOT_FOUND, "Method not found")
    async with talk(cwd, answer=no) as it:
        await it.turn("write greeting.txt: hello then think")
        names = [state for state, _ in it.client.states()]
        assert names == ["running", "requires_action", "running", "idle"]


def calls(updates: list[Json]) -> dict[str, dict[str, Json]]:
    """Return the tool calls as their updates leave them."""
    calls: dict[str, dict[str, Json]] = {}
    for update in updates:
        if update["sessionUpdate"] == "tool_call_update":
            calls.setdefault(update["toolCallId"], {}).update(update)
    return calls
