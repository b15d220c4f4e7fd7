"""The marks of the traffic, with their comments."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from acp_console.traffic.marks import MAX_COMMENT, Mark
from acp_console.traffic.model import TrafficModel
from acp_console.traffic.rows import MARK, picture
from acp_console.tui.footer import KeyFooter
from acp_console.wording.values import plural
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import single_line


class CommentScreen(ModalScreen[str | None]):
    """Asks for the comment on a mark."""

    DEFAULT_CSS = """
    CommentScreen {
        align: center bottom;
        Vertical {
            height: auto;
            border: round $primary;
            background: $surface;
            padding: 0 1;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close")]

    def __init__(self, seq: int, comment: str) -> None:
        super().__init__()
        self._seq = seq
        self._comment = comment

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Content(f"Comment on {self._seq}")
            box.border_subtitle = "enter keeps · esc closes"
            yield Input(self._comment, max_length=MAX_COMMENT, compact=True, id="comment")

    @on(Input.Submitted)
    def keep(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)

    def action_leave(self) -> None:
        self.dismiss(None)


class MarksScreen(ModalScreen[int | None]):
    """Lists the marks, and changes them; returns the row to go to."""

    DEFAULT_CSS = """
    MarksScreen {
        align: center bottom;
        OptionList {
            width: 100%;
            height: auto;
            max-height: 60%;
            border: round $primary;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "Go to it"),
        Binding("M", "comment", "Comment"),
        Binding("delete,m", "remove", "Remove"),
        Binding("escape,apostrophe,q", "leave", "Close"),
    ]

    options = getters.query_one(OptionList)

    def __init__(self, view: TrafficModel) -> None:
        """Show the marks of `view`."""
        super().__init__()
        self._view = view
        self._marks: list[int | Mark] = []
        """The row of each mark; of a stale one the mark itself."""

    def compose(self) -> ComposeResult:
        yield OptionList(markup=False)
        yield KeyFooter()

    def on_mount(self) -> None:
        self._show()

    def on_resize(self) -> None:
        self._show()

    def _show(self) -> None:
        chosen = self.options.highlighted or 0
        marks = self._view.marks
        self._marks = [*marks.rows, *marks.stale]
        self.options.clear_options()
        self.options.add_options([Option(self._line(each)) for each in self._marks])
        self.options.highlighted = min(chosen, len(self._marks) - 1) if self._marks else None
        self.options.border_title = Content(plural(len(self._marks), "mark"))

    def _line(self, mark: int | Mark) -> Content:
        if isinstance(mark, Mark):
            comment = mark.comment
            line = f"? {mark.seq:>6}  stale: this entry is not in the file any more"
        else:
            comment, row = self._view.marks.comment(mark), self._view.row(mark)
            line = f"{MARK} {row.seq:>6}  {picture(row, max(self.size.width - 16, 10))}"
        if not comment:
            return Content(line)
        shown = single_line(comment, max(self.size.width - 16, 10))
        return Content.assemble(line, "\n", (f"          {shown}", "$text-accent"))

    @property
    def _chosen(self) -> int | Mark | None:
        at = self.options.highlighted
        return None if at is None else self._marks[at]

    @on(OptionList.OptionSelected)
    def action_go(self) -> None:
        match self._chosen:
            case int() as row:
                self.dismiss(row)
            case Mark():
                self.notify("The file has changed since: there is no such entry to go to")
            case None:
                self.dismiss(None)

    @work
    async def action_comment(self) -> None:
        row = self._chosen
        if not isinstance(row, int):
            self.notify("A stale mark keeps its comment; m removes it")
            return
        marks = self._view.marks
        screen = CommentScreen(self._view.row(row).seq, marks.comment(row))
        comment = await self.app.push_screen_wait(screen)
        if comment is not None:
            self._change(lambda: marks.set(row, comment))

    def action_remove(self) -> None:
        marks = self._view.marks
        match self._chosen:
            case int() as row:
                self._change(lambda: marks.remove(row))
            case Mark() as mark:
                self._change(lambda: marks.remove_stale(mark))
            case None:
                pass
        if not self._marks:
            self.dismiss(None)

    def _change(self, change: Callable[[], None]) -> None:
        try:
            change()
        except AcpError as problem:
            self.notify(str(problem), severity="error", markup=False)
        self._show()

    def action_leave(self) -> None:
        self.dismiss(None)
