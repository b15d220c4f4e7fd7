"""The conversation, from top to bottom: a view for each of its items.

A view is built from its item and can be built again. It is empty until `sync` is called, once it is
mounted and whenever its item has changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Final, cast

from rich.console import Group, RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Collapsible, Markdown, Static

from acp_console.tui.chat.permission import PermissionTiming, PermissionView
from acp_inspector.analysis.items import (
    AgentMessage,
    ElicitationItem,
    Item,
    Notice,
    PlanItem,
    TerminalItem,
    Thought,
    ToolCallItem,
    TurnEnd,
    UserMessage,
    string,
)
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json

MAX_DIFF_LINES: Final = 40
"""Lines of a diff that are shown."""
_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


def diff_text(path: str, old: Json, new: str) -> Text:
    """Return the unified diff of a file; `old` is not a string for a new file."""
    before = escape_controls(old).splitlines() if isinstance(old, str) else []
    lines = list(unified_diff(before, escape_controls(new).splitlines(), n=2, lineterm=""))[2:]
    what = "" if isinstance(old, str) else "  new file"
    text = Text.assemble((single_line(path, 160), "bold"), (what, "dim"))
    _append(text, lines)
    if not lines:
        text.append("\nnothing changes", "dim")
    return text


def patch_text(patch: str) -> Text:
    """Return a patch in git's format, each file under its name."""
    text = Text()
    hunk: list[str] = []
    for line in escape_controls(patch).splitlines():
        if line.startswith("diff --git "):
            _append(text, hunk)
            hunk = []
            text.append("\n" * bool(text) + single_line(_name(line), 160), "bold")
        elif line.startswith("new file mode "):
            text.append("  new file", "dim")
        elif line.startswith("deleted file mode "):
            text.append("  removed", "dim")
        elif hunk or line.startswith("@@"):
            hunk.append(line)
    _append(text, hunk)
    return text or Text(single_line(patch, 160))


def changes_text(changes: Sequence[Json]) -> Text:
    """Return the names of the changed files, if there is no diff."""
    lines: list[str] = []
    for change in changes:
        match change:
            case {"operation": str(operation), "path": str(path)}:
                lines.append(single_line(f"{operation} {path}", 160))
            case _:
                lines.append("an unreadable change")
    return Text("\n".join(lines[:MAX_DIFF_LINES]), "bold")


def _name(line: str) -> str:
    """Return the file that the first line of a patch names twice."""
    names = line.removeprefix("diff --git ")
    half = names[: len(names) // 2]
    return half if names == f"{half} {half}" else names


def _append(text: Text, lines: Sequence[str]) -> None:
    for line in lines[:MAX_DIFF_LINES]:
        text.append(f"\n{line}", _STYLES.get(line[:1], ""))
    if len(lines) > MAX_DIFF_LINES:
        text.append(f"\n… {len(lines) - MAX_DIFF_LINES} more lines", "dim")


STATUS: Final = {
    "pending": ("○", "pending"),
    "in_progress": ("◐", "running"),
    "completed": ("●", "done"),
    "failed": ("✗", "failed"),
    "cancelled": ("◌", "cancelled"),
}
"""Sign and word of each status: never a colour alone."""

CONTENT_LINES: Final = 16
"""Lines of a tool's output that are shown; the rest is in the traffic."""


class UserView(Static):
    """A message of the user."""

    def __init__(self, item: UserMessage) -> None:
        super().__init__(classes="item user")
        self.item = item

    async def sync(self) -> None:
        blocks = "".join(f"\n[{_type(block)}]" for block in self.item.blocks)
        self.update(Text(escape_controls(self.item.text + blocks)))


class AgentView(Markdown):
    """A message of the agent, as growing Markdown."""

    def __init__(self, item: AgentMessage) -> None:
        # Start empty: Textual appends correctly only to appended text.
        super().__init__(classes="item agent", open_links=False)
        self.item = item
        self._shown = 0

    async def sync(self) -> None:
        text = self.item.text
        fragment, self._shown = text[self._shown :], len(text)
        if fragment:
            await self.append(escape_controls(fragment))


class ThoughtView(Collapsible):
    """A thought of the agent, collapsed."""

    def __init__(self, item: Thought) -> None:
        self._body = Static(classes="thought-text", markup=False)
        super().__init__(self._body, title="Thought", collapsed=True, classes="item thought")
        self.item = item

    async def sync(self) -> None:
        text = self.item.text
        # Textual declares a string here and renders content too.
        self.title = Content(f"Thought  {single_line(text, 60)}")  # pyright: ignore[reportAttributeAccessIssue]
        self._body.update(Text(escape_controls(text)))


class PlanView(Static):
    """The plan, as a list of steps."""

    def __init__(self, item: PlanItem) -> None:
        super().__init__(classes="item plan")
        self.item = item

    async def sync(self) -> None:
        text = Text.assemble(("Plan", "bold"))
        done = sum(string(entry, "status") == "completed" for entry in self.item.entries)
        text.append(f"  {done} of {len(self.item.entries)} done", style="dim")
        for entry in self.item.entries:
            sign, word = STATUS.get(string(entry, "status"), ("?", "unknown"))
            text.append(f"\n {sign} {single_line(string(entry, 'content'), 200)}")
            text.append(f"  {word}", style="dim")
        self.update(text)


INPUT: Final = 2000
"""Characters of one member of a call's input that are shown."""
_TOLD: Final = frozenset({"command", "cmd", "cwd", "path", "file_path", "filePath", "abs_path"})
"""Members of the input that say what a call runs or touches."""


class ToolCallView(Vertical):
    """A tool call: title, status and output."""

    def __init__(self, item: ToolCallItem, timing: PermissionTiming) -> None:
        super().__init__(classes="item tool")
        self.item = item
        self._timing = timing
        self._head = Static(classes="tool-head", markup=False)
        self._body = Static(classes="tool-body", markup=False)

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._body

    async def sync(self) -> None:
        item = self.item
        sign, word = STATUS.get(item.facts.status, ("?", single_line(item.facts.status, 20)))
        head = Text.assemble(
            (f"{sign} ", "bold"), (single_line(item.facts.title or item.key, 120), "bold"),
            (f"  {single_line(item.facts.kind, 20)} · {word}", "dim"),
        )  # fmt: skip
        self._head.update(head)
        body: list[RenderableType] = [_content(content, item) for content in item.content]
        if (given := _input(item)) is not None:
            body.insert(0, given)
        self._body.update(Group(*body))
        self._body.display = bool(body)
        for status in STATUS:
            self.set_class(item.facts.status == status, f"-{status.replace('_', '-')}")
        await self._sync_permission()

    async def _sync_permission(self) -> None:
        permission = self.item.permission
        if permission is not None and permission.outcome is not None:
            permission = None
        views = self.query(PermissionView)
        if any(view.permission is permission for view in views):
            return
        # The agent may have asked again about the same call before it got a response.
        await views.remove()
        if permission is not None:
            await self.mount(PermissionView(permission, self._timing))


class TurnEndView(Static):
    """The end of a turn, if it is not a normal one."""

    def __init__(self, item: TurnEnd) -> None:
        super().__init__(classes="item turn-end")
        self.item = item

    async def sync(self) -> None:
        item = self.item
        self.set_class(item.error is not None, "-failed")
        self.display = item.error is not None or item.stop_reason != "end_turn"
        reason = f"turn failed: {item.error}" if item.error else f"turn ended: {item.stop_reason}"
        self.update(Text(f"— {single_line(reason, 300)}"))


class NoticeView(Static):
    """A one-line notice."""

    def __init__(self, item: Notice) -> None:
        super().__init__(classes="item notice")
        self.item = item
        self._shown = ""

    async def sync(self) -> None:
        """Rewrite the line if it has changed, e.g. because a request got its response."""
        item = self.item
        text = f"· {single_line(item.text, 300)}"
        if isinstance(item, ElicitationItem):
            text += f": {single_line(string(item.outcome, 'action') or 'open', 40)}"
        if text != self._shown:
            self._shown = text
            self.update(Text(text))


ItemView = UserView | AgentView | ThoughtView | PlanView | ToolCallView | TurnEndView | NoticeView


def view_of(item: Item, timing: PermissionTiming) -> ItemView:
    match item:
        case UserMessage():
            return UserView(item)
        case AgentMessage():
            return AgentView(item)
        case Thought():
            return ThoughtView(item)
        case PlanItem():
            return PlanView(item)
        case ToolCallItem():
            return ToolCallView(item, timing)
        case TurnEnd():
            return TurnEndView(item)
        case Notice():
            return NoticeView(item)


def _input(call: ToolCallItem) -> RenderableType | None:
    """Return what a call without a diff runs or touches; all of its input while it waits."""
    given = as_object(call.facts.raw_input)
    if any(_type(content) == "diff" for content in call.content):
        return None
    is_open = call.permission is not None and call.permission.outcome is None
    lines: list[str] = []
    for name, value in given.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if (is_open or name in _TOLD) and text not in call.facts.title:
            lines.append(f"{single_line(name, 40)}: {single_line(text, INPUT)}")
    return Text("\n".join(lines[:CONTENT_LINES])) if lines else None


def _content(content: Json, call: ToolCallItem) -> RenderableType:
    match content:
        case {"type": "diff", "patch": {"text": str(patch)}}:
            return patch_text(patch)
        case {"type": "diff", "changes": changes}:
            return changes_text(as_list(changes))
        case {"type": "terminal", "terminalId": str(key)} if key in call.terminals:
            return _terminal(call.terminals[key])
        case {"type": "diff", "path": str(path), "newText": str(new)}:
            return diff_text(path, cast("Mapping[str, Json]", content).get("oldText"), new)
        case {"type": "content", "content": {"type": "text", "text": str(text)}}:
            return _output(text)
        case _:
            return Text(f"[{_type(content)}]", style="dim")


def _terminal(terminal: TerminalItem) -> RenderableType:
    """Return a terminal of the agent: its command, its output so far, and how it ended."""
    shown = Text()
    if terminal.facts.command:
        shown.append(f"$ {single_line(terminal.facts.command, 160)}\n", "bold")
    shown.append_text(_output(terminal.text if terminal.live is None else terminal.live))
    if terminal.facts.is_over and terminal.facts.exit_code != 0:
        ending = terminal.facts.signal or terminal.facts.exit_code
        shown.append(f"\nended with {single_line(str(ending), 40)}", "dim")
    return shown


def _output(text: str) -> Text:
    """Return a tool's output without Markdown fences: it is shown as plain text."""
    lines = escape_controls(text).splitlines()
    if (
        len(lines) >= 2
        and lines[0].startswith("```")
        and lines[-1] == lines[0].rstrip("abcdefghijklmnopqrstuvwxyz")
    ):
        lines = lines[1:-1]
    shown = Text("\n".join(lines[:CONTENT_LINES]), no_wrap=True, overflow="ellipsis")
    if len(lines) > CONTENT_LINES:
        shown.append(
            f"\n… {len(lines) - CONTENT_LINES} more lines, all of them in the traffic", "dim"
        )
    return shown


def _type(block: Json) -> str:
    return single_line(string(block, "type") or "unknown content", 40)


class ConversationView(VerticalScroll):
    """Shows the items in order, and follows the end unless the user scrolled away."""

    def __init__(
        self,
        welcome: str,
        *,
        timing: PermissionTiming | None = None,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        super().__init__(id=id)
        self._timing = timing or PermissionTiming()
        self._views: dict[int, ItemView] = {}
        self._welcome = Static(welcome, id="welcome", markup=False)

    def on_mount(self) -> None:
        self.mount(self._welcome)
        self.anchor()

    async def sync(self, items: Sequence[Item]) -> None:
        fresh: list[ItemView] = []
        for item in dict.fromkeys(items):
            view = self._views.get(id(item))
            if view is None:
                view = self._views[id(item)] = view_of(item, self._timing)
                fresh.append(view)
            elif view.is_mounted:
                await view.sync()
        if fresh:
            self._welcome.display = False
            await self.mount_all(fresh)
            for view in fresh:
                await view.sync()

    def open_prompt(self) -> PermissionView | None:
        """Return the newest open permission prompt, if there is one."""
        prompts = self.query(PermissionView)
        return prompts.last() if prompts else None

    async def close_prompts(self) -> None:
        """Remove all permission prompts: the agent that sent them is gone."""
        await self.query(PermissionView).remove()
