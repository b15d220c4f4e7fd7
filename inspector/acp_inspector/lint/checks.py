"""Checks that many rules share: a rule names one, and where to look, with `checked_by`.

A place is a path in the update, the params or the result: `*` is every item of an array, or every
member of an object, `**` is what lies in it at any depth, and `|` is between names. The empty path
is the body itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from acp_inspector.lint.context import OK, CheckResult, Context, quoted, repeated
from acp_inspector.lint.schema_errors import (
    SchemaSubject,
    newer_members,
    schema_subject,
)
from acp_inspector.lint.text_checks import is_absolute
from acp_protocol.framing import Side
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.explain import UNKNOWN_WORD

ErrorKind: TypeAlias = Literal["missing", "type", "null", "range", "word", "reserved", "member"]
"""What is wrong at a place: a member is missing, has another type, is null where a list is (which
readers take for none), or is too small or short; a word is unknown; or the schema lets it pass, but
a word is reserved for ACP, or a member is not one of ACP."""
Places: TypeAlias = str | tuple[str, ...]
Names: TypeAlias = tuple[str, ...]
"""The parts of a place."""

MOST_PLACES: Final = 5
"""Most paths reported for one message; a message in a dialect may have dozens."""

_ANY: Final = {"*": "[^.]+", "**": ".+"}
_KINDS: Final[dict[str, ErrorKind]] = {
    "is missing": "missing",
    "is null": "null",
    "is too short": "range",
    "is too small": "range",
    "is too large": "range",
    UNKNOWN_WORD: "word",
}
"""The kinds of errors by their reason; all others are about types."""


def schema(
    context: Context,
    at: Places,
    kinds: ErrorKind | tuple[ErrorKind, ...] = ("missing", "type"),
    within: Places = (),
) -> CheckResult:
    """Check that the schema finds no error of these kinds at these places.

    Args:
        context: The message.
        at: The places.
        kinds: The kinds of errors.
        within: There is nothing to check if nothing is in any of these objects and arrays. By
            default they are those that all of `at` lie in.
    """
    subject = context.subject
    for names in _needed(at, kinds, within):
        if _reaches(subject, names):
            break
    else:
        return None
    what = schema_subject(context)
    if what is None:
        return OK
    if not isinstance(what, SchemaSubject):
        return None
    pattern, wanted = _pattern(context.body, _all(at)), _all(kinds)
    found = [
        context.problem(text, context.request, path=path)
        for kind, path, text in _errors(context, what)
        if kind in wanted and pattern.fullmatch(path)
    ]
    return tuple(problem for problems in found[:MOST_PLACES] for problem in problems)


def _errors(context: Context, what: SchemaSubject) -> Iterator[tuple[ErrorKind, str, str]]:
    """Yield the kind, the path and the text of everything that is wrong."""
    for error in what.schema_errors():
        yield _KINDS.get(error.reason, "type"), error.path, str(error)
    newer = newer_members(context.method, what)
    for path in what.custom_values():
        if path not in newer and not str(what.at(path)).startswith("_"):
            yield "reserved", path, f"{path} is not known and does not begin with “_”"
    for path in what.unknown_members():
        if path not in newer:
            yield "member", path, f"{path} is not a member of ACP"


def _all(values: str | tuple[str, ...]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else values


@cache
def _needed(at: Places, kinds: str | tuple[str, ...], within: Places) -> tuple[Names, ...]:
    """Return the places of which one must have something, or there is nothing to check."""
    places = _all(at)
    if within:
        places = tuple(f"{place}.+" for place in _all(within))
    elif {"missing", "member"}.intersection(_all(kinds)):
        outer = [place.partition(".*")[0] for place in places if ".*" in place]
        outer += [place.rpartition(".")[0] for place in places if ".*" not in place]
        places = tuple(dict.fromkeys(f"{place}.+" for place in outer)) if all(outer) else ("",)
    return tuple(tuple(filter(None, place.split("."))) for place in places)


def _reaches(value: Json, names: Names) -> bool:
    """Return whether something is at a place in a value; `+`: more than null or an empty array."""
    for index, name in enumerate(names):
        if name == "+":
            return value is not None and value != []
        inside = as_object(value)
        if name == "*":
            rest = names[index + 1 :]
            return any(_reaches(each, rest) for each in inside.values() or as_list(value))
        if "|" in name:
            rest = names[index + 1 :]
            return any(_reaches(inside, (each, *rest)) for each in name.split("|"))
        if name not in inside:
            return False
        value = inside[name]
    return True


@cache
def _pattern(body: str, places: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(_expression(f"{body}.{place}".rstrip(".")) for place in places))


def _expression(place: str) -> str:
    parts = [
        _ANY[part] if part in _ANY else f"(?:{'|'.join(map(re.escape, part.split('|')))})"
        for part in place.split(".")
    ]
    return r"\.".join(parts)


def unique(context: Context, at: Places) -> CheckResult:
    """Check that no text occurs twice at these places."""
    found = [each for place in _all(at) for each in context.members(place)]
    for index, value in repeated(value for _, value in found):
        return context.problem(f"{quoted(value)} occurs twice", path=found[index][0])
    return OK if found else None


def valid(
    context: Context, at: Places, test: Callable[[Any], bool], what: str, of: type = str
) -> CheckResult:
    """Check that the values of a type (texts, by default) at these places pass a test.

    Args:
        context: The message.
        at: The places.
        test: The test.
        what: What a value is that does not pass it.
        of: The type; other values do not matter.
    """
    found = [
        (path, value)
        for place in _all(at)
        for path, value in context.members(place)
        if type(value) is of
    ]
    if not found:
        return None
    return context.problems(
        (f"{quoted(value)} is {what}", path) for path, value in found if not test(value)
    )


def absolute(context: Context, at: Places) -> CheckResult:
    """Check that the paths at these places are absolute."""
    return valid(context, at, is_absolute, "no absolute path")


def claimed(
    context: Context, v1: str, v2: str = "", by: Side = "agent", at: str = "", value: str = ""
) -> CheckResult:
    """Check that a side claims the capability for a message, or for what is at a place in it.

    The check does not apply if the side claimed nothing: the recording may begin later.

    Args:
        context: The message.
        v1: The path of the capability.
        v2: Its path in version 2, if it differs.
        by: Who must claim it.
        at: The place; empty: the message as a whole needs the capability.
        value: The value there that needs it; empty: whatever there is.
    """
    path, what = "method", context.method
    if context.variant is not None:
        path, what = "params.update.sessionUpdate", context.variant
    if at:
        found = [place for place, each in context.members(at) if value in ("", each)]
        path, what = (found[0], value or found[0]) if found else ("", None)
    if what is None or not context.state.is_ready:
        return None
    capability = v2 if v2 and context.version == 2 else v1
    if context.state.claims(by, capability):
        return OK
    text = f"{what} was sent though the {by} did not claim {capability}"
    return context.problem(text, context.state.initialize, path=path)
