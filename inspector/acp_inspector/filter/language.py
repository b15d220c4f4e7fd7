"""One expression, read once, asked of many entries.

The parser library is imported when an expression is compiled, not before: who filters nothing, a
proxy without a breakpoint above all, does not pay for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.filter.expressions import All, Expression, spelled
from acp_inspector.filter.facts import Facts
from acp_inspector.filter.fields import FIELDS, Cost
from acp_inspector.filter.matching import Matcher, has_patterns, matcher, needs
from acp_inspector.filter.patterns import SlowPatternError
from acp_inspector.filter.understanding import understand

_MESSAGE_COSTS: Final[frozenset[Cost]] = frozenset({"message", "exchanges"})


@dataclass(frozen=True, slots=True)
class Filter:
    """An expression that has been understood; `str` writes it the one plain way."""

    source: str = field(compare=False)
    """As it was typed."""
    expression: Expression
    needs: frozenset[str] = field(compare=False)
    """The fields that are asked for: `$` for a path, `text` for text anywhere."""
    _matcher: Matcher = field(compare=False, repr=False)
    _complaints: list[str] = field(default_factory=list[str], compare=False, repr=False)

    def matches(self, facts: Facts) -> bool:
        """Tell whether an entry is meant; what it holds can never make this fail."""
        try:
            return self._matcher(facts)
        except SlowPatternError as problem:
            self._complaints[:] = [str(problem)]
            return False

    def decide(self, facts: Facts) -> bool:
        """Tell the same to who wants to hear at once of what could not be told.

        Raises:
            SlowPatternError: a pattern took too long.
        """
        return self._matcher(facts)

    @property
    def complaint(self) -> str:
        """Why some entries count as not meant although nobody knows; empty if there are none."""
        return self._complaints[0] if self._complaints else ""

    @property
    def is_empty(self) -> bool:
        """Whether everything passes."""
        return self.expression == All(())

    @property
    def has_patterns(self) -> bool:
        """Whether a pattern has to be tried, which may take long."""
        return has_patterns(self.expression)

    @property
    def needs_message(self) -> bool:
        """Whether a frame may have to be parsed."""
        return bool(_MESSAGE_COSTS & self._costs())

    @property
    def needs_exchanges(self) -> bool:
        """Whether answers are only known together with their questions."""
        return "exchanges" in self._costs()

    @property
    def needs_notes(self) -> bool:
        """Whether it asks for what stands in no entry: turns, findings, holds, edits, marks."""
        return "notes" in self._costs()

    def __str__(self) -> str:
        """Return an expression that means the same."""
        return spelled(self.expression)

    def _costs(self) -> frozenset[Cost]:
        return frozenset("message" if name == "$" else FIELDS[name].cost for name in self.needs)


def compile_filter(text: str) -> Filter:
    """Return the filter that `text` describes; without words, one that lets everything pass.

    Raises:
        FilterError: `text` cannot be understood; the error says where and why.

    Source: docs/filters.md.
    """
    expression = understand(text) if text.strip() else All(())
    return Filter(text, expression, needs(expression), matcher(expression))
