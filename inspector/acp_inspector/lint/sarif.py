"""Findings as SARIF 2.1.0, which code hosts and editors show beside the file.

A recording is a text file: a finding stands at the line that holds the last frame that proves it,
the others are related locations.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from acp_inspector.lint.catalogue import BASES, FAMILIES, Rule, Severity
from acp_inspector.lint.engine import Finding
from acp_inspector.lint.registry import registry
from acp_inspector.recording.reader import LineFault
from acp_protocol.jsonrpc import Json
from acp_protocol.version import VERSION

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}


def sarif(
    findings: Mapping[str, Sequence[Finding]],
    lines: Mapping[str, Mapping[int, int]],
    faults: Mapping[str, Sequence[LineFault]] | None = None,
    failed: Mapping[str, Mapping[str, str]] | None = None,
) -> Json:
    """Return the findings of each file as one log.

    Args:
        findings: by the file's name.
        lines: for each file, the line of each entry by its number, from 1.
        faults: for each file, what of it could not be read.
        failed: for each file, the rules whose check broke down, with what it said.
    """
    used = _rules(findings.values())
    places = {rule.id: place for place, rule in enumerate(used)}
    driver = {
        "name": "acp-console lint",
        "version": VERSION,
        "rules": [_rule(rule) for rule in used],
    }
    results = [
        _result(file, each, lines.get(file, {}), places[each.rule.id])
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


def _note(file: str, fault: LineFault) -> Json:
    where = _location(file, fault.line)
    return {"level": "warning", "message": {"text": fault.reason}, "locations": [where]}


def _broken(file: str, rule: str, problem: str) -> Json:
    said = f"{rule} could not be judged, by a mistake of ours: {problem}"
    where = _location(file, None)
    return {"level": "error", "message": {"text": said}, "locations": [where]}


def _rules(findings: Iterable[Sequence[Finding]]) -> list[Rule]:
    used = {each.rule.id: each.rule for found in findings for each in found}
    return [used[id_] for id_ in sorted(used)]


def _rule(rule: Rule) -> dict[str, Json]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.text},
        "help": {"text": registry().implemented.get(rule.id, rule.text)},
        "defaultConfiguration": {"level": LEVELS[rule.severity or "info"]},
        "properties": {
            "tags": [FAMILIES[rule.family]],
            "basis": BASES[rule.basis],
            "source": rule.source,
        },
    }


def _result(file: str, finding: Finding, lines: Mapping[int, int], place: int) -> dict[str, Json]:
    where = [_location(file, lines.get(frame)) for frame in finding.frames] or [
        _location(file, None)
    ]
    return {
        "ruleId": finding.rule.id,
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
    """Return a file's name as a reference: what is special in a URI stands for itself nowhere."""
    path = Path(file)
    if path.is_absolute():
        return path.as_uri()
    return quote(path.as_posix().encode(errors="surrogateescape"), safe="/")
