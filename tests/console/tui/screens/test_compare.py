"""Two sources are compared side by side: what differs, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App

from acp_console.traffic.comparison import ComparisonRun, ComparisonSource, recording_source
from acp_console.traffic.sources import FileSource
from acp_console.tui import outside
from acp_console.tui.app import ConsoleApp
from acp_console.tui.compare.choice import CompareWithScreen
from acp_console.tui.compare.screen import CompareScreen, StepScreen
from acp_console.tui.path_input import completed_path
from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.format import Header
from acp_inspector.recording.writer import RecordingWriter
from tests.console.tui.analysis_app import EVIL
from tests.console.tui.chats import open_chat
from tests.console.tui.conftest import entries, notices, say, settled, until, update

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def talk(
    answer: str, *, session: str = "s1", title: str = "Read notes.md", is_long: bool = False
) -> list[Entry]:
    """Return a turn with a tool call and an answer."""
    more = [
        update("tool_call", toolCallId=f"c{n}", title=f"Step {n}", status="completed")
        for n in range(4)
    ]
    extra = [update("plan", entries=[{"content": "check", "status": "pending"}])] * is_long
    said = entries(
        ("client", {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}),
        ("agent", {"id": 0, "result": {"protocolVersion": 1}}),
        ("client", {"id": 1, "method": "session/new", "params": {"cwd": "/w"}}),
        ("agent", {"id": 1, "result": {"sessionId": "s1"}}),
        (
            "client",
            {
                "id": 2,
                "method": "session/prompt",
                "params": {"sessionId": "s1", "prompt": [{"type": "text", "text": "go on"}]},
            },
        ),
        *more,
        update("tool_call", toolCallId="t", title=title, kind="read", status="completed"),
        *extra,
        update("agent_message_chunk", content={"type": "text", "text": answer}),
        ("agent", {"id": 2, "result": {"stopReason": "end_turn"}}),
    )
    return [
        replace(each, data=each.data.replace(b'"s1"', f'"{session}"'.encode()))
        for each in said
        if isinstance(each, Frame)
    ]


def recorded(folder: Path, name: str, said: list[Entry]) -> Path:
    path = folder / f"{name}.acp.ndjson"
    writer = RecordingWriter(path, Header("2026-01-01T00:00:00+00:00", "a test", ""))
    writer.write(said)
    writer.close()
    return path


LONG = "The notes say that the value of the setting is "
LEFT = talk(f"{LONG * 4}seven.")
RIGHT = talk(f"{LONG * 4}eight.", session="x9", title="Read NOTES.md", is_long=True)


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    return recorded(tmp_path, "before", LEFT), recorded(tmp_path, "after", RIGHT)


class CompareApp(App[None]):
    """An app with nothing but the comparison."""

    def __init__(self, left: ComparisonSource, right: ComparisonSource) -> None:
        super().__init__()
        self.compared = CompareScreen(left, right)

    def on_mount(self) -> None:
        self.push_screen(self.compared)


def compared(left: list[Entry], right: list[Entry]) -> CompareApp:
    return CompareApp(
        ComparisonSource("left", lambda: left), ComparisonSource("right", lambda: right)
    )


@pytest.mark.parametrize("size", [(80, 24), (160, 40)])
async def test_the_differences_are_counted_shown_and_gone_to(size: tuple[int, int]) -> None:
    app = compared(LEFT, RIGHT)
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: "2 changed · 1 right only · 10 equal" in say(app))
        shown = say(app)
        assert "9 equal steps" in shown
        assert "Read notes.md" in shown
        assert "Read NOTES.md" in shown
        # The texts differ only at their end.
        assert "seven." in shown
        assert "eight." in shown
        pairs = app.compared.pairs
        assert pairs.chosen is not None
        assert pairs.chosen.differences[0].path == "$.params.update.title"
        await pilot.press("n")
        assert pairs.chosen.differences[0].kind == "right only"
        await pilot.press("n")
        assert pairs.chosen.differences[0].kind == "changed"
        await pilot.press("n")
        await until(pilot, lambda: "No more differences" in notices(app))
        await pilot.press("N", "N")
        assert pairs.chosen.differences[0].path == "$.params.update.title"


async def test_wide_both_sides_are_beside_each_other_and_d_changes_that() -> None:
    app = compared(LEFT, RIGHT)
    async with app.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: "2 changed" in say(app))
        lines = say(app).splitlines()
        assert any("seven." in line and "eight." in line for line in lines)
        await pilot.press("d")
        lines = say(app).splitlines()
        assert not any("seven." in line and "eight." in line for line in lines)


async def test_equal_steps_are_folded_until_they_are_wanted() -> None:
    app = compared(LEFT, RIGHT)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "9 equal steps" in say(app))
        assert "session/new" not in say(app)
        await pilot.press("home", "space")
        await until(pilot, lambda: "session/new" in say(app))
        await pilot.press("down", "down", "space")
        await until(pilot, lambda: "9 equal steps" in say(app))
        assert app.compared.pairs.cursor == 0


async def test_enter_shows_both_messages_whole_and_y_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied: list[str] = []
    monkeypatch.setattr(outside.pyperclip, "copy", copied.append)
    app = compared(LEFT, RIGHT)
    async with app.run_test(size=(100, 40), notifications=True) as pilot:
        await until(pilot, lambda: "2 changed" in say(app))
        await pilot.press("y")
        await until(pilot, lambda: copied)
        assert "$.params.update.title" in copied[0]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, StepScreen))
        await until(pilot, lambda: '"kind": "read"' in say(app))
        await until(pilot, lambda: "left: frame 10 · right: frame 10" in say(app))
        await pilot.press("y")
        await until(pilot, lambda: len(copied) == 2)
        assert '-    "title": "Read notes.md",' in copied[1]
        assert '+    "title": "Read NOTES.md",' in copied[1]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.compared)


async def test_what_is_the_same_has_no_differences() -> None:
    app = compared(LEFT, talk(f"{LONG * 4}seven.", session="other"))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "12 equal steps" in say(app))
        assert "changed" not in say(app)
        await pilot.press("y")
        await pilot.press("enter")
        await until(pilot, lambda: "session/new" in say(app))


async def test_text_from_the_wire_is_shown_as_text() -> None:
    app = compared(talk(f"x {EVIL}"), talk(f"y {EVIL}"))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "1 changed" in say(app))
        assert "[b]red[/b]" in say(app)
        assert "\x1b" not in say(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, StepScreen))
        await until(pilot, lambda: "[b]red[/b]" in say(app))
        assert "\x1b" not in say(app)


async def test_a_comparison_that_runs_is_ended_by_leaving() -> None:
    entry = LEFT[0]

    def endless() -> Iterator[Entry]:
        while True:
            yield entry

    app = CompareApp(ComparisonSource("big", endless), ComparisonSource("right", lambda: RIGHT))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "reading big:" in say(app) and "esc cancels" in say(app))
        run = app.compared.run_
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not app.compared)
        await until(pilot, lambda: run.is_over)
        assert run.found is None


def test_only_the_first_entries_of_a_very_long_recording_are_compared() -> None:
    left, right = ComparisonSource("a", lambda: LEFT), ComparisonSource("b", lambda: LEFT[:5])
    run = ComparisonRun(left, right, max_entries=5)
    run.start()
    run.wait()
    assert run.found is not None
    assert run.found.differences == ()
    assert run.cut == "only the first 5 entries of a"


async def test_a_source_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    gone = recording_source(tmp_path / "gone.acp.ndjson")
    app = CompareApp(gone, ComparisonSource("right", lambda: RIGHT))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "This cannot be compared." in say(app))
        assert "no such file" in notices(app)


# Choosing


async def test_the_other_recording_of_inspect_comes_first(paths: tuple[Path, Path]) -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(path) for path in paths])
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, CompareWithScreen))
        await until(pilot, lambda: "open       after.acp.ndjson" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: "before.acp.ndjson  ↔  after.acp.ndjson" in say(app))
        await until(pilot, lambda: "2 changed · 1 right only · 10 equal" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "■ recording" in say(app))


async def test_a_path_is_completed_and_compared(paths: tuple[Path, Path]) -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(paths[0])])
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, CompareWithScreen))
        await pilot.press(*"./af")
        screen = app.screen
        assert isinstance(screen, CompareWithScreen)
        await until(pilot, lambda: "./after.acp.ndjson" in say(app))
        await pilot.press("tab")
        assert screen.line.value == "./after.acp.ndjson"
        await pilot.press("enter")
        await until(pilot, lambda: "2 changed" in say(app))


async def test_what_is_no_recording_is_refused_where_it_was_typed(
    paths: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "x.txt").write_text("no recording\n")
    app = ConsoleApp(cwd=Path(), watch=[FileSource(paths[0])])
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, CompareWithScreen))
        await pilot.press(*"x.txt", "enter")
        await until(pilot, lambda: "x.txt" in notices(app))
        assert isinstance(app.screen, CompareWithScreen)
        await pilot.press("escape")
        await until(pilot, lambda: "■ recording" in say(app))


async def test_a_chat_is_compared_with_a_recording(
    workplace: Path, paths: tuple[Path, Path]
) -> None:
    async with open_chat(workplace, size=(120, 40)) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Traffic" in say(app))
        await pilot.press("home", "D")
        await until(pilot, lambda: "recording  before.acp.ndjson" in say(app))
        await pilot.press(*"before", "enter")
        await until(pilot, lambda: "Demo agent  ↔  before.acp.ndjson" in say(app))
        await until(pilot, lambda: "right only" in say(app))


def test_a_path_is_completed_to_the_first_name_that_begins_so(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / ".hidden").touch()
    assert completed_path("fo") == "folder/"
    assert completed_path(f"{tmp_path}/folder/") == f"{tmp_path}/folder/file"
    assert completed_path(".h") == ".hidden"
    assert completed_path("nothing") is completed_path("") is None


async def test_a_comparison_looks_as_it_should(
    picture: SnapshotAssertion, paths: tuple[Path, Path]
) -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(path) for path in paths])
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, CompareWithScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "2 changed · 1 right only · 10 equal" in say(app))
        assert await settled(pilot) == picture


RUN = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
OTHER_RUN = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


async def test_what_was_tolerated_is_shown_below_the_steps() -> None:
    app = compared(talk(f"run {RUN}"), talk(f"run {OTHER_RUN}"))
    async with app.run_test(size=(100, 24)) as pilot:
        await until(pilot, lambda: "12 equal" in say(app))
        assert "tolerated: 1 value bound by shape" in say(app)


async def test_nothing_is_shown_below_the_steps_if_nothing_was_tolerated() -> None:
    app = compared(LEFT, LEFT)
    async with app.run_test(size=(100, 24)) as pilot:
        await until(pilot, lambda: "12 equal" in say(app))
        assert "tolerated" not in say(app)


@pytest.mark.parametrize("width", [40, 120])
async def test_several_tolerances_are_named_also_where_the_line_does_not_fit(width: int) -> None:
    usage = update("usage_update", used=1, size=2), update("usage_update", used=3, size=2)
    mode = update("current_mode_update", currentModeId="ask")
    left = [*talk(f"pid 100, run {RUN}"), *entries(mode, usage[0])]
    right = [*talk(f"pid 100, run {OTHER_RUN}"), *entries(usage[1], mode)]
    app = compared(left, right)
    async with app.run_test(size=(width, 24)) as pilot:
        await until(pilot, lambda: "equal" in say(app))
        tolerated = say(app).partition("tolerated: ")[2].split("⏎")[0]
        assert " ".join(tolerated.split()) == "1 usage number, 1 value bound by shape"


async def test_a_whole_step_looks_as_it_should(picture: SnapshotAssertion) -> None:
    app = ConsoleApp(cwd=Path())
    async with app.run_test(size=(120, 40)) as pilot:
        left, right = ComparisonSource("a", lambda: LEFT), ComparisonSource("b", lambda: RIGHT)
        app.push_screen(CompareScreen(left, right))
        await until(pilot, lambda: "2 changed" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, StepScreen))
        assert await settled(pilot) == picture
