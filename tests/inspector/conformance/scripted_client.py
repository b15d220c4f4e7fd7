"""A client that follows the protocol to the letter, and can be given one defect."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import json
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from acp_protocol.errors import ConnectionClosedError
from acp_protocol.jsonrpc import parse
from acp_protocol.schema.validate import validate_params
from acp_protocol.transport import Transport
from tests.inspector.conformance.scripted_agent import (
    Defect,
    Message,
    RefusedError,
    read_array,
)

CLAIMS: dict[int, Message] = {
    1: {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "elicitation": {"form": {}},
    },
    2: {"elicitation": {"form": {}}},
}


class Terminal:
    """A command that is only played."""

    def __init__(self, params: Message) -> None:
        self.command = [params["command"], *params.get("args", [])]
        self.done = anyio.Event()
        self.code, self.output = self.play(params)
        self.limit = params.get("outputByteLimit")
        if self.command[0] != "sleep":
            self.done.set()

    def play(self, params: Message) -> tuple[int, str]:
        """Return the exit code and the output that the commands of the cases have."""
        text = " ".join(self.command)
        env = {each["name"]: each["value"] for each in params.get("env", [])}
        if "exit 3" in text:
            return 3, ""
        if "line-$i" in text:
            return 0, "".join(f"line-{each}\n" for each in range(100))
        if "ACP_CONFORM" in text:
            return 0, f"{env['ACP_CONFORM']} in {params['cwd']}\n"
        return 0, "conformance\n" if self.command[0] == "echo" else ""

    @property
    def status(self) -> Message:
        return {"exitCode": self.code, "signal": None}


class ScriptedClient:
    """One connection to a persona."""

    def __init__(
        self, transport: Transport, cwd: Path, defect: Defect | None = None, *, version: int = 1
    ) -> None:
        self.transport = transport
        self.version = version
        self.takes_batches = False
        self.gathered: list[Message] | None = None
        """The responses to the array that is being read."""
        self.cwd = cwd
        self.edit = (defect and defect.edit) or (lambda _, message: message)
        self.flags = defect.flags if defect else frozenset[str]()
        self.ids = count(1)
        self.pending: dict[Any, tuple[anyio.Event, list[Message]]] = {}
        self.terminals: dict[str, Terminal] = {}
        self.tasks: TaskGroup
        self.session = ""
        self.has_left = False
        self.idle = anyio.Event()
        """In version 2: set, and replaced, when a turn has ended."""

    async def run(self) -> None:
        """Open a session, send two prompts, and leave."""
        async with anyio.create_task_group() as self.tasks:
            self.tasks.start_soon(self.listen)
            with suppress(ConnectionClosedError):
                await self.talk()
            if "stays" in self.flags:
                await anyio.sleep_forever()
            self.tasks.cancel_scope.cancel()
        await self.transport.aclose()

    async def talk(self) -> None:  # noqa: C901 - a table of flags
        if "hasty" in self.flags:
            await self.send("request session/list", {"id": "h", "method": "session/list"})
        if not await self.initialize():
            return
        if "eager" in self.flags:
            self.tasks.start_soon(self.prompt, "session-1")
        reply = await self.call("session/new", cwd=str(self.cwd), mcpServers=[])
        if "error" in reply:
            await self.call("authenticate" if self.version == 1 else "auth/login", methodId="key")
            if "login-only" in self.flags:
                return
            reply = await self.call("session/new", cwd=str(self.cwd), mcpServers=[])
        self.session = reply["result"]["sessionId"]
        if "no-prompt" in self.flags:
            return
        if "leaves" in self.flags:
            self.tasks.start_soon(self.prompt, self.session)
            await anyio.sleep(0.02)
            return
        if "two-prompts" in self.flags:
            self.tasks.start_soon(self.prompt, self.session)
        await self.prompt(self.session)
        type_ = {}
        if self.version == 1:
            await self.call("session/set_mode", sessionId=self.session, modeId="code")
        else:
            type_ = {"type": "id"}
        await self.call(
            "session/set_config_option",
            sessionId=self.session,
            configId="model",
            value="large",
            **type_,
        )
        await self.call("session/list")
        await self.prompt(self.session)
        await self.call("session/close", sessionId=self.session)
        if "uses-closed" in self.flags:
            await self.prompt(self.session)

    async def initialize(self) -> bool:
        """Return whether to go on."""
        claims = {} if "bare" in self.flags else CLAIMS[self.version]
        info = {"name": "scripted", "version": "1"}
        names = (
            ("clientCapabilities", "clientInfo") if self.version == 1 else ("capabilities", "info")
        )
        asked = 1 if "older" in self.flags else self.version
        ready = await self.call(
            "initialize", protocolVersion=asked, **{names[0]: claims, names[1]: info}
        )
        if "error" in ready:
            return False
        version = ready["result"]["protocolVersion"]
        return version == self.version or "any-version" in self.flags

    async def prompt(self, session: str) -> None:
        blocks = [{"type": "text", "text": "hello"}]
        idle = self.idle
        if "cancels" in self.flags:
            self.tasks.start_soon(self.cancel, session)
        await self.call("session/prompt", sessionId=session, prompt=blocks)
        if self.version == 2 and "leaves-early" not in self.flags:
            await idle.wait()
            if self.has_left:
                raise ConnectionClosedError

    async def cancel(self, session: str) -> None:
        await anyio.sleep(0.02)
        params = {"sessionId": session}
        await self.send("cancel", {"method": "session/cancel", "params": params})

    # The wire

    async def send(self, tag: str, message: Message) -> None:
        if self.gathered is not None and "method" not in message:
            self.gathered.append({"jsonrpc": "2.0"} | message)
            return
        sent = self.edit(tag, json.loads(json.dumps(message)))
        for each in sent if isinstance(sent, list) else [sent]:
            if isinstance(each, bytes):
                await self.transport.send(each)
            elif each is not None:
                await self.transport.send(json.dumps({"jsonrpc": "2.0"} | each).encode())

    async def call(self, method: str, /, **params: Any) -> Message:
        id_ = next(self.ids)
        waiting = (anyio.Event(), list[Message]())
        self.pending[id_] = waiting
        await self.send(f"request {method}", {"id": id_, "method": method, "params": params})
        await waiting[0].wait()
        if not waiting[1]:
            raise ConnectionClosedError
        return waiting[1][0]

    async def listen(self) -> None:
        try:
            while True:
                await self.read(await self.transport.receive())
        except ConnectionClosedError:
            for event, _ in self.pending.values():
                event.set()
            self.has_left = True
            self.idle.set()

    async def read(self, line: bytes) -> None:
        if not line.strip():
            if "dies-of-blanks" in self.flags:
                raise ConnectionClosedError
            return
        try:
            message: Any = parse(line)
        except ValueError:
            if "dies-of-garbage" in self.flags and line.startswith(b"Hi"):
                raise ConnectionClosedError from None
            if "dies-of-bytes" in self.flags and b"\xff" in line:
                raise ConnectionClosedError from None
            if "no-parse-error" not in self.flags:
                tag = "error parse array" if line.startswith(b"[") else "error parse"
                await self.fail(tag, None, -32700)
            return
        if isinstance(message, list) and self.takes_batches:
            await read_array(self, message)
            return
        if isinstance(message, list):
            if "reads-arrays" in self.flags:
                await self.read(json.dumps(message[0]).encode())
                return
            await self.fail("error array", None, -32600)
            return
        await self.accept(message)

    async def accept(self, message: Any) -> None:  # noqa: C901 - a table of flags
        if not isinstance(message, dict):
            message = {}
        for flag, mark in DIES_OF.items():
            if flag in self.flags and mark in json.dumps(message):
                raise ConnectionClosedError
        if "method" not in message:
            await self.read_response(message)
        elif message.get("jsonrpc") != "2.0" and "any-jsonrpc" not in self.flags:
            if "ignores-jsonrpc-1" not in self.flags:
                await self.fail("error invalid", message.get("id"), -32600)
        elif "id" in message and self.gathered is not None:
            await self.respond(message)
        elif "id" in message:
            self.tasks.start_soon(self.respond, message)
        elif '"state": "idle"' in json.dumps(message):
            idle, self.idle = self.idle, anyio.Event()
            idle.set()
        elif "answers-late" in self.flags and '"toolCallId": "late"' in json.dumps(message):
            await self.fail("error late", None, -32602)
        elif message["method"] not in {"session/update", "$/cancel_request"}:
            if "answers-unknown" in self.flags:
                await self.fail("error unknown", None, -32601)
        elif "answers-cancel" in self.flags and message["method"] == "$/cancel_request":
            await self.fail("error cancel", None, -32602)
        elif "answers-meta" in self.flags and "_meta" in json.dumps(message):
            await self.fail("error meta", None, -32602)
        elif "answers-plans" in self.flags and '"plan' in json.dumps(message):
            await self.fail("error plan", None, -32602)

    async def read_response(self, message: Message) -> None:
        if "result" not in message and "error" not in message:
            if "dies-of-no-message" in self.flags:
                raise ConnectionClosedError
            await self.fail("error invalid", None, -32600)
            return
        waiting = self.pending.pop(message.get("id"), None)
        if waiting is not None:
            waiting[1].append(message)
            waiting[0].set()
        elif "dies-of-response" in self.flags:
            raise ConnectionClosedError

    async def fail(self, tag: str, id_: Any, code: int) -> None:
        await self.send(tag, {"id": id_, "error": {"code": code, "message": "No"}})

    # What the agent requests

    async def respond(self, message: Message) -> None:
        id_, method, params = message["id"], message["method"], message.get("params") or {}
        try:
            result = await self.handle(method, params)
        except RefusedError as problem:
            await self.fail(f"error {method}", id_, problem.code)
        else:
            await self.send(f"result {method}", {"id": id_, "result": result})

    async def handle(self, method: str, params: Any) -> Message:
        group = method.partition("/")[0]
        handler = {
            "session": self.permission,
            "fs": self.file,
            "terminal": self.terminal,
            "elicitation": self.form,
        }.get(group)
        if handler is None or method == "session/levitate":
            raise RefusedError(-32601, method)
        if "bare" in self.flags and group != "session" and "serves" not in self.flags:
            raise RefusedError(-32601, method)
        if self.version == 2 and group in {"fs", "terminal"} and "serves-old" not in self.flags:
            raise RefusedError(-32601, method)
        if "unchecked" not in self.flags:
            for each in validate_params(method, params, version=self.version):
                if not each.is_tolerated:
                    raise RefusedError(-32602, str(each))
        return await handler(method, params)

    async def permission(self, method: str, params: Any) -> Message:
        options = params.get("options") or []
        ids = [each["optionId"] for each in options]
        if not ids and "invents" not in self.flags:
            return {"outcome": {"outcome": "cancelled"}}
        chosen = ids[0] if ids else "yes"
        if "always-allows" in self.flags:
            chosen = "allow"
        if "plain-ids" in self.flags:
            chosen = chosen.encode("ascii", "replace").decode()
        if "needs-call" in self.flags and "never-announced" in json.dumps(params):
            chosen = "none"
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async def file(self, method: str, params: Any) -> Message:
        path = Path(params["path"])
        if not path.is_absolute() and "any-path" not in self.flags:
            raise RefusedError(-32602, "not absolute")
        if method == "fs/write_text_file":
            if "needs-file" in self.flags and not path.exists():
                raise RefusedError(-32603, "no such file")
            if path.parent.is_dir():
                mode = "a" if "appends" in self.flags else "w"
                with path.open(mode, encoding="utf-8") as file:
                    file.write(params["content"])
            return {}
        if "serves" in self.flags:
            return {"content": ""}
        if not path.is_file():
            if "any-path" in self.flags and not path.is_absolute():
                return {"content": ""}
            raise RefusedError(-32603 if "missing-code" in self.flags else -32002, "missing")
        text = path.read_text("utf-8")
        if "ascii" in self.flags:
            text = text.encode("ascii", "replace").decode()
        lines = text.splitlines(keepends=True)
        first = params.get("line", 1) - (0 if "from-0" in self.flags and "line" in params else 1)
        return {"content": "".join(lines[first:][: params.get("limit")])}

    async def terminal(self, method: str, params: Any) -> Message:
        if method == "terminal/create":
            id_ = "t1" if "one-terminal" in self.flags else f"t{next(self.ids)}"
            self.terminals[id_] = Terminal(params)
            return {"terminalId": id_}
        terminal = self.terminals.get(params["terminalId"])
        if terminal is None:
            if "any-terminal" in self.flags and params["terminalId"] == "no-such-terminal":
                return {"output": "", "truncated": False}
            raise RefusedError(-32602, "no such terminal")
        match method:
            case "terminal/output":
                return self.output(terminal)
            case "terminal/wait_for_exit":
                await terminal.done.wait()
                return {"exitCode": 0} if "exit-0" in self.flags else terminal.status
            case "terminal/kill":
                terminal.done.set()
                if "kill-releases" in self.flags:
                    del self.terminals[params["terminalId"]]
                return {}
            case _:
                terminal.done.set()
                if "keeps" not in self.flags:
                    del self.terminals[params["terminalId"]]
                return {}

    def output(self, terminal: Terminal) -> Message:
        data = terminal.output.encode()
        limit = terminal.limit or len(data)
        is_long = len(data) > limit
        if is_long and "no-limit" not in self.flags:
            data = data[-limit:]
        found: Message = {"output": data.decode(), "truncated": is_long}
        if terminal.done.is_set() or "always-exited" in self.flags:
            found["exitStatus"] = terminal.status
        if "no-env" in self.flags:
            found["output"] = found["output"].replace("given", "")
        if "no-output" in self.flags:
            found["output"] = found["output"].replace("conformance", "")
        return found

    async def form(self, method: str, params: Any) -> Message:
        if params["mode"] != "form" and "any-mode" not in self.flags:
            raise RefusedError(-32602, "no such mode")
        return {"action": "decline"}


DIES_OF = {
    "dies-of-flood": "word 1999",
    "dies-of-length": "x" * 1000,
    "dies-of-depth": "_conform/deep",
    "dies-of-calls": '"m99"',
    "dies-of-confetti": "confetti",
    "dies-of-broken": '"toolCallId": 17',
    "dies-of-strangers": "no-such-session-0000",
    "dies-of-controls": "rm -rf",
    "dies-of-early": '"early"',
    "dies-of-back": '"back"',
    "dies-of-parts": "tool_call_content_chunk",
    "dies-of-custom": "_example.org/thinking",
}
"""By flag: a text in a message at which the client leaves."""
