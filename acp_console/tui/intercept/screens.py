"""The screens on which the user sets breakpoints, and delays or sends a frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Select, Static
from textual.widgets.option_list import Option

from acp_console.traffic.intercept import InjectedFrame, InterceptClient, InterceptState
from acp_console.tui.commands import bindings
from acp_console.tui.dialog import Dialog
from acp_console.tui.filter_input import FilterInput
from acp_console.tui.footer import KeyFooter
from acp_console.tui.intercept.frame_editor import FrameEditor, on_call, on_dialect_call
from acp_console.tui.news import News
from acp_console.wording.values import arrow
from acp_inspector.intercept.json_edit import NotEditableError, minify, pretty, verbatim_bytes
from acp_inspector.intercept.live_filter import compile_live
from acp_inspector.intercept.message import MAX_WAIT_S
from acp_inspector.intercept.templates import call_template, methods_of
from acp_protocol import jsonrpc
from acp_protocol.framing import Side, opposite
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import ErrorResponse, Json, Notification, Request, SuccessResponse
from acp_protocol.schema.method_spec import MethodSpec

DEFAULT_DELAY: Final = "5"
"""The default delay in seconds."""


class DelayScreen(Dialog[float | None]):
    """Returns the seconds; None: the user went back."""

    DEFAULT_CSS = """
    DelayScreen {
        & > Vertical {
            width: 60;
            padding: 0 1;
        }
        #delay-check {
            color: $text-success;
        }
        #delay-check.-wrong {
            color: $text-error;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Delay it", priority=True),
        Binding("escape", "leave", "Back", priority=True),
    ]

    input = getters.query_one("#delay-seconds", Input)

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Content(f"Delay frame {self._number}")
            yield Static(
                "The frame is sent after this many seconds, and then the frames behind it."
            )
            yield Input(DEFAULT_DELAY, id="delay-seconds", compact=True)
            yield Static(id="delay-check", markup=False)
        yield KeyFooter()

    def on_mount(self) -> None:
        self.input.focus()
        self.input.select_all()

    @on(Input.Changed, "#delay-seconds")
    def check(self) -> None:
        seconds = self._seconds()
        check = self.query_one("#delay-check", Static)
        if seconds is None:
            check.update(f"✗ a number of seconds from 0 to {MAX_WAIT_S:.0f}")
        else:
            check.update(f"✓ sent {seconds:g} s from now")
        check.set_class(seconds is None, "-wrong")

    def action_send(self) -> None:
        seconds = self._seconds()
        if seconds is not None:
            self.dismiss(seconds)

    def _seconds(self) -> float | None:
        try:
            seconds = float(self.input.value.replace(",", ".").removesuffix("s"))
        except ValueError:
            return None
        return seconds if 0 <= seconds <= MAX_WAIT_S else None


class BreakpointsScreen(Dialog[None]):
    """Lists the breakpoints, and takes new ones."""

    DEFAULT_CSS = """
    BreakpointsScreen {
        & > Vertical {
            width: 94%;
            padding: 0 1;
        }
        #breakpoints {
            min-height: 1;
            max-height: 12;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("breakpoints")

    points = getters.query_one("#breakpoints", OptionList)
    filter = getters.query_one("#break-filter", Input)

    def __init__(self, client: InterceptClient, begin_with: str = "") -> None:
        """Begin with an expression to confirm; then the screen closes once it is set."""
        super().__init__()
        self._client = client
        self._begin_with = begin_with
        self._shown: InterceptState | None = None

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Breakpoints"
            yield FilterInput(
                "Break on frames such as: method == session/prompt",
                id="break-filter",
                compile=compile_live,
            )
            yield OptionList(id="breakpoints", compact=True, markup=False)
            yield Static(id="break-note", classes="note", markup=False)
        yield KeyFooter()

    def on_mount(self) -> None:
        if self._begin_with:
            self.query_one(FilterInput).set_filter(self._begin_with)
        self.news = News(self, self._sync)
        self._unsubscribe = self._client.news.add(self.news)
        self._sync()
        has_some = bool(self._client.state.breakpoints) and not self._begin_with
        (self.points if has_some else self.filter).focus()

    def on_unmount(self) -> None:
        self._unsubscribe()

    def _sync(self) -> None:
        state, before = self._client.state, self._shown
        if state is before:
            return
        self._shown = state
        if before is None or state.breakpoints != before.breakpoints:
            self.points.clear_options()
            self.points.add_options(
                [Option(f"break on {single_line(text, 120)}") for _, text in state.breakpoints]
            )
            self.points.highlighted = len(state.breakpoints) - 1 if state.breakpoints else None
        counts = [f"{single_line(name, 30)} ×{count}" for name, count in state.rule_counts.items()]
        limit = f"A message that matches is paused for up to {state.limit:.0f} s"
        lines = [
            f"{limit}, with all behind it in its direction.",
            *(["Every message is paused now, in both directions."] if state.is_paused else []),
            *([f"Rules and add-ons: {'  ·  '.join(counts)}"] if counts else []),
        ]
        if state.presence == "gone":
            lines = ["The proxy has ended or does not respond: nothing is paused any more."]
        self.query_one("#break-note", Static).update("\n".join(lines))

    @on(FilterInput.Confirmed)
    def set_breakpoint(self, event: FilterInput.Confirmed) -> None:
        event.stop()
        text = self.filter.value.strip()
        if event.filter.is_empty:
            return
        self._client.send_command("break", filter=text)
        self.filter.value = ""
        self.points.focus()
        if self._begin_with:
            self.notify(f"Break on {single_line(text, 120)}", markup=False)
            self.dismiss()

    @on(FilterInput.EditEnded)
    def leave_filter(self, event: FilterInput.EditEnded) -> None:
        event.stop()
        self.points.focus()

    def action_write(self) -> None:
        self.filter.focus()

    def action_clear(self) -> None:
        points = self._client.state.breakpoints
        if points:
            place = self.points.highlighted
            self._client.send_command("clear", id=points[-1 if place is None else place][0])

    def action_clear_all(self) -> None:
        for number, _ in self._client.state.breakpoints:
            self._client.send_command("clear", id=number)
        self._client.send_command("release_all")

    def action_pause(self) -> None:
        self._client.send_command("resume" if self._client.state.is_paused else "pause")


NEW_FRAME: Final = '{\n  "jsonrpc": "2.0",\n  "id": 0,\n  "method": ""\n}'


class ComposeScreen(Dialog[None]):
    """Sends any number of frames; returns nothing."""

    DEFAULT_CSS = """
    ComposeScreen {
        & > Vertical {
            width: 94%;
            height: 86%;
            padding: 0 1;
        }
        #compose-way {
            color: $text-muted;
        }
        #compose-sent {
            max-height: 30%;
            border-top: solid $foreground 20%;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send", priority=True),
        Binding("f5", "side", "Other side", priority=True),
        Binding("f9", "keep_id", "Whose id", priority=True),
        Binding("f4", "flaw", "To the error", priority=True),
        Binding("f8", "force", "Send as is", priority=True),
        Binding("escape", "leave", "Back", priority=True),
    ]

    methods: getters.query_one[Select[MethodSpec]] = getters.query_one("#compose-method", Select)
    history = getters.query_one("#compose-sent", OptionList)
    editor = getters.query_one(FrameEditor)
    box = getters.query_one(Vertical)

    def __init__(
        self,
        client: InterceptClient,
        known: Mapping[str, Json] | None = None,
        *,
        begin_with: tuple[Side, bytes] | None = None,
        is_official: bool = True,
    ) -> None:
        """Fill new frames with the `known` values, by field name; begin with a sent frame.

        Frames of a dialect (not `is_official`) are not compared with the published schema.
        """
        super().__init__()
        self._remarks = on_call if is_official else on_dialect_call
        self._client = client
        self._known = known or {}
        self._begin_with = begin_with
        self._side: Side = "client"
        self._keeps_id = False
        self._shown: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Send a new frame"
            yield Select[MethodSpec](
                _choices("client"), prompt="Choose a method", id="compose-method", compact=True
            )
            yield Static(id="compose-way", markup=False)
            yield FrameEditor(NEW_FRAME, self._remarks)
            yield OptionList(id="compose-sent", markup=False)
        yield KeyFooter()

    def on_mount(self) -> None:
        self._show_direction()
        self.methods.focus()
        self.history.display = False
        self.news = News(self, self._show_sent)
        self._unsubscribe = self._client.news.add(self.news)
        self._show_sent()
        if self._begin_with is not None:
            self._edit(*self._begin_with)

    def on_unmount(self) -> None:
        self._unsubscribe()

    @on(Select.Changed, "#compose-method")
    def begin(self, event: Select.Changed) -> None:
        if isinstance(event.value, MethodSpec):
            self.editor.write(pretty(jsonrpc.encode(call_template(event.value, self._known))))
            self.editor.area.focus()

    @on(OptionList.OptionSelected, "#compose-sent")
    def begin_again(self, event: OptionList.OptionSelected) -> None:
        sent = list(self._client.sent)[event.option_index]
        self._edit(sent.side, sent.text.encode())

    def _edit(self, side: Side, raw: bytes) -> None:
        try:
            self.editor.write(pretty(raw))
        except NotEditableError as problem:
            self.notify(
                f"This frame cannot be edited here: {problem}", severity="error", markup=False
            )
        if side != self._side:
            self.action_side()
        self.editor.area.focus()

    def action_flaw(self) -> None:
        self.editor.go_to_flaw()

    def action_send(self) -> None:
        if self.editor.check_now() is None:
            self._send(minify(self.editor.text), is_forced=False)
        else:
            self.editor.go_to_flaw()

    def action_force(self) -> None:
        is_json = self.editor.check_now() is None
        text = self.editor.text
        self._send(minify(text) if is_json else verbatim_bytes(text), is_forced=True)

    def action_side(self) -> None:
        self._side = opposite(self._side)
        self.methods.set_options(_choices(self._side))
        self._show_direction()

    def action_keep_id(self) -> None:
        self._keeps_id = not self._keeps_id
        self._show_direction()

    def action_leave(self) -> None:
        if self.methods.expanded:
            self.methods.expanded = False
        else:
            self.dismiss(None)

    def _send(self, raw: bytes, *, is_forced: bool) -> None:
        if raw:
            self._client.inject(self._side, raw, is_forced=is_forced, keeps_id=self._keeps_id)
            self._show_sent()

    def _show_direction(self) -> None:
        to = opposite(self._side)
        whose = (
            "the id is kept, and the response goes to the other side"
            if self._keeps_id
            else "the proxy sets a new id, and the response is shown here"
        )
        self.query_one("#compose-way", Static).update(
            Content.assemble(
                (f"to the {to}", "bold $text-accent"), f", as if the {self._side} sent it; {whose}"
            )
        )

    def _show_sent(self) -> None:
        width = max(self.size.width - 14, 30)
        lines = [_line(sent, width) for sent in self._client.sent]
        if lines == self._shown:
            return
        self._shown = lines
        self.history.clear_options()
        self.history.add_options([Option(line) for line in lines])
        self.history.highlighted = len(lines) - 1
        self.history.display = bool(lines)


def _choices(side: Side) -> list[tuple[str, MethodSpec]]:
    """Return the methods of both versions that `side` may send."""
    rows = methods_of(side, 1)
    known = {row.name for row in rows}
    rows += [row for row in methods_of(side, 2) if row.name not in known]
    return [(_title(row), row) for row in sorted(rows, key=lambda row: (row.name, row.kind))]


def _title(row: MethodSpec) -> str:
    marks = [row.kind]
    if not row.is_stable:
        marks.append("unstable")
    if row.version != 1:
        marks.append(f"version {row.version}")
    return f"{row.name}  ({', '.join(marks)})"


def _line(sent: InjectedFrame, width: int) -> str:
    message = jsonrpc.read_message(sent.text.encode())
    is_call = isinstance(message, Request | Notification)
    what = (message.method if is_call else "") or sent.text
    return single_line(
        f"{arrow(sent.side)} {single_line(what, width // 2)}  {_outcome(sent)}", width
    )


def _outcome(sent: InjectedFrame) -> str:
    if sent.error:
        return f"✗ {sent.error}"
    if not sent.is_over:
        return "… waiting for the response"
    if sent.response is None:
        return "sent" if sent.id is None else "✗ no response"
    answer = jsonrpc.read_message(sent.response)
    match answer:
        case SuccessResponse(result=result):
            return f"✓ {jsonrpc.encode(result).decode()}"
        case ErrorResponse(code=code, message=message):
            return f"✗ error {code}: {message}"
        case _:
            return sent.response.decode(errors="replace")
