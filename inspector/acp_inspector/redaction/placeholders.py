"""Replaces secrets in texts by numbered placeholders."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.redaction.detector import SecretDetector, SecretMatch
from acp_inspector.redaction.patterns import RULES
from acp_protocol.errors import AcpError

_BASE64_KEY_END: Final = 'b64":"'
_BASE64_FIELD: Final = re.compile(r'(?<=["_]b64":")[A-Za-z0-9+/]{7,}={0,2}(?=")')


def base64_texts(line: str) -> Iterator[str]:
    """Yield the decoded base64 members of `line`; bytes that are no UTF-8 become surrogates."""
    if _BASE64_KEY_END in line:
        for found in _BASE64_FIELD.finditer(line):
            if (text := _text(found[0])) is not None:
                yield text


def replace_in_base64(line: str, change: Callable[[str], str]) -> str:
    """Apply `change` to the decoded base64 members of `line`; the unchanged stay as written."""
    if _BASE64_KEY_END not in line:
        return line

    def changed(found: re.Match[str]) -> str:
        text = _text(found[0])
        if text is None or (after := change(text)) == text:
            return found[0]
        return base64.b64encode(after.encode(errors="surrogateescape")).decode()

    return _BASE64_FIELD.sub(changed, line)


def _text(encoded: str) -> str | None:
    try:
        return base64.b64decode(encoded, validate=True).decode(errors="surrogateescape")
    except binascii.Error:
        return None


MAX_ROUNDS: Final = 8
"""Most searches of a line: removing one secret may expose another."""
_PLACEHOLDER: Final = re.compile(r"(?:«|\\u00[aA][bB])secret:([0-9]{1,9})(?:»|\\+u00[bB][bB])")
"""A placeholder in a file, possibly escaped to ASCII."""


class TooManySecretsError(AcpError):
    """There are more distinct secrets than placeholders."""


@dataclass(slots=True)
class PlaceholderMap:
    """Assigns a placeholder to each distinct secret, and counts replacements."""

    first: int = 1
    """Number of the first placeholder."""
    limit: int | None = None
    """Most distinct secrets."""
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    rule_of: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """The rules that found each secret."""
    replaced: Counter[str] = field(default_factory=Counter[str])
    """Number of replacements by rule."""

    def placeholder(self, hit: SecretMatch) -> str:
        """Return the placeholder of a secret, and count the replacement.

        Raises:
            TooManySecretsError: the secret is new, and `limit` is reached.
        """
        is_full = self.limit is not None and len(self.numbers) >= self.limit
        if is_full and hit.value not in self.numbers:
            raise TooManySecretsError(f"there are more than {self.limit} distinct secrets")
        number = self.numbers.setdefault(hit.value, self.first + len(self.numbers))
        self.rule_of[hit.value] = self.rule_of.get(hit.value, frozenset()) | hit.rules
        self.replaced[hit.rule] += 1
        return f"«secret:{number}»"

    @property
    def matched(self) -> frozenset[str]:
        """The rules that found anything."""
        return frozenset[str]().union(*self.rule_of.values())

    def secrets_by_rule(self) -> dict[str, int]:
        """Return the number of distinct secrets by first rule, in the order of `RULES`."""
        first = Counter(next(name for name in RULES if name in r) for r in self.rule_of.values())
        return {name: first[name] for name in RULES if first[name]}


def redact_text(
    text: str, detector: SecretDetector, placeholders: PlaceholderMap
) -> tuple[str, list[SecretMatch]]:
    """Replace every secret in `text`, also in base64; return the new text and the secrets.

    Redacting the new text again changes nothing.
    """
    found: list[SecretMatch] = []

    def without_secrets(part: str) -> str:
        cut, hits = _redact(part, detector, placeholders)
        found.extend(hits)
        return cut

    return without_secrets(replace_in_base64(text, without_secrets)), found


def _redact(
    text: str, detector: SecretDetector, placeholders: PlaceholderMap
) -> tuple[str, list[SecretMatch]]:
    found: list[SecretMatch] = []
    for _ in range(MAX_ROUNDS):
        hits = detector.find(text)
        if not hits:
            break
        found += hits
        pieces: list[str] = []
        at = 0
        for hit in hits:
            pieces += (text[at : hit.start], placeholders.placeholder(hit))
            at = hit.end
        text = "".join([*pieces, text[at:]])
    return text, found


def highest_placeholder(text: str) -> int:
    """Return the highest number of the placeholders in `text`; 0 if there are none."""
    numbers = (
        number for part in (text, *base64_texts(text)) for number in _PLACEHOLDER.findall(part)
    )
    return max(map(int, numbers), default=0)
