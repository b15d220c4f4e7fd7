"""Beside the chat: the open chats, and plan, context and changed files of this one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from acp_console.chat.changed_files import ChangedFiles
from acp_console.chat.chat_session import ChatSession
from acp_console.chat.line_diff import FileChange
from acp_console.chat.open_chats import OpenChats
from acp_console.chat.past import PastState
from acp_console.chat.work import Work, background_of
from acp_console.tui.transcript.cards import STEPS
from acp_console.wording.values import format_cost, format_number, format_tokens
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get, get_string
from acp_protocol.jsonrpc import Json

MOST_STEPS: Final = 12
MOST_FILES: Final = 12
MOST_WORK: Final = 6
"""Subagents and background work below a chat; alt+b lists all."""
NEARLY_FULL: Final = 0.7
FULL: Final = 0.9
"""Shares of the context from which the gauge has another colour."""
GAUGE: Final = 10
"""Cells of the gauge of the context."""


@dataclass(frozen=True, slots=True)
class PastTalk:
    """The conversation after frame `n`."""

    n: int
    state: PastState | None
    """None: before its session."""


def moment(n: int) -> str:
    """Return which moment it is that an earlier state is of."""
    return f"as of frame {format_number(n)}"


def chat_title(chat: ChatSession) -> str:
    return single_line(chat.name, 60, is_prose=True)


class ChatSidebar(Vertical):
    """The sidebar of one chat."""

    DEFAULT_CSS = """
    ChatSidebar {
        width: 30;
        padding: 0 1 0 1;
        border-right: vkey $foreground 20%;
        #chats {
            height: auto;
            max-height: 40%;
            border: none;
            padding: 0;
            background: transparent;
        }
        #about {
            height: auto;
            margin-top: 1;
        }
    }
    """

    options = getters.query_one("#chats", OptionList)

    @dataclass
    class Switched(Message):
        """The user wants to see another chat."""

        chat: ChatSession

    @dataclass
    class SubagentOpened(Message):
        """The user wants to see the transcript of a subagent of this chat."""

        session_id: str

    def __init__(self, chats: OpenChats, chat: ChatSession, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._chats = chats
        self._chat = chat
        self._shown: tuple[object, ...] = ()
        self._targets: list[ChatSession | Work] = []
        """What each line below the first heading is about."""
        self._about = Content()

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("Chats", "bold $text-muted"), markup=False)
        yield OptionList(id="chats", markup=False)
        yield Static(id="about", markup=False)

    def on_mount(self) -> None:
        self.options.can_focus = False

    def show(self, files: ChangedFiles, past: PastTalk | None = None) -> None:
        """Draw what has changed; plan, context and files as they were in the `past`."""
        if not self.display:
            return
        width = max(self.size.width, 8)
        lines: list[Content] = []
        self._targets = []
        for chat in self._chats.chats:
            self._targets.append(chat)
            lines.append(_chat_line(chat, is_current=chat is self._chat, width=width))
            if chat is self._chat:
                found = background_of(chat.agent.conversations, chat.session_id or "")
                self._targets += found[-MOST_WORK:]
                lines += (_work_line(work, width) for work in found[-MOST_WORK:])
        if tuple(lines) != self._shown:
            self._shown = tuple(lines)
            self.options.set_options(Option(line) for line in lines)
        conversation = self._chat.conversation
        if past is not None:
            parts = _past(past, self._chat.cwd, width)
        else:
            usage = None if conversation is None else conversation.info.usage
            parts = _about(self._chat.plan, usage, files.files(), self._chat.cwd, width)
        about = Content("\n").join(parts)
        if about != self._about:
            self._about = about
            self.query_one("#about", Static).update(about)

    @on(OptionList.OptionSelected, "#chats")
    def switch(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        target = self._targets[event.option_index]
        if isinstance(target, ChatSession):
            self.post_message(self.Switched(target))
        elif target.kind == "subagent":
            self.post_message(self.SubagentOpened(target.key))


def _chat_line(chat: ChatSession, *, is_current: bool, width: int) -> Content:
    sign = chat.sign
    color = {"?": "$text-warning", "✗": "$text-error", "●": "$text-success"}.get(sign, "")
    note = " needs you" if chat.is_waiting_for_user and not is_current else ""
    title = single_line(chat_title(chat), max(width - 3 - len(note), 4), is_prose=True)
    return Content.assemble(
        ("▌" if is_current else " ", "$text-primary"),
        (f"{sign} ", color),
        (title, "bold" if is_current else ""),
        (note, "$text-warning"),
    )


def _work_line(work: Work, width: int) -> Content:
    """Return a line for a subagent or other work, below its chat."""
    indent = "  " * min(work.depth, 3)
    title = single_line(work.title, max(width - 6 - len(indent), 4))
    color = {"◐": "$text-warning", "?": "$text-warning"}.get(work.sign, "$text-muted")
    return Content.assemble(
        (f"  {indent}└ ", "$text-muted"), (f"{work.sign} ", color), (title, "$text-muted")
    )


def _past(past: PastTalk, cwd: Path, width: int) -> Iterator[Content]:
    yield Content.styled(single_line(moment(past.n), width), "bold $text-warning")
    if past.state is None:
        yield Content.styled("no session yet", "$text-muted")
        return
    yield Content("")
    state = past.state
    yield from _about(state.plan, state.info.usage, state.files, cwd, width)


def _about(
    plan: Sequence[Json], usage: Json, changed: Mapping[str, FileChange], cwd: Path, width: int
) -> Iterator[Content]:
    if plan:
        yield from _plan(plan, width)
    yield from _context(usage, width)
    if changed:
        yield _heading(f"Files  {len(changed)}")
        for path, change in list(changed.items())[-MOST_FILES:]:
            counts = [
                (f" +{change.added}", "$text-success"),
                (f" −{change.removed}", "$text-error"),
            ]
            if change.is_deleted:
                counts = [(" deleted", "$text-error")]
            elif not change.is_counted:
                counts = [(" written", "$text-warning")]
            room = width - sum(len(text) for text, _ in counts)
            name = _tail(_relative(path, cwd), room)
            yield Content.assemble(name, " " * max(room - len(name), 0), *counts)
        yield Content("")


def _plan(entries: Sequence[Json], width: int) -> Iterator[Content]:
    done = sum(get_string(entry, "status") == "completed" for entry in entries)
    yield _heading(f"Plan  {done}/{len(entries)}")
    # The step that runs stays in sight.
    first = max(min(done - 2, len(entries) - MOST_STEPS), 0)
    for entry in entries[first : first + MOST_STEPS]:
        status = get_string(entry, "status")
        text = single_line(get_string(entry, "content"), width - 2, is_prose=True)
        style = {"completed": "$text-muted", "in_progress": "bold"}.get(status, "")
        sign = {"completed": "$text-success", "in_progress": "$text-warning"}.get(status, "")
        yield Content.assemble((f"{STEPS.get(status, '?')} ", sign), (text, style))
    if len(entries) > first + MOST_STEPS:
        yield Content.styled(f"  … {len(entries) - first - MOST_STEPS} more", "$text-muted")
    yield Content("")


def _context(usage: Json, width: int) -> Iterator[Content]:
    used, size = get(usage, "used"), get(usage, "size")
    parts: list[str] = []
    if isinstance(used, int | float):
        whole = f"/{format_tokens(size)}" if isinstance(size, int | float) and size > 0 else ""
        parts.append(format_tokens(used) + whole)
    parts += filter(None, [format_cost(get(usage, "cost"))])
    if not parts:
        return
    yield _heading("Context")
    if isinstance(used, int | float) and isinstance(size, int | float) and size > 0:
        share = min(max(used / size, 0.0), 1.0)
        full = round(share * GAUGE)
        color = "$text-primary"
        if share > NEARLY_FULL:
            color = "$text-error" if share > FULL else "$text-warning"
        yield Content.assemble(
            ("▰" * full, color), ("▱" * (GAUGE - full), "$text-muted"), f" {share:.0%}"
        )
    yield Content.styled(single_line("  ".join(parts), width), "$text-muted")
    yield Content("")


def _heading(text: str) -> Content:
    return Content.styled(text, "bold $text-muted")


def _relative(path: str, cwd: Path) -> str:
    try:
        return str(PurePath(path).relative_to(cwd))
    except ValueError:
        return path


def _tail(path: str, width: int) -> str:
    """Return the end of a path, which tells files apart."""
    text = single_line(path, 500)
    return text if len(text) <= width else f"…{text[-max(width - 1, 1) :]}"
