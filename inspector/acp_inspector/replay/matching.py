"""Finds the recorded counterpart of what a live agent sends, by content.

The order in which an agent sends parallel requests says nothing, and their ids are new in each run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, cast

from acp_inspector.analysis.diff import ABSENT
from acp_inspector.analysis.id_map import GENERATED_IDS, TIMESTAMPS, IdMap
from acp_inspector.jsonpath import formatted_member
from acp_protocol.json_values import as_object, get
from acp_protocol.jsonrpc import Json

MIN_SIMILARITY: Final = 0.5
"""The share of equal values from which on two messages count as counterparts."""
MAX_FIELDS: Final = 2_000
"""Values of one message that are compared."""
MAX_FIELDS_SHOWN: Final = 5
_SHOWN: Final = 300
"""Characters of a value that are shown."""
_DEPTH: Final = 60
_VOLATILE: Final = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{8,}|\d+"
)
"""What may differ in two texts with the same meaning: UUIDs, hexadecimal ids, numbers."""
_TOOL_CALL: Final = ("title", "kind", "name", "rawInput", "locations")
_DECISIVE: Final = {
    "fs/read_text_file": ("path",),
    "fs/write_text_file": ("path",),
    "terminal/create": ("command", "args"),
    "terminal/output": ("terminalId",),
    "terminal/wait_for_exit": ("terminalId",),
    "terminal/kill": ("terminalId",),
    "terminal/release": ("terminalId",),
}
"""The fields of a request that say what it is about, where not all do."""


def request_similarity(method: str, recorded: Json, live: Json, ids: IdMap) -> float:
    """Return how alike two requests of one method are, from 0 to 1."""
    if method == "session/request_permission":
        calls = [get(each, "toolCall") or get(each, "subject") or each for each in (recorded, live)]
        bound = ids.to_live({"toolCallId": get(calls[0], "toolCallId")})
        if get(bound, "toolCallId") == get(calls[1], "toolCallId") is not None:
            return 1.0
        return tool_call_similarity(calls[0], calls[1], ids)
    names = _DECISIVE.get(method)
    if names is not None:
        recorded, live = _only(recorded, names), _only(live, names)
    return similarity(recorded, live, ids)


def tool_call_similarity(recorded: Json, live: Json, ids: IdMap) -> float:
    """Return how alike two tool calls look, from 0 to 1."""
    return similarity(_only(recorded, _TOOL_CALL), _only(live, _TOOL_CALL), ids)


def similarity(recorded: Json, live: Json, ids: IdMap) -> float:
    """Return the share of equal values; a value that may be volatile counts a little less."""
    ours, theirs = _fields(ids.to_live(recorded)), _fields(live)
    names = ours.keys() | theirs.keys()
    if not names:
        return 1.0
    equal = sum(_likeness(ours.get(name, ABSENT), theirs.get(name, ABSENT)) for name in names)
    return equal / len(names)


def field_differences(recorded: Json, live: Json, ids: IdMap) -> list[str]:
    """Return the first fields that differ, one line for each side; they are not safe to show."""
    ours, theirs = _fields(ids.to_live(recorded)), _fields(live)
    names = [
        name for name in {**ours, **theirs} if ours.get(name, ABSENT) != theirs.get(name, ABSENT)
    ]
    lines: list[str] = []
    for name in names[:MAX_FIELDS_SHOWN]:
        lines += [
            f"{name}",
            f"- {_text(ours.get(name, ABSENT))}",
            f"+ {_text(theirs.get(name, ABSENT))}",
        ]
    if len(names) > MAX_FIELDS_SHOWN:
        lines.append(f"… and {len(names) - MAX_FIELDS_SHOWN} more fields")
    return lines


def _only(value: Json, names: tuple[str, ...]) -> dict[str, Json]:
    return {name: each for name, each in as_object(value).items() if name in names}


def _likeness(one: Json, other: Json) -> float:
    if one == other:
        return 1.0
    are_texts = isinstance(one, str) and isinstance(other, str)
    return 0.9 if are_texts and _VOLATILE.sub("", one) == _VOLATILE.sub("", other) else 0.0


def _fields(value: Json) -> dict[str, Json]:
    """Return the single values in a value by their paths, without ids and times of this run."""
    return dict(islice(_leaves(value, "$", _DEPTH), MAX_FIELDS))


def _leaves(value: Json, path: str, depth: int) -> Iterator[tuple[str, Json]]:
    if depth and isinstance(value, dict):
        for name, inner in cast("dict[str, Json]", value).items():
            is_minted = name in GENERATED_IDS - {"terminalId"} or name in TIMESTAMPS
            if not is_minted:
                yield from _leaves(inner, path + formatted_member(name), depth - 1)
    elif depth and isinstance(value, list):
        for place, inner in enumerate(cast("list[Json]", value)):
            yield from _leaves(inner, f"{path}[{place}]", depth - 1)
    else:
        yield path, value


def _text(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
