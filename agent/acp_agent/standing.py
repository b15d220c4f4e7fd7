"""Rules about tool calls that stand before anybody is asked; whoever runs the agent sets them.

A rule is held against a call's kind and against each thing that it touches. Of the rules that fit a
thing the first one decides, in the order in which they are written. A call that touches several
things is denied if one of them is, asked about if one of them is to be, and allowed if all are.

A path is compared part by part and a command word by word, as the system gets it, so that no sign
in a name or an argument means anything else than itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePosixPath
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
_WILD: Final = frozenset("*?[")
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
        if self.kind not in (None, kind):
            return False
        if self.area is None:
            return True
        if self.area != subject.area:
            return False
        if self.area == "name":
            return fnmatchcase(" ".join(subject.words), self.pattern)
        if self.area == "command":
            return self._covers_command(subject.words)
        return self._covers_path(kind, subject.words, home)

    def _covers_command(self, words: tuple[str, ...]) -> bool:
        pattern = command_words(self.pattern)
        if _fits(pattern, words, _ANY_WORDS):
            return True
        # What is denied by a program's name is denied by its path as well; allowing is exact.
        program = PurePosixPath(words[0]).name if words else ""
        return self.decision != "allow" and _fits(pattern, (program, *words[1:]), _ANY_WORDS)

    def _covers_path(self, kind: Kind, words: tuple[str, ...], home: Sequence[str]) -> bool:
        pattern = path_parts(self.pattern)
        is_far = words[:1] == ("/",)
        if pattern[:1] == ("/",) and not is_far:
            words = (*home, *words)
        elif pattern[:1] not in {("/",), (_ANY_PARTS,)} and is_far:
            return False
        if self.decision != "allow":
            # On some disks both spellings lead to one file.
            pattern, words = _folded(pattern), _folded(words)
        if _fits(pattern, words, _ANY_PARTS):
            return True
        head = _head(pattern)
        # Whoever searches or moves a directory reaches what must not be reached in it.
        is_above = len(words) < len(head) and head[: len(words)] == words
        return self.decision != "allow" and kind in _DEEP and is_above

    def __str__(self) -> str:
        """Spell the rule out, as in `deny execute git push *`."""
        return " ".join(filter(None, (self.decision, self.kind, self.pattern)))


def standing(
    rules: Sequence[StandingRule],
    kind: Kind,
    subjects: Sequence[Subject],
    home: Sequence[str] = (),
) -> StandingRule | None:
    """Return the rule that decides about a call that touches `subjects`; None if none does."""
    found = [
        next((rule for rule in rules if rule.covers(kind, subject, home)), None)
        for subject in subjects
    ]
    for decision in ("deny", "ask"):
        for rule in found:
            if rule is not None and rule.decision == decision:
                return rule
    return found[0] if found and None not in found else None


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
            elif fnmatchcase(word, pattern[place]):
                after.add(place + 1)
        places = reached(after)
    return len(pattern) in places


def _folded(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.casefold() for word in words)


def _head(pattern: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a pattern before the first one that fits more than one name."""
    for place, part in enumerate(pattern):
        if _WILD & set(part):
            return tuple(pattern[:place])
    return tuple(pattern)
