"""The dialect of OpenOxide: slash commands when the connection opens, and forks.

Source: OpenOxide, "ACP Server".
"""

from __future__ import annotations

from acp_agent.handlers.dialect import ClientDialect
from acp_agent.services import AgentServices
from acp_agent.turn.slash_commands import available_commands
from acp_protocol.dialects.openoxide import Openoxide, write_commands
from acp_protocol.jsonrpc import Json


class OpenOxideDialect(ClientDialect):
    """What clients of OpenOxide expect."""

    name = Openoxide.name
    has_forks = True

    def capabilities(self, services: AgentServices) -> dict[str, Json]:
        namespace = services.settings.agent.namespace
        commands = available_commands(services.models[0], f"{namespace}:" if namespace else "")
        listed = [(command.name, command.description) for command in commands]
        return {"_meta": {self.name: {"slash_commands": write_commands(listed)}}}
