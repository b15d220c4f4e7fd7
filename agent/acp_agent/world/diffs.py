"""Unified diffs: writing them as git does, and applying them strictly.

Version 2 of the protocol shows the change of a file as a patch in git's format. A patch that a
model writes must fit: each context line and each removed line has to be in the file, character by
character. Only its position may be off, because models count badly; then the lines must be in one
place and no other.

Source: ACP version 2, Tool Calls, "Diffs"; git-diff, "Generating patch text with -p"; POSIX, diff,
"Diff -u Output Format"; git-apply.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from acp_protocol.dialects.unified_diff import unified_hunks
from acp_protocol.errors import AcpError
from acp_protocol.text_lines import split_lines

_QUOTED: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
}


def git_patch(path: str, old: str | None, new: str) -> str:
    """Return the patch; `old` None for a new file.

    Paths are absolute, as the protocol wants them, without the prefixes that git puts before them.
    """
    name = _quoted(path)
    head = f"diff --git {name} {name}\n"
    if old is None:
        head += "new file mode 100644\n"
    hunks = unified_hunks(split_lines(old or ""), split_lines(new))
    if not hunks:
        return head
    return f"{head}--- {name if old is not None else '/dev/null'}\n+++ {name}\n{hunks}"


def git_move(old: str, new: str) -> str:
    """Return the patch that gives a file another absolute path and leaves what it holds."""
    one, other = _quoted(old), _quoted(new)
    head = f"diff --git {one} {other}\nsimilarity index 100%\n"
    return f"{head}rename from {one}\nrename to {other}\n"


def _quoted(path: str) -> str:
    """Return `path` as git writes it: in quotes where it holds what would confuse a reader."""
    if not any(letter in _QUOTED or not letter.isprintable() for letter in path):
        return path
    letters = (
        _QUOTED.get(letter, letter)
        if letter in _QUOTED or letter.isprintable()
        else "".join(f"\\{byte:03o}" for byte in letter.encode(errors="surrogateescape"))
        for letter in path
    )
    return f'"{"".join(letters)}"'


FILE_LIMIT: Final = 100
"""Files of one patch."""
_NOTHING: Final = "/dev/null"
_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_UNABLE: Final = ("rename ", "copy ", "GIT binary patch", "Binary files ", "old mode", "new mode")
"""How lines begin that want something else than text changed."""


class PatchError(AcpError):
    """A patch cannot be read, or does not fit; the message says why."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that take the place of others; each line with its end."""

    start: int
    """The number of the first old line, from 1; 0 for an empty file."""
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What is to be changed about one file."""

    name: str
    is_new: bool
    hunks: tuple[Hunk, ...]

    def apply(self, before: str | None) -> str:
        """Return the new text of the file; `before` None if the file does not exist.

        Raises:
            PatchError: the patch does not fit.
        """
        if self.is_new and before is not None:
            raise PatchError(f"{self.name} is there already")
        if not self.is_new and before is None:
            raise PatchError(f"there is no {self.name}")
        lines = split_lines(before or "")
        done: list[str] = []
        at = shift = 0
        for number, hunk in enumerate(self.hunks, start=1):
            place = _place(lines, hunk, at, shift)
            if place is None:
                raise PatchError(f"the lines of hunk {number} do not stand in {self.name}")
            shift = place - _index(hunk)
            done += [*lines[at:place], *hunk.new]
            at = place + len(hunk.old)
        after = [*done, *lines[at:]]
        if any(not line.endswith("\n") for line in after[:-1]):
            raise PatchError(f"a line of {self.name} would have no end")
        return "".join(after)


def parse_patch(text: str) -> list[FilePatch]:
    """Return what a patch changes.

    Raises:
        PatchError: it is none, or wants something else than text changed.
    """
    lines = split_lines(text if text.endswith("\n") or not text else f"{text}\n")
    patches: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(_UNABLE):
            raise PatchError(f"line {at + 1} wants more than text changed")
        if line.startswith("@@"):
            raise PatchError(f"line {at + 1} belongs to no file")
        if not line.startswith("--- ") or not "".join(lines[at + 1 : at + 2]).startswith("+++ "):
            at += 1
            continue
        name, is_new = _target(_named(line[4:]), _named(lines[at + 1][4:]))
        at += 2
        hunks: list[Hunk] = []
        while at < len(lines) and lines[at].startswith("@@"):
            hunk, at = _parse_hunk(lines, at)
            hunks.append(hunk)
        if not hunks:
            raise PatchError(f"it has no hunk for {name}")
        patches.append(FilePatch(name, is_new, tuple(hunks)))
    if not patches:
        raise PatchError("it names no file, with `---` and `+++`")
    if len(patches) > FILE_LIMIT:
        raise PatchError(f"it changes more than {FILE_LIMIT} files")
    return patches


def _target(old: str, new: str) -> tuple[str, bool]:
    """Return the file that a patch changes, and whether it is new, by the names in its head."""
    if new == _NOTHING:
        raise PatchError(f"it deletes {old}: that is done with the tool delete")
    is_new = old == _NOTHING
    if new.startswith("b/") and (is_new or old.startswith("a/")):
        old, new = old.removeprefix("a/"), new.removeprefix("b/")
    if not is_new and old != new:
        raise PatchError(f"it renames {old} to {new}")
    return new, is_new


def _parse_hunk(lines: Sequence[str], at: int) -> tuple[Hunk, int]:
    """Return the hunk whose head is the line at `at`, and where the next line is."""
    where = at + 1
    found = _HUNK.match(lines[at])
    if found is None:
        raise PatchError(f"line {where} is not the head of a hunk")
    start, old_count, _, new_count = (1 if each is None else int(each) for each in found.groups())
    old: list[str] = []
    new: list[str] = []
    at += 1
    while at < len(lines):
        line = lines[at]
        if line.startswith("\\"):
            # The file has the line before without its end.
            for side, signs in ((old, " -"), (new, " +")):
                if side and lines[at - 1][:1] in signs:
                    side[-1] = side[-1].removesuffix("\n")
        elif len(old) >= old_count and len(new) >= new_count:
            break
        else:
            _take(line, at + 1, old, new)
        at += 1
    if (len(old), len(new)) != (old_count, new_count):
        raise PatchError(f"the hunk in line {where} has other numbers of lines than it tells")
    return Hunk(start, tuple(old), tuple(new)), at


def _take(line: str, number: int, old: list[str], new: list[str]) -> None:
    """Add a line of a hunk to the sides that it belongs to."""
    sign, rest = line[0], line[1:]
    if line in {"\n", "\r\n"}:
        # Editors that strip trailing spaces also strip the prefix of an empty line.
        sign, rest = " ", line
    if sign not in " -+":
        raise PatchError(f"line {number} begins with none of space, - and +")
    if sign in " -":
        old.append(rest)
    if sign in " +":
        new.append(rest)


def _place(lines: Sequence[str], hunk: Hunk, at: int, shift: int) -> int | None:
    """Return where the old lines of `hunk` stand, at or behind `at`; None if that is not clear."""
    size = len(hunk.old)
    for position in (_index(hunk) + shift, _index(hunk)):
        if (
            at <= position <= len(lines) - size
            and tuple(lines[position : position + size]) == hunk.old
        ):
            return position
    if not hunk.old:
        return None
    last = len(lines) - size + 1
    found = [place for place in range(at, last) if tuple(lines[place : place + size]) == hunk.old]
    return found[0] if len(found) == 1 else None


def _index(hunk: Hunk) -> int:
    """Return the position that `hunk` names, from 0; without old lines it is the line after."""
    return hunk.start - 1 if hunk.old else hunk.start


def _named(rest: str) -> str:
    """Return the name in a head line, without the time that may follow it."""
    name = rest.rstrip("\r\n").partition("\t")[0].rstrip(" ")
    if name.startswith('"'):
        raise PatchError("a name in quotes is not read")
    if not name:
        raise PatchError("a file has no name")
    return name
