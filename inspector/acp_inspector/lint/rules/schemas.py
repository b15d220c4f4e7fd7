"""That what is sent fits the published schema.

Source: ACP schema, every definition of params and results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from acp_inspector.lint.checks import (
    calls,
    check,
    results,
)
from acp_inspector.lint.moment import FINE, Found, Moment, Problem
from acp_inspector.lint.rules.method_table import EMPTY
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.methods import METHODS
from acp_protocol.schema.validate import accepts
from acp_protocol.schema.validate import check as complaints_of

COMPLAINTS: Final = 5
"""Places in one message that are told of; a message in another dialect would have dozens."""


@check(
    "ACP-L046",
    calls(),
    results(),
    fix="Send what the schema asks for; see the method's page.",
)
def messages_fit_their_schema(moment: Moment) -> Found:
    """Tell of members that are missing, or of a wrong type or value."""
    return _schema_problems(moment, lenient=False)


@check(
    "ACP-L047",
    calls(),
    results(),
    fix="Send what the schema asks for, though readers survive it.",
)
def tolerated_members_are_well_formed(moment: Moment) -> Found:
    """Tell of members that a reader takes for absent because they make no sense."""
    return _schema_problems(moment, lenient=True)


def _schema_problems(moment: Moment, *, lenient: bool) -> Found:
    version = moment.version or 1
    is_call = moment.kind != "result"
    look = _glance(moment.method, moment.kind, version)
    if look is None:
        return None
    value: Json = moment.value.get("params") if is_call else moment.result
    if is_call and value is None:
        value = {}
    if not is_call and value is None and moment.method in EMPTY:
        return FINE
    if look[1](value):
        return FINE
    found = [
        Problem(f"{each}", (moment.n,), None, each.path)
        for each in complaints_of(look[0], value, version, path="params" if is_call else "result")
        if each.lenient is lenient
    ]
    return tuple(found[:COMPLAINTS])


@cache
def _glances(version: int) -> dict[tuple[str, str], str]:
    table: dict[tuple[str, str], str] = {}
    for row in METHODS:
        if row.version != version:
            continue
        if row.params is not None:
            table[row.name, row.kind] = row.params
        if row.result is not None:
            table[row.name, "result"] = row.result
    return table


def _glance(
    method: str | None, kind: str, version: int
) -> tuple[str, Callable[[Json], bool]] | None:
    definition = _glances(version).get((method or "", kind))
    return None if definition is None else (definition, _accepts(definition, version))


@cache
def _accepts(definition: str, version: int) -> Callable[[Json], bool]:
    return accepts(definition, version)
