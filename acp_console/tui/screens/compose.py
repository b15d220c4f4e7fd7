"""Frames of one's own: begun from the schema, checked, sent to either side, and what came back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Select, Static
from textual.widgets.option_list import Option

from acp_console.render.values import arrow
from acp_console.tui.desk import Desk, Sent
from acp_console.tui.desk_remarks import on_call
from acp_console.tui.widgets.intercept_editor import FrameEditor
from acp_inspector.intercept.skeletons import call_skeleton, methods_of
from acp_inspector.intercept.spelling import NoTextError, as_it_stands, gather, spread
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Failure, Json, Notification, Request, Result
from acp_protocol.schema.method import Method

LOOK: Final = 0.25
"""Seconds between two looks at what came back."""
BEGIN: Final = '{\n  "jsonrpc": "2.0",\n  "id": 0,\n  "method": ""\n}'
OTHER: Final[dict[Side, Side]] = {"client": "agent", "agent": "client"}


class ComposeScreen(ModalScreen[None]):
    """Sends as many frames as somebody likes; returns nothing."""

    CSS_PATH = "edit.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send", priority=True),
        Binding("f5", "side", "Other side", priority=True),
        Binding("f9", "keep_id", "Whose id", priority=True),
        Binding("f4", "flaw", "To the error", priority=True),
        Binding("f8", "force", "Send as it stands", priority=True),
        Binding("escape", "leave", "Back", priority=True),
    ]

    editor = getters.query_one(FrameEditor)
    methods: getters.query_one[Select[Method]] = getters.query_one("#compose-method", Select)
    history = getters.query_one("#compose-sent", OptionList)

    def __init__(self, desk: Desk, known: Mapping[str, Json] | None = None) -> None:
        """Fill what is begun with the values that are `known`, by the names of members."""
        super().__init__()
        self._desk = desk
        self._known = known or {}
        self._side: Side = "client"
        self._keeps_id = False
        self._shown: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="compose-box", classes="desk-box"):
            yield Select[Method](
                _choices("client"), prompt="Begin with a method", id="compose-method", compact=True
            )
            yield Static(id="compose-way", markup=False)
            yield FrameEditor(BEGIN, on_call)
            yield OptionList(id="compose-sent", compact=True, markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Name the box, and show what was sent before."""
        self.query_one("#compose-box").border_title = "Send a frame of your own"
        self._tell_way()
        self.methods.focus()
        self.history.display = False
        self.set_interval(LOOK, self._show_sent)
        self._show_sent()

    @on(Select.Changed, "#compose-method")
    def begin(self, event: Select.Changed) -> None:
        """Write what a method needs; what stood there can be had back by undoing."""
        if isinstance(event.value, Method):
            self.editor.write(spread(jsonrpc.encode(call_skeleton(event.value, self._known))))
            self.editor.area.focus()

    @on(OptionList.OptionSelected, "#compose-sent")
    def begin_again(self, event: OptionList.OptionSelected) -> None:
        """Write what was sent before."""
        sent = list(self._desk.sent)[event.option_index]
        try:
            self.editor.write(spread(sent.text.encode()))
        except NoTextError as problem:
            self.notify(f"It cannot be edited here: {problem}", severity="error", markup=False)
        if sent.side != self._side:
            self.action_side()
        self.editor.area.focus()

    def action_send(self) -> None:
        """Send what stands there, if it is JSON."""
        if self.editor.check_now() is None:
            self._send(gather(self.editor.text), is_forced=False)
        else:
            self.editor.go_to_flaw()

    def action_force(self) -> None:
        """Send what stands there, whatever it is; each line is a frame."""
        is_json = self.editor.check_now() is None
        text = self.editor.text
        self._send(gather(text) if is_json else as_it_stands(text), is_forced=True)

    def action_side(self) -> None:
        """Send to the other side."""
        self._side = OTHER[self._side]
        self.methods.set_options(_choices(self._side))
        self._tell_way()

    def action_keep_id(self) -> None:
        """Keep the id as it is written, or not."""
        self._keeps_id = not self._keeps_id
        self._tell_way()

    def action_flaw(self) -> None:
        """Go to where it is no JSON."""
        self.editor.go_to_flaw()

    def action_leave(self) -> None:
        """Go back, out of the list of methods first."""
        if self.methods.expanded:
            self.methods.expanded = False
        else:
            self.dismiss(None)

    def _send(self, raw: bytes, *, is_forced: bool) -> None:
        if raw:
            self._desk.send(self._side, raw, is_forced=is_forced, keeps_id=self._keeps_id)
            self._show_sent()

    def _tell_way(self) -> None:
        to = OTHER[self._side]
        whose = (
            "its id stays, and its answer goes to the other side"
            if self._keeps_id
            else "it gets an id of its own, and its answer comes here"
        )
        self.query_one("#compose-way", Static).update(
            Content.assemble(
                (f"to the {to}", "bold $text-accent"), f", as if the {self._side} sent it; {whose}"
            )
        )

    def _show_sent(self) -> None:
        width = max(self.size.width - 14, 30)
        lines = [_line(sent, width) for sent in self._desk.sent]
        if lines == self._shown:
            return
        self._shown = lines
        self.history.clear_options()
        self.history.add_options([Option(line) for line in lines])
        self.history.highlighted = len(lines) - 1
        self.history.display = bool(lines)


def _choices(side: Side) -> list[tuple[str, Method]]:
    """Return the methods of both versions that `side` may send."""
    rows = methods_of(side, 1)
    known = {row.name for row in rows}
    rows += [row for row in methods_of(side, 2) if row.name not in known]
    return [(_title(row), row) for row in sorted(rows, key=lambda row: (row.name, row.kind))]


def _title(row: Method) -> str:
    marks = [row.kind]
    if not row.is_stable:
        marks.append("unstable")
    if row.version != 1:
        marks.append(f"version {row.version}")
    return f"{row.name}  ({', '.join(marks)})"


def _line(sent: Sent, width: int) -> str:
    said = jsonrpc.read_message(sent.text.encode())
    is_call = isinstance(said, Request | Notification)
    what = (said.method if is_call else "") or sent.text
    return one_line(f"{arrow(sent.side)} {one_line(what, width // 2)}  {_outcome(sent)}", width)


def _outcome(sent: Sent) -> str:
    if sent.problem:
        return f"✗ {sent.problem}"
    if not sent.is_over:
        return "… waits for an answer"
    if sent.answer is None:
        return "sent" if sent.id is None else "✗ no answer came"
    answer = jsonrpc.read_message(sent.answer)
    match answer:
        case Result(result=result):
            return f"✓ {jsonrpc.encode(result).decode()}"
        case Failure(code=code, message=message):
            return f"✗ error {code}: {message}"
        case _:
            return sent.answer.decode(errors="replace")
