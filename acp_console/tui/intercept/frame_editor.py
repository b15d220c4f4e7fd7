"""An editor for frames that shows errors as the user types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static, TextArea

from acp_console.tui.textual_fixes import set_timer
from acp_console.wording.values import format_number
from acp_inspector.intercept.json_edit import SyntaxProblem, find_syntax_error, minify
from acp_inspector.intercept.templates import validation_errors
from acp_protocol import jsonrpc
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get
from acp_protocol.jsonrpc import ErrorResponse, InvalidMessage, Request, SuccessResponse

Remarks: TypeAlias = Callable[[bytes], Sequence[str]]
"""Returns remarks on a frame that is valid JSON."""

_KINDS: Final[dict[type[jsonrpc.Message], str]] = {
    Request: "request",
    jsonrpc.Notification: "notification",
    SuccessResponse: "result",
    ErrorResponse: "error",
    jsonrpc.Batch: "batch",
}

LONG = 200_000
"""Larger frames, in bytes, are not checked against the schema at every key."""


def on_edit(original: jsonrpc.Message, *, is_official: bool = True) -> Remarks:
    """Return what an edit of `original` changes, and how it differs from the published schema.

    In a dialect (not `is_official`) the schema does not apply, and what was no JSON-RPC may stay.
    """

    def remarks(raw: bytes) -> Sequence[str]:
        message = jsonrpc.read_message(raw)
        changes = _changes(original, message)
        if is_official:
            return [*changes, *on_call(raw)]
        if isinstance(message, InvalidMessage) and not isinstance(original, InvalidMessage):
            return [message.reason]
        return changes

    return remarks


def on_call(raw: bytes) -> Sequence[str]:
    message = jsonrpc.read_message(raw)
    if isinstance(message, InvalidMessage):
        return [message.reason]
    return () if len(raw) > LONG else validation_errors(jsonrpc.parse(raw))


def on_dialect_call(raw: bytes) -> Sequence[str]:
    """Return no remarks: the messages of a dialect follow no schema."""
    del raw
    return ()


def on_result(method: str) -> Remarks:
    def remarks(raw: bytes) -> Sequence[str]:
        return () if len(raw) > LONG else validation_errors(jsonrpc.parse(raw), method)

    return remarks


def on_error(raw: bytes) -> Sequence[str]:
    error = jsonrpc.parse(raw)
    if type(get(error, "code")) is int and isinstance(get(error, "message"), str):
        return ()
    return ["an error needs an integer code and a message"]


def _changes(before: jsonrpc.Message, after: jsonrpc.Message) -> list[str]:
    if isinstance(before, InvalidMessage) or isinstance(after, InvalidMessage):
        return []
    if type(before) is not type(after):
        was, now = (_KINDS[type(message)] for message in (before, after))
        return [f"it was a {was} and is a {now}"]
    if isinstance(before, Request) and isinstance(after, Request):
        if jsonrpc.id_key(before.id) != jsonrpc.id_key(after.id):
            return [f"the id was {_id(before)}: its response is lost"]
    elif (
        isinstance(before, SuccessResponse | ErrorResponse)
        and isinstance(after, SuccessResponse | ErrorResponse)
        and jsonrpc.id_key(before.id) != jsonrpc.id_key(after.id)
    ):
        return [f"the id was {_id(before)}: it will match no request"]
    return []


def _id(message: Request | SuccessResponse | ErrorResponse) -> str:
    return jsonrpc.encode(message.id).decode()


MAX_INSTANT_CHARS: Final = 50_000
"""Characters that are checked at every key; longer texts wait for a pause."""
CHECK_DELAY_S: Final = 0.3
"""Seconds without a key after which a long text is checked."""
MAX_REMARKS: Final = 3
"""Remarks that are shown."""


class FrameEditor(Vertical):
    """A text area, and below it whether the text is valid JSON, or the error."""

    DEFAULT_CSS = """
    FrameEditor {
        height: 1fr;
        #frame-text { height: 1fr; border: none; padding: 0; }
        #frame-check { height: auto; max-height: 7; color: $text-success; }
        #frame-check.-wrong { color: $text-error; }
    }
    """

    area = getters.query_one("#frame-text", TextArea)

    def __init__(self, text: str = "", remarks: Remarks = lambda raw: ()) -> None:
        super().__init__()
        self._begin = text
        self._remarks = remarks
        self._waiting: Timer | None = None
        self.flaw: SyntaxProblem | None = None

    def compose(self) -> ComposeResult:
        yield TextArea(
            self._begin,
            id="frame-text",
            tab_behavior="indent",
            show_line_numbers=True,
            soft_wrap=len(self._begin) <= MAX_INSTANT_CHARS,
        )
        yield Static(id="frame-check", markup=False)

    def on_mount(self) -> None:
        self._check()

    @property
    def text(self) -> str:
        return self.area.text

    def load(self, text: str, remarks: Remarks, *, is_read_only: bool = False) -> None:
        """Begin with another text, which cannot be undone."""
        self._remarks = remarks
        self.area.read_only = is_read_only
        self.area.load_text(text)
        self.check_soon()

    def write(self, text: str) -> None:
        """Replace the whole text; this can be undone."""
        end = self.area.document.end
        self.area.replace(text, (0, 0), end, maintain_selection_offset=False)
        self.area.move_cursor((0, 0))

    def go_to_flaw(self) -> None:
        """Move the cursor to the syntax error."""
        self.check_now()
        if self.flaw is not None:
            self.area.move_cursor((self.flaw.line - 1, self.flaw.column - 1), center=True)
            self.area.focus()

    def check_now(self) -> SyntaxProblem | None:
        """Return the syntax error of the current text; None if there is none."""
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
            self._check()
        return self.flaw

    @on(TextArea.Changed, "#frame-text")
    def check_soon(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
        if len(self.text) <= MAX_INSTANT_CHARS:
            self._check()
        else:
            self._waiting = set_timer(self, CHECK_DELAY_S, self._check)

    def _check(self) -> None:
        self._waiting = None
        text = self.text
        self.flaw = find_syntax_error(text)
        check = self.query_one("#frame-check", Static)
        check.set_class(self.flaw is not None, "-wrong")
        if self.flaw is not None:
            check.update(Content(f"✗ invalid JSON, {self.flaw}\n{self.flaw.picture}"))
        else:
            raw = minify(text)
            remarks = list(self._remarks(raw))
            lines = [f"! {single_line(remark, 200)}" for remark in remarks[:MAX_REMARKS]]
            if len(remarks) > MAX_REMARKS:
                lines.append(f"! and {len(remarks) - MAX_REMARKS} more")
            check.update(
                Content.assemble(
                    f"✓ valid JSON, sent as one line of {format_number(len(raw))} bytes",
                    *[(f"\n{line}", "$text-warning") for line in lines],
                )
            )
