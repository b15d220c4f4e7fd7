"""Session setup: directories, options, servers and lists.

Source: ACP, "Session Setup"; the RFD about additional directories.
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import absolute, claimed, schema
from acp_inspector.lint.context import OK, CheckResult, Context, Problem, quoted, repeated
from acp_inspector.lint.registry import LintSubject, check, checked_by, details, fix, track
from acp_inspector.lint.rules.config_options import SeenOption, SeenOptions, each_option
from acp_inspector.lint.rules.errors import OTHER_REASONS
from acp_inspector.lint.rules.schemas import NULL_TOLERANT, is_malformed_list
from acp_inspector.lint.rules.session_list import listed
from acp_inspector.lint.rules.v2_turn_state import foreground
from acp_inspector.lint.state import SentRequest
from acp_inspector.lint.text_checks import is_absolute, may_be_same, normalized
from acp_protocol.dialects.base import has_placed_cwd
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import INVALID_PARAMS, RESOURCE_NOT_FOUND, Json
from acp_protocol.schema.methods import find_method
from acp_protocol.schema.validate import validate as schema_errors_of
from acp_protocol.schema.vocabulary import OPENING, RESTORING

rule = LintSubject("version-2")
sessions = LintSubject("sessions", page="rfds/additional-directories.mdx")

ROOTS = "params.additionalDirectories"


@sessions.error(
    85, "must", "client", on.request(*OPENING), source="session-setup.mdx", case="session.cwd"
)
@fix("Send the absolute path of the session's directory as cwd.")
@checked_by(schema, at="cwd")
@checked_by(absolute, at="cwd")
def relative_cwd() -> None:
    """`cwd` of new/load/resume/fork is present and absolute (POSIX `/…`, Windows drive or UNC
    path).
    """


@sessions.error(
    96, "must", "client", on.request(*OPENING), source="session-setup.mdx", case="session.roots"
)
@fix("Send additionalDirectories only where the agent claimed them.")
def undeclared_additional_directories(context: Context) -> CheckResult:
    """`additionalDirectories` (non-empty) only if the Agent advertised the capability."""
    if not as_list(context.params.get("additionalDirectories")):
        return None
    found = claimed(
        context, "sessionCapabilities.additionalDirectories", "session.additionalDirectories"
    )
    if not found:
        return found
    return context.problem(
        "additionalDirectories were sent though the agent did not claim them",
        context.state.initialize,
        path=ROOTS,
    )


@sessions.error(97, "must", "client", on.request(*OPENING), case="session.roots")
@fix("List absolute paths, or leave the member out.")
@checked_by(schema, at=("additionalDirectories", "additionalDirectories.*"), kinds=("type", "null"))
@checked_by(absolute, at="additionalDirectories.*")
def invalid_additional_directory() -> None:
    """Every `additionalDirectories` entry is a non-empty absolute string; the field is an array,
    not null.
    """


@sessions.warning(98, "should", "client", on.request(*OPENING))
@fix("Name each directory once, and cwd only as cwd.")
def duplicate_additional_directory(context: Context) -> CheckResult:
    """No exact duplicates in `additionalDirectories` and none equal to `cwd`."""
    roots = as_list(context.params.get("additionalDirectories"))
    if not roots:
        return None
    seen: set[str] = set()
    problems: list[Problem] = []
    for index, each in enumerate(roots):
        if not isinstance(each, str):
            continue
        if each in seen:
            text = f"the directory {quoted(each)} is listed twice"
        elif each == context.params.get("cwd"):
            text = f"the directory {quoted(each)} is the cwd"
        else:
            seen.add(each)
            continue
        problems += context.problem(text, path=f"{ROOTS}.{index}")
    return tuple(problems)


@sessions.error(99, "must", "agent", on.result(*OPENING))
@fix("Respond with -32602 if a directory cannot be granted.")
def invalid_directory_ignored(context: Context) -> CheckResult:
    """Invalid or ungrantable roots lead to an error, not to a session with fewer roots.

    A recording does not show which valid directories an agent must refuse.
    """
    if context.request is None:
        return None
    roots = as_list(context.request.params.get("additionalDirectories"))
    if not roots:
        return None
    bad = [each for each in roots if not is_absolute(each)]
    if bad:
        return context.problem(
            f"the session was created although the directory {quoted(bad[0])} "
            "is not an absolute path",
            context.request,
        )
    return OK


@check("invalid-directory-ignored", on.result("session/list"))
def roots_are_not_left_out(context: Context) -> CheckResult:
    problems: list[Problem] = []
    is_reported = False
    for place, each in listed(context):
        id_, reported = each.get("sessionId"), each.get("additionalDirectories")
        session = context.state.sessions.get(id_) if isinstance(id_, str) else None
        if context.request is None or session is None or not isinstance(reported, list):
            continue
        if not session.is_open or not session.roots or context.request.seq < session.first.seq:
            continue
        is_reported = True
        wanted = {root for root in session.roots if isinstance(root, str) and root != session.cwd}
        if len(as_list(reported)) < len(wanted):
            text = f"the session {quoted(id_)} has fewer directories than it was set up with"
            path = f"{place}.additionalDirectories"
            problems += context.problem(text, session.first, context.request, path=path)
    return tuple(problems) if is_reported else None


@sessions.warning(132, "must", "client", on.request(*RESTORING))
@details(source="schema; rfds/additional-directories.mdx", since="2026-11")
@fix("Load or resume a session in the directory that it was created with.")
def session_cwd_changed(context: Context) -> CheckResult:
    """load/resume uses the session's known `cwd` (v2: MUST; the Agent may answer -32602 or
    normalize).
    """
    session, cwd = context.session, context.params.get("cwd")
    if session is None or not isinstance(session.cwd, str) or not isinstance(cwd, str):
        return None
    if has_placed_cwd(context.params):
        return None
    same = (
        normalized(cwd) == normalized(session.cwd)
        if session.origin == "new"
        else may_be_same(cwd, session.cwd)
    )
    if same:
        return OK
    return context.problem(
        f"the session is known with the cwd {quoted(session.cwd)}, not {quoted(cwd)}",
        session.first,
        at="cwd",
    )


SETUPS_WITHOUT_LOAD: Final = ("session/new", "session/resume", "session/fork")


class _Refused(dict[str, SentRequest]):
    """The last refused setting of each session, if nothing was set since."""


@rule.error(436, "must", "agent", on.result("session/resume"), version=2)
@fix("Send the session's state before the response.")
def resume_without_state(context: Context) -> CheckResult:
    """`session/resume`: a `state_update` for the session is sent after any replay and before the
    response.

    A running state may come before the message that it works on.
    """
    ask, session = context.request, context.session
    if ask is None or session is None:
        return None
    reported = session.state_at
    if reported is None or reported.seq < ask.seq:
        return context.problem("the session is resumed, but no state was reported", ask)
    replayed = foreground(context).replayed
    if session.state == "idle" and replayed is not None and replayed.seq > reported.seq:
        return context.problem(
            "the session's state is reported before the end of its history", ask, reported, replayed
        )
    return OK


@rule.error(
    437,
    "must",
    "agent",
    on.update(),
    on.request("session/request_permission", "elicitation/create"),
    version=2,
)
@fix("Send remaining updates of a session before you respond to session/close.")
def message_after_close(context: Context) -> CheckResult:
    """After its `session/close` response the Agent sends nothing more for that session on the
    connection.
    """
    session = context.session
    if session is None or session.closed is None or context.side != "agent":
        return None
    if any(context.state.waiting("client", "session/resume", session.id)):
        return OK
    what = context.variant or context.method
    return context.problem(
        f"{what} comes after session {quoted(session.id)} closed", session.closed
    )


@rule.warning(438, "should", "both", on.response("session/close"), version=2)
@fix("Respond with {} if there is nothing to close.")
def missing_session_close_fails(context: Context) -> CheckResult:
    """Closing a missing or inactive session succeeds; a Client does not report -32002 on close as a
    failure.
    """
    if context.code == RESOURCE_NOT_FOUND:
        return context.problem(
            "session/close fails because the session is not there", context.request
        )
    return OK


@rule.error(455, "must", "agent", on.result(*SETUPS_WITHOUT_LOAD), version=2, case="session.lists")
@fix("Send [] where there is nothing to list.")
@checked_by(schema, at="configOptions|availableCommands", kinds=("type", "null"))
def null_session_lists() -> None:
    """`configOptions` and `availableCommands` of session results are arrays, never null."""


@check(
    "invalid-option-accepted",
    on.response("session/set_config_option"),
    fix="Respond with -32602 to unknown options and values.",
)
def impossible_settings_are_refused(context: Context) -> CheckResult:
    ask = context.request
    options = context.state.of(SeenOptions).get(context.session_id or "")
    if ask is None or options is None or options.point.seq > ask.seq:
        return None
    id_ = ask.params.get("configId")
    fault = _fault(options.by_id.get(id_) if isinstance(id_, str) else None, ask.params)
    if fault is None or context.code == INVALID_PARAMS:
        return None if fault is None else OK
    how = "agreed to" if context.kind == "result" else f"refused with {context.code}"
    return context.problem(f"setting {quoted(id_)} is {how}, though {fault}", ask, options.point)


@rule.error(456, "must", "agent", on.update("config_option_update"), version=2)
@fix("Do not change an option that you refused to set.")
def invalid_option_accepted(context: Context) -> CheckResult:
    """An unknown `configId`, invalid value or unsupported value type is answered -32602 and changes
    no option.
    """
    session = context.session_id or ""
    refused = context.state.of(_Refused).get(session)
    options = context.state.of(SeenOptions).get(session)
    if refused is None or refused.responded is None or options is None:
        return None
    id_, value = refused.params.get("configId"), refused.params.get("value")
    before = options.by_id.get(id_) if isinstance(id_, str) else None
    if before is None or before.current == value:
        return None
    for place, option in each_option(context):
        if option.get("configId") == id_ and option.get("currentValue") == value:
            return context.problem(
                f"setting {quoted(id_)} was refused, but it is {quoted(value)} now",
                refused,
                refused.responded,
                path=f"{place}.currentValue",
            )
    return OK


@track(on.response("session/set_config_option"))
def _keep_refusal(context: Context) -> None:
    refused = context.state.of(_Refused)
    if context.session_id is None or context.session is None:
        return
    if context.code == INVALID_PARAMS and context.request is not None:
        refused[context.session_id] = context.request
    else:
        refused.pop(context.session_id, None)


@track(on.request("session/set_config_option"), on.update("config_option_update"))
def _forget_refusal(context: Context) -> None:
    # Later changes have another cause.
    context.state.of(_Refused).pop(context.session_id or "", None)


def _fault(option: SeenOption | None, params: dict[str, Json]) -> str | None:
    """Return why an option cannot be set to this value; None if it can, or if that is unknown."""
    if option is None:
        return "the option does not exist"
    type_, value = params.get("type"), params.get("value")
    if option.type == "select" and option.values:
        if type_ == "id" and isinstance(value, str) and value in option.values:
            return None
        return f"{quoted(value)} is none of its values"
    if option.type == "boolean":
        return None if type_ == "boolean" and isinstance(value, bool) else "it is a boolean"
    return None


@rule.error(457, "must", "agent", on.response(*SETUPS_WITHOUT_LOAD), version=2)
@fix("Reject servers with a transport that you do not claim with -32602.")
def unsupported_transport_accepted(context: Context) -> CheckResult:
    """An MCP server with an unadvertised or unknown transport is answered -32602, not skipped.

    Transports that begin with “_” are custom.
    """
    if context.request is None or not context.state.is_ready:
        return None
    for server in map(as_object, as_list(context.request.params.get("mcpServers"))):
        type_ = server.get("type")
        if not isinstance(type_, str) or type_.startswith("_"):
            continue
        if context.state.claims("agent", f"session.mcp.{type_}"):
            continue
        if context.code == INVALID_PARAMS:
            return OK
        if context.code in OTHER_REASONS:
            return None
        how = "begins" if context.kind == "result" else f"is refused with {context.code}"
        return context.problem(
            f"the session {how}, though the agent does not claim session.mcp.{type_}",
            context.request,
            context.state.initialize,
        )
    return None


@rule.warning(
    458, "should", "client", on.request(*SETUPS_WITHOUT_LOAD), version=2, source="schema; sdk 2.4.0"
)
@fix("Name each server, and each variable of one, once.")
def duplicate_env_name(context: Context) -> CheckResult:
    """MCP `env` names are unique within a server (server names within the list: info, only a helper
    of the SDK says so).
    """
    servers = [as_object(each) for each in as_list(context.params.get("mcpServers"))]
    if not servers:
        return None
    for i, name in repeated(each.get("name") for each in servers):
        return context.problem(
            f"two MCP servers are named {quoted(name)}",
            at=f"mcpServers.{i}.name",
            severity="info",
        )
    for i, server in enumerate(servers):
        variables = map(as_object, as_list(server.get("env")))
        for j, name in repeated(each.get("name") for each in variables):
            return context.problem(
                f"the variable {quoted(name)} is set twice", at=f"mcpServers.{i}.env.{j}.name"
            )
    return OK


@rule.error(464, "schema", "responder", on.response(*OPENING, "terminal/create"))
@fix("Respond with -32602 to additionalDirectories that are not a list of strings.")
def malformed_list_accepted(context: Context) -> CheckResult:
    """A wrong type or a bad entry in a null-tolerant field (tolerated-schema-error) is answered
    -32602, not silently dropped.

    Missing fields of an entry are not reported: a reader can do without them.
    """
    ask = context.request
    if ask is None or not any(name in ask.params for name in NULL_TOLERANT):
        return None
    if context.code in OTHER_REASONS:
        return None
    if context.code == INVALID_PARAMS:
        return OK
    fault = _malformed(context, ask.params)
    if fault is not None:
        how = "succeeds" if context.kind == "result" else f"fails with {context.code}"
        return context.problem(f"{ask.method} {how}, though {fault}", ask)
    return OK


def _malformed(context: Context, params: dict[str, Json]) -> str | None:
    version = context.version or 1
    row = find_method(context.method or "", version)
    if row is None or row.params is None:
        return None
    for each in schema_errors_of(row.params, params, version, path="params"):
        if not each.is_tolerated and is_malformed_list(each.path, f"{each}"):
            return f"{each}"
    return None
