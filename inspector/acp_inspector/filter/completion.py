"""Completion of filter expressions while they are typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from acp_inspector.filter.ast import quote
from acp_inspector.filter.fields import FIELDS, OPERATORS, Field
from acp_inspector.filter.grammar import KEYWORDS, MAX_EXPRESSION, WORD, parser
from acp_protocol.schema.methods import METHODS

_CONDITION: Final = frozenset({"NOT", "LPAR"})
"""Terminals that only a new condition begins with."""
_PARTIAL: Final = re.compile(r"[=!<>~]+$|[^\s()=!<>~,\"']*$")
_REST: Final = re.compile(r"[^\s()=!<>~,\"']*")
_PATHS: Final = (
    *("$.params", "$.params.sessionId", "$.params.update", "$.params.update.title"),
    *("$.params.update.rawInput", "$.params.update.content", "$.params._meta", "$.result"),
    *("$.result.stopReason", "$.error.data", "$..text", "$..path"),
)
_SEEN: Final = "seen in this journal"
_DESCRIPTIONS: Final = {
    "==": "is equal to",
    "!=": "exists and is not equal to",
    "<": "is less than",
    "<=": "is at most",
    ">": "is more than",
    ">=": "is at least",
    "~": "matches a pattern",
    "contains": "contains a text, ignoring case",
    "in": "is one of a list, or in a range",
    "exists": "exists",
    "and": "both conditions hold",
    "or": "at least one condition holds",
    "not": "the condition does not hold",
}


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that can replace the characters from `start` to `end`."""

    text: str
    description: str
    """One line to show to the user."""
    start: int
    end: int


def completions(
    text: str, position: int, *, seen: Mapping[str, Sequence[str]] | None = None
) -> list[Completion]:
    """Return the completions at `position`; those that start with the typed text come first.

    `seen` has values of fields from the journal. There are no completions within quotes, nor behind
    a syntax error.
    """
    if len(text) > MAX_EXPRESSION:
        return []
    position = min(max(position, 0), len(text))
    before = text[:position]
    found = _PARTIAL.search(before)
    start = found.start() if found else position
    partial = before[start:]
    is_sign = partial[:1] in {*"=!<>~"} and bool(partial)
    rest = None if is_sign else _REST.match(text, position)
    end = rest.end() if rest else position
    candidates = list(_candidates(before[:start], partial, seen or {}))
    typed = partial.lower()
    first = [each for each in candidates if each[0].lower().startswith(typed)]
    second = [each for each in candidates if typed in each[0].lower() and each not in first]
    return [Completion(word, about, start, end) for word, about in first + second]


def _parsed(before: str) -> tuple[set[str], str]:
    """Return the terminals that can follow `before`, and the subject of its last condition.

    Nothing can follow a syntax error.
    """
    from lark.exceptions import UnexpectedInput

    state = parser().parse_interactive(before)
    subject = ""
    try:
        for token in state.iter_parse():
            if state.choices().keys() >= _CONDITION:
                subject = str(token)
    except UnexpectedInput:
        return set(), subject
    return state.accepts(), subject


def _candidates(
    before: str, partial: str, seen: Mapping[str, Sequence[str]]
) -> Iterable[tuple[str, str]]:
    accepted, subject = _parsed(before)
    field = FIELDS.get(subject)
    if accepted >= _CONDITION:
        paths = _PATHS if partial.startswith("$") else ()
        yield from ((path, "a path in the message") for path in paths)
        yield from ((each.name, each.description) for each in FIELDS.values())
        yield "not", _DESCRIPTIONS["not"]
    elif "EXISTS" in accepted and (field or subject.startswith("$")):
        for operator in OPERATORS[field.type if field else "json"]:
            if "COMPARE" in accepted or operator.upper() in accepted:
                yield operator, _DESCRIPTIONS[operator]
        if field and field.stands_alone and "_AND" in accepted:
            yield from _connectives()
    elif "LPAR" in accepted:
        yield "(", "a list"
    elif "STRING" in accepted:
        yield from _values(field, seen.get(subject, ())) if field else ()
    elif "COMMA" in accepted:
        yield ",", "one more"
        yield ")", "the end of the list"
    elif "_AND" in accepted:
        yield from _connectives()


def _connectives() -> Iterable[tuple[str, str]]:
    return ((word, _DESCRIPTIONS[word]) for word in ("and", "or"))


def _values(field: Field, seen: Sequence[str]) -> Iterable[tuple[str, str]]:
    known = dict.fromkeys(field.values, field.description)
    if field.name == "method":
        known = _methods()
    # Values from the journal come first, with their description if they have one.
    yield from ((_quoted_if_needed(value), known.get(value, _SEEN)) for value in seen)
    yield from ((word, about) for word, about in known.items() if word not in seen)


@cache
def _methods() -> dict[str, str]:
    """Return all methods of all versions, with their sender and kind."""
    senders = {"client": "the client's", "agent": "the agent's", "either": "either side's"}
    return {row.name: f"{senders[row.sent_by]} {row.kind}" for row in METHODS}


def _quoted_if_needed(word: str) -> str:
    is_plain = re.fullmatch(WORD, word) and not word.startswith(("/", "$"))
    return word if is_plain and word.lower() not in KEYWORDS else quote(word)
