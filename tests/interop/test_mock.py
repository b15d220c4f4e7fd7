"""Clients of other people with a recording of our agent in the agent's place.

Each is recorded with our agent behind the proxy, and then meets the recording.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import acp
import anyio
import pytest
from acp.schema import ClientCapabilities, FileSystemCapabilities, TextContentBlock

from tests.interop.python_sdk_editor import Editor
from tests.warm import WARM

LIMIT = 60
"""Seconds after which a talk counts as hung."""
PEERS = Path(__file__).parent.parent / "protocol/dialects/peers"
OTHER_CLIENT = """
[[ignore]]
path = "$.params.clientCapabilities.elicitation"
reason = "the client of the recording shows forms"

[[ignore]]
path = "$.params.clientCapabilities.terminal"
reason = "the client of the recording may run nothing"

[[ignore]]
path = "$.params.clientCapabilities._meta.acpex.terminal"
reason = "the same, in ACPex's own terms"
"""
RECORDINGS = Path(__file__).parents[2] / "recordings/dialects"
CONSOLE = (*WARM, "-m", "acp_console")
AGENT = (*WARM, "-m", "acp_agent")


def recorder(path: Path, *options: str) -> tuple[str, ...]:
    return (*CONSOLE, "proxy", "--no-control", "--record", str(path), "--", *AGENT, *options)


def player(path: Path, report: Path) -> tuple[str, ...]:
    return (*CONSOLE, "mock", "--trust", "--report", str(report), str(path))


def verdict(report: Path) -> dict[str, Any]:
    return json.loads(report.read_text())


async def edit_twice(cwd: Path, *command: str) -> Editor:
    """Let a client on the SDK edit its own buffer, in two sessions at once; return the client."""
    editor = Editor()
    path = str(cwd / "notes.md")
    editor.buffers[path] = "Buy milk.\n"
    offered = ClientCapabilities(
        fs=FileSystemCapabilities(read_text_file=True, write_text_file=True)
    )
    words: list[Any] = [TextContentBlock(type="text", text="edit notes.md: milk => bread")]
    with anyio.fail_after(LIMIT):
        started = acp.spawn_agent_process(
            cast("acp.Client", editor), *command, env=dict(os.environ)
        )
        async with started as (agent, _):
            await agent.initialize(
                protocol_version=acp.PROTOCOL_VERSION, client_capabilities=offered
            )
            first = await agent.new_session(cwd=str(cwd))
            second = await agent.new_session(cwd=str(cwd))
            ended = await agent.prompt(session_id=first.session_id, prompt=words)
            assert ended.stop_reason == "end_turn"
            hello: list[Any] = [TextContentBlock(type="text", text="hello")]

            async def greet(session_id: str) -> None:
                await agent.prompt(session_id=session_id, prompt=hello)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(greet, first.session_id)
                tasks.start_soon(greet, second.session_id)
    return editor


async def test_a_client_on_the_python_sdk_cannot_tell_the_recording_from_the_agent(
    tmp_path: Path,
) -> None:
    path, report = tmp_path / "it.acp.ndjson", tmp_path / "verdict.json"
    one, other = tmp_path / "one", tmp_path / "other"
    for place in (one, other):
        place.mkdir()
        (place / "notes.md").write_text("Buy milk.\n")
    real = await edit_twice(one, *recorder(path))
    played = await edit_twice(other, *player(path, report))
    assert verdict(report)["passed"], verdict(report)
    assert list(played.buffers.values()) == list(real.buffers.values()) == ["Buy bread.\n"]
    assert played.asked == real.asked
    assert sorted(played.text) == sorted(real.text)


async def open_and_greet(places: list[Path], is_reversed: bool, *command: str) -> dict[str, str]:
    """Open a session in each directory, set both up at once, and greet; return what was said."""
    editor = Editor()
    said: dict[str, str] = {}
    order = reversed(places) if is_reversed else places
    with anyio.fail_after(LIMIT):
        started = acp.spawn_agent_process(
            cast("acp.Client", editor), *command, env=dict(os.environ)
        )
        async with started as (agent, _):
            await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
            for place in order:
                opened = await agent.new_session(cwd=str(place))
                setup = [
                    agent.set_session_mode(session_id=opened.session_id, mode_id="code"),
                    agent.set_config_option(
                        session_id=opened.session_id, config_id="model", value="demo"
                    ),
                ]
                await asyncio.gather(*(reversed(setup) if is_reversed else setup))
                words: list[Any] = [TextContentBlock(type="text", text=f"hello {place.name}")]
                before = len(editor.text)
                ended = await agent.prompt(session_id=opened.session_id, prompt=words)
                assert ended.stop_reason == "end_turn"
                said[place.name] = "".join(editor.text[before:])
    return said


async def test_a_client_on_the_python_sdk_may_open_and_set_up_its_sessions_in_another_order(
    tmp_path: Path,
) -> None:
    path, report = tmp_path / "it.acp.ndjson", tmp_path / "verdict.json"
    places = [tmp_path / "ui", tmp_path / "core"]
    for place in places:
        place.mkdir()
    real = await open_and_greet(places, False, *recorder(path))
    played = await open_and_greet(places, True, *player(path, report))
    assert played == real
    found = verdict(report)
    assert found["passed"], found
    assert found["tolerated"] == {"request-order": 3}
    strict = (*player(path, report), "--strict", "request-order")
    await open_and_greet(places, True, *strict)
    assert not verdict(report)["passed"]


def run_pair(agent: tuple[str, ...], client: tuple[str, ...], cwd: Path) -> tuple[int, int]:
    """Let a client talk to an agent; return the exit codes of both."""
    with (
        subprocess.Popen(agent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd) as theirs,
        subprocess.Popen(
            client, stdin=theirs.stdout, stdout=theirs.stdin, stderr=subprocess.DEVNULL, cwd=cwd
        ) as peer,
    ):
        assert theirs.stdin is not None
        assert theirs.stdout is not None
        theirs.stdin.close()
        theirs.stdout.close()
        try:
            return peer.wait(LIMIT), theirs.wait(LIMIT)
        finally:
            peer.kill()
            theirs.kill()


@pytest.mark.parametrize("name", ["continuum", "acpex", "openoxide", "batch", "summary"])
def test_a_client_of_a_dialect_cannot_tell_the_recording_from_the_agent(
    name: str, tmp_path: Path
) -> None:
    path, report = tmp_path / "it.acp.ndjson", tmp_path / "verdict.json"
    client = (sys.executable, str(PEERS / f"{name}_client.py"), str(tmp_path))
    options = ("--dialect", "v2-batch") if name == "batch" else ()
    assert run_pair(recorder(path, *options), client, tmp_path) == (0, 0)
    assert run_pair(player(path, report), client, tmp_path) == (0, 0)
    assert verdict(report)["passed"], verdict(report)


@pytest.mark.parametrize("name", ["continuum", "acpex", "openoxide", "v2-batch"])
def test_a_client_of_a_dialect_meets_our_recording_of_it_in_another_directory(
    name: str, tmp_path: Path
) -> None:
    report = tmp_path / "verdict.json"
    script = f"{name.removeprefix('v2-')}_client.py"
    client = (sys.executable, str(PEERS / script), str(tmp_path))
    path = RECORDINGS / f"{name}-client.acp.ndjson"
    assert run_pair(player(path, report), client, tmp_path) == (0, 0)
    assert verdict(report)["passed"], verdict(report)


@pytest.mark.long
@pytest.mark.parametrize("name", ["continuum", "acpex", "openoxide", "v2-batch"])
def test_our_client_does_in_each_dialect_what_is_recorded(name: str, tmp_path: Path) -> None:
    """With our agent, and with one that knows only the document of the dialect."""
    prompts = {"": "hello" if name == "v2-batch" else "/tour", "-agent": "hello"}
    for peer, prompt in prompts.items():
        path = tmp_path / f"{name}{peer}.acp.ndjson"
        shutil.copy(RECORDINGS / path.name, path)
        (tmp_path / f"{name}{peer}.expect.toml").write_text(OTHER_CLIENT)
        words = ("--allow", "all", "--dialect", name, prompt, "--", "{agent}")
        done = subprocess.run(
            [*CONSOLE, "test", "client", "--trust", str(path), "--", *CONSOLE, "exec", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
