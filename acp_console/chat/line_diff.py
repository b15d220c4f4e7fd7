"""Lines that a change adds and removes: what cards show of a diff, and what is counted of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, TypeAlias

from acp_protocol.json_values import get, get_list, get_string, get_text
from acp_protocol.jsonrpc import Json
from acp_protocol.text_lines import split_lines

CONTEXT: Final = 3
MAX_LINES: Final = 4_000
"""Lines of both texts that are compared; longer ones are shown one after the other."""
MAX_COUNTED: Final = 50_000
"""Characters of a diff whose lines are counted."""

DiffLine: TypeAlias = tuple[str, str, str]
"""Its sign, its text, and the line that it is changed from or to."""
LineNumbers: TypeAlias = tuple[int, int]
"""The numbers of a line in the old and in the new text; 0 where it has none, or none is known."""

_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,\d{1,9})? @@")
_LINE: Final = re.compile(r"line (\d+)")
_NO_NEWLINE: Final = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that is changed, with the lines that are added and removed."""

    path: str
    added: int = 0
    removed: int = 0
    is_deleted: bool = False
    is_counted: bool = True
    """Whether its lines are known and few enough to be counted."""

    def after(self, earlier: FileChange | None) -> FileChange:
        """Return both changes of the file as one."""
        if earlier is None or earlier.is_deleted or self.is_deleted:
            return self
        return FileChange(
            self.path,
            self.added + earlier.added,
            self.removed + earlier.removed,
            is_counted=self.is_counted and earlier.is_counted,
        )


@lru_cache(32)
def line_hunks(old: str, new: str, context: int = CONTEXT) -> Sequence[Sequence[DiffLine]]:
    """Return the lines in which two texts differ, with some around them; each begins with `@`."""
    before, after = split_lines(old), split_lines(new)
    if len(before) + len(after) > MAX_LINES:
        groups = [[("replace", 0, len(before), 0, len(after))]]
    else:
        groups = list(SequenceMatcher(None, before, after).get_grouped_opcodes(context))
    before, after = ([line.removesuffix("\n") for line in lines] for lines in (before, after))
    found: list[list[DiffLine]] = []
    for group in groups:
        lines: list[DiffLine] = [("@", f"line {group[0][3] + 1}", f"line {group[0][1] + 1}")]
        for tag, begin, end, new_begin, new_end in group:
            if tag == "equal":
                lines += [(" ", line, "") for line in before[begin:end]]
                continue
            gone, come = before[begin:end], after[new_begin:new_end]
            is_paired = len(gone) == len(come)
            lines += [("-", line, come[at] if is_paired else "") for at, line in enumerate(gone)]
            lines += [("+", line, gone[at] if is_paired else "") for at, line in enumerate(come)]
        found.append(lines)
    return found


def line_numbers(lines: Sequence[DiffLine]) -> list[LineNumbers]:
    """Return the numbers of the lines of a hunk, or of a patch, as its heads give them."""
    found: list[LineNumbers] = []
    old = new = 0
    for sign, text, other in lines:
        if sign == "@":
            old, new = _begins(text, other) or (old, new)
            found.append((0, 0))
            continue
        found.append((old if sign in {" ", "-"} else 0, new if sign in {" ", "+"} else 0))
        old += old > 0 and sign in {" ", "-"}
        new += new > 0 and sign in {" ", "+"}
    return found


def _begins(head: str, other: str) -> LineNumbers | None:
    """Return the numbers of the lines that follow a head; None if it gives none."""
    if (hunk := _HUNK.match(head)) is not None:
        return int(hunk[1]), int(hunk[3])
    ours, theirs = _LINE.fullmatch(other), _LINE.fullmatch(head)
    return None if ours is None or theirs is None else (int(ours[1]), int(theirs[1]))


def moved_head(line: DiffLine, by: int | None) -> DiffLine:
    """Return the head of a hunk of a text that is so many lines down in its file; None: unknown."""
    numbers = _begins(line[1], line[2]) if line[0] == "@" else None
    if numbers is None or by == 0:
        return line
    if by is None:
        return "@", "⋯", ""
    return "@", f"line {numbers[1] + by}", f"line {numbers[0] + by}"


def hidden_lines(old: str, new: str) -> int:
    """Return how many lines of the new text no hunk shows, because they do not change."""
    if old == new:
        return 0
    shown = sum(sign in {" ", "+"} for hunk in line_hunks(old, new) for sign, _, _ in hunk)
    return len(split_lines(new)) - shown


def patch_lines(patch: str) -> Iterator[tuple[str, DiffLine | None]]:
    """Yield the lines of a patch in git's format, each with the file that it belongs to.

    The line is None where the part about a file begins.
    """
    path, is_head = "", True
    for line in patch.removesuffix("\n").split("\n") if patch else ():
        if line.startswith("diff --git "):
            path, is_head = line.removeprefix("diff --git "), True
            yield path, None
        elif line.startswith("@@"):
            is_head = False
            yield path, ("@", line, "")
        elif line[:1] in {"+", "-", " "} and not is_head:
            yield path, (line[0], line[1:], "")
        else:
            if line.startswith("+++ ") and line != "+++ /dev/null":
                path = path or line.removeprefix("+++ ")
            yield path, ("@", line, "")


def file_changes(content: Json) -> list[FileChange]:
    """Return the files that the diff of a tool call changes; none if it is no diff."""
    if get_string(content, "type") != "diff":
        return []
    found: dict[str, FileChange] = {}
    path, old, new = (get_text(content, name) for name in ("path", "oldText", "newText"))
    if path is not None:
        found[path] = _text_change(path, old or "", new)
    for change in get_list(content, "changes"):
        where, is_deleted = get_string(change, "path"), get_string(change, "operation") == "delete"
        found[where] = FileChange(where, is_deleted=is_deleted)
    named = [each for each in found if each]
    by_name: dict[str, list[str]] = {}
    for name, line in patch_lines(get_string(get(content, "patch"), "text")):
        by_name.setdefault(name, []).extend([] if line is None else line[0])
    for name, signs in by_name.items():
        where = _named(name, named)
        before = found.get(where, FileChange(where))
        added, removed = before.added + signs.count("+"), before.removed + signs.count("-")
        found[where] = replace(before, added=added, removed=removed)
    return list(found.values())


def _text_change(path: str, old: str, new: str | None) -> FileChange:
    if new is None or len(old) + len(new) > MAX_COUNTED:
        return FileChange(path, is_counted=False)
    hunks = line_hunks(old, new) if old != new else ()
    signs = [sign for hunk in hunks for sign, _, _ in hunk]
    return FileChange(path, signs.count("+"), signs.count("-"))


def _named(name: str, paths: Sequence[str]) -> str:
    """Return the path that the head of a patch means, such as "a/x b/x"."""
    if len(paths) == 1 or not name:
        return paths[0] if paths else name
    bare = name.rpartition(" b/")[2].removeprefix("b/").partition("\t")[0]
    endings = (path for path in paths if f"/{path}".endswith(f"/{bare}"))
    return next(endings, bare)


_LEADS_AWAY: Final = re.compile(r"^[/~]|(?:^|/)\.{0,2}(?:/|$)|[\\:$%]")
"""What a path has that does not just name a file in the directory it starts from."""


def absolute(path: str, cwd: str | None) -> str:
    """Return where a path leads from a session's directory; as it is where that is not certain.

    Some programs read `~/a`, `$HOME/a`, `C:/a` or ` /a` as a path from elsewhere.
    """
    is_plain = path == path.strip() and not _LEADS_AWAY.search(path)
    return f"{cwd.rstrip('/')}/{path}" if cwd and is_plain else path


def is_patch_of(patch: str, content: Json, cwd: str | None = None) -> bool:
    """Return whether a patch says no more than a diff with both texts shows.

    Relative names are those of files in `cwd`.
    """
    path, new = get_text(content, "path"), get_text(content, "newText")
    if not path or new is None or "@@" not in patch:
        return False
    lines, old = split_lines(patch), get_string(content, "oldText")
    begin = next((at for at, line in enumerate(lines) if _HUNK.match(line)), len(lines))
    if not all(_is_head(line.rstrip("\n"), path, cwd, is_new=not old) for line in lines[:begin]):
        return False
    return _patched(old, lines[begin:]) == new


def _is_head(line: str, path: str, cwd: str | None, *, is_new: bool) -> bool:
    """Return whether a line above the first hunk names nothing but the file."""
    if not line.strip("= "):
        return True
    mark, _, rest = line.partition(" ")
    named, _, time = rest.partition("\t")
    if time.strip(" 0123456789:.+-"):
        return False
    if mark == "diff":
        names = named.removeprefix("--git ").split()
        return named.startswith("--git ") and all(_is_name(each, path, cwd) for each in names)
    if mark == "---" and is_new and named.strip() == "/dev/null":
        return True
    return mark in {"Index:", "---", "+++"} and _is_name(named.strip(), path, cwd)


def _is_name(named: str, path: str, cwd: str | None) -> bool:
    """Return whether a patch means the file at `path` by this name."""
    names = [named]
    if named[:2] in {"a/", "b/"}:
        # Before an absolute path, or one in the session's directory.
        names += [named[1:], named[2:]]
    return any(absolute(each, cwd) == path for each in names)


def _patched(old: str, lines: Sequence[str]) -> str | None:
    """Return a text after the hunks of a patch; None if they do not fit it."""
    before, after, at = split_lines(old), list[str](), 0
    last = ""
    for line in lines:
        sign, text = line[:1], line[1:]
        if (hunk := _HUNK.match(line)) is not None:
            if line[hunk.end() :].strip() not in old:
                return None
            begin = max(int(hunk[1]) - (hunk[2] != "0"), at)
            after += before[at:begin]
            at = begin
        elif line.rstrip("\r\n") == _NO_NEWLINE:
            # The line before it has no end.
            if last == "+" and after:
                after[-1] = after[-1].removesuffix("\n")
        elif sign in {" ", "-"}:
            if at >= len(before) or before[at].rstrip("\n") != text.rstrip("\n"):
                return None
            after += [before[at]] if sign == " " else []
            at += 1
        elif sign == "+":
            after.append(text if text.endswith("\n") else f"{text}\n")
        elif line.strip("\r\n"):
            return None
        last = sign
    return "".join([*after, *before[at:]])
