"""Talks about usage and cost."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps


def used(talk: Talk, *told: dict[str, Any]) -> None:
    """Tell of usage."""
    talk.open()
    for each in told:
        members: dict[str, Any] = {"used": 10, "size": 100} | each
        talk.update("usage_update", **members)


def cost(amount: Any, currency: Any = "USD") -> dict[str, Any]:
    """Return what a session cost."""
    return {"cost": {"amount": amount, "currency": currency}}


@breaks("incomplete-usage")
def a_count_is_negative(talk: Talk) -> None:
    used(talk, {"used": -1})


@breaks("incomplete-usage", 2)
def a_count_is_missing(talk: Talk) -> None:
    used(talk, {"size": None})


@keeps("incomplete-usage")
def nothing_is_used_yet(talk: Talk) -> None:
    used(talk, {"used": 0})


@breaks("usage-over-size")
def more_is_used_than_there_is(talk: Talk) -> None:
    used(talk, {"used": 101})


@breaks("usage-over-size", 2)
def there_is_no_room_at_all(talk: Talk) -> None:
    used(talk, {"used": 0, "size": 0})


@keeps("usage-over-size")
def all_of_it_is_used(talk: Talk) -> None:
    used(talk, {"used": 100})


@breaks("incomplete-cost")
def a_cost_has_no_currency(talk: Talk) -> None:
    used(talk, {"cost": {"amount": 1}})


@breaks("incomplete-cost", 2)
def an_amount_is_a_word(talk: Talk) -> None:
    used(talk, cost("1.00"))


@keeps("incomplete-cost")
def a_cost_is_whole(talk: Talk) -> None:
    used(talk, cost(0))


@breaks("malformed-currency")
def a_currency_is_small(talk: Talk) -> None:
    used(talk, cost(1, "usd"))


@breaks("malformed-currency", 2)
def a_currency_is_empty(talk: Talk) -> None:
    used(talk, cost(1, ""))


@keeps("malformed-currency")
def a_unit_is_no_money(talk: Talk) -> None:
    used(talk, cost(1, "credits"))


@breaks("cost-decreases")
def a_cost_is_negative(talk: Talk) -> None:
    used(talk, cost(-0.01))


@breaks("cost-decreases", 2)
def a_cost_falls(talk: Talk) -> None:
    used(talk, cost(2.5), {}, cost(2.4))


@keeps("cost-decreases", 2)
def a_cost_begins_anew_after_null(talk: Talk) -> None:
    used(talk, cost(2.5), {"cost": None}, cost(0.1))


@breaks("currency-changes")
def a_currency_changes(talk: Talk) -> None:
    used(talk, cost(1), cost(2, "EUR"))


@keeps("currency-changes")
def a_currency_stays(talk: Talk) -> None:
    used(talk, cost(1), cost(1))


@breaks("wrong-token-total")
def a_total_is_less_than_its_parts(talk: Talk) -> None:
    talk.open()
    usage = {"totalTokens": 5, "inputTokens": 3, "outputTokens": 3}
    talk.answer(talk.prompt(), stopReason="end_turn", usage=usage)


@keeps("wrong-token-total")
def a_total_is_the_sum_of_its_parts(talk: Talk) -> None:
    talk.open()
    usage = {"totalTokens": 6, "inputTokens": 3, "outputTokens": 3}
    talk.answer(talk.prompt(), stopReason="end_turn", usage=usage)
