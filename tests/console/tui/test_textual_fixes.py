"""What is worked around in Textual."""

from __future__ import annotations

from itertools import count

import anyio
import pytest
from textual.app import App

from acp_console.tui.textual_fixes import set_timer
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
