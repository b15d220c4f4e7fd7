"""What is remembered must be read before it is chosen: names of options are shown whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Button

from acp_console.tui.chat import screen as chat
from acp_console.tui.chat.ask import PermissionTiming
from acp_console.tui.chat.permission import PermissionView
from acp_inspector.session.items import PermissionRequest
from acp_protocol.jsonrpc import Json
from tests.console.tui.conftest import say, until

LONG = "Allow edits of notes.md, and do not ask again in this session"
SHORT = "Allow"


def permission(*names: str) -> PermissionRequest:
    options: list[Json] = [{"optionId": name, "name": name, "kind": "allow_once"} for name in names]
    return PermissionRequest(1, options)


class Asking(App[None]):
    """Asks for consent, as the chat does."""

    CSS_PATH = Path(chat.__file__).parent / "chat.tcss"

    def __init__(self, *names: str, settle_s: float = 0.5) -> None:
        super().__init__()
        self._names = names
        self._settle_s = settle_s
        self.chosen: list[str] = []

    def compose(self) -> ComposeResult:
        timing = PermissionTiming(settle_s=self._settle_s, burst_s=0)
        yield PermissionView(permission(*self._names), timing)

    def on_permission_view_chosen(self, event: PermissionView.Chosen) -> None:
        self.chosen.append(event.option_id)


@pytest.mark.parametrize(
    ("names", "width", "columns"),
    [((LONG, SHORT), 80, 1), ((LONG, SHORT), 200, 2), ((SHORT, SHORT), 80, 2)],
)
async def test_options_stand_side_by_side_where_all_of_them_fit(
    names: tuple[str, ...], width: int, columns: int
) -> None:
    app = Asking(*names)
    async with app.run_test(size=(width, 24)):
        buttons = [*app.query(Button)]
        assert len({each.region.x for each in buttons}) == columns
        assert all(name in str(each.label) for name, each in zip(names, buttons, strict=True))
        for each in buttons:
            assert each.region.height * each.content_size.width >= len(str(each.label))


async def test_the_end_of_a_long_name_is_shown() -> None:
    app = Asking(f"Allow edits of {'x' * 250}, and of /etc too")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "and of /etc too" in say(app))


async def test_an_option_is_chosen_only_after_it_was_on_the_screen() -> None:
    names = [f"{number}: {LONG}" for number in range(1, 10)]
    app = Asking(*names, settle_s=0)
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(PermissionView).focus()
        await until(pilot, lambda: "PgDn shows more" in say(app))
        assert names[8] not in say(app)
        await pilot.press("9")
        await until(pilot, lambda: names[8] in say(app))
        assert app.chosen == []
        # Those between were never there.
        await pilot.press("pageup", "pagedown")
        await until(pilot, lambda: "Press a number" in say(app))
        await pilot.press("9", "1")
        await until(pilot, lambda: app.chosen == [names[8], names[0]])


async def test_an_option_whose_name_never_ends_cannot_be_chosen() -> None:
    app = Asking("x" * 100_000, SHORT, settle_s=0)
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(PermissionView).focus()
        await pilot.press(*["pagedown"] * 40)
        await until(pilot, lambda: SHORT in say(app))
        assert app.query_one(".choices").region.height <= 9
        await pilot.press("1", "2")
        await until(pilot, lambda: app.chosen == [SHORT])


@pytest.mark.parametrize(("settle_s", "is_shown"), [(0, True), (1000, False)])
async def test_the_hint_is_shown_only_once_a_number_counts(settle_s: float, is_shown: bool) -> None:
    app = Asking(SHORT, settle_s=settle_s)
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(PermissionView).take_focus()
        await pilot.pause()
        assert "Allow this?" in say(app)
        assert ("Press a number" in say(app)) == is_shown


async def test_the_hint_comes_when_the_prompt_has_settled() -> None:
    app = Asking(SHORT, settle_s=0.01)
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(PermissionView).focus()
        await until(pilot, lambda: "Press a number" in say(app))


async def test_the_hint_names_only_keys_that_count() -> None:
    app = Asking(SHORT, settle_s=0)
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(PermissionView).focus()
        await until(pilot, lambda: "Press a number" in say(app))
        # There is no way to reject, and there are no changes to show.
        assert "w:" not in say(app)
        assert "d:" not in say(app)
