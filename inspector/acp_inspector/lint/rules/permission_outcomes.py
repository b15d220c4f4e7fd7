"""How a client answers a request for permission, and what comes of it.

Source: ACP, "Tool Calls", "Prompt Turn".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, members, quoted
from acp_inspector.lint.registry import answers, asks, check, learns, results, tells
from acp_inspector.lint.rules.permissions import PERMISSION, options_of
from acp_inspector.lint.rules.tool_calls import TOLD
from acp_inspector.lint.rules.tool_progress import GOING, live_tool, new_status
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

OUTCOMES: Final = frozenset({"selected", "cancelled"})
ENDS: Final = ("session/close", "session/delete", "session/archive")
"""Requests that end the work of a session, permissions included."""


@dataclass(slots=True)
class _Stops:
    """By session: where the client stopped its work last."""

    last: dict[str, Point] = field(default_factory=dict[str, Point])


def _outcome(moment: Moment) -> dict[str, Json]:
    return members(moment.result_object.get("outcome"))


@check("ACP-L226", results(PERMISSION), fix="Select one of the options that were offered.")
def choices_were_offered(moment: Moment) -> Found:
    """Tell of options that are selected though they were not offered."""
    outcome, ask = _outcome(moment), moment.ask
    if ask is None or outcome.get("outcome") != "selected":
        return None
    chosen = outcome.get("optionId")
    if any(each.get("optionId") == chosen for each in options_of(ask.params)):
        return FINE
    return moment.problem(
        f"the optionId {quoted(chosen)} was not offered", ask, path="result.outcome.optionId"
    )


@check(
    "ACP-L227",
    results(PERMISSION),
    fix='Answer {"outcome": {"outcome": "selected", "optionId": …}}.',
)
def outcomes_are_nested(moment: Moment) -> Found:
    """Tell of outcomes that are a string, or stand one level too high."""
    outcome: Json = moment.result_object.get("outcome")
    if isinstance(outcome, dict):
        if isinstance(members(outcome).get("outcome"), str):
            return FINE
        return moment.problem(
            "the outcome has no outcome", moment.ask, path="result.outcome.outcome"
        )
    what = f"is {quoted(outcome)}, no object" if outcome is not None else "is missing"
    return moment.problem(f"the outcome {what}", moment.ask, path="result.outcome")


@check("ACP-L228", results(PERMISSION), fix='Answer "selected" with an optionId, or "cancelled".')
def outcomes_are_known(moment: Moment) -> Found:
    """Tell of outcomes that version 1 does not have, and of choices that do not say which."""
    outcome = _outcome(moment)
    name = outcome.get("outcome")
    if not isinstance(name, str):
        return None
    if name not in OUTCOMES:
        return moment.problem(
            f"{quoted(name)} is no outcome of version 1", moment.ask, path="result.outcome.outcome"
        )
    if name == "selected" and not isinstance(outcome.get("optionId"), str):
        return moment.problem(
            "an option was selected, but which is not said",
            moment.ask,
            path="result.outcome.optionId",
        )
    return FINE


@check("ACP-L229", results(PERMISSION), fix="Begin outcomes of your own with “_”.")
def outcomes_of_ones_own_have_an_underscore(moment: Moment) -> Found:
    """Tell of outcomes in the name space of version 2."""
    name = _outcome(moment).get("outcome")
    if not isinstance(name, str):
        return None
    if name in OUTCOMES or name.startswith("_"):
        return FINE
    return moment.problem(
        f"the outcome {quoted(name)} does not begin with “_”",
        moment.ask,
        path="result.outcome.outcome",
    )


@check("ACP-L230", TOLD, fix="Take an outcome that is not known for a refusal.")
def unknown_outcomes_permit_nothing(moment: Moment) -> Found:
    """Tell of tool calls that go on after an outcome that does not say they may."""
    tool = live_tool(moment)
    if tool is None or tool.permission is None or tool.permission.answered is None:
        return None
    outcome = members(members(tool.permission.result).get("outcome")).get("outcome")
    if not isinstance(outcome, str) or outcome in OUTCOMES:
        return None
    status = new_status(moment)
    if status not in GOING or status == tool.status:
        return FINE
    return moment.problem(
        f"the tool call {quoted(tool.id)} is {status} after the outcome {quoted(outcome)}",
        tool.permission,
        tool.permission.answered,
        path="params.update.status",
    )


@learns(tells("session/cancel"), asks(*ENDS))
def _keep_stop(moment: Moment) -> None:
    if moment.session is not None:
        moment.state.of(_Stops).last[moment.session.id] = moment.point


@check(
    "ACP-L231",
    results(PERMISSION),
    fix='Select an option that rejects; "cancelled" is for work that was stopped.',
)
def only_stopped_work_is_cancelled(moment: Moment) -> Found:
    """Tell of requests that were answered `cancelled` though nobody stopped the work."""
    ask, session = moment.ask, moment.session
    if ask is None or session is None or _outcome(moment).get("outcome") != "cancelled":
        return None
    prompt = session.last_prompt
    begun = ask.n if prompt is None else min(ask.n, prompt.n)
    stop = moment.state.of(_Stops).last.get(session.id)
    if stop is not None and stop.n > begun:
        return FINE
    if ask.cancelled is not None or (prompt is not None and prompt.cancelled is not None):
        return FINE
    return moment.problem(
        "the request was answered cancelled though nobody stopped the work",
        ask,
        path="result.outcome.outcome",
    )


@check(
    "ACP-L232",
    answers("session/prompt"),
    exercised_by=results(PERMISSION),
    fix="Answer requests for permission while the turn runs.",
)
def requests_are_answered_within_the_turn(moment: Moment) -> Found:
    """Tell of requests that were still open when the turn ended by itself."""
    session, prompt = moment.session, moment.ask
    if session is None or prompt is None or session.cancel is not None:
        return None
    stop = moment.state.of(_Stops).last.get(session.id)
    if prompt.cancelled is not None or (stop is not None and stop.n > prompt.n):
        return None
    return tuple(
        Problem("the turn ended before permission was answered", (ask.n, moment.n))
        for ask in moment.state.waiting("agent", PERMISSION, session.id)
        if ask.n > prompt.n and ask.cancelled is None
    )
