"""Rows are saved as a recording or as text: all or some of them, with or without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.pilot import Pilot

from acp_console.traffic.model import TrafficModel
from acp_console.traffic.saving import SaveFormat, save_rows
from acp_console.tui.confirm import ConfirmScreen
from acp_console.tui.themes import ThemedApp
from acp_console.tui.traffic.pane import TrafficPane
from acp_console.tui.traffic.save_screen import SaveScreen
from acp_inspector.filter.entries import ENTRY_TYPES, EntryList, RecordingEntries
from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.recording.format import Header, RecordingError
from acp_inspector.recording.reader import read_header
from acp_inspector.recording.writer import RecordingWriter
from acp_protocol.jsonrpc import Json
from tests.console.conftest import Call
from tests.console.tui.conftest import entries, notices, say, until, update

TOKEN = "ghp_" + "a1B2" * 9
TALK = entries(
    ("client", {"id": 1, "method": "session/prompt", "params": {"sessionId": "s1"}}),
    update("agent_message_chunk", content={"type": "text", "text": f"token {TOKEN}"}),
    ("agent", {"id": 1, "result": {"stopReason": "end_turn"}}),
)


@pytest.fixture(autouse=True)
def own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


class PaneApp(App[None]):
    """An app with nothing but the pane."""

    def compose(self) -> ComposeResult:
        yield TrafficPane()

    def on_mount(self) -> None:
        self.query_one(TrafficPane).extend(TALK)
        self.query_one(TrafficPane).table.focus()


class ThemedPaneApp(PaneApp, ThemedApp[None]):
    """The same in a theme of ours, which dialogs of the console need."""


async def opened(app: PaneApp, pilot: Pilot[Any]) -> SaveScreen:
    """Open the dialog, and return it once it says what it would save."""
    await pilot.press("ctrl+s")
    await until(pilot, lambda: isinstance(app.screen, SaveScreen) and " of 3, " in say(app))
    screen = app.screen
    assert isinstance(screen, SaveScreen)
    return screen


async def test_what_the_filter_shows_is_saved_without_its_secrets(tmp_path: Path) -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("slash", *"from == agent", "enter")
        await until(pilot, lambda: "2 of 3 entries" in say(app))
        await opened(app, pilot)
        assert "filtered rows: 2 of 3, 281 B · as recording, without secrets" in say(app)
        await pilot.press("enter")
        await until(pilot, lambda: "1 secret replaced" in notices(app))
        path = tmp_path / "saved.acp.ndjson"
        assert TOKEN not in path.read_text()
        with RecordingEntries(path).index_all() as saved:
            # Two entries, and the footer.
            assert len(saved) == 3


async def test_enter_saves_wherever_the_focus_is_and_signs_show_what_is_chosen(
    tmp_path: Path,
) -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        screen = await opened(app, pilot)
        assert all(sign in say(app) for sign in ("(•) all", "( ) marked", "[x] replace secrets"))
        screen.query_one("#save-format").focus()
        await pilot.press("down", "space")
        await until(pilot, lambda: "( ) as recording" in say(app) and "(•) as text" in say(app))
        size = screen.query_one(Vertical).size
        screen.query_one("#save-redacted").focus()
        await pilot.press("space")
        await until(pilot, lambda: "[ ] replace secrets" in say(app))
        assert screen.query_one(Vertical).size == size, "nothing moves as the focus does"
        await pilot.press("enter")
        await until(pilot, lambda: "Saved to" in notices(app))
        assert TOKEN in (tmp_path / "saved.txt").read_text()


async def test_a_file_is_replaced_only_by_one_who_agrees(tmp_path: Path) -> None:
    path = tmp_path / "saved.acp.ndjson"
    path.write_text("mine")
    app = ThemedPaneApp()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await opened(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        assert "exists already" in say(app)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, SaveScreen))
        assert path.read_text() == "mine"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: "Saved to" in notices(app))
        assert path.read_text().startswith('{"acp_recording"')


@pytest.mark.long
async def test_marked_rows_are_saved_as_markdown_with_their_secrets(tmp_path: Path) -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("home", "down", "m")
        screen = await opened(app, pilot)
        await pilot.click(screen.query("#save-rows RadioButton")[2])
        await pilot.click(screen.query("#save-format RadioButton")[3])
        await until(pilot, lambda: screen.line.value == "saved.md")
        await pilot.click("#save-redacted")
        await until(pilot, lambda: "marked rows: 1 of 3" in say(app) and "WITH all" in say(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Saved to" in notices(app))
        path = tmp_path / "saved.md"
        assert path.read_text() == f"# s1\n\n## Agent\n\ntoken {TOKEN}\n\n"
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.long
async def test_what_is_no_name_of_a_file_is_not_saved_to(tmp_path: Path) -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        screen = await opened(app, pilot)
        for text in ("", str(tmp_path), "a\0b"):
            screen.line.value = text
            app.clear_notifications()
            await pilot.press("ctrl+s")
            await until(pilot, lambda: "Write the name of a file" in notices(app))


@pytest.mark.parametrize("redacts", [False, True])
def test_text_and_json_are_what_show_prints(tmp_path: Path, call: Call, redacts: bool) -> None:
    recorded = tmp_path / "a.acp.ndjson"
    save_rows(EntryList(TALK), range(3), recorded, redacts=redacts)
    shown: dict[SaveFormat, list[object]] = {
        "text": ["show", recorded],
        "JSON lines": ["show", "--format", "json", recorded],
    }
    for format_, command in shown.items():
        path = tmp_path / "saved"
        save_rows(
            EntryList(TALK), range(3), path, redacts=redacts, format_=format_, overwrites=True
        )
        assert path.read_text() == call(*map(str, command)).out
        assert (TOKEN in path.read_text()) is not redacts


def test_a_response_alone_still_knows_its_request(tmp_path: Path) -> None:
    path = tmp_path / "saved.jsonl"
    save_rows(EntryList(TALK), [2], path, redacts=True, format_="JSON lines")
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["method"] == "session/prompt"
    assert json.loads(line)["latency"] == pytest.approx(0.2)


def test_markdown_is_what_sessions_export_writes_of_the_conversation(tmp_path: Path) -> None:
    path = tmp_path / "saved.md"
    assert save_rows(EntryList(TALK), range(3), path, redacts=True, format_="Markdown") == 1
    text = path.read_text()
    assert text.startswith("# s1\n\n## You\n\n## Agent\n\ntoken ")
    assert TOKEN not in text


def test_an_edited_frame_is_saved_as_it_was_sent_except_in_a_recording(
    tmp_path: Path, call: Call
) -> None:
    asked = {"sessionId": "s1", "prompt": [{"type": "text", "text": "bread"}]}
    message = {"id": 1, "method": "session/prompt", "params": asked}
    [frame] = entries(("client", message))
    assert isinstance(frame, Frame)
    change: dict[str, Json] = {"of": 1, "by": "person", "was": frame.data.decode()}
    change["now"] = frame.data.replace(b"bread", b"cheese").decode()
    said, recorded = (
        EntryList([frame, JournalEvent(2, 0.2, "edited", change)]),
        tmp_path / "a.acp.ndjson",
    )
    save_rows(said, range(2), recorded, redacts=False)
    shown: dict[SaveFormat, str] = {
        "text": call("show", "--filter", "n > 0 or event", str(recorded)).out,
        "JSON lines": call("show", "--json", "--filter", "n > 0 or event", str(recorded)).out,
        "Markdown": "# s1\n\n## You\n\ncheese\n\n"
        '*✎ text "bread" → "cheese" in frame 1, edited by a person*\n\n',
    }
    for format_, text in shown.items():
        path = tmp_path / "saved"
        save_rows(said, range(2), path, redacts=False, format_=format_, overwrites=True)
        assert "cheese" in text
        assert path.read_text() == text


@pytest.mark.parametrize("redacts", [False, True])
@pytest.mark.parametrize("format_", ["text", "JSON lines", "Markdown"])
def test_an_edited_frame_is_saved_as_it_was_sent_without_the_event_that_says_so(
    tmp_path: Path, format_: SaveFormat, redacts: bool
) -> None:
    asked = {"sessionId": "s1", "prompt": [{"type": "text", "text": "bread"}]}
    [frame] = entries(("client", {"id": 1, "method": "session/prompt", "params": asked}))
    assert isinstance(frame, Frame)
    change: dict[str, Json] = {"of": 1, "by": "person", "was": frame.data.decode()}
    change["now"] = frame.data.replace(b"bread", b"cheese").decode()
    event = JournalEvent(2, 0.2, "edited", change)
    view, path = TrafficModel(EntryList([frame, event])), tmp_path / "saved"
    view.annotations.note_edit(event)
    rows = [0]
    save_rows(
        view.entries, rows, path, redacts=redacts, format_=format_, edits=view.edit_rows(rows)
    )
    text = path.read_text()
    assert "cheese" in text
    assert "✎" in text or format_ == "JSON lines"
    assert "bread" not in text


def test_what_exists_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "saved.txt"
    path.write_text("mine")
    for format_ in get_args(SaveFormat):
        for redacts in (False, True):
            with pytest.raises(RecordingError, match="exists"):
                save_rows(EntryList(TALK), [0], path, redacts=redacts, format_=format_)
    assert path.read_text() == "mine"


@pytest.mark.long
async def test_what_can_be_saved_is_counted_and_the_name_follows_the_format() -> None:
    app = PaneApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", *"from == agent", "enter")
        await until(pilot, lambda: "2 of 3 entries" in say(app))
        screen = await opened(app, pilot)
        await pilot.click(screen.query("#save-format RadioButton")[1])
        await until(pilot, lambda: "as text, without" in say(app))
        assert screen.line.value == "saved.txt"
        for row in ("all rows (3)", "filtered rows (2)", "marked rows (0)", "the chosen row (1)"):
            assert row in say(app)


def test_a_recording_is_saved_whole_as_it_is(tmp_path: Path) -> None:
    first, second = tmp_path / "a.acp.ndjson", tmp_path / "b.acp.ndjson"
    save_rows(EntryList(TALK), range(3), first, redacts=False)
    with RecordingEntries(first).index_all() as recording:
        save_rows(recording, range(len(recording)), second, redacts=False)
    with RecordingEntries(second).index_all() as saved:
        assert saved[:3] == TALK


@pytest.mark.parametrize(
    ("header", "named", "dialect"),
    [
        (None, "v2-batch", "v2-batch"),
        ("acpex", None, "acpex"),
        ("acpex", "openoxide", "openoxide"),
        ("acpex", "none", None),
        (None, None, None),
    ],
)
def test_rows_are_saved_with_the_dialect_that_their_recording_has_named(
    tmp_path: Path, header: str | None, named: str | None, dialect: str | None
) -> None:
    whole, part = tmp_path / "a.acp.ndjson", tmp_path / "b.acp.ndjson"
    events = [JournalEvent(1, 0.0, "dialect", {"dialect": named})] if named else []
    writer = RecordingWriter(whole, Header("", "", "", dialect=header))
    writer.write([*events, Frame(2, 0.1, "agent", b"{}")])
    writer.close()
    with RecordingEntries(whole).index_all() as recording:
        save_rows(recording, [len(events)], part, redacts=False)
    assert read_header(part).dialect == dialect


@pytest.mark.parametrize("is_live", [True, False])
def test_rows_of_a_dialect_are_saved_by_their_meaning(tmp_path: Path, is_live: bool) -> None:
    """Also rows of which no one shows the dialect; a recording of them names it."""
    path = Path(__file__).parents[4] / "recordings/dialects/continuum-client.acp.ndjson"
    with RecordingEntries(path).index_all() as recording:
        said = EntryList(row for row in recording if isinstance(row, ENTRY_TYPES))
        source = said if is_live else recording
        rows = [row for row in range(len(source)) if isinstance(source[row], Frame)][9:12]
        for format_ in get_args(SaveFormat):
            save_rows(source, rows, tmp_path / format_, redacts=False, format_=format_)
    prompt = "Explain the architecture of this project"
    assert f'"{prompt}"' in (tmp_path / "text").read_text()
    (first, *_) = map(json.loads, (tmp_path / "JSON lines").read_text().splitlines())
    assert (first["method"], first["summary"]) == ("session/prompt", f'"{prompt}"')
    assert prompt in (tmp_path / "Markdown").read_text()
    assert read_header(tmp_path / "recording").dialect == "continuum"
