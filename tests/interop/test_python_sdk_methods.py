"""Each method that our agent answers and asks, driven by the official Python SDK."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_inspector.lint.engine import lint
from acp_protocol.schema.methods import methods_sent_by
from tests.interop.answered import NOTIFIED, all_answered, said
from tests.interop.published import misfits
from tests.interop.python_sdk_drives import DRIVES, ridden

UNHEARD = {"proxy/successor"}
"""What is no business of an agent: proxies say it to each other."""


@pytest.mark.parametrize("name", DRIVES)
async def test_what_the_sdk_drives_is_right_by_schema_and_rules(
    name: str, tmp_path: Path, shared: Path
) -> None:
    drive = DRIVES[name]
    recording = await ridden(name, tmp_path)
    assert recording.bad_lines == ()
    assert said(recording, "client") == drive.methods
    assert said(recording, "agent") == drive.asked
    if not drive.is_published:
        return
    assert misfits(recording, shared) == []
    report = lint(recording.entries, unstable="--unstable" in drive.options)
    assert not report.failed
    assert [each.message for each in report.findings if each.severity != "info"] == []


def test_each_method_that_our_agent_answers_is_driven() -> None:
    driven = {method for drive in DRIVES.values() for method in drive.methods}
    assert driven == all_answered() | NOTIFIED


def test_each_method_that_an_agent_may_say_is_heard() -> None:
    heard = {method for drive in DRIVES.values() for method in drive.asked}
    assert heard == {row.name for row in methods_sent_by("agent")} - UNHEARD
