"""The stories of the recordings: the client's side of each, and the files in its directory."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, cast

import anyio

from acp_console.chat.connection import AgentConnection
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PermissionPrompt
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json, Notification, Request

ROOT: Final = Path(__file__).parent.parent
PEERS: Final = "tests/protocol/dialects/peers"
"""The directory with clients and agents that know the document of a dialect, and nothing else."""
CASSETTE: Final = "model.cassette"
"""The file with what the model says, in the directory of the agent."""
NOTES: Final = "# Notes\n\nBuy milk.\nTODO: call Ada.\n"
IMAGE: Final[Json] = {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}
WEATHER: Final = '''\
"""An MCP server in a few lines: it knows the weather of each place."""

import json
import sys

TOOL = {
    "name": "look",
    "description": "Look outside.",
    "inputSchema": {"type": "object", "properties": {"place": {"type": "string"}}},
}


def answer(method, params):
    if method == "initialize":
        about = {"name": "weather", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        said = f"It rains in {params['arguments']['place']}."
        return {"content": [{"type": "text", "text": said}]}
    return None


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        told = answer(asked["method"], asked.get("params"))
        what = {"error": {"code": -32601, "message": "Method not found"}}
        what = what if told is None else {"result": told}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **what}), flush=True)
'''
_OPENING: Final = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
TWO_MODELS: Final = """\
[model]
name = "demo"

[[model.others]]
name = "ollama:qwen3"
"""


@dataclass
class Stage:
    """Where a story is played: the client's side of a connection to the agent."""

    link: AgentConnection
    cwd: Path
    decider: Chooser
    host: FormHost

    async def ask(self, method: str, **params: Json) -> Mapping[str, Json]:
        """Return what the agent answers; nothing if it refuses, which is part of the story."""
        try:
            answer = await self.link.connection.request(method, params)
        except RequestFailedError:
            return {}
        if method in _OPENING and self.link.version == 1:
            # It follows on the answer, and whatever we say next is to follow on that.
            await self.host.announced.acquire()
        return cast("Mapping[str, Json]", answer)

    async def open(self) -> str:
        """Return the id of a new session."""
        session = await self.link.new_session(self.cwd)
        if self.link.version == 1:
            await self.host.announced.acquire()
        return cast("str", session["sessionId"])

    async def open_again(self, how: str, session_id: str, **more: Json) -> None:
        """Load or resume a session."""
        servers: dict[str, Json] = {"mcpServers": []} if self.link.version == 1 else {}
        await self.ask(how, sessionId=session_id, cwd=str(self.cwd), **servers, **more)


Story: TypeAlias = Callable[[Stage], Awaitable[None]]


class Chooser:
    """Selects the given kinds of options, one a request, and then allows; see `cancelling`."""

    def __init__(self, kinds: Sequence[str] = ()) -> None:
        self._kinds = list(kinds)
        self.cancelling: Callable[[str], Awaitable[None]] | None = None
        """What is done in place of deciding; the turn is cancelled with it."""

    async def decide(self, request: PermissionPrompt) -> str | None:
        """Return the id of one of the offered options; None when nothing was decided."""
        if self.cancelling is not None:
            await self.cancelling(request.session_id)
            # The agent cancels its request, and with it this wait.
            await anyio.sleep_forever()
        kind = self._kinds.pop(0) if self._kinds else "allow_once"
        return next((option.id for option in request.options if option.kind == kind), None)


class FormHost(ClientHandlers):
    """One that shows forms and pages, and whose user accepts all."""

    def __init__(self, decider: Chooser, *, reads: bool = True, runs: bool = False) -> None:
        super().__init__(decider, reads=reads, runs=runs)
        self.announced = anyio.Semaphore(0)
        """Released once for each session whose commands were announced."""

    @property
    def capabilities(self) -> dict[str, Json]:
        """What `initialize` tells an agent of us."""
        return {**super().capabilities, "elicitation": {"form": {}, "url": {}}}

    async def handle_request(self, request: Request) -> Json:
        """Answer a request of the agent."""
        match request:
            case Request(method="elicitation/create", params={"mode": "form"}):
                return {"action": "accept", "content": {"answer": "red"}}
            case Request(method="elicitation/create"):
                return {"action": "accept"}
            case _:
                pass
        return await super().handle_request(request)

    def observe_notification(self, notification: Notification) -> None:
        """Notice announced commands."""
        super().observe_notification(notification)
        match notification.params:
            case {"update": {"sessionUpdate": "available_commands_update"}}:
                self.announced.release()
            case _:
                pass


@dataclass(frozen=True)
class RecordingRecipe:
    """How a recording is made: its story, and the files and options that it needs."""

    about: str
    story: Story
    files: Mapping[str, str] = field(default_factory=lambda: {"notes.md": NOTES})
    options: tuple[str, ...] = ()
    """Of the agent."""
    newest: int = 1
    """The newest version of the protocol that both speak."""
    kinds: tuple[str, ...] = ()
    """What the user decides, question by question."""
    runs: bool = False
    """Whether the client runs commands."""
    reads: bool = True
    """Whether the client hands files out; else the agent reads them from the disk."""
    replies: Sequence[Sequence[Mapping[str, Json]]] = ()
    """What the model says, event by event, where it is not the demo model."""
    dialect: str | None = None
    """The dialect that is chosen; others are recognised."""
    agent: str = ""
    """A script among `PEERS` that is the agent in place of ours."""
    client: str = ""
    """A script among `PEERS` that is the client, and has a story of its own."""
    breaches: tuple[str, ...] = ()
    """The rules that the script breaks on purpose."""

    @property
    def command(self) -> list[str]:
        """The command of the agent, as a recording has it."""
        if self.agent:
            return ["python", f"{PEERS}/{self.agent}"]
        version = ("--protocol", str(self.newest)) if self.newest > 1 else ()
        model = ("acp-console", "model", "replay", "--cassette", CASSETTE, "--")
        dialect = ("--dialect", self.dialect) if self.dialect else ()
        return [*(model if self.replies else ()), "acp-agent", *version, *dialect, *self.options]


def installed(command: Sequence[str], python: Sequence[str] = (sys.executable,)) -> list[str]:
    """Return a command with the programs of this environment in place of their names."""
    modules = {"acp-console": "acp_console", "acp-agent": "acp_agent"}
    words: list[str] = []
    for word in command:
        if word in modules:
            words += (*python, "-m", modules[word])
        elif word == "python":
            words.append(sys.executable)
        else:
            words.append(str(ROOT / word) if word.startswith(PEERS) else word)
    return words


def prompting(*prompts: str) -> Story:
    """Return the story of a session in which all this is said."""

    async def story(stage: Stage) -> None:
        session_id = await stage.open()
        for prompt in prompts:
            await stage.link.prompt(session_id, prompt)

    return story


async def _greet(stage: Stage) -> None:
    """Say hello to an agent that may announce no commands."""
    session = await stage.link.new_session(stage.cwd)
    await stage.link.prompt(cast("str", session["sessionId"]), "hello")


async def _cancel(stage: Stage) -> None:
    session_id = await stage.open()
    stage.decider.cancelling = stage.link.cancel
    await stage.link.prompt(session_id, "edit notes.md: milk => bread")
    stage.decider.cancelling = None
    await stage.link.prompt(session_id, "read notes.md")


async def _load(stage: Stage) -> None:
    session_id = await stage.open()
    await stage.link.prompt(session_id, "edit notes.md: milk => bread")
    await stage.ask("session/close", sessionId=session_id)
    await stage.open_again("session/load", session_id)
    await stage.link.prompt(session_id, "read notes.md")


async def _resume(stage: Stage) -> None:
    session_id = await stage.open()
    await stage.link.prompt(session_id, "edit notes.md: milk => bread")
    await stage.ask("session/close", sessionId=session_id)
    await stage.open_again("session/resume", session_id, replayFrom={"type": "start"})
    await stage.link.prompt(session_id, "hello")


async def _images(stage: Stage) -> None:
    session_id = await stage.open()
    await stage.link.prompt(session_id, [IMAGE, {"type": "text", "text": "think"}])
    await stage.ask(
        "session/set_config_option", sessionId=session_id, configId="model", value="ollama:qwen3"
    )
    await stage.ask("session/prompt", sessionId=session_id, prompt=[IMAGE])


async def _mcp(stage: Stage) -> None:
    command = {"command": "/usr/bin/env", "args": ["python3", "weather.py"], "env": []}
    server: Json = {"name": "weather", **command}
    answer = await stage.ask("session/new", cwd=str(stage.cwd), mcpServers=[server])
    session_id = cast("str", answer["sessionId"])
    await stage.link.prompt(session_id, "call weather__look place=Rome")
    await stage.ask("session/close", sessionId=session_id)


async def _options(stage: Stage) -> None:
    session_id = await stage.open()
    await stage.ask("session/set_mode", sessionId=session_id, modeId="architect")
    await stage.link.prompt(session_id, "edit notes.md: milk => bread")
    await stage.ask("session/set_mode", sessionId=session_id, modeId="ask")
    option = {"sessionId": session_id, "configId": "policy", "value": "allow_all"}
    await stage.ask("session/set_config_option", **option)
    await stage.link.prompt(session_id, "edit notes.md: milk => bread")


async def _sessions(stage: Stage) -> None:
    first = await stage.open()
    await stage.link.prompt(first, "hello")
    await stage.ask("session/set_title", sessionId=first, title="Greetings")
    await stage.ask("session/status", sessionId=first)
    copy = await stage.ask("session/fork", sessionId=first, cwd=str(stage.cwd), mcpServers=[])
    await stage.ask("session/archive", sessionId=first)
    await stage.ask("session/list", archived="only")
    await stage.ask("session/unarchive", sessionId=first)
    await stage.open_again("session/resume", first)
    await stage.ask("session/delete", sessionId=copy["sessionId"])
    await stage.ask("session/list", cwd=str(stage.cwd))


async def _login(stage: Stage) -> None:
    await stage.ask("session/new", cwd=str(stage.cwd), mcpServers=[])
    await stage.ask("authenticate", methodId="stub")
    await stage.link.prompt(await stage.open(), "hello")
    await stage.ask("logout")
    await stage.ask("session/new", cwd=str(stage.cwd), mcpServers=[])


async def _providers(stage: Stage) -> None:
    await stage.ask("providers/list")
    chosen = {"providerId": "ollama", "apiType": "openai", "baseUrl": "http://127.0.0.1:8/v1"}
    await stage.ask("providers/set", **chosen)
    await stage.ask("providers/list")
    await stage.ask("providers/disable", providerId="ollama")
    await stage.ask("providers/list")


def _calls(*names: str) -> Sequence[Mapping[str, Json]]:
    """Return what a model says that reads several files at once."""
    calls: list[Json] = [
        {
            "index": place,
            "id": f"c{place}",
            "type": "function",
            "function": {"name": "read", "arguments": json.dumps({"path": name})},
        }
        for place, name in enumerate(names)
    ]
    return _reply({"role": "assistant", "tool_calls": calls}, "tool_calls")


def _reply(delta: Json, reason: str) -> Sequence[Mapping[str, Json]]:
    head: Mapping[str, Json] = {"id": "r", "object": "chat.completion.chunk", "model": "qwen3"}
    last: Json = {"index": 0, "delta": {}, "finish_reason": reason}
    first: Json = {"index": 0, "delta": delta, "finish_reason": None}
    return [{**head, "choices": [first]}, {**head, "choices": [last]}]


def _of_dialects() -> dict[str, RecordingRecipe]:
    """Return the recordings of each dialect: of both our sides, and of each with a stranger."""
    unknown = ("blank-prompt", "unknown-session")
    strangers: dict[str, tuple[str, ...]] = {
        "continuum": ("initialize-not-first", *unknown),
        "acpex": unknown,
        "openoxide": (),
    }
    found: dict[str, RecordingRecipe] = {}
    for name, breaches in strangers.items():
        found[f"dialects/{name}"] = RecordingRecipe(
            f"our client and our agent in the dialect {name}: tools of every kind",
            prompting("/tour"),
            files={},
            runs=True,
            dialect=name,
        )
        found[f"dialects/{name}-agent"] = RecordingRecipe(
            f"our client with an agent that knows the document of {name} only",
            _greet,
            files={},
            dialect=name,
            agent=f"{name}_agent.py",
        )
        found[f"dialects/{name}-client"] = RecordingRecipe(
            f"our agent with a client that knows the document of {name} only, and is recognised",
            _greet,
            files={},
            client=f"{name}_client.py",
            breaches=breaches,
        )
    return found | _of_arrays()


def _of_arrays() -> dict[str, RecordingRecipe]:
    """Return the recordings of `v2-batch`, in which each side sends arrays of messages."""
    return {
        "dialects/v2-batch": RecordingRecipe(
            "our client and a scripted agent of ours, which sends a question and updates in arrays",
            _greet,
            files={},
            newest=2,
            dialect=BATCHES,
            options=("--script", f"{PEERS}/batch_tour_script.py"),
        ),
        "dialects/v2-batch-agent": RecordingRecipe(
            "our client with an agent that knows the page about batches only",
            _greet,
            files={},
            newest=2,
            dialect=BATCHES,
            agent="batch_agent.py",
        ),
        "dialects/v2-batch-client": RecordingRecipe(
            "our agent with a client that knows the page about batches only, and sends arrays",
            _greet,
            files={},
            newest=2,
            dialect=BATCHES,
            client="batch_client.py",
            breaches=(
                *("not-json", "not-an-object", "wrong-jsonrpc-version"),
                *("unprefixed-method", "empty-batch"),
            ),
        ),
    }


EDIT: Final = "edit notes.md: milk => bread"
RECORDINGS: Final[Mapping[str, RecordingRecipe]] = {
    "hello": RecordingRecipe("a greeting: text in chunks, and nothing else", prompting("hello")),
    "edit": RecordingRecipe(
        "a file is read, searched and edited, with the user's consent",
        prompting("read notes.md then search TODO", EDIT),
    ),
    "tour": RecordingRecipe(
        "each feature once: thoughts, a plan, tools of every kind", prompting("/tour")
    ),
    "turns/consent": RecordingRecipe(
        "an edit is refused, the same one allowed for good, and the next one not asked about",
        prompting(EDIT, EDIT, "edit notes.md: bread => butter"),
        kinds=("reject_once", "allow_always"),
    ),
    "turns/cancel": RecordingRecipe(
        "a turn is cancelled while it waits for the user's consent", _cancel
    ),
    "turns/terminal": RecordingRecipe(
        "a command runs in a terminal of the client", prompting("run cat notes.md"), runs=True
    ),
    "turns/parallel": RecordingRecipe(
        "a model reads three files at once, and says something after that",
        prompting("Read the notes, please."),
        files={"ada.md": "Call Ada.\n", "milk.md": "Buy milk.\n", "rain.md": "It rains.\n"},
        options=("--model", "ollama:qwen3"),
        # The client would be asked in one order now, and in another one then.
        reads=False,
        replies=(
            _calls("ada.md", "milk.md", "rain.md"),
            _reply({"role": "assistant", "content": "Call Ada, buy milk, and it rains."}, "stop"),
        ),
    ),
    "turns/mcp": RecordingRecipe(
        "a session has an MCP server of its own, whose tool is called",
        _mcp,
        files={"weather.py": WEATHER},
    ),
    "turns/elicitation": RecordingRecipe(
        "the user is asked by a form, and shown a page",
        prompting("ask Which colour?: red, green", "open https://example.org/"),
    ),
    "turns/images": RecordingRecipe(
        "an image is taken by a model that looks at images, and refused for one that does not",
        _images,
        files={"acp-agent.toml": TWO_MODELS},
        options=("--config", "acp-agent.toml"),
    ),
    "turns/load": RecordingRecipe(
        "a session is closed, loaded with all that was said, and goes on", _load
    ),
    "turns/options": RecordingRecipe(
        "a mode forbids an edit, and a policy allows it unasked", _options
    ),
    "turns/sessions": RecordingRecipe(
        "sessions are named, copied, archived, listed and deleted",
        _sessions,
        options=("--unstable",),
    ),
    "turns/login": RecordingRecipe(
        "a session is refused before a login, and after the logout again",
        _login,
        options=("--auth", "required"),
    ),
    "turns/providers": RecordingRecipe(
        "the client says where a service is reached, and switches it off",
        _providers,
        options=("--unstable", "--config", "acp-agent.toml"),
        files={"acp-agent.toml": TWO_MODELS},
    ),
    "turns/edit-v2": RecordingRecipe(
        "version 2: a file is read and edited, with the user's consent",
        prompting("read notes.md", EDIT),
        newest=2,
    ),
    "turns/cancel-v2": RecordingRecipe(
        "version 2: a turn is cancelled while it waits for the user's consent", _cancel, newest=2
    ),
    "turns/resume-v2": RecordingRecipe(
        "version 2: a session is closed, resumed with all that was said, and goes on",
        _resume,
        newest=2,
    ),
    **_of_dialects(),
}
