"""What a session has used of its context window, and what it cost.

Source: ACP, "Session Usage".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, TypeGuard

from acp_inspector.lint.moment import FINE, Found, Moment, members, quoted
from acp_inspector.lint.registry import check, learns, results, updates
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

UPDATE: Final = updates("usage_update")
PLACE: Final = "params.update"
_MONEY: Final = re.compile(r"[A-Za-z]{3}")


@dataclass(slots=True)
class _Cost:
    point: Point
    amount: float
    currency: Json


@dataclass(slots=True)
class _Costs:
    """The last cost of every session."""

    of: dict[str, _Cost] = field(default_factory=dict[str, _Cost])


def _cost(moment: Moment) -> dict[str, Json]:
    return members(moment.update.get("cost"))


@learns(UPDATE)
def _keep_cost(moment: Moment) -> None:
    costs, session = moment.state.of(_Costs), moment.session_id
    amount = _cost(moment).get("amount")
    if session is None:
        return
    if _is_number(amount):
        costs.of[session] = _Cost(moment.point, amount, _cost(moment).get("currency"))
    elif "cost" in moment.update and moment.update["cost"] is None:
        costs.of.pop(session, None)


def _is_number(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> TypeGuard[int]:
    return type(value) is int and value >= 0


@check("ACP-L321", UPDATE, fix="Send whole numbers of tokens.")
def counts_are_numbers(moment: Moment) -> Found:
    """Tell of counts that are missing, negative or no whole numbers."""
    for name in ("used", "size"):
        if not _is_count(moment.update.get(name)):
            said = moment.update.get(name)
            what = "is missing" if said is None else f"is {quoted(said)}"
            return moment.problem(f"{name} {what}", path=f"{PLACE}.{name}")
    return FINE


@check("ACP-L322", UPDATE, fix="Tell the whole window's size, and what of it is used.")
def the_window_is_not_overfull(moment: Moment) -> Found:
    """Tell of more tokens than there is room for."""
    used, size = moment.update.get("used"), moment.update.get("size")
    if not _is_count(used) or not _is_count(size):
        return None
    if not size:
        return moment.problem("the window's size is 0", path=f"{PLACE}.size")
    if used > size:
        return moment.problem(f"{used} of {size} tokens are used", path=f"{PLACE}.used")
    return FINE


@check("ACP-L323", UPDATE, fix="Tell amount and currency.")
def costs_are_whole(moment: Moment) -> Found:
    """Tell of costs without amount or currency."""
    if moment.update.get("cost") is None:
        return None
    cost = _cost(moment)
    if not _is_number(cost.get("amount")):
        return moment.problem("the cost has no amount", path=f"{PLACE}.cost.amount")
    if not isinstance(cost.get("currency"), str):
        return moment.problem("the cost has no currency", path=f"{PLACE}.cost.currency")
    return FINE


@check("ACP-L324", UPDATE, fix="Write money as ISO 4217 does: USD.")
def currencies_are_written_alike(moment: Moment) -> Found:
    """Tell of empty units, and of money in small letters."""
    currency = _cost(moment).get("currency")
    if not isinstance(currency, str):
        return None
    if not currency.strip() or (_MONEY.fullmatch(currency) and not currency.isupper()):
        return moment.problem(f"the currency is {quoted(currency)}", path=f"{PLACE}.cost.currency")
    return FINE


@check("ACP-L325", UPDATE, fix="Tell what the session has cost so far.")
def costs_add_up(moment: Moment) -> Found:
    """Tell of costs below zero, and of costs that shrink."""
    amount = _cost(moment).get("amount")
    if not _is_number(amount):
        return None
    if amount < 0:
        return moment.problem(f"the cost is {amount}", path=f"{PLACE}.cost.amount")
    before = moment.state.of(_Costs).of.get(moment.session_id or "")
    is_replaying = moment.session is not None and moment.session.is_replaying
    if before is None or before.currency != _cost(moment).get("currency") or is_replaying:
        return FINE
    if amount < before.amount:
        return moment.problem(
            f"the cost falls from {before.amount} to {amount}",
            before.point,
            path=f"{PLACE}.cost.amount",
        )
    return FINE


@check("ACP-L326", UPDATE, fix="Stay with one unit in a session.")
def currencies_stay(moment: Moment) -> Found:
    """Tell of a session that is told in two currencies."""
    before = moment.state.of(_Costs).of.get(moment.session_id or "")
    currency = _cost(moment).get("currency")
    if before is None or not isinstance(currency, str):
        return None
    if currency == before.currency:
        return FINE
    return moment.problem(
        f"the currency changes from {quoted(before.currency)} to {quoted(currency)}",
        before.point,
        path=f"{PLACE}.cost.currency",
    )


@check("ACP-L327", results("session/prompt"), updates("state_update"), fix="Count all tokens.")
def totals_cover_their_parts(moment: Moment) -> Found:
    """Tell of a total that is smaller than what went in and came out."""
    is_result = moment.kind == "result"
    usage = members((moment.result_object if is_result else moment.update).get("usage"))
    total, sent, got = (usage.get(f"{name}Tokens") for name in ("total", "input", "output"))
    if not (_is_count(total) and _is_count(sent) and _is_count(got)):
        return None
    if total >= sent + got:
        return FINE
    place = "result" if is_result else PLACE
    return moment.problem(
        f"{total} tokens in total, {sent} in and {got} out", path=f"{place}.usage.totalTokens"
    )
