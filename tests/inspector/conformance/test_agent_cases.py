"""Each case for agents passes a correct agent, and fails an agent with its defect."""

from __future__ import annotations

import pytest

from acp_inspector.conformance.judge import agent_suite
from acp_inspector.conformance.model import PROFILES, Profile
from tests.inspector.conformance.agent_defects import DEFECTS
from tests.inspector.conformance.playing import judge

NOT_PLAYED = {
    "v1": set[str](),
    "v1-unstable": set[str](),
    "v2": {"prompt.audio"},
}
"""Cases that the correct agent does not pass: it offers less, so that others can be played."""


@pytest.mark.parametrize("profile", PROFILES)
async def test_correct_agent_passes_every_case(profile: Profile) -> None:
    report = await judge(profile, timeout=20)
    others = {each.case.id: each.reason for each in report.results if each.verdict != "pass"}
    assert others.keys() == NOT_PLAYED[profile], others
    assert report.is_passed


@pytest.mark.parametrize(
    ("name", "profile"),
    [(name, profile) for name, defect in DEFECTS.items() for profile in defect.versions],
)
async def test_defect_fails_its_cases_and_no_other(name: str, profile: Profile) -> None:
    defect = DEFECTS[name]
    cases = defect.cases.split()
    if defect.is_alone:
        report = await judge(profile, defect, cases, timeout=1)
    else:
        report = await judge(profile, defect, timeout=20)
    failed = {each.case.id: each.reason for each in report.results if each.verdict == "fail"}
    assert failed.keys() == set(cases), failed
    for result in report.results:
        if result.verdict == "fail":
            assert result.reason
            assert result.frames, result.case.id


def test_every_case_has_a_defect() -> None:
    proved = {id_ for defect in DEFECTS.values() for id_ in defect.cases.split()}
    assert agent_suite().cases.keys() == proved
