"""What may stand at a place of an expression that is being typed."""

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

_Place: TypeAlias = Literal["condition", "operator", "value", "in", "list", "comma", "joint"]

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
_ABOUT: Final = {
    "==": "is",
    "!=": "is there and is not",
    "<": "is less than",
    "<=": "is at most",
    ">": "is more than",
    ">=": "is at least",
    "~": "holds what a pattern describes",
    "contains": "holds a text, in any case",
    "in": "is one of, or in a range",
    "exists": "is there",
    "and": "both hold",
    "or": "one of them holds",
    "not": "does not hold",
}


@dataclass(frozen=True, slots=True)
class Completion:
    """Something that may stand here, in place of the characters from `start` to `end`."""

    text: str
    description: str
    """One line for people."""
    start: int
    end: int


def completions(
    text: str, position: int, *, seen: Mapping[str, Sequence[str]] | None = None
) -> list[Completion]:
    """Return what may stand at `position`; what begins with what is typed comes first.

    `seen` are values of fields that stand in the journal; nothing is offered within quotes.
    """
    position = min(max(position, 0), len(text))
    before = text[:position]
    found = _PARTIAL.search(before)
    start = found.start() if found else position
    partial = before[start:]
    is_sign = partial[:1] in {*"=!<>~"} and bool(partial)
    rest = None if is_sign else _REST.match(text, position)
    end = rest.end() if rest else position
    place, subject = _place(before[:start])
    if place is None:
        return []
    offers = _offers(place, subject, partial, seen or {})
    return [
        Completion(word, about, start, end) for word, about in _fitting(offers, partial.lower())
    ]


def _place(before: str) -> tuple[_Place | None, str]:
    """Return what may follow, and the subject it is about; None within quotes."""
    place: _Place = "condition"
    subject = ""
    for token in _TOKEN.finditer(before):
        kind, word = token.lastgroup or "", token[0]
        if kind == "other" and word in "\"'":
            return None, ""
        if kind == "word" and word.lower() in KEYWORDS:
            kind = word.lower()
        if place == "condition" and kind in {"word", "path"}:
            subject = word
            place = "operator" if kind == "path" or word in FIELDS else "joint"
        else:
            place = _next(place, kind)
    return place, subject


def _next(place: _Place, kind: str) -> _Place:
    if kind in {"and", "or"}:
        return "condition"
    match place, kind:
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
            return "joint"


def _offers(
    place: _Place, subject: str, partial: str, seen: Mapping[str, Sequence[str]]
) -> Iterable[tuple[str, str]]:
    match place:
        case "condition":
            paths = _PATHS if partial.startswith("$") else ()
            yield from ((path, "a place in the message") for path in paths)
            yield from ((field.name, field.description) for field in FIELDS.values())
            yield "not", _ABOUT["not"]
        case "operator":
            field = FIELDS.get(subject)
            for operator in OPERATORS[field.type if field else "json"]:
                yield operator, _ABOUT[operator]
            if field and field.stands_alone:
                yield from _joints()
        case "value" | "list":
            if subject in FIELDS:
                yield from _values(FIELDS[subject], seen.get(subject, ()))
        case "in":
            yield "(", "a list"
        case "comma":
            yield ",", "one more"
            yield ")", "the end of the list"
        case "joint":
            yield from _joints()


def _joints() -> Iterable[tuple[str, str]]:
    return ((word, _ABOUT[word]) for word in ("and", "or"))


def _values(field: Field, seen: Sequence[str]) -> Iterable[tuple[str, str]]:
    known = dict.fromkeys(field.values, field.description)
    if field.name == "method":
        known = _methods()
    # What was seen comes first, with what is known about it.
    yield from ((_written(value), known.get(value, _SEEN)) for value in seen)
    yield from ((word, about) for word, about in known.items() if word not in seen)


@cache
def _methods() -> dict[str, str]:
    """Return the names of all methods of all versions, and who sends them."""
    senders = {"client": "the client's", "agent": "the agent's", "either": "either side's"}
    return {row.name: f"{senders[row.sent_by]} {row.kind}" for row in METHODS}


def _written(word: str) -> str:
    is_plain = re.fullmatch(WORD, word) and not word.startswith(("/", "$"))
    return word if is_plain and word.lower() not in KEYWORDS else quote(word)


def _fitting(offers: Iterable[tuple[str, str]], partial: str) -> Iterable[tuple[str, str]]:
    known = list(offers)
    first = [offer for offer in known if offer[0].lower().startswith(partial)]
    second = [offer for offer in known if partial in offer[0].lower() and offer not in first]
    return first + second
