"""Marks and comments: kept beside the recording, and never on another entry than their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App, ComposeResult

from acp_console.kept.session_store import RecordedSessions
from acp_console.traffic.marks import Mark, Marks, NotesError, NotesFile, digest
from acp_console.traffic.model import TrafficModel
from acp_console.traffic.sources import FileSource
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.screen import ChatScreen
from acp_console.tui.traffic.marks_screen import CommentScreen, MarksScreen
from acp_console.tui.traffic.pane import TrafficPane
from acp_inspector.filter.entries import EntryList, RecordingEntries
from acp_inspector.journal import Frame, JournalEvent
from acp_protocol.host.state import state_directory
from tests.console.tui.analysis_app import EVIL, recording
from tests.console.tui.chats import open_chat
from tests.console.tui.conftest import notices, say, settled, until


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return recording(tmp_path)


def notes_of(path: Path) -> Path:
    return path.with_name("talk.notes.json")


def marks_of(path: Path, recording: RecordingEntries) -> Marks:
    """Return the marks of a recording as another start of the console finds them."""
    view = TrafficModel(recording, notes=lambda: (NotesFile(path),))
    view.marks.load()
    view.marks.find_entries()
    return view.marks


class PaneApp(App[None]):
    """An app with nothing but the traffic of a recording."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.recording = RecordingEntries(path)

    def compose(self) -> ComposeResult:
        yield TrafficPane(self.recording, notes=lambda: (NotesFile(self._path),))

    def on_mount(self) -> None:
        self.pane.goes_on = self.pane.table.is_following = False
        self.pane.table.focus()

    def on_unmount(self) -> None:
        self.recording.close()

    @property
    def pane(self) -> TrafficPane:
        return self.query_one(TrafficPane)


# The file


def test_marks_and_comments_come_back_with_the_recording(path: Path) -> None:
    before = path.read_bytes()
    with RecordingEntries(path).index_all() as recorded:
        marks = marks_of(path, recorded)
        marks.set(3, " look at this ")
        marks.set(7)
        marks.set(9)
        marks.remove(9)
        again = marks_of(path, recorded)
    assert again.rows == [3, 7]
    assert (again.comment(3), again.comment(7), again.comment(9)) == ("look at this", "", "")
    assert notes_of(path).stat().st_mode & 0o777 == 0o600
    assert path.read_bytes() == before


def test_the_file_goes_with_the_last_mark(path: Path) -> None:
    with RecordingEntries(path).index_all() as recorded:
        marks = marks_of(path, recorded)
        marks.set(3)
        assert notes_of(path).exists()
        marks.remove(3)
    assert not notes_of(path).exists()


def test_a_mark_of_a_changed_entry_is_stale_and_on_no_other(path: Path) -> None:
    with RecordingEntries(path).index_all() as recorded:
        marks_of(path, recorded).set(6, "Word by word")
    path.write_bytes(path.read_bytes().replace(b"/tour", b"/tuor"))
    with RecordingEntries(path).index_all() as changed:
        marks = marks_of(path, changed)
        assert marks.rows == []
        assert [(each.seq, each.comment) for each in marks.stale] == [(7, "Word by word")]
        # An entry of the same number has a mark of its own.
        marks.set(6, "new")
        again = marks_of(path, changed)
        assert (again.rows, again.comment(6), len(again.stale)) == ([6], "new", 1)
        again.remove_stale(again.stale[0])
        assert marks_of(path, changed).stale == []


def test_a_mark_behind_the_end_of_a_cut_file_is_stale(path: Path) -> None:
    with RecordingEntries(path).index_all() as recorded:
        marks_of(path, recorded).set(40)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:20]))
    with RecordingEntries(path) as cut:
        marks = Marks(cut, cut.row_of, lambda: (NotesFile(path),))
        marks.load()
        marks.find_entries()
        # It may still come while the file is read.
        assert marks.stale == []
        cut.index_all()
        marks.find_entries()
        assert [each.seq for each in marks.stale] == [41]


def test_two_consoles_keep_each_others_marks(path: Path) -> None:
    with RecordingEntries(path).index_all() as recorded:
        one, other = marks_of(path, recorded), marks_of(path, recorded)
        one.set(3, "one")
        other.set(5, "other")
        one.set(3, "changed")
        assert marks_of(path, recorded).rows == [3, 5]
        assert marks_of(path, recorded).comment(3) == "changed"


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        '{"v": 2, "marks": []}',
        '{"v": 1, "marks": [], "more": 1}',
        '{"v": 1, "marks": [{"seq": "x", "digest": ""}]}',
        '{"v": 1, "marks": []}' + " " * 2**20,
    ],
)
def test_a_file_that_is_not_understood_is_left_as_it_is(path: Path, text: str) -> None:
    notes_of(path).write_text(text)
    entry = Frame(1, 0.0, "client", b"{}")
    with pytest.raises(NotesError):
        NotesFile(path).change(None, Mark(1, digest(entry)))
    assert notes_of(path).read_text() == text


def test_no_other_file_is_read_or_replaced_through_a_link(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"v": 1, "marks": []}')
    notes_of(path).symlink_to(other)
    with pytest.raises(NotesError, match="cannot be read"):
        NotesFile(path).change(None, Mark(1, "0"))
    assert other.read_text() == '{"v": 1, "marks": []}'


def test_marks_of_what_cannot_have_a_file_beside_it_are_in_the_state_directory() -> None:
    # Not even root can make a file there.
    notes = NotesFile(Path("/proc/self/status"))
    notes.change(None, Mark(1, "0", "kept"))
    assert [each.comment for each in notes.read()] == ["kept"]
    (file,) = (state_directory() / "notes").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert NotesFile(Path("/proc/self/stat")).read() == []


def test_entries_are_told_apart_by_what_they_say_alone() -> None:
    first = Frame(1, 0.0, "client", b"{}")
    assert digest(first) == digest(Frame(2, 5.0, "client", b"{}"))
    assert digest(first) != digest(Frame(1, 0.0, "client", b"{ }"))
    event = JournalEvent(1, 0.0, "exit", {"code": 0})
    assert digest(event) != digest(JournalEvent(1, 0.0, "exit", {"code": 1}))


def test_a_journal_in_several_recordings_has_its_marks_beside_each(tmp_path: Path) -> None:
    said = [Frame(n, n / 10, "client", b"%d" % n) for n in range(1, 7)]
    first, second = tmp_path / "a.acp.ndjson", tmp_path / "b.acp.ndjson"
    parts = [NotesFile(first), NotesFile(second, after=4, offset=-4)]
    view = TrafficModel(EntryList(said), notes=lambda: parts)
    view.marks.set(1)
    view.marks.set(4, "restarted")
    assert [each.seq for each in NotesFile(first).read()] == [2]
    assert [(each.seq, each.comment) for each in NotesFile(second).read()] == [(1, "restarted")]
    again = TrafficModel(EntryList(said), notes=lambda: parts)
    again.marks.load()
    again.marks.find_entries()
    assert again.marks.rows == [1, 4]


# The screen


async def test_a_comment_is_typed_shown_and_there_the_next_time(path: Path) -> None:
    app = PaneApp(path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "53 entries" in say(app))
        await pilot.press("down", "M")
        await until(pilot, lambda: isinstance(app.screen, CommentScreen))
        await pilot.press(*"why?", "enter")
        await until(pilot, lambda: "◆ why?" in say(app) and "1 marked" in say(app))
    again = PaneApp(path)
    async with again.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "1 marked" in say(again))
        await pilot.press("right_square_bracket", "m")
        await until(pilot, lambda: "◆ why?" in say(again))
        # In the row, in the line below the rows, and before the comment.
        assert say(again).count("◆") == 3
        await pilot.press("M")
        await until(pilot, lambda: isinstance(again.screen, CommentScreen))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(again.screen, CommentScreen))
        assert NotesFile(path).read()[0].comment == "why?"


async def test_marks_are_filtered_as_soon_as_they_are_found(path: Path) -> None:
    with RecordingEntries(path).index_all() as recorded:
        marks_of(path, recorded).set(6)
    app = PaneApp(path)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("slash", *"marked", "enter")
        await until(pilot, lambda: "1 of 53 entries" in say(app))


@pytest.mark.long
async def test_the_list_changes_removes_and_leads_to_marks(path: Path) -> None:
    app = PaneApp(path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "53 entries" in say(app))
        await pilot.press("down", "m", "down", "m", "down", "m", "apostrophe")
        await until(pilot, lambda: "3 marks" in say(app))
        await pilot.press("down", "M")
        await until(pilot, lambda: isinstance(app.screen, CommentScreen))
        await pilot.press(*"second", "enter")
        await until(pilot, lambda: isinstance(app.screen, MarksScreen) and "second" in say(app))
        await pilot.press("up", "delete")
        await until(pilot, lambda: "2 marks" in say(app))
        await pilot.press("home", "enter")
        await until(pilot, lambda: "◆ second" in say(app) and "2 marked" in say(app))
        assert app.pane.table.chosen == 3
        await pilot.press("apostrophe", "m", "m")
        await until(pilot, lambda: not isinstance(app.screen, MarksScreen))
        assert "marked" not in say(app)
        assert not notes_of(path).exists()


async def test_a_stale_mark_is_shown_leads_nowhere_and_can_be_removed(path: Path) -> None:
    with RecordingEntries(path).index_all() as recorded:
        marks_of(path, recorded).set(6, "gone")
    path.write_bytes(path.read_bytes().replace(b"/tour", b"/tuor"))
    app = PaneApp(path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "1 stale mark" in say(app))
        assert "◆" not in say(app)
        await pilot.press("apostrophe")
        await until(pilot, lambda: "stale: this entry" in say(app) and "gone" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: "no such entry" in notices(app))
        await pilot.press("delete")
        await until(pilot, lambda: "stale" not in say(app))


async def test_comments_from_elsewhere_are_shown_as_text(path: Path) -> None:
    with RecordingEntries(path).index_all() as recorded:
        marks_of(path, recorded).set(0, f"x {EVIL}")
    app = PaneApp(path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "◆ x ␛[31m[b]red[/b]" in say(app))
        await pilot.press("apostrophe")
        await until(pilot, lambda: isinstance(app.screen, MarksScreen))
        await until(pilot, lambda: "x ␛[31m[b]red[/b]" in say(app))
        assert "\x1b" not in say(app)


async def test_marks_that_cannot_be_kept_are_reported_and_stay_on_the_screen(path: Path) -> None:
    notes_of(path).write_text("no JSON")
    app = PaneApp(path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "are not used" in notices(app))
        await pilot.press("m")
        await until(pilot, lambda: "1 marked" in say(app) and notices(app).count("not used") == 2)
    assert notes_of(path).read_text() == "no JSON"


@pytest.mark.long
async def test_marks_of_a_chat_are_beside_its_recording(workplace: Path) -> None:
    store = RecordedSessions(workplace / "sessions")
    async with open_chat(workplace, store=store) as (app, pilot):
        await pilot.press(*"read notes.txt", "enter")
        await until(pilot, lambda: "returned" in say(app) and "● ready" in say(app))
        await pilot.press("f2")
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        await until(
            pilot, lambda: screen.traffic.is_shown and screen.traffic.pane.traffic.table.has_focus
        )
        await pilot.press("home", "down", "M")
        await until(pilot, lambda: isinstance(app.screen, CommentScreen))
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "1 marked" in say(app))
    (session,) = store.sessions()
    with RecordingEntries(session.recording).index_all() as recorded:
        marks = marks_of(session.recording, recorded)
        assert [marks.comment(row) for row in marks.rows] == ["hello"]
        assert marks.stale == []
    store.remove(session)
    assert list((workplace / "sessions").iterdir()) == []


@pytest.mark.long
async def test_the_list_of_marks_looks_as_it_should(picture: SnapshotAssertion, path: Path) -> None:
    with RecordingEntries(path).index_all() as recorded:
        marks = marks_of(path, recorded)
        marks.set(6, "what the user wants")
        marks.set(9)
        marks.set(12, "first word of a long answer")
        NotesFile(path).change(None, Mark(40, "0", "something that was here before"))
    app = ConsoleApp(cwd=Path(), watch=[FileSource(path)])
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "3 marked · 1 stale mark · 6 findings" in say(app))
        await pilot.press("apostrophe", "down")
        await until(pilot, lambda: "4 marks" in say(app))
        assert await settled(pilot) == picture
