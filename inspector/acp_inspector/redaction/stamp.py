"""Says in a recording's header which rules were applied, without writing the header anew."""

from __future__ import annotations

import json
import re
from typing import Any, Final, cast

from acp_inspector.redaction.rules import RULES

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BEFORE: Final = ("env", "platform", "cwd", "command", "transport", "schema", "tool", "created")
"""Members behind which `redacted` belongs, the nearest first."""


def stamp_header(line: str, applied: tuple[str, ...]) -> str:
    """Return the header `line` with the names in `applied` among those under `redacted`.

    Raises:
        ValueError: `line` is no JSON object.
    """
    members = _members(line)
    if old := members.get("redacted"):
        names = _names(old[0]) | set(applied)
        return f"{line[: old[1]]}{_listed(names)}{line[old[2] :]}"
    anchor = next(name for name in (*_BEFORE, "acp_recording") if name in members)
    at = members[anchor][2]
    return f'{line[:at]},"redacted":{_listed(set(applied))}{line[at:]}'


def _names(value: Any) -> set[str]:
    return {str(name) for name in cast("list[Any]", value)} if isinstance(value, list) else set()


def _listed(names: set[str]) -> str:
    known = [name for name in RULES if name in names]
    listed = [*known, *sorted(names - set(known))]
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":"))


def _members(line: str) -> dict[str, tuple[Any, int, int]]:
    """Return the members of the object, each with where its value begins and ends."""
    members: dict[str, tuple[Any, int, int]] = {}
    at = _skip(line, _skip(line, 0) + 1)
    while line[at : at + 1] != "}":
        key, at = _DECODER.raw_decode(line, at)
        start = _skip(line, _skip(line, at) + 1)
        value, at = _DECODER.raw_decode(line, start)
        members[key] = (value, start, at)
        at = _skip(line, at)
        if line[at : at + 1] == ",":
            at = _skip(line, at + 1)
    return members


def _skip(line: str, at: int) -> int:
    found = _SPACE.match(line, at)
    return found.end() if found else at
