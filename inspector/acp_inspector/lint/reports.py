"""Findings as JUnit XML: one suite for each file, one test for each rule.

A rule that nothing in the recording exercised is skipped. One whose check
raised an exception is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote
from xml.etree import ElementTree

from acp_inspector.lint.catalog import BASES, SUBJECTS, LintRule
from acp_inspector.lint.engine import Finding, LintReport
from acp_inspector.lint.registry import rules
from acp_inspector.recording.reader import BadLine
from acp_inspector.views.annotations import Severity
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json
from acp_protocol.version import VERSION

READABLE: Final = "every line is readable"
BROKEN: Final = "the check failed because of a bug in the linter"
_NO_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that an XML document cannot hold, not even escaped."""


def junit_report(
    reports: Mapping[str, LintReport],
    fails: Callable[[Finding], bool],
    faults: Mapping[str, Sequence[BadLine]] | None = None,
    *,
    fault_fails: Callable[[BadLine], bool] = lambda fault: False,
) -> str:
    """Return the reports of each file as one document.

    Args:
        reports: by the file's name.
        fails: returns whether a finding is a failure.
        faults: for each file, the lines that could not be read.
        fault_fails: returns whether such a line makes the file an error.
    """
    root = ElementTree.Element("testsuites", name="acp-console lint")
    for file, report in reports.items():
        suite = ElementTree.SubElement(root, "testsuite", name=xml_text(file))
        failed = skipped = 0
        unread = (faults or {}).get(file, ())
        is_damaged = any(map(fault_fails, unread))
        case = ElementTree.SubElement(suite, "testcase", name=READABLE, classname="Recording")
        if text := "\n".join(f"line {fault.line}: {fault.reason}" for fault in unread):
            if is_damaged:
                _add(case, "error", text, message=text.split("\n")[0], type="recording")
            else:
                _add(case, "system-out", text)
        for name in sorted(report.applicable):
            found = [each for each in report.findings if each.rule.name == name]
            broken = report.failed.get(name)
            failures = [each for each in found if fails(each)]
            subject = SUBJECTS[rules()[name].subject]
            case = ElementTree.SubElement(suite, "testcase", name=name, classname=xml_text(subject))
            if failures:
                failed += 1
                text = "\n".join(map(_line, failures))
                _add(case, "failure", text, message=failures[0].message, type=name)
            elif broken is None and name not in report.exercised:
                skipped += 1
                ElementTree.SubElement(case, "skipped", message="nothing to look at")
            if broken is not None:
                _add(case, "error", broken, message=f"{BROKEN}: {broken}", type="check")
            if len(found) > len(failures):
                _add(
                    case, "system-out", "\n".join(_line(each) for each in found if not fails(each))
                )
        suite.attrib.update(
            tests=str(len(report.applicable) + 1),
            failures=str(failed),
            skipped=str(skipped),
            errors=str(int(is_damaged) + len(report.failed)),
        )
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _add(case: ElementTree.Element, name: str, text: str, **attributes: str) -> None:
    clean = {key: xml_text(value) for key, value in attributes.items()}
    ElementTree.SubElement(case, name, clean).text = xml_text(text)


def _line(finding: Finding) -> str:
    frames = ", ".join(map(str, finding.frames))
    return f"{finding.severity}: frame {frames}: {finding.message} {finding.fix}"


def xml_text(text: str) -> str:
    """Return text that an XML document can hold."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", escape_controls(text))


SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}


def sarif_report(
    findings: Mapping[str, Sequence[Finding]],
    lines: Mapping[str, Mapping[int, int]],
    faults: Mapping[str, Sequence[BadLine]] | None = None,
    failed: Mapping[str, Mapping[str, str]] | None = None,
) -> Json:
    """Return the findings of each file as one log.

    Args:
        findings: by the file's name.
        lines: for each file, the line of each entry by its number, from 1.
        faults: for each file, the lines that could not be read.
        failed: for each file, the rules whose check failed, with the error.
    """
    used = _rules(findings.values())
    places = {rule.name: place for place, rule in enumerate(used)}
    driver = {
        "name": "acp-console lint",
        "version": VERSION,
        "rules": [_rule(rule) for rule in used],
    }
    results = [
        _result(file, each, lines.get(file, {}), places[each.rule.name])
        for file, found in findings.items()
        for each in found
    ]
    notes = [_note(file, fault) for file, found in (faults or {}).items() for fault in found]
    broken = [_broken(file, *each) for file, by in (failed or {}).items() for each in by.items()]
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {"executionSuccessful": not broken, "toolExecutionNotifications": [*notes, *broken]}
        ],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _note(file: str, fault: BadLine) -> Json:
    where = _location(file, fault.line)
    return {"level": "warning", "message": {"text": fault.reason}, "locations": [where]}


def _broken(file: str, rule: str, problem: str) -> Json:
    text = f"{rule} was not checked because of a bug in the linter: {problem}"
    where = _location(file, None)
    return {"level": "error", "message": {"text": text}, "locations": [where]}


def _rules(findings: Iterable[Sequence[Finding]]) -> list[LintRule]:
    used = {each.rule.name: each.rule for found in findings for each in found}
    return [used[name] for name in sorted(used)]


def _rule(rule: LintRule) -> dict[str, Json]:
    return {
        "id": rule.name,
        "deprecatedIds": [rule.id],
        "shortDescription": {"text": rule.text},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {
            "tags": [SUBJECTS[rule.subject]],
            "basis": BASES[rule.basis],
            "source": rule.source,
        },
    }


def _result(file: str, finding: Finding, lines: Mapping[int, int], place: int) -> dict[str, Json]:
    where = [_location(file, lines.get(frame)) for frame in finding.frames] or [
        _location(file, None)
    ]
    return {
        "ruleId": finding.rule.name,
        "ruleIndex": place,
        "level": LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": where[-1:],
        "relatedLocations": where[:-1],
        "properties": {"frames": list(finding.frames), "path": finding.path, "fix": finding.fix},
    }


def _location(file: str, line: int | None) -> dict[str, Json]:
    place: dict[str, Json] = {"artifactLocation": {"uri": _uri(file)}}
    if line is not None:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}


def _uri(file: str) -> str:
    """Return a file's name as a reference: special characters are escaped."""
    path = Path(file)
    if path.is_absolute():
        return path.as_uri()
    return quote(path.as_posix().encode(errors="surrogateescape"), safe="/")
