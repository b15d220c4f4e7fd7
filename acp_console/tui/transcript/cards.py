"""Cards of the transcript: what is shown of each item of a conversation.

A card has parts; a part is rendered to rows when it is visible, and has a key that changes with it.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final
from weakref import ref

from rich.style import Style

from acp_console.chat.line_diff import (
    CONTEXT,
    MAX_LINES,
    DiffLine,
    file_changes,
    hidden_lines,
    is_patch_of,
    line_hunks,
    patch_lines,
)
from acp_console.chat.work import SIGNS, WORDS
from acp_console.tui.transcript.code import (
    bar_rows,
    code_rows,
    colored_lines,
    is_language,
    without_colors,
)
from acp_console.tui.transcript.markdown import MAX_BLOCK, BlockScanner, MarkdownRenderer, Part
from acp_console.tui.transcript.rows import Heights, Look, Row, Run, cells, chop, wrap, wrapped
from acp_console.wording.transcript import notice_text
from acp_console.wording.values import fenced, plural
from acp_inspector.session.items import (
    AgentMessage,
    Item,
    Notice,
    PermissionRequest,
    PlanItem,
    SubagentItem,
    TerminalItem,
    Thought,
    ToolCallItem,
    TurnEnd,
    UserMessage,
)
from acp_protocol.host.sanitize import escape_controls, prose_text, single_line
from acp_protocol.json_values import as_object, get, get_list, get_string, get_text
from acp_protocol.jsonrpc import Json

PROSE_WIDTH: Final = 100
"""Cells of a line of prose, at most."""
TAIL_LINES: Final = 3
"""Lines of a running call's output that are shown while it is folded."""
HUNK_LINES: Final = 100
"""Lines of a diff that are rendered at a time."""
MAX_BODIES: Final = 64
"""Calls whose unfolded content is kept."""
SPLIT_WIDTH: Final = 60
"""Columns from which on both sides of a diff fit beside each other."""
TITLE: Final = 400
LONG_TITLE: Final = 60
"""Characters of a title that may not fit the line of a folded call."""

STATUS: Final = {
    "pending": ("○", "pending"),
    "in_progress": ("◐", "running"),
    "paused": ("‖", "paused"),
    "completed": ("✓", "done"),
    "failed": ("✗", "failed"),
    "cancelled": ("◌", "cancelled"),
    "rejected": ("✗", "rejected"),
}
"""Sign and word of each status: never a colour alone."""
STEPS: Final = {"completed": "✓", "in_progress": "◐", "pending": "○", "cancelled": "◌"}
_SUBJECTS: Final = frozenset({"command", "cmd", "cwd", "path", "file_path", "filePath", "abs_path"})
"""Members of a call's input that say what it runs or touches."""
_IN_DIFF: Final = re.compile(r"(?i)(?:path|content|text|patch|diff|str|string|old|new)$")
"""Names of members of a call's input that a diff may show."""
_CHIP_WIDTHS: Final = {"type": 40, "mimeType": 60}
"""Members of a content block that its chip shows, and how many characters of them."""
_ATTACHED: Final = frozenset({"image", "audio", "resource"})
"""Types of content whose bytes a chip stands for."""
_TERMINAL_LANGUAGES: Final = frozenset(
    {"", "ansi", "console", "output", "shell-session", "terminal", "text"}
)
"""Languages of blocks whose escape sequences are colours."""


class Card:
    """What is shown of one item.

    Cards that are not on the screen keep what they need to be scrolled past: the item may be in a
    file, and is read back when a card is drawn, searched or copied.
    """

    is_folded = False

    def __init__(self, item: Item) -> None:
        self.item = item
        self.heights = Heights()
        """The rows of each part; an estimate until it is rendered."""

    @property
    def opens(self) -> bool:
        """Whether there is more of it elsewhere, which Enter opens."""
        return False

    def refresh(self) -> None:
        """Follow the item, which has changed."""

    @property
    def part_count(self) -> int:
        return 1

    def key(self, part: int) -> Hashable:
        """Return what changes whenever the rows of a part do."""
        del part
        return self.item.last

    def rows(self, part: int, width: int, look: Look) -> list[Row]:
        """Return the rows of a part; never none."""
        raise NotImplementedError

    def estimate(self, part: int, width: int) -> int:
        """Return about how many rows a part has."""
        del part, width
        return 1

    def source(self, part: int) -> str:
        """Return the text of a part as it is copied and searched."""
        del part
        return ""

    def toggle(self) -> bool:
        """Fold or unfold; return whether that is possible."""
        return False

    def take_folding(self, other: Card) -> None:
        """Fold or unfold as the user did with another state of the same item."""


class TextCard(Card):
    """A message that is shown as Markdown, with a line for each block that is not text."""

    @property
    def opens(self) -> bool:
        return bool(self._blocks)

    def __init__(self, item: AgentMessage | Thought) -> None:
        super().__init__(item)
        self._text = item
        self._scan = BlockScanner()
        self._blocks: dict[int, int] = {}
        """The parts that are content and not text, each with its number."""
        self._lines: list[int] = []
        """Lines of each part, and of the unfinished rest."""
        self._generation = item.generation
        self._tail: Part | None = None
        self._renderer: MarkdownRenderer | None = None
        self._look: Look | None = None
        self.refresh()

    def refresh(self) -> None:
        text = self._text.text
        if self._generation != self._text.generation:
            self._generation = self._text.generation
            self._scan, self.heights, self._renderer = BlockScanner(), Heights(), None
            self._lines, self._blocks = [], {}
        known = max(len(self._lines) - (self._tail is not None), 0)
        for place in self._text.places[len(self._blocks) :]:
            self._scan.cut(text, place)
            self._blocks[len(self._scan.parts) - 1] = len(self._blocks)
        self._scan.feed(text)
        self._tail = self._scan.tail(text)
        fresh = [*self._scan.parts[known:], *filter(None, [self._tail])]
        self._lines[known:] = [text.count("\n", each.begin, each.end) for each in fresh]

    @property
    def part_count(self) -> int:
        return len(self._scan.parts) + (self._tail is not None)

    def _part(self, part: int) -> Part | None:
        return self._scan.parts[part] if part < len(self._scan.parts) else self._tail

    def key(self, part: int) -> Hashable:
        return self._generation, self._part(part), len(self._scan.references)

    def rows(self, part: int, width: int, look: Look) -> list[Row]:
        if part in self._blocks:
            return [_chip(self._text.blocks[self._blocks[part]], look)]
        found = self._part(part)
        if found is None:
            return [Row([])]
        if self._renderer is None or self._look is not look:
            self._look, self._renderer = look, MarkdownRenderer(look)
        text = self._text.text
        for each in self._scan.references:
            self._renderer.define(text[each.begin : each.end])
        rows = self._renderer.rows(text, found, min(width, PROSE_WIDTH))
        return rows if found.goes_on or part == 0 or not rows else [Row([]), *rows]

    def estimate(self, part: int, width: int) -> int:
        found = self._part(part)
        if found is None:
            return 1
        return max(
            1, self._lines[part], (found.end - found.begin) // max(min(width, PROSE_WIDTH), 1)
        )

    def source(self, part: int) -> str:
        found = self._part(part)
        return "" if found is None else self._text.text[found.begin : found.end]


@dataclass(frozen=True, slots=True)
class _PromptPart:
    """A piece of a prompt, with the block that follows it."""

    begin: int
    end: int
    lines: int
    block: Json = None


class PromptCard(Card):
    """A message of the user, with a bar beside it."""

    def __init__(self, item: UserMessage) -> None:
        super().__init__(item)
        self._prompt = item
        self.refresh()

    @property
    def opens(self) -> bool:
        return any(part.block is not None for part in self._parts)

    def refresh(self) -> None:
        self._parts: list[_PromptPart] = []
        begin = 0
        for text, block in self._prompt.segments():
            if not text and block is None and self._parts:
                continue
            found = [
                _PromptPart(begin + at, begin + end, text.count("\n", at, end))
                for at, end in spans(text)
            ]
            self._parts += [*found[:-1], replace(found[-1], block=block)]
            begin += len(text)

    @property
    def part_count(self) -> int:
        return len(self._parts)

    def rows(self, part: int, width: int, look: Look) -> list[Row]:
        bar = [("▍ ", look.bar)]
        text, block = prose_text(self.source(part)), self._parts[part].block
        rows: list[Row] = []
        if part and self._parts[part - 1].block is not None:
            text = text.lstrip("\n")
        if text or block is None:
            text = text.rstrip("\n")
            rows = wrapped([(text, look.strong)], min(width, PROSE_WIDTH), bar)
        if block is not None:
            rows.append(_chip(block, look, bar))
        return rows

    def estimate(self, part: int, width: int) -> int:
        found = self._parts[part]
        size = found.end - found.begin
        return max(found.lines + 1, size // max(min(width, PROSE_WIDTH) - 2, 1))

    def source(self, part: int) -> str:
        found = self._parts[part]
        return self._prompt.text[found.begin : found.end]


class ThoughtCard(TextCard):
    """A thought: one line until it is unfolded."""

    is_folded = True

    @property
    def opens(self) -> bool:
        return False

    @property
    def part_count(self) -> int:
        return 1 if self.is_folded else 1 + super().part_count

    def key(self, part: int) -> Hashable:
        if part == 0:
            return self.is_folded, self._text.text[:200] if self.is_folded else ""
        return super().key(part - 1)

    def rows(self, part: int, width: int, look: Look) -> list[Row]:
        if part:
            return [
                Row([(text, style + look.muted) for text, style in row.runs],
                    [("  ", look.muted), *row.lead], row.joins, opens=row.opens)
                for row in super().rows(part - 1, width - 2, look)
            ]  # fmt: skip
        first = single_line(self._text.text.strip()[:200], max(width - 12, 1), is_prose=True)
        text = f"▸ Thought  {first}" if self.is_folded else "▾ Thought"
        return [Row([(text, look.muted)])]

    def estimate(self, part: int, width: int) -> int:
        return super().estimate(part - 1, width) if part else 1

    def source(self, part: int) -> str:
        if self.is_folded:
            return self._text.text
        return super().source(part - 1) if part else ""

    def toggle(self) -> bool:
        self.is_folded = not self.is_folded
        return True

    def take_folding(self, other: Card) -> None:
        self.is_folded = other.is_folded


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of what an unfolded call shows."""

    kind: str
    text: str = ""
    hunk: Sequence[DiffLine] = ()
    """Lines of a diff: sign, text, and the line it is changed from or to."""


_WITH_BODIES: Final[deque[ref[ToolCard]]] = deque()
"""The cards that keep what they show unfolded, the oldest first."""


class ToolCard(Card):
    """A tool call: one line once it is done, with its last lines while it runs."""

    def __init__(self, item: ToolCallItem, *, decides: bool = False) -> None:
        """Show a call: all of it if the user `decides` by this card."""
        super().__init__(item)
        self._call = item
        self.choice: bool | None = None
        """Whether the user folded it; None as long as its status decides."""
        self.decides = decides
        self.body: list[_Piece] | None = None
        """All that it shows unfolded, once it was asked for."""
        self._version = 0
        """Changes with the call."""
        self.refresh()

    @property
    def is_open(self) -> bool:
        """Whether the user is asked about it."""
        return _open_permission(self._call) is not None

    @property
    def has_permission(self) -> bool:
        return bool(self._call.permissions)

    @property
    def has_changes(self) -> bool:
        """Whether there are two sides to show beside each other."""
        return any(piece.hunk for piece in self.pieces)

    @property
    def is_folded(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        if self.decides:
            return False
        if self.choice is not None:
            return self.choice
        return not self.is_error

    def toggle(self) -> bool:
        self.choice = not self.is_folded
        self._measure()
        return not self.decides

    def take_folding(self, other: Card) -> None:
        if isinstance(other, ToolCard):
            self.choice = other.choice
            self._measure()

    def refresh(self) -> None:
        call = self._call
        self.body = None
        self._version += 1
        self._status = call.status
        self.is_error = call.facts.status == "failed"
        self._has_tail = call.facts.status == "in_progress" and bool(
            call.terminals or any(map(_text_of, call.content[-1:]))
        )
        """Whether it runs and has output."""
        self._measure()

    def _measure(self) -> None:
        shown = [] if self.is_folded else self.pieces
        self._sizes = [(len(each.hunk) or each.text.count("\n"), len(each.text)) for each in shown]
        """Lines and characters of what is unfolded."""

    @property
    def pieces(self) -> list[_Piece]:
        """All of the call, whatever is folded."""
        if self.body is None:
            title = [_Piece("title", each) for each in self._title[1:]]
            self.body = [*title, *_body(self._call)]
            _WITH_BODIES.append(ref(self))
            if len(_WITH_BODIES) > MAX_BODIES:
                oldest = _WITH_BODIES.popleft()()
                if oldest is not None and oldest is not self:
                    oldest.body = None
        return self.body

    @property
    def part_count(self) -> int:
        return 1 + (self._has_tail if self.is_folded else len(self._sizes))

    def key(self, part: int) -> Hashable:
        return self._version, self.is_folded

    def rows(self, part: int, width: int, look: Look) -> list[Row]:
        if part == 0:
            return self._head(width, look)
        lead = [("  │ ", look.muted)]
        if self.is_folded:
            tail = self._tail()
            return [
                Row([(single_line(line, max(width - 4, 1)), look.muted)], lead) for line in tail
            ] or [Row([], lead)]
        return _piece_rows(self.pieces[part - 1], width, look, lead)

    def _tail(self) -> list[str]:
        shown = list(self._call.terminals.values())
        if shown:
            text = _shown_output(shown[-1])
        else:
            text = _text_of(self._call.content[-1]) if self._call.content else ""
        shown_text = escape_controls(without_colors(text[-2000:]))
        return shown_text.rstrip().splitlines()[-TAIL_LINES:]

    def _head(self, width: int, look: Look) -> list[Row]:
        """Return the title and the status: one row, or the whole title of an unfolded call."""
        facts, status = self._call.facts, self._status
        sign, word = STATUS.get(status, ("?", single_line(status, 20)))
        style = {
            "completed": look.success, "failed": look.error, "in_progress": look.warning,
        }.get(status, look.muted)  # fmt: skip
        about = [single_line(facts.kind, 20)] if facts.kind != "other" else []
        added, removed = self._changes
        about += [f"+{added} −{removed}"] if added or removed else []
        about += [word] if status != "completed" else []
        if self.is_open:
            about[-1:] = ["asks you"]
        elif self._can_unfold:
            about.append("▸" if self.is_folded else "▾")
        note = "  " + " · ".join(about)
        lead: list[Run] = [(f"{sign} ", style)]
        if not self.is_folded:
            runs = [(escape_controls(self._title[0]), look.strong), (note, look.muted)]
            return wrapped(runs, width, lead, [("  ", style)])
        room = width - 2 - cells([(note, style)])
        title = _cut(single_line(self._title[0] + self._subject, TITLE), max(room, 8))
        return [Row([*lead, (title, look.strong), (note, look.muted)])]

    @property
    def _subject(self) -> str:
        """What it runs or touches, where the title is but a name."""
        title = self._call.facts.title
        values = as_object(self._call.facts.raw_input).items()
        found = (each for name, each in values if name in _SUBJECTS - {"cwd"})
        subject = next((each for each in found if isinstance(each, str)), "")
        return f"  {subject}" if subject and len(title.split()) == 1 else ""

    @property
    def _title(self) -> list[str]:
        """The title in pieces that are rendered on their own; agents put whole commands there."""
        return pieces(self._call.facts.title or self._call.key)

    @property
    def _can_unfold(self) -> bool:
        facts = self._call.facts
        is_cut = len(facts.title) > LONG_TITLE or "\n" in facts.title
        return bool(self._call.content or facts.raw_input or facts.raw_output or is_cut)

    @property
    def _changes(self) -> tuple[int, int]:
        """Lines that its diffs add and remove."""
        changes = [change for each in self._call.content for change in file_changes(each)]
        return sum(each.added for each in changes), sum(each.removed for each in changes)

    def estimate(self, part: int, width: int) -> int:
        if part == 0:
            return 1
        if self.is_folded:
            return TAIL_LINES
        lines, size = self._sizes[part - 1]
        return max(1, lines + size // max(width, 1))

    def source(self, part: int) -> str:
        if part == 0:
            return self._title[0]
        if self.is_folded:
            return ""
        piece = self.pieces[part - 1]
        return piece.text or "".join(f"{sign}{line}\n" for sign, line, _ in piece.hunk)


class PlanCard(Card):
    """The plan, as a list of steps."""

    def __init__(self, item: PlanItem) -> None:
        super().__init__(item)
        self._plan = item
        self.refresh()

    def refresh(self) -> None:
        self._count = len(self._plan.entries)

    def rows(self, part: int, width: int, look: Look) -> list[Row]:
        entries = self._plan.entries
        done = sum(get_string(entry, "status") == "completed" for entry in entries)
        rows = [Row([("Plan", look.strong), (f"  {done} of {len(entries)} done", look.muted)])]
        for entry in entries:
            status = get_string(entry, "status")
            word = {"in_progress": "running"}.get(status, "")
            priority = get_string(entry, "priority")
            shown = f"{priority} priority" if priority in {"high", "low"} else ""
            about = "  " + " · ".join(filter(None, (word, shown)))
            style = look.muted if status == "completed" else look.text
            text = prose_text(get_string(entry, "content"))
            color = {"completed": look.success, "in_progress": look.warning}.get(status, look.muted)
            lead = [(f" {STEPS.get(status, '?')} ", color)]
            rest = [("   ", look.text)]
            runs = [(text, style), (about.rstrip(), look.muted)]
            rows += wrapped(runs, min(width, PROSE_WIDTH), lead, rest)
        return rows

    def estimate(self, part: int, width: int) -> int:
        return 1 + self._count

    def source(self, part: int) -> str:
        return "".join(f"- {get_string(entry, 'content')}\n" for entry in self._plan.entries)


class LineCard(Card):
    """A notice, or the end of a turn that is not a normal one."""

    def key(self, part: int) -> Hashable:
        return self._line()

    def _line(self) -> tuple[str, bool]:
        """Return the text, and whether it is an error."""
        item = self.item
        if isinstance(item, TurnEnd):
            if item.error:
                return f"— turn failed: {item.error}", True
            if item.stop_reason == "end_turn":
                return "— turn ended without a reply", False
            return f"— turn ended: {item.stop_reason}", False
        return f"· {notice_text(item)}" if isinstance(item, Notice) else "", False

    @property
    def is_error(self) -> bool:
        return isinstance(self.item, TurnEnd) and bool(self.item.error)

    @property
    def part_count(self) -> int:
        item = self.item
        if not isinstance(item, TurnEnd) or item.error or item.is_silent:
            return 1
        return 0 if item.stop_reason == "end_turn" else 1

    def rows(self, part: int, width: int, look: Look) -> list[Row]:
        text, is_error = self._line()
        style = look.error if is_error else look.muted
        return wrapped([(single_line(text, 4000), style)], min(width, PROSE_WIDTH))

    def source(self, part: int) -> str:
        return self._line()[0]


class SubagentCard(Card):
    """A session that works for this one; Enter opens its transcript."""

    @property
    def opens(self) -> bool:
        return True

    def __init__(self, item: SubagentItem) -> None:
        super().__init__(item)
        self._subagent = item

    def rows(self, part: int, width: int, look: Look) -> list[Row]:
        facts = self._subagent.facts
        sign = SIGNS.get(facts.state, "○")
        style = look.warning if facts.state in {"running", "requires_action"} else look.muted
        word = single_line(WORDS.get(facts.state, facts.state), 20)
        description = single_line(facts.description, 80) if facts.title else ""
        note = "  " + " · ".join(filter(None, (description, word, "enter opens it ▸")))
        title = single_line(self.source(0), TITLE)
        room = max(width - 11 - cells([(note, style)]), 8)
        runs = [(f"{sign} ", style), ("Subagent ", look.muted), (_cut(title, room), look.strong)]
        return wrapped([*runs, (note, look.muted)], width)

    def source(self, part: int) -> str:
        facts = self._subagent.facts
        return facts.title or facts.description or self._subagent.session_id


def card_of(item: Item) -> Card:
    match item:
        case SubagentItem():
            return SubagentCard(item)
        case UserMessage():
            return PromptCard(item)
        case AgentMessage():
            return TextCard(item)
        case Thought():
            return ThoughtCard(item)
        case PlanItem():
            return PlanCard(item)
        case ToolCallItem():
            return ToolCard(item)
        case _:
            return LineCard(item)


def pieces(text: str) -> list[str]:
    """Cut a text into pieces that are rendered on their own, at line ends where possible."""
    return [text[begin:end] for begin, end in spans(text)]


def spans(text: str) -> list[tuple[int, int]]:
    """Return where each piece of a text begins and ends."""
    found: list[tuple[int, int]] = []
    begin = 0
    while len(text) - begin > MAX_BLOCK:
        cut = text.rfind("\n", begin, begin + MAX_BLOCK) + 1
        cut = cut if cut > begin else begin + MAX_BLOCK
        found.append((begin, cut))
        begin = cut
    return [*found, (begin, len(text))]


def _chip(block: Json, look: Look, lead: Sequence[Run] = ()) -> Row:
    """Return the row of content that is not text."""
    return Row([(f"[{_described(block)}]", look.muted)], lead, opens=True)


def _described(block: Json) -> str:
    """Return a line for content that is not text: its type, its name, and its size."""
    kind = single_line(get_string(block, "type") or "unknown content", _CHIP_WIDTHS["type"])
    inner = get(block, "resource") if kind == "resource" else block
    name = get_string(inner, "title") or get_string(inner, "name") or get_string(inner, "uri")
    data = get_string(inner, "data") or get_string(inner, "blob")
    size = f"{len(data) * 3 // 4:,} bytes" if data else ""
    mime_type = single_line(get_string(inner, "mimeType"), _CHIP_WIDTHS["mimeType"])
    return " · ".join(filter(None, (kind, single_line(name, 120), mime_type, size)))


def _is_in_chip(name: str, text: str, block: Json) -> bool:
    """Return whether the chip of a block says all of one of its members."""
    if name in {"data", "blob"}:
        return get_string(block, "type") in _ATTACHED
    return len(text) <= _CHIP_WIDTHS.get(name, -1)


def _open_permission(call: ToolCallItem) -> PermissionRequest | None:
    permission = call.permission
    return permission if permission is not None and permission.outcome is None else None


def _body(call: ToolCallItem) -> list[_Piece]:
    """Return what a call shows unfolded; all that is known of it while the user is asked."""
    permission, facts = _open_permission(call), call.facts
    in_diffs = {value for each in call.content for value in _diff_values(each)} - {""}
    found: list[_Piece] = []
    if permission is not None:
        found += _for_decision(permission, call, in_diffs)
    else:
        for name, text in _members(facts.raw_input):
            if name in _SUBJECTS and text not in facts.title and text not in in_diffs:
                found += _named(name, text)
    for content in call.content:
        found += _content(content, call)
    if not call.content and facts.raw_output is not None:
        output = facts.raw_output
        text = output if isinstance(output, str) else json.dumps(output, indent=2)
        found += [_Piece("output", each) for each in pieces(text)]
    if permission is not None:
        # Colours and what is drawn over can hide text.
        found = [replace(each, text=each.text.replace("\x1b", "␛")) for each in found]
    return found


def _for_decision(
    permission: PermissionRequest, call: ToolCallItem, in_diffs: Collection[str]
) -> list[_Piece]:
    """Return why a call is asked about, and its input and locations but for what diffs show."""
    facts, members = call.facts, _members(call.facts.raw_input)
    found: list[_Piece] = []
    if facts.name not in facts.title:
        found += _named("tool", facts.name)
    if permission.title not in {"", facts.title}:
        found += _named("request", permission.title)
    if permission.description:
        found += _named("reason", permission.description)
    for name, text in members:
        if not (_IN_DIFF.search(name) and (text in in_diffs or _is_shown_patch(text, call))):
            found += _named(name, text)
    words = (word.strip("`'\"") for word in facts.title.split())
    known = {*words, *in_diffs, *(text for _, text in members)}
    for each in facts.locations:
        path, line = get_string(each, "path") or json.dumps(each), get(each, "line")
        if path not in known:
            found += _named("location", path if line is None else f"{path}:{line}")
    return found


def _is_shown_patch(text: str, call: ToolCallItem) -> bool:
    """Return whether a text is a patch that a diff of the call shows."""
    return any(
        is_patch_of(text, each) for each in call.content if get_string(each, "type") == "diff"
    )


def _members(value: Json) -> list[tuple[str, str]]:
    """Return the members of an object as text; another value but null is one called "input"."""
    alone = {} if value is None else {"input": value}
    members = as_object(value) if isinstance(value, dict) else alone
    return [
        (name, each if isinstance(each, str) else json.dumps(each, ensure_ascii=False))
        for name, each in members.items()
    ]


def _named(name: str, text: str) -> list[_Piece]:
    return [_Piece("input", f"{name}: {each}") for each in pieces(text)]


def _content(content: Json, call: ToolCallItem) -> list[_Piece]:
    is_open = _open_permission(call) is not None
    block = content
    match content:
        case {"type": "diff"} if found := _diff(content, is_open=is_open):
            return found
        case {"type": "terminal", "terminalId": str(key)} if key in call.terminals:
            return _terminal(call.terminals[key])
        case {"type": "content", "content": {"type": "text", "text": str(text)}}:
            return _output(text)
        case {"type": "content", "content": inner}:
            block = inner
            found = [_Piece("attachment", f"[{_described(block)}]")]
            inner = get(block, "resource") if get_string(block, "type") == "resource" else block
        case _:
            found = [_Piece("note", f"[{_described(content)}]")]
            inner = content
    if is_open:
        for name, text in _members(inner):
            found += [] if _is_in_chip(name, text, block) else _named(name, text)
    return found


def _diff(diff: Json, *, is_open: bool = False) -> list[_Piece]:
    """Return the texts, the files and the patch of a diff, as far as it has them.

    `is_open`: also the text that is said to be there already, or how much of it is left out.
    """
    found: list[_Piece] = []
    old, new = get_text(diff, "oldText"), get_text(diff, "newText")
    if new is not None:
        about = "" if old is not None else "  new file"
        found.append(_Piece("path", get_string(diff, "path") + about))
        found += _hunks(old or "", new) if old is not None or new else [_Piece("note", "empty")]
        if is_open and old == new:
            found += _cut_hunk([(" ", line, "") for line in new.removesuffix("\n").split("\n")])
        elif is_open and (hidden := hidden_lines(old or "", new)):
            found.append(_Piece("note", f"{plural(hidden, 'more line')}, unchanged"))
    for change in get_list(diff, "changes"):
        paths = " → ".join(
            filter(None, (get_string(change, "oldPath"), get_string(change, "path")))
        )
        kind = get_string(change, "fileType")
        about = f"  {kind}" if kind not in {"", "text"} else ""
        found.append(_Piece("path", f"{get_string(change, 'operation')} {paths}{about}"))
    patch = get_text(get(diff, "patch"), "text")
    return found if patch is None else found + _patch(patch)


def _diff_values(content: Json) -> list[str]:
    """Return the paths and texts that `_diff` shows."""
    if get_string(content, "type") != "diff":
        return []
    old, new = get_string(content, "oldText"), get_text(content, "newText")
    found = [] if new is None else [get_string(content, "path")]
    if new is not None and not hidden_lines(old, new):
        found += [old, new]
    for change in get_list(content, "changes"):
        found += [get_string(change, "oldPath"), get_string(change, "path")]
    return [*found, get_string(get(content, "patch"), "text")]


def _terminal(terminal: TerminalItem) -> list[_Piece]:
    """Return the command, its output so far, and how it ended unless that was well."""
    facts = terminal.facts
    found = [_Piece("command", facts.command)] if facts.command else []
    found += [_Piece("output", each) for each in pieces(_shown_output(terminal)) if each]
    if facts.is_over and facts.exit_code != 0:
        found.append(_Piece("note", f"ended with {facts.signal or facts.exit_code}"))
    return found


def _shown_output(terminal: TerminalItem) -> str:
    return terminal.text if terminal.live is None else terminal.live


def _output(text: str) -> list[_Piece]:
    """Return a tool's output; one code block around all of it is taken off.

    A fence stays if it says something else than how its text is drawn.
    """
    if (block := fenced(text)) is not None:
        language, inner = block
        if language in _TERMINAL_LANGUAGES or is_language(language):
            return [_Piece(f"code {language}", each) for each in pieces(inner)]
    return [_Piece("output", each) for each in pieces(text)]


def _text_of(content: Json) -> str:
    match content:
        case {"type": "content", "content": {"type": "text", "text": str(text)}}:
            return text
        case _:
            return ""


def diff_rows(old: str, new: str, width: int, look: Look) -> list[Row]:
    """Return all lines of two texts, with the differences marked."""
    if old == new:
        return wrapped([(escape_controls(old), look.text)], width)
    rows = [
        row
        for piece in _hunks(old, new, context=MAX_LINES)
        for row in _piece_rows(piece, width, look, ())
    ]
    # The number of the first line, which is 1.
    return rows[1:]


def _hunks(old: str, new: str, *, context: int = CONTEXT) -> list[_Piece]:
    """Return the lines that differ, with some around them."""
    if old == new:
        return [_Piece("note", "nothing changes")]
    found = [piece for hunk in line_hunks(old, new, context) for piece in _cut_hunk(hunk)]
    ends = [each.endswith("\n") for each in (old, new)]
    if old and new and ends[0] != ends[1]:
        which = "the old" if ends[0] else "the new"
        found.append(_Piece("note", f"only {which} text ends with a new line"))
    return found


def _cut_hunk(lines: Sequence[DiffLine]) -> list[_Piece]:
    starts = range(0, len(lines), HUNK_LINES)
    return [_Piece("diff", hunk=lines[at : at + HUNK_LINES]) for at in starts]


def _patch(patch: str) -> list[_Piece]:
    """Return the files and lines of a patch in git's format."""
    found: list[_Piece] = []
    lines: list[DiffLine] = []
    for path, line in patch_lines(patch):
        if line is not None:
            lines.append(line)
            continue
        found += _cut_hunk(lines)
        lines = []
        found.append(_Piece("path", path))
    found += _cut_hunk(lines)
    return found if patch else [_Piece("note", "an empty patch")]


def _piece_rows(piece: _Piece, width: int, look: Look, lead: Sequence[Run]) -> list[Row]:
    match piece.kind.partition(" ")[0]:
        case "path" | "title":
            return wrapped([(escape_controls(piece.text), look.strong)], width, lead)
        case "command":
            return wrapped([("$ ", look.muted), (escape_controls(piece.text), look.strong)],
                           width, lead)  # fmt: skip
        case "input":
            name, _, text = escape_controls(piece.text).partition(": ")
            runs = [(f"{name}: ", look.muted), (text, look.text)]
            return wrapped(runs, width, lead)
        case "note" | "attachment":
            rows = wrapped([(escape_controls(piece.text), look.muted)], width, lead)
            for row in rows:
                row.opens = piece.kind == "attachment"
            return rows
        case "code":
            language = piece.kind.partition(" ")[2]
            if "\x1b" in piece.text and language in _TERMINAL_LANGUAGES:
                return bar_rows(
                    colored_lines(piece.text.removesuffix("\n"), look), width, look, lead
                )
            return code_rows(escape_controls(piece.text), language, width, look, lead)
        case "diff" if look.is_split and width - cells(lead) >= SPLIT_WIDTH:
            return _split_rows(piece.hunk, width, look, lead)
        case "diff":
            return [row for line in piece.hunk for row in _diff_rows(line, width, look, lead)]
        case _:
            return _colored(piece.text, width, look, lead)


def _diff_rows(line: DiffLine, width: int, look: Look, lead: Sequence[Run]) -> list[Row]:
    sign, text, other = line
    text = escape_controls(text).expandtabs(4)
    if sign == "@":
        rows = chop(text, max(width - cells(lead), 1))
        return [Row([(row, look.muted)], lead, "" if at else "\n") for at, row in enumerate(rows)]
    if sign == " ":
        return wrapped([(f"  {text}", look.text)], width, lead)
    runs, style = changed_runs(sign, text, other, look)
    rows = wrapped(runs, width, lead)
    for row in rows:
        row.back = style
    return rows


def changed_runs(sign: str, text: str, other: str, look: Look) -> tuple[list[Run], Style]:
    """Return a line of a diff with its sign, and the style of the whole line."""
    style, word = (
        (look.added, look.added_word) if sign == "+" else (look.removed, look.removed_word)
    )
    runs: list[Run] = [(f"{sign} ", style)]
    other = escape_controls(other).expandtabs(4)
    if other and len(text) + len(other) < 400:
        runs += _emphasized(text, other, style, word)
    else:
        runs.append((text, style))
    return runs, style


def _split_rows(hunk: Sequence[DiffLine], width: int, look: Look, lead: Sequence[Run]) -> list[Row]:
    """Return lines of a diff with the old text on the left and the new one on the right."""
    rows: list[Row] = []
    gone: list[DiffLine] = []
    come: list[DiffLine] = []
    side = (width - cells(lead) - 3) // 2

    def flush() -> None:
        for place in range(max(len(gone), len(come))):
            left = _side(gone[place] if place < len(gone) else None, side, look)
            right = _side(come[place] if place < len(come) else None, side, look)
            blank: list[Run] = [(" " * side, look.text)]
            for at in range(max(len(left), len(right))):
                one = left[at] if at < len(left) else blank
                other = right[at] if at < len(right) else blank
                rows.append(Row([*one, (" │ ", look.muted), *other], lead))
        gone.clear()
        come.clear()

    for line in hunk:
        sign, text, _ = line
        if sign == "-":
            if come:
                flush()
            gone.append(line)
        elif sign == "+":
            come.append(line)
        else:
            flush()
            if sign == "@":
                rows += _diff_rows(line, width, look, lead)
            else:
                gone.append(line)
                come.append((sign, text, ""))
                flush()
    flush()
    return rows


def _side(line: DiffLine | None, width: int, look: Look) -> list[list[Run]]:
    """Return a line of one side, wrapped and filled to its width."""
    if line is None:
        return []
    sign, text, other = line
    text = escape_controls(text).expandtabs(4)
    if sign == " ":
        runs: list[Run] = [(f"  {text}", look.text)]
        style = look.text
    else:
        runs, style = changed_runs(sign, text, other, look)
    return [[*row, (" " * max(width - cells(row), 0), style)] for row, _ in wrap(runs, width)]


def _emphasized(text: str, other: str, style: Style, word: Style) -> list[Run]:
    """Mark the words that differ from the other line."""
    mine, theirs = (re.findall(r"\w+|\s+|[^\w\s]", each) for each in (text, other))
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    if matcher.ratio() < 0.4:
        return [(text, style)]
    runs: list[Run] = []
    for tag, begin, end, _, _ in matcher.get_opcodes():
        if end > begin:
            runs.append(("".join(mine[begin:end]), style if tag == "equal" else word))
    return runs


def _colored(text: str, width: int, look: Look, lead: Sequence[Run]) -> list[Row]:
    """Return output in its own colours; all other escape sequences are made visible."""
    lines = colored_lines(text.removesuffix("\n"), look)
    runs = [run for line in lines for run in (("\n", look.text), *line)]
    return wrapped(runs[1:], width, lead)


def _cut(text: str, width: int) -> str:
    """Cut a text to some cells, with an ellipsis."""
    if cells([(text, Style())]) <= width:
        return text
    from rich.cells import set_cell_size

    return set_cell_size(text, max(width - 1, 0)) + "…"
