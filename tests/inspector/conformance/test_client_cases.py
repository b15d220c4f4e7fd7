"""Each case for clients passes a correct client, and fails a client with its defect."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_inspector.conformance.stage import PERSONAS, Persona, client_suite
from tests.inspector.conformance.client_defects import DEFECTS
from tests.inspector.conformance.playing import judge_scripted_client


@pytest.mark.parametrize("persona", PERSONAS)
async def test_correct_client_fails_no_case_and_passes_those_of_the_persona(
    persona: Persona, tmp_path: Path
) -> None:
    report = await judge_scripted_client(persona, tmp_path)
    assert not report.counts["fail"], [each for each in report.results if each.verdict == "fail"]
    others = {
        each.case.id
        for each in report.results
        if each.case.persona == persona and each.verdict != "pass"
    }
    assert all(id_.endswith("not-offered") for id_ in others), others
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", DEFECTS)
async def test_defect_fails_its_cases_and_no_other(name: str, tmp_path: Path) -> None:
    persona, defect = DEFECTS[name].persona, DEFECTS[name].defect
    cases = defect.cases.split()
    if defect.is_alone:
        report = await judge_scripted_client(persona, tmp_path, defect, cases, timeout=1)
    else:
        report = await judge_scripted_client(persona, tmp_path, defect)
    failed = {each.case.id: each.reason for each in report.results if each.verdict == "fail"}
    assert failed.keys() == set(cases), failed


def test_every_case_has_a_defect() -> None:
    proved = {id_ for each in DEFECTS.values() for id_ in each.defect.cases.split()}
    assert client_suite().cases.keys() == proved
