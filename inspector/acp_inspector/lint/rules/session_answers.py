"""What answers about sessions promise: nothing left out, nothing let pass, nothing after the end.

Source: ACP version 2, schema, NewSessionRequest, ResumeSessionRequest, CloseSessionRequest,
SetSessionConfigOptionRequest; the fields marked x-deserialize-default-on-null in both versions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, entries, members, quoted
from acp_inspector.lint.registry import answers, asks, check, learns, results, updates
from acp_inspector.lint.rules.config_options import Option, Options, each_option
from acp_inspector.lint.rules.errors import INVALID_PARAMS, OTHER_REASONS
from acp_inspector.lint.rules.foreground import foreground
from acp_inspector.lint.state import Ask
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.methods import find_method
from acp_protocol.schema.validate import check as complaints_of

NOT_FOUND: Final = -32002
SETUPS: Final = ("session/new", "session/resume", "session/fork")
NULL_TOLERANT: Final = ("mcpServers", "additionalDirectories", "args", "env")
"""Lists that may be null, and that have to be right otherwise."""


@dataclass(slots=True)
class _Refused:
    """The setting of each session that was refused last, if nothing was set since."""

    by_session: dict[str, Ask] = field(default_factory=dict[str, Ask])


@check("ACP-L436", results("session/resume"), fix="Tell the session's state before the answer.")
def a_resumed_session_tells_its_state(moment: Moment) -> Found:
    """Tell of sessions that are resumed without a word about what they do.

    A state that says the session works may stand before the words it works on.
    """
    ask, session = moment.ask, moment.session
    if ask is None or session is None:
        return None
    told = session.state_at
    if told is None or told.n < ask.n:
        return moment.problem("the session is resumed, but no state was told", ask)
    replayed = foreground(moment).replayed
    if session.state == "idle" and replayed is not None and replayed.n > told.n:
        return moment.problem(
            "the session's state is told before the end of its history", ask, told, replayed
        )
    return FINE


@check(
    "ACP-L437",
    updates(),
    asks("session/request_permission", "elicitation/create"),
    fix="Send what is left of a session before you answer session/close.",
)
def closed_sessions_are_silent(moment: Moment) -> Found:
    """Tell of what an agent sends about a session after it closed it."""
    session = moment.session
    if session is None or session.closed is None or moment.side != "agent":
        return None
    if any(moment.state.waiting("client", "session/resume", session.id)):
        return FINE
    what = moment.variant or moment.method
    return moment.problem(f"{what} comes after session {quoted(session.id)} closed", session.closed)


@check("ACP-L438", answers("session/close"), fix="Answer {} where there is nothing to close.")
def nothing_can_be_closed(moment: Moment) -> Found:
    """Tell of sessions that are not closed because there is none."""
    if moment.code == NOT_FOUND:
        return moment.problem("session/close fails because the session is not there", moment.ask)
    return FINE


@check("ACP-L455", results(*SETUPS), fix="Send [] where there is nothing to list.")
def lists_are_not_null(moment: Moment) -> Found:
    """Tell of options and commands that are no lists."""
    found: Found = None
    for name in ("configOptions", "availableCommands"):
        if name not in moment.result_object:
            continue
        found = FINE
        listed = moment.result_object[name]
        if not isinstance(listed, list):
            return moment.problem(
                f"{name} is {quoted(listed)}, not an array", moment.ask, path=f"result.{name}"
            )
    return found


@check(
    "ACP-L456",
    answers("session/set_config_option"),
    fix="Answer -32602 to options and values that there are not.",
)
def impossible_settings_are_refused(moment: Moment) -> Found:
    """Tell of answers to settings that the session does not offer."""
    ask = moment.ask
    options = moment.state.of(Options).of.get(moment.session_id or "")
    if ask is None or options is None or options.point.n > ask.n:
        return None
    id_ = ask.params.get("configId")
    fault = _fault(options.by_id.get(id_) if isinstance(id_, str) else None, ask.params)
    if fault is None or moment.code == INVALID_PARAMS:
        return None if fault is None else FINE
    how = "agreed to" if moment.kind == "result" else f"refused with {moment.code}"
    return moment.problem(f"setting {quoted(id_)} is {how}, though {fault}", ask, options.point)


@check(
    "ACP-L456", updates("config_option_update"), fix="Leave options alone that you refuse to set."
)
def refused_settings_change_nothing(moment: Moment) -> Found:
    """Tell of options that have the value whose setting was refused just before."""
    session = moment.session_id or ""
    refused = moment.state.of(_Refused).by_session.get(session)
    options = moment.state.of(Options).of.get(session)
    if refused is None or refused.answered is None or options is None:
        return None
    id_, value = refused.params.get("configId"), refused.params.get("value")
    before = options.by_id.get(id_) if isinstance(id_, str) else None
    if before is None or before.current == value:
        return None
    for place, option in each_option(moment):
        if option.get("configId") == id_ and option.get("currentValue") == value:
            return moment.problem(
                f"setting {quoted(id_)} was refused, but it is {quoted(value)} now",
                refused,
                refused.answered,
                path=f"{place}.currentValue",
            )
    return FINE


@learns(answers("session/set_config_option"))
def _keep_refusal(moment: Moment) -> None:
    refused = moment.state.of(_Refused).by_session
    if moment.session_id is None or moment.session is None:
        return
    if moment.code == INVALID_PARAMS and moment.ask is not None:
        refused[moment.session_id] = moment.ask
    else:
        refused.pop(moment.session_id, None)


@learns(asks("session/set_config_option"), updates("config_option_update"))
def _forget_refusal(moment: Moment) -> None:
    # What changes from here on has another cause.
    moment.state.of(_Refused).by_session.pop(moment.session_id or "", None)


def _fault(option: Option | None, params: dict[str, Json]) -> str | None:
    """Return why an option cannot be set so; None where it can, or where that is not known."""
    if option is None:
        return "there is no such option"
    type_, value = params.get("type"), params.get("value")
    if option.type == "select" and option.values:
        if type_ == "id" and isinstance(value, str) and value in option.values:
            return None
        return f"{quoted(value)} is none of its values"
    if option.type == "boolean":
        return None if type_ == "boolean" and isinstance(value, bool) else "it is a boolean"
    return None


@check("ACP-L457", answers(*SETUPS), fix="Refuse servers over what you do not claim with -32602.")
def unknown_transports_are_refused(moment: Moment) -> Found:
    """Tell of sessions that begin in spite of a server that the agent cannot reach.

    Transports that begin with “_” are between the two.
    """
    if moment.ask is None or not moment.state.is_ready:
        return None
    for server in map(members, entries(moment.ask.params.get("mcpServers"))):
        type_ = server.get("type")
        if not isinstance(type_, str) or type_.startswith("_"):
            continue
        if moment.state.claims("agent", f"session.mcp.{type_}"):
            continue
        if moment.code == INVALID_PARAMS:
            return FINE
        if moment.code in OTHER_REASONS:
            return None
        how = "begins" if moment.kind == "result" else f"is refused with {moment.code}"
        return moment.problem(
            f"the session {how}, though the agent does not claim session.mcp.{type_}",
            moment.ask,
            moment.state.initialize,
        )
    return None


@check("ACP-L458", asks(*SETUPS), fix="Name each server, and each variable of one, once.")
def names_of_servers_are_unique(moment: Moment) -> Found:
    """Tell of MCP servers, and of their variables, of the same name."""
    servers = [members(each) for each in entries(moment.params.get("mcpServers"))]
    if not servers:
        return None
    if (i := _repeated(servers)) is not None:
        name = quoted(servers[i].get("name"))
        return moment.problem(
            f"two MCP servers are named {name}", path=f"params.mcpServers.{i}.name"
        )
    for i, server in enumerate(servers):
        variables = [members(each) for each in entries(server.get("env"))]
        if (j := _repeated(variables)) is not None:
            return moment.problem(
                f"the variable {quoted(variables[j].get('name'))} is set twice",
                path=f"params.mcpServers.{i}.env.{j}.name",
            )
    return FINE


def _repeated(named: list[dict[str, Json]]) -> int | None:
    seen: set[str] = set()
    for i, each in enumerate(named):
        name = each.get("name")
        if isinstance(name, str):
            if name in seen:
                return i
            seen.add(name)
    return None


@check(
    "ACP-L464",
    answers(*SETUPS, "session/load", "terminal/create"),
    fix="Answer -32602 to lists that are none, or that hold something else.",
)
def malformed_lists_are_refused(moment: Moment) -> Found:
    """Tell of requests that succeed in spite of a list that has to be dropped for it.

    Members that are missing in an entry are let pass: a reader can do without.
    """
    ask = moment.ask
    if ask is None or not any(name in ask.params for name in NULL_TOLERANT):
        return None
    if moment.code in OTHER_REASONS:
        return None
    if moment.code == INVALID_PARAMS:
        return FINE
    fault = _malformed(moment, ask.params)
    if fault is not None:
        how = "succeeds" if moment.kind == "result" else f"fails with {moment.code}"
        return moment.problem(f"{ask.method} {how}, though {fault}", ask)
    return FINE


def _malformed(moment: Moment, params: dict[str, Json]) -> str | None:
    version = moment.version or 1
    row = find_method(moment.method or "", version)
    if row is None or row.params is None:
        return None
    for each in complaints_of(row.params, params, version, path="params"):
        name = each.path.split(".")[1] if "." in each.path else ""
        if name in NULL_TOLERANT and not each.lenient and "is missing" not in f"{each}":
            return f"{each}"
    return None
