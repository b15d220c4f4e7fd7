"""What the clients of another product send and expect beside the protocol."""

from __future__ import annotations

from collections.abc import Mapping

from anyio.abc import TaskGroup

from acp_agent.handlers.params import Handler, Params
from acp_agent.services import AgentServices
from acp_agent.sessions.session import AgentSession
from acp_agent.world.elicitation import SessionClient
from acp_protocol.json_values import get_object
from acp_protocol.jsonrpc import Json


class ClientDialect:
    """The additions of one product to version 1; this one has none."""

    name = ""
    """The member of `_meta` that holds the fields of its requests."""
    has_forks = False
    """Whether sessions can be forked without `--unstable`."""

    def is_used(self, params: Params) -> bool:
        """Return whether a client sent params in this dialect."""
        return bool(self.name) and self.name in get_object(params, "_meta")

    def fields(self, params: Params) -> Params:
        """Return what the dialect adds to params."""
        return get_object(get_object(params, "_meta"), self.name)

    def capabilities(self, services: AgentServices) -> dict[str, Json]:
        """Return what is added to the capabilities of the agent."""
        return {}

    def methods(
        self, services: AgentServices, client: SessionClient, tasks: TaskGroup
    ) -> Mapping[str, Handler]:
        """Return the handlers of further methods."""
        return {}

    def services_for_client(self, services: AgentServices) -> AgentServices:
        """Return the services for a client that uses the dialect."""
        return services

    async def loaded(self, session: AgentSession) -> dict[str, Json]:
        """Return what is added to the result of loading a session."""
        return {}

    async def begin_prompt(self, session: AgentSession, params: Params) -> None:
        """Prepare a session for a prompt."""
