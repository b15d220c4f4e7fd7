"""Our client and our connection with an agent of both versions on the official TypeScript SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_protocol.connection import Connection
from acp_protocol.errors import RequestFailedError
from acp_protocol.host.process import spawn
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.schema.validate import parse_params, validate_result
from acp_protocol.transport.stdio import StreamTransport
from tests.interop.node.programs import LIMIT, MODE_NOTE, console, updates_of

EDIT = "edit notes.md: milk => bread"
HELLO: dict[str, Json] = {
    "protocolVersion": 2,
    "info": {"name": "probe", "version": "1"},
    "capabilities": {},
}


class Talk:
    """A session with the agent: what it said, what we thought of it, who waits for more."""

    def __init__(self) -> None:
        self.connection: Connection
        self.session_id = ""
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.complaints: list[str] = []
        self.is_withdrawn = False
        self.choice: str | None = "go"
        """What a question is answered with; None: nothing, until it is withdrawn."""
        self._came = anyio.Event()

    async def handle_request(self, request: Request) -> Json:
        self._check(request, "request")
        params: Any = request.params
        self.asked.append(params)
        self._came.set()
        if self.choice is None:
            try:
                await anyio.sleep_forever()
            finally:
                self.is_withdrawn = True
        return {"outcome": {"outcome": "selected", "optionId": self.choice}}

    async def handle_notification(self, notification: Notification) -> None:
        self._check(notification, "notification")
        params: Any = notification.params
        self.updates.append(params["update"])
        self._came.set()

    async def ask(self, method: str, **params: Json) -> Any:
        """Ask about the session, and hold the answer against its shape."""
        result = await self.connection.request(method, {"sessionId": self.session_id, **params})
        self.complaints += map(str, validate_result(method, result, 2))
        return result

    async def prompt(self, text: str) -> str:
        answer = await self.ask("session/prompt", prompt=[{"type": "text", "text": text}])
        return answer["messageId"]

    async def code(self, method: str, **params: Json) -> int:
        """Ask what is refused, and return the code."""
        with pytest.raises(RequestFailedError) as refusal:
            await self.connection.request(method, {"sessionId": self.session_id, **params})
        return refusal.value.code

    async def until(self, is_so: Callable[[], object]) -> None:
        while not is_so():
            self._came = anyio.Event()
            await self._came.wait()

    async def end(self) -> dict[str, Any]:
        """Return the state that ends the turn."""
        await self.until(lambda: self.updates and self.updates[-1].get("state") == "idle")
        return self.updates[-1]

    def all_of(self, name: str) -> list[Any]:
        """Return what updates hold under that name, in order."""
        return [update[name] for update in self.updates if name in update]

    def _check(self, message: Request | Notification, kind: Any) -> None:
        _, complaints = parse_params(message.method, message.params, 2, kind=kind)
        self.complaints += map(str, complaints)


@asynccontextmanager
async def pipes(npm: Path, place: Path, *options: str) -> AsyncGenerator[StreamTransport]:
    command = ("node", str(npm / "agent_v2.mjs"), *options)
    with anyio.fail_after(LIMIT):
        async with spawn(command, cwd=place, on_stderr=lambda chunk: None) as child:
            yield StreamTransport(child.stdout, child.stdin)


@asynccontextmanager
async def session(npm: Path, place: Path) -> AsyncGenerator[Talk]:
    """Agree on version 2 and open a session; all that comes has to fit our shapes."""
    talk = Talk()
    async with (
        pipes(npm, place) as transport,
        Connection(transport, talk) as talk.connection,
    ):
        hello: Any = await talk.connection.request("initialize", HELLO)
        assert hello["protocolVersion"] == 2
        assert validate_result("initialize", hello, 2) == ()
        opened: Any = await talk.connection.request("session/new", {"cwd": str(place)})
        assert validate_result("session/new", opened, 2) == ()
        talk.session_id = opened["sessionId"]
        yield talk
        assert list(talk.connection.violations) == []
    assert talk.complaints == []


async def said(transport: StreamTransport, line: str) -> Mapping[str, Any]:
    """Send a line, and return the one that answers it."""
    await transport.send(line.encode())
    return json.loads(await transport.receive())


async def test_what_is_no_valid_request_is_answered_once(npm: Path, place: Path) -> None:
    async with pipes(npm, place) as transport:
        ask = '{"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {}}'
        assert (await said(transport, ask))["error"]["code"] == -32600
        for line, code in ((f"[{ask}, {ask}]", -32600), ("[]", -32600), ("{", -32700)):
            answer = await said(transport, line)
            assert (answer["id"], answer["error"]["code"]) == (None, code)


@pytest.mark.parametrize(
    ("options", "asked", "spoken"), [([], 1, 1), ([], 2, 2), ([], 3, 2), (["--only"], 9, 2)]
)
async def test_the_version_is_rounded_down(
    npm: Path, place: Path, options: list[str], asked: int, spoken: int
) -> None:
    async with (
        pipes(npm, place, *options) as transport,
        Connection(transport, Talk()) as connection,
    ):
        hello: Any = await connection.request("initialize", HELLO | {"protocolVersion": asked})
        assert hello["protocolVersion"] == spoken


async def test_a_version_that_nobody_speaks_is_refused_and_the_next_try_counts(
    npm: Path, place: Path
) -> None:
    async with (
        pipes(npm, place, "--only") as transport,
        Connection(transport, Talk()) as connection,
    ):
        with pytest.raises(RequestFailedError) as refusal:
            await connection.request("initialize", HELLO | {"protocolVersion": 1})
        assert refusal.value.code == -32022
        assert refusal.value.data == {"requested": 1, "supported": [2]}
        for _ in range(2):
            hello: Any = await connection.request("initialize", HELLO)
            assert hello["protocolVersion"] == 2


async def test_a_turn_lies_between_two_states(npm: Path, place: Path) -> None:
    async with session(npm, place) as talk:
        message_id = await talk.prompt("hello")
        assert (await talk.end())["stopReason"] == "end_turn"
    echo, *said_ = [update for update in talk.updates if "content" in update]
    assert (echo["sessionUpdate"], echo["messageId"]) == ("user_message", message_id)
    assert "".join(update["content"]["text"] for update in said_) == "You said: hello"
    assert talk.all_of("state") == ["running", "idle"]


async def test_consent_is_asked_with_a_subject(npm: Path, place: Path) -> None:
    async with session(npm, place) as talk:
        await talk.prompt(EDIT)
        await talk.end()
    (asked,) = talk.asked
    assert asked["subject"]["type"] == "tool_call"
    assert talk.all_of("state") == ["running", "requires_action", "running", "idle"]
    assert talk.all_of("status") == ["pending", "completed"]
    assert (place / "notes.md").read_text() == "Buy bread.\n"


async def test_a_cancelled_session_withdraws_its_question(npm: Path, place: Path) -> None:
    async with session(npm, place) as talk:
        talk.choice = None
        await talk.prompt(EDIT)
        await talk.until(lambda: talk.asked)
        await talk.connection.notify("session/cancel", {"sessionId": talk.session_id})
        assert (await talk.end())["stopReason"] == "cancelled"
        assert talk.is_withdrawn
    assert talk.all_of("status") == ["pending", "cancelled"]


async def test_a_held_prompt_is_cancelled_before_it_stands_anywhere(npm: Path, place: Path) -> None:
    codes: list[int] = []
    async with session(npm, place) as talk, anyio.create_task_group() as tasks:
        prompt: Json = [{"type": "text", "text": "held"}]

        async def hold() -> None:
            codes.append(await talk.code("session/prompt", prompt=prompt))

        await talk.prompt("sleep")
        await talk.until(lambda: talk.all_of("toolCallId"))
        tasks.start_soon(hold)
        await talk.ask("session/list")
        await talk.connection.notify("session/cancel", {"sessionId": talk.session_id})
        await talk.end()
    assert codes == [-32800]
    assert talk.all_of("sessionUpdate").count("user_message") == 1


async def test_one_tool_call_is_cancelled_by_itself(npm: Path, place: Path) -> None:
    async with session(npm, place) as talk:
        await talk.prompt("sleep")
        await talk.until(lambda: talk.all_of("capabilities"))
        (call_id,) = talk.all_of("toolCallId")
        assert await talk.ask("tool_call/cancel", toolCallId=call_id) == {}
        assert (await talk.end())["stopReason"] == "end_turn"
        assert await talk.code("tool_call/cancel", toolCallId=call_id) == -32602
        assert await talk.code("terminal/cancel", terminalId="?") == -32602
    assert talk.all_of("status") == ["in_progress", "cancelled"]


async def test_a_session_is_resumed_with_its_history(npm: Path, place: Path) -> None:
    async with session(npm, place) as talk:
        await talk.prompt("hello")
        await talk.end()
        before = [update for update in talk.updates if "state" not in update]
        await talk.ask("session/close")
        assert await talk.code("session/prompt", prompt=[{"type": "text", "text": "x"}]) == -32002
        talk.updates.clear()
        await talk.ask("session/resume", cwd=str(place), replayFrom={"type": "start"})
        assert talk.updates[:-1] == before
        assert talk.updates[-1]["state"] == "idle"


async def test_what_comes_too_late_or_is_not_known_is_refused(npm: Path, place: Path) -> None:
    async with session(npm, place) as talk:
        assert await talk.code("initialize", **HELLO) == -32600
        assert await talk.code("session/set_mode", modeId="code") == -32601
        assert await talk.code("_acme/ask") == -32601
        option: dict[str, Json] = {"configId": "mode", "type": "id", "value": "code"}
        await talk.ask("session/set_config_option", **option)
        assert await talk.code("session/set_config_option", **option | {"value": "?"}) == -32602


@pytest.mark.parametrize(
    ("prompt", "said_"),
    [
        ("hello", "You said: hello\n"),
        ("quick", "You said: quick\n"),
        ("whole", "said at once\n"),
        (EDIT, "chosen: go\n"),
    ],
)
def test_exec_speaks_version_2_where_it_is_asked_to(
    npm: Path, place: Path, prompt: str, said_: str
) -> None:
    agent = ("--", "node", npm / "agent_v2.mjs")
    done = console(place, "exec", "--protocol", "2", "--allow", "edits", prompt, *agent)
    assert (done.returncode, done.stdout) == (0, said_)


def test_exec_speaks_version_1_to_the_same_agent_by_itself(npm: Path, place: Path) -> None:
    agent = ("--", "node", npm / "agent_v2.mjs")
    done = console(place, "exec", "--format", "json", "hello", *agent)
    assert done.returncode == 0
    assert {update["sessionUpdate"] for update in updates_of(done)} == {"agent_message_chunk"}


def test_exec_falls_back_to_the_version_of_an_older_agent(npm: Path, place: Path) -> None:
    agent = ("--", "node", npm / "agent_v1.mjs")
    done = console(place, "exec", "--protocol", "2", "hello", *agent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "You said: hello\n", MODE_NOTE)


def test_exec_says_in_one_sentence_that_an_agent_is_too_new(npm: Path, place: Path) -> None:
    done = console(place, "exec", "hello", "--", "node", npm / "agent_v2.mjs", "--only")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_exec_tells_how_a_turn_failed(npm: Path, place: Path) -> None:
    agent = ("--", "node", npm / "agent_v2.mjs")
    done = console(place, "exec", "--protocol", "2", "fail", *agent)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == MODE_NOTE + "error: the agent refused: out of ideas (-32603)\n"
