"""How alike two messages are: which of those recorded a live one is.

Messages of one kind come in any order and with new ids in each run, so that only their content says
which belong together.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias, cast

from acp_inspector.compare.values import ABSENT, GENERATED_IDS, TIMESTAMPS, is_other
from acp_inspector.jsonpath import formatted_member
from acp_protocol.dialects.spellings import spellings
from acp_protocol.json_text import json_text
from acp_protocol.jsonrpc import Json

Content: TypeAlias = Mapping[str, Json]
"""The single values of a message that say what it is about, by their paths."""

MIN_LIKENESS: Final = 0.5
"""The share of equal values from which on two messages count as counterparts."""
MAX_FIELDS: Final = 2_000
"""Values of one message that are compared."""
MAX_FIELDS_SHOWN: Final = 5
_SHOWN: Final = 300
"""Characters of a value that are shown."""
_DEPTH: Final = 60
_MAX_TEXT: Final = 2_000
"""Characters of a text whose words are compared."""
_NEARLY_EQUAL: Final = 0.9
_NEAR: Final = 0.1
"""What all texts that differ count together at most, in equal values: of two messages with as many
equal values, the one with the nearer texts is more alike."""
_VOLATILE: Final = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{8,}|\d+"
)
"""What may differ in two texts with the same meaning: UUIDs, hexadecimal ids, numbers."""
_WORD: Final = re.compile(r"\w+")
_ABOUT_RUN: Final = TIMESTAMPS | {"_meta"} | (GENERATED_IDS - {"terminalId"}) | {"session_id"}
"""Members that say nothing about what a message is about."""
DIRECTORY_NAMES: Final = spellings("cwd") | spellings("additionalDirectories")
"""The members that name a directory, in all dialects."""


def content(value: Json, names: Collection[str] | None = None) -> Content:
    """Return the content of a value, or of those of its members that have one of these names.

    Ids, times, absolute directories and `_meta` are none, because they differ in each run.
    """
    if names is not None:
        members = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
        value = {name: each for name, each in members.items() if name in names}
    return dict(islice(_leaves(value, "$", "", _DEPTH), MAX_FIELDS))


def likeness(recorded: Content, live: Content) -> float:
    """Return the share of equal values, from 0 to 1; one that may be volatile counts a bit less."""
    names = recorded.keys() | live.keys()
    if not names:
        return 1.0
    pairs = [(recorded.get(each, ABSENT), live.get(each, ABSENT)) for each in names]
    shares = [_equality(*pair) for pair in pairs]
    equal = sum(shares)
    differing = (pair for pair, share in zip(pairs, shares, strict=True) if not share)
    near = sum(_nearness(*pair) for pair in differing) / len(pairs)
    return (equal + _NEAR * near) / len(pairs)


def content_differences(recorded: Content, live: Content) -> list[str]:
    """Return the first values that differ, a line for each side; they are not safe to show."""
    names = [
        name
        for name in {**recorded, **live}
        if is_other(recorded.get(name, ABSENT), live.get(name, ABSENT))
    ]
    lines: list[str] = []
    for name in names[:MAX_FIELDS_SHOWN]:
        ours, theirs = recorded.get(name, ABSENT), live.get(name, ABSENT)
        lines += [name, f"- {_shown(ours)}", f"+ {_shown(theirs)}"]
    if len(names) > MAX_FIELDS_SHOWN:
        lines.append(f"… and {len(names) - MAX_FIELDS_SHOWN} more fields")
    return lines


def _equality(one: Json, other: Json) -> float:
    if not is_other(one, other):
        return 1.0
    are_texts = isinstance(one, str) and isinstance(other, str)
    is_volatile = are_texts and _VOLATILE.sub("", one) == _VOLATILE.sub("", other)
    return _NEARLY_EQUAL if is_volatile else 0.0


def _nearness(one: Json, other: Json) -> float:
    """Return the share of the words that two texts have in common."""
    if not (isinstance(one, str) and isinstance(other, str)) or ABSENT in (one, other):
        return 0.0
    words, others = (set(_WORD.findall(each[:_MAX_TEXT])) for each in (one, other))
    return len(words & others) / (len(words | others) or 1)


def _leaves(value: Json, path: str, name: str, depth: int) -> Iterator[tuple[str, Json]]:
    if depth and isinstance(value, dict):
        for member, inner in cast("dict[str, Json]", value).items():
            if member not in _ABOUT_RUN:
                yield from _leaves(inner, path + formatted_member(member), member, depth - 1)
    elif depth and isinstance(value, list):
        for at, inner in enumerate(cast("list[Json]", value)):
            yield from _leaves(inner, f"{path}[{at}]", name, depth - 1)
    elif name in DIRECTORY_NAMES and isinstance(value, str) and value.startswith("/"):
        yield path, "/"
    else:
        yield path, value


def _shown(value: Json) -> str:
    text = value if isinstance(value, str) else json_text(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
