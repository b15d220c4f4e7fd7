"""What a line of a recording must hold if its entry is meant, found without reading its JSON.

A sieve lets through whatever is meant, and some of the rest: what it lets through is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from acp_inspector.filter.expressions import (
    All,
    Any,
    Compare,
    Exists,
    Expression,
    Text,
    Value,
    Within,
)
from acp_inspector.filter.matching import value_test

Sieve: TypeAlias = Callable[[bytes], bool]

_WORDS: Final = frozenset({"update", "status", "tool", "tool.kind", "terminal"})
"""Fields whose value stands in the message as it is."""
_ANSWERED: Final = frozenset({"session", "method"})
"""Fields that an answer has from its question."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_. :/-]+")
"""Text that JSON spells in one way, unless it is escaped needlessly."""
_FRAME: Final = re.compile(
    rb'\{"n":(\d{1,18}),"t":[\d.]+,"(?:event"|from":"(?:client|agent)","(msg|text|stderr)?)'
)
_GOOD: Final = re.compile(
    rb'\{"n":\d+,"t":[\d.]+,"from":"\w+","msg":\{"jsonrpc":"2\.0","method":"[^"\\]*","params":\{'
)
"""How a line begins whose message can only be broken if it has an id."""


def sieve_of(expression: Expression) -> Sieve | None:
    """Return the sieve of an expression; None: everything has to be read.

    It must not be asked of answers whose question is known: they have part of it from there.
    """
    match expression:
        case All(terms):
            sieves = [sieve for sieve in map(sieve_of, terms) if sieve is not None]
            return _all_of(sieves) if sieves else None
        case Any(terms):
            found = [sieve_of(term) for term in terms]
            sieves = [sieve for sieve in found if sieve is not None]
            return _any_of(sieves) if len(sieves) == len(found) else None
        case Text(text):
            return _text(text)
        case Exists() | Compare() | Within():
            return _of_condition(expression)
        case _:
            return None


def _of_condition(condition: Exists | Compare | Within) -> Sieve | None:
    match condition:
        case Exists("error") | Compare("error" | "code") | Within("code"):
            return lambda line: b"error" in line or b"\\u" in line
        case Exists("malformed") | Compare("kind", "==", "malformed"):
            return _may_be_broken
        case Compare("kind", "==", "request" | "result" | "error") | Exists("id"):
            return lambda line: b'"id' in line or b"\\u" in line
        case Compare("n") | Within("n"):
            return _number(value_test(condition))
        case Compare("size", ">" | ">=" | "==", int() | float() as size):
            return lambda line: len(line) >= size
        case Compare(str(name), "==", str(word)) if name in _WORDS | _ANSWERED:
            return _word(word)
        case Within(str(name), choices) if name in _WORDS:
            sieves = [sieve for sieve in map(_value, choices) if sieve is not None]
            return _any_of(sieves) if len(sieves) == len(choices) else None
        case Compare(subject, "==" | "contains", value) if not isinstance(subject, str):
            return _value(value)
        case _:
            return None


def _value(value: object) -> Sieve | None:
    return _word(value) if isinstance(value, str) else None


def _word(word: str) -> Sieve | None:
    """Let through what may hold a text, in any case."""
    if not _PLAIN.fullmatch(word):
        return None
    wanted = word.lower().encode()
    escapes = (b"\\u", b"\\/") if "/" in word else (b"\\u",)

    def passes(line: bytes) -> bool:
        return (
            wanted in line.lower() or any(escape in line for escape in escapes) or b'"b64"' in line
        )

    return passes


def _text(text: str) -> Sieve | None:
    """Let through what may hold a text anywhere; stderr and events are spelled otherwise here."""
    word = _word(text)
    if word is None:
        return None

    def passes(line: bytes) -> bool:
        found = _FRAME.match(line)
        return word(line) or found is None or found[2] != b"msg"

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
    return lambda line: all(sieve(line) for sieve in sieves)


def _any_of(sieves: list[Sieve]) -> Sieve:
    return lambda line: any(sieve(line) for sieve in sieves)
