"""Answering a request that is held, in the place of the peer it was meant for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, TypeAlias, cast

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from acp_console.tui.desk import Desk, HeldFrame
from acp_console.tui.desk_countdown import LOOK, Countdown
from acp_console.tui.desk_remarks import on_error, on_result
from acp_console.tui.widgets.intercept_editor import FrameEditor
from acp_inspector.intercept.skeletons import result_skeleton
from acp_inspector.intercept.spelling import spread
from acp_protocol import jsonrpc
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Json, Request

Kind: TypeAlias = Literal["result", "error"]

ERROR: Final[Json] = {"code": jsonrpc.INTERNAL_ERROR, "message": "refused by hand"}
"""An error to begin with."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What who asked shall get."""

    kind: Kind
    value: Json


class AnswerScreen(ModalScreen[Answer | None]):
    """Returns the answer; None: the request stays held."""

    CSS_PATH = "edit.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Answer", priority=True),
        Binding("f5", "kind", "Result or error", priority=True),
        Binding("f4", "flaw", "To the mistake", priority=True),
        Binding("escape", "leave", "Keep it held", priority=True),
    ]

    editor = getters.query_one(FrameEditor)

    def __init__(self, desk: Desk, hold: HeldFrame, request: Request) -> None:
        super().__init__()
        self._number = hold.n
        self._request = request
        self._kind: Kind = "result"
        self._written: dict[Kind, str] = {
            "result": _spelled(_first_result(request)),
            "error": _spelled(ERROR),
        }
        self._countdown = Countdown(desk, hold.id, self._written["result"])

    def compose(self) -> ComposeResult:
        with Vertical(id="answer-box", classes="desk-box"):
            yield Static(_question(self._request), markup=False)
            yield FrameEditor(self._written["result"], self._remarks)
        yield Footer()

    def on_mount(self) -> None:
        """Name the box."""
        self._name_it()
        self.editor.area.focus()
        self.set_interval(LOOK, self._count_down)
        self._count_down()

    def action_send(self) -> None:
        """Answer with what stands there, if it is JSON."""
        if self._countdown.has_left:
            self.notify("This frame has left as it was", severity="error")
            return
        if self.editor.check_now() is not None:
            self.editor.go_to_flaw()
            return
        raw = self.editor.text.encode()
        if self._kind == "error" and on_error(raw):
            self.notify("An error needs an integer code and a message", severity="error")
            return
        self.dismiss(Answer(self._kind, jsonrpc.parse(raw)))

    def action_kind(self) -> None:
        """Write an error in the place of a result, or the other way round."""
        self._written[self._kind] = self.editor.text
        self._kind = "error" if self._kind == "result" else "result"
        self.editor.write(self._written[self._kind])
        self._name_it()

    def action_flaw(self) -> None:
        """Go to where it is no JSON."""
        self.editor.go_to_flaw()

    def action_leave(self) -> None:
        """Answer nothing."""
        self.dismiss(None)

    def _remarks(self, raw: bytes) -> list[str]:
        remarks = on_error if self._kind == "error" else on_result(self._request.method)
        return list(remarks(raw))

    def _name_it(self) -> None:
        box = self.query_one("#answer-box")
        other = "an error" if self._kind == "result" else "a result"
        box.border_title = Content(f"Answer frame {self._number}: the {self._kind} (F5: {other})")

    def _count_down(self) -> None:
        box = self.query_one("#answer-box")
        box.border_subtitle = Content(self._countdown.look(self.editor.text))
        box.set_class(self._countdown.has_left, "-gone")


def _first_result(request: Request) -> Json:
    """Return a result to begin with; of a question for consent, its first option."""
    options = _options(request)
    if options:
        return {"outcome": {"outcome": "selected", "optionId": options[0][0]}}
    return result_skeleton(request.method)


def _options(request: Request) -> list[tuple[str, str]]:
    """Return id and name of the options that a question for consent offers."""
    if request.method != "session/request_permission" or not isinstance(request.params, dict):
        return []
    params = cast("dict[str, Any]", request.params)
    found: Any = params.get("options")
    offers = cast("list[Any]", found) if isinstance(found, list) else []
    objects = [cast("dict[str, Any]", offer) for offer in offers if isinstance(offer, dict)]
    return [
        (str(offer["optionId"]), str(offer.get("name", "")))
        for offer in objects
        if "optionId" in offer
    ]


def _question(request: Request) -> str:
    options = ", ".join(f"{id_} ({name})" for id_, name in _options(request))
    offered = f"; offered are {options}" if options else ""
    return one_line(f"{request.method} is answered by hand{offered}", 300)


def _spelled(value: Json) -> str:
    return spread(jsonrpc.encode(value))
