"""The rules by name: what each finds, in which order they stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from acp_inspector.recording.format import RecordingError
from acp_inspector.redaction.shapes import SHAPES

RULES: Final[dict[str, str]] = {
    **{shape.name: shape.about for shape in SHAPES},
    "url-query": "values in the query or fragment of a URL whose names promise a secret",
    "environment": "the values of this process's environment variables whose names promise one",
    "key": "values whose member, header, variable or option promises a secret by its name",
    "assignment": "the same in running text: API_KEY=…, password: '…', --token …",
    "entropy": "long words too random to be anything else; ids, hashes and paths are not",
}
"""Every rule with what it finds, most telling first; a secret is counted for its first rule."""


class UnknownRuleError(RecordingError):
    """There is no rule of that name."""


class UnmatchedRuleError(RecordingError):
    """A rule that was asked for by name found nothing."""


def chosen_rules(names: Iterable[str]) -> tuple[str, ...]:
    """Return the rules of those names in the table's order; all of them where none is named.

    Raises:
        UnknownRuleError: a name stands for no rule.
    """
    wanted = set(names)
    if unknown := sorted(wanted - set(RULES)):
        raise UnknownRuleError(f"there is no rule {unknown[0]!r}; there are: {', '.join(RULES)}")
    return tuple(name for name in RULES if name in wanted or not wanted)
