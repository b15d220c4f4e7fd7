"""Reports say of each failure what is required, where, what came, and the frames that prove it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from acp_inspector.conformance.model import Case, Evidence, Report, Result, Verdict, evidence
from acp_inspector.conformance.reports import html_report, junit_report, text_report
from acp_inspector.journal import Frame


def case(id_: str) -> Case:
    return Case(id=id_, section="A page, A heading", sentence=f"It has {id_}.", rules=("not-json",))


PASSED = Result(case("a.passes"), "pass")
FAILED = Result(
    case("b.fails"),
    "fail",
    "it has <none>\x1b[31m",
    (Evidence("client", '{"method":"give"}'), Evidence("agent", "\x1b]0;title\x07")),
)
REPORT = Report(
    "agent\x1b[0m",
    "agent",
    "v1",
    (
        PASSED,
        FAILED,
        Result(case("c.unoffered"), "not offered", "x is not offered"),
        Result(case("d.unreached"), "not reached", "no prompt is known"),
        Result(case("e.unreached"), "not reached", "no prompt is known"),
    ),
)


def test_text_has_all_of_a_failure_and_why_cases_were_not_reached() -> None:
    lines = text_report(REPORT).splitlines()
    assert lines[:5] == [
        "✗ b.fails  It has b.fails.",
        "    found:   it has <none>␛[31m",
        "    section: A page, A heading",
        '    client → {"method":"give"}',
        "    agent  → ␛]0;title␇",
    ]
    assert "· 2 cases not reached: no prompt is known" in lines
    headline = "ACP v1 agent: 1 passed, 1 failed, 1 not offered, 2 not reached"
    assert lines[-1] == f"agent␛[0m, {headline}"


def test_what_is_only_advised_has_a_line_and_is_no_failure() -> None:
    advice = Result(case("f.advised"), "advice", "it came later")
    report = Report("agent", "agent", "v1", (PASSED, advice))
    text = text_report(report)
    assert text.splitlines()[0] == "! f.advised  It has f.advised.  (it came later)"
    assert "1 passed, 0 failed, 1 against advice, 0 not offered" in text
    assert report.badge == "ACP v1 agent: 1 of 1 cases passed"
    (suite,) = ElementTree.fromstring(junit_report(report))
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert '<p class="badge pass">' in html_report(report)


@pytest.mark.parametrize(
    ("verdicts", "is_known", "is_passed"),
    [
        (["pass", "not reached"], False, True),
        (["fail", "pass"], False, False),
        (["fail", "not reached"], True, True),
        (["advice", "not reached"], False, True),
        (["not offered"], False, True),
        (["not offered", "not reached"], False, False),
        (["not reached"], False, False),
    ],
)
def test_a_report_is_passed_if_nothing_failed_and_something_was_tried(
    verdicts: list[Verdict], is_known: bool, is_passed: bool
) -> None:
    results = [
        Result(case(str(number)), verdict, is_known=is_known and verdict == "fail")
        for number, verdict in enumerate(verdicts)
    ]
    report = Report("agent", "agent", "v1", tuple(results))
    assert report.is_passed is is_passed
    assert report.headline.endswith("; nothing was shown") is (
        not is_passed and "fail" not in verdicts
    )


def test_text_of_all_cases_has_each_with_its_reason() -> None:
    text = text_report(REPORT, is_all=True)
    assert "✓ a.passes  It has a.passes." in text
    assert "– c.unoffered  It has c.unoffered.  (x is not offered)" in text


def test_html_begins_with_the_failures_and_runs_nothing_that_a_peer_has_sent() -> None:
    page = html_report(REPORT)
    assert page.index("b.fails") < page.index("a.passes")
    assert '<p class="badge fail">ACP v1 agent: 1 of 2 cases passed, 2 not reached</p>' in page
    assert "it has &lt;none&gt;" in page
    assert "\x1b" not in page
    assert "<script" not in page


def test_junit_has_a_test_for_each_case_and_skips_what_says_nothing() -> None:
    (suite,) = ElementTree.fromstring(junit_report(REPORT))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "1", "3")
    assert suite.get("name") == "ACP v1 agent: 1 passed, 1 failed, 1 not offered, 2 not reached"
    (failure,) = suite.iter("failure")
    assert "It has b.fails." in (failure.text or "")
    assert '{"method":"give"}' in (failure.text or "")


def test_proof_keeps_the_request_however_much_came_after_it() -> None:
    frames = [Frame(1, 0, "client", b"request")]
    frames += [Frame(n, 0, "agent", b"%d" % n) for n in range(2, 30)]
    assert [each.text for each in evidence(frames)] == ["request", "25", "26", "27", "28", "29"]
