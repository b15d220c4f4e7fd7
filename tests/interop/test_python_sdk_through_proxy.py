"""The official Python SDK on both ends, with and without the proxy between: nobody sees a thing.

The editor's side writes down every callback, every result and every error, and at the end exit code
and stderr. What it wrote has to be the same in both cases, with every kind of proxy.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import acp
import anyio
import pytest
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    CreateTerminalResponse,
    DeniedOutcome,
    FileSystemCapabilities,
    Implementation,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TerminalOutputResponse,
    TextContentBlock,
    WaitForTerminalExitResponse,
    WriteTextFileResponse,
)

from acp_inspector.recording.reader import read_recording
from tests.warm import WARM

ROOT = Path(__file__).parents[2]
AGENT = (*WARM, str(Path(__file__).with_name("python_sdk_wide_agent.py")))
PROXY = (*WARM, "-m", "acp_console", "proxy")
LIMIT = 60.0
"""Seconds after which a talk counts as hung."""


@dataclass
class Editor:
    """Writes down what happens to it, in order; decides as it was told."""

    choice: str | None = "yes"
    files: dict[str, str] = field(default_factory=dict[str, str])
    callbacks: list[Any] = field(default_factory=list[Any])
    results: list[Any] = field(default_factory=list[Any])
    has_heard: anyio.Event = field(default_factory=anyio.Event)
    is_asked: anyio.Event = field(default_factory=anyio.Event)

    def _note(self, name: str, **members: Any) -> None:
        self.callbacks.append((name, {key: _plain(value) for key, value in members.items()}))

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self._note("session_update", session_id=session_id, update=update, **kwargs)
        self.has_heard.set()

    async def request_permission(self, **asked: Any) -> RequestPermissionResponse:
        self._note("request_permission", **asked)
        self.is_asked.set()
        if self.choice is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        outcome = AllowedOutcome(outcome="selected", option_id=self.choice)
        return RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, path: str, **asked: Any) -> ReadTextFileResponse:
        self._note("read_text_file", path=path, **asked)
        if path not in self.files:
            raise acp.RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.files[path])

    async def write_text_file(self, path: str, content: str, **asked: Any) -> Any:
        self._note("write_text_file", path=path, content=content, **asked)
        self.files[path] = content
        return WriteTextFileResponse()

    async def create_terminal(self, **asked: Any) -> CreateTerminalResponse:
        self._note("create_terminal", **asked)
        return CreateTerminalResponse(terminal_id="t-1")

    async def wait_for_terminal_exit(self, **asked: Any) -> WaitForTerminalExitResponse:
        self._note("wait_for_terminal_exit", **asked)
        return WaitForTerminalExitResponse(exit_code=3)

    async def terminal_output(self, **asked: Any) -> TerminalOutputResponse:
        self._note("terminal_output", **asked)
        return TerminalOutputResponse(output="out\r\n\x1b[0m", truncated=True)

    async def release_terminal(self, **asked: Any) -> None:
        self._note("release_terminal", **asked)

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._note("ext_method", method=method, params=params)
        if method == "refused":
            raise acp.RequestError.method_not_found(method)
        return {"for": params}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self._note("ext_notification", method=method, params=params)

    async def told(self, asking: Awaitable[Any]) -> None:
        """Write down what comes of a question, be it an error."""
        try:
            self.results.append(_plain(await asking))
        except acp.RequestError as problem:
            self.results.append(("refused", problem.code, str(problem), problem.data))
        except ConnectionError as problem:
            self.results.append(("disconnected", type(problem).__name__))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


@dataclass(frozen=True)
class Story:
    """What an editor can tell of a talk."""

    callbacks: list[Any]
    results: list[Any]
    code: int | None
    stderr: bytes


Scenario: TypeAlias = Callable[[Editor, ClientSideConnection], Awaitable[None]]


def text(words: str) -> list[Any]:
    return [TextContentBlock(type="text", text=words)]


@asynccontextmanager
async def opened(agent: ClientSideConnection, editor: Editor) -> AsyncGenerator[str]:
    able = ClientCapabilities(
        fs=FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
    )
    await editor.told(
        agent.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=able,
            client_info=Implementation(name="editor", version="1"),
        )
    )
    session = await agent.new_session(cwd=str(ROOT))
    yield session.session_id


def prompting(*words: str, choice: str | None = "yes") -> Scenario:
    async def talk(editor: Editor, agent: ClientSideConnection) -> None:
        editor.choice = choice
        editor.files["/notes"] = "one\ntwo"
        async with opened(agent, editor) as session_id:
            for told in words:
                await editor.told(agent.prompt(session_id=session_id, prompt=text(told)))

    return talk


async def cancelling(editor: Editor, agent: ClientSideConnection) -> None:
    async with opened(agent, editor) as session_id, anyio.create_task_group() as tasks:

        async def cancel() -> None:
            await editor.has_heard.wait()
            await agent.cancel(session_id=session_id)

        tasks.start_soon(cancel)
        await editor.told(agent.prompt(session_id=session_id, prompt=text("wait")))


async def everything_else(editor: Editor, agent: ClientSideConnection) -> None:
    async with opened(agent, editor) as session_id:
        await editor.told(agent.load_session(cwd=str(ROOT), session_id="old", mcp_servers=[]))
        await editor.told(agent.set_session_mode(session_id=session_id, mode_id="some"))
        await editor.told(agent.set_session_mode(session_id=session_id, mode_id="none"))
        await editor.told(agent.list_sessions(cwd=str(ROOT)))
        await editor.told(agent.ext_method("mine/own", {"ü": [1.50, None, 10**30]}))
        await agent.ext_notification("mine/told", {"a": 1})
        await editor.told(agent.ext_method("mine/last", {}))


SCENARIOS: dict[str, Scenario] = {
    "a flood of text": prompting("flood 300"),
    "files": prompting("files /notes"),
    "consent given": prompting("permission make all"),
    "consent refused": prompting("permission make all", choice="no"),
    "consent withdrawn": prompting("permission make all", choice=None),
    "a terminal": prompting("terminal make"),
    "a cancelled turn": cancelling,
    "errors": prompting("fail of a kind of our own", "break", "files /nowhere", "flood 1"),
    "methods of their own": prompting("ask mine/own", "ask refused"),
    "everything else": everything_else,
    "a crash": prompting("crash 7"),
    "several turns": prompting("flood 3", "permission one", "files /notes", "flood 2"),
}


async def story(scenario: Scenario, command: tuple[str, ...]) -> Story:
    editor = Editor()
    started = acp.spawn_agent_process(
        cast("acp.Client", editor),
        *cast("tuple[str]", command),
        env=os.environ,
        # Forking, listing and the like are asked for too.
        use_unstable_protocol=True,
    )
    with anyio.fail_after(LIMIT):
        async with started as (agent, process):
            await scenario(editor, agent)
        assert process.stderr is not None
        stderr = await process.stderr.read()
    return Story(editor.callbacks, editor.results, process.returncode, stderr)


def proxied(*options: str) -> tuple[str, ...]:
    return (*PROXY, *options, "--", *AGENT)


@pytest.mark.parametrize("name", SCENARIOS)
async def test_an_editor_sees_no_difference(name: str, tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    direct = await story(SCENARIOS[name], AGENT)
    watched = await story(SCENARIOS[name], proxied("--record", str(path)))
    assert direct.callbacks or direct.results
    assert watched == direct
    assert read_recording(path).bad_lines == ()


@pytest.mark.parametrize("name", ["several turns", "errors", "a crash"])
@pytest.mark.parametrize(
    "options",
    [("--no-control",), ("--break", "method == never/said"), ("--redact", "--record", "PATH")],
    ids=["bare", "with a breakpoint", "redacting"],
)
async def test_nor_whatever_the_proxy_does_beside(
    name: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    path = str(tmp_path / "it.acp.ndjson")
    words = [path if word == "PATH" else word for word in options]
    direct = await story(SCENARIOS[name], AGENT)
    assert await story(SCENARIOS[name], proxied(*words)) == direct


async def test_the_stories_tell_what_they_are_about() -> None:
    """Or two that are equal would say nothing."""
    told = await story(SCENARIOS["errors"], AGENT)
    assert ("refused", -32050, "of a kind of our own", {"of": ["ours", 1.5, None]}) in told.results
    told = await story(SCENARIOS["a crash"], AGENT)
    assert told.code == 7
    assert b"crashing" in told.stderr
    assert "last words" in repr(told.callbacks)
    told = await story(SCENARIOS["consent refused"], AGENT)
    assert "chosen: no" in repr(told.callbacks)
    told = await story(SCENARIOS["a cancelled turn"], AGENT)
    assert "cancelled" in repr(told.results)
