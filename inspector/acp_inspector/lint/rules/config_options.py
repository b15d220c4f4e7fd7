"""Config options of a session: what an agent offers, and what a client sets.

Source: ACP, "Session Config Options".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import (
    FINE,
    Found,
    Moment,
    Problem,
    entries,
    is_one_of,
    members,
    quoted,
)
from acp_inspector.lint.registry import asks, check, learns, results, updates
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

OPENERS: Final = ("session/new", "session/load", "session/resume", "session/fork")
"""Methods whose results tell of a session's modes and options."""
TELLERS: Final = (
    *results(*OPENERS, "session/set_config_option"),
    *updates("config_option_update"),
)
CATEGORIES: Final = frozenset({"mode", "model", "model_config", "thought_level"})
TYPES: Final = frozenset({"select", "boolean"})


@dataclass(frozen=True, slots=True)
class Option:
    """A config option, as it was told last."""

    id: str
    type: Json
    category: Json
    current: Json
    values: frozenset[str]
    """What a select can be set to."""


@dataclass(slots=True)
class SessionOptions:
    """The options of one session."""

    point: Point
    """Where they were told."""
    by_id: dict[str, Option] = field(default_factory=dict[str, Option])


@dataclass(slots=True)
class Options:
    """The options of every session of which they were told."""

    of: dict[str, SessionOptions] = field(default_factory=dict[str, SessionOptions])


def opened(moment: Moment) -> str | None:
    """Return the session that a result opens."""
    if moment.method in {"session/new", "session/fork"}:
        session = moment.result_object.get("sessionId")
        return session if isinstance(session, str) else None
    return moment.session_id


def told_options(moment: Moment) -> tuple[str, list[dict[str, Json]]] | None:
    """Return the options that a message tells, and where they stand; None if it tells none."""
    is_update = moment.kind == "notification"
    told: Json = (moment.update if is_update else moment.result_object).get("configOptions")
    if not isinstance(told, list):
        return None
    place = "params.update.configOptions" if is_update else "result.configOptions"
    return place, [members(each) for each in entries(told)]


@learns(TELLERS)
def _keep_options(moment: Moment) -> None:
    told, session = told_options(moment), opened(moment)
    if told is None or session is None:
        return
    options = SessionOptions(moment.point)
    for each in told[1]:
        if isinstance(id_ := each.get(id_name(moment)), str):
            options.by_id[id_] = Option(
                id_,
                each.get("type"),
                each.get("category"),
                each.get("currentValue"),
                frozenset(value for _, value in option_values(each) if isinstance(value, str)),
            )
    moment.state.of(Options).of[session] = options


def id_name(moment: Moment) -> str:
    """Return the member that names an option."""
    return "id" if moment.version == 1 else "configId"


def option_values(option: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield what a select can be set to, with its place in the option."""
    for n, each in enumerate(map(members, entries(option.get("options")))):
        if isinstance(each.get("options"), list):
            for m, inner in enumerate(map(members, entries(each["options"]))):
                yield f"options.{n}.options.{m}", inner.get("value")
        elif "value" in each:
            yield f"options.{n}", each["value"]


def each_option(moment: Moment) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield the options that a message tells, with their places."""
    told = told_options(moment)
    if told is not None:
        for n, option in enumerate(told[1]):
            yield f"{told[0]}.{n}", option


def _known(moment: Moment) -> SessionOptions | None:
    return moment.state.of(Options).of.get(moment.session_id or "")


def _wanted(moment: Moment) -> tuple[SessionOptions, Option] | None:
    """Return the option that a client sets, where it is known."""
    known, id_ = _known(moment), moment.params.get("configId")
    if known is None or not isinstance(id_, str) or id_ not in known.by_id:
        return None
    return known, known.by_id[id_]


@check("ACP-L294", asks("session/set_config_option"), fix="Set one of the session's options.")
def options_that_are_set_exist(moment: Moment) -> Found:
    """Tell of an option that was not offered."""
    known, id_ = _known(moment), moment.params.get("configId")
    if known is None or not isinstance(id_, str):
        return None
    if id_ in known.by_id:
        return FINE
    return moment.problem(
        f"{quoted(id_)} is no option of the session", known.point, path="params.configId"
    )


@check("ACP-L295", asks("session/set_config_option"), fix="Set one of the option's values.")
def values_that_are_set_are_offered(moment: Moment) -> Found:
    """Tell of a value that was not offered."""
    wanted = _wanted(moment)
    if wanted is None or wanted[1].type != "select" or not wanted[1].values:
        return None
    known, option = wanted
    value = moment.params.get("value")
    if isinstance(value, str) and value in option.values:
        return FINE
    return moment.problem(
        f"{quoted(value)} is no value of the option {quoted(option.id)}",
        known.point,
        path="params.value",
    )


@check("ACP-L296", asks("session/set_config_option"), fix='Say "type": "boolean", true or false.')
def booleans_are_set_as_such(moment: Moment) -> Found:
    """Tell of words where true or false is asked for."""
    wanted = _wanted(moment)
    if wanted is None or wanted[1].type != "boolean":
        return None
    if moment.params.get("type") != "boolean":
        return moment.problem(
            f"the option {quoted(wanted[1].id)} is a boolean and is not set as one",
            wanted[0].point,
            path="params.type",
        )
    if not isinstance(moment.params.get("value"), bool):
        return moment.problem(
            f"the option {quoted(wanted[1].id)} is set to {quoted(moment.params.get('value'))}",
            wanted[0].point,
            path="params.value",
        )
    return FINE


@check("ACP-L297", asks("session/set_config_option"), fix='Say "type": "id" or "boolean".')
def setting_says_what_is_set(moment: Moment) -> Found:
    """Tell of a setting without a type, in version 2."""
    if isinstance(moment.params.get("type"), str):
        return FINE
    return moment.problem("type is missing", path="params.type")


@check("ACP-L298", results("session/set_config_option"), fix="Answer with the complete list.")
def setting_is_answered_with_all_options(moment: Moment) -> Found:
    """Tell of an answer without the list, with a part of it, or without what was set."""
    told = told_options(moment)
    if told is None:
        return moment.problem("configOptions is missing", moment.ask, path="result.configOptions")
    now = {id_: each for each in told[1] if isinstance(id_ := each.get(id_name(moment)), str)}
    params = moment.ask.params if moment.ask is not None else {}
    id_ = params.get("configId")
    known = _known(moment)
    if not isinstance(id_, str) or known is None:
        return FINE
    if id_ not in now:
        return moment.problem(
            f"the list lacks the option {quoted(id_)} that was set",
            moment.ask,
            path="result.configOptions",
        )
    value = now[id_].get("currentValue")
    if value != params.get("value"):
        # An agent may have its reasons, and nowhere to tell them.
        return moment.problem(
            f"{quoted(id_)} was set to {quoted(params.get('value'))} and is {quoted(value)}",
            moment.ask,
            severity="warning",
            path="result.configOptions",
        )
    return FINE


@check("ACP-L299", updates("config_option_update"), fix="Send the complete list each time.")
def updates_tell_all_options(moment: Moment) -> Found:
    """Tell of options that vanish from one list to the next."""
    told, known = told_options(moment), _known(moment)
    if told is None or known is None:
        return None
    ids = (each.get(id_name(moment)) for each in told[1])
    gone = known.by_id.keys() - {id_ for id_ in ids if isinstance(id_, str)}
    if gone:
        return moment.problem(
            f"the list lacks {quoted(min(gone))} and {len(gone) - 1} more"
            if len(gone) > 1
            else f"the list lacks {quoted(min(gone))}",
            known.point,
            path="params.update.configOptions",
        )
    return FINE


@check("ACP-L300", TELLERS, fix="Offer a select with two values instead.")
def booleans_are_offered_to_those_who_know_them(moment: Moment) -> Found:
    """Tell of boolean options for a client that did not claim to know them."""
    booleans = [place for place, each in each_option(moment) if each.get("type") == "boolean"]
    if not booleans:
        return None
    if moment.state.claims("client", "session.configOptions.boolean"):
        return FINE
    return moment.problem(
        "the client did not claim session.configOptions.boolean",
        moment.state.initialize,
        path=f"{booleans[0]}.type",
    )


@check("ACP-L301", TELLERS, fix="Offer the current value among the others.")
def selects_offer_their_value(moment: Moment) -> Found:
    """Tell of selects without values, and of a current value that is none of them."""
    found: list[Problem] = []
    is_any = False
    for place, option in each_option(moment):
        if option.get("type") != "select":
            continue
        is_any = True
        values = [value for _, value in option_values(option)]
        current = option.get("currentValue")
        if not isinstance(option.get("options"), list) or (moment.version != 1 and not values):
            found += moment.problem("the select has no options", path=f"{place}.options")
        elif _has_empty_group(option) and moment.version != 1:
            found += moment.problem("a group has no options", path=f"{place}.options")
        elif isinstance(current, str) and current not in values:
            found += moment.problem(
                f"the current value {quoted(current)} is none of the options",
                path=f"{place}.currentValue",
                severity="warning" if moment.version == 1 else None,
            )
    return tuple(found) if is_any else None


def _has_empty_group(option: dict[str, Json]) -> bool:
    groups = map(members, entries(option.get("options")))
    return any(each.get("options") == [] for each in groups)


@check("ACP-L302", TELLERS, fix="Give a boolean a boolean, and no options.")
def booleans_have_booleans(moment: Moment) -> Found:
    """Tell of booleans that are set to something else, or offer values."""
    is_any = False
    for place, option in each_option(moment):
        if option.get("type") != "boolean":
            continue
        is_any = True
        if "currentValue" in option and not isinstance(option["currentValue"], bool):
            return moment.problem(
                f"the boolean is {quoted(option['currentValue'])}", path=f"{place}.currentValue"
            )
        if "options" in option:
            return moment.problem("the boolean has options", path=f"{place}.options")
    return FINE if is_any else None


@check("ACP-L303", TELLERS, fix="Tell what each option is set to.")
def options_are_set_to_something(moment: Moment) -> Found:
    """Tell of options without a current value."""
    is_any = False
    for place, option in each_option(moment):
        if moment.version != 1 and not is_one_of(option.get("type"), TYPES):
            continue
        is_any = True
        if option.get("currentValue") is None:
            return moment.problem("currentValue is missing", path=f"{place}.currentValue")
    return FINE if is_any else None
