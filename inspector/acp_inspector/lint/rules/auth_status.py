"""Whether one is logged in, as the agent tells (unstable).

Source: ACP schema, `auth/status`, `auth/status_update`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, entries, members, quoted
from acp_inspector.lint.registry import Trigger, answers, asks, check, learns, results, tells
from acp_inspector.lint.rules.session_gates import gated
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

STATES: Final = frozenset({"authenticated", "unauthenticated", "not_required", "unknown"})
TOLD: Final[tuple[Trigger, ...]] = (*results("auth/status"), *tells("auth/status_update"))
"""Messages that tell the status."""


@dataclass(slots=True)
class _Status:
    """What was told last."""

    digest: int | None = None
    at: Point | None = None
    early: Point | None = None
    """An update that came before a version was agreed upon."""


def _told(moment: Moment) -> tuple[str, dict[str, Json]]:
    if moment.kind == "result":
        return "result", moment.result_object
    return "params", moment.params


def _digest(told: dict[str, Json]) -> int:
    status: list[Json] = [told.get("state"), entries(told.get("accounts"))]
    return hash(json.dumps(status, sort_keys=True, default=str))


@check("ACP-L489", asks("auth/status"), fix="Ask only where the agent claimed auth.status.")
def auth_status_is_claimed(moment: Moment) -> Found:
    """Tell of a status that is asked of an agent that has none."""
    return gated(moment, "auth.status")


@check("ACP-L490", answers("auth/status"), fix="Answer with the state “unauthenticated”.")
def the_status_needs_no_login(moment: Moment) -> Found:
    """Tell of a status that needs a login.

    That asking changes nothing, a recording does not tell.
    """
    if moment.kind == "failure" and moment.code == -32000:
        return moment.problem("auth/status was answered -32000", moment.ask)
    return FINE


@check(
    "ACP-L491",
    tells("auth/status_update"),
    fix="Tell the status only where it is claimed, and after initialize.",
)
def told_statuses_are_claimed(moment: Moment) -> Found:
    """Tell of a status that comes though the agent did not claim to tell it."""
    return gated(moment, "auth.status")


@check("ACP-L491", results("initialize"), fix="Tell the status only after initialize.")
def told_statuses_come_after_initialize(moment: Moment) -> Found:
    """Tell of a status that came before a version was agreed upon."""
    early = moment.state.of(_Status).early
    if early is None:
        return None
    return moment.problem("auth/status_update came before initialize was answered", early)


@check("ACP-L492", tells("auth/status_update"), fix="Tell only of changes.")
def told_statuses_are_new(moment: Moment) -> Found:
    """Tell of a status that was told already."""
    status = moment.state.of(_Status)
    if status.digest is None or status.digest != _digest(moment.params):
        return FINE
    return moment.problem("the status was told already", status.at)


@learns(TOLD)
def _keep_status(moment: Moment) -> None:
    status = moment.state.of(_Status)
    status.digest, status.at = _digest(_told(moment)[1]), moment.point
    if moment.kind == "notification" and moment.version is None:
        status.early = status.early or moment.point


@check("ACP-L493", TOLD, fix="Tell a state, and a label for each account.")
def statuses_are_complete(moment: Moment) -> Found:
    """Tell of a status without a state, of states in the protocol's name space, of no labels."""
    place, told = _told(moment)
    state: Json = told.get("state")
    problems: list[Problem] = []
    if not isinstance(state, str):
        what = "no string" if "state" in told else "missing"
        problems += moment.problem(f"the state is {what}", path=f"{place}.state")
    elif state not in STATES and not state.startswith("_"):
        text = f"the state {quoted(state)} does not begin with “_”"
        problems += moment.problem(text, path=f"{place}.state")
    for index, each in enumerate(entries(told.get("accounts"))):
        if not isinstance(members(each).get("label"), str):
            path = f"{place}.accounts.{index}.label"
            problems += moment.problem("an account has no label", path=path)
    return tuple(problems)
