"""Cases without steps, made from the rules of the linter that name them (`case=`).

The frames of all other cases are checked against them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from acp_inspector.conformance.model import OTHER_RULES, PROFILES, VERSION_OF, Case, Profile
from acp_inspector.lint.catalog import LintRule
from acp_inspector.lint.registry import rules
from acp_protocol.framing import Side


def observed_cases(side: Side) -> Iterator[Case]:
    """Yield the cases that rules make for peers of a side."""
    sharing: dict[str, list[LintRule]] = {}
    for rule in rules().values():
        if name := rule.case_for(side):
            sharing.setdefault(name, []).append(rule)
    for name, found in sharing.items():
        yield _case(name, found)


def _case(name: str, sharing: Sequence[LintRule]) -> Case:
    """Return the case of rules that share it; the first one says what a peer must do."""
    by_profile: dict[Profile, list[LintRule]] = {
        profile: [rule for rule in sharing if VERSION_OF[profile] in rule.versions]
        for profile in PROFILES
    }
    return Case(
        id=name,
        section=sharing[0].source,
        sentence=sharing[0].text,
        profiles=tuple(profile for profile, found in by_profile.items() if found),
        # A rule of less than an error only advises.
        advice=tuple(
            profile
            for profile, found in by_profile.items()
            if found and all(rule.severity_in(VERSION_OF[profile]) != "error" for rule in found)
        ),
        rules=tuple(rule.name for rule in sharing),
    )


OTHER_TRAFFIC: Final = Case(
    id="traffic.other-rules",
    section="Rules of the linter",
    sentence="No message breaks a rule that none of the other cases is about.",
    rules=OTHER_RULES,
)
