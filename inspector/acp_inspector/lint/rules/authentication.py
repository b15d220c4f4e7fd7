"""How a client logs in, with what the agent offers.

Source: ACP, "Authentication".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, quoted
from acp_inspector.lint.registry import answers, asks, check, failures, learns, results
from acp_inspector.lint.rules.session_gates import gated
from acp_inspector.lint.state import Ask, Point
from acp_protocol.jsonrpc import Json

LOGINS: Final = ("authenticate", "auth/login")
LOGOUTS: Final = ("logout", "auth/logout")
GUARDED: Final = (
    "session/new",
    "session/load",
    "session/resume",
    "session/fork",
    "session/list",
    "session/prompt",
)
"""Requests that an agent may refuse until one is logged in."""
REQUIRED: Final = -32000
"""The code that says that one has to log in."""
EXPLAINED: Final = frozenset({REQUIRED, -32002, -32022, -32600, -32601, -32602, -32800})
"""Codes that tell what was wrong with the request itself."""
SECRETS: Final = ("token", "key", "secret", "password", "credential", "code", "data")
"""Words in the names of members that hold what nobody else may know."""
REMEMBERED: Final = 1000
"""Refused requests that are remembered."""


@dataclass(slots=True)
class _Doors:
    """What was refused until one is logged in."""

    refused: dict[int, Point] = field(default_factory=dict[int, Point])
    """By the request: where it was refused last."""
    logout: Point | None = None
    """The last one that went well and was not followed by a login."""


def _id(method: dict[str, Json]) -> Json:
    # An agent that calls it by the other version's name is at fault, not who uses it.
    return method.get("id", method.get("methodId"))


@check("ACP-L068", asks("authenticate"), fix="Use the id of one of the offered authMethods.")
def logins_were_offered(moment: Moment) -> Found:
    """Tell of logins of version 1 by a method that was not offered."""
    return _offered(moment)


@check("ACP-L069", asks("auth/login"), fix="Use the methodId of one of the offered authMethods.")
def logins_of_version_2_were_offered(moment: Moment) -> Found:
    """Tell of logins of version 2 by a method that was not offered."""
    return _offered(moment)


def _offered(moment: Moment) -> Found:
    if not moment.state.is_ready:
        return None
    wanted = moment.params.get("methodId")
    if any(_id(each) == wanted for each in moment.state.auth_methods):
        return FINE
    return moment.problem(
        f"the method {quoted(wanted)} was not offered",
        moment.state.initialize,
        path="params.methodId",
    )


@check("ACP-L070", asks(*LOGINS), fix="Start the agent in a terminal, with the method's args.")
def terminal_methods_are_not_passed_on(moment: Moment) -> Found:
    """Tell of methods for a terminal that the agent is asked to do by itself."""
    if not moment.state.auth_methods:
        return None
    wanted = moment.params.get("methodId")
    if any(
        each.get("type") == "terminal" and _id(each) == wanted for each in moment.state.auth_methods
    ):
        return moment.problem(
            f"the method {quoted(wanted)} is one for a terminal",
            moment.state.initialize,
            path="params.methodId",
        )
    return FINE


@check("ACP-L073", asks("logout"), fix="Call logout only where the agent claimed auth.logout.")
def logout_is_claimed(moment: Moment) -> Found:
    """Tell of logouts from an agent that has none."""
    return gated(moment, "auth.logout")


@check(
    "ACP-L074",
    asks("auth/login", "auth/logout"),
    fix="Call neither where no authMethods were offered.",
)
def there_are_methods_to_log_in_by(moment: Moment) -> Found:
    """Tell of logins and logouts where the agent offers no way to log in."""
    if not moment.state.is_ready:
        return None
    if moment.state.auth_methods:
        return FINE
    return moment.problem(
        f"{moment.method} was sent though no authMethods were offered",
        moment.state.initialize,
        path="method",
    )


@check(
    "ACP-L075",
    answers("auth/login", "auth/logout"),
    fix="Answer auth/login and auth/logout wherever authMethods are offered.",
)
def offered_logins_are_there(moment: Moment) -> Found:
    """Tell of logins that are not found though methods for them were offered."""
    if moment.ask is None or not moment.state.auth_methods:
        return None
    if moment.code == -32601:
        return moment.problem(
            f"{moment.ask.method} is not found though authMethods were offered",
            moment.state.initialize,
            moment.ask,
        )
    return FINE


@check("ACP-L081", answers(*GUARDED), fix="Let in whoever has logged in, until the logout.")
def logins_last(moment: Moment) -> Found:
    """Tell of requests that need a login though there was one."""
    login, ask = moment.state.login, moment.ask
    if login is None or ask is None or ask.n < login.n:
        return None
    if moment.kind == "failure" and moment.code == REQUIRED:
        return moment.problem(f"{ask.method} needs a login though there was one", login, ask)
    return FINE


@check("ACP-L082", answers(*GUARDED), fix="Answer -32000 to what needs a login again.")
def logouts_break_nothing_else(moment: Moment) -> Found:
    """Tell of requests that fail after a logout, and not for want of a login."""
    logout, ask = moment.state.of(_Doors).logout, moment.ask
    if logout is None or ask is None or ask.n < logout.n:
        return None
    if moment.kind == "result" or moment.code in EXPLAINED:
        return FINE
    return moment.problem(
        f"{ask.method} failed with {quoted(moment.error.get('code'))} after the logout",
        logout,
        ask,
    )


@check(
    "ACP-L083", asks(*GUARDED), exercised_by=failures(*GUARDED), fix="Log in first, then ask again."
)
def refused_requests_are_not_repeated(moment: Moment) -> Found:
    """Tell of requests that were refused for want of a login, and come again without one.

    Where a login happens in a terminal, it does not show in the recording.
    """
    refused = moment.state.of(_Doors).refused
    point = refused.get(_request(moment)) if refused else None
    if point is None or any(each.get("type") == "terminal" for each in moment.state.auth_methods):
        return None
    return moment.problem(f"{moment.method} comes again, and there was no login", point)


def _request(call: Moment | Ask) -> int:
    """Return what tells requests apart, apart from their ids."""
    return hash((call.method, json.dumps(call.params, sort_keys=True, default=str)))


@learns(asks(*LOGINS), results(*LOGOUTS), failures(*GUARDED))
def _keep_doors(moment: Moment) -> None:
    doors = moment.state.of(_Doors)
    if moment.kind == "request":
        doors.refused.clear()
    elif moment.kind == "result":
        doors.logout = moment.point
    elif moment.ask is not None and moment.code == REQUIRED and len(doors.refused) < REMEMBERED:
        doors.refused[_request(moment.ask)] = moment.point


@learns(results(*LOGINS))
def _end_logout(moment: Moment) -> None:
    moment.state.of(_Doors).logout = None


@check("ACP-L084", asks(*LOGINS), fix="Send only methodId; let the agent ask for the rest itself.")
def credentials_are_not_sent(moment: Moment) -> Found:
    """Tell of members beside methodId; those that sound like a secret are errors."""
    strange = [name for name in moment.params if name not in {"methodId", "_meta"}]
    return tuple(
        Problem(
            f"{moment.method} has {quoted(name)}",
            (moment.n,),
            None if any(word in name.casefold() for word in SECRETS) else "warning",
            f"params.{name}",
        )
        for name in strange
    )
