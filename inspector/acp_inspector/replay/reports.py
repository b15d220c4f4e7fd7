"""The result of a replay as a file: JSON, or JUnit XML for build servers."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from acp_inspector.lint.reports import xml_text
from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.writer import atomic_replacement
from acp_inspector.replay.result import ReplayResult, first_problem
from acp_protocol.errors import AcpError
from acp_protocol.framing import Side


@contextmanager
def reported_refusal(path: Path | None, recording: Path, side: Side) -> Generator[None]:
    """Check that the report can be written, and write one if the block raises an error.

    Raises:
        RecordingError: it cannot be written.
    """
    if path is None:
        yield
        return
    if not os.access(path.parent, os.W_OK):
        raise RecordingError(f"cannot write the report {path}: no such directory, or no permission")
    try:
        yield
    except AcpError as problem:
        write_report(path, recording, ReplayResult((), (str(problem),), 0, 0, side=side))
        raise


def write_report(path: Path, recording: Path, result: ReplayResult) -> None:
    """Write the result, as JUnit XML if the name of the file ends with `.xml`.

    Raises:
        RecordingError: it cannot be written.
    """
    if path.suffix.lower() == ".xml":
        text = _junit(recording, result)
    else:
        text = json.dumps({"v": 1, "file": str(recording), **result.to_json()}, indent=1)
    with atomic_replacement(path, overwrite=True) as part:
        part.write_text(f"{text}\n", encoding="utf-8", errors="backslashreplace")


def _junit(recording: Path, result: ReplayResult) -> str:
    failures = str(int(not result.is_passed))
    counts = {"tests": "1", "failures": failures, "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", name="acp-console replay")
    suite = ElementTree.SubElement(root, "testsuite", {"name": "replay", **counts})
    side = f"as {result.side}"
    case = ElementTree.SubElement(
        suite, "testcase", name=xml_text(recording.name), classname=f"replay {side}"
    )
    text = result.render()
    if not result.is_passed:
        first = xml_text(first_problem(text))
        ElementTree.SubElement(case, "failure", message=first, type="replay").text = xml_text(text)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
