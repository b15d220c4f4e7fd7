"""Completion of filter expressions while they are typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

from acp_inspector.filter.ast import quote
from acp_inspector.filter.fields import FIELDS, OPERATORS, Field
from acp_inspector.filter.grammar import COMPARE, KEYWORDS, PATH, REGEX, STRING, WORD
from acp_protocol.schema.methods import METHODS

_Context: TypeAlias = Literal["condition", "operator", "value", "in", "list", "comma", "connective"]

_TOKEN: Final = re.compile(
    rf"(?P<string>{STRING})|(?P<regex>{REGEX})|(?P<path>{PATH})|(?P<compare>{COMPARE})"
    rf"|(?P<word>{WORD})|(?P<open>\()|(?P<close>\))|(?P<comma>,)|(?P<other>\S)"
)
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

    `seen` has values of fields from the journal. There are no completions within quotes.
    """
    position = min(max(position, 0), len(text))
    before = text[:position]
    found = _PARTIAL.search(before)
    start = found.start() if found else position
    partial = before[start:]
    is_sign = partial[:1] in {*"=!<>~"} and bool(partial)
    rest = None if is_sign else _REST.match(text, position)
    end = rest.end() if rest else position
    context, subject = _context(before[:start])
    if context is None:
        return []
    candidates = _candidates(context, subject, partial, seen or {})
    return [
        Completion(word, about, start, end) for word, about in _ranked(candidates, partial.lower())
    ]


def _context(before: str) -> tuple[_Context | None, str]:
    """Return what can follow `before`, and the current subject; None within quotes."""
    context: _Context = "condition"
    subject = ""
    for token in _TOKEN.finditer(before):
        kind, word = token.lastgroup or "", token[0]
        if kind == "other" and word in "\"'":
            return None, ""
        if kind == "word" and word.lower() in KEYWORDS:
            kind = word.lower()
        if context == "condition" and kind in {"word", "path"}:
            subject = word
            context = "operator" if kind == "path" or word in FIELDS else "connective"
        else:
            context = _next(context, kind)
    return context, subject


def _next(context: _Context, kind: str) -> _Context:
    if kind in {"and", "or"}:
        return "condition"
    match context, kind:
        case "condition", "open" | "not":
            return "condition"
        case "operator", "compare" | "contains":
            return "value"
        case "operator", "in":
            return "in"
        case "operator", "not":
            return "operator"
        case "in", "open":
            return "list"
        case "list" | "comma", "comma":
            return "list"
        case "list", "string" | "word":
            return "comma"
        case _:
            return "connective"


def _candidates(
    context: _Context, subject: str, partial: str, seen: Mapping[str, Sequence[str]]
) -> Iterable[tuple[str, str]]:
    match context:
        case "condition":
            paths = _PATHS if partial.startswith("$") else ()
            yield from ((path, "a path in the message") for path in paths)
            yield from ((field.name, field.description) for field in FIELDS.values())
            yield "not", _DESCRIPTIONS["not"]
        case "operator":
            field = FIELDS.get(subject)
            for operator in OPERATORS[field.type if field else "json"]:
                yield operator, _DESCRIPTIONS[operator]
            if field and field.stands_alone:
                yield from _connectives()
        case "value" | "list":
            if subject in FIELDS:
                yield from _values(FIELDS[subject], seen.get(subject, ()))
        case "in":
            yield "(", "a list"
        case "comma":
            yield ",", "one more"
            yield ")", "the end of the list"
        case "connective":
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


def _ranked(candidates: Iterable[tuple[str, str]], partial: str) -> Iterable[tuple[str, str]]:
    known = list(candidates)
    first = [each for each in known if each[0].lower().startswith(partial)]
    second = [each for each in known if partial in each[0].lower() and each not in first]
    return first + second
