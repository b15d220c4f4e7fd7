"""Titles of tool calls that name a path: agents cut them, or leave out the directory.

So the titles of two runs may differ in more than their directories. A title is read in each way in
which it may name a path in one of them; two are one title if they can be read as the same path.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from acp_inspector.compare.values import PlacedText

Spelling: TypeAlias = Literal["whole", "relative", "cut in front", "cut behind"]
"""How the path is spelled. `relative`: it begins in a directory above, such as the root of a
repository, or in the directory. `cut in front`: its beginning is cut off, up to somewhere within
the directory. `cut behind`: the title ends behind the directory or within it."""

_CUT_BEHIND: Final = re.compile(r"(?:\.{3}|…)\Z")
_CUT_IN_FRONT: Final = re.compile(r"(?:\.{3}|…)(?=[^\s.…])")
_MAX_TITLE: Final = 1000
"""Characters of a title that may be cut; titles are cut to be short."""
_PATH_START: Final = re.compile(r"(?<![\w.~:/\\-])(?:/|[A-Za-z]:[/\\])(?![/\\])")
_GOES_ON: Final = re.compile(r"\.*[\w-]")
"""The name of another directory goes on so."""
_SEPARATOR: Final = re.compile(r"[/\\]")


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to read a title."""

    spelling: Spelling
    before: str
    """The text before the path."""
    directory: str
    name: str
    """The name of the directory, the same in both runs."""
    behind: str
    """The text behind the directory; empty if the title is cut within it."""
    length: int
    """Characters of the title."""
    mark: str = ""
    """How the end was cut off."""


def are_cut(one: PlacedText, other: PlacedText) -> bool:
    """Return whether two titles are one that was cut because of the length of its directory."""
    return _are_any(one, other, _is_cut)


def are_relative(one: PlacedText, other: PlacedText) -> bool:
    """Return whether two titles are one path that at least one run spells in a relative way."""
    return _are_any(one, other, _is_relative)


def _are_any(
    one: PlacedText, other: PlacedText, test: Callable[[_Reading, _Reading], bool]
) -> bool:
    others = list(_readings(other))
    return any(
        test(ours, theirs)
        for ours in _readings(one)
        for theirs in others
        if (ours.before, ours.name) == (theirs.before, theirs.name)
        and ours.directory != theirs.directory
    )


def _is_cut(one: _Reading, other: _Reading) -> bool:
    spellings = {one.spelling, other.spelling}
    if spellings == {"cut behind"}:
        short, long = sorted((one.behind, other.behind), key=len)
        is_alike = long.startswith(short) if short else long[:1] in {"", "/", "\\"}
        return is_alike and (one.length, one.mark) == (other.length, other.mark)
    if "cut in front" not in spellings or "cut behind" in spellings:
        return False
    cut, uncut = (one, other) if one.spelling == "cut in front" else (other, one)
    # A title is cut only if it would be longer.
    is_shorter = uncut.spelling == "whole" and uncut.length <= cut.length
    return one.behind == other.behind and (is_shorter or uncut.length == cut.length)


def _is_relative(one: _Reading, other: _Reading) -> bool:
    spellings = {one.spelling, other.spelling}
    is_relative = "relative" in spellings and spellings <= {"whole", "relative"}
    return is_relative and one.behind == other.behind


def _readings(placed: PlacedText) -> Iterator[_Reading]:
    title = placed.text
    if len(title) > _MAX_TITLE:
        return
    for directory, name in placed.templates.places.items():
        for spelling, start, end in _spellings(title, directory):
            behind = title[end:] if end else f"/{title}"
            if not _GOES_ON.match(behind):
                before = title[:start]
                yield _Reading(spelling, before, directory, name, behind, len(title))
        if cut := _CUT_BEHIND.search(title):
            text = title[: cut.start()]
            for before, behind in _cut_paths(text, directory):
                yield _Reading("cut behind", before, directory, name, behind, len(title), cut[0])


def _spellings(title: str, directory: str) -> Iterator[tuple[Spelling, int, int]]:
    """Yield each place in a title where a path may be in the directory, and the directory's end."""
    start = title.find(directory)
    if start >= 0:
        yield "whole", start, start + len(directory)
    for found in _CUT_IN_FRONT.finditer(title):
        for at in range(1, len(directory)):
            if title.startswith(directory[at:], found.end()):
                yield "cut in front", found.start(), found.end() + len(directory) - at
    if not title.startswith(("/", "~", ".", "…")) and directory.startswith("/"):
        above = directory.strip("/")
        while above:
            if title == above or title.startswith(f"{above}/"):
                yield "relative", 0, len(above)
            _, _, above = above.partition("/")
        yield "relative", 0, 0


def _cut_paths(text: str, directory: str) -> Iterator[tuple[str, str]]:
    """Yield what is before and behind the directory in a title whose end was cut off."""
    for start in (each.start() for each in _PATH_START.finditer(text)):
        path = text[start:]
        if path.startswith(directory) and not _GOES_ON.match(path, len(directory)):
            yield text[:start], path[len(directory) :]
        elif directory.startswith(path) and len(_SEPARATOR.findall(path)) > 1:
            yield text[:start], ""
