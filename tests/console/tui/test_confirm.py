"""Nothing is agreed to that was not on the screen."""

from __future__ import annotations

from acp_console.tui.confirm import ConfirmScreen
from acp_console.tui.themes import ThemedApp
from tests.console.tui.conftest import say, until


async def test_a_long_text_is_agreed_to_only_at_its_end() -> None:
    app: ThemedApp[None] = ThemedApp()
    answers: list[bool | None] = []
    text = "\n".join(f"line {number}" for number in range(30))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(ConfirmScreen(text), answers.append)
        await pilot.press("y")
        assert isinstance(app.screen, ConfirmScreen)
        await until(pilot, lambda: "line 0\n" not in say(app))
        await pilot.press("down", "pagedown", "pagedown", *["down"] * 30)
        await until(pilot, lambda: "line 29" in say(app))
        await pilot.press("y")
    assert answers == [True]
