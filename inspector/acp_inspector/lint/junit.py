"""Findings as JUnit's XML, which build servers show as tests: a suite a file, a test a rule.

A rule without anything to look at is skipped; that it found nothing says nothing. One whose check
broke down is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from xml.etree import ElementTree

from acp_inspector.lint.catalogue import FAMILIES, rules
from acp_inspector.lint.engine import Finding, Report
from acp_inspector.recording.reader import LineFault

READABLE: Final = "every line can be read"
BROKEN: Final = "it could not be judged, by a mistake of ours"
_NO_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that an XML document cannot hold, not even escaped."""


def junit(
    reports: Mapping[str, Report],
    fails: Callable[[Finding], bool],
    faults: Mapping[str, Sequence[LineFault]] | None = None,
    *,
    faults_fail: bool = False,
) -> str:
    """Return the reports of each file as one document.

    Args:
        reports: by the file's name.
        fails: tells which findings are failures.
        faults: for each file, what of it could not be read.
        faults_fail: such a file is an error, instead of being told of.
    """
    root = ElementTree.Element("testsuites", name="acp-console lint")
    for file, report in reports.items():
        suite = ElementTree.SubElement(root, "testsuite", name=_text(file))
        failed = skipped = 0
        unread = (faults or {}).get(file, ())
        case = ElementTree.SubElement(suite, "testcase", name=READABLE, classname="Recording")
        if said := "\n".join(f"line {fault.line}: {fault.reason}" for fault in unread):
            if faults_fail:
                _add(case, "error", said, message=said.split("\n")[0], type="recording")
            else:
                _add(case, "system-out", said)
        for id_ in sorted(report.applied):
            found = [each for each in report.findings if each.rule.id == id_]
            broken = report.failed.get(id_)
            failures = [each for each in found if fails(each)]
            family = FAMILIES[rules()[id_].family]
            case = ElementTree.SubElement(suite, "testcase", name=id_, classname=_text(family))
            if failures:
                failed += 1
                said = "\n".join(map(_line, failures))
                _add(case, "failure", said, message=failures[0].message, type=id_)
            elif broken is None and id_ not in report.exercised:
                skipped += 1
                ElementTree.SubElement(case, "skipped", message="nothing to look at")
            if broken is not None:
                _add(case, "error", broken, message=f"{BROKEN}: {broken}", type="check")
            if len(found) > len(failures):
                _add(
                    case, "system-out", "\n".join(_line(each) for each in found if not fails(each))
                )
        suite.attrib.update(
            tests=str(len(report.applied) + 1),
            failures=str(failed),
            skipped=str(skipped),
            errors=str(int(faults_fail and bool(unread)) + len(report.failed)),
        )
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _add(case: ElementTree.Element, name: str, text: str, **attributes: str) -> None:
    clean = {key: _text(value) for key, value in attributes.items()}
    ElementTree.SubElement(case, name, clean).text = _text(text)


def _line(finding: Finding) -> str:
    frames = ", ".join(map(str, finding.frames))
    return f"{finding.severity}: frame {frames}: {finding.message} {finding.fix}"


def _text(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
