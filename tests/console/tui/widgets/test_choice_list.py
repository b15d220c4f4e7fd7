"""The list of choices of a question."""

from __future__ import annotations

import asyncio

from textual.app import App

from acp_console.tui.chat.choice_list import ChoiceLabel, ChoiceList


async def test_a_list_can_go_at_any_step_of_its_layout() -> None:
    """A call that its agent changes is asked anew, however often it changes."""
    app = App[None]()
    async with app.run_test() as pilot:
        for steps in range(20):
            choices = ChoiceList([ChoiceLabel("Allow"), ChoiceLabel("Reject " * 50)])
            await app.mount(choices)
            for _ in range(steps):
                await asyncio.sleep(0)
            await choices.remove()
        await pilot.pause()
