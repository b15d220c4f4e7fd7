"""What a proxy holds on the screen, and what each key asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App, ComposeResult
from textual.widgets import Footer, Input

from acp_console.state.intercept import InterceptState
from acp_console.tui.intercept.pane import EDITABLE, InterceptPane
from acp_console.tui.intercept.screens import AnswerScreen, ComposeScreen, DelayScreen, EditScreen
from tests.console.tui.conftest import notices, say, settled, until
from tests.console.tui.intercept_clients import ASK, FakeInterceptClient, held

SIZES = [(80, 24), (200, 50)]


class PaneApp(App[None]):
    """An app with nothing but the pane, which looks at its client as the screen does."""

    def __init__(self, client: FakeInterceptClient) -> None:
        super().__init__()
        self.client = client

    def compose(self) -> ComposeResult:
        yield InterceptPane(self.client)
        yield Footer()

    def on_mount(self) -> None:
        self.set_interval(0.02, self.pane.sync)
        (self.pane.holds if self.client.state.held_frames else self.pane.filter).focus()

    @property
    def pane(self) -> InterceptPane:
        return self.screen_stack[0].query_one(InterceptPane)


def footer(app: App[Any]) -> str:
    """Return the last line of the screen."""
    return say(app).splitlines()[-1]


@pytest.mark.parametrize("size", SIZES)
async def test_who_is_new_here_reads_what_to_do(
    size: tuple[int, int], picture: SnapshotAssertion
) -> None:
    app = PaneApp(FakeInterceptClient())
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "there is no breakpoint yet" in say(app))
        assert "i sends a new frame" in say(app)
        assert "1  In the line above, write a filter for frames to hold" in say(app)
        assert "Esc leaves the line above" in say(app)
        assert await settled(pilot) == picture


@pytest.mark.parametrize("size", SIZES)
async def test_held_frames_stand_there_with_what_they_say_and_their_countdowns(
    size: tuple[int, int], picture: SnapshotAssertion
) -> None:
    client = FakeInterceptClient(
        held(queued_behind=3),
        held(ASK, id=2, seq=14, side="agent", seconds_left=8.0),
        breakpoints=((1, "method == session/prompt"), (2, "from == agent")),
        rule_counts={"slow updates": 3, "hooks.py": 0},
    )
    app = PaneApp(client)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "2 held · 8 s left" in say(app))
        shown = say(app)
        assert "47 s  client → agent    12  request session/prompt" in shown
        assert "8 s  agent → client    14  request session/" in shown
        assert "+3 behind" in shown
        assert "slow updates ×3" in shown
        assert '"method": "session/prompt"' in shown
        assert await settled(pilot) == picture


async def test_the_hint_names_the_keys_that_work_where_the_cursor_is() -> None:
    app = PaneApp(FakeInterceptClient())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "1  In the line above, write" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "1  b, then" in say(app))
        assert "Esc leaves" not in say(app)
        await pilot.press("b")
        await until(pilot, lambda: "1  In the line above, write" in say(app))
        assert app.pane.filter.value == ""


async def test_a_narrow_footer_cuts_nothing_off() -> None:
    app = PaneApp(FakeInterceptClient(held(ASK)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Answer" in footer(app))
        assert "i Inject" in footer(app)
        assert "F1 shows all keys" in say(app)


async def test_the_footer_offers_what_can_be_done_now() -> None:
    client = FakeInterceptClient()
    app = PaneApp(client)
    async with app.run_test(size=(160, 24)) as pilot:
        await until(pilot, lambda: "no breakpoint yet" in say(app))
        assert "Complete" in footer(app)
        assert "Release" not in footer(app)
        await pilot.press("escape")
        await until(pilot, lambda: "Pause" in footer(app))
        assert "Release" not in footer(app)
        client.become(held(), breakpoints=((1, "x"),))
        await until(pilot, lambda: "Release" in footer(app) and "Answer" in footer(app))
        client.become(held(b"no JSON"))
        await until(pilot, lambda: "Answer" not in footer(app))
        client.state = InterceptState("gone")
        await until(pilot, lambda: "Pause" not in footer(app))
        assert "The proxy has ended" in say(app)


KEYS: list[tuple[str, tuple[str, Mapping[str, Any]]]] = [
    ("r", ("release", {"id": 1})),
    ("x", ("discard", {"id": 1})),
    ("X", ("discard", {"id": 1, "silent": True})),
    ("d", ("duplicate", {"id": 1, "times": 2})),
    ("k", ("keep", {})),
    ("R", ("release_all", {})),
    ("p", ("pause", {})),
    ("delete", ("clear", {"id": 5})),
]


@pytest.mark.parametrize(("key", "deed"), KEYS)
async def test_a_key_asks_for_a_deed(key: str, deed: tuple[str, Mapping[str, Any]]) -> None:
    client = FakeInterceptClient(held(), breakpoints=((4, "a"), (5, "b")))
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "1 held" in say(app))
        await until(pilot, lambda: app.pane.holds.has_focus)
        await pilot.press(key)
        await until(pilot, lambda: client.asked)
        assert client.asked == [deed]


async def test_the_frame_that_was_chosen_is_meant() -> None:
    client = FakeInterceptClient(held(), held(ASK, id=2, seq=13, side="agent"))
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: '"text": "hi"' in say(app))
        await pilot.press("down")
        await until(pilot, lambda: '"optionId": "yes"' in say(app) or "toolCallId" in say(app))
        await pilot.press("r")
        await until(pilot, lambda: client.asked == [("release", {"id": 2})])


async def test_the_breakpoint_that_was_chosen_is_taken_away() -> None:
    client = FakeInterceptClient(
        breakpoints=((4, "from == client"), (5, "from == agent"), (7, "x"))
    )
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "break on from == client" in say(app))
        app.pane.points.focus()
        await pilot.press("up")
        await pilot.press("delete")
        await until(pilot, lambda: client.asked == [("clear", {"id": 5})])
        client.become(breakpoints=())
        await until(pilot, lambda: not app.pane.points.display)


async def test_a_pause_is_shown_and_ended_by_the_same_key() -> None:
    client = FakeInterceptClient(is_paused=True)
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "holding every frame" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.pane.holds.has_focus)
        await pilot.press("p")
        await until(pilot, lambda: client.asked == [("resume", {})])


async def test_an_answer_that_is_discarded_is_remarked_upon() -> None:
    app = PaneApp(FakeInterceptClient(held(b'{"jsonrpc":"2.0","id":1,"result":{}}', side="agent")))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.pane.holds.has_focus)
        await pilot.press("x")
        await until(pilot, lambda: "requester keeps waiting" in notices(app))


async def test_a_breakpoint_is_written_and_asked_for() -> None:
    client = FakeInterceptClient()
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.pane.filter.has_focus)
        await pilot.press(*"from == agent", "enter")
        await until(pilot, lambda: client.asked == [("break", {"filter": "from == agent"})])
        assert app.pane.holds.has_focus
        await pilot.press("b")
        assert app.pane.filter.has_focus


async def test_who_is_writing_a_breakpoint_is_not_interrupted_by_what_is_held() -> None:
    client = FakeInterceptClient()
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"from")
        client.become(held())
        await until(pilot, lambda: "1 held" in say(app))
        assert app.pane.filter.has_focus
        await pilot.press("r")
        assert client.asked == []


async def test_an_edit_a_delay_and_an_answer_are_asked_for_and_compose_opens() -> None:
    client = FakeInterceptClient(held())
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.pane.holds.has_focus)
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, DelayScreen))
        await pilot.press("9", "enter")
        await until(pilot, lambda: client.asked == [("delay", {"id": 1, "seconds": 9.0})])
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AnswerScreen))
        await pilot.press("ctrl+s")
        answer = ("answer", {"id": 1, "result": {"stopReason": "end_turn"}})
        await until(pilot, lambda: client.asked[1:] == [answer])
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditScreen))
        app.screen.query_one("FrameEditor").write("{}")  # pyright: ignore[reportAttributeAccessIssue]
        await pilot.press("ctrl+s")
        edit = ("edit", {"id": 1, "force": False, "text": "{}"})
        await until(pilot, lambda: client.asked[2:] == [edit])
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, ComposeScreen))


async def test_leaving_a_screen_decides_nothing() -> None:
    client = FakeInterceptClient(held())
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.pane.holds.has_focus)
        for key in "weai":
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not app.screen_stack[0])
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.screen_stack[0])
        assert client.asked == []


async def test_of_a_very_long_frame_the_beginning_is_shown_and_all_of_it_edited() -> None:
    whole = b'{"a":"' + b"x" * 20_000 + b'"}'
    client = FakeInterceptClient(held(whole[:9], size=len(whole)))
    client.wholes[1] = whole
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "20 008 bytes in all" in say(app))
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditScreen))
        await until(pilot, lambda: "one line of 20 008 bytes" in say(app))


@pytest.mark.parametrize(
    ("raw", "size", "reason"),
    [
        (b"\xff", 1, "byte 0 is not UTF-8"),
        (b"{", EDITABLE + 1, "131 073 bytes"),
        (b"{", 20, "it has left"),
        (b"\x1b[31m", 5, "control or invisible characters"),
    ],
)
async def test_what_cannot_be_edited_here_is_told_with_what_can(
    raw: bytes, size: int, reason: str
) -> None:
    app = PaneApp(FakeInterceptClient(held(raw, size=size)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.pane.holds.has_focus)
        await pilot.press("e")
        await until(pilot, lambda: reason in notices(app) and "attach --ask" in notices(app))


async def test_text_from_the_wire_is_neither_markup_nor_escape() -> None:
    hostile = b'{"jsonrpc":"2.0","method":"[b]x[/b]\\u001b[31m\xe2\x80\xae"}'
    client = FakeInterceptClient(
        held(hostile),
        breakpoints=((1, "[red]\x1b[0m"),),
        rule_counts={"[b]rule[/b]": 1},
    )
    app = PaneApp(client)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "notification [b]x[/b]␛[31m" in say(app))
        shown = say(app)
        assert "[red]␛[0m" in shown
        assert "[b]rule[/b] ×1" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        client.refusals.append("[bold]no[/bold] \x1b")
        await until(pilot, lambda: "[bold]no[/bold] ␛" in notices(app))


async def test_it_can_be_built_again_from_the_desk() -> None:
    client = FakeInterceptClient(held())
    for _ in range(2):
        app = PaneApp(client)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda app=app: "request session/prompt" in say(app))
            assert isinstance(app.pane.filter, Input)


async def test_a_frame_of_ones_own_begins_with_the_session_that_was_held_last() -> None:
    client = FakeInterceptClient(held())
    app = PaneApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "1 held" in say(app))
        client.become()
        await until(pilot, lambda: "1 held" not in say(app))
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, ComposeScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "auth/status" in say(app))
        await pilot.press(*"session/cancel", "enter")
        await until(pilot, lambda: '"sessionId": "s1"' in say(app))
