"""What agents say of their modes and options: whether they ask before they act."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from acp_protocol.json_values import get_string
from acp_protocol.jsonrpc import Json

Unasked: TypeAlias = Literal["anything", "edits", "some"]
"""What an agent does without asking, by its own words; "some": it decides itself when to ask."""

READ_ONLY: Final = re.compile(r"(?:\b|_)read[\s_-]*only(?:\b|_)")
PLAN: Final = re.compile(r"(?:\b|_)(?:plan|planning|architect)(?:\b|_)")
SAYS_IT_ACTS: Final = re.compile(
    r"\bauto(?:matic|matically)?[\s-]*(?:approv|accept|allow|execut|run)"
    r"|\bwithout (?:asking|approval|permission|confirmation|prompt)"
    r"|\b(?:accept|approve|allow|bypass|skip)s? (?:all|every|any)"
    r"|\b(?:never|not|don['’]?t|no) (?:ask|prompt|need|require|approval|permission|confirmation)"
)
_ALLOWS: Final = re.compile(r"\b(?:accept|approve|allow|auto)\b")
_EDITS: Final = re.compile(r"\bedits?\b")
NEVER_ASKS: Final = re.compile(
    r"\b(?:bypass|yolo|danger\w*|unrestricted|auto\s?pilot|full[\s_-]*access)\b"
    r"|\b(?:allow|accept|approve|permit)s?[\s_-]*(?:all|any|every)"
    r"|\b(?:always|auto)[\s_-]*(?:allow|accept|approve)"
    r"|\b(?:never|not|don['’]?t|no|skip|without)[\s_-]*(?:ask|prompt|approv|permission|confirm)"
)
_IN_PART: Final = re.compile(r"\b(?:safe|some|only|low[\s-]risk|unless|more)\b")
_REFUSES: Final = re.compile(r"\b(?:den(?:y|ies)|reject|refus)")
_DECIDES_ITSELF: Final = re.compile(r"\bhandles? (?:all )?(?:permission|approval)")


def unasked_in_mode(mode: Json) -> Unasked | None:
    """Return what an agent says that it does without asking in a mode that it offers."""
    names = (get_string(mode, "id") or get_string(mode, "value"), get_string(mode, "name"))
    return unasked_by(mode_words(names), get_string(mode, "description").lower())


def unasked_by(text: str, about: str) -> Unasked | None:
    """Return what an agent does without asking, by names and a description in lower case."""
    if READ_ONLY.search(text) or PLAN.search(text) or _REFUSES.search(about):
        return None
    if _allows_edits(text) or (SAYS_IT_ACTS.search(about) and re.search(r"\bedit", about)):
        return "edits"
    acts = SAYS_IT_ACTS.search(about)
    if (acts and _IN_PART.search(about)) or _DECIDES_ITSELF.search(about):
        return "some"
    return "anything" if acts or NEVER_ASKS.search(text) else None


def _allows_edits(text: str) -> bool:
    """Return whether a name allows edits; one pattern for both takes long for a long name."""
    allows = _ALLOWS.search(text)
    return allows is not None and _EDITS.search(text, allows.end()) is not None


def mode_words(names: Iterable[str]) -> str:
    """Return names in lower case; an id such as "dontAsk" is of two words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " / ".join(names)).lower()
