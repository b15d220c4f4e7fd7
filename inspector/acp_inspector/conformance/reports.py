"""Reports as text, JUnit XML and HTML; what a peer has sent is made harmless."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree

from acp_inspector.conformance.model import VERDICTS, Evidence, Report, Result
from acp_inspector.lint.reports import xml_text
from acp_protocol.host.sanitize import escape_controls, single_line

SIGNS: Final = {"pass": "✓", "fail": "✗", "advice": "!", "not offered": "–", "not reached": "·"}
WIDTH: Final = 200
"""Characters of a frame in a report for people."""


def text_report(report: Report, *, is_all: bool = False) -> str:
    """Return the failures with their frames, a line for each case against advice, and the counts.

    With `is_all` each other case has a line, too.
    """
    lines: list[str] = []
    for result in report.results:
        if result.is_known:
            lines.append(f"{SIGNS['fail']} {result.case.id}  known: {_short(result.reason)}")
        elif result.verdict == "fail":
            lines += _failure(result)
        elif is_all or result.verdict == "advice":
            reason = f"  ({_short(result.reason)})" if result.reason else ""
            lines.append(
                f"{SIGNS[result.verdict]} {result.case.id}  {result.case.sentence}{reason}"
            )
    if not is_all:
        lines += _unreached(report)
    lines.append(f"{single_line(report.peer, 80)}, {report.headline}")
    return "\n".join(lines)


def _short(reason: str) -> str:
    return single_line(reason, WIDTH)


def _unreached(report: Report) -> Iterator[str]:
    """Yield why cases were not reached, the most frequent reason first."""
    reasons = Counter(each.reason for each in report.results if each.verdict == "not reached")
    for reason, number in reasons.most_common():
        cases = "1 case" if number == 1 else f"{number} cases"
        yield f"{SIGNS['not reached']} {cases} not reached: {_short(reason)}"


def _failure(result: Result) -> Iterator[str]:
    yield f"{SIGNS['fail']} {result.case.id}  {result.case.sentence}"
    yield f"    found:   {single_line(result.reason, 2 * WIDTH)}"
    yield f"    section: {result.case.section}"
    for frame in result.frames:
        yield f"    {_arrow(frame)} {single_line(frame.text, WIDTH)}"
    yield ""


def _arrow(frame: Evidence) -> str:
    return "client →" if frame.side == "client" else "agent  →"


def junit_report(report: Report) -> str:
    """Return one suite with a test for each case; those that say nothing are skipped."""
    failures = report.counts["fail"] - report.known
    root = ElementTree.Element("testsuites", name="acp-console conform")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=xml_text(report.headline),
        tests=str(len(report.results)),
        failures=str(failures),
        skipped=str(len(report.results) - report.counts["pass"] - failures),
        errors="0",
    )
    for result in report.results:
        case = ElementTree.SubElement(
            suite, "testcase", name=result.case.id, classname=xml_text(result.case.section)
        )
        if result.verdict == "fail" and not result.is_known:
            text = "\n".join([result.case.sentence, *map(_frame_line, result.frames)])
            failure = ElementTree.SubElement(case, "failure", message=xml_text(result.reason))
            failure.text = xml_text(text)
        elif result.verdict != "pass":
            verdict = "known failure" if result.is_known else result.verdict
            text = f"{verdict}: {result.reason}"
            ElementTree.SubElement(case, "skipped", message=xml_text(text))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _frame_line(frame: Evidence) -> str:
    return f"{_arrow(frame)} {frame.text}"


_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #8884}
pre{white-space:pre-wrap;word-break:break-all;margin:.2rem 0;font-size:12px}
.badge{display:inline-block;padding:.2rem .7rem;border-radius:.4rem;color:#fff;background:#2a7d3f}
.badge.fail{background:#b3261e}.fail td:first-child{color:#b3261e;font-weight:bold}
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}
"""


def html_report(report: Report) -> str:
    """Return a page of its own, without scripts or anything from elsewhere."""
    state = "pass" if report.is_passed else "fail"
    counts = ", ".join(f"{report.counts[verdict]} {verdict}" for verdict in VERDICTS)
    order = {"fail": 0, "advice": 1}
    failures_first = sorted(report.results, key=lambda each: order.get(each.verdict, 2))
    rows = "\n".join(map(_row, failures_first))
    title = html.escape(single_line(report.peer, 80))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        f'<p class="badge {state}">{html.escape(report.badge)}</p>\n<p>{counts}</p>\n'
        f"<table><tr><th>verdict</th><th>case</th><th>requirement</th></tr>\n{rows}\n"
        "</table></body></html>\n"
    )


def _row(result: Result) -> str:
    def safe(text: str) -> str:
        return html.escape(escape_controls(text))

    frames = "".join(f"<pre>{safe(_frame_line(frame))}</pre>" for frame in result.frames)
    if result.verdict not in {"fail", "advice"}:
        frames = ""
    reason = f"<br><em>{safe(result.reason)}</em>" if result.reason else ""
    is_new_failure = result.verdict == "fail" and not result.is_known
    kind = ' class="fail"' if is_new_failure else ""
    verdict = f"{result.verdict} (known)" if result.is_known else result.verdict
    return (
        f"<tr{kind}><td>{SIGNS[result.verdict]} {verdict}</td><td>{result.case.id}</td>"
        f"<td>{safe(result.case.sentence)}<br><small>{safe(result.case.section)}</small>"
        f"{reason}{frames}</td></tr>"
    )
