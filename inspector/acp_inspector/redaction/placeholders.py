"""Which secret has which placeholder, and how often what was found."""

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

_MARK: Final = 'b64":"'
_BASE64_FIELD: Final = re.compile(r'(?<=["_]b64":")[A-Za-z0-9+/]{7,}={0,2}(?=")')


def base64_texts(line: str) -> Iterator[str]:
    """Yield what the members of `line` that hold bytes say, whatever is no UTF-8 as surrogates."""
    if _MARK in line:
        for found in _BASE64_FIELD.finditer(line):
            if (text := _text(found[0])) is not None:
                yield text


def replace_in_base64(line: str, change: Callable[[str], str]) -> str:
    """Return `line` with what its bytes say changed; what `change` leaves stays as spelled."""
    if _MARK not in line:
        return line

    def changed(found: re.Match[str]) -> str:
        text = _text(found[0])
        if text is None or (after := change(text)) == text:
            return found[0]
        return base64.b64encode(after.encode(errors="surrogateescape")).decode()

    return _BASE64_FIELD.sub(changed, line)


def _text(spelling: str) -> str | None:
    try:
        return base64.b64decode(spelling, validate=True).decode(errors="surrogateescape")
    except binascii.Error:
        return None


ROUNDS: Final = 8
"""How often a line is looked at again after a cut: what stood beside it may now be seen alone."""
_SPELLED: Final = re.compile(r"(?:«|\\u00[aA][bB])secret:([0-9]{1,9})(?:»|\\+u00[bB][bB])")
"""A placeholder as it may stand in a file, in which others may have spelled it in ASCII."""


class TooManySecretsError(AcpError):
    """There are more distinct secrets than are told apart."""


@dataclass(slots=True)
class PlaceholderMap:
    """Hands out placeholders, one for each distinct secret, and counts."""

    first: int = 1
    """The first number that is free."""
    limit: int | None = None
    """Distinct secrets that are told apart."""
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    rule_of: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """The rules that found each secret."""
    replaced: Counter[str] = field(default_factory=Counter[str])
    """Places that were replaced, by rule."""

    def placeholder(self, hit: SecretMatch) -> str:
        """Return what stands for the secret from now on.

        Raises:
            LedgerFullError: it is one more than are told apart.
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
        """Return how many distinct secrets each rule stands for, in the table's order."""
        first = Counter(next(name for name in RULES if name in r) for r in self.rule_of.values())
        return {name: first[name] for name in RULES if first[name]}


def redact_text(
    text: str, finder: SecretDetector, placeholders: PlaceholderMap
) -> tuple[str, list[SecretMatch]]:
    """Return `text` with every secret replaced, and what was found, also in bytes that it spells.

    What this returns has nothing left that it would replace again.
    """
    found: list[SecretMatch] = []

    def without_secrets(spelled: str) -> str:
        cut, hits = _redact(spelled, finder, placeholders)
        found.extend(hits)
        return cut

    return without_secrets(replace_in_base64(text, without_secrets)), found


def _redact(
    text: str, finder: SecretDetector, ledger: PlaceholderMap
) -> tuple[str, list[SecretMatch]]:
    found: list[SecretMatch] = []
    for _ in range(ROUNDS):
        hits = finder.find(text)
        if not hits:
            break
        found += hits
        pieces: list[str] = []
        at = 0
        for hit in hits:
            pieces += (text[at : hit.start], ledger.placeholder(hit))
            at = hit.end
        text = "".join([*pieces, text[at:]])
    return text, found


def highest_placeholder(text: str) -> int:
    """Return the highest number of a placeholder that `text` holds already; 0 for none."""
    spelled = (number for part in (text, *base64_texts(text)) for number in _SPELLED.findall(part))
    return max(map(int, spelled), default=0)
