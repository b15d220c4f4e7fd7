"""Each method that our agent answers and asks, driven by the official Python SDK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from acp_agent.mcp.declarations import StdioServer
from acp_agent.mcp.servers import McpClient, McpSettings
from acp_agent.models.choice import ModelChoice, chosen
from acp_agent.models.demo import DemoModel
from acp_agent.session import Staff
from acp_agent.sessions.store import Store
from acp_agent.surface import Household
from acp_agent.surface_v1 import SurfaceV1
from acp_inspector.lint.engine import lint
from acp_inspector.recording.reader import Recording
from acp_protocol.schema.methods import methods_sent_by
from tests.interop.published import misfits
from tests.interop.python_sdk_drives import DRIVES, ridden

NOTIFIED = {"session/cancel"}
"""What a client says without a question, and our agent takes note of."""
UNHEARD = {"proxy/successor"}
"""What is no business of an agent: proxies say it to each other."""


def said(recording: Recording, side: str) -> set[str]:
    frames = [json.loads(frame.raw) for frame in recording.frames if frame.side == side]
    return {frame["method"] for frame in frames if "method" in frame}


def all_answered() -> set[str]:
    """Return each method that our agent answers, however it is started."""
    nobody = cast("Any", None)
    models = (DemoModel(), chosen(ModelChoice(name="openai:some"), {}))
    household = Household(
        Staff(nobody, models, 0.0),
        Store(),
        lambda: "id",
        McpClient(nobody, nobody),
        is_unstable=True,
        mcp=McpSettings(configured=(StdioServer("some", ("some",)),)),
        auth="required",
    )
    return {"initialize", *SurfaceV1(household).answerers}


@pytest.mark.parametrize("name", DRIVES)
async def test_what_the_sdk_drives_is_right_by_schema_and_rules(
    name: str, tmp_path: Path, shared: Path
) -> None:
    drive = DRIVES[name]
    recording = await ridden(name, tmp_path)
    assert recording.faults == ()
    assert said(recording, "client") == drive.methods
    assert said(recording, "agent") == drive.asked
    if not drive.is_published:
        return
    assert misfits(recording, shared) == []
    report = lint(recording.entries, unstable="--unstable" in drive.options)
    assert not report.failed
    assert [each.message for each in report.findings if each.severity == "error"] == []


def test_each_method_that_our_agent_answers_is_driven() -> None:
    driven = {method for drive in DRIVES.values() for method in drive.methods}
    assert driven == all_answered() | NOTIFIED


def test_each_method_that_an_agent_may_say_is_heard() -> None:
    heard = {method for drive in DRIVES.values() for method in drive.asked}
    assert heard == {row.name for row in methods_sent_by("agent")} - UNHEARD
