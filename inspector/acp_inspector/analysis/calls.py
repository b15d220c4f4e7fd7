"""Tool calls, with their history, the consent that they need and the terminals that they show.

Source: ACP, Tool Calls; Terminals; the same of version 2.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from acp_inspector.analysis.history import Versioned, VersionedList
from acp_protocol.jsonrpc import Json, RequestId

ENDED: Final = frozenset({"completed", "failed", "cancelled"})
"""Statuses after which nothing is expected any more."""


@dataclass(slots=True, eq=False)
class Permission:
    """A question for consent; `outcome` None: it is still open."""

    request_id: RequestId
    options: list[Json]
    outcome: Json | None = None
    asked: int = 0
    """The frame of the question."""
    answered: int | None = None
    """The frame of the answer."""

    def at(self, n: int) -> Permission:
        """Return it as it stood after frame `n`."""
        is_answered = self.answered is not None and self.answered <= n
        return self if is_answered else replace(self, outcome=None, answered=None)


@dataclass(frozen=True, slots=True)
class TerminalFacts:
    """What is known of a terminal beside its output."""

    command: str | None = None
    cwd: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    is_over: bool = False
    is_released: bool = False


class Terminal:
    """A terminal: one that the agent shows (version 2), or the client's as the agent sees it."""

    __slots__ = ("_facts", "_output", "key")

    def __init__(self, key: str, facts: TerminalFacts | None = None) -> None:
        self.key = key
        self._facts = Versioned(facts or TerminalFacts())
        self._output = VersionedList[bytes]()

    @property
    def facts(self) -> TerminalFacts:
        """What is known of it beside its output."""
        return self._facts.now

    @property
    def command(self) -> str | None:
        """What runs in it."""
        return self.facts.command

    @property
    def exit_code(self) -> int | None:
        """How that ended, where it was by itself."""
        return self.facts.exit_code

    @property
    def signal(self) -> str | None:
        """What ended it, where it was not by itself."""
        return self.facts.signal

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.facts.is_over

    @property
    def text(self) -> str:
        """All of its output so far."""
        return b"".join(self._output.now()).decode(errors="replace")

    @property
    def last(self) -> int:
        """The frame that changed it last."""
        return max(self._facts.last, self._output.last)

    def change(self, n: int, **facts: Any) -> None:
        """Take over what is told of it at frame `n`."""
        self._facts.set(n, replace(self._facts.now, **facts))

    def add(self, data: str, n: int = 0) -> None:
        """Append output, which comes in base64; what is none is left out."""
        if decoded := _decoded(data):
            self._output.add(n, decoded)

    def replace(self, data: str, n: int = 0) -> None:
        """Take `data`, in base64, for all of the output."""
        self._output.replace(n, [_decoded(data)])

    def poll(self, text: str, n: int) -> None:
        """Take `text` for all of the output; most often it only grew since the last time."""
        output = text.encode(errors="replace")
        known = b"".join(self._output.now())
        if not output.startswith(known):
            self._output.replace(n, [output])
        elif len(output) > len(known):
            self._output.add(n, output[len(known) :])

    def at(self, n: int) -> Terminal:
        """Return it as it stood after frame `n`."""
        copy = Terminal(self.key, self._facts.at(n))
        for piece in self._output.at(n):
            copy._output.add(0, piece)
        return copy


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What is known of a tool call beside its content."""

    title: str = ""
    name: str = ""
    kind: str = "other"
    status: str = "pending"
    locations: Sequence[Json] = field(default_factory=list[Json])
    raw_input: Json = None
    raw_output: Json = None


class ToolCall:
    """Something that the agent does."""

    __slots__ = ("_content", "_facts", "_permissions", "_terminals", "key")

    def __init__(self, key: str, *, n: int = 0) -> None:
        self.key = key
        self._facts = Versioned(CallFacts(), n)
        self._content = VersionedList[Json]()
        self._permissions = VersionedList[Permission]()
        self._terminals: dict[str, Terminal] = {}

    @property
    def facts(self) -> CallFacts:
        """What is known of it beside its content."""
        return self._facts.now

    @property
    def title(self) -> str:
        """What it does, for people."""
        return self.facts.title

    @property
    def kind(self) -> str:
        """What sort of tool it is."""
        return self.facts.kind

    @property
    def status(self) -> str:
        """How far it is."""
        return self.facts.status

    @property
    def locations(self) -> Sequence[Json]:
        """The files that it touches."""
        return self.facts.locations

    @property
    def raw_input(self) -> Json:
        """What the tool was given."""
        return self.facts.raw_input

    @property
    def raw_output(self) -> Json:
        """What the tool gave."""
        return self.facts.raw_output

    @property
    def content(self) -> list[Json]:
        """What it brought so far."""
        return self._content.now()

    @property
    def permission(self) -> Permission | None:
        """The last question for consent about it."""
        asked = self._permissions.now()
        return asked[-1] if asked else None

    @property
    def permissions(self) -> list[Permission]:
        """Every question for consent about it."""
        return self._permissions.now()

    @property
    def terminals(self) -> dict[str, Terminal]:
        """The terminals that its content shows, by their ids."""
        keys = terminal_keys(self._content.now())
        return {key: self._terminals[key] for key in keys if key in self._terminals}

    @property
    def history(self) -> list[tuple[int, CallFacts]]:
        """Each frame that changed it, and what it was from there on."""
        return self._facts.versions()

    @property
    def last(self) -> int:
        """The frame that changed it, or what it shows, last."""
        asked = [each.answered or each.asked for each in self._permissions.now()[-1:]]
        shown = [terminal.last for terminal in self._terminals.values()]
        return max(self._facts.last, self._content.last, *asked, *shown)

    def change(self, n: int, **facts: Any) -> None:
        """Take over what is told of it at frame `n`."""
        self._facts.set(n, replace(self._facts.now, **facts))

    def replace(self, content: list[Json], n: int) -> None:
        """Take `content` for all that it brought."""
        self._content.replace(n, content)

    def add(self, content: Json, n: int) -> None:
        """Append one piece of content."""
        self._content.add(n, content)

    def show(self, terminal: Terminal) -> None:
        """Let its content be able to show `terminal`."""
        self._terminals[terminal.key] = terminal

    def ask(self, permission: Permission, n: int) -> None:
        """Let it wait for consent."""
        self._permissions.add(n, permission)

    def at(self, n: int) -> ToolCall:
        """Return it as it stood after frame `n`."""
        copy = ToolCall(self.key)
        copy._facts = self._facts.until(n)
        for content in self._content.at(n):
            copy.add(content, 0)
        for permission in self._permissions.at(n):
            copy.ask(permission.at(n), 0)
        for key in terminal_keys(copy.content):
            if key in self._terminals:
                copy.show(self._terminals[key].at(n))
        return copy


def terminal_keys(content: Sequence[Json]) -> list[str]:
    """Return the ids of the terminals that content shows."""
    keys: list[str] = []
    for block in content:
        match block:
            case {"type": "terminal", "terminalId": str(key)}:
                keys.append(key)
            case _:
                continue
    return keys


def _decoded(data: str) -> bytes:
    try:
        return b64decode(data, validate=True)
    except ValueError:
        return b""
