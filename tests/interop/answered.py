"""What our agent answers, however it is started, and what was said in a recording."""

from __future__ import annotations

import json
from typing import Any, cast

from acp_agent.continuum.dialect import ContinuumDialect
from acp_agent.door.server import AgentServer
from acp_agent.mcp.declarations import StdioServer
from acp_agent.mcp.servers import McpSettings
from acp_agent.models.demo import DemoModel
from acp_agent.models.factory import create_model
from acp_agent.services import AgentServices
from acp_agent.settings.keys import settings_with
from acp_agent.settings.model import ModelSettings
from acp_inspector.recording.reader import Recording

NOTIFIED = {"session/cancel", "mcp/message"}
"""What a client says without a question, and our agent takes note of."""


def said(recording: Recording, side: str) -> set[str]:
    """Return the methods that one side has used."""
    frames = [json.loads(frame.data) for frame in recording.frames if frame.side == side]
    return {frame["method"] for frame in frames if "method" in frame}


def all_answered(version: int = 1) -> set[str]:
    """Return each method that our agent answers in a version of the protocol."""
    nobody = cast("Any", None)
    models = (DemoModel(), create_model(ModelSettings(name="openai:some"), {}))
    settings = settings_with({"protocol.unstable": True, "auth.mode": "required"})
    mcp = McpSettings(configured=(StdioServer("some", ("some",)),))
    services = AgentServices(settings=settings, models=models, mcp=mcp)
    server = AgentServer(services, [ContinuumDialect()])
    server.connection = server.tasks = nobody
    return {"initialize", *server.new_handlers(version).handlers}
