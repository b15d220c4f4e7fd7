"""Values that one side mints anew in each run."""

from __future__ import annotations

from acp_inspector.replay.bindings import Bindings


def test_a_pair_stays_a_pair_in_both_directions() -> None:
    bindings = Bindings()
    assert bindings.agree("sessionId", "a", "x")
    assert bindings.agree("sessionId", "a", "x")
    assert not bindings.agree("sessionId", "a", "y")
    assert not bindings.agree("sessionId", "b", "x")


def test_kinds_and_types_do_not_mix() -> None:
    bindings = Bindings()
    assert bindings.agree("sessionId", "a", "x")
    assert bindings.agree("toolCallId", "a", "y")
    assert bindings.agree("request", 1, 7)
    assert bindings.agree("request", "1", "8")
    assert not bindings.agree("request", 1, "8")


def test_what_is_sent_holds_the_live_values() -> None:
    bindings = Bindings("/old", "/new")
    bindings.learn(
        {"sessionId": "a", "list": [{"toolCallId": "c"}]},
        {"sessionId": "x", "list": [{"toolCallId": "d"}]},
    )
    recorded = {
        "sessionId": "a",
        "cwd": "/old/sub",
        "n": 1,
        "inner": [{"toolCallId": "c", "text": "a"}],
    }
    assert bindings.to_live(recorded) == {
        "sessionId": "x",
        "cwd": "/new/sub",
        "n": 1,
        "inner": [{"toolCallId": "d", "text": "a"}],
    }


def test_an_unknown_id_is_sent_as_it_was_recorded() -> None:
    bindings = Bindings()
    bindings.agree("request", 5, 9)
    assert bindings.live_id(5) == 9
    assert bindings.live_id(6) == 6


def test_a_secret_that_the_agent_told_goes_back_in_place_of_its_placeholder() -> None:
    bindings = Bindings(is_redacted=True)
    bindings.learn({"login": ["token «secret:1»"]}, {"login": ["token live"]})
    recorded = {"auth": "Bearer «secret:1»", "other": "«secret:2»"}
    assert bindings.to_live(recorded) == {"auth": "Bearer live", "other": "«secret:2»"}
