"""Which methods there are, who sends them, and that they are answered as such.

Source: ACP, "Extensibility", "Initialization", and the published schemas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, quoted
from acp_inspector.lint.registry import (
    answers,
    asks,
    calls,
    check,
    failures,
    results,
    tells,
)
from acp_inspector.lint.rules.envelope import UNREADABLE, Told, has_other_cause
from acp_inspector.lint.state import State, other
from acp_protocol.schema.method import Kind, Method
from acp_protocol.schema.methods import METHODS, VERSIONS, find_method

_NAMESPACES: Final = frozenset(
    {row.name.partition("/")[0] for row in METHODS} | {"nes", "document", "mcp"}
)
BASELINE: Final = {
    1: frozenset({"initialize", "session/new", "session/prompt", "session/request_permission"}),
    2: frozenset({"initialize", "session/request_permission"}),
}
"""Methods that everyone has to answer who speaks the version, whatever was claimed."""
RETIRED: Final = re.compile(r"nes/|document/|mcp/(connect|disconnect)$")
"""Methods of unstable schemas before 2026-11."""
RETIRED_TELLS: Final = re.compile(r"nes/(accept|reject)$|document/")
"""Those of them that were notifications."""
EMPTY: Final = frozenset({"session/load", "fs/write_text_file", "authenticate"})
"""Methods whose empty result was once null."""


@check("ACP-L035", calls(), fix="Use methods of the version, or one that begins with “_”.")
def methods_are_known(moment: Moment) -> Found:
    """Tell of methods that no version has."""
    method = moment.method or ""
    if not method or method.startswith(("_", "$/")):
        return None
    row = _row(moment)
    if row is not None:
        if row.is_stable or moment.state.unstable:
            return FINE
        return moment.problem(f"{method} is unstable", path="method", severity="info")
    if any(find_method(method, version) for version in VERSIONS):
        # Of the other version: a rule of its own tells that.
        return FINE
    if RETIRED.match(method):
        return moment.problem(
            f"{method} is of an unstable schema before 2026-11", path="method", severity="info"
        )
    if not is_ours(method):
        # Somebody's own: a rule of its own tells that it lacks the underscore.
        return FINE
    return moment.problem(f"{quoted(method)} is no method of ACP", path="method")


def is_ours(method: str) -> bool:
    """Tell whether a method stands among the protocol's own, by the first part of its name."""
    return method.partition("/")[0] in _NAMESPACES


@check("ACP-L036", calls(), fix="Use version 2's way, or ask for version 1.")
def no_v1_methods_in_v2(moment: Moment) -> Found:
    """Tell of methods that version 2 has no more."""
    return _of_other_version(moment, 1)


@check("ACP-L037", calls(), fix="Use version 1's way, or ask for version 2.")
def no_v2_methods_in_v1(moment: Moment) -> Found:
    """Tell of methods that version 1 does not have yet."""
    return _of_other_version(moment, 2)


def _of_other_version(moment: Moment, other: int) -> Found:
    method = moment.method or ""
    if moment.version is None or moment.version == other or not method:
        return None
    if find_method(method, moment.version) is None and find_method(method, other) is not None:
        return moment.problem(
            f"{method} is version {other}'s; agreed upon is {moment.version}",
            moment.state.initialize,
            path="method",
        )
    return FINE


@check("ACP-L038", calls(), fix="Send only what your side sends.")
def methods_come_from_the_right_side(moment: Moment) -> Found:
    """Tell of methods that go the wrong way."""
    rows = [row for row in _rows(moment) if row.name == moment.method]
    if not rows:
        return None
    if any(row.sent_by in {moment.side, "either"} for row in rows):
        return FINE
    return moment.problem(f"{moment.method} comes from the {moment.side}", path="method")


@check("ACP-L039", asks(), fix="Send it without an id.")
def notifications_have_no_id(moment: Moment) -> Found:
    """Tell of notifications that ask for an answer."""
    kinds = _kinds(moment)
    if "request" in kinds:
        return FINE
    if not kinds and not RETIRED_TELLS.match(moment.method or ""):
        return None
    return moment.problem(f"{moment.method} is a notification and has an id", path="id")


@check("ACP-L040", tells(), fix="Send it with an id, and wait for the answer.")
def requests_have_ids(moment: Moment) -> Found:
    """Tell of requests that ask for no answer."""
    kinds = _kinds(moment)
    if not kinds:
        return None
    if kinds == {"request"}:
        return moment.problem(f"{moment.method} is a request and has no id", path="id")
    return FINE


@check("ACP-L041", answers(), fix="Answer unknown methods with -32601.")
def unknown_requests_get_method_not_found(moment: Moment) -> Found:
    """Tell of other errors for methods that do not exist."""
    ask = moment.ask
    if ask is None or ask.method.startswith("_") or RETIRED.match(ask.method):
        return None
    if any(find_method(ask.method, version) for version in VERSIONS):
        return _of_the_other_version(moment)
    if moment.kind == "result":
        return moment.problem(f"the unknown method {ask.method} was answered with a result", ask)
    if moment.code != -32601:
        return moment.problem(
            f"the unknown method {ask.method} was answered with {moment.code}", ask
        )
    return FINE


def _of_the_other_version(moment: Moment) -> Found:
    """Tell of a breakdown over a method of the other version, which a peer may well know."""
    ask, version = moment.ask, moment.version
    if ask is None or version is None or find_method(ask.method, version) is not None:
        return None
    if moment.code == -32603:
        return moment.problem(
            f"{ask.method}, of another version, was answered with {moment.code}", ask
        )
    return FINE if moment.code == -32601 else None


@check(
    "ACP-L042",
    failures(),
    exercised_by=tells(),
    fix="Pass over notifications that are not known.",
)
def unknown_notifications_are_passed_over(moment: Moment) -> Found:
    """Tell of errors for notifications that do not exist."""
    told = moment.state.of(Told).last.get(other(moment.side))
    if moment.id is not None or told is None or told.method is None:
        return FINE
    if any(find_method(told.method, version) for version in VERSIONS):
        return FINE
    if moment.code in UNREADABLE and has_other_cause(told):
        return FINE
    return moment.problem(
        f"the unknown notification {told.method} was answered with an error", told.point
    )


@check("ACP-L043", failures(), fix="Answer what was claimed, or do not claim it.")
def claimed_methods_are_there(moment: Moment) -> Found:
    """Tell of methods that are missing though they have to be there."""
    ask = moment.ask
    if ask is None or moment.version is None:
        return None
    row = find_method(ask.method, moment.version)
    if row is None or row.sent_by not in {ask.side, "either"}:
        return None
    if not _is_due(moment.state, row):
        return None
    if moment.code == -32601:
        why = "has to be there" if row.gate is None else f"was claimed by {row.gate}"
        return moment.problem(f"{ask.method} {why}, but is not found", ask, moment.state.initialize)
    return FINE


def _is_due(state: State, row: Method) -> bool:
    if row.name in BASELINE[row.version]:
        return True
    if row.gate is None:
        return False
    whose, _, path = row.gate.partition(".")
    if whose == "authMethods":
        return bool(state.auth_methods)
    return state.claims("client" if whose == "clientCapabilities" else "agent", path)


@check("ACP-L044", results(), fix="Answer with {} where there is nothing to tell.")
def empty_results_are_objects(moment: Moment) -> Found:
    """Tell of null for an empty result."""
    if moment.ask is None:
        return None
    row = find_method(moment.ask.method, moment.version or 1)
    if row is None or row.result is None:
        return None
    if moment.result is None:
        what = "the older spelling of" if moment.ask.method in EMPTY else "not"
        return moment.problem(
            f"the result of {moment.ask.method} is null, {what} {{}}", moment.ask, path="result"
        )
    return FINE


def _row(moment: Moment) -> Method | None:
    return find_method(moment.method or "", moment.version or 1)


def _rows(moment: Moment) -> Iterator[Method]:
    """Yield the rows of the method: as a request, and as a notification."""
    kinds: tuple[Kind, ...] = ("request", "notification")
    for kind in kinds:
        if row := find_method(moment.method or "", moment.version or 1, kind=kind):
            yield row


def _kinds(moment: Moment) -> set[Kind]:
    return {row.kind for row in _rows(moment)}
