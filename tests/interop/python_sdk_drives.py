"""What a client on the official Python SDK makes our agent do, so that each method is in it.

A drive goes through the SDK's client where that has words for the methods, and through its bare
connection where it has none; there the SDK's shapes are used as far as it has them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import acp
import anyio
import pytest
from acp import schema
from acp.client.connection import ClientSideConnection
from acp.client.router import build_client_router
from acp.connection import Connection
from acp.meta import AGENT_METHODS
from acp.stdio import spawn_agent_process, spawn_stdio_connection
from acp.utils import request_model
from pydantic import BaseModel

from acp_inspector.recording.reader import Recording, read_recording
from tests.agent.mcp.rooms import WEATHER
from tests.interop.python_sdk_editor import Editor, serve
from tests.warm import WARM

LIMIT = 60.0
"""Seconds after which a drive counts as hung."""
ABLE = schema.ClientCapabilities(
    fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
    terminal=True,
    elicitation=schema.ElicitationCapabilities(
        form=schema.ElicitationFormCapabilities(), url=schema.ElicitationUrlCapabilities()
    ),
)
US = schema.Implementation(name="sdk-client", version="1")
TWO_MODELS = '[model]\nname = "demo"\n\n[[model.others]]\nname = "ollama:qwen3"\n'
SERVER = [*WARM, WEATHER, "stdio"]
BRIDGED = f'[mcp.servers.weather]\ncommand = "{SERVER[0]}"\nargs = {json.dumps(SERVER[1:])}\n'


@dataclass
class Ride:
    """A drive that goes on."""

    editor: Editor
    place: Path
    agent: ClientSideConnection
    """The SDK's client."""
    bare: Connection
    """The SDK's connection alone: one of the two is there."""

    async def open(self) -> str:
        return (await self.agent.new_session(str(self.place))).session_id

    async def say(self, session_id: str, words: str) -> str:
        block = schema.TextContentBlock(type="text", text=words)
        return (await self.agent.prompt(session_id, [block])).stop_reason

    async def ask(self, method: str, asked: Mapping[str, Any] | None = None) -> Any:
        """Ask what the SDK has neither words nor shapes for."""
        return await self.bare.send_request(method, asked or {})

    async def asked(self, name: str, asked: BaseModel, answer: type[BaseModel]) -> Any:
        """Ask what the SDK has shapes for, but no words."""
        return await request_model(self.bare, AGENT_METHODS[name], asked, answer)

    async def opened(self, *servers: schema.AcpMcpServer) -> str:
        """Open a session by shapes alone."""
        asked = schema.NewSessionRequest(cwd=str(self.place), mcp_servers=[*servers])
        return (await self.asked("session_new", asked, schema.NewSessionResponse)).session_id

    async def hello(self) -> schema.InitializeResponse:
        asked = schema.InitializeRequest(
            protocol_version=1, client_capabilities=ABLE, client_info=US
        )
        return await self.asked("initialize", asked, schema.InitializeResponse)


Deed: TypeAlias = Callable[[Ride], Awaitable[None]]


async def talk(ride: Ride) -> None:
    """Files and terminals of the client, with consent, and without it."""
    await ride.agent.initialize(1, ABLE, US)
    session_id = await ride.open()
    notes = str(ride.place / "notes.md")
    ride.editor.buffers[notes] = "unsaved milk\n"
    assert await ride.say(session_id, "edit notes.md: milk => bread") == "end_turn"
    assert ride.editor.buffers[notes] == "unsaved bread\n"
    await ride.say(session_id, "run ls")
    assert "ls was here" in ride.editor.text
    await ride.say(session_id, 'call run {"command": ["sleep", "60"], "seconds": 0.05}')
    assert ride.editor.is_killed.is_set()
    ride.editor.choice = None
    ride.editor.is_asked = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel, ride, session_id)
        assert await ride.say(session_id, "edit notes.md: bread => jam") == "cancelled"
    assert ride.editor.buffers[notes] == "unsaved bread\n"


async def _cancel(ride: Ride, session_id: str) -> None:
    await ride.editor.is_asked.wait()
    await ride.agent.cancel(session_id)
    ride.editor.is_cancelled.set()


async def prompts(ride: Ride) -> None:
    """All that a prompt may hold, a server of the session's own, and what the model can show."""
    hello = await ride.agent.initialize(1, None, US)
    assert hello.agent_capabilities is not None
    able = hello.agent_capabilities.prompt_capabilities
    assert able is not None
    assert (able.image, able.embedded_context) == (True, True)
    beside = ride.place.parent / "beside"
    beside.mkdir()
    server = schema.McpServerStdio(name="w", command=SERVER[0], args=SERVER[1:], env=[])
    opened = await ride.agent.new_session(str(ride.place), [str(beside)], [server])
    session_id = opened.session_id
    await ride.say(session_id, "call w__look place=Rome")
    assert ride.editor.asked == ["Look␛[2J outside (w)"]
    assert "It rains in Rome." in ride.editor.text
    notes = schema.TextResourceContents(uri="file:///notes.md", text="Buy milk.")
    await ride.agent.prompt(
        session_id,
        [
            schema.ImageContentBlock(type="image", mime_type="image/png", data="aGkh"),
            schema.EmbeddedResourceContentBlock(type="resource", resource=notes),
            schema.ResourceContentBlock(type="resource_link", name="it", uri="file:///it.md"),
            schema.TextContentBlock(type="text", text="think"),
        ],
    )
    for told in ("an image, image/png, 3 bytes", "`file:///notes.md`, 9 characters", "it.md"):
        assert told in ride.editor.text
    assert await ride.say(session_id, "/tour") == "end_turn"
    await ride.agent.close_session(session_id)


async def questions(ride: Ride) -> None:
    """Forms and pages."""
    await ride.agent.initialize(1, ABLE, US)
    session_id = await ride.open()
    await ride.say(session_id, "ask Which colour?: red, green")
    await ride.say(session_id, "open https://example.org/")
    assert '{"answer": "red"}' in ride.editor.text
    assert ride.editor.told == ["elicitation/complete"]


async def sessions(ride: Ride) -> None:
    """What the SDK's client can do with sessions."""
    await ride.agent.initialize(1, None, US)
    first, where = await ride.open(), str(ride.place)
    await ride.say(first, "read notes.md")
    await ride.agent.set_session_mode(first, "code")
    chosen = await ride.agent.set_config_option("policy", first, "allow_all")
    assert [option.current_value for option in chosen.config_options][-1] == "allow_all"
    copy = (await ride.agent.fork_session(first, where)).session_id
    await ride.agent.close_session(first)
    said = ride.editor.text
    await ride.agent.load_session(where, first)
    assert ride.editor.text == said * 2
    await ride.agent.close_session(first)
    await ride.agent.resume_session(first, where)
    listed = await ride.agent.list_sessions(where)
    assert {each.session_id for each in listed.sessions} == {first, copy}


async def login(ride: Ride) -> None:
    """A login that is wanted first."""
    await ride.agent.initialize(1, None, US)
    with pytest.raises(acp.RequestError) as refusal:
        await ride.open()
    assert refusal.value.code == -32000
    await ride.agent.authenticate("stub")
    await ride.say(await ride.open(), "hello")


async def saved(ride: Ride) -> None:
    """Names and fates of sessions, of which the SDK knows one."""
    await ride.hello()
    session_id = await ride.opened()
    named = await ride.ask("session/set_title", {"sessionId": session_id, "title": " A  title "})
    assert named == {"title": "A title"}
    assert await ride.ask("session/status", {"sessionId": session_id}) == {"status": "open"}
    await ride.ask("session/archive", {"sessionId": session_id})
    await ride.ask("session/unarchive", {"sessionId": session_id})
    gone = schema.DeleteSessionRequest(session_id=session_id)
    await ride.asked("session_delete", gone, schema.DeleteSessionResponse)
    listed = await ride.asked(
        "session_list", schema.ListSessionsRequest(), schema.ListSessionsResponse
    )
    assert listed.sessions == []


async def logout(ride: Ride) -> None:
    """A login and its end, with what the agent tells of it."""
    await ride.hello()
    entry = schema.AuthenticateRequest(method_id="stub")
    await ride.asked("authenticate", entry, schema.AuthenticateResponse)
    assert await ride.ask("auth/status") == {"state": "authenticated"}
    await ride.asked("logout", schema.LogoutRequest(), schema.LogoutResponse)
    assert await ride.ask("auth/status") == {"state": "not_required"}
    assert ride.editor.told == ["auth/status_update"] * 2


async def providers(ride: Ride) -> None:
    """Where services are reached."""
    await ride.hello()
    route = schema.SetProviderRequest(
        provider_id="ollama", api_type="openai", base_url="http://127.0.0.1:8/v1", headers={}
    )
    await ride.asked("providers_set", route, schema.SetProviderResponse)
    every = schema.ListProvidersRequest()
    listed = await ride.asked("providers_list", every, schema.ListProvidersResponse)
    assert listed.providers[0].current.base_url == "http://127.0.0.1:8/v1"
    off = schema.DisableProviderRequest(provider_id="ollama")
    await ride.asked("providers_disable", off, schema.DisableProviderResponse)


async def over_acp(ride: Ride) -> None:
    """A server that the client itself serves; a call of it is taken back with its turn."""
    await ride.hello()
    server = schema.AcpMcpServer(type="acp", name="here", server_id="srv-1")
    session_id = await ride.opened(server)
    block = {"type": "text", "text": "call here__look"}
    prompt = {"sessionId": session_id, "prompt": [block]}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel_bare, ride, session_id)
        assert await ride.ask("session/prompt", prompt) == {"stopReason": "cancelled"}
    await ride.ask("session/close", {"sessionId": session_id})


async def _cancel_bare(ride: Ride, session_id: str) -> None:
    await ride.editor.is_called.wait()
    await ride.bare.send_notification("session/cancel", {"sessionId": session_id})


async def bridge(ride: Ride) -> None:
    """A server of the agent, reached as the Continuum Router has it."""
    await ride.hello()
    connection = await ride.ask("mcp/connect", {"id": "weather"})
    listing = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = await ride.ask("mcp/message", {**connection, "message": listing})
    assert answer["id"] == 1
    assert await ride.ask("mcp/disconnect", connection) == {}


@dataclass(frozen=True)
class Drive:
    """What is done with one agent, and which methods of either side are in it."""

    deed: Deed
    methods: frozenset[str]
    asked: frozenset[str] = frozenset()
    """By the agent."""
    options: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    is_bare: bool = False
    """Whether the SDK's client has no words for it."""
    is_published: bool = True
    """Whether it is about the protocol, and not about a dialect of it."""


_OPENED = frozenset({"initialize", "session/new"})
_SAID = _OPENED | {"session/prompt"}
_TOLD = frozenset({"session/update"})
_CONSENT = _TOLD | {"session/request_permission"}
_CONFIG = ("--config", "acp-agent.toml")
DRIVES: Mapping[str, Drive] = {
    "talk": Drive(
        talk,
        _SAID | {"session/cancel"},
        _CONSENT
        | {f"fs/{deed}_text_file" for deed in ("read", "write")}
        | {f"terminal/{deed}" for deed in ("create", "wait_for_exit", "output", "kill", "release")}
        | {"$/cancel_request"},
    ),
    "prompts": Drive(prompts, _SAID | {"session/close"}, _CONSENT),
    "questions": Drive(questions, _SAID, _TOLD | {"elicitation/create", "elicitation/complete"}),
    "sessions": Drive(
        sessions,
        _SAID
        | {f"session/{deed}" for deed in ("load", "resume", "close", "fork", "list")}
        | {"session/set_mode", "session/set_config_option"},
        _TOLD,
        options=("--unstable",),
    ),
    "login": Drive(login, _SAID | {"authenticate"}, _TOLD, options=("--auth", "required")),
    "saved": Drive(
        saved,
        _OPENED
        | {f"session/{deed}" for deed in ("archive", "unarchive", "status", "delete", "list")}
        | {"session/set_title"},
        _TOLD,
        options=("--unstable",),
        is_bare=True,
    ),
    "logout": Drive(
        logout,
        frozenset({"initialize", "authenticate", "logout", "auth/status"}),
        frozenset({"auth/status_update"}),
        options=("--unstable", "--auth", "stub"),
        is_bare=True,
    ),
    "providers": Drive(
        providers,
        frozenset({"initialize", "providers/set", "providers/list", "providers/disable"}),
        options=("--unstable", *_CONFIG),
        files={"acp-agent.toml": TWO_MODELS},
        is_bare=True,
    ),
    "over_acp": Drive(
        over_acp,
        _SAID | {"session/cancel", "session/close"},
        _CONSENT | {"mcp/message", "$/cancel_request"},
        options=("--unstable",),
        is_bare=True,
    ),
    "bridge": Drive(
        bridge,
        frozenset({"initialize", "mcp/connect", "mcp/message", "mcp/disconnect"}),
        options=_CONFIG,
        files={"acp-agent.toml": BRIDGED},
        is_bare=True,
        is_published=False,
    ),
}


async def ridden(name: str, folder: Path) -> Recording:
    """Do a drive in `folder`; return what was said in it, as our proxy has recorded it."""
    drive, path, place = DRIVES[name], folder / "it.acp.ndjson", folder / "place"
    place.mkdir()
    for file, content in {"notes.md": "Buy milk.\n", **drive.files}.items():
        (place / file).write_text(content)
    proxy = ("-m", "acp_console", "proxy", "--record", str(path), "--")
    command = (*WARM, *proxy, *WARM, "-m", "acp_agent", *drive.options)
    with anyio.fail_after(LIMIT):
        await (_ride_bare if drive.is_bare else _ride)(drive.deed, place, command)
    return read_recording(path)


async def _ride(deed: Deed, place: Path, command: tuple[str, ...]) -> None:
    editor = Editor()
    # What has become stable since is unstable in this SDK.
    async with spawn_agent_process(
        cast("acp.Client", editor),
        *cast("tuple[str]", command),
        env=os.environ,
        cwd=place,
        use_unstable_protocol=True,
    ) as (agent, process):
        await deed(Ride(editor, place, agent, cast("Any", None)))
    assert process.returncode == 0


async def _ride_bare(deed: Deed, place: Path, command: tuple[str, ...]) -> None:
    editor = Editor()
    router = build_client_router(cast("acp.Client", editor), use_unstable_protocol=True)

    async def handle(method: str, params: Any, is_notification: bool) -> Any:
        if method == "mcp/message":
            return await serve(editor, params)
        if is_notification and method != "session/update":
            editor.told.append(method)
            if method == "$/cancel_request":
                editor.is_cancelled.set()
            return None
        return await router(method, params, is_notification)

    async with spawn_stdio_connection(
        handle, *cast("tuple[str]", command), env=os.environ, cwd=place
    ) as (bare, process):
        await deed(Ride(editor, place, cast("Any", None), bare))
    assert process.returncode == 0
