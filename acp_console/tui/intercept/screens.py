"""The screens on which the user edits, answers, delays or sends a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias, TypeVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, OptionList, Select, Static
from textual.widgets.option_list import Option

from acp_console.render.values import arrow
from acp_console.state.intercept import HeldFrame, InjectedFrame, InterceptClient
from acp_console.tui.intercept.frame_editor import (
    FrameEditor,
    on_call,
    on_edit,
    on_error,
    on_result,
)
from acp_inspector.intercept.json_edit import (
    NotEditableError,
    minify,
    pretty,
    unwrap,
    verbatim_bytes,
)
from acp_inspector.intercept.message import MAX_WAIT_S
from acp_inspector.intercept.templates import call_template, methods_of, result_template
from acp_protocol import jsonrpc
from acp_protocol.framing import Side, opposite
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get_objects
from acp_protocol.jsonrpc import ErrorResponse, Json, Notification, Request, SuccessResponse
from acp_protocol.schema.method_spec import MethodSpec

POLL_INTERVAL_S: Final = 0.25
"""Seconds between two polls."""
EXTEND_BELOW: Final = 0.5
"""Share of the limit: typing while less is left restarts the countdown."""


class Countdown:
    """Watches one held frame, and extends its time while the user types."""

    def __init__(self, client: InterceptClient, number: int, text: str) -> None:
        self._client = client
        self._number = number
        self._text = text
        self.has_left = False
        """Whether the frame is no longer held."""

    def look(self, text: str) -> str:
        state = self._client.state
        hold = state.find_held(self._number)
        self.has_left = hold is None
        if hold is None:
            gone = (
                "the proxy is gone" if state.presence == "gone" else "the frame is no longer held"
            )
            return f"{gone}; Esc goes back"
        if text != self._text and hold.seconds_left < state.limit * EXTEND_BELOW:
            # The user is typing: the frame must stay held.
            self._client.send_command("keep")
        self._text = text
        return f"sent unchanged in {hold.seconds_left:.0f} s; typing extends this"


@dataclass(frozen=True, slots=True)
class Edited:
    """The bytes to send instead of the frame."""

    raw: bytes
    is_forced: bool
    """Whether to send them even if they are not valid JSON."""


T = TypeVar("T")


class FrameScreen(ModalScreen[T]):
    """A box with an editor."""

    CSS_PATH = "edit.tcss"

    editor = getters.query_one(FrameEditor)
    box = getters.query_one(".dialog-box", Vertical)

    def action_flaw(self) -> None:
        self.editor.go_to_flaw()

    def action_leave(self) -> None:
        self.dismiss(None)


class HeldFrameScreen(FrameScreen[T]):
    """Decides on a held frame, and shows the time left."""

    def __init__(self, client: InterceptClient, hold: HeldFrame, text: str) -> None:
        super().__init__()
        self.hold = hold
        self._countdown = Countdown(client, hold.id, text)

    def on_mount(self) -> None:
        self.editor.area.focus()
        self.set_interval(POLL_INTERVAL_S, self._count_down)
        self._count_down()

    def may_send(self) -> bool:
        """Return whether the frame is still held; notify the user if it is not."""
        if self._countdown.has_left:
            self.notify("This frame is no longer held", severity="error")
        return not self._countdown.has_left

    def _count_down(self) -> None:
        self.box.border_subtitle = Content(self._countdown.look(self.editor.text))
        self.box.set_class(self._countdown.has_left, "-gone")


class EditScreen(HeldFrameScreen[Edited | None]):
    """Returns the new frame on one line; None: it stays held unchanged."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send", priority=True),
        Binding("f4", "flaw", "To the error", priority=True),
        Binding("f8", "force", "Send as is", priority=True),
        Binding("escape", "leave", "Keep it held", priority=True),
    ]

    def __init__(self, client: InterceptClient, hold: HeldFrame, text: str, raw: bytes) -> None:
        """Start with `text`, which shows `raw`; without changes exactly these bytes are sent."""
        super().__init__(client, hold, text)
        self._begin = text
        self._raw = raw

    def compose(self) -> ComposeResult:
        box = Vertical(id="edit-box", classes="dialog-box")
        direction = "client → agent" if self.hold.side == "client" else "agent → client"
        box.border_title = Content(f"Edit frame {self.hold.seq}, {direction}")
        with box:
            yield FrameEditor(self._begin, on_edit(jsonrpc.read_message(self._raw)))
        yield Footer()

    def action_send(self) -> None:
        if self.may_send() and self.editor.check_now() is None:
            text = self.editor.text
            raw = self._raw if text == self._begin else minify(text)
            # A frame that came broken may be sent unchanged.
            self.dismiss(Edited(raw, is_forced=raw is self._raw))
        elif self.editor.flaw is not None:
            self.action_flaw()

    def action_force(self) -> None:
        """Send the text, valid or not; several lines are joined into one."""
        if not self.may_send():
            return
        text = self.editor.text
        if "\n" not in text.strip("\r\n"):
            raw = verbatim_bytes(text)
        else:
            raw = minify(text) if self.editor.check_now() is None else unwrap(text)
        self.dismiss(Edited(raw, is_forced=True))


Kind: TypeAlias = Literal["result", "error"]

ERROR: Final[Json] = {"code": jsonrpc.INTERNAL_ERROR, "message": "refused by hand"}
"""The error that the editor starts with."""


@dataclass(frozen=True, slots=True)
class HandmadeResponse:
    """The response to send."""

    kind: Kind
    value: Json


class AnswerScreen(HeldFrameScreen[HandmadeResponse | None]):
    """Returns the response; None: the request stays held."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Answer", priority=True),
        Binding("f5", "kind", "Result or error", priority=True),
        Binding("f4", "flaw", "To the error", priority=True),
        Binding("escape", "leave", "Keep it held", priority=True),
    ]

    def __init__(self, client: InterceptClient, hold: HeldFrame, request: Request) -> None:
        self._request = request
        self._options = _options(request)
        result: Json = result_template(request.method)
        if self._options:
            result = {"outcome": {"outcome": "selected", "optionId": self._options[0][0]}}
        self._kind: Kind = "result"
        self._written: dict[Kind, str] = {
            "result": pretty(jsonrpc.encode(result)),
            "error": pretty(jsonrpc.encode(ERROR)),
        }
        super().__init__(client, hold, self._written["result"])

    def compose(self) -> ComposeResult:
        options = ", ".join(f"{id_} ({name})" for id_, name in self._options)
        offered = f"; options: {options}" if options else ""
        request_line = f"response to {self._request.method}{offered}"
        with Vertical(id="answer-box", classes="dialog-box"):
            yield Static(single_line(request_line, 300), markup=False)
            yield FrameEditor(self._written["result"], self._remarks)
        yield Footer()

    def on_mount(self) -> None:
        self._show_title()

    def action_send(self) -> None:
        if not self.may_send():
            return
        if self.editor.check_now() is not None:
            self.action_flaw()
            return
        raw = self.editor.text.encode()
        if self._kind == "error" and on_error(raw):
            self.notify("An error needs an integer code and a message", severity="error")
            return
        self.dismiss(HandmadeResponse(self._kind, jsonrpc.parse(raw)))

    def action_kind(self) -> None:
        self._written[self._kind] = self.editor.text
        self._kind = "error" if self._kind == "result" else "result"
        self.editor.write(self._written[self._kind])
        self._show_title()

    def _remarks(self, raw: bytes) -> Sequence[str]:
        return on_error(raw) if self._kind == "error" else on_result(self._request.method)(raw)

    def _show_title(self) -> None:
        other = "an error" if self._kind == "result" else "a result"
        self.box.border_title = Content(
            f"Answer frame {self.hold.seq}: the {self._kind} (F5: {other})"
        )


def _options(request: Request) -> list[tuple[str, str]]:
    """Return id and name of the options of a permission request."""
    if request.method != "session/request_permission":
        return []
    return [
        (str(offer["optionId"]), str(offer.get("name", "")))
        for offer in get_objects(request.params, "options")
        if "optionId" in offer
    ]


DEFAULT_DELAY: Final = "5"
"""The default delay in seconds."""


class DelayScreen(ModalScreen[float | None]):
    """Returns the seconds; None: the user went back."""

    CSS_PATH = "delay.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Delay it", priority=True),
        Binding("escape", "leave", "Back", priority=True),
    ]

    input = getters.query_one("#delay-seconds", Input)

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def compose(self) -> ComposeResult:
        with Vertical(id="delay-box"):
            yield Static(
                "The frame is sent after this many seconds, and then the frames behind it."
            )
            yield Input(DEFAULT_DELAY, id="delay-seconds", compact=True)
            yield Static(id="delay-check", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#delay-box").border_title = Content(f"Delay frame {self._number}")
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

    def action_leave(self) -> None:
        self.dismiss(None)

    def _seconds(self) -> float | None:
        try:
            seconds = float(self.input.value.replace(",", ".").removesuffix("s"))
        except ValueError:
            return None
        return seconds if 0 <= seconds <= MAX_WAIT_S else None


NEW_FRAME: Final = '{\n  "jsonrpc": "2.0",\n  "id": 0,\n  "method": ""\n}'


class ComposeScreen(FrameScreen[None]):
    """Sends any number of frames; returns nothing."""

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

    def __init__(
        self,
        client: InterceptClient,
        known: Mapping[str, Json] | None = None,
        *,
        begin_with: tuple[Side, bytes] | None = None,
    ) -> None:
        """Fill new frames with the `known` values, by field name; begin with a sent frame."""
        super().__init__()
        self._client = client
        self._known = known or {}
        self._begin_with = begin_with
        self._side: Side = "client"
        self._keeps_id = False
        self._shown: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="compose-box", classes="dialog-box"):
            yield Select[MethodSpec](
                _choices("client"), prompt="Choose a method", id="compose-method", compact=True
            )
            yield Static(id="compose-way", markup=False)
            yield FrameEditor(NEW_FRAME, on_call)
            yield OptionList(id="compose-sent", compact=True, markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self.box.border_title = "Send a new frame"
        self._show_direction()
        self.methods.focus()
        self.history.display = False
        self.set_interval(POLL_INTERVAL_S, self._show_sent)
        self._show_sent()
        if self._begin_with is not None:
            self._edit(*self._begin_with)

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
