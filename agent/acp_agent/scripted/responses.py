"""What a good agent answers, where a scenario says nothing else.

Source: ACP, Initialization; Session Setup; Session List; Session Modes; Authentication.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from acp_agent.scripted.messages import MODE
from acp_agent.scripted.run import ConnectionState, SessionState
from acp_agent.scripted.scenario import PROMPT, Scenario
from acp_agent.scripted.values import merged
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json, Request

Params: TypeAlias = Mapping[str, Json]
MAX_VERSION: Final = 65535
OPENING: Final = ("session/new", "session/load", "session/resume")
"""Methods behind whose response the client knows a session."""
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


class Responses:
    """The usual responses on one connection."""

    def __init__(self, connection: ConnectionState, scenario: Scenario) -> None:
        self._connection = connection
        self._scenario = scenario
        self._info = scenario.agent
        self._opened = 0
        self._is_logged_in = False
        self._has_begun = False
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
        method, version = request.method, self._connection.version
        handler = self._handlers.get(method)
        if method != "initialize":
            # What the other version has is as unknown as what none has.
            from acp_protocol.schema.methods import find_method

            if not self._has_begun:
                raise RequestFailedError(jsonrpc.INVALID_REQUEST, "The first request is initialize")
            if find_method(method, version, kind="request") is None:
                handler = None
        if handler is None:
            raise RequestFailedError(
                jsonrpc.METHOD_NOT_FOUND, "Method not found", {"method": method}
            )
        return handler(self._checked(request, version))

    def offered(self, session: SessionState) -> dict[str, Json]:
        """Return what a session offers to choose from, as members of the result that opens it."""
        info, messages = self._info, session.messages
        offered: dict[str, Json] = {}
        if info.modes:
            offered = messages.modes(session.mode, info.modes)
        if chosen := self._chosen.get(session.id, list(info.options)):
            offered["configOptions"] = [*offered.get("configOptions", ()), *chosen]
        if self._connection.version >= 2 and info.commands:
            update = messages.commands(info.commands)
            offered["availableCommands"] = update["availableCommands"]
        return offered

    def announced(self, session: SessionState) -> Sequence[Json]:
        """Return the updates that come behind the response that opens a session."""
        if self._connection.version >= 2 or not self._info.commands:
            return ()
        return (session.messages.commands(self._info.commands),)

    def rename(self, session: SessionState, session_id: Json) -> None:
        """Know a session by the id that the scenario gives it."""
        if isinstance(session_id, str) and session_id != session.id:
            del self._connection.sessions[session.id]
            session.id = session.messages.session_id = session_id
            self._connection.sessions[session_id] = session

    def _checked(self, request: Request, version: int) -> Params:
        if not self._info.strict or request.method == "initialize":
            return as_object(request.params)
        # The schema is imported with the first request, not with the start of the agent.
        from acp_protocol.schema.validate import parse_params

        params, problems = parse_params(request.method, request.params, version, kind="request")
        if wrong := [str(problem) for problem in problems if not problem.is_tolerated]:
            raise _invalid("; ".join(wrong))
        return as_object(params)

    def _initialize(self, params: Params) -> Json:
        connection, info = self._connection, self._info
        requested = params.get("protocolVersion")
        if type(requested) is not int or not 0 <= requested <= MAX_VERSION:
            raise _invalid(f"params.protocolVersion is no integer from 0 to {MAX_VERSION}")
        connection.version = max(1, min(requested, self._scenario.protocol))
        is_second = connection.version >= 2
        connection.offers = as_object(
            params.get("capabilities" if is_second else "clientCapabilities")
        )
        self._add_saved_sessions()
        self._has_begun = True
        offers = merged(OFFERS_V2 if is_second else OFFERS_V1, info.capabilities or {})
        if info.auth and not is_second:
            offers = merged({"auth": {"logout": {}}}, offers)
        return {
            "protocolVersion": connection.version,
            "info" if is_second else "agentInfo": {
                "name": info.name,
                "title": info.title,
                "version": info.version,
            },
            "capabilities" if is_second else "agentCapabilities": offers,
            "authMethods": [_login(way, is_second=is_second) for way in info.auth],
        }

    def _add_saved_sessions(self) -> None:
        for saved in self._scenario.session:
            session = self._connection.session(saved.id)
            session.messages = self._connection.messages(saved.id)
            session.cwd = str(Path.cwd()) if saved.cwd is None else saved.cwd
            session.title, session.updated_at = saved.title, saved.updated_at
            session.steps, session.mode, session.is_open = saved.steps, self._first_mode(), False
            self._connection.sessions[saved.id] = session

    def _first_mode(self) -> str:
        return self._info.modes[0] if self._info.modes else ""

    def _log_in(self, params: Params) -> Json:
        ways = [as_object(way).get("id", as_object(way).get("methodId")) for way in self._info.auth]
        if params.get("methodId") not in ways:
            raise _invalid(f"params.methodId: there is no method {params.get('methodId')!r}")
        self._is_logged_in = True
        return {}

    def _log_out(self, params: Params) -> Json:
        del params
        self._is_logged_in = False
        return {}

    def _check_login(self) -> None:
        if self._info.wants_login and not self._is_logged_in:
            raise RequestFailedError(jsonrpc.AUTH_REQUIRED, "Authentication required")

    def _new(self, params: Params) -> Json:
        self._check_login()
        self._opened += 1
        session = self._connection.session(f"session-{self._opened}")
        session.cwd, session.mode = str(params.get("cwd", "/")), self._first_mode()
        self._connection.sessions[session.id] = session
        return {"sessionId": session.id, **self.offered(session)}

    def _open(self, params: Params) -> Json:
        self._check_login()
        session = self._known(params)
        session.is_open = True
        return self.offered(session)

    def _list(self, params: Params) -> Json:
        cwd, cursor = params.get("cwd"), params.get("cursor")
        listed = [
            _list_entry(session)
            for session in self._connection.sessions.values()
            if cwd is None or session.cwd == cwd
        ]
        begin = int(cursor) if isinstance(cursor, str) and cursor.isdecimal() else 0
        end = begin + (self._info.page or len(listed))
        more = {"nextCursor": str(end)} if end < len(listed) else {}
        return {"sessions": listed[begin:end], **more}

    def _close(self, params: Params) -> Json:
        connection = self._connection
        if connection.version < 2 or params.get("sessionId") in connection.sessions:
            self._known(params).is_open = False
        return {}

    def _delete(self, params: Params) -> Json:
        self._connection.sessions.pop(str(params.get("sessionId")), None)
        return {}

    def _set_mode(self, params: Params) -> Json:
        session, mode = self._active(params), params.get("modeId")
        if mode not in self._info.modes:
            raise _invalid(f"params.modeId: there is no mode {mode!r}")
        session.mode = str(mode)
        return {}

    def _set_option(self, params: Params) -> Json:
        session, wanted, value = self._active(params), params.get("configId"), params.get("value")
        if wanted == MODE and self._connection.version >= 2 and value in self._info.modes:
            session.mode = str(value)
        else:
            options = self._chosen.setdefault(session.id, [dict(it) for it in self._info.options])
            named = [each for each in options if wanted in {each.get("id"), each.get("configId")}]
            if not named:
                raise _invalid(f"params.configId: there is no option {wanted!r}")
            named[0]["currentValue"] = value
        return {"configOptions": self.offered(session)["configOptions"]}

    def _prompt(self, params: Params) -> Json:
        self._active(params)
        return {"stopReason": "end_turn"}

    def _cancel_part(self, params: Params) -> Json:
        self._active(params)
        raise _invalid("it cannot be cancelled by itself")

    def _known(self, params: Params) -> SessionState:
        session_id = params.get("sessionId")
        sessions = self._connection.sessions
        session = sessions.get(session_id) if isinstance(session_id, str) else None
        if session is None:
            raise _not_found("Session not found", session_id)
        return session

    def _active(self, params: Params) -> SessionState:
        session = self._known(params)
        if not session.is_open:
            raise _not_found("Session is not open", session.id)
        return session


def _invalid(sentence: str) -> RequestFailedError:
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {sentence}")


def _not_found(sentence: str, session_id: Json) -> RequestFailedError:
    return RequestFailedError(jsonrpc.RESOURCE_NOT_FOUND, sentence, {"sessionId": session_id})


def _list_entry(session: SessionState) -> Json:
    more = {"title": session.title, "updatedAt": session.updated_at}
    fields = {name: value for name, value in more.items() if value is not None}
    return {"sessionId": session.id, "cwd": session.cwd, **fields}


def _login(way: Json, *, is_second: bool) -> Json:
    """Return a way to log in as the version has it."""
    fields = as_object(way)
    if is_second and "id" in fields:
        fields = {"type": "agent", "methodId": fields["id"], **fields}
        del fields["id"]
    return fields
