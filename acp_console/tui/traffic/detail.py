"""The details of one row: as a tree, as bytes, as indented JSON, and as a pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, cast

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import ContentSwitcher, Static, TabbedContent, TabPane

from acp_console.traffic.model import TrafficModel
from acp_console.traffic.rows import LARGE, size_of
from acp_console.tui.traffic.text_view import TextLines
from acp_console.tui.traffic.tree import JsonNode, JsonTree
from acp_console.tui.transcript.diff_view import RowView
from acp_console.wording.events import event_text
from acp_console.wording.values import format_number, format_seconds
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Footer, Header
from acp_inspector.recording.reader import BadLine, Row
from acp_inspector.session.edits import FrameEdit, edit_of
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.json_text import json_text
from acp_protocol.jsonrpc import Json, parse

MAX_FRAME_CHARS: Final = 1 << 16
"""Characters of one frame that are drawn; a key shows the whole frame."""
VALUE_SHOWN: Final = 1000
"""Characters of one value that are shown."""
ITEMS_SHOWN: Final = 500
"""Members of one value that are shown."""
NOTHING: Final = "No row is chosen."
TOO_DEEP: Final = "nested too deeply to be shown as JSON; see the bytes under Raw"
WHOLE_KEY: Final = "v"


@dataclass(frozen=True, slots=True)
class DetailSubject:
    """The row that is shown."""

    entry: Row | None
    request: Frame | None = None
    response: Frame | None = None
    problem: str = ""
    """Why it cannot be shown, if it cannot."""
    edit: FrameEdit | None = None
    """The edit of the frame, or the one that the event reports."""


def subject_of(view: TrafficModel, row: int | None) -> DetailSubject:
    """Return the content of a row; a large frame is not read."""
    if row is None:
        return DetailSubject(None)
    if (size := size_of(view.entries, row)) > LARGE:
        text = f"This frame has {format_number(size / 2**20)} MB: press {WHOLE_KEY} to show it."
        return DetailSubject(None, problem=text)
    try:
        entry, pair = view.entry_at(row), view.pair_of(row)
        if isinstance(entry, JournalEvent):
            return DetailSubject(entry, edit=edit_of(entry))
        edit = view.edit_of(entry.seq) if isinstance(entry, Frame) else None
        if edit is None or not isinstance(entry, Frame):
            return DetailSubject(entry, *pair)
        # Of several edits each has the line before it.
        sent, edit = edit.sent(entry), replace(edit, was=entry.data)
        request, response = (
            sent if each is not None and each.seq == entry.seq else each for each in pair
        )
        return DetailSubject(sent, request, response, edit=edit)
    except AcpError as problem:
        return DetailSubject(None, problem=str(problem))


class FrameDetail(Vertical):
    """Shows the row that it is given; only the open tab is filled."""

    DEFAULT_CSS = """
    FrameDetail {
        TabbedContent, ContentSwitcher {
            height: 1fr;
        }
        TabPane {
            height: 1fr;
            padding: 0 1;
        }
        JsonTree, TextLines {
            height: 1fr;
        }
        #event-sentence {
            max-height: 3;
            text-style: bold;
        }
        .pair-head {
            height: 1;
            color: $text-muted;
            text-style: bold;
        }
        .pair-half {
            width: 1fr;
        }
        #pair-response-half {
            border-left: solid $foreground 20%;
            padding-left: 1;
        }
    }
    """
    tabs = getters.query_one("#frame-tabs", TabbedContent)
    tree_view = getters.query_one("#tree-value", JsonTree)
    tree_place = getters.query_one("#tree-or-note", ContentSwitcher)

    def __init__(
        self,
        *,
        id: str | None = None,  # noqa: A002 - Textual's word
        max_shown: int = MAX_FRAME_CHARS,
    ) -> None:
        """Show an entry; of its text at most `max_shown` characters."""
        super().__init__(id=id)
        self._max_shown = max_shown
        self._subject = DetailSubject(None)
        self._filled: set[str] = set()

    def compose(self) -> ComposeResult:
        with TabbedContent(initial="tree", id="frame-tabs"):
            with TabPane("1 Tree", id="tree"):
                yield Static(id="event-sentence", markup=False)
                with ContentSwitcher(initial="tree-note", id="tree-or-note"):
                    yield JsonTree(id="tree-value")
                    yield TextLines(id="tree-note")
            with TabPane("2 Raw", id="raw"):
                yield TextLines(id="raw-text")
            with TabPane("3 Pretty", id="pretty"):
                yield TextLines(id="pretty-text")
            with TabPane("4 Pair", id="pair"), Horizontal():
                for half in ("request", "response"):
                    with Vertical(classes="pair-half", id=f"pair-{half}-half"):
                        yield Static(classes="pair-head", id=f"pair-{half}-head", markup=False)
                        yield TextLines(id=f"pair-{half}")

            with TabPane("o was │ now", id="edit"):
                yield RowView(id="edit-diff")

    def on_mount(self) -> None:
        self.tabs.hide_tab("edit")
        self._fill()

    def show(self, subject: DetailSubject) -> None:
        self._subject = subject
        self._filled.clear()
        if subject.edit is not None:
            self.tabs.show_tab("edit")
        else:
            if self.tabs.active == "edit":
                self.tabs.active = "tree"
            self.tabs.hide_tab("edit")
        self._fill()

    def open_tab(self, name: str) -> bool:
        """Open a tab, `tree`, `raw`, `pretty`, `pair` or `edit`; return whether there is one."""
        if name == "edit" and self._subject.edit is None:
            return False
        self.tabs.active = name
        return True

    @on(TabbedContent.TabActivated)
    def fill_opened(self, event: TabbedContent.TabActivated) -> None:
        event.stop()
        self._fill()

    def focus_content(self) -> None:
        """Move the focus into the open tab."""
        for widget in (
            self.query(f"#{self.tabs.active}").first().query("JsonTree, TextLines, RowView")
        ):
            if widget.display and widget.is_on_screen:
                widget.focus()
                return

    @property
    def json_path(self) -> str:
        """The path of the chosen value in the tree, as in filters; empty if there is none."""
        place = self._place()
        return "" if place is None else str(place)

    @property
    def json_value(self) -> Json:
        """The value at that path."""
        place = self._place()
        return None if place is None else place.value

    def whole(self) -> tuple[str, bool]:
        """Return the full text of a shortened value, safe to show, and whether it is JSON."""
        entry = self._subject.entry
        place = self._place()
        if place is not None and self.tabs.active == "tree":
            if isinstance(place.value, str):
                return escape_controls(place.value), False
            return escape_controls(pretty_json(place.value)), True
        if self.tabs.active == "raw" or not isinstance(entry, Frame):
            return raw_text(entry), False
        value, problem = _value(entry)
        return (raw_text(entry), False) if problem else (escape_controls(pretty_json(value)), True)

    def pretty(self) -> str:
        """Return the whole frame as indented JSON."""
        value, problem = _value(self._subject.entry)
        return raw_text(self._subject.entry) if problem else pretty_json(value)

    def _place(self) -> JsonNode | None:
        return self.tree_view.place if self.tree_place.current == "tree-value" else None

    def _fill(self) -> None:
        if self.tabs.active in self._filled or not self.is_mounted:
            return
        self._filled.add(self.tabs.active)
        match self.tabs.active:
            case "tree":
                self._fill_sentence()
                value, problem = _value(self._subject.entry)
                if problem:
                    text = self._subject.problem or problem
                    self.query_one("#tree-note", TextLines).show("", note=text)
                else:
                    self.tree_view.show(value)
                self.tree_place.current = "tree-note" if problem else "tree-value"
            case "raw":
                text = raw_text(self._subject.entry)
                note = ""
                if self._subject.entry is None:
                    note = self._subject.problem or NOTHING
                elif len(text) > self._max_shown:
                    left = format_number(len(text) - self._max_shown)
                    note = f"… {left} more characters: {WHOLE_KEY} shows all"
                self.query_one("#raw-text", TextLines).show(text[: self._max_shown], note=note)
            case "pretty":
                self._fill_pretty("pretty-text", self._subject.entry)
            case "edit":
                if (edit := self._subject.edit) is not None:
                    texts = map(_line_text, (edit.was, edit.now))
                    self.query_one("#edit-diff", RowView).show(*texts)
            case _:
                self._fill_pair()

    def _fill_sentence(self) -> None:
        entry = self._subject.entry
        sentence = self.query_one("#event-sentence", Static)
        sentence.display = isinstance(entry, JournalEvent)
        if isinstance(entry, JournalEvent):
            sentence.update(event_text(entry))

    def _fill_pretty(self, id_: str, entry: Row | None) -> None:
        value, problem = _value(entry)
        lines = self.query_one(f"#{id_}", TextLines)
        if entry is None or problem:
            lines.show("", note=self._subject.problem or problem or NOTHING)
            return
        text, is_cut = shortened(value)
        shown = escape_controls(text[: self._max_shown])
        is_cut = is_cut or len(text) > self._max_shown
        note = f"… shortened: {WHOLE_KEY} shows all" if is_cut else ""
        lines.show(shown, is_json=True, note=note)

    def _fill_pair(self) -> None:
        request, response = self._subject.request, self._subject.response
        head = self.query_one("#pair-request-head", Static)
        answer = self.query_one("#pair-response-head", Static)
        if request is None:
            head.update("Request")
            answer.update("Response")
            self.query_one("#pair-request", TextLines).show("", note="Not a request or response.")
            self.query_one("#pair-response", TextLines).show("")
            return
        head.update(f"Request {request.seq} · {request.side} · {request.time:.3f} s")
        self._fill_pretty("pair-request", request)
        if response is None:
            answer.update("Response")
            self.query_one("#pair-response", TextLines).show("", note="No response yet.")
            return
        latency = format_seconds(response.time - request.time)
        answer.update(f"Response {response.seq} · {response.side} · after {latency}")
        self._fill_pretty("pair-response", response)


def raw_text(entry: Row | None) -> str:
    """Return the bytes of a row, safe to show; invalid UTF-8 is escaped with backslashes.

    A frame has its header above it.
    """
    match entry:
        case Frame(data=raw, header=header):
            return escape_controls((header + raw).decode(errors="backslashreplace"))
        case StderrChunk(data=text):
            return escape_controls(text.decode(errors="backslashreplace"))
        case BadLine(reason=reason):
            return escape_controls(reason)
        case JournalEvent() | Header() | Footer():
            return escape_controls(json_text(_members(entry), default=str))
        case None:
            return ""


def exact_text(view: TrafficModel, row: int) -> str:
    """Return the bytes of a row as text for the clipboard, without escaping."""
    try:
        entry = view.entry_at(row)
    except AcpError as problem:
        return str(problem)
    return entry.data.decode(errors="replace") if isinstance(entry, Frame) else raw_text(entry)


def pretty_json(value: Json) -> str:
    """Return a value as indented JSON; if it is nested too deeply, on one line, or a notice."""
    return json_text(value, indent=2)


def _line_text(line: bytes) -> str:
    """Return the line of a frame as indented JSON, or its bytes if it is none."""
    frame = Frame(0, 0.0, "client", line)
    value, problem = _value(frame)
    return raw_text(frame) if problem else shortened(value)[0]


def shortened(value: Json) -> tuple[str, bool]:
    """Return a value as indented JSON with long parts cut, and whether any were."""
    try:
        cut, was_cut = _cut(value)
    except RecursionError:
        return TOO_DEEP, False
    return pretty_json(cut), was_cut


def _cut(value: Json) -> tuple[Json, bool]:
    if isinstance(value, str) and len(value) > VALUE_SHOWN:
        return f"{value[:VALUE_SHOWN]}… {format_number(len(value) - VALUE_SHOWN)} more", True
    if isinstance(value, list):
        items = [_cut(item) for item in cast("list[Json]", value)[:ITEMS_SHOWN]]
        left = len(cast("list[Json]", value)) - len(items)
        rest = [f"… {format_number(left)} more"] if left else []
        return [item for item, _ in items] + rest, bool(left) or any(cut for _, cut in items)
    if isinstance(value, dict):
        every = list(cast("dict[str, Json]", value).items())
        items = [(key, _cut(member)) for key, member in every[:ITEMS_SHOWN]]
        left = len(every) - len(items)
        rest = {f"… {format_number(left)} more": None} if left else {}
        is_cut = bool(left) or any(cut for _, (_, cut) in items)
        return {key: member for key, (member, _) in items} | rest, is_cut
    return value, False


def _value(entry: Row | None) -> tuple[Json, str]:
    """Return the JSON value of a row, or the reason why there is none."""
    match entry:
        case Frame(data=raw):
            try:
                return parse(raw), ""
            except (ValueError, RecursionError) as problem:
                return None, escape_controls(f"{problem}: see the bytes under Raw")
        case StderrChunk():
            return None, "stderr is text: see it under Raw"
        case BadLine(reason=reason):
            return None, escape_controls(reason)
        case JournalEvent() | Header() | Footer():
            return _members(entry), ""
        case None:
            return None, NOTHING


def _members(entry: JournalEvent | Header | Footer) -> Json:
    match entry:
        case JournalEvent(name=name, data=data):
            return {"event": name, **data}
        case Header():
            return {name: getattr(entry, name) for name in entry.__dataclass_fields__}
        case Footer(counts=counts, digest=digest):
            return {"end": dict(counts), "digest": digest}
