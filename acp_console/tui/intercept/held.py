"""The messages that a proxy has paused: rows with countdowns, and an editor below them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import anyio.to_thread
from rich.segment import Segment
from rich.style import Style
from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.widgets import Button, Static, TextArea

from acp_console.traffic.intercept import (
    Draft,
    DraftKind,
    HeldFrame,
    InterceptClient,
    InterceptState,
)
from acp_console.traffic.rows import EDGE, RELATIVE, Times, TrafficRow, row_text
from acp_console.tui.commands import COMMANDS, bindings
from acp_console.tui.cursor_list import CursorList
from acp_console.tui.intercept.frame_editor import (
    FrameEditor,
    Remarks,
    on_dialect_call,
    on_edit,
    on_error,
    on_result,
)
from acp_console.tui.intercept.screens import DelayScreen
from acp_inspector.intercept.json_edit import minify, pretty, unwrap, verbatim_bytes
from acp_inspector.intercept.templates import result_template
from acp_protocol import jsonrpc
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get_objects
from acp_protocol.jsonrpc import ErrorResponse, Json, Request, SuccessResponse

URGENT_BELOW_S: Final = 10.0
"""A countdown with fewer seconds left is shown as urgent."""
CELLS: Final = 8
"""Cells of a full countdown."""
EXTEND_BELOW: Final = 0.5
"""Share of the limit: typing while less is left restarts the countdown."""
ERROR: Final[Json] = {"code": jsonrpc.INTERNAL_ERROR, "message": "refused by hand"}
"""The error that the editor starts with."""
KINDS: Final[tuple[DraftKind, ...]] = ("frame", "result", "error")


class HeldRows(CursorList):
    """One line for each paused message, whose countdown is redrawn alone."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "held-rows--waiting",
        "held-rows--urgent",
        "held-rows--cursor",
    }
    DEFAULT_CSS = """
    HeldRows {
        height: 1;
        &.-two { height: 2; }
        &> .held-rows--waiting { color: $text-warning; text-style: bold; }
        &> .held-rows--urgent { color: $text-error; text-style: bold; }
        &> .held-rows--cursor { background: $primary-muted; }
    }
    """

    times: var[Times] = var(RELATIVE)
    """How times are written."""

    @dataclass
    class LineChosen(Message):
        """Another line is chosen, or with `is_above` the user moves on to the rows above."""

        is_above: bool = False

    def __init__(self, row_of: Callable[[HeldFrame], TrafficRow]) -> None:
        super().__init__(id="held-rows")
        self._row_of = row_of
        self._texts: tuple[str, ...] = ()
        self.state = InterceptState()
        self.digits = 0
        """Columns of the number."""

    @property
    def count(self) -> int:
        return len(self.state.held_frames)

    @property
    def chosen(self) -> HeldFrame | None:
        holds = self.state.held_frames
        return holds[self.clamped(self.cursor)] if holds else None

    def sync(self, state: InterceptState, digits: int) -> None:
        """Show a new state; the chosen frame stays chosen while it is there."""
        chosen, before = self.chosen, self.count
        self.state, self.digits = state, digits
        ids = [hold.id for hold in state.held_frames]
        if chosen is not None and chosen.id in ids:
            self.cursor = ids.index(chosen.id)
        else:
            self.cursor = self.clamped(self.cursor)
        if self.count != before:
            # One direction, or both.
            self.set_class(self.count > 1, "-two")
            self.lay_out()
        self._write()

    def watch_times(self) -> None:
        self._write()

    def choose(self, place: int) -> None:
        super().choose(place)
        self.redraw()
        self.post_message(self.LineChosen())

    def action_move(self, step: int) -> None:
        if self.cursor + step < 0:
            self.post_message(self.LineChosen(is_above=True))
        else:
            super().action_move(step)

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        self._write()

    def render_line(self, y: int) -> Strip:
        place = y + self.scroll_offset.y
        if place >= len(self._texts):
            return Strip.blank(self.width, self.rich_style)
        hold = self.state.held_frames[place]
        name = "urgent" if hold.seconds_left < URGENT_BELOW_S else "waiting"
        style = self.get_component_rich_style(f"held-rows--{name}")
        if place == self.cursor and self.has_class("-current"):
            style += self.get_component_rich_style("held-rows--cursor")
        style = Style.combine([self.rich_style, style])
        return Strip([Segment(self._texts[place], style)]).adjust_cell_length(self.width, style)

    def _write(self) -> None:
        texts = tuple(self._text(hold) for hold in self.state.held_frames)
        if texts != self._texts:
            self._texts = texts
            self.redraw()

    def _text(self, hold: HeldFrame) -> str:
        part = hold.seconds_left / self.state.limit if self.state.limit else 0
        cells = min(max(round(part * CELLS), 0), CELLS)
        behind = f"+{hold.queued_behind} behind " if hold.queued_behind else ""
        countdown = f"{behind}{'▰' * cells}{'▱' * (CELLS - cells)} {hold.seconds_left:3.0f} s"
        row = self._row_of(hold)
        text = row_text(row, self.width, self.digits, countdown=countdown, times=self.times)
        return f"{'⏸':<{EDGE}}{text}"


class HeldPane(Vertical):
    """Lets the user decide about paused messages."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("intercept"),
        # The text area would move the focus on.
        Binding("escape", "leave", "Back", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    HeldPane {
        height: auto;
        #held-work { display: none; height: 1fr; }
        #held-title { height: auto; max-height: 2; color: $text-muted; }
        .held-keys { height: 1; }
        .held-keys Button { margin-right: 1; min-width: 0; padding: 0; }
        #edit-keys { display: none; }
        &:focus-within { height: 1fr; }
        &:focus-within #held-work { display: block; }
        &.-edits #row-keys { display: none; }
        &.-edits #edit-keys { display: block; }
        &.-gone #held-title { color: $text-error; }
    }
    """

    rows = getters.query_one(HeldRows)
    editor = getters.query_one(FrameEditor)

    @dataclass
    class FocusReturned(Message):
        """The focus belongs to the rows above."""

    def __init__(
        self,
        client: InterceptClient,
        row_of: Callable[[HeldFrame], TrafficRow],
        follows_schema: Callable[[], bool] = lambda: True,
    ) -> None:
        """Decide by `client`; `follows_schema` returns False for the traffic of a dialect."""
        super().__init__(id="held")
        self.display = False
        self._client = client
        self._row_of = row_of
        self._follows_schema = follows_schema
        self._shown: InterceptState | None = None
        self._hold: HeldFrame | None = None
        """What the editor shows; it stays there while the user writes."""
        self._loaded: tuple[int, DraftKind] | None = None
        """What the text of the editor belongs to."""
        self._kept = ""
        """The text that is kept in the draft: the user types if it differs."""
        self._opening: int | None = None
        """The frame that is being read."""

    def compose(self) -> ComposeResult:
        yield HeldRows(self._row_of)
        with Vertical(id="held-work"):
            yield Static(id="held-title", markup=False)
            for id_, is_editing in (("row-keys", False), ("edit-keys", True)):
                with Horizontal(id=id_, classes="held-keys"):
                    for command in COMMANDS:
                        if command.scope == "intercept" and (command.action in EDITS) == is_editing:
                            key = KEY_NAMES.get(command.key, command.key)
                            button = Button(
                                f"{command.title} {key}",
                                name=command.action,
                                tooltip=command.help,
                                compact=True,
                            )
                            button.can_focus = False
                            yield button
            yield FrameEditor()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what can be done with the chosen message, and what fits the focus."""
        del parameters
        is_request = self._hold is not None and isinstance(self._hold.message, Request)
        if action in {"answer", "kind"} and not is_request:
            return False
        return action not in _COMMANDS or (action in EDITS) == self._is_writing

    @property
    def _is_writing(self) -> bool:
        """Whether keys change the text of the editor."""
        focused = self.screen.focused
        if not isinstance(focused, TextArea) or focused.id != "frame-text":
            return False
        return not focused.read_only

    # Showing.

    def sync(self, digits: int, times: Times = RELATIVE) -> None:
        """Show the newest state and refusals, with numbers and times as in the rows above."""
        while self._client.refusals:
            refusal = single_line(self._client.refusals.popleft(), 200)
            self.notify(refusal, severity="error", markup=False)
        state = self._client.state
        if not self.query("#frame-check"):
            return
        self.rows.times = times
        if state is self._shown and digits == self.rows.digits:
            return
        self._shown = state
        self.rows.sync(state, digits)
        has_focus = self.has_focus_within
        self.display = bool(state.held_frames) or self._is_writing
        if has_focus and not self.display:
            self.post_message(self.FocusReturned())
        self._show_chosen()

    def on_descendant_blur(self) -> None:
        self.rows.set_class(self.has_focus_within, "-current")
        self.rows.redraw()

    def on_descendant_focus(self) -> None:
        self.on_descendant_blur()
        self.set_class(self._is_writing, "-edits")
        self._show_chosen()
        self.refresh_bindings()

    @on(HeldRows.LineChosen)
    def show_other(self, event: HeldRows.LineChosen) -> None:
        event.stop()
        if event.is_above:
            self.post_message(self.FocusReturned())
        else:
            self._show_chosen()

    def _show_chosen(self) -> None:
        """Show the chosen frame in the editor; while the user writes, the frame stays."""
        if not self.has_focus_within:
            return
        if not self._is_writing or self._hold is None:
            self._hold = self.rows.chosen
        hold = self._hold
        if hold is not None:
            draft = self._client.drafts.get(hold.id)
            if draft is not None:
                self._load(hold, draft)
            elif self._opening != hold.id:
                self._opening = hold.id
                self._open(hold)
        self._show_title()

    @work(group="draft")
    async def _open(self, hold: HeldFrame) -> None:
        await anyio.to_thread.run_sync(self._client.open_draft, hold)
        self._show_chosen()

    def _load(self, hold: HeldFrame, draft: Draft) -> None:
        if self._loaded == (hold.id, draft.kind):
            return
        self._loaded = hold.id, draft.kind
        remarks: Remarks = on_error
        if draft.kind == "frame":
            remarks = on_edit(hold.message, is_official=self._follows_schema())
        elif draft.kind == "result" and isinstance(hold.message, Request):
            is_official = self._follows_schema()
            remarks = on_result(hold.message.method) if is_official else on_dialect_call
        text = self._kept = draft.texts[draft.kind]
        is_read_only = draft.kind == "frame" and bool(draft.problem)
        self.editor.load(text, remarks, is_read_only=is_read_only)
        for button in self.query(Button):
            if button.name in {"answer", "kind"}:
                button.display = isinstance(hold.message, Request)
            elif button.name == "force":
                button.display = draft.kind == "frame"
        self.refresh_bindings()

    @on(TextArea.Changed)
    def keep_text(self) -> None:
        """Keep what the user has written; the frame stays paused while the user types."""
        if self._loaded is None or self._loaded[0] not in self._client.drafts:
            return
        number, kind = self._loaded
        text = self.editor.text
        if text == self._kept:
            return
        self._client.drafts[number].texts[kind] = self._kept = text
        hold = self._client.state.find_held(number)
        if hold is not None and hold.seconds_left < self._client.state.limit * EXTEND_BELOW:
            self._client.send_command("keep")

    def _show_title(self) -> None:
        hold = self._hold
        draft = self._client.drafts.get(hold.id) if hold else None
        if hold is None or draft is None:
            return
        is_gone = self._client.state.find_held(hold.id) is None
        self.set_class(is_gone, "-gone")
        way = "client → agent" if hold.side == "client" else "agent → client"
        if is_gone:
            text = "it is no longer paused; Esc goes back"
            if self._client.state.presence == "gone":
                text = "the proxy is gone; Esc goes back"
        elif draft.kind != "frame" and isinstance(hold.message, Request):
            text = f"{draft.kind} for {hold.message.method}{_options(hold.message)}"
        elif draft.problem:
            text = f"it cannot be edited here: {draft.problem}; use acp-console attach --ask"
        else:
            text = f"{hold.name}, {way}"
        self.query_one("#held-title", Static).update(single_line(f"⏸ {hold.seq}: {text}", 300))

    # Commands.

    @on(Button.Pressed)
    async def press(self, event: Button.Pressed) -> None:
        event.stop()
        await self.run_action(event.button.name or "")

    def action_leave(self) -> None:
        """Go from the editor to the row, from there to the rows above; the frame stays paused."""
        if self._is_writing and self.rows.count:
            self.rows.focus()
        else:
            self.display = self.rows.count > 0
            self.post_message(self.FocusReturned())

    def action_release(self) -> None:
        self._do("release")

    def action_discard(self) -> None:
        hold = self.rows.chosen
        if hold is not None and isinstance(hold.message, SuccessResponse | ErrorResponse):
            self.notify(
                "That was a response: the requester keeps waiting for it", severity="warning"
            )
        self._do("discard")

    def action_lose(self) -> None:
        self._do("discard", silent=True)

    def action_duplicate(self) -> None:
        self._do("duplicate", times=2)

    def action_keep(self) -> None:
        self._client.send_command("keep")

    def action_delay(self) -> None:
        hold = self.rows.chosen

        def delay(seconds: float | None) -> None:
            if hold is not None and seconds is not None:
                self._client.send_command("delay", id=hold.id, seconds=seconds)

        if hold is not None:
            self.app.push_screen(DelayScreen(hold.seq), delay)

    def action_edit(self) -> None:
        self._write("frame")

    def action_answer(self) -> None:
        self._write("result")

    def action_kind(self) -> None:
        """Write the next of the frame, a result and an error."""
        if self._loaded is not None:
            self._write(KINDS[(KINDS.index(self._loaded[1]) + 1) % len(KINDS)])

    def _write(self, kind: DraftKind) -> None:
        hold = self._hold
        draft = self._client.drafts.get(hold.id) if hold else None
        if hold is None or draft is None:
            return
        if kind == "frame" and draft.problem:
            text = f"This frame cannot be edited here: {single_line(draft.problem, 120)}"
            self.notify(f"{text}. Use acp-console attach --ask", severity="error", markup=False)
            return
        self.keep_text()
        if kind != "frame" and isinstance(hold.message, Request):
            draft.texts.setdefault(kind, _template(kind, hold.message))
        draft.kind = kind
        self._load(hold, draft)
        self._show_title()
        self.editor.area.focus()

    def action_flaw(self) -> None:
        self.editor.go_to_flaw()

    def action_send(self) -> None:
        """Send what the editor shows, if it is valid."""
        if self._loaded is None:
            return
        number, kind = self._loaded
        draft, text = self._client.drafts[number], self.editor.text
        if kind == "frame" and text == draft.begin:
            # Its own bytes, also if it came broken.
            self._decide("release")
        elif self.editor.check_now() is not None:
            self.editor.go_to_flaw()
        elif kind == "frame":
            self._decide("edit", text=minify(text).decode())
        elif kind == "error" and on_error(text.encode()):
            self.notify("An error needs an integer code and a message", severity="error")
        else:
            self._decide("answer", **{kind: jsonrpc.parse(text.encode())})

    def action_force(self) -> None:
        """Send the text of the frame, valid or not; several lines are joined into one."""
        if self._loaded is None or self._loaded[1] != "frame":
            return
        text = self.editor.text
        if "\n" not in text.strip("\r\n"):
            raw = verbatim_bytes(text)
        else:
            raw = minify(text) if self.editor.check_now() is None else unwrap(text)
        self._decide("edit", text=raw.decode(), force=True)

    def _do(self, command: str, **members: object) -> None:
        """Run a command on the chosen row."""
        if (hold := self.rows.chosen) is not None:
            self._client.send_command(command, id=hold.id, **members)

    def _decide(self, command: str, **members: object) -> None:
        """Run a command on what the editor shows, and leave the editor."""
        if self._hold is None or self._client.state.find_held(self._hold.id) is None:
            self.notify("It is no longer paused", severity="error")
            return
        self._client.send_command(command, id=self._hold.id, **members)
        self.rows.focus()


_COMMANDS: Final = frozenset(command.action for command in COMMANDS if command.scope == "intercept")
EDITS: Final = frozenset({"send", "force", "flaw", "kind"})
"""The commands of the editor; the others are for a row."""
KEY_NAMES: Final = {"ctrl+s": "^S", "e,enter": "e", "plus": "+", "f4": "F4", "f5": "F5", "f8": "F8"}


def _options(message: jsonrpc.Message) -> str:
    """Return the options that a permission request offers, if it is one."""
    options = [f"{id_} ({name})" for id_, name in _offered(message)]
    return f"; options: {', '.join(options)}" if options else ""


def _offered(message: jsonrpc.Message) -> Sequence[tuple[str, str]]:
    if not isinstance(message, Request) or message.method != "session/request_permission":
        return []
    return [
        (str(offer["optionId"]), str(offer.get("name", "")))
        for offer in get_objects(message.params, "options")
        if "optionId" in offer
    ]


def _template(kind: DraftKind, request: Request) -> str:
    """Return the response to begin with: the first option, or what the schema requires."""
    value: Json = ERROR if kind == "error" else result_template(request.method)
    offered = _offered(request)
    if offered and kind == "result":
        value = {"outcome": {"outcome": "selected", "optionId": offered[0][0]}}
    return pretty(jsonrpc.encode(value))
