"""The titles of tool calls that name a path in a directory, and in which two runs may differ.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from acp_inspector.compare.values import PlacedText

_CUT: Final = re.compile(r"(?:\.{3}|…)\Z")
"""The end of a title that was cut."""
_FRONT_CUT: Final = re.compile(r"(?:\.{3}|…)(?=[^\s.…])")
"""The mark of a path in a title whose beginning was cut off."""
_MAX_TITLE: Final = 1000
"""Characters of a title that may be cut; titles are cut to be short."""
_PATH_START: Final = re.compile(r"(?<![\w.~:/\\-])(?:/|[A-Za-z]:[/\\])(?![/\\])")
_GOES_ON: Final = re.compile(r"\.*[\w-]")
"""The name of another directory goes on so."""
_SEPARATOR: Final = re.compile(r"[/\\]")


@dataclass(frozen=True, slots=True)
class CutTitle:
    """A title that was cut behind a directory, or within it."""

    before: str
    """The text before the directory."""
    directory: str
    name: str
    """The name of the directory, the same in both runs."""
    rest: str
    """What is left behind the directory; empty if it was cut within it."""
    mark: str
    """How the cut is marked."""

    def is_cut_from(self, other: CutTitle) -> bool:
        """Return whether both may be one title, each with the directory of its own run."""
        same = (self.before, self.name, self.mark) == (other.before, other.name, other.mark)
        short, long = sorted((self.rest, other.rest), key=len)
        is_alike = long.startswith(short) if short else long[:1] in {"", "/", "\\"}
        return same and self.directory != other.directory and is_alike


@dataclass(frozen=True, slots=True)
class PlacedTitle:
    """One way to read a title in which a path in a directory may be spelled differently."""

    spelling: Literal["whole", "cut", "relative"]
    """`cut`: its beginning, up to somewhere within the directory, was cut off; `relative`: the
    path begins in a directory above, such as the root of a repository, or in the directory."""
    before: str
    """The text before the path."""
    directory: str
    name: str
    """The name of the directory, the same in both runs."""
    behind: str
    """The text behind the directory."""
    length: int
    """Characters of the title."""

    def is_cut_from(self, other: PlacedTitle) -> bool:
        """Return whether one of both is the other one, cut because it would be longer."""
        if not self._names_one_path(other) or "cut" not in {self.spelling, other.spelling}:
            return False
        cut, uncut = (self, other) if self.spelling == "cut" else (other, self)
        is_shorter = uncut.spelling == "whole" and uncut.length <= cut.length
        return is_shorter or uncut.length == cut.length

    def is_relative_to(self, other: PlacedTitle) -> bool:
        """Return whether both are one title, in which at least one of the paths is relative."""
        spellings = {self.spelling, other.spelling}
        return self._names_one_path(other) and "relative" in spellings and "cut" not in spellings

    def _names_one_path(self, other: PlacedTitle) -> bool:
        same = (self.before, self.name, self.behind) == (other.before, other.name, other.behind)
        return same and self.directory != other.directory


def are_cut(one: PlacedText, other: PlacedText) -> bool:
    """Return whether two titles are one that was cut at a directory of its run."""
    is_cut_behind = len(one.text) == len(other.text) and any(
        ours.is_cut_from(theirs)
        for ours in cut_titles(one.text, one.templates.places)
        for theirs in cut_titles(other.text, other.templates.places)
    )
    return is_cut_behind or _are_any(one, other, PlacedTitle.is_cut_from)


def are_relative(one: PlacedText, other: PlacedText) -> bool:
    """Return whether two titles are one path, from another directory in each run."""
    return _are_any(one, other, PlacedTitle.is_relative_to)


def _are_any(
    one: PlacedText, other: PlacedText, test: Callable[[PlacedTitle, PlacedTitle], bool]
) -> bool:
    others = list(placed_titles(other.text, other.templates.places))
    titles = placed_titles(one.text, one.templates.places)
    return any(test(ours, theirs) for ours in titles for theirs in others)


def cut_titles(title: str, places: Mapping[str, str]) -> Iterator[CutTitle]:
    """Yield each way to read a title that was cut: by each directory that it may name."""
    found = _CUT.search(title)
    if found is None or len(title) > _MAX_TITLE:
        return
    text = title[: found.start()]
    for start in (each.start() for each in _PATH_START.finditer(text)):
        path = text[start:]
        for directory, name in places.items():
            if path.startswith(directory) and not _GOES_ON.match(path, len(directory)):
                yield CutTitle(text[:start], directory, name, path[len(directory) :], found[0])
            elif directory.startswith(path) and len(_SEPARATOR.findall(path)) > 1:
                yield CutTitle(text[:start], directory, name, "", found[0])


def placed_titles(title: str, places: Mapping[str, str]) -> Iterator[PlacedTitle]:
    """Yield each way to read a title as one with a path in a directory."""
    if len(title) > _MAX_TITLE:
        return
    for directory, name in places.items():
        for spelling, start, end in _spellings(title, directory):
            behind = title[end:] if end else f"/{title}"
            if not _GOES_ON.match(behind):
                length = len(title)
                yield PlacedTitle(spelling, title[:start], directory, name, behind, length)


def _spellings(
    title: str, directory: str
) -> Iterator[tuple[Literal["whole", "cut", "relative"], int, int]]:
    """Yield each place in a title where a path may be in the directory, and the directory's end."""
    start = title.find(directory)
    if start >= 0:
        yield "whole", start, start + len(directory)
    for found in _FRONT_CUT.finditer(title):
        for at in range(1, len(directory)):
            if title.startswith(directory[at:], found.end()):
                yield "cut", found.start(), found.end() + len(directory) - at
    if not title.startswith(("/", "~", ".", "…")) and directory.startswith("/"):
        above = directory.strip("/")
        while above:
            if title == above or title.startswith(f"{above}/"):
                yield "relative", 0, len(above)
            _, _, above = above.partition("/")
        yield "relative", 0, 0
