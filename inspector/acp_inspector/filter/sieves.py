"""What lines of a recording must hold if an entry is meant, found without reading their JSON.

A sieve lets through whatever is meant, and some of the rest: what it lets through is read. It is
asked of a line, or of many at once where it only looks for what stands anywhere in them. An answer
has its method and session from its question: it is asked about together with that line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, Literal, TypeAlias

from acp_inspector.filter.expressions import (
    All,
    Any,
    Compare,
    Exists,
    Expression,
    Pattern,
    Text,
    Value,
    Within,
)
from acp_inspector.filter.literals import compiled
from acp_inspector.filter.matching import SEARCH_LIMIT, value_test
from acp_inspector.filter.patterns import SlowPatternError

Sieve: TypeAlias = Callable[[bytes], bool]
Of: TypeAlias = Literal["line", "lines"]

_WORDS: Final = frozenset(
    {"update", "status", "tool", "tool.kind", "terminal", "session", "method"}
)
"""Fields whose value stands in the message as it is."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_. /-]+")
"""Text that JSON spells in one way, unless it is escaped needlessly."""
_LOCAL: Final = re.compile(r"[^\\^$?]*")
"""A pattern that is found in what holds what it is found in."""
_FRAME: Final = re.compile(rb'\{"n":(\d{1,18}),"t":[\d.]+,"(?:from":"(?:client|agent)","(msg)":)?')
_GOOD: Final = re.compile(
    rb'\{"n":\d+,"t":[\d.]+,"from":"\w+","msg":\{"jsonrpc":"2\.0","method":"[^"\\]*","params":\{'
)
"""How a line begins whose message can only be broken if it has an id."""
_BASE64: Final = b'b64"'
"""What stands in lines that spell bytes which are no UTF-8."""


def sieve_of(expression: Expression, of: Of) -> Sieve | None:
    """Return the sieve of an expression; None: everything has to be read."""
    match expression:
        case All(terms):
            found = [sieve_of(term, of) for term in terms]
            sieves = [sieve for sieve in found if sieve is not None]
            return _all_of(sieves) if sieves else None
        case Any(terms):
            return _any_of(sieve_of(term, of) for term in terms)
        case Text(text):
            return _word(text, in_any_case=True)
        case Pattern():
            return _pattern(expression) if of == "line" else None
        case Exists() | Compare() | Within():
            return _anywhere(expression) or (_in_line(expression) if of == "line" else None)
        case _:
            return None


def _anywhere(condition: Exists | Compare | Within) -> Sieve | None:
    match condition:
        case Exists("error") | Compare("error" | "code") | Within("code"):
            return _any_word([b'"error"'])
        case Exists("id" | "pending" | "latency") | Compare("id" | "latency") | Within("id"):
            return _any_word([b'"id'])
        case Compare("kind", "==", "request" | "result" | "error"):
            return _any_word([b'"id'])
        case Compare("size", ">" | ">=" | "==", int() | float() as size):
            return lambda lines: len(lines) >= size
        case Compare(str(name), "==", str(word)) if name in _WORDS:
            return _word(word)
        case Within(str(name), choices) if name in _WORDS:
            return _any_of(_word(word) if isinstance(word, str) else None for word in choices)
        case Compare(subject, "==" | "contains" as sign, str(word)) if not isinstance(subject, str):
            return _word(word, in_any_case=sign == "contains")
        case _:
            return None


def _in_line(condition: Exists | Compare | Within) -> Sieve | None:
    match condition:
        case Exists("malformed") | Compare("kind", "==", "malformed"):
            return _may_be_broken
        case Compare("n") | Within("n"):
            return _number(value_test(condition))
        case _:
            return None


def _word(word: str, *, in_any_case: bool = False) -> Sieve | None:
    """Let through what may hold a text."""
    if not _PLAIN.fullmatch(word):
        return None
    wanted = word.encode()
    if not in_any_case:
        return _any_word([wanted], has_slash="/" in word)
    lower, is_spelled_otherwise = wanted.lower(), _any_word([], has_slash="/" in word)
    return lambda lines: lower in lines.lower() or is_spelled_otherwise(lines)


def _any_word(words: list[bytes], *, has_slash: bool = False) -> Sieve:
    """Let through what holds one of the words, or may spell it in another way."""
    escapes = (b"\\u", b"\\/") if has_slash else (b"\\u",)

    def passes(lines: bytes) -> bool:
        if any(word in lines for word in words) or _BASE64 in lines:
            return True
        # One byte is found ten times as fast as two.
        return b"\\" in lines and any(escape in lines for escape in escapes)

    return passes


def _pattern(pattern: Pattern) -> Sieve | None:
    if not _LOCAL.fullmatch(pattern.pattern):
        return None
    search = compiled(Pattern(pattern.pattern, ignores_case=True)).is_in

    def passes(line: bytes) -> bool:
        found = _FRAME.match(line)
        if found is None or not found[2] or len(line) > SEARCH_LIMIT:
            return True
        try:
            return search(line.decode(errors="replace"))
        except SlowPatternError:
            # The frame is judged by itself, where it is said that this takes too long.
            return True

    return passes


def _may_be_broken(line: bytes) -> bool:
    return not _GOOD.match(line) or b'"id' in line


def _number(test: Callable[[Value], bool]) -> Sieve:
    def passes(line: bytes) -> bool:
        found = _FRAME.match(line)
        return found is None or test(int(found[1]))

    return passes


def _all_of(sieves: list[Sieve]) -> Sieve:
    if len(sieves) == 1:
        return sieves[0]
    return lambda lines: all(sieve(lines) for sieve in sieves)


def _any_of(found: Iterable[Sieve | None]) -> Sieve | None:
    sieves: list[Sieve] = []
    for sieve in found:
        if sieve is None:
            return None
        sieves.append(sieve)
    return lambda lines: any(sieve(lines) for sieve in sieves)
