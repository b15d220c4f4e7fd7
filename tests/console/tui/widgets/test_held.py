"""Paused messages in the list of the traffic: what is shown, and what each key sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App, ComposeResult
from textual.widgets import Button

from acp_console.traffic.intercept import MAX_EDITED_BYTES, InterceptState
from acp_console.tui.footer import KeyFooter
from acp_console.tui.intercept.held import HeldPane
from acp_console.tui.intercept.screens import ComposeScreen, DelayScreen
from acp_console.tui.themes import ThemedApp
from acp_console.tui.traffic.pane import TrafficPane
from acp_inspector.journal import Frame
from tests.console.tui.conftest import entries, notices, say, settled, until
from tests.console.tui.intercept_clients import ASK, PROMPT, FakeInterceptClient, held

pytestmark = pytest.mark.long

RESPONSE = b'{"jsonrpc":"2.0","id":1,"result":{}}'


class PaneApp(ThemedApp[None]):
    """The traffic of a proxy, forty rows without `shown`, and what its client holds."""

    def __init__(self, client: FakeInterceptClient, *shown: Frame) -> None:
        super().__init__()
        self.client = client
        rows = [("client", {"id": n, "method": "session/list"}) for n in range(40)]
        self.shown = shown or entries(*rows)

    def compose(self) -> ComposeResult:
        yield TrafficPane(id="traffic")
        yield KeyFooter()

    def on_mount(self) -> None:
        self.traffic.extend(self.shown)
        self.traffic.intercept(self.client)
        self.traffic.table.focus()

    @property
    def traffic(self) -> TrafficPane:
        return self.screen_stack[0].query_one(TrafficPane)

    @property
    def pane(self) -> HeldPane:
        return self.screen_stack[0].query_one(HeldPane)

    @property
    def editor(self) -> Any:
        return self.pane.editor


def rows(app: App[Any]) -> list[str]:
    """Return the rows of paused messages, as the screen shows them."""
    return [line for line in say(app).splitlines() if "⏸" in line and "▰" in line]


async def start(pilot: Any, *, editing: bool = False) -> None:
    """Wait for the rows, and go to the first of them, or into its editor."""
    app = pilot.app
    await until(pilot, lambda: rows(app))
    await pilot.press("down")
    await until(pilot, lambda: app.pane.rows.has_focus and app.editor.text)
    if editing:
        await pilot.press("enter")
        await until(pilot, lambda: app.editor.area.has_focus)


async def test_traffic_looks_as_it_should_with_paused_messages(picture: SnapshotAssertion) -> None:
    every = (held(queued_behind=3), held(ASK, id=2, seq=14, side="agent", seconds_left=8.0))
    app = PaneApp(FakeInterceptClient(*every))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: len(rows(app)) == 2)
        await until(
            pilot, lambda: "40 entries" in say(app) and 'method: "session/list"' in say(app)
        )
        assert await settled(pilot) == picture


@pytest.mark.parametrize("state", ["open", "invalid", "answer"])
async def test_the_editor_looks_as_it_should(state: str, picture: SnapshotAssertion) -> None:
    app = PaneApp(FakeInterceptClient(held(ASK, id=2, seq=14, side="agent")))
    async with app.run_test(size=(120, 40)) as pilot:
        await start(pilot, editing=True)
        if state == "invalid":
            app.editor.write('{\n  "jsonrpc": "2.0",\n  "id": 7,\n  "method": oops\n}')
            await until(pilot, lambda: "✗ invalid JSON, line 4, column 13" in say(app))
        elif state == "answer":
            await pilot.press("f5")
            await until(pilot, lambda: "options: yes (Yes)" in say(app))
        else:
            await until(pilot, lambda: "✓ valid JSON" in say(app))
        assert await settled(pilot) == picture


async def test_row_says_what_is_paused_and_how_long() -> None:
    client = FakeInterceptClient(
        held(queued_behind=3), held(ASK, id=2, seq=14, side="agent", seconds_left=8.0)
    )
    app = PaneApp(client)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: len(rows(app)) == 2)
        first, second = rows(app)
        assert "12" in first
        assert '●── session/prompt "hi"' in first
        assert "+3 behind" in first
        assert "47 s" in first
        assert "◀── session/request_permission" in second
        assert " 8 s" in second
        client.become(held(seconds_left=46.0))
        await until(pilot, lambda: "46 s" in rows(app)[0])
        client.become()
        await until(pilot, lambda: not app.pane.display)


async def test_countdown_redraws_neither_the_list_nor_the_footer() -> None:
    client = FakeInterceptClient(held())
    app = PaneApp(client)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: rows(app))
        await settled(pilot)
        table, drawn = app.traffic.table, []
        table.render_line = lambda y: drawn.append(y)  # type: ignore[method-assign, assignment, return-value] # pyright: ignore[reportAttributeAccessIssue] - counts the lines that are drawn
        client.become(held(seconds_left=46.0))
        await until(pilot, lambda: "46 s" in str(app.pane.rows.render_line(0).text))
        assert drawn == []


async def test_selection_and_scroll_stay_when_messages_are_paused_and_released() -> None:
    client = FakeInterceptClient()
    app = PaneApp(client)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "40 entries" in say(app))
        table = app.traffic.table
        await pilot.press("home", *["down"] * 3)
        before = (table.cursor, table.scroll_offset.y)
        client.become(held(), held(ASK, id=2, side="agent"))
        await until(pilot, lambda: len(rows(app)) == 2)
        assert (table.cursor, table.scroll_offset.y, table.has_focus) == (*before, True)
        await pilot.press("end", "home")
        assert len(rows(app)) == 2
        await pilot.press(*["down"] * 3)
        client.become()
        await until(pilot, lambda: not rows(app))
        assert (table.cursor, table.scroll_offset.y, table.has_focus) == (*before, True)


async def test_arrows_lead_from_the_list_to_the_paused_messages_and_back() -> None:
    app = PaneApp(FakeInterceptClient(held(), held(ASK, id=2, side="agent")))
    async with app.run_test(size=(120, 40)) as pilot:
        await start(pilot)
        assert '"text": "hi"' in say(app)
        await pilot.press("down")
        await until(pilot, lambda: '"optionId": "yes"' in say(app))
        await pilot.press("up", "up")
        await until(pilot, lambda: app.traffic.table.has_focus)
        assert app.traffic.detail.display
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.editor.area.has_focus)
        await pilot.press("escape")
        await until(pilot, lambda: app.pane.rows.has_focus)
        await pilot.press("escape")
        await until(pilot, lambda: app.traffic.table.has_focus)
        assert app.client.asked == []


KEYS: list[tuple[str, tuple[str, Mapping[str, Any]]]] = [
    ("r", ("release", {"id": 1})),
    ("x", ("discard", {"id": 1})),
    ("X", ("discard", {"id": 1, "silent": True})),
    ("d", ("duplicate", {"id": 1, "times": 2})),
    ("plus", ("keep", {})),
    ("R", ("release_all", {})),
    ("p", ("pause", {})),
]


async def test_each_key_sends_its_command() -> None:
    client = FakeInterceptClient(held())
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot)
        for n, (key, command) in enumerate(KEYS):
            await pilot.press(key)
            await until(pilot, lambda: client.asked[n:] == [command])  # noqa: B023 - it is waited for at once


async def test_each_command_of_a_row_has_a_button() -> None:
    client = FakeInterceptClient(held())
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot)
        buttons = {button.name: button for button in app.pane.query(Button)}
        for name, command in (
            ("release", "release"),
            ("discard", "discard"),
            ("lose", "discard"),
            ("duplicate", "duplicate"),
            ("keep", "keep"),
        ):
            client.asked.clear()
            assert await pilot.click(buttons[name])
            await until(pilot, lambda command=command: client.asked[0][0] == command)
        await pilot.click(buttons["delay"])
        await until(pilot, lambda: isinstance(app.screen, DelayScreen))
        await pilot.press("9", "enter")
        await until(pilot, lambda: client.asked[-1] == ("delay", {"id": 1, "seconds": 9.0}))
        await pilot.click(buttons["edit"])
        await until(pilot, lambda: app.editor.area.has_focus)
        client.asked.clear()
        await pilot.click(buttons["send"])
        await until(pilot, lambda: client.asked == [("release", {"id": 1})])
        await pilot.click(buttons["answer"])
        await until(pilot, lambda: "end_turn" in say(app))


async def test_row_that_is_chosen_is_meant() -> None:
    client = FakeInterceptClient(held(), held(ASK, id=2, seq=13, side="agent"))
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot)
        assert await pilot.click(app.pane.rows, offset=(5, 1))
        await pilot.press("r")
        await until(pilot, lambda: client.asked == [("release", {"id": 2})])


async def test_changed_frame_is_sent_on_one_line_and_an_unchanged_one_as_it_came() -> None:
    client = FakeInterceptClient(held(b'{ "jsonrpc": "2.0",  "method": "x" }'))
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, editing=True)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: client.asked == [("release", {"id": 1})])
        await pilot.press("e")
        await until(pilot, lambda: app.editor.area.has_focus)
        app.editor.write('{\n  "a": 1.0,\n  "b": "x  y"\n}')
        await pilot.press("ctrl+s")
        edit = ("edit", {"id": 1, "text": '{"a":1.0,"b":"x  y"}'})
        await until(pilot, lambda: client.asked[1:] == [edit])


async def test_invalid_json_is_sent_only_as_it_is() -> None:
    client = FakeInterceptClient(held())
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, editing=True)
        app.editor.write('{"a": 1,\n\n  oops}')
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.editor.area.cursor_location == (2, 2))
        assert client.asked == []
        await pilot.press("f8")
        edit = ("edit", {"id": 1, "text": '{"a": 1,oops}', "force": True})
        await until(pilot, lambda: client.asked == [edit])
        app.editor.write("{oops")
        await pilot.press("e", "f8")
        edit = ("edit", {"id": 1, "text": "{oops", "force": True})
        await until(pilot, lambda: client.asked[1:] == [edit])


async def test_changed_id_is_remarked_upon() -> None:
    app = PaneApp(FakeInterceptClient(held()))
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, editing=True)
        app.editor.write(PROMPT.replace(b'"id":3', b'"id":4').decode())
        await until(pilot, lambda: "! the id was 3: its response is lost" in say(app))


async def test_message_of_a_dialect_is_read_and_edited_in_its_spelling() -> None:
    prompt = b'{"type":"prompt","session_id":"s1","content":[{"type":"text","text":"hi"}]}'
    frame = Frame(12, 1.0, "client", prompt)
    app = PaneApp(FakeInterceptClient(held(prompt)), frame)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, editing=True)
        await until(pilot, lambda: "✓ valid JSON" in say(app))
        assert "!" not in say(app)
        assert 'prompt "hi"' in rows(app)[0]


async def test_request_is_answered_with_a_result_or_an_error() -> None:
    client = FakeInterceptClient(held())
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot)
        await pilot.press("a")
        await until(pilot, lambda: '"stopReason": "end_turn"' in say(app))
        app.editor.write("5")
        await until(pilot, lambda: "! result is not an object" in say(app))
        app.editor.write('{"stopReason": "cancelled"}')
        await pilot.press("f5")
        await until(pilot, lambda: "error for session/prompt" in say(app) and "-32603" in say(app))
        app.editor.write('{"code": "x"}')
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "An error needs" in notices(app))
        app.editor.write('{"code": 5, "message": "no"}')
        await pilot.press("f5")
        await until(pilot, lambda: '"jsonrpc": "2.0"' in say(app))
        await pilot.press("f5")
        await until(pilot, lambda: "cancelled" in say(app))
        await pilot.press("ctrl+s")
        answer = ("answer", {"id": 1, "result": {"stopReason": "cancelled"}})
        await until(pilot, lambda: client.asked == [answer])
        await pilot.press("e", "f5", "f5")
        await until(pilot, lambda: '"code": 5' in say(app))
        await pilot.press("ctrl+s")
        answer = ("answer", {"id": 1, "error": {"code": 5, "message": "no"}})
        await until(pilot, lambda: client.asked[1:] == [answer])


async def test_answer_to_a_permission_request_begins_with_its_first_option() -> None:
    client = FakeInterceptClient(held(ASK))
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot)
        await pilot.press("a")
        await until(pilot, lambda: "options: yes (Yes)" in say(app))
        await pilot.press("ctrl+s")
        outcome = {"outcome": {"outcome": "selected", "optionId": "yes"}}
        await until(pilot, lambda: client.asked == [("answer", {"id": 1, "result": outcome})])


async def test_only_a_request_can_be_answered() -> None:
    client = FakeInterceptClient(held(RESPONSE, side="agent"))
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: " a Answer" in say(app))
        await start(pilot)
        await until(pilot, lambda: " a Answer" not in say(app))
        await pilot.press("a")
        assert not app.editor.area.has_focus
        assert not notices(app)
        await pilot.press("x")
        await until(pilot, lambda: "requester keeps waiting" in notices(app))


async def test_typing_gives_more_time_and_waiting_does_not() -> None:
    client = FakeInterceptClient(held(seconds_left=20.0))
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, editing=True)
        client.become(held(seconds_left=19.0))
        await until(pilot, lambda: "19 s" in rows(app)[0])
        assert client.asked == []
        await pilot.press("space")
        await until(pilot, lambda: client.asked == [("keep", {})])


async def test_text_stays_when_the_frame_leaves_while_the_user_writes() -> None:
    client = FakeInterceptClient(held())
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, editing=True)
        app.editor.write("mine")
        client.become()
        await until(pilot, lambda: "it is no longer paused; Esc goes back" in say(app))
        await pilot.press("ctrl+s", "f8")
        await until(pilot, lambda: "It is no longer paused" in notices(app))
        assert client.asked == []
        assert app.editor.text == "mine"
        client.state = InterceptState("gone")
        client.news()
        await until(pilot, lambda: "the proxy is gone" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.traffic.table.has_focus and not app.pane.display)


async def test_what_was_written_is_there_again_when_the_screen_is_built_again() -> None:
    client = FakeInterceptClient(held())
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, editing=True)
        app.editor.write('{"mine": 1}')
        await pilot.press("escape")
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot)
        assert app.editor.text == '{"mine": 1}'


async def test_another_paused_message_does_not_take_the_editor() -> None:
    client = FakeInterceptClient(held(id=5))
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, editing=True)
        app.editor.write('{"mine": 1}')
        client.become(held(ASK, id=4, side="agent"), held(id=5))
        await until(pilot, lambda: len(rows(app)) == 2)
        assert app.editor.text == '{"mine": 1}'
        await pilot.press("ctrl+s")
        await until(pilot, lambda: client.asked == [("edit", {"id": 5, "text": '{"mine":1}'})])


async def test_all_of_a_very_long_frame_is_edited() -> None:
    whole = b'{"a":"' + b"x" * 20_000 + b'"}'
    client = FakeInterceptClient(held(whole[:9], size=len(whole)))
    client.wholes[1] = whole
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, editing=True)
        await until(pilot, lambda: "one line of 20 008 bytes" in say(app))


async def test_frame_that_cannot_be_edited_is_shown_with_the_reason() -> None:
    client = FakeInterceptClient()
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        for id_, (raw, size, reason) in enumerate(
            (
                (b"\xff", 1, "byte 0 is not UTF-8"),
                (b"{", MAX_EDITED_BYTES + 1, "131073 bytes"),
                (b"{", 20, "it has left"),
                (b"\x1b[31m", 5, "control or invisible characters"),
            ),
            start=1,
        ):
            client.become(held(raw, id=id_, size=size))
            await start(pilot)
            app.clear_notifications()
            await pilot.press("e")
            await until(pilot, lambda: reason in notices(app) and "attach --ask" in notices(app))  # noqa: B023 - it is waited for at once
            await pilot.click(app.editor.area)
            await pilot.press("r")
            await until(pilot, lambda: client.asked[id_ - 1 :] == [("release", {"id": id_})])  # noqa: B023
            client.become()
            await until(pilot, lambda: app.traffic.table.has_focus and not app.pane.display)


async def test_text_from_the_wire_is_neither_markup_nor_escape() -> None:
    hostile = b'{"jsonrpc":"2.0","method":"[b]x[/b]\\u001b[31m\xe2\x80\xae"}'
    client = FakeInterceptClient(held(hostile))
    app = PaneApp(client)
    async with app.run_test(size=(120, 30)) as pilot:
        await start(pilot)
        await until(pilot, lambda: "notification [b]x[/b]␛[31m" in say(app))
        assert "\x1b" not in say(app)
        assert "\u202e" not in say(app)
        client.refusals.append("[bold]no[/bold] \x1b")
        client.news()
        await until(pilot, lambda: "[bold]no[/bold] ␛" in notices(app))


async def test_new_frame_knows_the_session_of_the_row() -> None:
    client = FakeInterceptClient()
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "40 entries" in say(app))
        params: dict[str, object] = {"sessionId": "s9", "prompt": []}
        (row,) = entries(("client", {"id": 99, "method": "session/prompt", "params": params}))
        app.traffic.extend([row])
        await pilot.press("end", "i")
        await until(pilot, lambda: isinstance(app.screen, ComposeScreen))
        await pilot.press("enter", *"session/cancel", "enter")
        await until(pilot, lambda: '"sessionId": "s9"' in say(app))


async def test_the_footer_offers_no_key_that_the_editor_takes_as_text() -> None:
    app = PaneApp(FakeInterceptClient(held()))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "/ Filter" in say(app).splitlines()[-1])
        await start(pilot, editing=True)
        await until(pilot, lambda: "^s Send" in say(app).splitlines()[-1])
        assert "Filter" not in say(app).splitlines()[-1]
