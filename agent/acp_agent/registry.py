"""The agent as registries and routers know it: `agent.json`.

One document for two readers. The registry of the protocol wants `id`, `name`, `version`,
`description` and `distribution`; the Continuum Router shows `displayName`, `transport` and
`capabilities` besides.

Source: ACP Registry, "Registry Format" and `agent.schema.json`; Continuum Router, ACP, "Agent
Registry Metadata".
"""

from __future__ import annotations

from typing import Final

from acp_agent.config.configuration import Configuration
from acp_agent.models.choice import looks_at_images
from acp_protocol.jsonrpc import Json
from acp_protocol.version import VERSION

ID: Final = "acp-agent"
PACKAGE: Final = "acp-console"
"""The distribution that the agent comes with; its command runs the agent with `agent` behind it."""


def agent_json(configuration: Configuration) -> dict[str, Json]:
    """Return what a registry is told of the agent, as it is configured."""
    agent = configuration.agent
    return {
        "id": ID,
        "name": agent.name,
        "displayName": agent.name,
        "version": VERSION,
        "description": agent.description,
        "license": "MIT",
        "distribution": {"uvx": {"package": f"{PACKAGE}=={VERSION}", "args": ["agent"]}},
        "transport": [{"type": "stdio"}],
        "capabilities": capabilities(configuration),
    }


def capabilities(configuration: Configuration) -> dict[str, Json]:
    """Return what the agent can do, in the words of the Continuum Router."""
    choices = (configuration.model, *configuration.others)
    return {
        "loadSession": True,
        "image": any(looks_at_images(choice) for choice in choices),
        "audio": False,
        "embeddedContext": True,
        "mcp": True,
    }
