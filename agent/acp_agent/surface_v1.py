"""The agent's side of version 1.

Source: ACP, Initialization; Session Setup; Prompt Turn; Session Modes; Session Config Options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from acp_agent.elicitation import ways_in
from acp_agent.mcp.bridge import Bridge
from acp_agent.params import (
    CONTINUUM,
    Answerer,
    Params,
    busy,
    invalid,
    is_placed,
    markers,
    members_of,
    value_of,
)
from acp_agent.prompts import blocks_of, model_wanted, read_prompt
from acp_agent.session import Session
from acp_agent.sessions.chronicle import Chronicle
from acp_agent.sessions.options import MODE, MODEL, options_for
from acp_agent.surface import Household, Surface
from acp_agent.surface_providers import Providers
from acp_agent.surface_saved import SavedSessions
from acp_agent.surface_told import followed, retell
from acp_agent.updates import Updates, new_message_id
from acp_agent.workspace import Workspace
from acp_protocol.jsonrpc import Json


class SurfaceV1(Surface):
    """Answers the methods of version 1."""

    version = 1

    def __init__(self, household: Household) -> None:
        super().__init__(household)
        self._files: Params = {}
        self._has_terminals = False
        self._shows_notices = self._shows_compactions = False
        self.answerers = {
            "session/new": self._new_session,
            "session/load": self._load_session,
            "session/resume": self._resume_session,
            "session/close": self._close_session,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_config_option,
            "session/prompt": self._prompt,
            **(self._unstable() if household.is_unstable else {}),
            **self.auth.answerers,
            **SavedSessions(self).answerers,
            **_bridge_of(household),
        }

    def initialized(self, params: Params) -> Json:
        """Remember which files the client serves; tell who we are and what we can do."""
        able = members_of(params.get("clientCapabilities"))
        self.ways = ways_in(able)
        terminals = members_of(able.get("auth")).get("terminal")
        self._files = members_of(able.get("fs"))
        self._has_terminals = able.get("terminal") is True
        shown = members_of(able.get("session"))
        self._shows_notices = shown.get("notices") is not None
        self._shows_compactions = shown.get("compaction") is not None
        offers = ["list", "close", "resume", "delete", "additionalDirectories"]
        if self.household.is_unstable:
            offers += ["fork", "archive", "status", "title"]
        # What the Continuum dialect claims, and the published protocol has no word for.
        bridge = {"mcp": True, "mcpCapabilities": {"acp": True}}
        claims = {"_meta": {CONTINUUM: bridge}} if self.household.mcp.configured else {}
        if self.household.is_unstable:
            claims["providers"] = {}
        return {
            "protocolVersion": self.version,
            "agentInfo": self.info(),
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {
                    "image": self.takes_images,
                    "audio": False,
                    "embeddedContext": True,
                },
                "mcpCapabilities": self._reached(),
                "sessionCapabilities": markers(offers),
                **self.auth.claims(),
                **claims,
            },
            "authMethods": self.auth.offered(has_terminal=terminals is True),
        }

    def cancel(self, session: Session) -> None:
        """End the running turn; its prompt is answered with `cancelled`."""
        session.cancel()

    def updates_for(self, chronicle: Chronicle) -> Updates:
        """Return who tells the client of a session."""
        updates = Updates(self.household.staff.client, chronicle.record.id, chronicle)
        updates.shows_notices = self._shows_notices
        updates.shows_compactions = self._shows_compactions
        return updates

    def workspace_for(self, session_id: str, directories: Sequence[Path]) -> Workspace:
        """Return files that are the client's, as far as it serves them."""
        return Workspace(
            session_id,
            directories[0],
            additional=directories[1:],
            client=self.household.staff.client,
            client_reads=self._files.get("readTextFile") is True,
            client_writes=self._files.get("writeTextFile") is True,
            terminal_tasks=self.household.servers.tasks if self._has_terminals else None,
        )

    async def finish(self, session: Session) -> None:
        """End the running turn, and return when it has ended."""
        await session.end()

    def _unstable(self) -> Mapping[str, Answerer]:
        """Return the methods that are not stable yet."""
        providers = Providers(self.household.staff.models).answerers
        return {"session/fork": self._fork_session, **providers}

    def _wanted(self, params: Params) -> dict[str, str]:
        """Return the mode that a new session begins in, which only a dialect can choose."""
        mode = _of_continuum(params).get("mode")
        if mode is None:
            return {}
        options = options_for(self.household.staff.models)
        option = next(each for each in options if each.id == MODE)
        return {MODE: value_of(option, mode, "mode")}

    def _reached(self) -> dict[str, Json]:
        """Return how servers may be reached, beside stdio."""
        return {"http": True, "sse": True} | ({"acp": True} if self.household.is_unstable else {})

    async def _new_session(self, params: Params) -> Json:
        session = await self.new(params, self._wanted(params))
        # Sent behind the answer: before it, the client does not know the session.
        return followed(
            self, session, {"sessionId": session.id, **session.settings()}, session.announce
        )

    async def _load_session(self, params: Params) -> Json:
        if (open_one := self.open.awake.get(params["sessionId"])) is not None:
            _check_free(open_one)
        session = await self.reopened(self._at_home(params))
        await retell(self, session, session.chronicle.told(), session.surroundings)
        record = session.chronicle.current()
        times = {"createdAt": record.created, "updatedAt": record.updated}
        kept = times | {"historyLength": session.history_length}
        history: dict[str, Json] = {"_meta": {CONTINUUM: kept}} if _of_continuum(params) else {}
        return followed(self, session, session.settings() | history, session.announce)

    async def _resume_session(self, params: Params) -> Json:
        session = await self.reopened(self._at_home(params))
        return followed(self, session, session.settings(), session.recall)

    async def _fork_session(self, params: Params) -> Json:
        session = await self.forked(self._at_home(params))
        return followed(
            self, session, {"sessionId": session.id, **session.settings()}, session.recall
        )

    def _at_home(self, params: Params) -> Params:
        """Return `params` with the session's own directory where the client has named none."""
        if not is_placed(params):
            return params
        return {**params, "cwd": self.recorded(params["sessionId"]).cwd}

    async def _close_session(self, params: Params) -> Json:
        if not await self.shut(params["sessionId"]):
            raise self.closed(params["sessionId"])
        return {}

    async def _set_mode(self, params: Params) -> Json:
        async with self.using(params) as session:
            option = session.option(MODE)
            assert option is not None
            await session.choose(option, value_of(option, params["modeId"], "modeId"))
            return {}

    async def _set_config_option(self, params: Params) -> Json:
        async with self.using(params) as session:
            if (option := session.option(params["configId"])) is None:
                raise invalid(f"configId: there is no option {params['configId']!r}")
            await session.choose(option, value_of(option, params["value"], "value"))
            return {"configOptions": session.settings()["configOptions"]}

    async def _prompt(self, params: Params) -> Json:
        async with self.prompting(params) as session:
            if session is None:
                return {"stopReason": "cancelled"}
            with session.tellings.running():
                await _let_answer(session, params)
            blocks = blocks_of(params, session.model)
            _check_free(session)
            hear = partial(session.updates.user, new_message_id(), blocks)
            with self.auth.offering():
                stop = await session.prompt(read_prompt(blocks, session.cwd), hear)
            used = session.take_used()
            return {"stopReason": stop, **(used if self.household.is_unstable else {})}


def _bridge_of(household: Household) -> Mapping[str, Answerer]:
    """Return the methods by which a client reaches servers of ours; none if there are none."""
    mcp = household.mcp
    if not mcp.configured:
        return {}
    bridge = Bridge(
        mcp.configured,
        household.staff.client,
        household.servers.tasks,
        cwd=Path.cwd(),
        new_id=household.new_id,
        limits=mcp.limits,
        allowed=mcp.allowed,
    )
    return bridge.answerers


def _of_continuum(params: Params) -> Params:
    """Return what a client has said in the Continuum dialect alone."""
    return members_of(members_of(params.get("_meta")).get(CONTINUUM))


async def _let_answer(session: Session, params: Params) -> None:
    """Let the model answer that the prompt names, and all that follow."""
    option = session.option(MODEL)
    assert option is not None
    wanted = model_wanted(params, option)
    if wanted is not None and wanted != session.model.name:
        _check_free(session)
        await session.choose(option, wanted)


def _check_free(session: Session) -> None:
    """Refuse what cannot be while a turn runs."""
    if session.is_busy:
        raise busy()
