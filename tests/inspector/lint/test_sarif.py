"""Findings as SARIF."""

from __future__ import annotations

from acp_inspector.lint.engine import lint
from acp_inspector.lint.reports import sarif_report
from tests.inspector.lint.talk import Talk


def test_each_rule_is_described_once_and_each_frame_has_its_place() -> None:
    talk = Talk()
    talk.open()
    call = talk.ask("_x")
    talk.answer(call)
    talk.answer(call)
    talk.answer(call)
    report = lint(talk.entries)
    twice = [each for each in report.findings if each.rule.name == "duplicate-response"]
    log = sarif_report({"a.ndjson": twice}, {"a.ndjson": {n: n + 1 for n in range(20)}})
    run = log["runs"][0]
    (rule,) = run["tool"]["driver"]["rules"]
    assert (rule["id"], rule["deprecatedIds"]) == ("duplicate-response", ["ACP-L026"])
    assert len(run["results"]) == 2
    lines = [
        place["physicalLocation"]["region"]["startLine"]
        for place in run["results"][0]["relatedLocations"] + run["results"][0]["locations"]
    ]
    assert lines == [frame + 1 for frame in twice[0].frames]


def test_a_file_without_lines_is_named_alone() -> None:
    talk = Talk()
    talk.send("client", b"oops")
    log = sarif_report({"a.ndjson": lint(talk.entries).findings}, {})
    assert "region" not in log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]


def test_a_check_that_breaks_down_is_told_of() -> None:
    log = sarif_report(
        {"a.ndjson": []},
        {},
        failed={"a.ndjson": {"inconsistent-form-schema": "RecursionError: too deep"}},
    )
    (invocation,) = log["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    (note,) = invocation["toolExecutionNotifications"]
    assert note["level"] == "error"
    assert "inconsistent-form-schema" in note["message"]["text"]
