"""The items of a conversation: messages, tool calls, terminals, plans and notices.

Only the fold that builds a conversation changes them. Each keeps its history: `at` returns a copy
with the state after an earlier frame.

Source: ACP, Prompt Turn; Tool Calls; Terminals; Agent Plan; Elicitation; the same of version 2.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Self, TypeAlias, cast

from acp_inspector.session.history import HasHistory, Versioned, VersionedList
from acp_protocol.json_values import get, get_string
from acp_protocol.jsonrpc import Json, RequestId, frozen_dataclass
from acp_protocol.schema.vocabulary import FINAL_STATUSES


@dataclass(slots=True, eq=False)
class PermissionRequest:
    """A permission request; `outcome` None: it is still open."""

    request_id: RequestId
    options: list[Json]
    outcome: Json | None = None
    requested: int = 0
    """The frame of the request."""
    answered: int | None = None
    """The frame of the response."""
    title: str = ""
    """What the request is called (version 2)."""
    description: str = ""
    """Why it is made (version 2)."""
    cwd: str | None = None
    """The session's directory, where it is known."""

    def at(self, n: int) -> PermissionRequest:
        is_answered = self.answered is not None and self.answered <= n
        return self if is_answered else replace(self, outcome=None, answered=None)


@frozen_dataclass
class TerminalFacts:
    """The state of a terminal except its output."""

    command: str | None = None
    cwd: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    is_over: bool = False
    is_released: bool = False
    can_cancel: bool = False
    """Whether the client may ask the agent to end it (version 2)."""


class TerminalItem(HasHistory):
    """A terminal: the agent's (version 2), or the client's as the agent sees it."""

    __slots__ = ("_facts", "_output", "is_over", "key", "live")

    def __init__(self, key: str) -> None:
        self.key = key
        self.is_over = False
        self.live: str | None = None
        """The output of a client's own terminal, before the agent has asked for it."""
        self._facts = Versioned(TerminalFacts())
        self._output = VersionedList[bytes]()

    @property
    def facts(self) -> TerminalFacts:
        return self._facts.now

    @property
    def text(self) -> str:
        return b"".join(self._output.now()).decode(errors="replace")

    @property
    def newest_text(self) -> str:
        """The output, also what the agent has not asked for yet."""
        return self.text if self.live is None else self.live

    def change(self, n: int, **facts: Any) -> None:
        now = replace(self._facts.now, **facts)
        self._facts.set(n, now)
        self.is_over = now.is_over

    def add(self, data: str, n: int = 0) -> None:
        """Append output, given as base64; invalid base64 is ignored."""
        if decoded := _decoded(data):
            self._output.add(n, decoded)

    def replace(self, data: str, n: int = 0) -> None:
        """Replace the output by `data`, given as base64."""
        self._output.replace(n, [_decoded(data)])

    def set_output(self, text: str, n: int) -> None:
        """Replace the output by `text`; usually it has only grown."""
        output = text.encode(errors="replace")
        known = b"".join(self._output.now())
        if not output.startswith(known):
            self._output.replace(n, [output])
        elif len(output) > len(known):
            self._output.add(n, output[len(known) :])


@frozen_dataclass
class CallFacts:
    """The state of a tool call except its content."""

    title: str = ""
    name: str = ""
    kind: str = "other"
    status: str = "pending"
    locations: Sequence[Json] = field(default_factory=list[Json])
    raw_input: Json = None
    raw_output: Json = None
    can_cancel: bool = False
    """Whether the client may ask the agent to cancel it alone (version 2)."""
    began_at: float | None = None
    """When its work began, in seconds since the journal began; None: not known.

    That is its first mention, its status `in_progress`, or the response to the last permission
    request about it, whichever came last.
    """
    ended_at: float | None = None
    """When it came to its end; None: not yet, or not known."""
    exit_code: int | None = None
    """How its command ended, by what the agent adds for a terminal that the client only shows."""
    signal: str | None = None

    @property
    def duration(self) -> float | None:
        """Seconds of work, without what a user took to decide; None: not known."""
        if self.began_at is None or self.ended_at is None:
            return None
        return self.ended_at - self.began_at


_NO_FACTS: Final = CallFacts()


class ToolCallItem(HasHistory):
    """A tool call of the agent."""

    __slots__ = ("_content", "_facts", "_permissions", "_terminals", "is_over", "key")

    def __init__(self, key: str, *, n: int = 0, began_at: float | None = None) -> None:
        self.key = key
        self._facts = Versioned(
            CallFacts(began_at=began_at) if began_at is not None else _NO_FACTS, n
        )
        self._content = VersionedList[Json]()
        self._permissions: list[PermissionRequest] = []
        self._terminals: dict[str, TerminalItem] = {}
        self.is_over = False
        """Whether it has come to its end."""

    @property
    def facts(self) -> CallFacts:
        return self._facts.now

    @property
    def status(self) -> str:
        """How far it is: "rejected" or "cancelled" if it was not allowed, and so failed."""
        status, permission = self.facts.status, self.permission
        if permission is None or status in {"completed", "cancelled"}:
            return status
        kinds = {
            get_string(each, "optionId"): get_string(each, "kind") for each in permission.options
        }
        if kinds.get(get_string(permission.outcome, "optionId"), "").startswith("reject"):
            return "rejected"
        return "cancelled" if get_string(permission.outcome, "outcome") == "cancelled" else status

    @property
    def content(self) -> list[Json]:
        return self._content.now()

    @property
    def subject(self) -> Sequence[object]:
        """What the agent says that it does: changes with what a user decides on."""
        facts, commands = self.facts, [each.facts.command for each in self.terminals.values()]
        return (
            *(facts.title, facts.name, facts.kind, facts.raw_input, facts.raw_output),
            *(facts.locations, self.content, commands),
        )

    @property
    def permission(self) -> PermissionRequest | None:
        return self._permissions[-1] if self._permissions else None

    @property
    def permissions(self) -> list[PermissionRequest]:
        return self._permissions

    @property
    def terminals(self) -> dict[str, TerminalItem]:
        """The terminals that its content shows, by their ids."""
        keys = terminal_keys(self._content.now())
        return {key: self._terminals[key] for key in keys if key in self._terminals}

    @property
    def history(self) -> list[tuple[int, CallFacts]]:
        """Each frame that changed the tool call, and its state after that."""
        return self._facts.versions()

    @property
    def last(self) -> int:
        """The last frame that changed the tool call or a terminal it shows."""
        permission_frames = [each.answered or each.requested for each in self._permissions[-1:]]
        shown = [terminal.last for terminal in self._terminals.values()]
        return max((super().last, *permission_frames, *shown))

    def change(self, n: int, **facts: Any) -> None:
        now = replace(self._facts.now, **facts)
        self._facts.set(n, now)
        self.is_over = now.status in FINAL_STATUSES

    def replace(self, content: list[Json], n: int) -> None:
        self._content.replace(n, content)

    def add(self, content: Json, n: int) -> None:
        self._content.add(n, content)

    def show(self, terminal: TerminalItem) -> None:
        self._terminals[terminal.key] = terminal

    def add_permission(self, permission: PermissionRequest, n: int) -> None:
        permission.requested = n
        self._permissions.append(permission)

    def at(self, n: int) -> ToolCallItem:  # pyright: ignore[reportIncompatibleMethodOverride]
        copy = ToolCallItem(self.key)
        copy._facts = self._facts.until(n)
        copy._content = self._content.snapshot(n)
        copy._permissions = [each.at(n) for each in self._permissions if each.requested <= n]
        copy.is_over = copy.facts.status in FINAL_STATUSES
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


class _Words(str):
    """A plain text block, in a fourth of the memory."""

    __slots__ = ()


class TextItem(HasHistory):
    """Text that grows by chunks."""

    __slots__ = ("_begin", "_content", "_id", "_others", "_places", "_read", "_text", "key")
    key_prefix: ClassVar[str] = "text"

    def __init__(self, key: str, message_id: str | None = None, *, n: int = 0) -> None:
        self.key = key
        self._id = Versioned(message_id, n)
        self._content = VersionedList[Json]()
        # The content joined so far, so that a long text is not joined repeatedly.
        self.forget_text()

    @property
    def message_id(self) -> str | None:
        """The id that the agent assigned; None while it has none."""
        return self._id.now

    @property
    def text(self) -> str:
        if self._begin != self._content.begin:
            self.forget_text()
        if fresh := self._content.since(self._read):
            self._read += len(fresh)
            words = [_words(block) for block in fresh]
            if None in words:
                self._note_others(fresh, words)
            self._text += "".join(text for text in words if text is not None)
        return self._text

    def _note_others(self, fresh: Sequence[Json], words: Sequence[str | None]) -> None:
        length = len(self._text)
        for block, text in zip(fresh, words, strict=True):
            if text is None:
                self._others.append(block)
                self._places.append(length)
            else:
                length += len(text)

    @property
    def generation(self) -> int:
        """Changes when the text is replaced, not when it grows."""
        return self._content.begin

    @property
    def content(self) -> list[Json]:
        return list(map(_block, self._content.now()))

    @property
    def blocks(self) -> list[Json]:
        """The content that is not text."""
        _ = self.text
        return self._others

    @property
    def places(self) -> list[int]:
        """Where in the text each of `blocks` stands."""
        _ = self.text
        return self._places

    def segments(self) -> Iterator[tuple[str, Json]]:
        """Yield each stretch of text with the block that follows it; None after the last."""
        text, begin = self.text, 0
        for block, place in zip(self._others, self._places, strict=True):
            yield text[begin:place], block
            begin = place
        yield text[begin:], None

    def replace(self, blocks: list[Json], n: int = 0) -> None:
        self._content.replace(n, map(_lean, blocks))

    def add(self, block: Json, n: int = 0) -> None:
        self._content.add(n, _lean(block))

    def bind(self, message_id: str, n: int) -> None:
        self._id.set(n, message_id)

    def at(self, n: int) -> Self:
        copy = super().at(n)
        copy.forget_text()
        return copy

    def forget_text(self) -> None:
        """Discard the joined text; the next read joins it again."""
        self._text = ""
        self._others: list[Json] = []
        self._places: list[int] = []
        self._read = self._begin = self._content.begin


class UserMessage(TextItem):
    """A message of the user."""

    __slots__ = ()
    key_prefix: ClassVar[str] = "usermessage"


class AgentMessage(TextItem):
    """A message of the agent, in Markdown."""

    __slots__ = ()
    key_prefix: ClassVar[str] = "agentmessage"


class Thought(TextItem):
    """A thought of the agent."""

    __slots__ = ()
    key_prefix: ClassVar[str] = "thought"


class SessionMessage(AgentMessage):
    """A message of one session to another (unstable)."""

    __slots__ = ("sender",)
    key_prefix: ClassVar[str] = "sessionmessage"

    def __init__(self, key: str, message_id: str | None = None, *, n: int = 0) -> None:
        super().__init__(key, message_id, n=n)
        self.sender = Versioned("")


class PlanItem(HasHistory):
    """The agent's plan; replaced as a whole."""

    __slots__ = ("_entries", "key", "plan_id")

    def __init__(self, key: str, plan_id: str = "") -> None:
        self.key = key
        self.plan_id = plan_id
        self._entries = Versioned[list[Json]]([])

    @property
    def entries(self) -> list[Json]:
        return self._entries.now

    def replace(self, steps: list[Json], n: int = 0) -> None:
        self._entries.set(n, steps)


@dataclass(frozen=True, slots=True, eq=False)
class TurnEnd:
    """The end of a turn."""

    key: str
    stop_reason: str | None = None
    error: str | None = None
    usage: Json = None
    last: int = 0
    is_silent: bool = False
    """Whether a prompt got no text, thought, tool call or plan."""

    def at(self, n: int) -> TurnEnd:
        """Return self: it never changes."""
        del n
        return self


class Notice(HasHistory):
    """A one-line notice."""

    __slots__ = ("_text", "key")
    key_prefix: ClassVar[str] = "notice"

    def __init__(self, key: str, text: str, n: int = 0) -> None:
        self.key = key
        self._text = Versioned(text, n)

    @property
    def text(self) -> str:
        return self._text.now

    def rewrite(self, text: str, n: int) -> None:
        if text != self._text.now:
            self._text.set(n, text)


class ModeNotice(Notice):
    """The mode that a session has come into."""

    __slots__ = ("mode", "name")

    def __init__(self, key: str, name: str, mode: Json, n: int = 0) -> None:
        super().__init__(key, f"mode: {name}", n)
        self.name = name
        self.mode = mode
        """The mode as the agent offers it; None if it does not."""


class Compaction(Notice):
    """A compaction of the agent's context."""

    __slots__ = ("_status", "_summary")
    key_prefix: ClassVar[str] = "compaction"

    def __init__(self, key: str, text: str, n: int = 0) -> None:
        super().__init__(key, text, n)
        self._status = Versioned("in_progress", n)
        self._summary = VersionedList[Json]()

    @property
    def status(self) -> str:
        return self._status.now

    @property
    def summary(self) -> list[Json]:
        """The summary that replaces everything before it."""
        return self._summary.now()

    def change(self, n: int, status: str, summary: list[Json] | None) -> None:
        """Apply an update at frame `n`; `summary` None leaves the summary as it is."""
        self._status.set(n, status)
        self.rewrite(f"context compaction: {status}", n)
        if summary is not None:
            self._summary.replace(n, summary)

    def add(self, block: Json, n: int) -> None:
        self._summary.add(n, block)


@dataclass(frozen=True, slots=True)
class SubagentFacts:
    """What a session says of one that works for it."""

    title: str = ""
    description: str = ""
    state: str = ""
    """Its last confirmed state; empty: none."""
    can_cancel: bool = False
    """Whether the client may cancel what it does."""


class SubagentItem(Notice):
    """A session that works for this one (unstable)."""

    __slots__ = ("_facts", "session_id")
    key_prefix: ClassVar[str] = "subagent"

    def __init__(self, key: str, text: str, n: int = 0) -> None:
        super().__init__(key, text, n)
        self.session_id = ""
        self._facts = Versioned(SubagentFacts(), n)

    @property
    def facts(self) -> SubagentFacts:
        return self._facts.now

    def change(self, n: int, **facts: Any) -> None:
        now = replace(self._facts.now, **facts)
        self._facts.set(n, now)
        parts = filter(None, (now.title or now.description, now.state))
        self.rewrite(f"subagent: {', '.join(parts) or self.session_id}", n)


class Effect(Notice):
    """What a client did for the agent without asking the user: a file written, a command run."""

    __slots__ = ("path",)
    key_prefix: ClassVar[str] = "effect"

    def __init__(self, key: str, text: str, n: int = 0) -> None:
        super().__init__(key, text, n)
        self.path = ""
        """The file that was written; empty for a command."""


class ElicitationItem(Notice):
    """An elicitation; `outcome` is None while it is open."""

    __slots__ = ("_outcome", "mode", "request_id", "schema")
    key_prefix: ClassVar[str] = "elicitation"

    def __init__(self, key: str, text: str, n: int = 0) -> None:
        super().__init__(key, text, n)
        self.request_id: RequestId = None
        self.mode = ""
        self.schema: Json = None
        """The form's schema, or the URL."""
        self._outcome = Versioned[Json](None, n)

    @property
    def outcome(self) -> Json:
        return self._outcome.now

    def set_outcome(self, outcome: Json, n: int) -> None:
        self._outcome.set(n, outcome)


Item: TypeAlias = UserMessage | AgentMessage | Thought | ToolCallItem | PlanItem | TurnEnd | Notice


def _lean(block: Json) -> Json:
    """Return a block as it is stored: of a plain text block, only its text."""
    is_plain = isinstance(block, dict) and len(cast("dict[str, Json]", block)) == 2
    if is_plain and (text := _words(block)) is not None:
        return _Words(text)
    return cast("Json", block)


def _block(kept: Json) -> Json:
    return {"type": "text", "text": str(kept)} if isinstance(kept, _Words) else kept


def _words(block: Json) -> str | None:
    """Return the text of a text block; None for other blocks."""
    if isinstance(block, _Words):
        return block
    text = get(block, "text") if get(block, "type") == "text" else None
    return text if isinstance(text, str) else None
