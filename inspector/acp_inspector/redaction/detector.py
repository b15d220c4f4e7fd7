"""Finds secrets in a text, and in JSON in it, at any depth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, TypeAlias
from urllib.parse import quote, unquote

from acp_inspector.redaction.json_strings import (
    NAMING,
    DecodedText,
    JsonLiteral,
    JsonString,
    strings,
)
from acp_inspector.redaction.patterns import (
    RULES,
    SECRET_PATTERNS,
    assignment_spans,
    command_spans,
    entropy_spans,
    is_placeholder_value,
    is_secret_name,
    names_secret,
    query_spans,
)

PLACEHOLDER: Final = re.compile("«secret:([0-9]+)»")

SpanFinder: TypeAlias = Callable[[str], Iterator[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class SecretMatch:
    """A secret, and its position in the text."""

    start: int
    end: int
    value: str
    """The secret, without the escapes of enclosing JSON."""
    rules: frozenset[str]
    """The rules that found it."""

    @property
    def rule(self) -> str:
        """The most specific of its rules."""
        return next(name for name in RULES if name in self.rules)


_FIND_BY_RULE: Final[dict[str, SpanFinder]] = {
    **{shape.name: shape.spans for shape in SECRET_PATTERNS},
    "url-query": query_spans,
    "assignment": lambda text: chain(assignment_spans(text), command_spans(text)),
    "entropy": entropy_spans,
}
_LOOSE: Final = frozenset({"bearer", "url-userinfo", "url-query"})
"""Rules that go by the context, so they also match variables and masked values."""
_SCHEME: Final = re.compile(r"(?i:bearer|basic|token|digest|apikey)\s+")
_OPTION: Final = re.compile(r"--?[A-Za-z][\w.-]*|/[A-Za-z][\w-]*:?")
_HEADERS: Final = frozenset(
    {
        "api-key",
        "authorization",
        "cookie",
        "proxy-authorization",
        "set-cookie",
        "x-api-key",
        "x-auth-token",
    }
)
"""Headers that precede their value in a list."""
_SECRET_GROUPS: Final = frozenset({"cookies", "credentials", "passwords", "secrets"})
_RANDOM_KEYS: Final = re.compile(
    r"b64|stderr_b64|data|blob|image|audio|cursor|etag|integrity|id|uuid|"
    r".*(?:Id|_id|ID|Ids|Uuid|hash|Hash|digest|Digest|sha[0-9]*|checksum|[sS]ignature|[cC]ursor)"
)
"""Members whose values are random but not secret."""


class SecretDetector:
    """Finds secrets by rules, and values that are known to be secret."""

    def __init__(self, rules: Iterable[str], environment: Mapping[str, str]) -> None:
        """`rules` are names of rules; the rule `environment` looks for values in `environment`."""
        self.rules = frozenset(rules)
        self._known: dict[str, frozenset[str]] = {}
        self._pattern: re.Pattern[str] | None = None
        self._cache: dict[tuple[str, bool], tuple[SecretMatch, ...]] = {}
        if "environment" in self.rules:
            self.add_known(
                (value, frozenset({"environment"}))
                for name, value in environment.items()
                if is_secret_name(name) and not value.startswith(("/", "~", "./"))
            )

    def add_known(self, values: Iterable[tuple[str, frozenset[str]]]) -> None:
        """Also find these values from now on, if they are distinguishable from words."""
        for value, rules in values:
            if is_worth_redacting(value) and not PLACEHOLDER.search(value):
                self._known.setdefault(value, rules)
                # URL-encoded.
                quoted = quote(value, safe="", errors="surrogateescape")
                self._known.setdefault(quoted, rules)
        self._cache.clear()
        if self._known:
            longest_first = sorted(self._known, key=lambda value: (-len(value), value))
            # A short value must be a separate word.
            patterns = (
                rf"(?<![A-Za-z0-9_]){re.escape(value)}(?![A-Za-z0-9_])"
                if len(value) < _MIN_PART
                else re.escape(value)
                for value in longest_first
            )
            self._pattern = re.compile("|".join(patterns))

    def find(self, text: str, key: str = "") -> list[SecretMatch]:
        """Return the secrets in `text`, in order, without overlaps.

        `key` is the name of the member whose value is `text`.
        """
        return self._find(text, key, encodings=MAX_ENCODINGS)

    def _find(self, text: str, key: str, *, encodings: int) -> list[SecretMatch]:
        if _COLOUR_START not in text:
            return self._find_plain(text, key, encodings=encodings)
        plain = DecodedText(text, 0, _COLOUR, lambda _: "")
        hits = self._find_plain(plain.text, key, encodings=encodings)
        return [_in_source(hit, plain) for hit in hits]

    def _find_plain(self, text: str, key: str, *, encodings: int) -> list[SecretMatch]:
        hits: list[SecretMatch] = []
        is_json = _is_json(text)
        if not is_json:
            hits += self._in_text(text, is_random=_RANDOM_KEYS.fullmatch(key) is not None)
            if encodings and "%" in text:
                for word in _PERCENT_ENCODED.finditer(text):
                    decoded = DecodedText(word[0], word.start(), _PERCENT, unquote)
                    hits += self._in_decoded(decoded, key, encodings=encodings - 1)
        if is_json or ('"' in text and ("{" in text or "[" in text)):
            hits += self._in_json(text, encodings=encodings)
        return _merged(hits, text)

    def _in_decoded(self, text: DecodedText, key: str, *, encodings: int) -> Iterator[SecretMatch]:
        for hit in self._find(text.text, key, encodings=encodings):
            yield _in_source(hit, text)

    def _in_text(self, text: str, *, is_random: bool) -> Iterable[SecretMatch]:
        if len(text) < _MIN_TEXT:
            return ()
        if len(text) > _MAX_CACHED_TEXT:
            return self._by_rules(text, is_random=is_random)
        # Cached, because names, kinds and ids are frequent.
        hits = self._cache.get((text, is_random))
        if hits is None:
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.clear()
            hits = tuple(self._by_rules(text, is_random=is_random))
            self._cache[text, is_random] = hits
        return hits

    def _by_rules(self, text: str, *, is_random: bool) -> Iterator[SecretMatch]:
        for name, find_spans in _FIND_BY_RULE.items():
            if name not in self.rules or (name == "entropy" and is_random):
                continue
            rules = frozenset({name})
            for start, end in find_spans(text):
                # Without the end of a sentence.
                value = text[start:end].rstrip(".,")
                if not (name in _LOOSE and is_placeholder_value(value)):
                    yield SecretMatch(start, start + len(value), value, rules)
        if self._pattern is not None:
            for found in self._pattern.finditer(text):
                yield SecretMatch(found.start(), found.end(), found[0], self._known[found[0]])

    def _in_json(self, text: str, *, encodings: int) -> Iterator[SecretMatch]:
        for item in strings(text):
            if isinstance(item, dict):
                value = item.get("value")
                name = next((item[each] for each in NAMING if each in item), None)
                if "key" in self.rules and value and name and is_secret_name(name.text):
                    yield from _from(value, _scheme_end(value.text))
                continue
            literal = item.literal
            yield from self._in_decoded(literal, item.key, encodings=encodings)
            if "key" not in self.rules:
                continue
            if _is_named_secret(item):
                yield from _from(literal, _scheme_end(literal.text))
            elif item.password_at is not None:
                yield from _from(literal, item.password_at)


MAX_ENCODINGS: Final = 2
"""How often a text may be percent-encoded."""
_COLOUR_START: Final = "\x1b["
_COLOUR: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""A control sequence of a terminal (ECMA-48, section 5.4)."""
_PERCENT: Final = re.compile(
    r"%[0-7][0-9A-Fa-f]|%[CDcd][0-9A-Fa-f]%[89ABab][0-9A-Fa-f]"
    r"|%[Ee][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){2}|%[Ff][0-7](?:%[89ABab][0-9A-Fa-f]){3}"
)
"""The bytes of one character in UTF-8."""
_PERCENT_ENCODED: Final = re.compile(
    r"""(?<![^\s"'<>])(?:[^\s"'<>%]|%(?![0-9A-Fa-f]{2}))*+%[0-9A-Fa-f]{2}[^\s"'<>]*+"""
)
_MIN_TEXT: Final = 6
_MAX_CACHED_TEXT: Final = 100
_CACHE_SIZE: Final = 10_000
_MIN_PART: Final = 12
"""Length from which a known value is also found inside of words."""


def is_worth_redacting(value: str) -> bool:
    """Return whether `value` is long and unusual enough to search for it everywhere."""
    if is_placeholder_value(value):
        return False
    if value.isalpha():
        return len(value) >= 20 or (len(value) >= 12 and not (value.islower() or value.istitle()))
    kinds = {"digit" if char.isdigit() else char.isalpha() for char in value}
    return len(value) >= 6 and len(kinds) >= 2


def _in_source(hit: SecretMatch, text: DecodedText) -> SecretMatch:
    return replace(hit, start=text.offset(hit.start), end=text.end_offset(hit.end))


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_named_secret(item: JsonString) -> bool:
    """Return whether the key or option of a string is the name of a secret."""
    if item.is_key:
        return False
    if item.key and names_secret(item.key, item.literal.text):
        return True
    if item.above.lower() in _SECRET_GROUPS:
        return is_worth_redacting(item.literal.text) and " " not in item.literal.text
    if item.key == "value" and is_secret_name(item.above):
        return is_worth_redacting(item.literal.text)
    option = item.previous
    return option.lower() in _HEADERS or bool(
        _OPTION.fullmatch(option)
        and is_secret_name(option.strip("-/:"))
        and not item.literal.text.startswith("-")
    )


def _scheme_end(text: str) -> int:
    """Return the index behind an authentication scheme at the start of `text`."""
    scheme = _SCHEME.match(text)
    return scheme.end() if scheme else 0


def _from(literal: JsonLiteral, at: int) -> Iterator[SecretMatch]:
    """Yield the value from index `at`, unless it is a placeholder."""
    value = literal.text[at:]
    if value and not is_placeholder_value(value):
        begin, end = literal.offset(at), literal.offset(len(literal.text))
        yield SecretMatch(begin, end, value, frozenset({"key"}))


def _merged(hits: list[SecretMatch], text: str) -> list[SecretMatch]:
    merged: list[SecretMatch] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if not PLACEHOLDER.sub("", hit.value):
            continue
        last = merged[-1] if merged else None
        if last is None or hit.start >= last.end:
            merged.append(hit)
            continue
        rules = last.rules | hit.rules
        if hit.end > last.end:
            merged[-1] = SecretMatch(last.start, hit.end, text[last.start : hit.end], rules)
        else:
            merged[-1] = replace(last, rules=rules)
    return merged
