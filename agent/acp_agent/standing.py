"""Rules about tool calls that stand before anybody is asked; whoever runs the agent sets them.

A rule is held against a call's kind and against each thing that it touches. Of the rules that fit a
thing the first one decides, in the order in which they are written. A call that touches several
things is denied if one of them is, asked about if one of them is to be, and allowed if all are.

A path is compared part by part and a command word by word, as the system gets it, so that no sign
in a name or an argument means anything else than itself. Only `*` and `?` stand for other signs.

Whoever searches or moves a directory reaches whatever lies in it. So a rule that denies or asks
counts there as soon as a path below may fit it, and an earlier rule that allows the directory does
not outweigh it, unless it allows all below.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Final, Literal, TypeAlias

from acp_agent.tools.subject import Area, Subject
from acp_agent.tools.tool import Kind

Decision: TypeAlias = Literal["allow", "ask", "deny"]
AREAS: Final[dict[str, Area]] = {"path": "path", "command": "command", "name": "name"}
"""What a rule may name, beside a kind: a file, a command, or a host or tool of a server."""
_ANY_PARTS: Final = "**"
"""Stands for any number of parts of a path, none as well."""
_ANY_WORDS: Final = "*"
"""Stands, alone, for any number of words of a command, none as well."""
_PORT: Final = re.compile(r":[0-9]+\Z")
_USUAL: Final = re.compile(r":(80|443)\Z")
_DEEP: Final[frozenset[Kind]] = frozenset({"search", "move"})
"""Kinds whose calls reach whatever lies below the directory that they name."""


@dataclass(frozen=True, slots=True)
class StandingRule:
    """What is decided about calls of one kind, or about what one pattern fits, or both."""

    decision: Decision
    kind: Kind | None = None
    """None: any kind."""
    area: Area | None = None
    """None: whatever the call touches."""
    pattern: str = ""

    def covers(self, kind: Kind, subject: Subject, home: Sequence[str] = ()) -> bool:
        """Return whether a call of `kind` that touches `subject` is meant.

        `home` is the session's directory, part by part, which relative subjects lie below.
        """
        is_deep = kind in _DEEP and self.reaches(kind, subject, home)
        return self.fits(kind, subject, home) or is_deep

    def fits(self, kind: Kind, subject: Subject, home: Sequence[str] = ()) -> bool:
        """Return whether just `subject` is meant, whatever lies below."""
        if self.kind not in (None, kind):
            return False
        if self.area is None:
            return True
        if self.area != subject.area:
            return False
        if self.area == "name":
            return self._covers_name(kind, " ".join(subject.words))
        if self.area == "command":
            return self._covers_command(subject, home)
        return len(path_parts(self.pattern)) in self._places(subject.words, home)

    def reaches(self, kind: Kind, subject: Subject, home: Sequence[str] = ()) -> bool:
        """Return whether what is denied or asked about may lie in the directory `subject`."""
        if not self._is_about_all_below(kind, subject):
            return False
        pattern = path_parts(self.pattern)
        places = self._places(subject.words, home)
        return any(_anchor(pattern) <= place < len(pattern) for place in places)

    def _covers_name(self, kind: Kind, name: str) -> bool:
        pattern, names = self.pattern, {name}
        if kind == "fetch":
            pattern = pattern.lower()
            if self.decision != "allow":
                # A host is denied with all its ports, and at the usual ones as well.
                names.add(_PORT.sub("", name))
                pattern = _USUAL.sub("", pattern)
        return any(_is_like(each, pattern) for each in names)

    def _covers_command(self, subject: Subject, home: Sequence[str]) -> bool:
        pattern, words = command_words(self.pattern), subject.words
        if self.decision == "allow":
            # A program told from a directory is another one in another directory.
            is_elsewhere = bool(subject.place and words) and _is_told_from_here(words[0])
            return not is_elsewhere and _fits(pattern, words, _ANY_WORDS)
        # What is denied by a program's name is denied by its path as well, and the other way.
        return any(
            _fits((meant, *pattern[1:]), (named, *words[1:]), _ANY_WORDS)
            for meant in _programs(pattern, home)
            for named in _programs(words, home, subject.place)
        )

    def may_reach(self, kind: Kind, subject: Subject, home: Sequence[str] = ()) -> bool:
        """Return whether what is meant may lie in the directory `subject`, as it may in any.

        So it is with a name, wherever it lies. What is hidden no search comes upon, and what is
        moved with its directory is meant there as well.
        """
        if kind != "search" or not self._is_about_all_below(kind, subject):
            return False
        is_hidden = any(part.startswith(".") for part in path_parts(self.pattern))
        return not is_hidden and bool(self._places(subject.words, home))

    @property
    def has_all_below(self) -> bool:
        """Whether it means with a directory whatever lies below."""
        return self.area is None or path_parts(self.pattern)[-1:] == (_ANY_PARTS,)

    def _is_about_all_below(self, kind: Kind, subject: Subject) -> bool:
        is_meant = self.kind in (None, kind) and self.area == subject.area == "path"
        return is_meant and self.decision != "allow"

    def _places(self, words: tuple[str, ...], home: Sequence[str]) -> set[int]:
        """Return which parts of the pattern may come next behind the path `words`.

        Its length is among them if it fits; without any, nothing below fits either.
        """
        pattern = path_parts(self.pattern)
        is_far, is_open = words[:1] == ("/",), pattern[:1] in {("/",), (_ANY_PARTS,)}
        if pattern[:1] == ("/",) and not is_far:
            words = (*home, *words)
        if self.decision != "allow":
            # On some disks both spellings lead to one file.
            pattern, words, home = _folded(pattern), _folded(words), _folded(home)
        if is_far and not is_open:
            # Below the session's directory, which may lie below what is named.
            is_above = self.decision != "allow" and tuple(home[: len(words)]) == words
            return {0} if is_above else set()
        return _places(pattern, words, _ANY_PARTS)

    def __str__(self) -> str:
        """Spell the rule out, as in `deny execute git push *`."""
        return " ".join(filter(None, (self.decision, self.kind, self.pattern)))


def standing(
    rules: Sequence[StandingRule],
    kind: Kind,
    subjects: Sequence[Subject],
    home: Sequence[str] = (),
    *,
    is_deep: bool = False,
) -> StandingRule | None:
    """Return the rule that decides about a call that touches `subjects`; None if none does.

    `is_deep` has it touch what lies below as well, whatever its kind.
    """
    is_deep = is_deep or kind in _DEEP
    found = [_deciding(rules, kind, subject, home, is_deep) for subject in subjects]
    return strictest(found) or (found[0] if found and None not in found else None)


def strictest(rules: Sequence[StandingRule | None]) -> StandingRule | None:
    """Return the first of `rules` that denies, else the first that asks; None without either."""
    for decision in ("deny", "ask"):
        for rule in rules:
            if rule is not None and rule.decision == decision:
                return rule
    return None


def _deciding(
    rules: Sequence[StandingRule], kind: Kind, subject: Subject, home: Sequence[str], is_deep: bool
) -> StandingRule | None:
    """Return the first rule that fits `subject`, or a stricter one about what lies in it."""
    if not is_deep or subject.area != "path" or _is_file(subject, home):
        # A file has nothing below it, so that only what fits counts.
        return next((rule for rule in rules if rule.fits(kind, subject, home)), None)
    first: StandingRule | None = None
    below: list[StandingRule] = []
    for rule in rules:
        if rule.reaches(kind, subject, home):
            below.append(rule)
        elif rule.may_reach(kind, subject, home):
            below.append(replace(rule, decision="ask"))
        if rule.fits(kind, subject, home):
            first = first or rule
            if rule.has_all_below:
                break
    return strictest((first, *below)) or first


def _is_file(subject: Subject, home: Sequence[str]) -> bool:
    """Tell whether something is there that is no directory; this looks at the disk."""
    if not home:
        return False
    path = Path(*home, *subject.words)
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


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
            elif _is_like(word, pattern[place]):
                after.add(place + 1)
        places = reached(after)
    return places


def _is_like(word: str, pattern: str) -> bool:
    """Return whether `pattern` fits `word`; a bracket means itself, as in `app/[id]`."""
    return fnmatchcase(word, pattern.replace("[", "[[]"))


def _is_told_from_here(program: str) -> bool:
    return "/" in program and not program.startswith("/")


def _programs(words: Sequence[str], home: Sequence[str], place: str = "") -> set[str]:
    """Return how else the program of a command run in `place` may be spelled, and as it is."""
    if not words or "/" not in words[0]:
        return {*words[:1]} or {""}
    program, name = words[0], PurePosixPath(words[0]).name
    spelled = {program, os.path.normpath(os.path.join("/", *home, place, program))}  # noqa: PTH118
    # A star would stand for any number of words.
    return spelled if not name or set(name) <= {_ANY_WORDS, "?"} else {*spelled, name}


def _anchor(pattern: Sequence[str]) -> int:
    """Return how much of a pattern has to be used up before it names a place."""
    anywhere = next((at for at, part in enumerate(pattern) if part != _ANY_PARTS), len(pattern))
    return anywhere + 1 if anywhere else 0


def _folded(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.casefold() for word in words)
