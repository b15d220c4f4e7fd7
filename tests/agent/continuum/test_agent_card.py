"""The agent as registries know it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import jsonschema
import pytest

from acp_agent.continuum.agent_card import agent_json
from acp_agent.continuum.config import read_config
from acp_agent.door.server import AgentServer
from acp_agent.mcp.servers import McpSettings
from acp_agent.services import build_services
from acp_agent.settings.keys import Settings, settings_with
from acp_agent.settings.load import load_settings
from acp_agent.settings.model import ModelSettings
from acp_protocol import jsonrpc
from acp_protocol.dialects.registry import open_dialect
from acp_protocol.jsonrpc import Json, encode_request
from acp_protocol.version import VERSION
from tests.agent.client import connected
from tests.agent.continuum.admin_client import admin_client, serving_admin
from tests.agent.test_cli import ran

PACKAGE: Final[Json] = {
    "type": "object",
    "required": ["package"],
    "properties": {
        "package": {"type": "string", "minLength": 1},
        "args": {"type": "array", "items": {"type": "string"}},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "additionalProperties": False,
}
ENTRY: Final[Json] = {
    "type": "object",
    "required": ["id", "name", "version", "description", "distribution"],
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z][a-z0-9-]*$"},
        "name": {"type": "string", "minLength": 1},
        "version": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+"},
        "description": {"type": "string", "minLength": 1},
        "license": {"type": "string"},
        "distribution": {
            "type": "object",
            "minProperties": 1,
            "properties": {"npx": PACKAGE, "uvx": PACKAGE},
            "additionalProperties": False,
        },
    },
}
"""What the registry of the protocol wants of an entry, in the words of its `agent.schema.json`."""


def test_the_registry_of_the_protocol_takes_it() -> None:
    jsonschema.validate(agent_json(Settings(), McpSettings()), ENTRY)


def test_it_has_what_the_continuum_router_shows() -> None:
    mine = {"agent.name": "Mine", "agent.description": "Does it."}
    told = agent_json(settings_with(mine), McpSettings())
    assert (told["displayName"], told["description"]) == ("Mine", "Does it.")
    assert told["version"] == VERSION
    assert told["transport"] == [{"type": "stdio"}]
    assert (told["capabilities"]["loadSession"], told["capabilities"]["mcp"]) == (True, False)


@pytest.mark.parametrize(
    ("model", "others", "does"),
    [
        (ModelSettings(name="openai:x"), (), True),
        (ModelSettings(name="ollama:x"), (), False),
        (ModelSettings(name="ollama:x", images=True), (), True),
        (ModelSettings(name="openai:x", images=False), (), False),
        (ModelSettings(name="ollama:x"), (ModelSettings(name="openai:x"),), True),
    ],
)
def test_images_are_looked_at_if_a_model_does(
    model: ModelSettings, others: tuple[ModelSettings, ...], does: bool
) -> None:
    told = agent_json(Settings(model=model, others=others), McpSettings())
    assert told["capabilities"]["image"] == does


FILE = """
acp:
  agent:
    version: 3.2.1
  capabilities:
    load_session: {}
    image: {}
    audio: false
    embedded_context: {}
    mcp: {}
  mcp:
    servers:
      files:
        command: "true"
"""


@pytest.mark.parametrize("is_on", [True, False])
async def test_all_places_claim_what_the_configuration_offers(is_on: bool, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(FILE.replace("{}", str(is_on).lower()))
    settings = load_settings(read_config(path), {}, {}).settings()
    services = build_services(settings, {})
    claimed = agent_json(settings, services.mcp)
    async with serving_admin(agent=AgentServer(services)) as opened, admin_client(opened) as it:
        status = (await it.get("/admin/acp/status")).json()
    router = open_dialect("continuum", str(tmp_path))
    offered = {f"capabilities.{name}": value for name, value in settings.capabilities}
    configured = offered | {"agent.version": settings.agent.version}
    async with connected(tmp_path, dialect=router, settings=configured, mcp=services.mcp) as client:
        told = client.initialized
        able = told["agentCapabilities"]
        names = ("loadSession", "image", "audio", "embeddedContext", "mcp")
        assert {name: able[name] for name in names} == {
            name: is_on and name != "audio" for name in names
        }
        assert claimed["capabilities"] == status["capabilities"]
        assert claimed["capabilities"] == {name: able[name] for name in names}
        versions = {told["agentInfo"]["version"], claimed["version"], status["version"]}
        assert versions == {"3.2.1"}
        if not is_on:
            opened_ = await client.ask("session/new", mode="code")
            session = opened_["sessionId"]
            for method in ("session/load", "session/resume", "mcp/connect"):
                refusal = await client.refusal(method, sessionId=session, id="files")
                assert refusal.code == jsonrpc.METHOD_NOT_FOUND
            for block in (
                {"type": "resource", "resource": {"uri": "file:///a", "text": "a"}},
                {"type": "image", "mediaType": "image/png", "data": "aGk="},
            ):
                prompt: Json = {"sessionId": session, "content": [block]}
                refusal = await client.refusal("session/prompt", **prompt)
                assert refusal.message.endswith("was not offered")


def test_both_call_it_what_its_user_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_AGENT_AGENT_NAME", "Ada's coder")
    asked = encode_request(0, "initialize", {"protocolVersion": 1}) + b"\n"
    told = json.loads(ran(stdin=asked).stdout)["result"]["agentInfo"]
    listed = json.loads(ran("agent-json").stdout)
    assert (told["name"], told["title"]) == ("acp-agent", "Ada's coder")
    assert (listed["id"], listed["name"]) == (told["name"], told["title"])
