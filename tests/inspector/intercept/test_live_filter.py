"""Filters on frames that are still on their way."""

from __future__ import annotations

import subprocess
import sys

import pytest

from acp_inspector.filter.errors import FilterError
from acp_inspector.intercept.live_filter import (
    MAX_PENDING,
    MAX_REQUEST_BYTES,
    LiveExchanges,
    LiveFilters,
)
from tests.inspector.talks import answer, ask, frames, prompt


def test_a_response_is_matched_by_its_request() -> None:
    matching = LiveFilters()
    is_meant = matching.compile("method == session/new and result")
    meant: list[int] = []
    for frame in frames(
        ask("client", 1, "session/new"),
        ask("agent", 1, "session/request_permission"),
        answer("client", 1, {}),
        answer("agent", 1, {}),
        answer("agent", 1, {}),
    ):
        matching.add(frame)
        meant += [frame.seq] if is_meant(frame) else []
    assert meant == [4]


def test_a_frame_is_parsed_once_for_all_filters() -> None:
    matching = LiveFilters()
    one, other = matching.compile("method == session/prompt"), matching.compile("from == client")
    (frame,) = frames(prompt(1, "hi"))
    matching.add(frame)
    assert one(frame)
    assert other(frame)


def test_who_interferes_with_nothing_does_not_pay_for_the_language() -> None:
    program = "import sys, acp_inspector.intercept.controller; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(done.stdout.decode().split())
    assert not {"lark", "asyncio", "anyio", "pydantic", "tomllib", "typing_extensions"} & loaded
    assert not any(name.startswith("acp_inspector.filter") for name in loaded)


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("turn == 1", "turn"),
        ("from == agent and finding >= error", "finding"),
        ("rule ~ x or method == y", "rule"),
        ("not edited", "edited"),
        ("marked", "marked"),
        ("pending", "pending"),
        ("stderr", "stderr"),
        ("event == exit", "event"),
    ],
)
def test_what_could_never_be_met_is_refused_in_place(expression: str, name: str) -> None:
    with pytest.raises(FilterError, match=f"`{name}`") as refused:
        LiveFilters().compile(expression)
    assert expression[refused.value.position :].startswith(name)


def test_what_may_still_be_met_by_frames_is_taken() -> None:
    matching = LiveFilters()
    assert matching.compile("error or malformed or stderr")
    assert matching.compile("")


def test_a_response_finds_its_request_once() -> None:
    pending = LiveExchanges()
    request, response, again = frames(
        ask("client", 1, "m", a=1), answer("agent", 1, {}), answer("agent", 1, {})
    )
    pending.add(request)
    assert pending.of(request) is not None
    pending.add(response)
    exchange = pending.of(response)
    assert exchange is not None
    assert (exchange.request.method, exchange.request.params) == ("m", {"a": 1})
    assert exchange.response_frame is response
    pending.add(again)
    assert pending.of(again) is None
    assert pending.of(response) is None


def test_the_oldest_requests_are_forgotten() -> None:
    pending = LiveExchanges()
    for frame in frames(*(ask("client", number, "m") for number in range(MAX_PENDING + 5))):
        pending.add(frame)
    assert len(pending) == MAX_PENDING
    forgotten, kept = frames(answer("agent", 4, {}), answer("agent", 5, {}))
    pending.add(forgotten)
    assert pending.of(forgotten) is None
    pending.add(kept)
    assert pending.of(kept) is not None


def test_of_a_very_long_request_only_the_method_is_kept() -> None:
    pending = LiveExchanges()
    request, response = frames(
        ask("client", 1, "m", text="x" * MAX_REQUEST_BYTES), answer("agent", 1, {})
    )
    pending.add(request)
    pending.add(response)
    exchange = pending.of(response)
    assert exchange is not None
    assert (exchange.request.method, exchange.request.params) == ("m", None)
    assert exchange.request.raw + exchange.request_frame.data == b""
