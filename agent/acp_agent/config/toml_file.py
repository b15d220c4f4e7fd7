"""TOML, with the lines that the standard library does not tell.

A statement ends with the first line with which it can be parsed: read on its own, each one tells
which keys it sets, and needs no second parser.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

from acp_agent.config.documents import ConfigurationError, Document, Spot, spelled
from acp_protocol.jsonrpc import Json

_NEWLINE: Final = re.compile(r"\r?\n")
_ENDS: Final = ('"""', "'''", "]")
_TWICE: Final = re.compile(r"Cannot (overwrite a value|declare .* twice|mutate )")
_PLACE: Final = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")


def read_toml(path: Path, text: str) -> Document:
    """Return what `text` says, which stands in the file at `path`.

    Raises:
        ConfigurationError: it is no TOML.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        found = _PLACE.search(str(problem))
        last = text.rstrip().count("\n") + 1
        line = min(int(found[1]) if found and found[1] else last, last)
        reason = _PLACE.sub("", str(problem))
        if _TWICE.match(reason):
            # The library does not say what stands there twice.
            line, name = _named(text, line)
            reason = f"{name}: it was set before, as a whole or in part"
        raise ConfigurationError(f"{path}:{line}: {reason}") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: values stand too deeply within others") from None
    return Document(path, tree, dict(_lines(text)))


def _named(text: str, line: int) -> tuple[int, str]:
    """Return the line where the statement in `line` begins, and the key or table that it sets."""
    *_, (start, statement) = (each for each in _statements(text) if each[0] <= line)
    said = tomllib.loads(statement)
    spot = _deepest(said) if statement.lstrip().startswith("[") else next(_spots(said))
    return start, spelled(tuple(step for step in spot if isinstance(step, str)))


def _lines(text: str) -> Iterator[tuple[Spot, int]]:
    """Yield the way to each value and the line where its statement begins."""
    table: Spot = ()
    counts: dict[Spot, int] = {}
    for number, statement in _statements(text):
        said = tomllib.loads(statement)
        if not statement.lstrip().startswith("["):
            yield from ((table + spot, number) for spot in _spots(said))
            continue
        table = _resolved(_deepest(said), counts)
        yield table, number


def _statements(text: str) -> Iterator[tuple[int, str]]:
    start, statement = 1, ""
    for number, line in enumerate(_NEWLINE.split(text), start=1):
        start = start if statement else number
        statement += line + "\n"
        # What a line has left open ends with one of these, and with nothing else.
        if start < number and not any(end in line for end in _ENDS):
            continue
        try:
            tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        yield start, statement
        statement = ""


def _spots(value: Json) -> Iterator[Spot]:
    """Yield the ways to everything within `value`."""
    for step, inner in _entries(value):
        yield (step,)
        yield from ((step, *rest) for rest in _spots(inner))


def _deepest(said: Json) -> Spot:
    """Return the way that a header names; a last 0 stands for one more of a list."""
    spot: Spot = ()
    while entries := _entries(said):
        ((step, said),) = entries
        spot = (*spot, step)
    return spot


def _entries(value: Json) -> list[tuple[str | int, Json]]:
    if isinstance(value, dict):
        return list(cast("dict[str | int, Json]", value).items())
    return list(enumerate(cast("list[Json]", value))) if isinstance(value, list) else []


def _resolved(header: Spot, counts: dict[Spot, int]) -> Spot:
    """Return the way that a header means, where tables may stand in lists before it."""
    spot: Spot = ()
    is_new = header[-1] == 0
    keys = header[:-1] if is_new else header
    for place, key in enumerate(keys):
        spot = (*spot, key)
        if is_new and place == len(keys) - 1:
            counts[spot] = counts.get(spot, -1) + 1
        if spot in counts:
            spot = (*spot, counts[spot])
    return spot
