"""Cases without steps, made from the rules of the linter that name them (`case=`).

The frames of all other cases are checked against them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from acp_inspector.conformance.model import OTHER_RULES, PROFILES, VERSION_OF, Case, Profile
from acp_inspector.lint.catalog import DRAFT_BATCHES, LintRule
from acp_inspector.lint.registry import rules
from acp_protocol.dialects.registry import DIALECTS
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.framing import Side

UNLIKE: Final[Mapping[tuple[Side, str], tuple[str, ...]]] = {
    # Their documents have no permission requests, which every official client takes.
    ("client", "methods.baseline"): ("acpex", "openoxide"),
}
"""Dialects in which a case for peers of a side does not hold."""


def observed_cases(side: Side) -> Iterator[Case]:
    """Yield the cases that rules make for peers of a side."""
    sharing: dict[str, list[LintRule]] = {}
    for rule in rules().values():
        if name := rule.case_for(side):
            sharing.setdefault(name, []).append(rule)
    for name, found in sharing.items():
        yield _case(name, found, UNLIKE.get((side, name), ()))


def _case(name: str, sharing: Sequence[LintRule], unlike: tuple[str, ...]) -> Case:
    """Return the case of rules that share it; the first one says what a peer must do."""
    by_profile: dict[Profile, list[LintRule]] = {
        profile: [rule for rule in sharing if VERSION_OF[profile] in rule.versions]
        for profile in PROFILES
    }
    # A case is none of a dialect in which none of its rules holds.
    nowhere = [each for each in DIALECTS if all(each in rule.unlike for rule in sharing)]
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
        unlike=(*unlike, *nowhere),
        only=BATCHES if all(rule.subject == DRAFT_BATCHES for rule in sharing) else "",
    )


OTHER_TRAFFIC: Final = Case(
    id="traffic.other-rules",
    section="Rules of the linter",
    sentence="No message breaks a rule that none of the other cases is about.",
    rules=OTHER_RULES,
)
