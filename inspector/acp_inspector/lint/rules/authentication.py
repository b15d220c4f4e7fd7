"""Authentication: the offered methods, login and logout.

Source: ACP, "Authentication".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import (
    OK,
    CheckResult,
    Context,
    Place,
    Problem,
    Violation,
    items,
    quoted,
)
from acp_inspector.lint.on import Triggers
from acp_inspector.lint.registry import check, each_of, track
from acp_inspector.lint.rules.capability_gates import gated
from acp_inspector.lint.state import Point, SentRequest
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import (
    AUTH_REQUIRED,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Json,
)
from acp_protocol.schema.vocabulary import ERROR_CODES, OPENING

LOGINS: Final = ("authenticate", "auth/login")
LOGOUTS: Final = ("logout", "auth/logout")
GUARDED: Final = (
    *OPENING,
    "session/list",
    "session/prompt",
)
"""Requests that an agent may refuse before a login."""
EXPLAINED: Final = ERROR_CODES[2] - {PARSE_ERROR, INTERNAL_ERROR}
"""Error codes for a fault in the request itself."""
SECRETS: Final = ("token", "key", "secret", "password", "credential", "code", "data")
"""Words in the names of fields that hold secrets."""
REMEMBERED: Final = 1000
"""Refused requests that are remembered."""


@dataclass(slots=True)
class _LoginState:
    """Requests refused for lack of a login, and the last logout."""

    refused: dict[int, Point] = field(default_factory=dict[int, Point])
    """The last refusal, by request."""
    logout: Point | None = None
    """The last successful logout that no login followed."""


def _id(method: dict[str, Json]) -> Json:
    # If the agent names the field as in the other version, the client is not at fault.
    return method.get("id", method.get("methodId"))


@check("ACP-L068", on.request("authenticate"))
@check("ACP-L069", on.request("auth/login"))
def _offered(context: Context) -> CheckResult:
    if not context.state.is_ready:
        return None
    wanted = context.params.get("methodId")
    if any(_id(each) == wanted for each in context.state.auth_methods):
        return OK
    return context.problem(
        f"the method {quoted(wanted)} was not offered", context.state.initialize, at="methodId"
    )


@check("ACP-L070", on.request(*LOGINS))
def terminal_methods_are_not_passed_on(context: Context) -> CheckResult:
    if not context.state.auth_methods:
        return None
    wanted = context.params.get("methodId")
    if any(
        each.get("type") == "terminal" and _id(each) == wanted
        for each in context.state.auth_methods
    ):
        return context.problem(
            f"the method {quoted(wanted)} is one for a terminal",
            context.state.initialize,
            at="methodId",
        )
    return OK


@check("ACP-L074", on.request("auth/login", "auth/logout"))
def there_are_methods_to_log_in_by(context: Context) -> CheckResult:
    if not context.state.is_ready:
        return None
    if context.state.auth_methods:
        return OK
    return context.problem(
        f"{context.method} was sent though no authMethods were offered",
        context.state.initialize,
        path="method",
    )


@check("ACP-L075", on.response("auth/login", "auth/logout"))
def offered_logins_are_there(context: Context) -> CheckResult:
    if context.request is None or not context.state.auth_methods:
        return None
    if context.code == METHOD_NOT_FOUND:
        return context.problem(
            f"{context.request.method} is not found though authMethods were offered",
            context.state.initialize,
            context.request,
        )
    return OK


@check("ACP-L081", on.response(*GUARDED))
def logins_last(context: Context) -> CheckResult:
    login, ask = context.state.login, context.request
    if login is None or ask is None or ask.seq < login.seq:
        return None
    if context.kind == "failure" and context.code == AUTH_REQUIRED:
        return context.problem(f"{ask.method} requires a login although one succeeded", login, ask)
    return OK


@check("ACP-L082", on.response(*GUARDED))
def logouts_break_nothing_else(context: Context) -> CheckResult:
    logout, ask = context.state.of(_LoginState).logout, context.request
    if logout is None or ask is None or ask.seq < logout.seq:
        return None
    if context.kind == "result" or context.code in EXPLAINED:
        return OK
    return context.problem(
        f"{ask.method} failed with {quoted(context.error.get('code'))} after the logout",
        logout,
        ask,
    )


@check("ACP-L083", on.request(*GUARDED), exercised_by=on.error(*GUARDED))
def refused_requests_are_not_repeated(context: Context) -> CheckResult:
    """Flag requests that were refused for lack of a login and are repeated without one.

    A login in a terminal is not in the recording.
    """
    refused = context.state.of(_LoginState).refused
    point = refused.get(_request(context)) if refused else None
    if point is None or any(each.get("type") == "terminal" for each in context.state.auth_methods):
        return None
    return context.problem(f"{context.method} is repeated without a login", point)


def _request(call: Context | SentRequest) -> int:
    """Return what identifies a request, without its id."""
    return hash((call.method, json.dumps(call.params, sort_keys=True, default=str)))


@track(on.request(*LOGINS), on.result(*LOGOUTS), on.error(*GUARDED))
def _track_login_state(context: Context) -> None:
    login = context.state.of(_LoginState)
    if context.kind == "request":
        login.refused.clear()
    elif context.kind == "result":
        login.logout = context.point
    elif (
        context.request is not None
        and context.code == AUTH_REQUIRED
        and len(login.refused) < REMEMBERED
    ):
        login.refused[_request(context.request)] = context.point


@track(on.result(*LOGINS))
def _end_logout(context: Context) -> None:
    context.state.of(_LoginState).logout = None


@check("ACP-L084", on.request(*LOGINS))
def credentials_are_not_sent(context: Context) -> CheckResult:
    strange = [name for name in context.params if name not in {"methodId", "_meta"}]
    return tuple(
        Problem(
            f"{context.method} has {quoted(name)}",
            (context.seq,),
            None if any(word in name.casefold() for word in SECRETS) else "warning",
            f"params.{name}",
        )
        for name in strange
    )


def _offers(context: Context) -> list[Place]:
    return items("result.authMethods", context.result_object.get("authMethods"))


def _terminals(context: Context) -> list[tuple[str, dict[str, Json]]]:
    return [(place, each) for place, each in _offers(context) if each.get("type") == "terminal"]


@check("ACP-L071", on.result("initialize"), name="clientCapabilities")
@check("ACP-L072", on.result("initialize"), name="capabilities")
def _has_terminal(context: Context, name: str) -> CheckResult:
    offers = _terminals(context)
    if not offers or context.request is None:
        return None
    claim = as_object(as_object(context.request.params.get(name)).get("auth")).get("terminal")
    if claim is True if context.version == 1 else isinstance(claim, dict):
        return OK
    return context.problem(
        f"a terminal method is offered although the client did not claim {name}.auth.terminal",
        context.request,
        path=f"{offers[0][0]}.type",
    )


@check("ACP-L076", on.result("initialize"), wanted=("type", "methodId"), foreign="id")
@check("ACP-L077", on.result("initialize"), wanted=("id", "name"), foreign="methodId")
@each_of(_offers)
def methods_are_complete(
    context: Context, place: str, method: dict[str, Json], *, wanted: tuple[str, ...], foreign: str
) -> Iterator[Violation]:
    for name in wanted:
        if not isinstance(method.get(name), str):
            hint = f", but {foreign}" if foreign in method and name != "name" else ""
            yield f"the auth method has no {name}{hint}", f"{place}.{name}"
    kind = method.get("type")
    is_own = isinstance(kind, str) and (kind in {"agent", "terminal"} or kind.startswith("_"))
    if context.version == 2 and isinstance(kind, str) and not is_own:
        yield f"the type {quoted(kind)} does not begin with “_”", f"{place}.type"


def _environments(context: Context) -> list[Place]:
    return [each for each in _terminals(context) if each[1].get("env") is not None]


@check("ACP-L078", on.result("initialize"))
@each_of(_environments)
def environments_are_objects(
    context: Context, place: str, method: dict[str, Json]
) -> Iterator[Violation]:
    if not isinstance(method["env"], dict):
        yield "the env of a method for a terminal is not an object", f"{place}.env"
    for name, value in as_object(method["env"]).items():
        if not isinstance(value, str):
            yield f"the variable {quoted(name)} is not a string", f"{place}.env"


@check("ACP-L079", on.result("initialize"))
@each_of(_environments)
def environments_are_pairs(
    context: Context, place: str, method: dict[str, Json]
) -> Iterator[Violation]:
    if not isinstance(method["env"], list):
        yield "the env of a method for a terminal is not an array", f"{place}.env"
    seen: set[str] = set()
    for where, pair in items(f"{place}.env", method["env"]):
        name, value = pair.get("name"), pair.get("value")
        if not isinstance(name, str) or not isinstance(value, str):
            yield "the entry is not an object with name and value", where
        elif name in seen:
            yield f"the variable {quoted(name)} occurs twice", where
        else:
            seen.add(name)


@check("ACP-L080", on.result("initialize"))
@each_of(_terminals)
def terminal_methods_have_no_command(
    context: Context, place: str, method: dict[str, Json]
) -> Iterator[Violation]:
    if "command" in method:
        yield "a method for a terminal has a command", f"{place}.command"


STATES: Final = frozenset({"authenticated", "unauthenticated", "not_required", "unknown"})
STATUS_MESSAGES: Final[Triggers] = (
    *on.result("auth/status"),
    *on.notification("auth/status_update"),
)
"""Messages that report the status."""


@dataclass(slots=True)
class _Status:
    """The last reported status."""

    digest: int | None = None
    at: Point | None = None
    early: Point | None = None
    """An update that came before a version was agreed upon."""


def _status_fields(context: Context) -> tuple[str, dict[str, Json]]:
    if context.kind == "result":
        return "result", context.result_object
    return "params", context.params


def _digest(status_fields: dict[str, Json]) -> int:
    status: list[Json] = [status_fields.get("state"), as_list(status_fields.get("accounts"))]
    return hash(json.dumps(status, sort_keys=True, default=str))


@check("ACP-L490", on.response("auth/status"))
def the_status_needs_no_login(context: Context) -> CheckResult:
    """Flag a status that needs a login.

    A recording does not show whether the request changes anything.
    """
    if context.kind == "failure" and context.code == AUTH_REQUIRED:
        return context.problem("auth/status was answered -32000", context.request)
    return OK


@check(
    "ACP-L491",
    on.notification("auth/status_update"),
    fix="Send the status only where it is claimed, and after initialize.",
)
def reported_statuses_are_claimed(context: Context) -> CheckResult:
    return gated(context, "auth.status")


@check("ACP-L491", on.result("initialize"))
def statuses_come_after_initialize(context: Context) -> CheckResult:
    early = context.state.of(_Status).early
    if early is None:
        return None
    return context.problem("auth/status_update came before initialize was answered", early)


@check("ACP-L492", on.notification("auth/status_update"))
def reported_statuses_are_new(context: Context) -> CheckResult:
    status = context.state.of(_Status)
    if status.digest is None or status.digest != _digest(context.params):
        return OK
    return context.problem("the status was reported already", status.at)


@track(STATUS_MESSAGES)
def _keep_status(context: Context) -> None:
    status = context.state.of(_Status)
    status.digest, status.at = _digest(_status_fields(context)[1]), context.point
    if context.kind == "notification" and context.version is None:
        status.early = status.early or context.point


@check("ACP-L493", STATUS_MESSAGES)
def statuses_are_complete(context: Context) -> CheckResult:
    place, status_fields = _status_fields(context)
    state: Json = status_fields.get("state")
    problems: list[Problem] = []
    if not isinstance(state, str):
        what = "no string" if "state" in status_fields else "missing"
        problems += context.problem(f"the state is {what}", path=f"{place}.state")
    elif state not in STATES and not state.startswith("_"):
        text = f"the state {quoted(state)} does not begin with “_”"
        problems += context.problem(text, path=f"{place}.state", severity="warning")
    for index, each in enumerate(as_list(status_fields.get("accounts"))):
        if not isinstance(as_object(each).get("label"), str):
            path = f"{place}.accounts.{index}.label"
            problems += context.problem("an account has no label", path=path)
    return tuple(problems)
