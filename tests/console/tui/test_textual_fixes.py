"""What is worked around in Textual."""

from __future__ import annotations

from functools import partialmethod
from itertools import count
from pathlib import Path

import anyio
import pytest
from textual.app import App, ComposeResult
from textual.drivers.headless_driver import HeadlessDriver
from textual.events import Key
from textual.widgets import Input, TextArea

from acp_console.tui.outside import edit
from acp_console.tui.textual_fixes import set_timer, take_keys_in_order
from tests.console.tui.conftest import LIMIT


async def test_a_timer_fires_on_a_machine_that_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    app, fired = App[None](), anyio.Event()
    async with app.run_test():
        # Each look at the clock takes longer than the timer.
        clock = count()
        monkeypatch.setattr("textual._time.get_time", lambda: float(next(clock)))
        set_timer(app, 0.001, fired.set)
        with anyio.fail_after(LIMIT):
            await fired.wait()
        monkeypatch.undo()


async def test_the_terminal_is_taken_back_from_a_program_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    app = App[None]()

    def note(driver: HeadlessDriver, name: str) -> None:
        del driver
        calls.append(name)

    async with app.run_test() as pilot:
        # As in a terminal, which this is not.
        monkeypatch.setattr(HeadlessDriver, "can_suspend", True)
        for name in ("suspend", "resume"):
            monkeypatch.setattr(
                HeadlessDriver, f"{name}_application_mode", partialmethod(note, name)
            )
        monkeypatch.setenv("VISUAL", "/no/such/editor")
        assert not edit(app.screen, Path("notes.txt"))
        await pilot.pause()
    assert calls == ["suspend", "resume"]


class Editors(App[None]):
    def compose(self) -> ComposeResult:
        yield TextArea()
        yield Input()


@pytest.mark.parametrize("editor", [TextArea, Input])
async def test_letters_do_not_overtake_backspace(
    monkeypatch: pytest.MonkeyPatch, editor: type[TextArea | Input]
) -> None:
    for each in (TextArea, Input):
        # They are as before afterwards.
        monkeypatch.setattr(each, "_on_key", each._on_key)  # pyright: ignore[reportPrivateUsage] - what is changed
    take_keys_in_order()
    app = Editors()
    async with app.run_test() as pilot:
        found = app.query_one(editor)
        found.focus()
        await pilot.pause()
        for key in ("a", "b", "backspace", "left", "c"):
            # As a terminal sends them in one burst.
            app.post_message(Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert (found.text if isinstance(found, TextArea) else found.value) == "ca"
