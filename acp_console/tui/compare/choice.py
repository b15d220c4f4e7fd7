"""Asks with which other source to compare: one that is open, a recording, a session, or a path."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual import getters, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from acp_console.home import recording_entries, session_entries
from acp_console.traffic.comparison import ComparisonSource, recording_source
from acp_console.traffic.sources import FileSource
from acp_console.tui.dialog import FilteredList
from acp_console.tui.footer import KeyFooter
from acp_console.tui.path_input import PathInput
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import single_line

if TYPE_CHECKING:
    from acp_console.kept.session_store import RecordedSessions

SESSIONS: Final = 20
"""Sessions that are offered, the last used first."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source to compare with; its texts are untrusted."""

    kind: str
    source: ComparisonSource
    about: str = ""

    def matches(self, text: str) -> bool:
        line = f"{self.kind} {self.source.title} {self.about}".casefold()
        return all(word in line for word in text.casefold().split())


class CompareWithScreen(FilteredList[ComparisonSource | None]):
    """Returns the source to compare with."""

    DEFAULT_CSS = """
    CompareWithScreen > Vertical { width: 90; }
    CompareWithScreen OptionList { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    line = getters.query_one(PathInput)
    options = getters.query_one(OptionList)

    def __init__(
        self,
        title: str,
        opened: Sequence[Candidate],
        folders: Sequence[Path],
        store: RecordedSessions | None = None,
    ) -> None:
        """Offer what is `opened`, then the recordings in `folders`, then the kept sessions."""
        super().__init__()
        self._title = title
        self._candidates = list(opened)
        self._folders = folders
        self._store = store
        self._shown: list[Candidate] = []

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Content(f"Compare {single_line(self._title, 40)} with…")
            box.border_subtitle = "enter compares · tab completes a path · esc closes"
            yield PathInput(placeholder="a name, or the path of a recording")
            yield OptionList(markup=False)
        yield KeyFooter()

    def on_mount(self) -> None:
        self._show()
        self._look()

    @work(thread=True)
    def _look(self) -> None:
        found: dict[Path, Candidate] = {}
        for folder in self._folders:
            for entry in recording_entries(folder):
                if isinstance(entry.target, FileSource):
                    path = entry.target.path
                    about = f"{entry.note}  {entry.detail}"
                    found.setdefault(
                        path.absolute(), Candidate("recording", recording_source(path), about)
                    )
        if self._store is not None:
            # Imported late: it takes time.
            from acp_console.kept.session_store import StoredSession

            for entry in session_entries(self._store, Path.cwd())[:SESSIONS]:
                if isinstance(entry.target, StoredSession):
                    path = entry.target.recording
                    source = recording_source(path, entry.title)
                    about = f"{entry.note}  {entry.detail}"
                    found.setdefault(path.absolute(), Candidate("session", source, about))
        self.app.call_from_thread(self._take, list(found.values()))

    def _take(self, found: list[Candidate]) -> None:
        self._candidates += found
        self._show()

    @on(PathInput.Changed)
    def filter_candidates(self) -> None:
        self._show()

    def _show(self) -> None:
        text = self.line.value
        self._shown = [each for each in self._candidates if each.matches(text)]
        width = max(self.options.scrollable_content_region.width, 30) - 4
        self.options.clear_options()
        self.options.add_options([Option(_line(each, width)) for each in self._shown])
        self.options.highlighted = 0 if self._shown else None

    @on(PathInput.Submitted)
    @on(OptionList.OptionSelected)
    def choose(self) -> None:
        text, at = self.line.value.strip(), self.options.highlighted
        path: Path | None = None
        with suppress(OSError, RuntimeError, ValueError):
            typed = Path(text).expanduser()
            path = typed if text and typed.is_file() else None
        if path is not None:
            try:
                FileSource(path).open().close()
            except AcpError as problem:
                self.notify(str(problem), severity="error", markup=False)
                return
            self.dismiss(recording_source(path))
        elif at is not None:
            self.dismiss(self._shown[at].source)
        else:
            self.notify("There is no such recording", severity="warning")


def _line(candidate: Candidate, width: int) -> Content:
    title = single_line(candidate.source.title, max(width // 2, 10))
    about = single_line(candidate.about, max(width - len(title) - 14, 1))
    return Content.assemble(
        (f"{candidate.kind:<10} ", "$text-muted"), (title, "bold"), (f"  {about}", "$text-muted")
    )
