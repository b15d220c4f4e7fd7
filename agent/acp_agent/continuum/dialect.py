"""The dialect of Continuum Router: modes and models in requests, its policy, its MCP bridge.

Source: Continuum Router, ACP, "Permission Options", "MCP-over-ACP Bridge".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from anyio.abc import TaskGroup

from acp_agent.continuum.agent_card import has_bridge
from acp_agent.continuum.mcp_bridge import Bridge
from acp_agent.continuum.policy import router_policy
from acp_agent.handlers.base import session_busy
from acp_agent.handlers.dialect import ClientDialect
from acp_agent.handlers.params import Handler, Params, invalid_params, option_value
from acp_agent.models.demo import DemoModel
from acp_agent.models.types import ReplyOptions
from acp_agent.options import MODEL
from acp_agent.services import AgentServices
from acp_agent.sessions.session import AgentSession
from acp_agent.settings.model import MAX_TEMPERATURE, parse_temperature
from acp_agent.world.elicitation import SessionClient
from acp_protocol.jsonrpc import Json


class ContinuumDialect(ClientDialect):
    """What clients of Continuum Router send and expect."""

    name = "continuum"

    def capabilities(self, services: AgentServices) -> dict[str, Json]:
        if not has_bridge(services.settings, services.mcp):
            return {}
        # The published protocol has no field for it.
        return {"_meta": {self.name: {"mcp": True, "mcpCapabilities": {"acp": True}}}}

    def methods(
        self, services: AgentServices, client: SessionClient, tasks: TaskGroup
    ) -> Mapping[str, Handler]:
        mcp = services.mcp
        if not has_bridge(services.settings, mcp):
            return {}
        bridge = Bridge(
            mcp.configured,
            client,
            tasks,
            cwd=Path.cwd(),
            new_id=services.new_id,
            limits=mcp.limits,
            allowed=mcp.allowed,
        )
        return bridge.handlers

    def services_for_client(self, services: AgentServices) -> AgentServices:
        if not services.permissions.code_allows:
            return services
        return replace(services, permissions=router_policy(services.permissions))

    async def loaded(self, session: AgentSession) -> dict[str, Json]:
        record = await session.log.current()
        fields = {
            "createdAt": record.created,
            "updatedAt": record.updated,
            "historyLength": session.history_length,
        }
        return {"_meta": {self.name: fields}}

    async def begin_prompt(self, session: AgentSession, params: Params) -> None:
        """Choose the model that a prompt names, and how it replies to this prompt.

        The model is that of the following prompts, too. The name of the provider may be left out.
        The demo stands in for every model.

        Raises:
            RequestFailedError: there is no such model, an option is invalid, or a turn runs.
        """
        fields = self.fields(params)
        options = _reply_options(fields)
        await self._choose_model(session, fields.get("model"))
        if not session.is_busy:
            session.set_reply_options(options)

    async def _choose_model(self, session: AgentSession, requested: Json) -> None:
        option = session.option(MODEL)
        assert option is not None
        names = [choice.value for choice in option.choices]
        is_demo = names == [DemoModel.name] and isinstance(requested, str)
        if requested is None or is_demo:
            return
        same = [name for name in names if requested and name.partition(":")[2] == requested]
        is_short = requested not in names and len(same) == 1
        wanted = option_value(option, same[0] if is_short else requested, "model")
        if wanted != session.model.name:
            if session.is_busy:
                raise session_busy()
            await session.set_option(option, wanted)


def _reply_options(fields: Params) -> ReplyOptions:
    """Return what a prompt wants of its reply.

    Raises:
        RequestFailedError: an option is invalid.
    """
    temperature, limit, stream = map(fields.get, ("temperature", "maxTokens", "stream"))
    try:
        temperature = None if temperature is None else parse_temperature(temperature)
    except ValueError:
        raise invalid_params(
            f"temperature must be a number from 0 to {MAX_TEMPERATURE:g}"
        ) from None
    if limit is not None and (type(limit) is not int or limit < 1):
        raise invalid_params("maxTokens must be a whole number of at least 1")
    if stream is not None and type(stream) is not bool:
        raise invalid_params("stream must be true or false")
    return ReplyOptions(temperature, limit, stream)
