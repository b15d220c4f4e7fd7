"""Config options of a session: the offered ones, and the values that a client sets.

Source: ACP, "Session Config Options".
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
    Problem,
    is_one_of,
    quoted,
    repeated,
)
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix, track
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import CREATING, OPENING

rule = LintSubject("modes", page="session-config-options.mdx")

OPTION_REPORTS: Final = (
    *on.result(*OPENING, "session/set_config_option"),
    *on.update("config_option_update"),
)
TYPES: Final = frozenset({"select", "boolean"})


@dataclass(frozen=True, slots=True)
class SeenOption:
    """The last reported state of a config option."""

    id: str
    type: Json
    category: Json
    current: Json
    values: frozenset[str]
    """The values of a select."""


@dataclass(slots=True)
class SessionOptions:
    """The options of one session."""

    point: Point
    """The frame that reported them."""
    by_id: dict[str, SeenOption] = field(default_factory=dict[str, SeenOption])


class SeenOptions(dict[str, SessionOptions]):
    """The reported options of each session."""


def opened(context: Context) -> str | None:
    """Return the session that a result opens."""
    if context.method in CREATING:
        session = context.result_object.get("sessionId")
        return session if isinstance(session, str) else None
    return context.session_id


def reported_options(context: Context) -> tuple[str, list[dict[str, Json]]] | None:
    """Return the options in a message and their path; None if it has none."""
    is_update = context.kind == "notification"
    reported: Json = (context.update if is_update else context.result_object).get("configOptions")
    if not isinstance(reported, list):
        return None
    place = "params.update.configOptions" if is_update else "result.configOptions"
    return place, [as_object(each) for each in as_list(reported)]


@track(OPTION_REPORTS)
def _keep_options(context: Context) -> None:
    reported, session = reported_options(context), opened(context)
    if reported is None or session is None:
        return
    options = SessionOptions(context.point)
    for each in reported[1]:
        if isinstance(id_ := each.get(id_name(context)), str):
            options.by_id[id_] = SeenOption(
                id_,
                each.get("type"),
                each.get("category"),
                each.get("currentValue"),
                frozenset(value for _, value in option_values(each) if isinstance(value, str)),
            )
    context.state.of(SeenOptions)[session] = options


def id_name(context: Context) -> str:
    """Return the name of the field with an option's id."""
    return "id" if context.version == 1 else "configId"


def option_values(option: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the values of a select, with their paths in the option."""
    for n, each in enumerate(map(as_object, as_list(option.get("options")))):
        if isinstance(each.get("options"), list):
            for m, inner in enumerate(map(as_object, as_list(each["options"]))):
                yield f"options.{n}.options.{m}", inner.get("value")
        elif "value" in each:
            yield f"options.{n}", each["value"]


def each_option(context: Context) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield the options in a message with their paths."""
    reported = reported_options(context)
    if reported is not None:
        for n, option in enumerate(reported[1]):
            yield f"{reported[0]}.{n}", option


def _known(context: Context) -> SessionOptions | None:
    return context.state.of(SeenOptions).get(context.session_id or "")


def _wanted(context: Context) -> tuple[SessionOptions, SeenOption] | None:
    """Return the option that a client sets, if it is known."""
    known, id_ = _known(context), context.params.get("configId")
    if known is None or not isinstance(id_, str) or id_ not in known.by_id:
        return None
    return known, known.by_id[id_]


@rule.error(294, "implied", "client", on.request("session/set_config_option"), case="options.known")
@fix("Set one of the session's options.")
def unknown_config_option(context: Context) -> CheckResult:
    """`set_config_option.configId` is a known option of the session."""
    known, id_ = _known(context), context.params.get("configId")
    if known is None or not isinstance(id_, str):
        return None
    if id_ in known.by_id:
        return OK
    return context.problem(
        f"{quoted(id_)} is not an option of the session", known.point, at="configId"
    )


@rule.error(295, "must", "client", on.request("session/set_config_option"), case="options.known")
@fix("Set one of the option's values.")
def unknown_option_value(context: Context) -> CheckResult:
    """A select `value` is one of the option's values (search groups too)."""
    wanted = _wanted(context)
    if wanted is None or wanted[1].type != "select" or not wanted[1].values:
        return None
    known, option = wanted
    value = context.params.get("value")
    if isinstance(value, str) and value in option.values:
        return OK
    return context.problem(
        f"{quoted(value)} is not a value of the option {quoted(option.id)}", known.point, at="value"
    )


@rule.error(296, "schema", "client", on.request("session/set_config_option"))
@details(source="session-config-options.mdx")
@fix('Say "type": "boolean", true or false.')
def wrong_boolean_value(context: Context) -> CheckResult:
    """A boolean option is set with `type:"boolean"` and a boolean `value`."""
    wanted = _wanted(context)
    if wanted is None or wanted[1].type != "boolean":
        return None
    if context.params.get("type") != "boolean":
        return context.problem(
            f"the option {quoted(wanted[1].id)} is a boolean and is not set as one",
            wanted[0].point,
            at="type",
        )
    if not isinstance(context.params.get("value"), bool):
        return context.problem(
            f"the option {quoted(wanted[1].id)} is set to {quoted(context.params.get('value'))}",
            wanted[0].point,
            at="value",
        )
    return OK


@rule.error(298, "must", "agent", on.result("session/set_config_option"))
@fix("Return the complete list.")
def incomplete_option_result(context: Context) -> CheckResult:
    """The `set_config_option` result contains `configOptions`, the complete list, with the changed
    value (or the reason it differs).
    """
    reported = reported_options(context)
    if reported is None:
        return context.problem("configOptions is missing", context.request, at="configOptions")
    now = {id_: each for each in reported[1] if isinstance(id_ := each.get(id_name(context)), str)}
    params = context.request.params if context.request is not None else {}
    id_ = params.get("configId")
    known = _known(context)
    if not isinstance(id_, str) or known is None:
        return OK
    if id_ not in now:
        return context.problem(
            f"the option {quoted(id_)} that was set is missing from the list",
            context.request,
            at="configOptions",
        )
    value = now[id_].get("currentValue")
    if value != params.get("value"):
        # The agent may have a reason that it cannot report.
        return context.problem(
            f"{quoted(id_)} was set to {quoted(params.get('value'))} and is {quoted(value)}",
            context.request,
            severity="warning",
            at="configOptions",
        )
    return OK


@rule.warning(299, "must", "agent", on.update("config_option_update"))
@fix("Send the complete list each time.")
def config_option_vanishes(context: Context) -> CheckResult:
    """`config_option_update` is complete; options that vanish are reported."""
    reported, known = reported_options(context), _known(context)
    if reported is None or known is None:
        return None
    ids = (each.get(id_name(context)) for each in reported[1])
    gone = known.by_id.keys() - {id_ for id_ in ids if isinstance(id_, str)}
    if gone:
        return context.problem(
            f"{quoted(min(gone))} and {len(gone) - 1} more are missing from the list"
            if len(gone) > 1
            else f"{quoted(min(gone))} is missing from the list",
            known.point,
            at="configOptions",
        )
    return OK


@rule.error(300, "must", "agent", OPTION_REPORTS, version=1, case="options.boolean-offered")
@fix("Offer a select with two values instead.")
@checked_by(
    claimed,
    v1="session.configOptions.boolean",
    by="client",
    at="configOptions.*.type",
    value="boolean",
)
def undeclared_boolean_option() -> None:
    """`type:"boolean"` options only if the Client advertised `session.configOptions.boolean`."""


@rule.error(301, "schema", "agent", OPTION_REPORTS, case="options.current")
@details(source="session-config-options.mdx", since="2026-11", in_version_1="warning")
@fix("Offer the current value among the others.")
def invalid_select_option(context: Context) -> CheckResult:
    """Select options have `options` (v2: ≥1, also per group) and a `currentValue` contained in them
    (v2: MUST; v1 does not say so).
    """
    found: list[Problem] = []
    is_any = False
    for place, option in each_option(context):
        if option.get("type") != "select":
            continue
        is_any = True
        values = [value for _, value in option_values(option)]
        current = option.get("currentValue")
        if not isinstance(option.get("options"), list) or (context.version != 1 and not values):
            text = "the select has no options"
            found += context.problem(text, path=f"{place}.options", severity="error")
        elif _has_empty_group(option) and context.version != 1:
            found += context.problem("a group has no options", path=f"{place}.options")
        elif isinstance(current, str) and current not in values:
            found += context.problem(
                f"the current value {quoted(current)} is none of the options",
                path=f"{place}.currentValue",
            )
    return tuple(found) if is_any else None


def _has_empty_group(option: dict[str, Json]) -> bool:
    groups = map(as_object, as_list(option.get("options")))
    return any(each.get("options") == [] for each in groups)


@rule.error(302, "schema", "agent", OPTION_REPORTS, case="options.boolean")
@details(source="session-config-options.mdx")
@fix("Give a boolean a boolean, and no options.")
def invalid_boolean_option(context: Context) -> CheckResult:
    """Boolean options have a boolean `currentValue` and no `options`."""
    is_any = False
    for place, option in each_option(context):
        if option.get("type") != "boolean":
            continue
        is_any = True
        if "currentValue" in option and not isinstance(option["currentValue"], bool):
            return context.problem(
                f"the boolean is {quoted(option['currentValue'])}", path=f"{place}.currentValue"
            )
        if "options" in option:
            return context.problem("the boolean has options", path=f"{place}.options")
    return OK if is_any else None


@rule.error(303, "must", "agent", OPTION_REPORTS, case="options.value")
@fix("Report what each option is set to.")
def option_without_value(context: Context) -> CheckResult:
    """Every option has a default (`currentValue` present)."""
    is_any = False
    for place, option in each_option(context):
        if context.version != 1 and not is_one_of(option.get("type"), TYPES):
            continue
        is_any = True
        if option.get("currentValue") is None:
            return context.problem("currentValue is missing", path=f"{place}.currentValue")
    return OK if is_any else None


@rule.error(304, "schema", "agent", OPTION_REPORTS, case="options.unique")
@fix("Give each option, and each of its values, an id of its own.")
def duplicate_config_option(context: Context) -> CheckResult:
    """Option ids are unique; values are unique within an option."""
    options, name = list(each_option(context)), id_name(context)
    twice = dict(repeated(option.get(name) for _, option in options))
    for index, (place, option) in enumerate(options):
        if index in twice:
            return context.problem(
                f"two options have the id {quoted(twice[index])}", path=f"{place}.{name}"
            )
        values = list(option_values(option))
        for inner, value in repeated(value for _, value in values):
            return context.problem(
                f"the value {quoted(value)} occurs twice", path=f"{place}.{values[inner][0]}.value"
            )
    return OK if options else None


@rule.error(305, "schema", "agent", OPTION_REPORTS, version=1, case="options.names")
@fix("Call them id and group; the other names are version 2's.")
@checked_by(schema, at=("configOptions.*.id", "configOptions.*.options.*.group"), kinds="missing")
def misnamed_option_id() -> None:
    """Identifier is `id`, groups use `group`."""


@rule.error(306, "schema", "agent", OPTION_REPORTS, version=2, case="options.names")
@details(source="v2/migration.mdx")
@fix("Call them configId and groupId; the other names are version 1's.")
@checked_by(
    schema, at=("configOptions.*.configId", "configOptions.*.options.*.groupId"), kinds="missing"
)
def misnamed_config_id() -> None:
    """Identifier is `configId`, groups use `groupId`."""


@rule.error(307, "schema", "agent", OPTION_REPORTS, case="options.groups")
@fix("Put all values into groups, or none.")
def mixed_option_groups(context: Context) -> CheckResult:
    """Grouped and flat options are not mixed in one list."""
    is_any = False
    for place, option in each_option(context):
        listed = [as_object(each) for each in as_list(option.get("options"))]
        if not listed:
            continue
        is_any = True
        groups = sum("options" in each for each in listed)
        if 0 < groups < len(listed):
            return context.problem(
                "groups and values are mixed in one list", path=f"{place}.options"
            )
    return OK if is_any else None


@rule.info(308, "implied", "agent", OPTION_REPORTS)
@fix("Begin categories of your own with “_”.")
@checked_by(schema, at="configOptions.*.category", kinds="reserved")
def reserved_option_category() -> None:
    """`category` values that begin with `_` are free for own use; other unknown ones are reserved
    for ACP.
    """


@rule.warning(312, "must", "agent", OPTION_REPORTS, version=2)
@fix("Begin custom types with “_”.")
@checked_by(schema, at="configOptions.*.type", kinds="reserved")
def reserved_option_type() -> None:
    """Unknown option `type`s start with `_`."""


@rule.error(
    297, "schema", "client", on.request("session/set_config_option"), version=2, case="options.type"
)
@details(source="v2/session-config-options.mdx")
@fix('Say "type": "id" or "boolean".')
@checked_by(schema, at="type")
def untyped_option_value() -> None:
    """`type` (`id` or `boolean`) is present on `set_config_option`."""
