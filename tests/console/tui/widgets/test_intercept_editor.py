"""Where the JSON of a frame is written."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import App, ComposeResult

from acp_console.tui.intercept.frame_editor import MAX_INSTANT_CHARS, FrameEditor
from tests.console.tui.conftest import say, until


def remarks(raw: bytes) -> Sequence[str]:
    return [f"remark {number} [b]\x1b" for number in range(5)] if b"much" in raw else ()


class EditorApp(App[None]):
    """An app with nothing but the editor."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._begin = text

    def compose(self) -> ComposeResult:
        yield FrameEditor(self._begin, remarks)

    @property
    def editor(self) -> FrameEditor:
        return self.query_one(FrameEditor)


async def test_every_key_is_checked_and_the_place_of_a_mistake_shown() -> None:
    app = EditorApp('{\n  "a": 1\n}')
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ valid JSON, sent as one line of 7 bytes" in say(app))
        app.editor.area.move_cursor((1, 8))
        app.editor.area.focus()
        await pilot.press("x")
        await until(pilot, lambda: "✗ invalid JSON, line 2, column 9: expecting ','" in say(app))
        lines = say(app).splitlines()
        place = next(n for n, line in enumerate(lines) if "✗" in line)
        assert lines[place + 2].index("^") == lines[place + 1].index("x")
        await pilot.press("backspace")
        await until(pilot, lambda: "✓ valid JSON" in say(app))


async def test_the_cursor_goes_to_the_mistake() -> None:
    app = EditorApp('{\n  "a": 1,\n  oops\n}')
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✗" in say(app))
        app.editor.go_to_flaw()
        assert app.editor.area.cursor_location == (2, 2)
        assert app.editor.area.has_focus


async def test_remarks_are_shown_safely_and_not_too_many() -> None:
    app = EditorApp('{"a": "much"}')
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "! remark 2 [b]␛" in say(app))
        assert "! and 2 more" in say(app)
        assert "remark 3" not in say(app)


async def test_what_is_written_over_it_can_be_undone() -> None:
    app = EditorApp("{}")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓" in say(app))
        app.editor.write("[]")
        assert app.editor.text == "[]"
        app.editor.area.undo()
        assert app.editor.text == "{}"


async def test_a_long_text_is_checked_when_somebody_has_stopped_typing_or_sends_it() -> None:
    app = EditorApp("[" + "1," * MAX_INSTANT_CHARS + "1]")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓" in say(app))
        app.editor.write("[" + "1," * MAX_INSTANT_CHARS + "oops]")
        await pilot.pause()
        flaw = app.editor.check_now()
        assert flaw is not None
        assert flaw.column == 2 + 2 * MAX_INSTANT_CHARS
        app.editor.write("[" + "1," * MAX_INSTANT_CHARS + "1]")
        await until(pilot, lambda: "✓" in say(app))
