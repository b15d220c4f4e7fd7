"""How long there is to write what shall become of a frame."""

from __future__ import annotations

from acp_console.state.intercept import InterceptState
from acp_console.tui.intercept.screens import Countdown
from tests.console.tui.intercept_clients import FakeInterceptClient, held


def test_who_types_when_half_of_the_time_is_gone_gets_all_of_it_again() -> None:
    client = FakeInterceptClient(held(seconds_left=31.0))
    countdown = Countdown(client, 1, "a")
    assert countdown.look("ab") == "sent unchanged in 31 s; typing extends this"
    assert client.asked == []
    client.become(held(seconds_left=29.0))
    countdown.look("ab")
    assert client.asked == [], "nobody has typed"
    countdown.look("abc")
    assert client.asked == [("keep", {})]


def test_what_has_left_is_told_with_the_reason() -> None:
    client = FakeInterceptClient(held())
    countdown = Countdown(client, 1, "")
    countdown.look("")
    assert not countdown.has_left
    client.become()
    assert countdown.look("x") == "the frame is no longer held; Esc goes back"
    assert countdown.has_left
    client.state = InterceptState("gone")
    assert countdown.look("x") == "the proxy is gone; Esc goes back"
    assert client.asked == []
