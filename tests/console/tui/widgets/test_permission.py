"""The options of a permission prompt: a line each, and read whole before they are chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from acp_console.tui.chat import screen as chat
from acp_console.tui.chat.ask import KeyAsk, PermissionTiming
from acp_console.tui.chat.choice_list import ChoiceLine
from acp_console.tui.chat.permission import PermissionView
from acp_inspector.session.items import PermissionRequest, ToolCallItem
from acp_protocol.jsonrpc import Json
from tests.console.tui.conftest import say, until

LONG = "Allow edits of notes.md, and do not ask again in this session"
SHORT = "Allow"
KINDS = {"Allow": "allow_once", LONG: "allow_always", "Reject": "reject_once"}


def permission(*names: str) -> PermissionRequest:
    options: list[Json] = [
        {"optionId": name, "name": name, "kind": KINDS.get(name, "allow_once")} for name in names
    ]
    return PermissionRequest(1, options)


class Asking(App[None]):
    """Asks for consent, as the chat does."""

    CSS_PATH = Path(chat.__file__).parent / "chat.tcss"

    def __init__(self, *names: str, settle_s: float = 0, call: ToolCallItem | None = None) -> None:
        super().__init__()
        self._names = names
        self._settle_s = settle_s
        self._call = call
        self.chosen: list[str] = []
        self.typed = ""

    def compose(self) -> ComposeResult:
        timing = PermissionTiming(settle_s=self._settle_s, burst_s=0, flash_s=1000)
        yield PermissionView(permission(*self._names), timing, self._call)

    def on_permission_view_option_chosen(self, event: PermissionView.OptionChosen) -> None:
        self.chosen.append(event.option_id)

    def on_key_ask_text_typed(self, event: KeyAsk.TextTyped) -> None:
        self.typed += event.text


def lines(app: Asking) -> list[ChoiceLine]:
    return [*app.query(ChoiceLine)]


@pytest.mark.parametrize(("width", "columns"), [(50, 1), (80, 2), (200, 2)])
async def test_each_option_is_one_line_and_rejects_stand_apart(width: int, columns: int) -> None:
    places: list[tuple[int, int]] = []
    for names in ((SHORT, "Reject"), (LONG, "Reject", SHORT)):
        app = Asking(*names)
        async with app.run_test(size=(width, 24)) as pilot:
            await until(
                pilot,
                lambda app=app: len({each.region.x for each in lines(app)}) == columns,
            )
            assert all(each.region.height == 1 for each in lines(app))
            assert app.query_one(PermissionView).region.width <= 100
            first, reject = (
                next(each for each in lines(app) if each.line.label == name)
                for name in (SHORT, "Reject")
            )
            places.append((reject.region.x - first.region.x, reject.region.y - first.region.y))
    # Beside the first one that allows, however many follow it.
    assert places[0] == places[1] or columns == 1


async def test_names_that_fit_only_below_each_other_stand_so_where_there_is_room() -> None:
    app = Asking(LONG, SHORT, "Reject")
    async with app.run_test(size=(80, 40)) as pilot:
        view = app.query_one(PermissionView)
        view.focus()
        await until(pilot, lambda: "Press a number" in say(app))
        assert LONG in say(app)
        # One key is enough.
        await pilot.press("2")
        await until(pilot, lambda: app.chosen == [LONG])


async def test_a_name_that_is_cut_is_shown_whole_before_it_is_chosen() -> None:
    app = Asking(LONG, SHORT, "Reject")
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.query_one(PermissionView)
        view.focus()
        await until(pilot, lambda: "Press a number" in say(app))
        assert LONG not in say(app)
        before = view.region
        await pilot.press("2")
        await until(pilot, lambda: LONG in say(app) and "press 2 again" in say(app))
        assert app.chosen == []
        # Nothing moves.
        assert view.region == before
        await pilot.press("2", "a")
        await until(pilot, lambda: app.chosen == [LONG, LONG])


async def test_the_cursor_begins_on_once_and_goes_to_the_other_group_and_back() -> None:
    app = Asking(LONG, "Reject", SHORT)
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(PermissionView).focus()
        await until(pilot, lambda: "› 1 Allow" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.chosen == [SHORT])
        await pilot.press("right")
        await until(pilot, lambda: "› 3 Reject" in say(app))
        await pilot.press("left", "down", "down", "enter")
        await until(pilot, lambda: app.chosen == [SHORT, "Reject"])


async def test_a_key_that_comes_too_early_says_so_and_decides_nothing() -> None:
    app = Asking(SHORT, "Reject", settle_s=1000)
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.query_one(PermissionView)
        view.take_focus()
        await pilot.press("enter")
        await until(pilot, lambda: "Too early" in say(app))
        assert app.typed == ""
        await pilot.press("1")
        await until(pilot, lambda: "press 1 again" in say(app))
        await pilot.press("1")
        # Alone it is not text, and the focus stays.
        assert app.typed == ""
        assert view.has_focus
        await pilot.press(*"23")
        await until(pilot, lambda: app.typed == "123")
        assert app.chosen == []


async def test_a_key_that_came_too_early_counts_when_it_is_pressed_again() -> None:
    app = Asking(SHORT, "Reject", settle_s=0.2)
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.query_one(PermissionView)
        view.take_focus()
        await pilot.press("2")
        await until(pilot, lambda: view.is_ready)
        await pilot.press("2")
        await until(pilot, lambda: app.chosen == ["Reject"])
        assert app.typed == ""


async def test_a_mark_that_would_skip_reading_says_where_it_went() -> None:
    """In the message it begins a command of the shell."""
    call = ToolCallItem("call")
    call.change(1, title="Run", raw_input={"command": "ls\n" * 100})
    call.add_permission(permission(SHORT), 1)
    app = Asking(SHORT, call=call)
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.query_one(PermissionView)
        app.set_focus(None)
        await until(pilot, lambda: "Read to the end first" in say(app))
        view.note_message("!")
        await until(pilot, lambda: "! went to your message" in say(app))
        assert app.chosen == []


async def test_the_end_of_a_long_name_is_shown() -> None:
    app = Asking(f"Allow edits of {'x' * 250}, and of /etc too")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "and of /etc too" in say(app))


async def test_an_option_is_chosen_only_after_it_was_on_the_screen() -> None:
    names = [f"Option {number}" for number in range(1, 13)]
    app = Asking(*names)
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(PermissionView).focus()
        await until(pilot, lambda: "Press a number" in say(app))
        assert names[11] not in say(app)
        await pilot.press(*["down"] * 11)
        await until(pilot, lambda: names[11] in say(app))
        await pilot.press("enter", "1")
        await until(pilot, lambda: app.chosen == [names[11], names[0]])


async def test_an_option_whose_name_never_ends_cannot_be_chosen() -> None:
    app = Asking("x" * 100_000, SHORT)
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(PermissionView).focus()
        await pilot.press("1")
        await until(pilot, lambda: "never ends" in say(app))
        await pilot.press(*["pagedown"] * 10, "1", "2")
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
        assert "say why" not in say(app)
        assert "d:" not in say(app)


async def test_a_question_without_options_says_how_to_go_on() -> None:
    app = Asking()
    async with app.run_test() as pilot:
        await until(pilot, lambda: "offers no option to choose; esc stops the turn" in say(app))
