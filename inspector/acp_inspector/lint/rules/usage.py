"""Usage of the context window, and costs.

Source: ACP, "Session Usage".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeGuard

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema, valid
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix, track
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json

rule = LintSubject("usage", page="rfds/session-usage.mdx")

UPDATE: Final = on.update("usage_update")
PLACE: Final = "params.update"
_MONEY: Final = re.compile(r"[A-Za-z]{3}")


@dataclass(slots=True)
class _Cost:
    point: Point
    amount: float
    currency: Json


class _Costs(dict[str, _Cost]):
    """The last cost of every session."""


def _cost(context: Context) -> dict[str, Json]:
    return as_object(context.update.get("cost"))


@track(UPDATE)
def _keep_cost(context: Context) -> None:
    costs, session = context.state.of(_Costs), context.session_id
    amount = _cost(context).get("amount")
    if session is None:
        return
    if _is_number(amount):
        costs[session] = _Cost(context.point, amount, _cost(context).get("currency"))
    elif "cost" in context.update and context.update["cost"] is None:
        costs.pop(session, None)


def _is_number(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> TypeGuard[int]:
    return type(value) is int and value >= 0


@rule.warning(322, "heuristic", "agent", UPDATE)
@fix("Report the whole window's size, and what of it is used.")
def usage_over_size(context: Context) -> CheckResult:
    """`used` ≤ `size`, and `size` > 0."""
    used, size = context.update.get("used"), context.update.get("size")
    if not _is_count(used) or not _is_count(size):
        return None
    if not size:
        return context.problem("the window's size is 0", path=f"{PLACE}.size")
    if used > size:
        return context.problem(f"{used} of {size} tokens are used", path=f"{PLACE}.used")
    return OK


def _is_currency(text: str) -> bool:
    return bool(text.strip()) and (_MONEY.fullmatch(text) is None or text.isupper())


@rule.info(324, "heuristic", "agent", UPDATE, source="schema", since="2026-11")
@fix("Write money as ISO 4217 does: USD.")
@checked_by(valid, at="cost.currency", test=_is_currency, what="no currency")
def malformed_currency() -> None:
    """`currency` is a non-empty unit: an ISO 4217 code in upper case for money, or another unit
    such as `credits` (the v2 pattern was dropped).
    """


@rule.warning(325, "implied", "agent", UPDATE, since="2026-11")
@fix("Report what the session has cost so far.")
def cost_decreases(context: Context) -> CheckResult:
    """`cost.amount` is non-negative and does not decrease within a session (cumulative); v2:
    omitted keeps the last cost, null clears it.
    """
    amount = _cost(context).get("amount")
    if not _is_number(amount):
        return None
    if amount < 0:
        return context.problem(f"the cost is {amount}", path=f"{PLACE}.cost.amount")
    before = context.state.of(_Costs).get(context.session_id or "")
    is_replaying = context.session is not None and context.session.is_replaying
    if before is None or before.currency != _cost(context).get("currency") or is_replaying:
        return OK
    if amount < before.amount:
        return context.problem(
            f"the cost falls from {before.amount} to {amount}",
            before.point,
            path=f"{PLACE}.cost.amount",
        )
    return OK


@rule.info(326, "heuristic", "agent", UPDATE)
@fix("Stay with one unit in a session.")
def currency_changes(context: Context) -> CheckResult:
    """`currency` does not change within a session."""
    before = context.state.of(_Costs).get(context.session_id or "")
    currency = _cost(context).get("currency")
    if before is None or not isinstance(currency, str):
        return None
    if currency == before.currency:
        return OK
    return context.problem(
        f"the currency changes from {quoted(before.currency)} to {quoted(currency)}",
        before.point,
        path=f"{PLACE}.cost.currency",
    )


@rule.info(327, "heuristic", "agent", on.result("session/prompt"), on.update("state_update"))
@details(source="rfds/end-turn-token-usage.mdx")
@fix("Count all tokens.")
def wrong_token_total(context: Context) -> CheckResult:
    """Unstable `usage`: `totalTokens` is at least input + output."""
    is_result = context.kind == "result"
    usage = as_object((context.result_object if is_result else context.update).get("usage"))
    total, sent, got = (usage.get(f"{name}Tokens") for name in ("total", "input", "output"))
    if not (_is_count(total) and _is_count(sent) and _is_count(got)):
        return None
    if total >= sent + got:
        return OK
    place = "result" if is_result else PLACE
    return context.problem(
        f"{total} tokens in total, {sent} in and {got} out", path=f"{place}.usage.totalTokens"
    )


@rule.error(
    321, "schema", "agent", on.update("usage_update"), source="prompt-turn.mdx", case="usage.counts"
)
@fix("Send whole numbers of tokens.")
@checked_by(schema, at="used|size", kinds=("missing", "type", "range"))
def incomplete_usage() -> None:
    """`used` and `size` are present non-negative integers."""


@rule.error(
    323, "schema", "agent", on.update("usage_update"), source="prompt-turn.mdx", case="usage.cost"
)
@fix("Report amount and currency.")
@checked_by(schema, at="cost.amount|currency")
def incomplete_cost() -> None:
    """`cost` has `amount` and `currency`."""
