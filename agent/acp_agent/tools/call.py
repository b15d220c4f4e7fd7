"""What a tool is: it prepares a call, which can be shown and asked about, and then runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from acp_agent.markdown import fence
from acp_agent.models.types import ToolSpec
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.subjects import Subject, name_subject
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind

NAME_WIDTH: Final = 200
"""Characters of a name that a title shows."""
MAX_REASON_CHARS: Final = 4096
"""Characters of a reason why a tool has failed: it may repeat names that a model made up."""
MAX_TEXT_CHARS: Final = 64 * 1024
"""Characters of one text that a model and a user get to see."""

Content: TypeAlias = Sequence[Mapping[str, Json]]
OUTPUT_CONTENT: Final = "output"
"""The type of content that holds what a program has written; no version of the protocol has it."""
MOVE_CONTENT: Final = "move"
"""The type of content that shows that something is moved; only version 2 has words for it."""
ReportContent: TypeAlias = Callable[[Content], Awaitable[None]]
"""Shows content of a call that is still running."""


class ToolFailedError(AcpError):
    """A tool could not do its work; the message goes to the model and to the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            reason if len(reason) <= MAX_REASON_CHARS else f"{reason[:MAX_REASON_CHARS]}…"
        )


class CallForbiddenError(ToolFailedError):
    """A call was refused because of its paths, before anything was looked at."""

    def __init__(self, call: PreparedCall) -> None:
        super().__init__("forbidden")
        self.call = call
        """What is known of it without looking."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call."""

    text: str
    """For the model."""
    content: Content = ()
    """For the user; none leaves what is shown as it was."""
    raw: Mapping[str, Json] = field(default_factory=dict[str, Json])
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A program that is run."""

    line: str
    """With its arguments, as a shell would take them."""
    cwd: str
    """Absolute."""


@dataclass(frozen=True, slots=True)
class SideEffect:
    """What a call does besides, as a call of another kind or by another name would."""

    kind: ToolKind
    subject: Subject
    wants_consent: bool = False
    """Whether an "always" for the call has to hold for this as well; a refusal always counts."""


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A tool call that is ready to run."""

    title: str
    kind: ToolKind
    run: Callable[[ReportContent], Awaitable[Outcome]]
    locations: Sequence[Mapping[str, Json]] = ()
    content: Content = ()
    """What the user should see before it runs, such as the diff."""
    scope: str = ""
    """What "always" means for a call without `subjects`: the same kind and this name."""
    subjects: Sequence[Subject] = ()
    """What it touches: what a user's "always" is about, and what the audit log tells."""
    effects: Sequence[SideEffect] = ()
    """What it does besides; no rule allows a call because of these, but may forbid it."""
    must_ask: bool = False
    """Whether the user is asked each time, whatever was said before: no "always" is offered."""
    is_tree: bool = False
    """Whether its subjects are a directory with all that is in it."""
    is_elicitation: bool = False
    """Whether it only asks the user, so that the form is the consent."""

    plan: Sequence[Json] | None = None
    """The entries of the plan that it shows, if it shows one."""

    @property
    def touched(self) -> Sequence[Subject]:
        """What it touches; the kind alone where nothing is named."""
        return self.subjects or (name_subject(self.scope),)


class Tool(Protocol):
    """Something that the agent can do."""

    @property
    def offer(self) -> ToolSpec:
        """Its name, what it does, and the schema of its arguments."""
        ...

    @property
    def kind(self) -> ToolKind:
        """What consent to it depends on."""
        ...

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        """Return the call, without having changed anything yet.

        Raises:
            ToolFailedError: the arguments make no sense here.
        """
        ...


def text_content(text: str) -> Mapping[str, Json]:
    """Return text as content of a tool call."""
    return {"type": "content", "content": {"type": "text", "text": text}}


def call_title(verb: str, name: str) -> str:
    """Return the title of a call about `name`, which may be long and hold what a screen obeys."""
    return f"{verb} {single_line(name, NAME_WIDTH)}"


def fenced(text: str) -> Content:
    """Return text as content of a tool call, shown as it is; nothing for no text."""
    return [text_content(fence(shorten(text)))] if text else []


def shorten(text: str) -> str:
    """Return the beginning of `text`, and how much is left out."""
    missing = len(text) - MAX_TEXT_CHARS
    return text if missing <= 0 else f"{text[:MAX_TEXT_CHARS]}\n… {missing} more characters"


def output_content(
    text: str, command: CommandLine, ending: Mapping[str, Json] | None = None
) -> Mapping[str, Json]:
    """Return what a program has written so far; each version of the protocol shows it in its way.

    `ending` holds `exitCode` and `signal` once it has ended, as far as they are known.
    """
    shown = {"command": command.line, "cwd": command.cwd}
    return {"type": OUTPUT_CONTENT, "text": text, "ending": ending, **shown}


def terminal_content(terminal: str, command: CommandLine) -> Mapping[str, Json]:
    """Return a terminal of the client, which shows what a program writes by itself."""
    return {**output_content("", command), "terminalId": terminal}


def diff_content(path: str, old: str | None, new: str) -> Mapping[str, Json]:
    """Return the change of a file as content of a tool call; `old` None means a new file."""
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


def move_content(old: str, new: str, file_type: str | None) -> Mapping[str, Json]:
    """Return that what is at the path `old` comes to be at `new`, as content of a tool call.

    `file_type` is `directory`, `symlink`, or None for a file.
    """
    return {"type": MOVE_CONTENT, "oldPath": old, "path": new, "fileType": file_type}
