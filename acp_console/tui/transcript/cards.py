"""Cards of the transcript: what is shown of each item of a conversation.

A card has parts; a part is rendered to rows when it is visible, and has a key that changes with it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from weakref import ref

from rich.style import Style

from acp_console.chat.alarms import Alarm
from acp_console.chat.line_diff import file_changes
from acp_console.chat.places import location_line
from acp_console.chat.shell import MAX_OUTPUT_BYTES, ShellItem
from acp_console.chat.work import SIGNS, WORDS
from acp_console.tui.transcript.call_content import (
    SUBJECTS,
    Piece,
    call_pieces,
    content_text,
    described,
    open_permission,
    pieces,
    spans,
)
from acp_console.tui.transcript.code import without_colors
from acp_console.tui.transcript.markdown import BlockScanner, MarkdownRenderer, Part
from acp_console.tui.transcript.piece_rows import attachment_rows, piece_rows
from acp_console.tui.transcript.rows import Heights, Look, Row, Run, cells, wrapped
from acp_console.wording.calls import call_result, kind_word
from acp_console.wording.transcript import notice_sign, notice_text, turn_end_text
from acp_console.wording.values import plural
from acp_inspector.session.items import (
    AgentMessage,
    Item,
    Notice,
    PlanItem,
    SubagentItem,
    Thought,
    ToolCallItem,
    TurnEnd,
    UserMessage,
)
from acp_protocol.host.sanitize import escape_controls, prose_text, single_line
from acp_protocol.json_values import as_object, get_string
from acp_protocol.jsonrpc import Json

PROSE_WIDTH: Final = 100
"""Cells of a line of prose, at most."""
TAIL_LINES: Final = 3
"""Lines of a running call's output that are shown while it is folded."""
SHELL_LINES: Final = 12
"""Lines of the output of a command of the user that are shown while it is folded."""
MAX_BODIES: Final = 64
"""Calls whose unfolded content is kept."""
THOUGHT: Final = 200
"""Characters of a thought that are shown while it is folded, at most."""
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


class Card:
    """What is shown of one item."""

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
            return _chip(self._text.blocks[self._blocks[part]], width, look)
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
            rows += _chip(block, width, look, bar)
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
            return self.is_folded, self._text.text[:THOUGHT] if self.is_folded else ""
        return super().key(part - 1)

    def rows(self, part: int, width: int, look: Look) -> list[Row]:
        if part:
            return [
                Row([(text, style + look.muted) for text, style in row.runs],
                    [("  ", look.muted), *row.lead], row.joins, opens=row.opens, image=row.image)
                for row in super().rows(part - 1, width - 2, look)
            ]  # fmt: skip
        first = single_line(self._begin(look), max(width - 12, 1), is_prose=True)
        text = f"▸ Thought  {first}" if self.is_folded else "▾ Thought"
        return [Row([(text, look.muted)])]

    def _begin(self, look: Look) -> str:
        """Return how the thought begins, as it is read: without the signs of Markdown."""
        found = ""
        for part in range(super().part_count):
            if len(found) >= THOUGHT:
                break
            texts = (row.text.strip() for row in super().rows(part, PROSE_WIDTH, look))
            found = " ".join(filter(None, (found, *texts)))
        return found[:THOUGHT]

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
        self.body: list[Piece] | None = None
        """All that it shows unfolded, once it was asked for."""
        self._version = 0
        """Changes with the call."""
        self.refresh()

    @property
    def is_open(self) -> bool:
        """Whether the user is asked about it."""
        return open_permission(self._call) is not None

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
            call.terminals or any(map(content_text, call.content[-1:]))
        )
        """Whether it runs and has output."""
        self._measure()

    def _measure(self) -> None:
        shown = [] if self.is_folded else self.pieces
        self._sizes = [(len(each.hunk) or each.text.count("\n"), len(each.text)) for each in shown]
        """Lines and characters of what is unfolded."""

    @property
    def pieces(self) -> list[Piece]:
        """All of the call, whatever is folded."""
        if self.body is None:
            title = [Piece("title", each) for each in self._title[1:]]
            self.body = [*title, *call_pieces(self._call)]
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
        return piece_rows(self.pieces[part - 1], width, look, lead)

    def _tail(self) -> list[str]:
        shown = list(self._call.terminals.values())
        if shown:
            text = shown[-1].newest_text
        else:
            text = content_text(self._call.content[-1]) if self._call.content else ""
        shown_text = escape_controls(without_colors(text[-2000:]))
        return shown_text.rstrip().splitlines()[-TAIL_LINES:]

    def _head(self, width: int, look: Look) -> list[Row]:
        """Return the title and the status: one row, or the whole title of an unfolded call."""
        status = self._status
        sign, word = STATUS.get(status, ("?", single_line(status, 20)))
        style = {
            "completed": look.success, "failed": look.error, "in_progress": look.warning,
        }.get(status, look.muted)  # fmt: skip
        lead: list[Run] = [(f"{sign} ", style)]
        note = self._note(word, look)
        if not self.is_folded:
            title = [(escape_controls(self._title[0]), look.strong)]
            rest: list[Run] = [("  ", style)]
            rows = wrapped([*title, ("  ", look.muted), *note], width, lead, rest)
            if len(rows) == 1:
                return rows
            # The note is below the title rather than torn.
            return [*wrapped(title, width, lead, rest), *wrapped(note, width, rest, rest)]
        # What calls took and gave stands below each other, at the end of the rows.
        room = max(min(width, PROSE_WIDTH) - 4 - cells(note), 8)
        title = _cut(single_line(self._title[0] + self._subject, TITLE), room)
        gap = max(room - cells([(title, look.strong)]), 0) + 2
        return [Row([*lead, (title, look.strong), (" " * gap, look.muted), *note])]

    def _note(self, word: str, look: Look) -> list[Run]:
        """Return what is said behind the title: what a call took and gave, or how far it is."""
        result = call_result(self._call)
        added, removed = self._changes
        about = [(kind_word(self._call), look.muted)]
        about += [(each, look.error) for each in result.failures]
        about.append((f"+{added} −{removed}" if added or removed else "", look.muted))
        about += [(result.took, look.muted), (result.lines, look.muted)]
        is_shown = self._status == "completed" or bool(result.failures)
        word = "asks you" if self.is_open else "" if is_shown else word
        runs: list[Run] = []
        for each in (each for each in (*about, (word, look.muted)) if each[0]):
            runs += [(" · ", look.muted), each] if runs else [each]
        if self._can_unfold and not self.is_open:
            runs.append((" ▸" if self.is_folded else " ▾", look.muted))
        return runs

    @property
    def _subject(self) -> str:
        """What it runs or touches, where the title is but a name, and the line of a place."""
        title = self._call.facts.title
        values = as_object(self._call.facts.raw_input).items()
        found = (each for name, each in values if name in SUBJECTS - {"cwd"})
        subject = next((each for each in found if isinstance(each, str)), "")
        subject = f"  {subject}" if subject and len(title.split()) == 1 else ""
        line = location_line(self._call.facts) or 1
        is_shown = line == 1 or str(line) in re.findall(r"\b\d+\b", title)
        return subject if is_shown else f"{subject}  :{line}"

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


class ShellCard(ToolCard):
    """A command of the user: the last lines of its output, also once it has ended."""

    def __init__(self, item: ShellItem) -> None:
        self._shell = item
        super().__init__(item)

    @property
    def is_folded(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.choice is not False

    def refresh(self) -> None:
        super().refresh()
        self._has_tail = bool(self._shell.output.strip())

    def rows(self, part: int, width: int, look: Look) -> list[Row]:
        if part and self.is_folded:
            lead = [("  │ ", look.muted)]
            return piece_rows(Piece("output", self._last_lines(width)), width, look, lead)
        return super().rows(part, width, look)

    def _last_lines(self, width: int) -> str:
        lines = self._shell.output[-SHELL_LINES * width * 2 :].rstrip().split("\n")
        return "\n".join(lines[-SHELL_LINES:])

    def _head(self, width: int, look: Look) -> list[Row]:
        item = self._shell
        sign, _ = STATUS[item.status]
        style = {"completed": look.success, "failed": look.error}.get(item.status, look.muted)
        lines = item.output.rstrip().count("\n") + 1 if item.output.strip() else 0
        if item.outcome:
            about = [item.outcome, f"{item.seconds:.1f} s", f"last {MAX_OUTPUT_BYTES >> 10} KiB"]
            about[2:] = about[2:] if item.is_cut else []
            about += [plural(lines, "line")] if lines > 1 else []
            about.append("tab s → prompt")
        else:
            style = look.warning
            ends = "esc again kills it" if item.is_stopped else "esc stops it"
            about = [f"{int(item.seconds)} s", ends, "!< TEXT answers it", "not sent"]
        if lines > SHELL_LINES:
            about.append("▸" if self.is_folded else "▾")
        runs = [
            (escape_controls(item.command), look.strong),
            ("  " + " · ".join(about), look.muted),
        ]
        return wrapped(runs, width, [(f"{sign} ", style), ("! ", look.warning)], [("    ", style)])

    def estimate(self, part: int, width: int) -> int:
        return 1 if part == 0 else SHELL_LINES if self.is_folded else super().estimate(part, width)

    def source(self, part: int) -> str:
        if part and self.is_folded:
            return without_colors(self._last_lines(PROSE_WIDTH))
        return super().source(part)


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

    def _line(self) -> str:
        item = self.item
        if isinstance(item, TurnEnd):
            return turn_end_text(item)
        if not isinstance(item, Notice):
            return ""
        sign = "⚠" if isinstance(item, Alarm) else notice_sign(item)
        return f"{sign} {notice_text(item)}"

    @property
    def is_error(self) -> bool:
        return isinstance(self.item, TurnEnd) and bool(self.item.error)

    def _style(self, look: Look) -> Style:
        """A limit or a refusal is none of what the user did."""
        if self._line().startswith("⚠"):
            return look.warning
        stops = {"✗": look.error, "■": look.warning}
        return (
            stops.get(self._line()[0], look.muted) if isinstance(self.item, TurnEnd) else look.muted
        )

    @property
    def part_count(self) -> int:
        item = self.item
        if not isinstance(item, TurnEnd) or item.error or item.is_silent:
            return 1
        return 0 if item.stop_reason == "end_turn" else 1

    def rows(self, part: int, width: int, look: Look) -> list[Row]:
        text = single_line(self._line(), 4000)
        return wrapped([(text, self._style(look))], min(width, PROSE_WIDTH))

    def source(self, part: int) -> str:
        return self._line()


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
        case ShellItem():
            return ShellCard(item)
        case ToolCallItem():
            return ToolCard(item)
        case _:
            return LineCard(item)


def _chip(block: Json, width: int, look: Look, lead: Sequence[Run] = ()) -> list[Row]:
    """Return the rows of content that is not text, below the image that it is."""
    return attachment_rows(f"[{described(block)}]", block, width, look, lead)


def _cut(text: str, width: int) -> str:
    """Cut a text to some cells, with an ellipsis."""
    if cells([(text, Style())]) <= width:
        return text
    from rich.cells import set_cell_size

    return set_cell_size(text, max(width - 1, 0)) + "…"
