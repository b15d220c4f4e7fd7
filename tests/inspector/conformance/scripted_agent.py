"""An agent that follows the protocol to the letter, and can be given one defect.

It speaks versions 1 and 2, with the unstable parts. A prompt that begins with a word of `TURNS`
makes it do that; all others get a greeting.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import httpx
from anyio.abc import TaskGroup

from acp_inspector.conformance.agent import tool_server
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.jsonrpc import Json, parse
from acp_protocol.schema.validate import validate_params
from acp_protocol.transport import Transport

Message = dict[str, Any]
Edit = Callable[[str, Message], Any]
"""Gets a tag and a message that is to be sent; returns what is sent instead.

That is a message, bytes, a list of both, or None for nothing. Tags: `result METHOD`,
`error METHOD`, `update KIND`, `request METHOD`, `notification METHOD`, `error` without a method.
"""

LOGIN = {"type": "terminal", "name": "In a terminal", "args": ["login"]}
NAME = {"name": "scripted", "version": "1.0"}
MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
}
REQUESTS = {
    "initialize", "authenticate", "logout", "auth/login", "auth/logout", "session/new",
    "session/load", "session/resume", "session/list", "session/close", "session/delete",
    "session/prompt", "session/set_mode", "session/set_config_option", "session/fork",
    "session/set_title", "session/status", "session/archive", "session/unarchive", "auth/status",
    "providers/list", "providers/set", "providers/disable", "tool_call/cancel", "terminal/cancel",
}  # fmt: skip
LENIENT = {
    "no-cwd": ("session/new", "params.cwd"),
    "any-servers": ("session/new", "params.mcpServers"),
    "any-load": ("session/load", "params.sessionId"),
    "accepts-missing": ("session/prompt", "params.prompt"),
    "accepts-string": ("session/prompt", "params.prompt"),
    "accepts-no-type": ("session/prompt", "params.prompt.0.type"),
    "accepts-no-text": ("session/prompt", "params.prompt.0.text"),
    "accepts-no-uri": ("session/prompt", "params.prompt.0.uri"),
    "accepts-no-session": ("session/prompt", "params.sessionId"),
    "any-block": ("session/prompt", "params.prompt.0.type"),
}
"""By flag: the method and the path of a field that is not checked."""
SERVERS = {"stdio", "http"}
"""Types of MCP servers."""
ONLY = {
    1: {"authenticate", "logout", "session/load", "session/set_mode"},
    2: {"auth/login", "auth/logout", "tool_call/cancel", "terminal/cancel"},
}


@dataclass
class Defect:
    """What is wrong with the agent, and the cases that must notice."""

    cases: str
    """Ids of the cases that fail, separated by blanks."""
    edit: Edit | None = None
    flags: frozenset[str] = frozenset()
    versions: tuple[str, ...] = ("v1",)
    """The profiles in which the defect shows."""
    is_alone: bool = False
    """Whether only its own cases are played: it lets a wait run out, or spreads."""
    shown_by: str = ""
    """Another case that has to be played: the defect is in what the agent sends there."""


async def read_array(peer: Any, array: list[Any]) -> None:
    """Have a scripted peer read the messages of an array, and send its responses in one."""
    if not array:
        await peer.send("error empty", {"id": None, "error": {"code": -32600, "message": "Empty"}})
        return
    peer.gathered = []
    for each in array:
        await peer.read(json.dumps(each).encode())
    responses, peer.gathered = peer.gathered, None
    if responses or "answers-nothing" in peer.flags:
        for each in as_lines(peer.edit("array", responses)):
            await peer.transport.send(each)


def as_lines(array: Any) -> list[bytes]:
    """Return an array as a line; or what is lines already."""
    is_lines = bool(array) and isinstance(array[0], bytes)
    return list(array) if is_lines else [json.dumps(array).encode()]


@dataclass
class Session:
    """A session of the agent."""

    id: str
    cwd: str
    is_open: bool = True
    is_archived: bool = False
    mode: str = "ask"
    model: str = "small"
    verbose: bool = False
    history: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Role, message id and text."""
    scope: anyio.CancelScope | None = None
    """The running turn."""
    last: Any = None
    """The id of the last prompt."""
    cause: str = ""
    """Why it was cancelled: cancel, close or request."""


class RefusedError(Exception):
    """A request that fails."""

    def __init__(self, code: int, text: str, data: Any = None) -> None:
        super().__init__(text)
        self.code, self.data = code, data


class ScriptedAgent:
    """One connection."""

    def __init__(
        self, transport: Transport, defect: Defect | None = None, *, is_unstable: bool = True
    ) -> None:
        self.transport = transport
        self.edit = (defect and defect.edit) or (lambda _, message: message)
        self.flags = defect.flags if defect else frozenset[str]()
        self.is_unstable = is_unstable
        self.takes_batches = False
        self.gathered: list[Message] | None = None
        """The responses to the array that is being read."""
        self.version = 0
        self.broken: set[str] = set()
        self.client: Message = {}
        self.sessions: dict[str, Session] = {}
        self.ids = count(1)
        self.servers: list[Message] = []
        """The MCP servers of all sessions."""
        self.lists = 0
        """How often the sessions were listed."""
        self.pending: dict[Any, tuple[anyio.Event, list[Message]]] = {}
        self.turns: dict[Any, Session] = {}
        self.tasks: TaskGroup

    def take_over(self, sessions: dict[str, Session]) -> None:
        """Use the sessions of an earlier run of the agent, all of them closed."""
        if "forgets" in self.flags:
            return
        self.sessions = sessions
        self.ids = count(1 + 100 * len(sessions))
        for each in sessions.values():
            each.is_open = False

    # The wire

    async def run(self) -> None:
        try:
            async with anyio.create_task_group() as self.tasks:
                while True:
                    # Several lines may come in one write.
                    for line in (await self.transport.receive()).split(b"\n"):
                        await self.take(line)
        except* ConnectionClosedError:
            pass
        if "stays" in self.flags:
            await anyio.sleep_forever()

    async def take(self, line: bytes) -> None:
        if line.strip() and not (line[-1:] == b"\r" and "no-returns" in self.flags):
            await self.read(line)
        elif "dies-of-blanks" in self.flags:
            raise ConnectionClosedError

    async def send(self, tag: str, message: Message) -> None:
        if self.gathered is not None and "method" not in message:
            self.gathered.append({"jsonrpc": "2.0"} | message)
            return
        sent = self.edit(tag, json.loads(json.dumps(message)))
        for each in sent if isinstance(sent, list) else [sent]:
            if isinstance(each, bytes):
                await self.transport.send(each)
            elif each is not None:
                whole = {"jsonrpc": "2.0"} | each
                await self.transport.send(json.dumps(whole).encode())

    async def fail(self, tag: str, id_: Any, code: int, text: str, data: Any = None) -> None:
        error = {"code": code, "message": text} | ({} if data is None else {"data": data})
        await self.send(tag, {"id": id_, "error": error})

    async def call(self, method: str, /, **params: Any) -> Message:
        """Send a request and return its response."""
        id_ = next(self.ids)
        waiting = (anyio.Event(), list[Message]())
        self.pending[id_] = waiting
        await self.send(f"request {method}", {"id": id_, "method": method, "params": params})
        await waiting[0].wait()
        return waiting[1][0]

    async def update(self, session: Session, variant: str, /, **fields: Any) -> None:
        inner = {"sessionUpdate": variant, **fields}
        params = {"sessionId": session.id, "update": inner}
        await self.send(f"update {variant}", {"method": "session/update", "params": params})

    async def read(self, line: bytes) -> None:
        try:
            message: Any = parse(line)
        except ValueError:
            if "dies-of-garbage" in self.flags and line.startswith(b"this"):
                raise ConnectionClosedError from None
            tag = "error parse array" if line.startswith(b"[") else "error parse"
            await self.fail(tag, None, -32700, "Parse error")
            return
        if isinstance(message, list):
            await self.read_list(message)
            return
        id_ = message.get("id") if isinstance(message, dict) else None
        is_call = isinstance(message, dict) and isinstance(message.get("method"), str)
        is_response = isinstance(message, dict) and ("result" in message or "error" in message)
        has_version = isinstance(message, dict) and message.get("jsonrpc") == "2.0"
        if not is_call and is_response:
            await self.read_response(message)
        elif not is_call or not (has_version or "any-version" in self.flags):
            await self.fail("error invalid", id_, -32600, "Invalid request")
        elif "id" not in message:
            await self.notified(message["method"], message.get("params") or {})
        elif id_ is None and self.version == 2 and "null-id" not in self.flags:
            await self.fail("error null", None, -32600, "The id is null")
        else:
            await self.requested(message)

    async def read_list(self, message: list[Any]) -> None:
        if self.takes_batches:
            await read_array(self, message)
        elif "reads-arrays" in self.flags:
            for each in message:
                await self.read(json.dumps(each).encode())
        else:
            await self.fail("error array", None, -32600, "Arrays are not supported")

    async def read_response(self, message: Message) -> None:
        waiting = self.pending.pop(message.get("id"), None)
        if waiting is not None:
            waiting[1].append(message)
            waiting[0].set()
        elif "answers-responses" in self.flags:
            await self.fail("error stray", None, -32600, "Unexpected response")

    async def notified(self, method: str, params: Any) -> None:  # noqa: C901 - a table of flags
        if method == "session/cancel":
            session = self.sessions.get(params.get("sessionId"))
            if "cancels-all" in self.flags:
                for each in self.sessions.values():
                    self.stop(each, "cancel")
            if "cancel-answers-twice" in self.flags and session and session.history:
                await self.send(
                    "again", {"id": session.last, "result": {"stopReason": "cancelled"}}
                )
            if session is None and "answers-cancel" in self.flags:
                await self.fail("error cancel", None, -32602, "No such session")
            if session is not None:
                self.stop(session, "cancel")
        elif method == "$/cancel_request":
            session = self.turns.get(params.get("requestId"))
            if session is not None:
                self.stop(session, "request")
            elif "answers-cancel-request" in self.flags:
                await self.fail("error cancel-request", None, -32602, "No such request")
        elif method in REQUESTS:
            if "answers-notifications" in self.flags:
                await self.send("result notification", {"id": None, "result": {}})
        elif "answers-unknown" in self.flags:
            await self.fail("error unknown", None, -32601, "Method not found")

    def stop(self, session: Session, cause: str) -> None:
        if session.scope is not None:
            session.cause = cause
            session.scope.cancel()
        elif "cancels-next" in self.flags:
            session.cause = "cancel"

    async def requested(self, message: Message) -> None:
        id_, method, params = message["id"], message["method"], message.get("params")
        tag = f"error {method}"
        try:
            result = await self.handle(id_, method, params)
        except RefusedError as problem:
            await self.fail(tag, id_, problem.code, str(problem), problem.data)
            return
        if result is not None:
            await self.send(f"result {method}", {"id": id_, "result": result})

    # Requests

    async def handle(self, id_: Any, method: str, params: Any) -> Message | None:
        if method == "initialize":
            if self.version and "once" in self.flags:
                raise RefusedError(-32600, "once only")
            return self.initialize(params)
        if not self.version and "early" not in self.flags:
            raise RefusedError(-32600, "initialize comes first")
        other = ONLY[3 - self.version] if self.version else set[str]()
        if method not in REQUESTS or method in other:
            if "short" in self.flags and len(json.dumps(params)) > 100_000:
                return None
            if f"silent {method}" in self.flags:
                return None
            raise RefusedError(-32601, "Method not found")
        self.check(method, params)
        name = method.replace("/", "_")
        handler = getattr(self, f"on_{name}")
        result: Message | None = await handler(id_, params)
        return result

    def check(self, method: str, params: Any) -> None:
        if f"unchecked {method}" in self.flags:
            return
        if params is not None and not isinstance(params, dict):
            if "positions" in self.flags:
                raise RefusedError(-32603, "No positions")
            raise RefusedError(-32602, "Params are not an object")
        if params is None and "no-params" in self.flags:
            raise RefusedError(-32603, "No params")
        for each in validate_params(method, params, self.version or 1):
            if "refused-for-good" in self.flags and method == "session/prompt":
                self.broken.add(str((params or {}).get("sessionId")))
            is_absent = method == "session/prompt" and "prompt" not in (params or {})
            if ("accepts-missing" if is_absent else "accepts-string") not in self.flags:
                unchecked = self.unchecked() - {("session/prompt", "params.prompt")}
            else:
                unchecked = self.unchecked()
            if "any-block" in self.flags and "hologram" not in str(params):
                unchecked -= {("session/prompt", "params.prompt.0.type")}
            if not each.is_tolerated and (method, each.path) not in unchecked:
                raise RefusedError(-32602, str(each))

    def unchecked(self) -> set[tuple[str, str]]:
        """Return the methods and paths that are accepted although they are wrong."""
        return {place for flag, place in LENIENT.items() if flag in self.flags}

    def initialize(self, params: Any) -> Message:
        wanted = params.get("protocolVersion") if isinstance(params, dict) else None
        if wanted is None and "needs-no-protocol" not in self.flags:
            raise RefusedError(-32602, "protocolVersion is missing")
        if wanted is not None and type(wanted) is not int and "any-protocol" not in self.flags:
            raise RefusedError(-32602, "protocolVersion is not an integer")
        newest = 2 if self.has_v2(params) else 1
        if newest == 2 and wanted == 0 and "version-zero" not in self.flags:
            data = {"requested": 0, "supported": [2]}
            raise RefusedError(-32022, "Unsupported protocol version", data)
        self.version = wanted if wanted in {1, newest} else newest
        if self.version == 2 and "info" not in params and "info" not in self.flags:
            self.version = 0
            raise RefusedError(-32602, "info is missing")
        if "strict-capabilities" in self.flags and '"readTextFile": "yes"' in json.dumps(params):
            raise RefusedError(-32602, "malformed capability")
        if "no-meta" in self.flags and "_meta" in json.dumps(params):
            raise RefusedError(-32602, "unknown capability")
        if "needs-capabilities" in self.flags and "clientCapabilities" not in params:
            raise RefusedError(-32602, "clientCapabilities are missing")
        if self.version == 1:
            self.client = params.get("clientCapabilities") or {}
            return {
                "protocolVersion": wanted if "echoes-version" in self.flags else 1,
                "agentCapabilities": self.v1_capabilities(),
                "agentInfo": NAME,
                "authMethods": [
                    {"id": "key", "name": "A key"},
                    *([LOGIN | {"id": "login"}] if self.shows_login() else []),
                ],
            }
        self.client = params.get("capabilities") or {}
        prompt: Message = {"image": {}, "embeddedContext": {}}
        session = {
            "prompt": prompt,
            "mcp": {"stdio": {}, "http": {}},
            "delete": {},
            "additionalDirectories": {},
        }
        return {
            "protocolVersion": 2,
            "capabilities": {"session": session},
            "info": NAME,
            "authMethods": [
                {"type": "agent", "methodId": "key", "name": "A key"},
                *([LOGIN | {"methodId": "login"}] if self.shows_login() else []),
            ],
        }

    def shows_login(self) -> bool:
        return self.has("auth", "terminal") or "login-anyway" in self.flags

    def has_v2(self, params: Any) -> bool:
        return isinstance(params, dict) and "capabilities" in params

    def v1_capabilities(self) -> Message:
        session: Message = {
            each: {} for each in ("list", "resume", "close", "delete", "additionalDirectories")
        }
        if "no-close" in self.flags:
            del session["close"]
        found: Message = {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
            "mcpCapabilities": {"http": "no-http" not in self.flags},
            "sessionCapabilities": session,
            "auth": {"logout": {}},
        }
        if self.is_unstable:
            session |= {"fork": {}, "title": {}, "status": {}, "archive": {}}
            found["auth"]["status"] = {}
            found["providers"] = {}
        return found

    async def on_authenticate(self, _: Any, params: Any) -> Message:
        if params.get("methodId", "key") != "key" and "any-login" not in self.flags:
            raise RefusedError(-32602, "No such method")
        if "login-fails" in self.flags:
            raise RefusedError(-32000, "The key is wrong")
        return {}

    on_auth_login = on_authenticate

    async def on_logout(self, _: Any, params: Any) -> Message:
        return {}

    on_auth_logout = on_logout

    def place(self, params: Message) -> str:
        cwd = str(params.get("cwd", "/"))
        if not cwd.startswith("/") and "any-cwd" not in self.flags:
            raise RefusedError(-32602, "cwd is not absolute")
        roots = params.get("additionalDirectories") or []
        if any(not str(each).startswith("/") for each in roots) and "any-root" not in self.flags:
            raise RefusedError(-32602, "a directory is not absolute")
        if roots and "no-roots" in self.flags:
            raise RefusedError(-32603, "no roots")
        servers = params.get("mcpServers")
        for each in servers if isinstance(servers, list) else []:
            type_ = each.get("type", "stdio")
            if self.version == 2 and type_ not in SERVERS and "any-server" not in self.flags:
                raise RefusedError(-32602, "unknown transport")
            if type_ in SERVERS and f"ignores-{type_}" not in self.flags:
                self.servers.append(each)
                self.call_server(each, "initialize")
                if "lists-nothing" not in self.flags:
                    self.call_server(each, "tools/list")
        return cwd

    def call_server(self, server: Message, method: str) -> None:
        """Call a method of an MCP server; what runs as a program elsewhere is played here."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
        if server.get("type") == "http":
            end = "/mcp" if "calls-elsewhere" in self.flags else ""
            # No certificates: loading them takes far longer than the request.
            response = httpx.post(server["url"] + end, json=request, trust_env=False, verify=False)
            assert response.is_success != bool(end)
            return
        with Path(server["args"][-1]).open("a", encoding="utf-8") as notes:
            assert tool_server.respond(request, lambda name: print(name, file=notes))

    def setup(self, session: Session) -> Message:
        """Return what session/new and others say about a session."""
        if self.version == 2:
            command: Message = {"type": "command", "name": "tour", "description": "Show all"}
            command["input"] = {"type": "text", "hint": "what"}
            return {"configOptions": self.options(session), "availableCommands": [command]}
        return {
            "modes": MODES | {"currentModeId": session.mode},
            "configOptions": self.options(session),
        }

    def options(self, session: Session) -> list[Message]:
        key = "configId" if self.version == 2 else "id"
        values = [{"value": each, "name": each} for each in ("small", "large")]
        found: list[Message] = [
            {
                key: "model",
                "name": "Model",
                "type": "select",
                "category": "model",
                "currentValue": session.model,
                "options": values,
            }
        ]
        knows_booleans = (
            self.version == 2
            or ((self.client.get("session") or {}).get("configOptions") or {}).get("boolean")
            is not None
        )
        if knows_booleans or "boolean" in self.flags:
            found.append(
                {key: "verbose", "name": "Verbose", "type": "boolean", "currentValue": False}
            )
        return found

    async def on_session_new(self, id_: Any, params: Any) -> Message | None:
        if "no-session-meta" in self.flags and "_meta" in params:
            raise RefusedError(-32602, "unknown member")
        if "new-ends-turns" in self.flags:
            for each in self.sessions.values():
                self.stop(each, "close")
        number = 1 if "one-id" in self.flags else next(self.ids)
        session = Session(f"s{number}", self.place(params))
        self.sessions[session.id] = session
        result = {"sessionId": session.id, **self.setup(session)}
        await self.send("result session/new", {"id": id_, "result": result})
        if self.version == 1:
            command = {"name": "tour", "description": "Show all", "input": {"hint": "what"}}
            await self.update(session, "available_commands_update", availableCommands=[command])
        return None

    def find(self, params: Any, *, is_open: bool = True) -> Session:
        session = self.sessions.get(params["sessionId"])
        if session is None or (is_open and not session.is_open and "reopens" not in self.flags):
            raise RefusedError(-32002, "No such session", {"sessionId": params["sessionId"]})
        return session

    async def replay(self, session: Session) -> None:
        for role, message, text in session.history:
            content = {"type": "text", "text": text}
            await self.update(session, f"{role}_message_chunk", messageId=message, content=content)

    async def on_session_load(self, id_: Any, params: Any) -> Message | None:
        if "any-load" in self.flags and "sessionId" not in params:
            return {}
        if "loads-any" in self.flags and params["sessionId"] not in self.sessions:
            return {}
        session = self.find(params, is_open=False)
        if session.is_open and "no-close" in self.flags and "forgets" not in self.flags:
            raise RefusedError(-32603, "The session is open")
        self.place(params)
        session.is_open = "load-closed" not in self.flags
        if "load-silent" not in self.flags and "load-late" not in self.flags:
            await self.replay(session)
        await self.send("result session/load", {"id": id_, "result": self.setup(session)})
        if "load-late" in self.flags or "load-twice" in self.flags:
            await self.replay(session)
        return None

    async def on_session_resume(self, id_: Any, params: Any) -> Message | None:
        if "resumes-any" in self.flags and params["sessionId"] not in self.sessions:
            return {}
        cursor = params.get("replayFrom") or {}
        if cursor and cursor.get("type") != "start" and "any-cursor" not in self.flags:
            raise RefusedError(-32602, "unknown cursor")
        session = self.find(params, is_open=False)
        self.place(params)
        session.is_open = "resume-closed" not in self.flags
        replays = self.version == 2 and cursor.get("type") == "start"
        if (replays and "load-silent" not in self.flags) or "resume-replays" in self.flags:
            await self.replay(session)
        if self.version == 2 and "no-state" not in self.flags:
            await self.update(session, "state_update", state="idle")
        await self.send("result session/resume", {"id": id_, "result": self.setup(session)})
        if replays and "load-twice" in self.flags:
            await self.replay(session)
        return None

    async def on_session_list(self, _: Any, params: Any) -> Message:
        params = params or {}
        self.lists += 1
        if "lists-late" in self.flags and self.lists < 3:
            return {"sessions": []}
        start = params.get("cursor", "0")
        if not start.isdigit() and "any-page" not in self.flags:
            raise RefusedError(-32602, "unknown cursor")
        cwd = params.get("cwd")
        found = [
            each
            for each in self.sessions.values()
            if (cwd is None or each.cwd == cwd or "all-places" in self.flags)
            and (not each.is_archived or "keeps-archived" in self.flags)
            and (each.history or not each.is_open)
            and "lists-none" not in self.flags
        ]
        at = int(start) if start.isdigit() else 0
        rows = [self.listed(each) for each in found[at : at + 1]]
        step = 0 if "repeats" in self.flags else 1
        more = {"nextCursor": str(at + step)} if at + 1 < len(found) else {}
        return {"sessions": rows, **more}

    def listed(self, session: Session) -> Message:
        row: Message = {"sessionId": session.id, "cwd": session.cwd, "title": "A talk"}
        if self.version == 1 and self.is_unstable:
            row["archived"] = session.is_archived
        return row

    async def on_session_close(self, id_: Any, params: Any) -> Message | None:
        session = self.sessions.get(params["sessionId"])
        if session is not None:
            if "close-keeps" not in self.flags:
                self.stop(session, "close")
                while session.scope is not None:
                    await anyio.sleep(0)
            session.is_open = False
        await self.send("result session/close", {"id": id_, "result": {}})
        if "close-talks" in self.flags and session is not None:
            await self.update(session, "session_info_update", title="Closed")
        return None

    async def on_session_delete(self, _: Any, params: Any) -> Message:
        if params["sessionId"] not in self.sessions and "delete-strict" in self.flags:
            raise RefusedError(-32002, "No such session")
        if "delete-nothing" not in self.flags:
            self.sessions.pop(params["sessionId"], None)
        return {}

    async def on_session_set_mode(self, id_: Any, params: Any) -> Message | None:
        session = self.find(params)
        if params["modeId"] not in {"ask", "code"} and "any-mode" not in self.flags:
            raise RefusedError(-32602, "No such mode")
        if params["modeId"] == "code" and "mode-fails" in self.flags:
            raise RefusedError(-32603, "Not today")
        session.mode = params["modeId"]
        await self.send("result session/set_mode", {"id": id_, "result": {}})
        if session.mode in {"ask", "code"}:
            await self.update(session, "current_mode_update", currentModeId=session.mode)
        return None

    async def on_session_set_config_option(self, id_: Any, params: Any) -> Message | None:
        session = self.find(params)
        if params["configId"] != "model" and "any-option" not in self.flags:
            raise RefusedError(-32602, "No such option")
        if params["value"] not in {"small", "large"} and "any-value" not in self.flags:
            raise RefusedError(-32602, "No such value")
        if params["configId"] == "model" and params["value"] in {"small", "large"}:
            session.model = params["value"] if "keeps-value" not in self.flags else session.model
        return {"configOptions": self.options(session)}

    async def on_session_fork(self, _: Any, params: Any) -> Message:
        source = self.find(params)
        if "fork-same" in self.flags:
            return {"sessionId": source.id}
        fork = Session(f"s{next(self.ids)}", self.place(params), history=list(source.history))
        self.sessions[fork.id] = fork
        return {"sessionId": fork.id}

    async def on_session_set_title(self, _: Any, params: Any) -> Message:
        self.find(params)
        return {"title": params["title"]}

    async def on_session_status(self, _: Any, params: Any) -> Message:
        if "status-any" not in self.flags:
            self.find(params, is_open=False)
        return {"status": "open"}

    async def on_session_archive(self, _: Any, params: Any) -> Message:
        if "archive-any" in self.flags and params["sessionId"] not in self.sessions:
            return {}
        self.find(params, is_open=False).is_archived = True
        return {}

    async def on_session_unarchive(self, _: Any, params: Any) -> Message:
        self.find(params, is_open=False).is_archived = False
        return {}

    async def on_auth_status(self, _: Any, params: Any) -> Message:
        if "status-login" in self.flags:
            raise RefusedError(-32000, "Log in first")
        return {"state": "authenticated", "accounts": [{"label": "Ada"}]}

    async def on_providers_list(self, _: Any, params: Any) -> Message:
        main = {"providerId": "main", "supported": ["openai"], "required": True, "current": None}
        return {"providers": [main]}

    async def on_providers_set(self, _: Any, params: Any) -> Message:
        if params["providerId"] != "main" and "any-provider" not in self.flags:
            raise RefusedError(-32602, "No such provider")
        return {}

    async def on_providers_disable(self, _: Any, params: Any) -> Message:
        if params["providerId"] == "main" and "disables-all" not in self.flags:
            raise RefusedError(-32602, "It is required")
        return {}

    async def on_tool_call_cancel(self, _: Any, params: Any) -> Message:
        if "cancels-any" in self.flags:
            return {}
        raise RefusedError(-32602, "No such tool call")

    async def on_terminal_cancel(self, _: Any, params: Any) -> Message:
        if "ends-any" in self.flags:
            return {}
        raise RefusedError(-32602, "No such terminal")

    # Turns

    async def on_session_prompt(  # noqa: C901 - a table of flags
        self, id_: Any, params: Any
    ) -> Message | None:
        if not isinstance(params.get("prompt"), list) or "sessionId" not in params:
            return {"stopReason": "end_turn"}
        if "refuses-in-turn" in self.flags and params["sessionId"] not in self.sessions:
            return {"stopReason": "refusal"}
        session = self.find(params) if "any-session" not in self.flags else self.any(params)
        blocks = params["prompt"]
        offered = {"text", "resource_link", "image", "resource"} | (
            {"audio"} if self.version == 1 else set[str]()
        )
        for each in blocks:
            kind = each.get("type") if isinstance(each, dict) else None
            if f"refuses {kind}" in self.flags:
                raise RefusedError(-32602, "not accepted")
            if kind is None and "accepts-no-type" in self.flags:
                return {"stopReason": "end_turn"}
            if kind == "audio" and "any-audio" in self.flags:
                continue
            if (
                f"refuses-embedded-{'blob' if 'blob' in json.dumps(each) else 'text'}" in self.flags
                and kind == "resource"
            ):
                raise RefusedError(-32602, "not accepted")
            if kind not in offered and "any-block" not in self.flags:
                raise RefusedError(-32602, "unknown block")
        text = "".join(each.get("text") or "" for each in blocks if isinstance(each, dict))
        if "refuses-annotations" in self.flags and "annotations" in json.dumps(blocks):
            raise RefusedError(-32602, "annotations")
        if "ascii" in self.flags and not text.isascii():
            raise RefusedError(-32602, "not ASCII")
        if "one-turn" in self.flags and session.history:
            raise RefusedError(-32603, "once only")
        if session.id in self.broken:
            raise RefusedError(-32603, "broken")
        if "one-at-a-time" in self.flags and any(s.scope for s in self.sessions.values()):
            raise RefusedError(-32603, "busy")
        scope = None
        if session.scope is None and "loses-cancel" not in self.flags:
            scope = session.scope = anyio.CancelScope()
        self.tasks.start_soon(self.turn, id_, session, text, scope)
        return None

    def any(self, params: Any) -> Session:
        return self.sessions.setdefault(params["sessionId"], Session(params["sessionId"], "/"))

    async def turn(  # noqa: C901 - a table of flags
        self, id_: Any, session: Session, text: str, scope: anyio.CancelScope | None
    ) -> None:
        while session.scope is not scope:
            # Another turn of the session runs.
            await anyio.sleep(0)
        user, agent = f"u{next(self.ids)}", f"a{next(self.ids)}"
        session.history.append(("user", user, text))
        reason = "end_turn"
        self.turns[id_] = session
        session.last = id_
        if "loses-cancel" in self.flags:
            await anyio.sleep(0.01)
        if "cancels-queued" in self.flags and scope is None:
            session.cause = "cancel"
        scope = session.scope = scope or anyio.CancelScope()
        if self.version == 2:
            await self.send("result session/prompt", {"id": id_, "result": {"messageId": user}})
            content = [{"type": "text", "text": text}]
            await self.update(session, "user_message", messageId=user, content=content)
            await self.update(session, "state_update", state="running")
        if "cancels-next" in self.flags and session.cause:
            scope.cancel()
        with scope:
            if "one-at-a-time" in self.flags:
                await anyio.sleep(0.02)
            await self.work(session, agent, text)
        cause, session.scope = session.cause, None
        session.cause = ""
        if scope.cancelled_caught or cause:
            reason = "end_turn" if "cancel-ends" in self.flags else "cancelled"
            if "cancel-close-ends" in self.flags and cause == "close":
                reason = "end_turn"
            if "cancel-permission-ends" in self.flags and text == "edit":
                reason = "end_turn"
        elif "says-cancelled" in self.flags:
            reason = "cancelled"
        self.turns.pop(id_, None)
        if "cancel-fails" in self.flags and reason == "cancelled":
            await self.fail("error session/prompt", id_, -32603, "aborted")
        elif self.version == 2:
            await self.update(session, "state_update", state="idle", stopReason=reason)
        elif cause == "request" and "request-fails" in self.flags:
            await self.fail("error session/prompt", id_, -32603, "aborted")
        elif cause == "request":
            await self.fail("error session/prompt", id_, -32800, "Request cancelled")
        else:
            await self.send("result session/prompt", {"id": id_, "result": {"stopReason": reason}})
        late = "late" if reason != "cancelled" else "cancel-late"
        if late in self.flags:
            await self.chunk(session, agent, "one more thing")
        if "cancel-dead" in self.flags and reason == "cancelled":
            session.is_open = False

    async def chunk(self, session: Session, message: str, text: str) -> None:
        content = {"type": "text", "text": text}
        await self.update(session, "agent_message_chunk", messageId=message, content=content)

    async def work(self, session: Session, message: str, text: str) -> None:
        work = {
            "tool": self.tool,
            "edit": self.change,
            "terminal": self.terminal,
            "slow": self.slow,
            "plan": self.plan,
            "form": self.form,
            "mcp": self.use_server,
        }.get(text.split(" ")[0].strip())
        if work is not None:
            await work(session)
        await self.chunk(session, message, "Hello.")
        session.history.append(("agent", message, "Hello."))
        if self.version == 1 or self.version == 2:
            cost = {"amount": 0.01, "currency": "USD"}
            await self.update(session, "usage_update", used=10, size=100, cost=cost)

    async def slow(self, session: Session) -> None:
        await self.chunk(session, f"a{next(self.ids)}", "Slowly ")
        await anyio.sleep_forever()

    async def plan(self, session: Session) -> None:
        entries = [{"content": "Look", "priority": "high", "status": "completed"}]
        if self.version == 1:
            await self.update(session, "plan", entries=entries)
        else:
            plan = {"type": "items", "planId": "main", "entries": entries}
            await self.update(session, "plan_update", plan=plan)

    def has(self, *path: str) -> bool:
        value: Json = self.client
        for each in path:
            value = value.get(each) if isinstance(value, dict) else None
        return value is True or isinstance(value, dict)

    async def begin_call(self, session: Session, kind: str, title: str, **fields: Any) -> str:
        call = f"c{next(self.ids)}"
        name = "tool_call" if self.version == 1 else "tool_call_update"
        await self.update(
            session, name, toolCallId=call, title=title, kind=kind, status="pending", **fields
        )
        return call

    async def end_call(self, session: Session, call: str, status: str, **fields: Any) -> None:
        await self.update(session, "tool_call_update", toolCallId=call, status=status, **fields)

    async def tool(self, session: Session) -> None:
        path = f"{session.cwd}/notes.txt"
        locations = [{"path": path, "line": 1}]
        call = await self.begin_call(session, "read", "Read notes.txt", locations=locations)
        await self.end_call(session, call, "in_progress")
        is_failed = False
        if self.version == 1 and (self.has("fs", "readTextFile") or "ungated" in self.flags):
            reply = await self.call(
                "fs/read_text_file", sessionId=session.id, path=path, line=1, limit=10
            )
            is_failed = "error" in reply
            if is_failed and "hangs-on-files" in self.flags:
                await anyio.sleep_forever()
        content = [{"type": "content", "content": {"type": "text", "text": "three lines"}}]
        if "unfinished" not in self.flags:
            status = "failed" if is_failed else "completed"
            await self.end_call(session, call, status, content=content)

    async def use_server(self, session: Session) -> None:
        call = await self.begin_call(session, "other", "conform_note")
        for each in self.servers:
            if "calls-nothing" not in self.flags:
                self.call_server(each, "tools/call")
        await self.end_call(session, call, "completed")

    async def change(self, session: Session) -> None:
        path = f"{session.cwd}/notes.txt"
        call = await self.begin_call(session, "edit", "Edit notes.txt")
        if "asks-nothing" in self.flags:
            await self.end_call(session, call, "completed")
            return
        options = [
            {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
            {"optionId": "never", "name": "Never", "kind": "reject_always"},
        ]
        if self.version == 1:
            asked: Message = {"toolCall": {"toolCallId": call}}
        else:
            subject = {"type": "tool_call", "toolCall": {"toolCallId": call}}
            asked = {"title": "Edit notes.txt?", "subject": subject}
        reply = await self.call(
            "session/request_permission", sessionId=session.id, options=options, **asked
        )
        outcome = (reply.get("result") or {}).get("outcome") or {}
        if "error" in reply and "error-is-yes" in self.flags:
            outcome = {"optionId": "yes"}
        if outcome.get("optionId") == "no" and "no-is-yes" in self.flags:
            outcome = {"optionId": "yes"}
        if outcome.get("optionId") != "yes":
            await self.end_call(session, call, "failed")
            return
        if "yes-is-nothing" in self.flags:
            return
        await self.end_call(session, call, "in_progress")
        new = "first line\n"
        if self.version == 1 and (self.has("fs", "writeTextFile") or "ungated-write" in self.flags):
            await self.call("fs/write_text_file", sessionId=session.id, path=path, content=new)
        if self.version == 1:
            diff: Message = {"type": "diff", "path": path, "oldText": "x\n", "newText": new}
        else:
            text = f"diff --git {path} {path}\n--- {path}\n+++ {path}\n@@ -1 +1 @@\n-x\n+y\n"
            changes = [{"operation": "modify", "path": path}]
            diff = {"type": "diff", "changes": changes}
            diff["patch"] = {"format": "git_patch", "text": text}
        await self.end_call(session, call, "completed", content=[diff])

    async def terminal(self, session: Session) -> None:
        call = await self.begin_call(session, "execute", "Run echo")
        if self.version == 2:
            terminal = f"t{next(self.ids)}"
            await self.update(
                session, "terminal_update", terminalId=terminal, command="echo", cwd=session.cwd
            )
            await self.update(session, "terminal_output_chunk", terminalId=terminal, data="aGkK")
            await self.end_call(
                session, call, "in_progress", content=[{"type": "terminal", "terminalId": terminal}]
            )
            await self.update(
                session, "terminal_update", terminalId=terminal, exitStatus={"exitCode": 0}
            )
        elif self.has("terminal") or "ungated-terminal" in self.flags:
            await self.use_terminal(session, call)
        if "command-unfinished" in self.flags:
            return
        await self.end_call(session, call, "completed")
        await self.end_call(session, call, "completed", rawOutput={"lines": 1})

    async def use_terminal(self, session: Session, call: str) -> None:
        reply = await self.call(
            "terminal/create",
            sessionId=session.id,
            command="echo",
            args=["hi"],
            env=[{"name": "A", "value": "1"}],
            cwd=session.cwd,
        )
        terminal = (reply.get("result") or {}).get("terminalId")
        if terminal is None:
            return
        await self.end_call(
            session, call, "in_progress", content=[{"type": "terminal", "terminalId": terminal}]
        )
        names = {"sessionId": session.id, "terminalId": terminal}
        await self.call("terminal/wait_for_exit", **names)
        await self.call("terminal/output", **names)
        if "leaks" not in self.flags:
            await self.call("terminal/release", **names)

    async def form(self, session: Session) -> None:
        schema = {"type": "object", "properties": {"which": {"type": "string"}}}
        if self.has("elicitation", "form") or "ungated-form" in self.flags:
            reply = await self.call(
                "elicitation/create",
                sessionId=session.id,
                mode="form",
                message="Which?",
                requestedSchema=schema,
            )
            action = (reply.get("result") or {}).get("action")
            if f"hangs-on-{action}" in self.flags:
                await anyio.sleep_forever()
        if self.has("elicitation", "url"):
            await self.call(
                "elicitation/create",
                sessionId=session.id,
                mode="url",
                message="Open it",
                elicitationId=f"e{next(self.ids)}",
                url="https://example.org/open",
            )
