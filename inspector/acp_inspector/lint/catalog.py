"""Every rule of the linter, as the table beside this module lists them.

The table is the catalogue: what a rule says, its severity, and its basis. The checks
are Python functions in `rules`, joined to it by their id. A rule keeps its id forever; one that
the protocol took back stays in the table as withdrawn.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, Literal, TypeAlias, cast

Severity: TypeAlias = Literal["error", "warning", "info"]
Basis: TypeAlias = Literal["M", "S", "I", "X", "J", "H"]

SEVERITIES: Final[tuple[Severity, ...]] = ("info", "warning", "error")
"""From the least to the most severe."""

BASES: Final[dict[Basis, str]] = {
    "M": "MUST in the protocol's text",
    "S": "SHOULD in the protocol's text",
    "I": "implied by the protocol's text",
    "X": "the published schema",
    "J": "JSON-RPC 2.0",
    "H": "heuristic",
}
"""The basis of a rule."""

FAMILIES: Final[dict[str, str]] = {
    "A": "Framing",
    "B": "JSON-RPC envelope",
    "C": "Initialization and lifecycle",
    "D": "Authentication",
    "E": "Sessions",
    "F": "Prompt turn, v1",
    "G": "Prompt lifecycle, v2",
    "H": "Session updates and message ids",
    "I": "Tool calls",
    "J": "Permission requests",
    "K": "File system, v1",
    "L": "Terminals, v1",
    "M": "Display terminals, v2",
    "N": "Plans",
    "O": "Modes and config options",
    "P": "Slash commands",
    "Q": "Usage",
    "R": "Elicitation",
    "S": "Request cancellation",
    "T": "Batches",
    "U": "Extensibility and naming",
    "V": "MCP over ACP",
    "W": "Providers",
    "X": "Notices and compaction",
    "Y": "HTTP and WebSocket",
    "Z": "Version 2: lifecycle, entities, errors",
    "AA": "Session archive, status, title, system prompt",
    "AB": "Auth status",
    "AC": "Subagents and messages between sessions",
    "AD": "Proxy chains",
    "AE": "MCP over ACP: payloads",
    "AF": "HTTP and WebSocket, observed behaviour",
}
"""Subjects of rules, in the order of the catalogue."""

UNSTABLE_FAMILIES: Final = frozenset({"V", "W", "AA", "AB", "AC", "AD", "AE"})
"""Families about parts of the protocol that are not stable yet."""

STABLE_IN_1: Final = frozenset(f"ACP-L{number}" for number in range(484, 489))
"""Rules of those families whose subject, `systemPrompt`, is stable in version 1 by now."""

EARLY_FAMILIES: Final = frozenset({"A", "B", "C", "Y", "AF"})
"""Families that apply before a version is negotiated."""


@dataclass(frozen=True, slots=True)
class LintRule:
    """One rule of the catalogue."""

    id: str
    family: str
    severity: Severity | None
    """None: withdrawn."""
    severity_in_1: Severity | None
    """The severity in version 1: the text of that version may say less."""
    versions: frozenset[int]
    """Protocol versions that it applies to."""
    side: str
    """The side at fault when it is broken."""
    basis: Basis
    since: str
    """Month of the schema that introduced or changed it; empty for older ones."""
    source: str
    """Page of the protocol's documentation, or `schema`."""
    text: str
    fix: str
    """What the side at fault should do; empty if nothing checks the rule."""

    @property
    def severities(self) -> str:
        """The severity in words, with that of version 1 if it differs."""
        if self.severity is None:
            return "withdrawn"
        differs = self.severity_in_1 != self.severity
        return f"{self.severity} (v1: {self.severity_in_1})" if differs else self.severity

    @property
    def is_unstable(self) -> bool:
        """Whether it is about a part of the protocol that is not stable yet, in no version."""
        return self.family in UNSTABLE_FAMILIES and self.id not in STABLE_IN_1

    def is_unstable_in(self, version: int | None) -> bool:
        """Whether it is about a part of a version that is not stable yet."""
        is_stable = version == 1 and self.id in STABLE_IN_1
        return self.family in UNSTABLE_FAMILIES and not is_stable


_VERSIONS: Final = {"v1": frozenset({1}), "v2": frozenset({2}), "both": frozenset({1, 2})}


@cache
def rules() -> dict[str, LintRule]:
    """Return every rule by its id, in the order of the catalogue."""
    table = files("acp_inspector.lint").joinpath("catalog.csv").read_text(encoding="utf-8")
    return {row["id"]: _rule(row) for row in csv.DictReader(table.splitlines())}


def _rule(row: dict[str, str]) -> LintRule:
    is_active = row["severity"] != "withdrawn"
    severity, _, in_1 = row["severity"].removesuffix(")").partition(" (v1: ")
    return LintRule(
        id=row["id"],
        family=row["family"],
        severity=cast("Severity", severity) if is_active else None,
        severity_in_1=cast("Severity", in_1 or severity) if is_active else None,
        versions=_VERSIONS[row["version"]],
        side=row["side"],
        basis=cast("Basis", row["basis"]),
        since=row["since"],
        source=row["source"],
        text=row["check"],
        fix=row["fix"],
    )
