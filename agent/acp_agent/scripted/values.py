"""JSON values of a scenario: how names in them are replaced, and how they are compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json

ANY: Final = "*"
"""Matches any value in an expectation."""
_NAME: Final = re.compile(r"\$(?:\$|([a-z_]+)((?:\.\w+)*))")
_WIDTH: Final = 200
"""Characters of a value that a sentence shows, at most."""


def merged(value: Json, over: Json) -> Json:
    """Return `value` with the members of `over` put over it, object by object."""
    if not (isinstance(value, dict) and isinstance(over, dict)):
        return over
    whole = dict(as_object(value))
    for name, member in as_object(over).items():
        whole[name] = merged(whole[name], member) if name in whole else member
    return whole


def filled(value: Json, known: Mapping[str, Json]) -> Json:
    """Return `value` with `$name` replaced by what is known under it; `$$` is a dollar.

    A text that is a name and nothing else becomes the value itself; within a text, values that are
    no texts stand as Python writes them. Names that are not known stay as they are.
    """
    if isinstance(value, dict):
        return {name: filled(member, known) for name, member in as_object(value).items()}
    if isinstance(value, list):
        return [filled(entry, known) for entry in as_list(value)]
    if not isinstance(value, str) or "$" not in value:
        return value
    if (whole := _NAME.fullmatch(value)) and whole[1] in known:
        return _within(known[whole[1]], whole[2])

    def named(found: re.Match[str]) -> str:
        if found[1] is None:
            return "$"
        return str(_within(known[found[1]], found[2])) if found[1] in known else found[0]

    return _NAME.sub(named, value)


def _within(whole: Json, path: str) -> Json:
    value: Json = whole
    for step in path.split(".")[1:]:
        listed = as_list(value)
        if step.isdecimal() and int(step) < len(listed):
            value = listed[int(step)]
        else:
            value = as_object(value).get(step)
    return value


def difference(expected: Json, actual: Json, path: str = "$") -> str | None:
    """Return the first place in which `actual` is not as expected; None if there is none.

    Objects may have more members than expected; `*` is anything that is there.
    """
    if expected == ANY:
        return None
    kinds = {expected.__class__, actual.__class__}
    if kinds == {dict}:
        fields = as_object(actual)
        for name, member in as_object(expected).items():
            if name not in fields:
                return f"{path}.{name} is missing"
            if found := difference(member, fields[name], f"{path}.{name}"):
                return found
        return None
    if kinds == {list}:
        wanted, entries = as_list(expected), as_list(actual)
        if len(wanted) != len(entries):
            return f"{path} has {len(entries)} entries, not {len(wanted)}"
        pairs = enumerate(zip(wanted, entries, strict=True))
        return next(filter(None, (difference(*pair, f"{path}.{at}") for at, pair in pairs)), None)
    if len(kinds) == 1 and expected == actual:
        return None
    return f"{path} is {_shown(actual)}, not {_shown(expected)}"


def _shown(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
