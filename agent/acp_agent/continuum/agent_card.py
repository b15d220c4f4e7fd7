"""The agent's entry for registries and routers: `agent.json`.

The document has two readers. The registry of the protocol reads `id`, `name`, `version`,
`description` and `distribution`; Continuum Router also shows `displayName`, `transport` and
`capabilities`.

Source: ACP Registry, "Registry Format" and `agent.schema.json`; Continuum Router, ACP, "Agent
Registry Metadata".
"""

from __future__ import annotations

from typing import Final

from acp_agent.mcp.servers import McpSettings
from acp_agent.models.factory import takes_images_by_settings
from acp_agent.settings.keys import Settings
from acp_protocol.jsonrpc import Json
from acp_protocol.version import VERSION

ID: Final = "acp-agent"
PACKAGE: Final = "acp-console"
"""The distribution; its command runs the agent as `acp-console agent`."""


def agent_json(settings: Settings, mcp: McpSettings) -> dict[str, Json]:
    """Return the entry of the agent as it is configured, with its MCP servers."""
    agent = settings.agent
    return {
        "id": ID,
        "name": agent.name,
        "displayName": agent.name,
        "version": settings.agent.version or VERSION,
        "description": agent.description,
        "license": "MIT",
        "distribution": {"uvx": {"package": f"{PACKAGE}=={VERSION}", "args": ["agent"]}},
        "transport": [{"type": "stdio"}],
        "capabilities": capabilities(settings, mcp),
    }


def capabilities(settings: Settings, mcp: McpSettings) -> dict[str, Json]:
    """Return what the agent can do, in the words of Continuum Router."""
    choices, offered = (settings.model, *settings.others), settings.capabilities
    return {
        "loadSession": offered.load_session,
        "image": offered.image and any(map(takes_images_by_settings, choices)),
        "audio": False,
        "embeddedContext": offered.embedded_context,
        "mcp": has_bridge(settings, mcp),
    }


def has_bridge(settings: Settings, mcp: McpSettings) -> bool:
    """Return whether clients can reach MCP servers through the agent."""
    return settings.capabilities.mcp and bool(mcp.configured)
