"""Authentication: the offered methods, login and logout.

Source: ACP, "Authentication".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import claimed, schema
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
from acp_inspector.lint.registry import LintSubject, check, checked_by, details, each_of, fix, track
from acp_inspector.lint.state import Point, SentRequest
from acp_protocol.json_text import json_text
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import (
    AUTH_REQUIRED,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Json,
)
from acp_protocol.schema.vocabulary import ERROR_CODES, OPENING

rule = LintSubject("authentication", page="authentication.mdx")
auth_status = LintSubject("auth-status")

LOGINS: Final = ("authenticate", "auth/login")
UNLISTED_LOGINS: Final = ("acpex", "continuum")
"""Dialects in whose own examples a client logs in by a method that no list has."""
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


def _offered(context: Context) -> CheckResult:
    if not context.state.is_ready:
        return None
    wanted = context.params.get("methodId")
    if any(_id(each) == wanted for each in context.state.auth_methods):
        return OK
    return context.problem(
        f"the method {quoted(wanted)} was not offered", context.state.initialize, at="methodId"
    )


@rule.error(68, "must", "client", on.request("authenticate"), version=1)
@details(unlike=UNLISTED_LOGINS)
@fix("Use the id of one of the offered authMethods.")
@checked_by(_offered)
def unknown_auth_method() -> None:
    """`authenticate.methodId` is one of the advertised `authMethods[].id`."""


@rule.error(69, "must", "client", on.request("auth/login"), version=2)
@fix("Use the methodId of one of the offered authMethods.")
@checked_by(_offered)
def unknown_login_method() -> None:
    """`auth/login.methodId` is one of the advertised `authMethods[].methodId`."""


@rule.error(70, "must", "client", on.request(*LOGINS))
@fix("Start the agent in a terminal, with the method's args.")
def terminal_method_as_login(context: Context) -> CheckResult:
    """A `terminal` method is never passed to `authenticate` / `auth/login`."""
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


@rule.error(74, "must", "client", on.request("auth/login", "auth/logout"), version=2)
@fix("Call neither method if no authMethods were offered.")
def login_without_methods(context: Context) -> CheckResult:
    """`auth/login` and `auth/logout` are called only if `authMethods` was non-empty."""
    if not context.state.is_ready:
        return None
    if context.state.auth_methods:
        return OK
    return context.problem(
        f"{context.method} was sent though no authMethods were offered",
        context.state.initialize,
        path="method",
    )


@rule.error(75, "must", "agent", on.response("auth/login", "auth/logout"), version=2)
@fix("Answer auth/login and auth/logout wherever authMethods are offered.")
def login_not_implemented(context: Context) -> CheckResult:
    """With non-empty `authMethods` neither `auth/login` nor `auth/logout` is answered -32601."""
    if context.request is None or not context.state.auth_methods:
        return None
    if context.code == METHOD_NOT_FOUND:
        return context.problem(
            f"{context.request.method} is not found though authMethods were offered",
            context.state.initialize,
            context.request,
        )
    return OK


@rule.warning(81, "implied", "agent", on.response(*GUARDED))
@fix("Accept requests of a client that has logged in, until it logs out.")
def auth_required_after_login(context: Context) -> CheckResult:
    """After a successful login, auth-gated calls do not fail with -32000 until a logout."""
    login, ask = context.state.login, context.request
    if login is None or ask is None or ask.seq < login.seq:
        return None
    if context.kind == "failure" and context.code == AUTH_REQUIRED:
        return context.problem(f"{ask.method} requires a login although one succeeded", login, ask)
    return OK


@rule.info(82, "implied", "agent", on.response(*GUARDED))
@fix("Answer -32000 to what needs a login again.")
def unusual_error_after_logout(context: Context) -> CheckResult:
    """After logout, -32000 on session operations is allowed; other failures are suspicious."""
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


@rule.warning(83, "heuristic", "client", on.request(*GUARDED), exercised_by=on.error(*GUARDED))
@fix("Log in first, then ask again.")
def repeated_unauthenticated_request(context: Context) -> CheckResult:
    """After -32000 the Client does not repeat the same request without authenticating.

    A login in a terminal is not in the recording.
    """
    refused = context.state.of(_LoginState).refused
    point = refused.get(_request(context)) if refused else None
    if point is None or any(each.get("type") == "terminal" for each in context.state.auth_methods):
        return None
    return context.problem(f"{context.method} is repeated without a login", point)


def _request(call: Context | SentRequest) -> int:
    """Return what identifies a request, without its id."""
    return hash((call.method, json_text(call.params, sort_keys=True, default=str)))


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


@rule.error(84, "must", "both", on.request(*LOGINS), source="schema")
@fix("Send only methodId; let the agent ask for the rest itself.")
def credentials_in_params(context: Context) -> CheckResult:
    """No credentials in `authenticate`/`auth/login` params (`token`, `apiKey`, `data`); only
    `methodId` and `_meta` exist.
    """
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


@rule.error(
    71, "must", "agent", on.result("initialize"), version=1, case="initialize.auth-terminal"
)
@fix("Offer it only for clientCapabilities.auth.terminal.")
@checked_by(_has_terminal, name="clientCapabilities")
def unsupported_terminal_auth() -> None:
    """`type:"terminal"` methods appear only if the Client sent `clientCapabilities.auth.terminal:
    true`.
    """


@rule.error(
    72, "must", "agent", on.result("initialize"), version=2, case="initialize.auth-terminal"
)
@fix("Offer it only for capabilities.auth.terminal.")
@checked_by(_has_terminal, name="capabilities")
def unsupported_terminal_login() -> None:
    """`type:"terminal"` methods appear only if the Client sent a non-null
    `capabilities.auth.terminal`.
    """


@rule.error(
    76, "schema", "agent", on.result("initialize"), version=2, case="initialize.auth-fields"
)
@details(source="v2/authentication.mdx")
@fix('Give each method type and methodId; types are "agent", "terminal", or begin with “_”.')
@checked_by(schema, at="authMethods.*.type|methodId", kinds=("missing", "type", "reserved"))
def incomplete_login_method() -> None:
    """Every auth method has `type` and `methodId` (not `id`); custom types start with `_`."""


@rule.error(
    77, "schema", "agent", on.result("initialize"), version=1, case="initialize.auth-fields"
)
@fix("Give each method id and name.")
@checked_by(schema, at="authMethods.*.id|name")
def incomplete_auth_method() -> None:
    """Every auth method has `id` and `name` (not `methodId`)."""


def _environments(context: Context) -> list[Place]:
    return [each for each in _terminals(context) if each[1].get("env") is not None]


@rule.error(
    78, "schema", "agent", on.result("initialize"), version=1, case="initialize.auth-fields"
)
@details(source="v1/authentication.mdx")
@fix('Write env as an object: {"NAME": "value"}.')
@each_of(_environments)
def terminal_env_not_object(
    context: Context, place: str, method: dict[str, Json]
) -> Iterator[Violation]:
    """Terminal `env` is an object of strings."""
    if not isinstance(method["env"], dict):
        yield "the env of a method for a terminal is not an object", f"{place}.env"
    for name, value in as_object(method["env"]).items():
        if not isinstance(value, str):
            yield f"the variable {quoted(name)} is not a string", f"{place}.env"


@rule.error(79, "must", "agent", on.result("initialize"), version=2, case="initialize.auth-fields")
@fix('Write env as [{"name": …, "value": …}], each once.')
@each_of(_environments)
def terminal_env_not_list(
    context: Context, place: str, method: dict[str, Json]
) -> Iterator[Violation]:
    """Terminal `env` is an array of `{name,value}` with unique names."""
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


@rule.warning(80, "must", "agent", on.result("initialize"))
@fix("Offer only args and env; the client knows the rest.")
@checked_by(schema, at="authMethods.*.command", kinds="member")
def auth_method_with_command() -> None:
    """A terminal method does not carry a `command` (the Client derives it)."""


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
    return hash(json_text(status, sort_keys=True, default=str))


@auth_status.error(490, "must", "agent", on.response("auth/status"))
@fix("Respond with the state “unauthenticated”.")
def auth_status_fails(context: Context) -> CheckResult:
    """`auth/status` is never answered -32000 and changes no state.

    A recording does not show whether the request changes anything.
    """
    if context.kind == "failure" and context.code == AUTH_REQUIRED:
        return context.problem("auth/status was answered -32000", context.request)
    return OK


@check(
    "undeclared-auth-update",
    on.notification("auth/status_update"),
    fix="Send the status only where it is claimed, and after initialize.",
)
def reported_statuses_are_claimed(context: Context) -> CheckResult:
    return claimed(context, "auth.status")


@auth_status.error(491, "implied", "agent", on.result("initialize"))
@fix("Send the status only after initialize.")
def undeclared_auth_update(context: Context) -> CheckResult:
    """`auth/status_update` only if `auth.status` was advertised, and only after `initialize`."""
    early = context.state.of(_Status).early
    if early is None:
        return None
    return context.problem("auth/status_update came before initialize was answered", early)


@auth_status.info(492, "should", "agent", on.notification("auth/status_update"))
@fix("Report only changes.")
def repeated_auth_status(context: Context) -> CheckResult:
    """`auth/status_update` differs from the last status reported on the connection."""
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


@auth_status.error(493, "schema", "agent", STATUS_MESSAGES, source="schema; extensibility.mdx")
@fix("Report a state, and a label for each account.")
def malformed_auth_status(context: Context) -> CheckResult:
    """`state` is present and each account has a `label`; unknown states that do not begin with `_`
    are reserved for ACP (warning).
    """
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


@rule.error(73, "must", "client", on.request("logout"), version=1)
@fix("Call logout only where the agent claimed auth.logout.")
@checked_by(claimed, v1="auth.logout")
def undeclared_logout() -> None:
    """`logout` is called only if `agentCapabilities.auth.logout` is present and non-null."""


@auth_status.error(489, "schema", "client", on.request("auth/status"))
@fix("Call auth/status only if the agent claimed auth.status.")
@checked_by(claimed, v1="auth.status")
def undeclared_auth_status() -> None:
    """`auth/status` only with `auth.status`."""
