"""Open questions, and never too many of them."""

from __future__ import annotations

from acp_inspector.intercept.matching import MAX_PENDING, MAX_REQUEST_BYTES, PendingRequests
from tests.inspector.talks import answer, ask, frames


def test_a_response_finds_its_request_once() -> None:
    pending = PendingRequests()
    request, response, again = frames(
        ask("client", 1, "m", a=1), answer("agent", 1, {}), answer("agent", 1, {})
    )
    pending.add(request)
    assert pending.of(request) is not None
    pending.add(response)
    exchange = pending.of(response)
    assert exchange is not None
    assert (exchange.request.method, exchange.request.params) == ("m", {"a": 1})
    assert exchange.answer is response
    pending.add(again)
    assert pending.of(again) is None
    assert pending.of(response) is None


def test_the_oldest_requests_are_forgotten() -> None:
    pending = PendingRequests()
    for frame in frames(*(ask("client", number, "m") for number in range(MAX_PENDING + 5))):
        pending.add(frame)
    assert len(pending) == MAX_PENDING
    forgotten, kept = frames(answer("agent", 4, {}), answer("agent", 5, {}))
    pending.add(forgotten)
    assert pending.of(forgotten) is None
    pending.add(kept)
    assert pending.of(kept) is not None


def test_of_a_very_long_request_only_the_method_is_kept() -> None:
    pending = PendingRequests()
    request, response = frames(
        ask("client", 1, "m", text="x" * MAX_REQUEST_BYTES), answer("agent", 1, {})
    )
    pending.add(request)
    pending.add(response)
    exchange = pending.of(response)
    assert exchange is not None
    assert (exchange.request.method, exchange.request.params) == ("m", None)
    assert exchange.request.raw + exchange.question.raw == b""
