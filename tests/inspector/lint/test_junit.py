"""What JUnit's XML can hold, whatever came over the wire."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.lint.engine import lint
from acp_inspector.lint.reports import junit_report
from tests.inspector.lint.talk import Talk


@given(st.binary(max_size=40))
def test_any_bytes_give_a_document(raw: bytes) -> None:
    talk = Talk()
    talk.send("agent", raw.replace(b"\n", b""))
    said = junit_report({"a\x00b": lint(talk.entries)}, lambda finding: finding.severity == "error")
    assert ElementTree.fromstring(said).tag == "testsuites"


def test_a_check_that_breaks_down_is_an_error_and_not_skipped() -> None:
    report = lint(Talk().entries)
    report.failed["inconsistent-form-schema"] = "RecursionError: too deep"
    assert "inconsistent-form-schema" not in report.idle
    root = ElementTree.fromstring(junit_report({"a": report}, lambda finding: True))
    suite = root.find("testsuite")
    assert suite is not None
    assert suite.get("errors") == "1"
    (case,) = [each for each in suite if each.get("name") == "inconsistent-form-schema"]
    assert [each.tag for each in case] == ["error"]
    assert "RecursionError" in (case[0].get("message") or "")


def test_nothing_that_a_terminal_obeys_or_hides_reaches_the_document() -> None:
    talk = Talk()
    talk.send("agent", "\x1b[31m\u202e\u200b{".encode())
    said = junit_report({"a\u202eb": lint(talk.entries)}, lambda finding: True)
    assert "a‹202e›b" in said
    assert not set("\x1b\u202e\u200b") & set(said)
