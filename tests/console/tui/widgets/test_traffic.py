"""The traffic: rows, filter, detail; built from a journal and built again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.events import MouseScrollDown, MouseScrollUp
from textual.pilot import Pilot

from acp_console.tui import outside
from acp_console.tui.traffic.pane import SLICE_S, TrafficPane
from acp_console.tui.traffic.text_view import ValueScreen
from acp_inspector.filter.entries import RecordingEntries
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Header, encode_entry, encode_header
from tests.console.tui.conftest import entries, paste, say, until, update


@pytest.fixture(autouse=True)
def own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


TALK = entries(
    (
        "client",
        {
            "id": 1,
            "method": "session/prompt",
            "params": {"sessionId": "s1", "prompt": [{"type": "text", "text": "hello"}]},
        },
    ),
    update("agent_message_chunk", content={"type": "text", "text": "Hello [b]you[/b]\x1b[31m"}),
    ("agent", b"this is no JSON \xff"),
    ("agent", {"id": 1, "result": {"stopReason": "end_turn"}}),
)


class PaneApp(App[None]):
    """An app with nothing but the pane."""

    def compose(self) -> ComposeResult:
        yield TrafficPane()

    def on_mount(self) -> None:
        self.query_one(TrafficPane).extend(TALK)
        self.query_one(TrafficPane).table.focus()


async def type_filter(pilot: Pilot[None], text: str) -> None:
    await pilot.press("slash")
    await paste(pilot, text, "enter")


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (50, "n client agent"),
        (60, "n time client agent latency"),
        (100, "n time client agent latency size"),
        (200, "n time gap Δ id session client agent latency size"),
    ],
)
async def test_each_message_is_an_arrow_and_a_wide_terminal_has_more_columns(
    width: int, columns: str
) -> None:
    arrows = (
        r' 1 .*●──? (session/)?prompt "hello" ─+▶ ',
        r' 2 .*◀┄┄? (agent_message_chunk|message) "Hello\b.* ┄+ ',
        r" 3 .*◀──? malformed: invalid\b.* ─*✗ ",
        r" 4 .*◀──? (session/)?prompt result .*end_turn ─+○ ",
    )
    app = PaneApp()
    async with app.run_test(size=(width, 24)) as pilot:
        await until(pilot, lambda: "end_turn" in say(app))
        heading, *rows = say(app).splitlines()[2:7]
        assert heading.strip("│ ").split() == columns.split()
        assert all(map(re.search, arrows, rows))


async def test_text_from_the_wire_is_neither_markup_nor_escape() -> None:
    app = PaneApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "stopReason" in say(app))
        assert "Hello [b]you[/b]␛[31m" in say(app)
        assert "\x1b" not in say(app)


async def test_a_frame_that_is_no_json_is_told_and_shown_raw() -> None:
    app = PaneApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("up")
        await until(pilot, lambda: "invalid UTF-8 at byte 16" in say(app))


async def test_the_filter_counts_what_it_lets_through() -> None:
    app = PaneApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("slash", *"STOPREASON", "enter")
        await until(pilot, lambda: "1 of 4 entries" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "4 entries" in say(app) and " of " not in say(app))


async def test_the_gap_counts_from_a_frame_that_the_filter_hides() -> None:
    app = PaneApp()
    async with app.run_test(size=(200, 30)) as pilot:
        await type_filter(pilot, "from == client or stopReason")
        await until(pilot, lambda: "2 of 4 entries" in say(app))
        head, first, last = (line.split() for line in say(app).splitlines()[2:5])
        assert head[1:5] == ["n", "time", "gap", "Δ"]
        assert first[2:4] == ["0.100", "0.0"]
        assert last[2:7] == ["0.400", "100", "ms", "300", "ms"]


async def test_a_jumps_between_question_and_answer() -> None:
    app = PaneApp()
    async with app.run_test(size=(120, 30)) as pilot:
        table = app.query_one(TrafficPane).table
        await until(pilot, lambda: table.cursor == 3)
        await pilot.press("a")
        assert table.cursor == 0
        await pilot.press("a")
        assert table.cursor == 3


@pytest.mark.long
@pytest.mark.parametrize("has_clipboard", [True, False])
async def test_c_copies_the_exact_line_by_whatever_way_there_is(
    monkeypatch: pytest.MonkeyPatch, has_clipboard: bool
) -> None:
    copied: list[str] = []

    def copy(text: str) -> None:
        if not has_clipboard:
            raise outside.pyperclip.PyperclipException("none here")
        copied.append(text)

    monkeypatch.setattr(outside.pyperclip, "copy", copy)
    app = PaneApp()
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "Entry 4: bytes copied" in say(app))
        way = "to the clipboard" if has_clipboard else "OSC 52"
        assert way in say(app)
        text: Any = copied[0] if has_clipboard else app.clipboard
        assert json.loads(text)["result"] == {"stopReason": "end_turn"}


async def test_a_flood_draws_only_what_is_seen() -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 30)) as pilot:
        pane = app.query_one(TrafficPane)
        flood = entries(
            *[
                update("agent_message_chunk", content={"type": "text", "text": str(n)})
                for n in range(20_000)
            ]
        )
        pane.extend(flood)
        await until(pilot, lambda: '"19999"' in say(app))
        assert len(pane.table.drawn) < 1000
        await pilot.press("home")
        await until(pilot, lambda: "session/prompt" in say(app))


async def test_it_can_be_built_again_from_the_journal() -> None:
    app = PaneApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "stopReason" in say(app))
        before = say(app)
        await app.query_one(TrafficPane).remove()
        pane = TrafficPane()
        await app.mount(pane)
        pane.extend(TALK)
        pane.table.focus()
        await until(pilot, lambda: say(app) == before)


# Filter, marks and jumps.

PERMISSION = {"sessionId": "s1", "toolCall": {"toolCallId": "c1"}}
LONG = [
    *entries(
        ("client", {"id": 1, "method": "session/prompt", "params": {"sessionId": "s1"}}),
        update("tool_call", toolCallId="c1", title="Edit", status="pending"),
        ("agent", {"id": 1, "method": "session/request_permission", "params": PERMISSION}),
        ("client", {"id": 1, "error": {"code": -32603, "message": "no"}}),
        *[
            update("agent_message_chunk", content={"type": "text", "text": f"chunk {n}"})
            for n in range(40)
        ],
        ("agent", {"id": 9, "method": "terminal/create", "params": {"sessionId": "s2"}}),
    ),
    StderrChunk(46, 4.6, b"warn: \x1b[31mhot\n"),
    JournalEvent(47, 4.7, "exit", {"code": 1}),
]


class LongApp(App[None]):
    """An app with the pane, and its first row chosen."""

    def __init__(self, slice_s: float = SLICE_S) -> None:
        super().__init__()
        self._slice_s = slice_s

    def compose(self) -> ComposeResult:
        yield TrafficPane(slice_s=self._slice_s)

    def on_mount(self) -> None:
        self.pane.table.is_following = False
        self.pane.extend(LONG)
        self.pane.table.focus()

    @property
    def pane(self) -> TrafficPane:
        """The pane."""
        return self.query_one(TrafficPane)


def chosen(app: LongApp) -> int:
    """Return the number of the row under the cursor."""
    return app.pane.table._rows.at(app.pane.table.cursor).seq  # pyright: ignore[reportPrivateUsage] - what is seen


async def test_a_run_of_chunks_is_one_row_until_it_is_unfolded() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 50)) as pilot:
        await until(pilot, lambda: 'message ×40 "chunk 0chunk 1' in say(app))
        assert "agent_message_chunk" not in say(app)
        # The row stands for its last frame.
        await pilot.press(*["down"] * 4)
        assert chosen(app) == 44
        await pilot.press("enter")
        await until(pilot, lambda: 'agent_message_chunk "chunk 7"' in say(app))
        assert chosen(app) == 5
        await pilot.press("space")
        await until(pilot, lambda: "message ×40" in say(app) and chosen(app) == 44)
        await pilot.press("down")
        assert chosen(app) == 45
        await pilot.press("up", "up")
        assert chosen(app) == 4


async def test_a_jump_into_a_run_unfolds_it_and_a_filter_shows_each_frame() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 50)) as pilot:
        await type_filter(pilot, "update == agent_message_chunk and n < 8")
        await until(pilot, lambda: "3 of 47 entries" in say(app) and '"chunk 2"' in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "message ×40" in say(app))
        app.pane.go_to_entry(20)
        await until(pilot, lambda: chosen(app) == 20 and '"chunk 14"' in say(app))


@pytest.mark.long
async def test_the_wheel_and_a_click_count_a_run_as_one_line() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 50)) as pilot:
        await until(pilot, lambda: "message ×40" in say(app))
        await pilot.click("#frames", offset=(5, 4))
        assert chosen(app) == 44
        await pilot.click("#frames", offset=(5, 5))
        assert chosen(app) == 45
        await pilot.resize_terminal(100, 16)
        await pilot.press("home")
        await until(pilot, lambda: app.pane.table.scroll_offset.y == 0)
        await pilot._post_mouse_events([MouseScrollDown], "#frames")  # pyright: ignore[reportPrivateUsage] - the wheel
        await until(pilot, lambda: app.pane.table.scroll_offset.y == 3)


async def test_stderr_and_events_are_rows_too() -> None:
    app = LongApp()
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.press("end")
        await until(pilot, lambda: "warn: ␛[31mhot" in say(app) and "exit code 1" in say(app))
        assert "47 entries · following" in say(app)


@pytest.mark.long
async def test_rows_that_come_move_neither_cursor_nor_window() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(*["down"] * 4, "space", *["down"] * 21)
        await until(pilot, lambda: chosen(app) == 26)
        top = app.pane.table.scroll_offset.y
        app.pane.extend(LONG)
        await until(pilot, lambda: "94 entries" in say(app))
        assert (chosen(app), app.pane.table.scroll_offset.y) == (26, top)
        await pilot.press("f")
        await until(pilot, lambda: chosen(app) == 47 and "following" in say(app))
        app.pane.extend(LONG)
        await until(pilot, lambda: app.pane.table.cursor == 140)
        await pilot.press("up")
        await until(pilot, lambda: "following" not in say(app))


@pytest.mark.long
async def test_the_chosen_row_is_kept_when_the_filter_changes() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(*["down"] * 4, "space", *["down"] * 21)
        await type_filter(pilot, "update == agent_message_chunk")
        await until(pilot, lambda: "40 of 47 entries" in say(app))
        await until(pilot, lambda: chosen(app) == 26)
        await type_filter(pilot, " and n < 20")
        await until(pilot, lambda: "15 of 47 entries" in say(app))
        await until(pilot, lambda: chosen(app) == 19)
        await pilot.press("escape")
        await until(pilot, lambda: " of " not in say(app) and chosen(app) == 19)


async def test_escape_comes_back_from_the_detail_and_means_else_what_it_means_elsewhere() -> None:
    class OuterApp(LongApp):
        BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave")]
        times_left = 0

        def action_leave(self) -> None:
            self.times_left += 1

    app = OuterApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await type_filter(pilot, "error")
        await pilot.press("enter")
        await until(pilot, lambda: app.pane.detail.has_focus_within)
        await pilot.press("escape")
        await until(pilot, lambda: app.pane.table.has_focus)
        await pilot.press("escape")
        await until(pilot, lambda: "of 47" not in say(app))
        assert app.times_left == 0
        await pilot.press("escape")
        await until(pilot, lambda: app.times_left == 1)


async def test_what_no_row_matches_is_told_with_the_way_back() -> None:
    app = LongApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await type_filter(pilot, "n > 99")
        await until(pilot, lambda: "No row matches. Esc clears the filter." in say(app))
        assert "No row is chosen." in say(app)
        await pilot.press("escape")
        # Where the cursor is depends on whether the filter "n > 9" was applied while typing.
        await until(pilot, lambda: "47 entries" in say(app))
        await until(pilot, lambda: "No row is chosen." not in say(app))


async def test_where_nothing_was_said_that_is_told() -> None:
    app = App[None]()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.mount(TrafficPane())
        await until(pilot, lambda: "No traffic yet." in say(app))
        for key in ("a", "c", "m", "n", "e", "s", "v", "P", "f"):
            await pilot.press(key)


async def test_a_filter_for_open_questions_forgets_those_that_were_answered() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await type_filter(pilot, "pending")
        await until(pilot, lambda: "2 of 47 entries" in say(app))
        raw = b'{"jsonrpc":"2.0","id":9,"result":{"terminalId":"t"}}'
        app.pane.extend([Frame(48, 4.8, "client", raw)])
        await until(pilot, lambda: "1 of 48 entries" in say(app))


async def test_marks_are_set_gone_to_and_filtered() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("down", "m", "down", "down", "m", "m", "down", "m")
        await until(pilot, lambda: "2 marked" in say(app) and say(app).count("◆") == 4)
        await pilot.press("n")
        assert chosen(app) == 2
        await pilot.press("N")
        assert chosen(app) == 44
        await type_filter(pilot, "marked")
        await until(pilot, lambda: "2 of 47 entries" in say(app))
        await pilot.press("home", "m")
        await until(pilot, lambda: "1 of 47 entries" in say(app))


@pytest.mark.long
async def test_jumps_lead_to_errors_and_permissions() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: chosen(app) == 4)
        await pilot.press("e")
        await until(pilot, lambda: "No more in this direction" in say(app))
        await pilot.press("home", "down", "P")
        await until(pilot, lambda: chosen(app) == 3)
        await pilot.press("P")
        await until(pilot, lambda: chosen(app) == 2)
        await pilot.press("end", "E")
        await until(pilot, lambda: chosen(app) == 4)


@pytest.mark.long
async def test_brackets_lead_to_what_a_letter_names_and_n_goes_on() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("right_square_bracket", "p")
        await until(pilot, lambda: chosen(app) == 3)
        await pilot.press("right_square_bracket", "e")
        await until(pilot, lambda: chosen(app) == 4)
        await pilot.press("n")
        await until(pilot, lambda: "No more in this direction" in say(app))
        await pilot.press("left_square_bracket", "t")
        await until(pilot, lambda: chosen(app) == 1)
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "e  error" in say(app) and "t  turn" in say(app))
        await pilot.press("escape")
        assert chosen(app) == 1


@pytest.mark.long
async def test_marks_are_listed_and_one_is_gone_to() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("apostrophe")
        await until(pilot, lambda: "No row is marked" in say(app))
        await pilot.press("down", "m", "down", "m", "down", "apostrophe")
        await until(pilot, lambda: "2 marks" in say(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: chosen(app) == 3)


async def test_a_frame_is_saved_to_a_new_file_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = LongApp()
    async with app.run_test(size=(150, 30), notifications=True) as pilot:
        await pilot.press("y", "s")
        path = tmp_path / "frame-1.json"
        await until(pilot, path.exists)
        assert json.loads(path.read_text())["method"] == "session/prompt"
        assert path.stat().st_mode & 0o777 == 0o600
        await pilot.press("y", "s")
        await until(pilot, lambda: "was not written" in say(app))


async def test_a_frame_of_a_recording_has_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []
    monkeypatch.setattr(outside.pyperclip, "copy", copied.append)
    path = tmp_path / "my talk.acp.ndjson"
    path.write_bytes(b"".join([encode_header(Header("", "", "")), *map(encode_entry, TALK)]))
    with RecordingEntries(path) as recording:
        app = App[None]()
        async with app.run_test(size=(100, 30)) as pilot:
            pane = TrafficPane(recording)
            await app.mount(pane)
            pane.table.focus()
            await until(pilot, lambda: "stopReason" in say(app))
            await pilot.press("home", "down", "y", "c")
            await until(pilot, lambda: copied)
            assert copied == [f"acp-console show '{path}' --filter 'n == 2'"]


async def test_the_other_half_may_be_hidden() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await type_filter(pilot, "error")
        await until(pilot, lambda: "1 of 47 entries" in say(app))
        await pilot.press("a")
        await until(pilot, lambda: "The filter hides this row" in say(app))


@pytest.mark.parametrize(
    ("key", "row", "filter_"),
    [("S", 1, "session == s1"), ("t", 2, "tool == c1"), ("S", 45, "session == s2")],
)
async def test_what_belongs_together_is_one_key_away(key: str, row: int, filter_: str) -> None:
    app = LongApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.go_to_entry(row)
        await pilot.press(key)
        await until(pilot, lambda: app.pane.bar.input.value == filter_)
        await until(pilot, lambda: " of 47 entries" in say(app))
        assert chosen(app) == row


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("C", '{\n  "jsonrpc": "2.0",\n  "id": 1,\n  "method": "session/prompt"'),
        ("y p", "$.id"),
        ("w", "$.id == 1"),
        ("y f", "$.id == 1"),
        ("y r", '{"jsonrpc"'),
    ],
)
async def test_more_than_bytes_can_be_copied(
    key: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []
    monkeypatch.setattr(outside.pyperclip, "copy", copied.append)
    app = LongApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "session/prompt" in say(app))
        await pilot.press("enter", "down", *key.split())
        await until(pilot, lambda: copied)
        assert copied[0].startswith(text)


async def test_a_shortened_value_is_shown_whole_and_left_again() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("3", "v")
        await until(pilot, lambda: isinstance(app.screen, ValueScreen))
        await until(pilot, lambda: '"method": "session/prompt"' in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "47 entries" in say(app))


async def test_a_pair_stands_side_by_side() -> None:
    app = LongApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("down", "down", "4")
        await until(pilot, lambda: "Response 4 · client · after 100 ms" in say(app))


@pytest.mark.long
async def test_keys_are_heard_while_a_search_goes_on_and_escape_stops_it() -> None:
    app = LongApp(slice_s=0.000_001)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        app.pane.extend(LONG * 200)
        await pilot.press("end", "e")
        app.pane._seek("n == 999999", is_forward=False)  # pyright: ignore[reportPrivateUsage] - a long one
        # The pilot waits after each key, and the search would end meanwhile on a busy machine.
        for key in ("up", "escape"):
            app.simulate_key(key)
        await until(pilot, lambda: "The search was stopped" in say(app))


HOSTILE = [
    b'{"jsonrpc":"2.0","method":"\\u001b[2J[red]","params":{"[b]":"\\ud800"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"a","params":' + b"[" * 180 + b"]" * 180 + b"}",
    b'{"jsonrpc":"2.0","id":2,"method":"a","params":' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"a":' * 50_000,
    b'{"jsonrpc":"2.0","id":3,"result":' + b"9" * 5000 + b"}",
    b'{"' + b"k" * 100_000 + b'":1}',
    b"\xff\x00\x9b31m" * 1000,
    "\u202e\u200b\U000e0041".encode(),
    b"",
    b"[]",
    b'"text"',
]


@pytest.mark.long
async def test_nothing_that_is_said_can_break_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside.pyperclip, "copy", str.encode)
    app = LongApp()
    async with app.run_test(size=(180, 30)) as pilot:
        app.pane.extend([Frame(n, 9.0, "agent", raw) for n, raw in enumerate(HOSTILE, start=48)])
        for tab in ("1", "4"):
            await pilot.press("end", tab)
            for _ in HOSTILE:
                await pilot.press("c", "C", "w", "up")
                assert "\x1b" not in say(app)
            await until(pilot, lambda: chosen(app) == 47)
            await pilot.press("end", "v", "escape")
        assert "\u202e" not in say(app)


def _two(first: int) -> list[dict[str, object]]:
    params = {"sessionId": f"s{first}"}
    return [{"jsonrpc": "2.0", "id": n, "method": "x/y", "params": params} for n in (first, 99)]


ARRAYS = entries(
    ("client", {"id": 1, "method": "session/list", "params": {}}),
    ("client", json.dumps([*_two(2), {"jsonrpc": "2.0", "method": "x/z"}]).encode()),
    ("agent", json.dumps([{"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "s2"}}]).encode()),
    *[("client", json.dumps(_two(n) * 30).encode()) for n in range(3, 9)],
)


class ArrayApp(App[None]):
    """An app with arrays of messages."""

    def compose(self) -> ComposeResult:
        yield TrafficPane()

    def on_mount(self) -> None:
        self.pane = self.query_one(TrafficPane)
        self.pane.extend(ARRAYS)
        self.pane.table.focus()


def drawn(app: ArrayApp) -> list[str]:
    """Return the lines of the table: number, arrow and latency of each."""
    table = app.pane.table
    lines = [table.render_line(y).text for y in range(table.size.height)]
    return [re.sub(r"[─┄\s]+", " ", line).strip() for line in lines if line.strip()]


async def test_an_array_unfolds_into_its_messages() -> None:
    app = ArrayApp()
    async with app.run_test(size=(100, 50)) as pilot:
        await pilot.press("home", "down", "enter")
        await until(pilot, lambda: len(drawn(app)) == 12)
        assert drawn(app)[1:6] == [
            "2 0.200 3 messages: x/y, x/y, x/z ▶ 192 B",
            "● x/y ▶",
            "● x/y ▶",
            "x/z ▶",
            "3 0.300 ◀ 1 message: x/y 60 B",
        ]
        assert app.pane.table.cursor == 1
        await pilot.press("down")
        assert app.pane.table.cursor == 2
        await pilot.press("space")
        await until(pilot, lambda: len(drawn(app)) == 13)
        assert drawn(app)[6] == "◀ x/y result sessionId s2 ○ 100 ms"
        await pilot.click("#frames", offset=(5, 3))
        assert app.pane.table.cursor == 1
        await pilot.press("space")
        await until(pilot, lambda: len(drawn(app)) == 10)
        await type_filter(pilot, "method == x/z")
        await until(pilot, lambda: len(drawn(app)) == 1)
        await pilot.press("space")
        await until(pilot, lambda: len(drawn(app)) == 4)


@pytest.mark.long
async def test_a_long_array_unfolds_as_far_as_the_list_reaches() -> None:
    app = ArrayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("home", *["down"] * 3, *["space", "down"] * 6)
        table = app.pane.table
        height = table.size.height
        await until(pilot, lambda: table.cursor == 8 and len(drawn(app)) == height)
        more = 60 - height + 2
        assert drawn(app)[0].startswith("9 0.900 60 messages")
        assert drawn(app)[1:] == ["● x/y ▶"] * (height - 2) + [
            f"· {more} more messages: see the details"
        ]
        await pilot.press("up")
        await until(pilot, lambda: drawn(app)[0].startswith("8 0.800"))
        for number in (7, 6, 5, 4):
            await pilot._post_mouse_events([MouseScrollUp], "#frames")  # pyright: ignore[reportPrivateUsage] - the wheel
            await until(pilot, lambda number=number: drawn(app)[0].startswith(f"{number} "))
        for number in (5, 6, 7, 8, 9):
            await pilot._post_mouse_events([MouseScrollDown], "#frames")  # pyright: ignore[reportPrivateUsage] - the wheel
            await until(pilot, lambda number=number: drawn(app)[0].startswith(f"{number} "))
        await pilot.press("pageup", "pagedown", "home")
        await until(pilot, lambda: drawn(app)[0].startswith("1 "))
