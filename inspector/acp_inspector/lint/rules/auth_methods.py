"""The ways to log in that an agent offers.

Source: ACP, "Authentication".
"""

from __future__ import annotations

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, entries, members, quoted
from acp_inspector.lint.registry import check, results
from acp_protocol.jsonrpc import Json


def _offers(moment: Moment) -> list[tuple[str, dict[str, Json]]]:
    """Return each method that `initialize` offers, with its place."""
    return [
        (f"result.authMethods.{index}", members(each))
        for index, each in enumerate(entries(moment.result_object.get("authMethods")))
    ]


def _terminals(moment: Moment) -> list[tuple[str, dict[str, Json]]]:
    return [(place, each) for place, each in _offers(moment) if each.get("type") == "terminal"]


@check("ACP-L071", results("initialize"), fix="Offer it only for clientCapabilities.auth.terminal.")
def terminal_methods_are_claimed(moment: Moment) -> Found:
    """Tell of terminals offered in version 1 to a client that has none for that."""
    return _has_terminal(moment, "clientCapabilities")


@check("ACP-L072", results("initialize"), fix="Offer it only for capabilities.auth.terminal.")
def terminal_methods_of_version_2_are_claimed(moment: Moment) -> Found:
    """Tell of terminals offered in version 2 to a client that has none for that."""
    return _has_terminal(moment, "capabilities")


def _has_terminal(moment: Moment, name: str) -> Found:
    offers = _terminals(moment)
    if not offers or moment.ask is None:
        return None
    claim = members(members(moment.ask.params.get(name)).get("auth")).get("terminal")
    if claim is True if moment.version == 1 else isinstance(claim, dict):
        return FINE
    return moment.problem(
        f"a method for a terminal is offered though the client did not claim {name}.auth.terminal",
        moment.ask,
        path=f"{offers[0][0]}.type",
    )


@check(
    "ACP-L076",
    results("initialize"),
    fix='Give each method type and methodId; types are "agent", "terminal", or begin with “_”.',
)
def methods_of_version_2_are_complete(moment: Moment) -> Found:
    """Tell of methods of version 2 that do not say what they are, or by what they are called."""
    return _complete(moment, ("type", "methodId"), "id")


@check("ACP-L077", results("initialize"), fix="Give each method id and name.")
def methods_are_complete(moment: Moment) -> Found:
    """Tell of methods of version 1 without id or name."""
    return _complete(moment, ("id", "name"), "methodId")


def _complete(moment: Moment, wanted: tuple[str, ...], foreign: str) -> Found:
    offers = _offers(moment)
    if not offers:
        return None
    problems: list[Problem] = []
    for place, each in offers:
        for name in wanted:
            if not isinstance(each.get(name), str):
                hint = f", but {foreign}" if foreign in each and name != "name" else ""
                text = f"the auth method has no {name}{hint}"
                problems.append(Problem(text, (moment.n,), path=f"{place}.{name}"))
        kind = each.get("type")
        if moment.version == 2 and isinstance(kind, str) and not _is_type(kind):
            text = f"the type {quoted(kind)} does not begin with “_”"
            problems.append(Problem(text, (moment.n,), path=f"{place}.type"))
    return tuple(problems)


def _is_type(kind: str) -> bool:
    return kind in {"agent", "terminal"} or kind.startswith("_")


@check("ACP-L078", results("initialize"), fix='Write env as an object: {"NAME": "value"}.')
def environments_are_objects(moment: Moment) -> Found:
    """Tell of environments of version 1 that are no map of strings."""
    offers = [each for each in _terminals(moment) if each[1].get("env") is not None]
    if not offers:
        return None
    problems: list[Problem] = []
    for place, each in offers:
        env = each["env"]
        if not isinstance(env, dict):
            text = "the env of a method for a terminal is no object"
            problems.append(Problem(text, (moment.n,), path=f"{place}.env"))
        problems += [
            Problem(f"the variable {quoted(name)} is no string", (moment.n,), path=f"{place}.env")
            for name, value in members(env).items()
            if not isinstance(value, str)
        ]
    return tuple(problems)


@check("ACP-L079", results("initialize"), fix='Write env as [{"name": …, "value": …}], each once.')
def environments_are_pairs(moment: Moment) -> Found:
    """Tell of environments of version 2 that are no list of pairs, or name one twice."""
    offers = [each for each in _terminals(moment) if each[1].get("env") is not None]
    if not offers:
        return None
    problems: list[Problem] = []
    for place, each in offers:
        if not isinstance(each["env"], list):
            text = "the env of a method for a terminal is no array"
            problems.append(Problem(text, (moment.n,), path=f"{place}.env"))
        seen: set[str] = set()
        for index, pair in enumerate(map(members, entries(each["env"]))):
            name, value = pair.get("name"), pair.get("value")
            text = ""
            if not isinstance(name, str) or not isinstance(value, str):
                text = "the entry is no object with name and value"
            elif name in seen:
                text = f"the variable {quoted(name)} is there twice"
            else:
                seen.add(name)
            if text:
                problems.append(Problem(text, (moment.n,), path=f"{place}.env.{index}"))
    return tuple(problems)


@check("ACP-L080", results("initialize"), fix="Offer only args and env; the client knows the rest.")
def terminal_methods_have_no_command(moment: Moment) -> Found:
    """Tell of methods that want to say what the client starts."""
    offers = _terminals(moment)
    if not offers:
        return None
    return tuple(
        Problem("a method for a terminal has a command", (moment.n,), path=f"{place}.command")
        for place, each in offers
        if "command" in each
    )
