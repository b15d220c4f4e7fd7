"""Rules about tool calls, and which of them decides.

A rule is compared with a call's kind and with each thing that the call touches. The first rule that
fits a thing decides about it. A call that touches several things is denied if one of them is, asked
about if one of them is, and allowed if all are.

A path is compared part by part and a command word by word, as the system gets it, so that no
character in a name or an argument means anything but itself. Only `*` and `?` are wildcards.

A directory that is moved takes along what is in it. So a rule that denies or asks counts there as
soon as a path below may fit, and an earlier rule that allows the directory outweighs it only if it
allows all below.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final, Literal, TypeAlias

from acp_protocol.call_rules.subjects import Subject, SubjectType
from acp_protocol.schema.words import ToolKind

Effect: TypeAlias = Literal["allow", "ask", "deny"]
AREAS: Final[dict[str, SubjectType]] = {"path": "path", "command": "command", "name": "name"}
"""What a rule may match besides a kind: a file, a command, or the name of a host or tool."""
_ANY_PARTS: Final = "**"
"""Any number of parts of a path, including none."""
_ANY_WORDS: Final = "*"
"""As a whole word, any number of words of a command, including none."""
_PORT: Final = re.compile(r":[0-9]+\Z")
_USUAL: Final = re.compile(r":(80|443)\Z")


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """What the configuration decides about calls of one kind, or that fit one pattern, or both."""

    decision: Effect
    kind: ToolKind | None = None
    """None: any kind."""
    area: SubjectType | None = None
    """None: whatever the call touches."""
    pattern: str = ""

    def fits(self, kind: ToolKind, subject: Subject, cwd_parts: Sequence[str] = ()) -> bool:
        """Return whether a call of `kind` that touches `subject` is meant.

        `cwd_parts` is the session's directory, part by part, which relative subjects are below.
        """
        if self.kind not in (None, kind):
            return False
        if self.area is None:
            return True
        if self.area != subject.area:
            return False
        if self.area == "name":
            return self._fits_name(kind, " ".join(subject.words))
        if self.area == "command":
            return self._fits_command(subject, cwd_parts)
        return len(path_parts(self.pattern)) in self._places(subject.words, cwd_parts)

    def may_fit_below(self, kind: ToolKind, directory: Subject, cwd_parts: Sequence[str]) -> bool:
        """Return whether it denies or asks about a path in `directory` that the move changes.

        A pattern such as `*.pem` fits wherever a file is, so it still holds where the file goes.
        """
        is_about_paths = self.kind in (None, kind) and self.area == directory.area == "path"
        if not is_about_paths or self.decision == "allow":
            return False
        pattern = path_parts(self.pattern)
        named = next((at for at, part in enumerate(pattern) if part != _ANY_PARTS), len(pattern))
        first = named + 1 if named else 0
        places = self._places(directory.words, cwd_parts)
        return any(first <= place < len(pattern) for place in places)

    @property
    def includes_everything_below(self) -> bool:
        """Whether it means with a directory whatever is below."""
        return self.area is None or path_parts(self.pattern)[-1:] == (_ANY_PARTS,)

    def _fits_name(self, kind: ToolKind, name: str) -> bool:
        pattern, names = self.pattern, {name}
        if kind == "fetch":
            pattern = pattern.lower()
            if self.decision != "allow":
                # A host is denied with all its ports, and at the usual ones as well.
                names.add(_PORT.sub("", name))
                pattern = _USUAL.sub("", pattern)
        return any(is_like(each, pattern) for each in names)

    def _fits_command(self, subject: Subject, cwd_parts: Sequence[str]) -> bool:
        pattern, words = command_words(self.pattern), subject.words
        if self.decision == "allow":
            # A program with a relative path is another one in another directory.
            is_elsewhere = (
                bool(subject.directory and words) and "/" in words[0] and words[0][0] != "/"
            )
            return not is_elsewhere and _fits(pattern, words, _ANY_WORDS)
        # What is denied by a program's name is denied by its path as well, and the other way.
        return any(
            _fits((meant, *pattern[1:]), (named, *words[1:]), _ANY_WORDS)
            for meant in _programs(pattern, cwd_parts)
            for named in _programs(words, cwd_parts, subject.directory)
        )

    def _places(self, words: tuple[str, ...], cwd_parts: Sequence[str]) -> set[int]:
        """Return which parts of the pattern may come next behind the path `words`.

        Its length is among them if it fits; without any, nothing below fits either.
        """
        pattern = path_parts(self.pattern)
        is_outside, is_open = words[:1] == ("/",), pattern[:1] in {("/",), (_ANY_PARTS,)}
        if pattern[:1] == ("/",) and not is_outside:
            words = (*cwd_parts, *words)
        if self.decision != "allow":
            # On some disks both spellings lead to one file.
            pattern, words, cwd_parts = _folded(pattern), _folded(words), _folded(cwd_parts)
        if is_outside and not is_open:
            # Below the session's directory, which may lie below what is named.
            is_above = self.decision != "allow" and tuple(cwd_parts[: len(words)]) == words
            return {0} if is_above else set()
        return _places(pattern, words, _ANY_PARTS)

    def __str__(self) -> str:
        """Spell the rule out, as in `deny execute git push *`."""
        return " ".join(filter(None, (self.decision, self.kind, self.pattern)))


def deciding_rule(
    rules: Sequence[PolicyRule],
    kind: ToolKind,
    subjects: Sequence[Subject],
    cwd_parts: Sequence[str] = (),
    *,
    is_tree: bool = False,
) -> PolicyRule | None:
    """Return the rule that decides about a call that touches `subjects`; None if none does.

    `is_tree` is for directories that are moved with all that is in them.
    """
    found = [_deciding(rules, kind, subject, cwd_parts, is_tree) for subject in subjects]
    return strictest(found) or (found[0] if found and None not in found else None)


def strictest(rules: Sequence[PolicyRule | None]) -> PolicyRule | None:
    """Return the first of `rules` that denies, else the first that asks; None without either."""
    for decision in ("deny", "ask"):
        for rule in rules:
            if rule is not None and rule.decision == decision:
                return rule
    return None


def _deciding(
    rules: Sequence[PolicyRule],
    kind: ToolKind,
    subject: Subject,
    cwd_parts: Sequence[str],
    is_tree: bool,
) -> PolicyRule | None:
    """Return the first rule that fits `subject`, or a stricter one about what is in it."""
    first: PolicyRule | None = None
    below: list[PolicyRule] = []
    for rule in rules:
        if is_tree and rule.may_fit_below(kind, subject, cwd_parts):
            below.append(rule)
        if rule.fits(kind, subject, cwd_parts):
            first = first or rule
            if not is_tree or rule.includes_everything_below:
                break
    return strictest((first, *below)) or first


@lru_cache
def command_words(pattern: str) -> tuple[str, ...]:
    """Return the words of a pattern for commands.

    Raises:
        ValueError: a quotation in it has no end.
    """
    return tuple(shlex.split(pattern))


@lru_cache
def path_parts(pattern: str) -> tuple[str, ...]:
    """Return the parts of a pattern for paths.

    Without `/` a name is meant wherever it lies; `/` at the end means all below as well.
    """
    parts = PurePosixPath(pattern).parts
    if pattern.endswith("/"):
        return (*parts, _ANY_PARTS)
    return parts if "/" in pattern or not parts else (_ANY_PARTS, *parts)


def path_problem(pattern: str) -> str | None:
    """Return why a pattern for paths is invalid; None if it is not."""
    if ".." in pattern.split("/"):
        return "must be a path without .."
    if pattern.startswith("~"):
        return "must be relative to the session's directory, or begin with /"
    if pattern.startswith("//"):
        return "must not begin with more than one /"
    return "must be written with / and without \\" if "\\" in pattern else None


def command_problem(pattern: str) -> str | None:
    """Return why a pattern for commands is invalid; None if it is not."""
    try:
        words = command_words(pattern)
    except ValueError:
        return "must be words; a quotation has no end"
    return None if words and words[0] else "names no program"


def _fits(pattern: Sequence[str], words: Sequence[str], any_number: str) -> bool:
    """Return whether `pattern` fits all of `words`; `any_number` in it fits any number of them."""
    return len(pattern) in _places(pattern, words, any_number)


def _places(pattern: Sequence[str], words: Sequence[str], any_number: str) -> set[int]:
    """Return how far `pattern` is used up behind `words`, in each way to read it."""

    def reached(places: set[int]) -> set[int]:
        for place in sorted(places):
            following = place
            while following < len(pattern) and pattern[following] == any_number:
                following += 1
                places.add(following)
        return places

    places = reached({0})
    for word in words:
        after: set[int] = set()
        for place in places:
            if place == len(pattern):
                continue
            if pattern[place] == any_number:
                after.add(place)
            elif is_like(word, pattern[place]):
                after.add(place + 1)
        places = reached(after)
    return places


def is_like(word: str, pattern: str) -> bool:
    """Return whether `pattern` fits `word`; a bracket means itself, as in `app/[id]`."""
    return fnmatchcase(word, pattern.replace("[", "[[]"))


def _programs(words: Sequence[str], cwd_parts: Sequence[str], place: str = "") -> set[str]:
    """Return how else the program of a command run in `place` may be spelled, and as it is."""
    if not words or "/" not in words[0]:
        return {*words[:1]} or {""}
    program, name = words[0], PurePosixPath(words[0]).name
    spelled = {program, os.path.normpath(os.path.join("/", *cwd_parts, place, program))}  # noqa: PTH118
    # A star means any number of words.
    return spelled if not name or set(name) <= {_ANY_WORDS, "?"} else {*spelled, name}


def _folded(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.casefold() for word in words)
