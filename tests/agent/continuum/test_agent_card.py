"""The agent as registries know it."""

from __future__ import annotations

import json
from typing import Final

import jsonschema
import pytest

from acp_agent.continuum.agent_card import agent_json
from acp_agent.settings.keys import Settings, settings_with
from acp_agent.settings.model import ModelSettings
from acp_protocol.jsonrpc import Json, encode_request
from acp_protocol.version import VERSION
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
    jsonschema.validate(agent_json(Settings()), ENTRY)


def test_it_has_what_the_continuum_router_shows() -> None:
    told = agent_json(settings_with({"agent.name": "Mine", "agent.description": "Does it."}))
    assert (told["displayName"], told["description"]) == ("Mine", "Does it.")
    assert told["version"] == VERSION
    assert told["transport"] == [{"type": "stdio"}]
    assert (told["capabilities"]["loadSession"], told["capabilities"]["mcp"]) == (True, True)


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
    told = agent_json(Settings(model=model, others=others))
    assert told["capabilities"]["image"] == does


def test_it_claims_what_the_agent_itself_claims() -> None:
    asked = encode_request(0, "initialize", {"protocolVersion": 1}) + b"\n"
    able = json.loads(ran(stdin=asked).stdout)["result"]["agentCapabilities"]
    claimed = json.loads(ran("agent-json").stdout)["capabilities"]
    prompts = able["promptCapabilities"]
    assert claimed == {
        "loadSession": able["loadSession"],
        "image": prompts["image"],
        "audio": prompts["audio"],
        "embeddedContext": prompts["embeddedContext"],
        "mcp": able["mcpCapabilities"] != {},
    }


def test_both_call_it_what_its_user_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_AGENT_AGENT_NAME", "Ada's coder")
    asked = encode_request(0, "initialize", {"protocolVersion": 1}) + b"\n"
    told = json.loads(ran(stdin=asked).stdout)["result"]["agentInfo"]
    listed = json.loads(ran("agent-json").stdout)
    assert (told["name"], told["title"]) == ("acp-agent", "Ada's coder")
    assert (listed["id"], listed["name"]) == (told["name"], told["title"])
