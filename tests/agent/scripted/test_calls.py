"""What a script's functions send and ask for, in both versions of the protocol."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from acp_protocol.jsonrpc import Json
from tests.agent.scripted.stage import HELLO, Message, Responder, playing, running

VERSIONS = pytest.mark.parametrize("version", [1, 2])
TWO = "agent = Agent(protocol=2)\n"


def outcome(option: str | None) -> Responder:
    chosen: Json = {"outcome": "cancelled"}
    if option is not None:
        chosen = {"outcome": "selected", "optionId": option}

    def respond(message: Message) -> Json:
        del message
        return {"result": {"outcome": chosen}}

    return respond


async def test_without_functions_the_agent_repeats_each_prompt(tmp_path: Path) -> None:
    async with running(tmp_path, "agent = Agent(name='mirror')") as client:
        hello = await client.ask("initialize", **HELLO[1])
        assert hello["result"]["agentInfo"]["name"] == "mirror"
        await client.ask("session/new", cwd="/project", mcpServers=[])
        assert await client.prompt("again") == "end_turn"
        assert client.text == "again"


@VERSIONS
async def test_text_and_thoughts_are_sent_in_pieces(tmp_path: Path, version: int) -> None:
    script = f"""{TWO}
async def prompt(call):
    await call.thought("Hm", pieces="characters")
    await call.text("one two", pieces="words")
    await call.text("abcd", pieces=2)
    await call.text("random pieces of a text", pieces="random")
"""
    async with running(tmp_path, script) as client:
        await client.open(version)
        assert await client.prompt() == "end_turn"
        thoughts = [each for each in client.updates if "thought" in each["sessionUpdate"]]
        assert [each["content"]["text"] for each in thoughts] == ["H", "m"]
        assert client.text == "one twoabcdrandom pieces of a text"
        ids = {each.get("messageId") for each in thoughts}
        assert len(ids) == 1
        assert (None in ids) == (version == 1)


@VERSIONS
async def test_tool_calls_are_created_changed_and_shown(tmp_path: Path, version: int) -> None:
    script = f"""{TWO}
async def prompt(call):
    diff = (f"{{call.cwd}}/a.txt", "old\\n", "new\\n")
    await call.tool("c", title="Edit", kind="edit", diff=diff, locations=["/project/a.txt"])
    await call.show_more("c", "more")
    await call.tool("c", status="completed", rawOutput={{"lines": 1}})
"""
    async with running(tmp_path, script) as client:
        await client.open(version)
        await client.prompt()
        first, *_, last = [each for each in client.updates if each.get("toolCallId") == "c"]
        assert first["locations"] == [{"path": "/project/a.txt"}]
        assert (first["title"], first["status"]) == ("Edit", "pending")
        assert first["sessionUpdate"] == ("tool_call" if version == 1 else "tool_call_update")
        assert ("oldText" in first["content"][0]) == (version == 1)
        assert (last["status"], last["rawOutput"]) == ("completed", {"lines": 1})
        assert ("tool_call_content_chunk" in client.kinds) == (version == 2)


@VERSIONS
async def test_a_terminal_of_the_agent_is_shown_as_the_version_can(
    tmp_path: Path, version: int
) -> None:
    script = f"""{TWO}
async def prompt(call):
    await call.tool("c", title="ls", kind="execute", status="in_progress")
    await call.terminal("c", "ls", "a\\n")
    await call.terminal("c", "ls", "a\\nb\\n", exit_code=0)
"""
    async with running(tmp_path, script) as client:
        await client.open(version)
        await client.prompt()
        if version == 1:
            assert "a\nb" in client.updates[-1]["content"][0]["content"]["text"]
        else:
            terminals = [each for each in client.updates if "terminal" in each["sessionUpdate"]]
            assert [each["sessionUpdate"] for each in terminals] == [
                "terminal_update",
                "terminal_output_chunk",
                "terminal_update",
            ]
            assert terminals[-1]["exitStatus"]["exitCode"] == 0


@VERSIONS
async def test_plan_title_mode_options_and_commands_are_sent(tmp_path: Path, version: int) -> None:
    script = """
agent = Agent(protocol=2, modes=["ask", "code"], options={"model": ["s", "l"]}, commands={"a": "A"})
async def prompt(call):
    await call.plan("One", {"content": "Two", "status": "completed"})
    await call.title("New")
    await call.mode("code")
    await call.option("model", "l")
    await call.commands({"b": "B"})
    await call.update("usage_update", used=1, size=2)
"""
    async with running(tmp_path, script) as client:
        await client.ask("initialize", **HELLO[version])
        opened = (await client.ask("session/new", cwd="/project", mcpServers=[]))["result"]
        assert ("modes" in opened) == (version == 1)
        assert ("availableCommands" in opened) == (version == 2)
        await client.prompt()
        plan = next(each for each in client.updates if each["sessionUpdate"].startswith("plan"))
        entries = plan["entries"] if version == 1 else plan["plan"]["entries"]
        assert [entry["status"] for entry in entries] == ["pending", "completed"]
        options = [each for each in client.updates if "configOptions" in each][-1]["configOptions"]
        assert [each["currentValue"] for each in options] == ["code", "l"]
        assert ("current_mode_update" in client.kinds) == (version == 1)
        listed = (await client.ask("session/list"))["result"]["sessions"]
        assert listed[0]["title"] == "New"
        key = {1: "id", 2: "configId"}[version]
        typed = {} if version == 1 else {"type": "id"}
        assert [each[key] for each in options] == ["mode", "model"]
        answer = await client.ask(
            "session/set_config_option", sessionId="session-1", configId="model", value="s", **typed
        )
        assert answer["result"]["configOptions"][1]["currentValue"] == "s"
        wrong = await client.ask(
            "session/set_config_option",
            sessionId="session-1",
            configId="model",
            value="xl",
            **typed,
        )
        assert wrong["error"]["code"] == -32602


@VERSIONS
@pytest.mark.parametrize("choice", ["allow_once", "reject_once", None])
async def test_a_permission_is_the_kind_of_the_chosen_option(
    tmp_path: Path, version: int, choice: str | None
) -> None:
    script = f"""{TWO}
async def prompt(call):
    await call.tool("c", title="Delete")
    await call.text(str(await call.permission("c")))
"""
    async with running(tmp_path, script) as client:
        await client.open(version)
        client.responder = outcome(choice)
        await client.prompt()
        assert client.text == str(choice)
        (request,) = [each for each in client.messages if "permission" in each.get("method", "")]
        assert ("subject" in request["params"]) == (version == 2)
        states = [each["state"] for each in client.updates if "state" in each]
        assert states == ([] if version == 1 else ["running", "requires_action", "running", "idle"])


FILES = """
async def prompt(call):
    try:
        match call.prompt:
            case "read": await call.text(await call.read("/project/a", line=2))
            case "write": await call.write("/project/a", "new")
            case "run": await call.text((await call.run("ls", "-l", call_id="c"))["output"])
            case "form": await call.text((await call.elicit("Who?"))["content"]["name"])
            case "page": await call.text((await call.elicit("Go", url="https://x.test"))["action"])
            case "other": await call.text(str(await call.ask("_other/thing", value=1)))
    except Failed as refusal:
        await call.text(f"refused: {refusal.message}")
"""


def answers(message: Message) -> Json:
    results: dict[str, Json] = {
        "fs/read_text_file": {"content": "line two"},
        "fs/write_text_file": {},
        "terminal/create": {"terminalId": "t"},
        "terminal/wait_for_exit": {"exitCode": 0},
        "terminal/output": {"output": "a b", "truncated": False},
        "terminal/release": {},
        "elicitation/create": {"action": "accept", "content": {"name": "Ada"}},
    }
    method = message["method"]
    if method in results:
        return {"result": results[method]}
    return {"error": {"code": -32601, "message": "Method not found"}}


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("read", "line two"),
        ("write", ""),
        ("run", "a b"),
        ("form", "Ada"),
        ("page", "accept"),
        ("other", "refused: Method not found"),
    ],
)
async def test_the_client_is_asked_for_files_terminals_and_forms(
    tmp_path: Path, word: str, text: str
) -> None:
    async with running(tmp_path, FILES) as client:
        await client.open()
        client.responder = answers
        assert await client.prompt(word) == "end_turn"
        assert client.text == text


@pytest.mark.parametrize("word", ["read", "write", "run", "form"])
async def test_what_the_client_does_not_offer_is_not_asked_for(tmp_path: Path, word: str) -> None:
    async with running(tmp_path, FILES) as client:
        await client.ask("initialize", protocolVersion=1)
        await client.ask("session/new", cwd="/project", mcpServers=[])
        await client.prompt(word)
        assert client.text.startswith("refused: The client does not offer ")
        assert all("id" not in each or "method" not in each for each in client.messages)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("raise Failed(-32000, 'Log in')", {"code": -32000, "message": "Log in"}),
        ("raise ValueError('broken')", {"code": -32603, "message": "Internal error"}),
        ("assert call.prompt == 'other'", {"code": -32603, "message": "Internal error"}),
        ("raise SystemExit(5)", {"code": -32603, "message": "Internal error"}),
        ("return 7", {"code": -32603, "message": "Internal error"}),
        ("return {'stopReason': object()}", {"code": -32603, "message": "Internal error"}),
        ("await call.update('x', value={1, 2})", {"code": -32603, "message": "Internal error"}),
    ],
)
async def test_an_error_of_a_function_is_the_response_and_the_script_goes_on(
    tmp_path: Path, body: str, error: Json
) -> None:
    script = f"""
async def prompt(call):
    if call.nth == 1:
        {body}
    await call.text("fine")
"""
    async with running(tmp_path, script) as client:
        await client.open()
        assert await client.prompt() == error
        assert await client.prompt() == "end_turn"
        assert client.text == "fine"
        assert client.server.has_failed == ("Failed" not in body)
        assert len(client.reports) == ("Failed" not in body)


async def test_an_error_after_updates_ends_a_turn_of_version_2(tmp_path: Path) -> None:
    script = f"""{TWO}
async def prompt(call):
    if call.nth == 1:
        raise Failed(-32603, "at once")
    await call.text("working")
    raise Failed(-32603, "later")
"""
    async with running(tmp_path, script) as client:
        await client.open(2)
        assert await client.prompt() == {"code": -32603, "message": "at once"}
        assert await client.prompt() == "error"
        assert client.updates[-1]["error"]["message"] == "later"


async def test_the_result_of_any_request_can_be_changed_or_replaced(tmp_path: Path) -> None:
    script = """
async def initialize(call):
    return {**await call.usual(), "protocolVersion": 99}

async def session_new(call):
    if call.nth == 1:
        raise Failed(-32603, "Not today")
    if call.nth == 2:
        return {"sessionId": 7}

async def prompt(call):
    return "refusal" if call.nth == 1 else {"stopReason": "max_tokens", "_meta": {"a": 1}}
"""
    async with running(tmp_path, script) as client:
        assert (await client.ask("initialize", **HELLO[1]))["result"]["protocolVersion"] == 99
        new: dict[str, Json] = {"cwd": "/project", "mcpServers": []}
        assert (await client.ask("session/new", **new))["error"]["message"] == "Not today"
        assert (await client.ask("session/new", **new))["result"] == {"sessionId": 7}
        # What was refused has opened no session.
        assert (await client.ask("session/new", **new))["result"]["sessionId"] == "session-1"
        assert await client.prompt() == "refusal"
        response = await client.response(await client.start_prompt())
        assert response["result"] == {"stopReason": "max_tokens", "_meta": {"a": 1}}


async def test_updates_can_come_after_the_response(tmp_path: Path) -> None:
    script = """
async def prompt(call):
    await call.text("before ")
    await call.answer(result="max_tokens")
    await call.text("after")
"""
    async with running(tmp_path, script) as client:
        await client.open()
        assert await client.prompt() == "max_tokens"
        await client.rest()
        assert client.text == "before after"
        assert client.messages[-1]["method"] == "session/update"


@VERSIONS
async def test_a_cancelled_turn_ends_with_its_open_calls(tmp_path: Path, version: int) -> None:
    script = f"""{TWO}
async def prompt(call):
    await call.tool("c", title="Long", status="in_progress")
    await call.forever()
"""
    async with running(tmp_path, script) as client:
        await client.open(version)
        id_ = await client.start_prompt()
        await client.until(lambda each: "toolCallId" in str(each))
        await client.notify("session/cancel", sessionId="session-1")
        if version == 1:
            assert (await client.response(id_))["result"]["stopReason"] == "cancelled"
        await client.until(lambda each: "cancelled" in str(each))
        status = [each["status"] for each in client.updates if "status" in each][-1]
        assert status == ("failed" if version == 1 else "cancelled")


@pytest.mark.parametrize("stop", ["end_turn", "refusal"])
async def test_a_cancel_can_be_ignored_and_waited_for(tmp_path: Path, stop: str) -> None:
    script = f"""
async def prompt(call):
    call.ignore_cancel()
    await call.text("Cancel me.")
    await call.wait_cancel()
    await call.text(" No.")
    return {stop!r}
"""
    async with running(tmp_path, script) as client:
        await client.open()
        id_ = await client.start_prompt()
        await client.until_update("agent_message_chunk")
        await client.notify("session/cancel", sessionId="session-1")
        assert (await client.response(id_))["result"]["stopReason"] == stop
        assert client.text == "Cancel me. No."


async def test_a_request_that_the_client_withdraws_is_cancelled(tmp_path: Path) -> None:
    script = "async def session_list(call):\n    await call.forever()\n"
    async with running(tmp_path, script) as client:
        await client.open()
        id_ = await client.start("session/list")
        await client.notify("$/cancel_request", requestId=id_)
        assert (await client.response(id_))["error"]["code"] == -32800


async def test_a_second_prompt_is_refused_in_version_1_and_cancelled_with_the_first_in_version_2(
    tmp_path: Path,
) -> None:
    script = f"""{TWO}
async def prompt(call):
    await call.text(f"{{call.nth}};")
    await call.forever()
"""
    async with running(tmp_path, script) as client:
        await client.open(1)
        await client.start_prompt()
        await client.until_update("agent_message_chunk")
        second = await client.response(await client.start_prompt())
        assert second["error"]["message"] == "A turn is running"
    async with running(tmp_path, script) as client:
        await client.open(2)
        await client.start_prompt()
        await client.until_update("agent_message_chunk")
        second_id = await client.start_prompt()
        await client.notify("session/cancel", sessionId="session-1")
        assert (await client.response(second_id))["error"]["code"] == -32800
        await client.until(lambda each: "cancelled" in str(each))
        assert client.text == "1;"


SAVED = """
async def _monday(call):
    await call.user("What is the time?")
    await call.text("Nine.")
    await call.tool("clock", title="Clock", status="completed")

agent = Agent(protocol=2, page=1, sessions=[
    Saved(id="mon", title="Monday", cwd="/a", history=_monday), Saved(id="tue", cwd="/b")])
"""


async def test_saved_sessions_are_listed_in_pages_and_loaded(tmp_path: Path) -> None:
    async with running(tmp_path, SAVED) as client:
        await client.ask("initialize", **HELLO[1])
        page = (await client.ask("session/list"))["result"]
        assert page["sessions"] == [{"sessionId": "mon", "cwd": "/a", "title": "Monday"}]
        rest = (await client.ask("session/list", cursor=page["nextCursor"]))["result"]
        assert rest == {"sessions": [{"sessionId": "tue", "cwd": "/b"}]}
        refused = await client.prompt(session_id="mon")
        assert refused["message"] == "Session is not open"
        load: dict[str, Json] = {"sessionId": "mon", "cwd": "/a", "mcpServers": []}
        await client.ask("session/load", **load)
        assert client.kinds == ["user_message_chunk", "agent_message_chunk", "tool_call"]
        await client.prompt("hi", session_id="mon")
        begin = len(client.kinds)
        await client.ask("session/load", **load)
        replayed = client.updates[begin:]
        assert [each["sessionUpdate"] for each in replayed] == [
            *client.kinds[:3],
            "user_message_chunk",
            "agent_message_chunk",
        ]
        await client.ask("session/delete", sessionId="mon")
        gone = await client.ask("session/load", **load)
        assert gone["error"]["code"] == -32002


@pytest.mark.parametrize("start", [None, {"type": "start"}])
async def test_a_resumed_session_of_version_2_is_replayed_on_request(
    tmp_path: Path, start: Json
) -> None:
    async with running(tmp_path, SAVED) as client:
        await client.ask("initialize", **HELLO[2])
        more = {} if start is None else {"replayFrom": start}
        resumed = await client.ask(
            "session/resume", sessionId="mon", cwd="/a", mcpServers=[], **more
        )
        assert "result" in resumed, resumed
        replayed = [] if start is None else ["user_message", "agent_message_chunk"]
        assert [kind for kind in client.kinds if "message" in kind] == replayed
        assert client.updates[-1]["state"] == "idle"


async def test_sessions_are_refused_until_the_client_has_logged_in(tmp_path: Path) -> None:
    script = "agent = Agent(logins={'key': 'A key'}, wants_login=True)"
    async with running(tmp_path, script) as client:
        hello = await client.ask("initialize", **HELLO[1])
        assert hello["result"]["authMethods"] == [{"id": "key", "name": "A key"}]
        new: dict[str, Json] = {"cwd": "/project", "mcpServers": []}
        assert (await client.ask("session/new", **new))["error"]["code"] == -32000
        assert "error" in await client.ask("authenticate", methodId="other")
        assert "result" in await client.ask("authenticate", methodId="key")
        assert "result" in await client.ask("session/new", **new)
        await client.ask("logout")
        assert (await client.ask("session/new", **new))["error"]["code"] == -32000


async def test_requests_out_of_order_unknown_and_invalid_ones_are_refused(tmp_path: Path) -> None:
    async with running(tmp_path, "agent = Agent()") as client:
        early = await client.ask("session/new", cwd="/", mcpServers=[])
        assert early["error"]["code"] == -32600
        await client.ask("initialize", **HELLO[1])
        assert (await client.ask("session/nothing"))["error"]["code"] == -32601
        assert (await client.ask("session/new", cwd=7))["error"]["code"] == -32602
    async with running(tmp_path, "agent = Agent(strict=False)") as client:
        await client.ask("initialize", **HELLO[1])
        assert "result" in await client.ask("session/new", cwd="/")


async def test_capabilities_are_merged_member_by_member(tmp_path: Path) -> None:
    more = "{'loadSession': None, 'promptCapabilities': {'image': False}}"
    async with running(tmp_path, f"agent = Agent(capabilities={more})") as client:
        hello = (await client.ask("initialize", **HELLO[1]))["result"]["agentCapabilities"]
        assert "loadSession" not in hello
        assert hello["promptCapabilities"] == {
            "image": False,
            "audio": True,
            "embeddedContext": True,
        }


async def test_notifications_of_the_client_have_functions_too(tmp_path: Path) -> None:
    script = """
async def session_cancel(call):
    await call.notify("_seen", reason=call.params["sessionId"])
"""
    async with running(tmp_path, script) as client:
        await client.open()
        await client.notify("session/cancel", sessionId="session-1")
        seen = await client.until(lambda each: each.get("method") == "_seen")
        assert seen["params"] == {"reason": "session-1"}


async def test_the_end_of_input_ends_what_waits(tmp_path: Path) -> None:
    script = "async def prompt(call):\n    await call.forever()\n    await call.text('left')\n"
    async with running(tmp_path, script) as client:
        await client.open()
        await client.start_prompt()
        await client.rest()
        assert client.text == "left"


async def test_a_function_that_does_not_end_is_not_waited_for(tmp_path: Path) -> None:
    script = "async def prompt(call):\n    await call.text('a')\n    await call.sleep(600)\n"
    async with running(tmp_path, script, close_timeout=0.01) as client:
        await client.open()
        await client.start_prompt()
        await client.until_update("agent_message_chunk")
        with anyio.fail_after(10):
            await client.rest()


async def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    written: list[bytes] = []
    path = tmp_path / "script.py"
    for seed in (1, 1, 2):
        path.write_text(f"""
from acp_agent.scripted import *
agent = Agent(protocol=2, seed={seed})
async def prompt(call):
    await call.text("one two three four five six", noise(), pieces="random")
""")
        async with playing(path) as client:
            await client.open(2)
            await client.prompt()
            await client.rest()
            written.append(b"".join(client.written))
    assert written[0] == written[1]
    assert written[0] != written[2]


async def test_faults_that_raise_are_reported_and_the_frame_is_sent(tmp_path: Path) -> None:
    script = "def faults(message, random):\n    return message['nothing']\n"
    async with running(tmp_path, script) as client:
        await client.open()
        assert await client.prompt() == "end_turn"
        assert client.text == "hello"
        assert client.server.has_failed
        assert client.reports[0] == "faults: 'nothing'"
