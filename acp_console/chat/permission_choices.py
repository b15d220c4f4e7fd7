"""The choices that a permission prompt offers: their order, their words and their keys.

What allows stands apart from what rejects, and what lasts comes after what counts once: agents
that offer "always" first would have it chosen by habit. Names are the agent's; where one does not
say what its option does, the kind of the option is said beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.json_values import get_string
from acp_protocol.jsonrpc import Json

MAX_NAME: Final = 10_000
"""Characters of an option's name that are shown; one that is longer cannot be chosen."""
EXPLAINED: Final = "No, and say why…"
KEYS: Final = {"y": "allow_once", "a": "allow_always", "n": "reject_once"}
"""Letters that choose the first option of a kind; "w" is "n" with an explanation."""
_LASTS: Final = re.compile(
    r"(?i)\b(?:always|never|again|session|every(?:thing|where|\s?time)?|remember|all|any|permanent"
    r"|from now on|until)\b"
)
_IS_WIDE: Final = re.compile(r"(?i)\b(?:all|any|every|everything|everywhere|bypass|yolo)\b")
_SAYS_YES: Final = re.compile(
    r"(?i)\W*(?:yes|ok|okay|allow|approve|accept|proceed|run|continue|grant)\b"
)
_SAYS_NO: Final = re.compile(
    r"(?i)\W*(?:no|not|reject|deny|decline|cancel|refuse|block|never|stop|abort|skip|don['’]?t)\b"
)
_BLANK: Final = "\u2800"
"""A pattern of Braille without dots, which counts as a sign."""
_ALWAYS: Final = re.compile(r"(?i)\balways\b|\bnever\b|\b(?:do not|don['’]?t) ask\b")


@dataclass(frozen=True, slots=True)
class PermissionChoice:
    """One line of the prompt."""

    label: str
    """Safe to show, in one line."""
    option_id: str = ""
    allows: bool = True
    key: str = ""
    """A letter that chooses it, beside its number."""
    explains: bool = False
    """Whether the user then writes why."""
    is_whole: bool = True
    """Whether the label is all of the name."""


def permission_choices(options: Sequence[Json]) -> list[PermissionChoice]:
    """Return the choices in the order of their numbers: what allows, then what rejects."""
    letters = {kind: key for key, kind in KEYS.items()}
    allowing: list[PermissionChoice] = []
    rejecting: list[PermissionChoice] = []
    for option in sorted(options, key=_rank):
        kind, name = get_string(option, "kind"), get_string(option, "name")
        option_id, key = get_string(option, "optionId"), letters.pop(kind, "")
        allows, is_whole = not kind.startswith("reject"), len(escape_controls(name)) <= MAX_NAME
        choice = PermissionChoice(_label(kind, name), option_id, allows, key, is_whole=is_whole)
        (allowing if allows else rejecting).append(choice)
        if key == "n":
            rejecting.append(PermissionChoice(EXPLAINED, option_id, False, "w", explains=True))
    return [*allowing, *rejecting]


def first_choice(choices: Sequence[PermissionChoice]) -> int:
    """Return where the cursor begins: on what allows once, or else on what rejects."""
    for key in ("y", "n"):
        for place, choice in enumerate(choices):
            if choice.key == key:
                return place
    return next((place for place, each in enumerate(choices) if not each.allows), 0)


def _rank(option: Json) -> int:
    """Return how far an option reaches."""
    kind, name = get_string(option, "kind"), get_string(option, "name")
    if kind.endswith("_once"):
        return 0
    if not kind.endswith("_always"):
        return 1
    return 3 if _IS_WIDE.search(name) else 2


def _label(kind: str, name: str) -> str:
    """Return the name, and what it hides of its kind."""
    verb, _, scope = kind.partition("_")
    hidden: list[str] = []
    if not name.replace(_BLANK, "").strip():
        hidden.append(f"no name, {single_line(kind, 16) or 'no kind'}")
    elif verb not in {"allow", "reject"} or scope not in {"once", "always"}:
        hidden.append(single_line(kind, 16))
    else:
        other = _SAYS_NO if verb == "allow" else _SAYS_YES
        same = _SAYS_YES if verb == "allow" else _SAYS_NO
        if other.match(name) and not same.match(name):
            hidden.append(f"{verb}s")
        if scope == "always" and not _LASTS.search(name):
            hidden.append("always")
        if scope == "once" and _ALWAYS.search(name) and "once" not in name.lower():
            hidden.append("once")
    about = f" ({', '.join(hidden)})" if any(hidden) else ""
    return single_line(name, MAX_NAME) + about
