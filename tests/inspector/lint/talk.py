"""Connections, written down message by message, for rules to be held against."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_protocol.framing import Side

Script: TypeAlias = "Callable[[Talk], None]"

CWD = "/home/ada/work"
CLIENT = {1: ("clientCapabilities", "clientInfo"), 2: ("capabilities", "info")}
AGENT = {1: ("agentCapabilities", "agentInfo"), 2: ("capabilities", "info")}
TOOL = {"name": "tester", "version": "1.0"}


@dataclass(frozen=True)
class Call:
    """A request that was sent."""

    n: int
    id: Any
    side: Side
    method: str


@dataclass
class Talk:
    """A connection so far. Each message comes a hundredth of a second after the one before.

    Whatever is sent is sent as it is: nothing is checked, and nothing answers by itself.
    """

    version: int = 1
    is_unstable: bool = False
    """Whether it is linted with the unstable parts of the protocol."""
    dialect: str | None = None
    """The dialect it is linted in."""
    entries: list[Entry] = field(default_factory=list[Entry])
    at: float = 0.0
    _ids: Iterator[int] = field(default_factory=count)

    def send(
        self,
        side: Side,
        message: Mapping[str, Any] | bytes,
        *,
        end: bytes = b"\n",
        header: bytes = b"",
        after: float = 0.01,
    ) -> int:
        """Send a message, to which the version is added, or bytes as they are."""
        raw = message
        if not isinstance(raw, bytes):
            raw = json.dumps({"jsonrpc": "2.0"} | dict(raw)).encode()
        self.at += after
        self.entries.append(Frame(len(self.entries) + 1, self.at, side, raw, end, header))
        return len(self.entries)

    def wait(self, seconds: float) -> None:
        """Let time go by."""
        self.at += seconds

    def stderr(self, text: bytes) -> None:
        """Let the agent write to stderr."""
        self.entries.append(StderrChunk(len(self.entries) + 1, self.at, text))

    def event(self, name: str, **data: Any) -> None:
        """Let something happen beside the frames."""
        self.entries.append(JournalEvent(len(self.entries) + 1, self.at, name, data))

    def end(self, code: int = 0) -> None:
        """Close the connection: the client first, then the agent ends with `code`."""
        self.event("eof", **{"from": "client"})
        self.event("exit", code=code)

    def ask(
        self,
        method: str,
        params: Any = None,
        /,
        *,
        side: Side = "client",
        id_: Any = None,
        **members: Any,
    ) -> Call:
        """Send a request; params as a whole, or its members by name."""
        id_ = next(self._ids) if id_ is None else id_
        message = {"id": id_, "method": method, "params": members if params is None else params}
        return Call(self.send(side, message), id_, side, method)

    def batch(self, side: Side, *messages: Mapping[str, Any] | int) -> int:
        """Send an array, with the version added to each message that has an id or a method."""
        version = {"jsonrpc": "2.0"}
        array = [
            version | dict(each) if isinstance(each, Mapping) and each else each
            for each in messages
        ]
        return self.send(side, json.dumps(array).encode())

    def tell(self, method: str, /, *, side: Side = "client", **members: Any) -> int:
        """Send a notification."""
        return self.send(side, {"method": method, "params": members})

    def answer(self, call: Call, result: Any = None, /, **members: Any) -> int:
        """Answer a request, from the other side; the result as a whole, or its members by name."""
        answer = {"id": call.id, "result": members if result is None else result}
        return self.send(_other(call.side), answer)

    def refuse(
        self, call: Call, code: int, message: str = "It cannot be done.", data: Any = None
    ) -> int:
        """Answer a request with an error."""
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        return self.send(_other(call.side), {"id": call.id, "error": error})

    def update(self, variant: str, /, session: str = "s1", **members: Any) -> int:
        """Send the agent's `session/update`."""
        inner = {"sessionUpdate": variant} | members
        return self.send(
            "agent", {"method": "session/update", "params": {"sessionId": session, "update": inner}}
        )

    def initialize(
        self,
        client: Mapping[str, Any] | None = None,
        agent: Mapping[str, Any] | None = None,
        /,
        **members: Any,
    ) -> Call:
        """Agree upon the version; `client` and `agent` are what each claims.

        `members` go into the result.

        What is not given is claimed to the full extent of the stable protocol.
        """
        (claims, info), (own_claims, own_info) = CLIENT[self.version], AGENT[self.version]
        asked = {claims: dict(_CLIENT_CLAIMS[self.version] if client is None else client)}
        call = self.ask("initialize", asked | {"protocolVersion": self.version, info: TOOL})
        result: dict[str, Any] = {
            "protocolVersion": self.version,
            own_claims: dict(_AGENT_CLAIMS[self.version] if agent is None else agent),
            own_info: TOOL,
        }
        if self.version == 1:
            result["authMethods"] = []
        self.answer(call, result | members)
        return call

    def new_session(self, id_: str = "s1", /, **members: Any) -> Call:
        """Create a session; `members` are the result's."""
        call = self.ask("session/new", cwd=CWD, mcpServers=[])
        if self.version == 2:
            lists: dict[str, Any] = {"configOptions": [], "availableCommands": []}
            members = lists | members
        self.answer(call, {"sessionId": id_} | members)
        return call

    def open(self, id_: str = "s1", /) -> None:
        """Agree upon the version and create a session."""
        self.initialize()
        self.new_session(id_)

    def prompt(self, text: str = "Hello", /, session: str = "s1") -> Call:
        """Send a prompt."""
        return self.ask(
            "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}]
        )

    def say(self, text: str = "Hi", /, session: str = "s1", **members: Any) -> int:
        """Send a piece of the agent's message."""
        if self.version == 2:
            members = {"messageId": "m-agent"} | members
        members = {"content": {"type": "text", "text": text}} | members
        return self.update("agent_message_chunk", session, **members)

    def finish(self, prompt: Call, reason: str = "end_turn") -> int:
        """End the turn of version 1."""
        return self.answer(prompt, stopReason=reason)

    def accept(
        self, prompt: Call, message: str = "m-user", /, session: str = "s1", text: str = "Hello"
    ) -> None:
        """Take a prompt in, as version 2 does: answer, echo, and begin to run."""
        self.answer(prompt, messageId=message)
        self.update(
            "user_message", session, messageId=message, content=[{"type": "text", "text": text}]
        )
        self.state("running", session)

    def state(self, state: str, /, session: str = "s1", **members: Any) -> int:
        """Send a state of version 2."""
        return self.update("state_update", session, state=state, **members)

    def turn(self, text: str = "Hello", /) -> None:
        """Have one whole turn of text."""
        prompt = self.prompt(text)
        if self.version == 2:
            self.accept(prompt, text=text)
            self.say()
            self.state("idle", stopReason="end_turn")
        else:
            self.say()
            self.finish(prompt)

    def tool(self, id_: str = "t1", /, **members: Any) -> int:
        """Announce a tool call."""
        variant = "tool_call" if self.version == 1 else "tool_call_update"
        told = {"toolCallId": id_, "title": "Read a file", "kind": "read", "status": "pending"}
        return self.update(variant, **(told | members))

    def permission(self, id_: str = "t1", /, **members: Any) -> Call:
        """Ask for permission for a tool call."""
        options = [
            {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]
        asked: dict[str, Any] = {"sessionId": "s1", "options": options}
        if self.version == 1:
            asked["toolCall"] = {"toolCallId": id_, "title": "Read a file"}
        else:
            asked["title"] = "May it read?"
            asked["subject"] = {"type": "tool_call", "toolCall": {"toolCallId": id_}}
        return self.ask("session/request_permission", asked | members, side="agent")

    def choose(self, call: Call, option: str = "yes") -> int:
        """Answer a request for permission."""
        return self.answer(call, outcome={"outcome": "selected", "optionId": option})


_CLIENT_CLAIMS: Mapping[int, Mapping[str, Any]] = {
    1: {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "auth": {"terminal": True},
        "elicitation": {"form": {}, "url": {}},
        "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
    },
    2: {"auth": {"terminal": {}}, "elicitation": {"form": {}, "url": {}}},
}
_AGENT_CLAIMS: Mapping[int, Mapping[str, Any]] = {
    1: {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": True},
        "sessionCapabilities": {
            "list": {},
            "resume": {},
            "close": {},
            "delete": {},
            "additionalDirectories": {},
        },
        "auth": {"logout": {}},
    },
    2: {
        "session": {
            "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
            "mcp": {"stdio": {}, "http": {}},
            "delete": {},
            "additionalDirectories": {},
        },
    },
}


@dataclass(frozen=True)
class Case:
    """A talk that breaks a rule, or that comes close to it."""

    rule: str
    name: str
    is_broken: bool
    version: int
    is_unstable: bool
    script: Script
    despite: tuple[str, ...] = ()
    """Other rules of severity error that the near miss cannot but break."""
    dialect: str | None = None

    def __str__(self) -> str:
        """Return what the case is called in a test's name."""
        return f"{self.rule}-v{self.version}-{self.name}"

    def talk(self) -> Talk:
        """Return the talk, played."""
        talk = Talk(self.version, self.is_unstable, self.dialect)
        self.script(talk)
        return talk


CASES: list[Case] = []


def breaks(
    rule: str, version: int = 1, *, unstable: bool = False, dialect: str | None = None
) -> Callable[[Script], Script]:
    """Make a function a talk that breaks a rule."""

    def made(script: Script) -> Script:
        CASES.append(Case(rule, script.__name__, True, version, unstable, script, (), dialect))
        return script

    return made


def keeps(
    rule: str,
    version: int = 1,
    *,
    unstable: bool = False,
    despite: tuple[str, ...] = (),
    dialect: str | None = None,
) -> Callable[[Script], Script]:
    """Make a function a talk that has what a rule looks at, comes close, and keeps it."""

    def made(script: Script) -> Script:
        case = Case(rule, script.__name__, False, version, unstable, script, despite, dialect)
        CASES.append(case)
        return script

    return made


def cases() -> list[Case]:
    """Return the cases of every module beside this one."""
    if not CASES:
        for path in sorted(Path(__file__).parent.joinpath("cases").glob("*.py")):
            importlib.import_module(f"tests.inspector.lint.cases.{path.stem}")
    return CASES


def _other(side: Side) -> Side:
    return "agent" if side == "client" else "client"
