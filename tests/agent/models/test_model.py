"""Whole turns with models behind real sockets: what a client sees of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from anyio.to_thread import run_sync

from acp_agent.models.anthropic import MessagesModel
from acp_agent.models.http import ClientLimits
from acp_agent.models.openai import ChatModel
from acp_agent.models.types import Model
from acp_agent.settings.model import ModelSettings, Prices
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import open_session
from tests.agent.models.provider import found, providing, refused, sse, streamed
from tests.agent.test_cli import COMMAND, LIMIT, Agent, has_content

KEY = "sk-canary-0123456789"
WISHES = ModelSettings(window=1000, prices=Prices(1.0, 1.0))
QUICK = ClientLimits(first_delay_s=0.0, max_attempts=2)


def chat(*deltas: Json, reason: str) -> bytes:
    """Return chat completions of these deltas."""
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas]
    usage = {"prompt_tokens": 100, "completion_tokens": 20}
    last: Json = {"choices": [{"finish_reason": reason}], "usage": usage}
    return sse(*chunks, last, done=True)


def wanted(place: int, path: str) -> Json:
    """Return the delta of a call that reads `path`."""
    function = {"name": "read", "arguments": f'{{"path": "{path}"}}'}
    return {"tool_calls": [{"index": place, "id": f"call_{path}", "function": function}]}


CALLS = chat(
    {"reasoning_content": "hm"}, {"content": "I read."}, wanted(0, "notes.md"), wanted(1, "no"),
    reason="tool_calls",
)  # fmt: skip
DONE = chat({"content": "Done."}, reason="stop")


async def test_a_turn_runs_from_the_prompt_over_tools_to_its_end(cwd: Path) -> None:
    async with providing(streamed(CALLS), streamed(DONE)) as provider:
        model = ChatModel(found("openai", provider.url), "gpt-x", WISHES)
        async with open_session(cwd, model=model) as session:
            assert await session.turn("read it") == "end_turn"
    assert session.text == "I read.Done."
    assert [chunk["content"]["text"] for chunk in session.of("agent_thought_chunk")] == ["hm"]
    assert [call["status"] for call in session.calls] == ["completed", "failed"]
    usage = session.of("usage_update")
    assert [(update["used"], update["size"]) for update in usage] == [(120, 1000)] * 2
    assert usage[1]["cost"] == {"amount": pytest.approx(0.00024), "currency": "USD"}
    offered = [tool["function"]["name"] for tool in provider.asked[0].body["tools"]]
    assert {"read", "write", "run"} <= set(offered)
    said = provider.asked[1].body["messages"][2:]
    assert said[0]["reasoning_content"] == "hm"
    assert [call["id"] for call in said[0]["tool_calls"]] == ["call_notes.md", "call_no"]
    assert said[1]["content"] == (cwd / "notes.md").read_text()
    assert said[2]["content"].startswith("Failed: ")
    assert [message["role"] for message in said] == ["assistant", "tool", "tool"]


async def test_a_cancelled_turn_hangs_up_on_the_service(cwd: Path) -> None:
    begun = sse({"choices": [{"delta": {"content": "Well"}}]})
    async with providing(streamed(begun, end="hold")) as provider:
        model = ChatModel(found("openai", provider.url), "gpt-x", WISHES)
        async with open_session(cwd, model=model) as session:
            stops: list[str] = []

            async def prompt() -> None:
                stops.append(await session.turn("go"))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(prompt)
                await session.client.until(lambda: session.text)
                await session.cancel()
            await provider.hung_up.wait()
    assert stops == ["cancelled"]
    assert session.text == "Well"


def openai(url: str) -> Model:
    return ChatModel(found("openai", url, KEY), "m", WISHES, limits=QUICK)


def anthropic(url: str) -> Model:
    return MessagesModel(found("anthropic", url, KEY), "m", WISHES, limits=QUICK)


MESSAGE = sse({"type": "message_start", "message": {}}, {"type": "message_stop"})


@pytest.mark.parametrize(("made", "last"), [(openai, DONE), (anthropic, MESSAGE)])
async def test_what_a_service_refuses_is_told_without_the_key(
    cwd: Path, made: Callable[[str], Model], last: bytes
) -> None:
    """The session does not suffer: the next prompt tells the service of all three."""
    bad_key = refused(401, {"error": {"message": f"bad key {KEY}"}})
    busy = refused(529, {"error": {"message": "Overloaded"}})
    async with (
        providing(bad_key, busy, busy, streamed(last)) as provider,
        open_session(cwd, model=made(provider.url)) as session,
    ):
        with pytest.raises(RequestFailedError, match="does not accept the key") as caught:
            await session.turn("go")
        assert caught.value.code == jsonrpc.AUTH_REQUIRED
        with pytest.raises(RequestFailedError, match="is overloaded: Overloaded"):
            await session.turn("go")
        assert await session.turn("go") == "end_turn"
    assert KEY.encode() not in b"".join(session.client.received)
    assert len(provider.asked[-1].body["messages"][-1]["content"]) == 3


async def test_the_command_asks_the_service_that_it_is_told_of(cwd: Path) -> None:
    """The key goes to the service, and is on neither stdout nor stderr."""

    def drive(url: str) -> tuple[Json, bytes]:
        environment = {**os.environ, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY}
        pipe = subprocess.PIPE
        command = [*COMMAND, "--model", "openai:gpt-x"]
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
        ) as process:
            agent = Agent(process, cwd)
            agent.prompt(2, "hello")
            chunk = agent.read(has_content)
            agent.read(lambda message: message.get("id") == 2)
            agent.prompt(3, "again")
            failed = agent.read(lambda message: message.get("id") == 3)
            assert process.stdin is not None
            process.stdin.close()
            process.stdin = None
            _, said = process.communicate(timeout=LIMIT)
        assert chunk["params"]["update"]["content"]["text"] == "Done."
        return failed, said

    bad_key = refused(401, {"error": {"message": f"bad key {KEY}"}})
    async with providing(streamed(DONE), bad_key) as provider:
        failed, said = await run_sync(drive, provider.url)
    assert [asked.headers["authorization"] for asked in provider.asked] == [f"Bearer {KEY}"] * 2
    assert failed["error"]["message"] == (
        "OpenAI does not accept the key in OPENAI_API_KEY: bad key …."
    )
    assert said == b""


def test_the_command_refuses_settings_in_a_sentence() -> None:
    environment = {**os.environ, "OPENAI_BASE_URL": f"https://me:{KEY}@host"}
    done = subprocess.run(
        [*COMMAND, "--model", "openai:x"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment,
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1
    assert b"OPENAI_BASE_URL must not hold a user or a password" in done.stderr
    assert KEY.encode() not in done.stderr
