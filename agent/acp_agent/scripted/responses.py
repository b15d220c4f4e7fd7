"""What a good agent answers, where a scenario says nothing else.

Source: ACP, Initialization; Session Setup; Session List; Session Modes; Authentication.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from acp_agent.scripted.messages import MODE, MessagesV1, MessagesV2
from acp_agent.scripted.run import ConnectionState, SessionState
from acp_agent.scripted.scenario import PROMPT, Scenario
from acp_agent.scripted.values import members, merged
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json, Request

Params: TypeAlias = Mapping[str, Json]
GREATEST: Final = 65535
"""The greatest valid version number."""
OPENING: Final = ("session/new", "session/load", "session/resume")
"""Methods behind whose answer the client knows a session."""
OFFERS_V1: Final[Json] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
}
OFFERS_V2: Final[Json] = {
    "session": {
        "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
        "mcp": {"stdio": {}, "http": {}},
        "delete": {},
    }
}


def words_of(version: int) -> type[MessagesV1]:
    """Return the words of a version."""
    return MessagesV2 if version >= 2 else MessagesV1


class Responses:
    """The usual answers on one connection."""

    def __init__(self, connection: ConnectionState, scenario: Scenario) -> None:
        self._talk = connection
        self._scenario = scenario
        self._card = scenario.card
        self._opened = 0
        self._is_logged_in = False
        self.has_begun = False
        """Whether a version was agreed on."""
        self._chosen: dict[str, list[Json]] = {}
        """The options of each session, with what was chosen."""
        self._handlers: Mapping[str, Callable[[Params], Json]] = {
            "initialize": self._initialize,
            "authenticate": self._log_in,
            "auth/login": self._log_in,
            "logout": self._log_out,
            "auth/logout": self._log_out,
            "session/new": self._new,
            "session/load": self._open,
            "session/resume": self._open,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
            "tool_call/cancel": self._cancel_part,
            "terminal/cancel": self._cancel_part,
            PROMPT: self._prompt,
        }

    def result(self, request: Request) -> Json:
        """Return the usual result of a request, which changes what is known of sessions.

        Raises:
            RequestFailedError: a good agent refuses it.
        """
        handler = self._handlers.get(request.method)
        version = self._talk.version
        if request.method != "initialize":
            # What the other version has is as unknown as what none has.
            from acp_protocol.schema.methods import find_method

            if not self.has_begun:
                raise RequestFailedError(jsonrpc.INVALID_REQUEST, "The first request is initialize")
            if find_method(request.method, version, kind="request") is None:
                handler = None
        if handler is None:
            raise RequestFailedError(
                jsonrpc.METHOD_NOT_FOUND, "Method not found", {"method": request.method}
            )
        return handler(self._checked(request, version))

    def offered(self, session: SessionState) -> dict[str, Json]:
        """Return what a session offers to choose from, as members of the answer that opens it."""
        card, version = self._card, self._talk.version
        offered: dict[str, Json] = {}
        if card.modes:
            offered = session.words.modes(session.mode, card.modes)
        if chosen := self._chosen.get(session.id, list(card.options)):
            offered["configOptions"] = [*offered.get("configOptions", ()), *chosen]
        if version >= 2 and card.commands:
            offered["availableCommands"] = session.words.commands(card.commands)[
                "availableCommands"
            ]
        return offered

    def announced(self, session: SessionState) -> Sequence[Json]:
        """Return the updates that come behind the answer that opens a session."""
        if self._talk.version >= 2 or not self._card.commands:
            return ()
        return (session.words.commands(self._card.commands),)

    def rename(self, session: SessionState, session_id: Json) -> None:
        """Know a session by the id that the scenario gives it."""
        if isinstance(session_id, str) and session_id != session.id:
            del self._talk.sessions[session.id]
            session.id = session.words.session_id = session_id
            self._talk.sessions[session_id] = session

    def _checked(self, request: Request, version: int) -> Params:
        if not self._card.is_strict or request.method == "initialize":
            return members(request.params)
        # The shapes come in with the first request, not with the start of the agent.
        from acp_protocol.schema.validate import parse_params

        params, problems = parse_params(request.method, request.params, version, kind="request")
        if wrong := [str(problem) for problem in problems if not problem.is_tolerated]:
            raise invalid("; ".join(wrong))
        return members(params)

    def _initialize(self, params: Params) -> Json:
        connection, card = self._talk, self._card
        requested = params.get("protocolVersion")
        if type(requested) is not int or not 0 <= requested <= GREATEST:
            raise invalid(f"params.protocolVersion is no integer from 0 to {GREATEST}")
        connection.version = max(1, min(requested, self._scenario.newest))
        is_second = connection.version >= 2
        connection.offers = members(
            params.get("capabilities" if is_second else "clientCapabilities")
        )
        self._know_saved()
        self.has_begun = True
        offers = OFFERS_V2 if is_second else OFFERS_V1
        info = {"name": card.name, "title": card.title, "version": card.version}
        offers = offers if card.capabilities is None else merged(offers, card.capabilities)
        if card.auth and not is_second:
            offers = merged({"auth": {"logout": {}}}, offers)
        return {
            "protocolVersion": connection.version,
            "info" if is_second else "agentInfo": info,
            "capabilities" if is_second else "agentCapabilities": offers,
            "authMethods": [_spelled(way, is_second=is_second) for way in card.auth],
        }

    def _know_saved(self) -> None:
        for saved in self._scenario.sessions:
            place = self._talk.place(saved.id)
            place.words = words_of(self._talk.version)(saved.id)
            place.cwd = str(Path.cwd()) if saved.cwd is None else saved.cwd
            place.title, place.updated_at = saved.title, saved.updated_at
            place.steps, place.mode, place.is_open = saved.steps, self._first_mode(), False
            self._talk.sessions[saved.id] = place

    def _first_mode(self) -> str:
        return self._card.modes[0] if self._card.modes else ""

    def _log_in(self, params: Params) -> Json:
        ways = [members(way).get("id", members(way).get("methodId")) for way in self._card.auth]
        if params.get("methodId") not in ways:
            raise invalid(f"params.methodId: there is no method {params.get('methodId')!r}")
        self._is_logged_in = True
        return {}

    def _log_out(self, params: Params) -> Json:
        del params
        self._is_logged_in = False
        return {}

    def _new(self, params: Params) -> Json:
        if self._card.wants_login and not self._is_logged_in:
            raise RequestFailedError(jsonrpc.AUTH_REQUIRED, "Authentication required")
        self._opened += 1
        session_id = f"session-{self._opened}"
        place = self._talk.place(session_id)
        place.cwd, place.mode = str(params.get("cwd", "/")), self._first_mode()
        self._talk.sessions[session_id] = place
        return {"sessionId": session_id, **self.offered(place)}

    def _open(self, params: Params) -> Json:
        if self._card.wants_login and not self._is_logged_in:
            raise RequestFailedError(jsonrpc.AUTH_REQUIRED, "Authentication required")
        place = self._known(params)
        place.is_open = True
        return self.offered(place)

    def _list(self, params: Params) -> Json:
        cwd, cursor = params.get("cwd"), params.get("cursor")
        listed = [
            _listed(place)
            for place in self._talk.sessions.values()
            if cwd is None or place.cwd == cwd
        ]
        begin = int(cursor) if isinstance(cursor, str) and cursor.isdecimal() else 0
        end = begin + (self._card.page or len(listed))
        more = {"nextCursor": str(end)} if end < len(listed) else {}
        return {"sessions": listed[begin:end], **more}

    def _close(self, params: Params) -> Json:
        if self._talk.version < 2 or params.get("sessionId") in self._talk.sessions:
            self._known(params).is_open = False
        return {}

    def _delete(self, params: Params) -> Json:
        self._talk.sessions.pop(str(params.get("sessionId")), None)
        return {}

    def _set_mode(self, params: Params) -> Json:
        place, mode = self._active(params), params.get("modeId")
        if mode not in self._card.modes:
            raise invalid(f"params.modeId: there is no mode {mode!r}")
        place.mode = str(mode)
        return {}

    def _set_option(self, params: Params) -> Json:
        place, wanted, value = self._active(params), params.get("configId"), params.get("value")
        if wanted == MODE and self._talk.version >= 2 and value in self._card.modes:
            place.mode = str(value)
            return {"configOptions": self.offered(place)["configOptions"]}
        options = self._chosen.setdefault(place.id, [dict(each) for each in self._card.options])
        named = [each for each in options if wanted in {each.get("id"), each.get("configId")}]
        if not named:
            raise invalid(f"params.configId: there is no option {wanted!r}")
        named[0]["currentValue"] = value
        return {"configOptions": self.offered(place)["configOptions"]}

    def _prompt(self, params: Params) -> Json:
        self._active(params)
        return {"stopReason": "end_turn"}

    def _cancel_part(self, params: Params) -> Json:
        self._active(params)
        raise invalid("it cannot be cancelled by itself")

    def _known(self, params: Params) -> SessionState:
        session_id = params.get("sessionId")
        place = self._talk.sessions.get(session_id) if isinstance(session_id, str) else None
        if place is None:
            data = {"sessionId": session_id}
            raise RequestFailedError(jsonrpc.RESOURCE_NOT_FOUND, "Session not found", data)
        return place

    def _active(self, params: Params) -> SessionState:
        place = self._known(params)
        if not place.is_open:
            data = {"sessionId": place.id}
            raise RequestFailedError(jsonrpc.RESOURCE_NOT_FOUND, "Session is not open", data)
        return place


def invalid(sentence: str) -> RequestFailedError:
    """Return the error about params that make no sense."""
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {sentence}")


def _listed(place: SessionState) -> Json:
    more = {"title": place.title, "updatedAt": place.updated_at}
    fields = {name: value for name, value in more.items() if value is not None}
    return {"sessionId": place.id, "cwd": place.cwd, **fields}


def _spelled(way: Json, *, is_second: bool) -> Json:
    """Return a way to log in as the version spells it."""
    fields = members(way)
    if is_second and "id" in fields:
        fields = {"type": "agent", "methodId": fields["id"], **fields}
        del fields["id"]
    return fields
