"""Handlers of version 1.

Source: ACP, Initialization; Session Setup; Prompt Turn; Session Modes; Session Config Options.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from acp_agent.handlers.base import Handlers, session_busy
from acp_agent.handlers.params import (
    Handler,
    Params,
    markers,
    option_value,
    prompt_blocks,
)
from acp_agent.options import MODE, options_for
from acp_agent.sessions.session import AgentSession
from acp_agent.store.log import SessionLog
from acp_agent.turn.prompt import read_prompt
from acp_agent.updates.v1 import SessionUpdates, new_message_id
from acp_agent.world.elicitation import supported_modes
from acp_protocol.json_values import get_object
from acp_protocol.jsonrpc import Json


class HandlersV1(Handlers):
    """Handles the methods of version 1."""

    version = 1

    _shows_notices = _shows_compactions = False

    def own_handlers(self) -> Mapping[str, Handler]:
        return {
            "session/load": self._load_session,
            "session/set_mode": self._set_mode,
            **self.dialect.methods(self.services, self.client, self.tasks),
        }

    def initialized(self, params: Params) -> Json:
        """Store the capabilities of the client; return those of the agent."""
        capabilities = get_object(params, "clientCapabilities")
        self.elicitation_modes = supported_modes(capabilities)
        has_terminal = get_object(capabilities, "auth").get("terminal") is True
        self.client_files = get_object(capabilities, "fs")
        self.has_terminals = capabilities.get("terminal") is True
        session = get_object(capabilities, "session")
        self._shows_notices = session.get("notices") is not None
        self._shows_compactions = session.get("compaction") is not None
        offered = self.services.settings.capabilities
        methods = ["list", "close", "delete", "additionalDirectories"]
        methods += ["resume"] if offered.load_session else []
        servers: dict[str, Json] = {"http": True, "sse": True}
        extensions = self.dialect.capabilities(self.services)
        methods += ["fork"] if self.has_forks else []
        if self.is_unstable:
            methods += ["archive", "status", "title"]
            servers["acp"] = True
            extensions["providers"] = {}
        return {
            "protocolVersion": self.version,
            "agentInfo": self.info(),
            "agentCapabilities": {
                "loadSession": offered.load_session,
                "promptCapabilities": {
                    "image": self.takes_images,
                    "audio": False,
                    "embeddedContext": offered.embedded_context,
                },
                "mcpCapabilities": servers,
                "sessionCapabilities": markers(methods),
                **self.auth.capabilities(),
                **extensions,
            },
            "authMethods": self.auth.listed_methods(has_terminal=has_terminal),
        }

    def cancel(self, session: AgentSession) -> None:
        """Cancel the running turn; its prompt ends with `cancelled`."""
        session.cancel()

    def updates_for(self, log: SessionLog) -> SessionUpdates:
        updates = SessionUpdates(self.client, log.record.id, log)
        updates.shows_notices = self._shows_notices
        updates.shows_compactions = self._shows_compactions
        return updates

    def initial_settings(self, params: Params) -> dict[str, str]:
        """Return the initial mode of a session, which only a dialect can set."""
        self._adopt_dialect(params)
        if (mode := self.dialect.fields(params).get("mode")) is None:
            return {}
        option = next(each for each in options_for(self.services.models) if each.id == MODE)
        return {MODE: option_value(option, mode, "mode")}

    def result_for(self, session: AgentSession) -> dict[str, Json]:
        return session.settings()

    async def announce(self, session: AgentSession, *, is_new: bool) -> None:
        await (session.announce if is_new else session.send_context)()

    def _adopt_dialect(self, params: Params) -> None:
        if self.dialect.fields(params):
            self.services = self.dialect.services_for_client(self.services)

    async def _load_session(self, params: Params) -> Json:
        self._adopt_dialect(params)
        if (open_one := self.sessions.awake.get(params["sessionId"])) is not None:
            _check_free(open_one)
        session = await self.reopen(params)
        await self.replay(session, session.log.replayable(), session.context_updates)
        result = session.settings()
        if self.dialect.fields(params):
            result |= await self.dialect.loaded(session)
        return self.respond_then(session, result, session.announce)

    async def _resume_session(self, params: Params) -> Json:
        session = await self.reopen(params)
        return self.respond_then(session, session.settings(), session.send_context)

    async def _close_session(self, params: Params) -> Json:
        if not await self.sessions.close(params["sessionId"]):
            raise await self.not_open(params["sessionId"])
        return {}

    async def _set_mode(self, params: Params) -> Json:
        async with self.using(params) as session:
            if self.dialect.fields(params):
                self._adopt_dialect(params)
                session.adopt_policy(self.services.permissions)
            option = session.option(MODE)
            assert option is not None
            await session.set_option(option, option_value(option, params["modeId"], "modeId"))
            return {}

    async def _prompt(self, params: Params) -> Json:
        async with self.prompting(params) as session:
            if session is None:
                return {"stopReason": "cancelled"}
            with session.tasks.running():
                await self.dialect.begin_prompt(session, params)
            blocks = prompt_blocks(params, session.model, self.offered_content)
            _check_free(session)
            record = partial(session.updates.user, new_message_id(), blocks)
            with self.auth.with_methods():
                stop = await session.prompt(read_prompt(blocks, session.cwd), record)
            usage = session.take_turn_usage()
            return {"stopReason": stop, **(usage if self.is_unstable else {})}


def _check_free(session: AgentSession) -> None:
    if session.is_busy:
        raise session_busy()
