"""Runs a script for one client: what a correct agent does, and the script's functions before it.

Source: ACP, Initialization; Session Setup; Session List; Session Modes; Authentication; Prompt
Turn; ACP version 2, Prompt Lifecycle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

import anyio

from acp_agent.options import MODE
from acp_agent.scripted.call import Call, PromptCall, ScriptedOutcome
from acp_agent.scripted.kit import Script, ScriptClient, ScriptFunction, ScriptSession
from acp_agent.scripted.wire import strike
from acp_protocol import jsonrpc
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.faults import Fault
from acp_protocol.handler import Response
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.schema.methods import find_method
from acp_protocol.schema.validate import parse_params

Params: TypeAlias = Mapping[str, Json]
PROMPT: Final = "session/prompt"
MAX_VERSION: Final = 65535
OPENING: Final = frozenset({"initialize", "session/new", "session/load", "session/resume"})
"""Requests that others depend on, which a client may send without waiting."""
ENDING: Final = frozenset({"session/close", "session/delete"})
"""Requests that end the turn of a session."""
CAPABILITIES_V1: Final[Json] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
}
CAPABILITIES_V2: Final[Json] = {
    "session": {
        "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
        "delete": {},
    }
}


class ScriptServer(ScriptClient):
    """Handles the messages of a client; set `connection`, `wire` and `tasks` before the first."""

    has_failed = False
    """Whether a function of the script has raised."""

    def __init__(self, script: Script, report: Callable[[str, BaseException], None]) -> None:
        super().__init__(script)
        self._agent = script.agent
        self._report = report
        self._received: Counter[str] = Counter()
        self._running = 0
        self._done = anyio.Event()
        self._opened = 0
        self._has_begun = False
        self._opening: set[Call] = set()
        """Requests of `OPENING` that functions of the script answer."""
        self._is_logged_in = False
        self._turns: dict[str, list[PromptCall]] = {}
        """The prompts of each session that are not over."""
        self._usual: Mapping[str, Callable[[Call], Awaitable[Json]]] = {
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
            PROMPT: self._prompt,
        }

    async def handle_request(self, request: Request) -> Json:
        """Run the script's function for a request, or do what is usual; return the response."""
        await self._wait_for_earlier(request)
        self._check(request)
        nth, random = self._count(request.method)
        function = self.script.functions.get(request.method)
        usual = self._usual.get(request.method, _unknown)
        kind = PromptCall if request.method == PROMPT else Call
        call = kind(self, request.method, request.params, nth, random, usual)
        if request.method in ENDING:
            self._cancel(call.params.get("sessionId"))
        if isinstance(call, PromptCall):
            await self._accept(call)
            self._start(self._run_prompt, call)
        elif function is None:
            return Response(await call.usual(), lambda: self._announce(call))
        else:
            self._start(self._run, function, call)
        if request.method in OPENING:
            self._opening.add(call)
        try:
            await call.has_outcome.wait()
        finally:
            self._opening.discard(call)
            # The client may have withdrawn the request.
            if call.outcome is None:
                call.scope.cancel()
        outcome = call.outcome
        assert outcome is not None
        if (error := _encoding_error(outcome.result)) is not None:
            outcome.error = self._fail(call.method, error)
        strike(outcome.faults, random)
        if outcome.error is not None:
            call.is_sent.set()
            raise outcome.error
        return Response(outcome.result, lambda: self._sent(call))

    async def handle_notification(self, notification: Notification) -> None:
        """Cancel turns; run the script's function for a notification."""
        if not self._has_begun:
            return
        params = as_object(notification.params)
        if notification.method == "session/cancel":
            self._cancel(params.get("sessionId"))
        function = self.script.functions.get(notification.method)
        if function is not None:
            nth, random = self._count(notification.method)
            call = Call(self, notification.method, params, nth, random)
            self._start(self._call, function, call)

    def leave(self) -> None:
        """Let functions know that the client says nothing more."""
        self.has_left.set()

    async def wait_done(self) -> None:
        """Return when no function runs any more."""
        while self._running:
            self._done = anyio.Event()
            await self._done.wait()

    # Running functions.

    async def _wait_for_earlier(self, request: Request) -> None:
        """Wait for requests that open what this one needs: clients may send them at once."""
        session_id = as_object(request.params).get("sessionId")
        needs_session = session_id is not None and session_id not in self.sessions
        for call in list(self._opening):
            if call.method == "initialize" or needs_session:
                await call.has_outcome.wait()

    def _start(self, function: Callable[..., Awaitable[Any]], *arguments: Any) -> None:
        async def run() -> None:
            try:
                await function(*arguments)
            finally:
                self._running -= 1
                self._done.set()

        self._running += 1
        self.tasks.start_soon(run)

    async def _run(self, function: ScriptFunction, call: Call) -> None:
        result = await self._call(function, call)
        if call.outcome is None and result is None and not call.scope.cancel_called:
            result = await self._call(Call.usual, call)
        if isinstance(result, RequestFailedError):
            await call.respond(ScriptedOutcome(None, result))
        else:
            await call.respond(ScriptedOutcome(result, None))
        await self._announce(call)

    async def _accept(self, call: PromptCall) -> None:
        """Begin the turn of a prompt, or refuse it."""
        await call.usual()
        session = call.session
        session.prompts += 1
        call.message_id = f"{session.id}-user-{session.prompts}"
        turns = self._turns.setdefault(session.id, [])
        if self.version < 2 and turns:
            raise RequestFailedError(jsonrpc.INVALID_REQUEST, "A turn is running")
        turns.append(call)

    async def _run_prompt(self, call: PromptCall) -> None:
        turns = call.session.turns
        try:
            if turns.locked():
                with call.waiting:
                    await turns.acquire()
            else:
                turns.acquire_nowait()
            if call.waiting.cancelled_caught:
                error = RequestFailedError(jsonrpc.REQUEST_CANCELLED, "Request cancelled")
                await call.fail(error)
                return
            try:
                await self._run_turn(call)
            finally:
                turns.release()
        finally:
            self._turns[call.session.id].remove(call)

    async def _run_turn(self, call: PromptCall) -> None:
        session = call.session
        if self.version < 2:
            for block in call.params["prompt"]:
                update = {"sessionUpdate": "user_message_chunk", "content": block}
                params = {"sessionId": session.id, "update": update}
                session.sent.append(("session/update", params))
        result = await self._call(self.script.functions.get(PROMPT, _repeat), call)
        if not isinstance(result, str | dict | RequestFailedError | None):
            wrong = f"returned {type(result).__name__}, not a stop reason or an object"
            result = self._fail(call.method, TypeError(wrong))
        try:
            if call.scope.cancelled_caught:
                await call.end_calls()
                result = "cancelled"
            if isinstance(result, RequestFailedError):
                await call.fail(result)
            else:
                await call.finish(result)
        except ConnectionClosedError:
            return

    async def _call(self, function: ScriptFunction, call: Call) -> Any:
        """Return what a function returns, and its error as a value."""
        call.has_started = True
        if call.is_cancelled:
            # What it does first may be to ignore that.
            self.tasks.start_soon(call.cancel_again)
        try:
            with call.scope:
                return await function(call)
        except RequestFailedError as error:
            return error
        except ConnectionClosedError:
            return RequestFailedError(jsonrpc.INTERNAL_ERROR, "The connection is closed")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a script raises
            return self._fail(call.method, error)

    def _fail(self, name: str, error: BaseException) -> RequestFailedError:
        """Report an error of the script; return the response."""
        self.has_failed = True
        self._report(name, error)
        return RequestFailedError(jsonrpc.INTERNAL_ERROR, "Internal error")

    def faults_of(self, message: Json, random: Random) -> list[Fault]:
        """Return the faults of a frame, by the script's function for all frames."""
        if self.script.faults is None:
            return []
        try:
            return list(self.script.faults(message, random) or ())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a script raises
            self._fail("faults", error)
            return []

    async def _sent(self, call: Call) -> None:
        call.is_sent.set()

    def _cancel(self, session_id: Json) -> None:
        for call in self._turns.get(str(session_id), ()):
            call.cancel()

    def _count(self, method: str) -> tuple[int, Random]:
        """Return which message of its method it is, and its random numbers."""
        self._received[method] += 1
        nth = self._received[method]
        # A string is hashed alike in every run; this is not about secrets.
        return nth, Random(f"{self._agent.seed}/{method}/{nth}")  # noqa: S311

    # What a correct agent does.

    def _check(self, request: Request) -> None:
        """Refuse requests out of order, unknown ones, and invalid params."""
        method = request.method
        if method == "initialize":
            return
        if not self._has_begun:
            raise RequestFailedError(jsonrpc.INVALID_REQUEST, "The first request is initialize")
        if find_method(method, self.version, kind="request") is None:
            data = {"method": method}
            raise RequestFailedError(jsonrpc.METHOD_NOT_FOUND, "Method not found", data)
        if self._agent.strict:
            _, problems = parse_params(method, request.params, self.version, kind="request")
            wrong = [str(problem) for problem in problems if not problem.is_tolerated]
            if wrong:
                raise _invalid("; ".join(wrong))

    async def _initialize(self, call: Call) -> Json:
        agent, requested = self._agent, call.params.get("protocolVersion")
        if type(requested) is not int or not 0 <= requested <= MAX_VERSION:
            raise _invalid(f"params.protocolVersion is not an integer from 0 to {MAX_VERSION}")
        self.version = max(1, min(requested, agent.protocol))
        if self.version < 2:
            self.connection.disallow_batches()
        is_second = self.version >= 2
        self.capabilities = as_object(
            call.params.get("capabilities" if is_second else "clientCapabilities")
        )
        self._has_begun = True
        for saved in agent.sessions:
            self.sessions[saved.id] = self.new_session(
                saved.id,
                cwd=saved.cwd or str(Path.cwd()),
                title=saved.title,
                updated_at=saved.updated_at,
                saved=saved.history,
                is_open=False,
            )
        usual: dict[str, Json] = as_object(CAPABILITIES_V2 if is_second else CAPABILITIES_V1)
        if agent.logins and not is_second:
            usual = {**usual, "auth": {"logout": {}}}
        key = "methodId" if is_second else "id"
        kind = {"type": "agent"} if is_second else {}
        return {
            "protocolVersion": self.version,
            "info" if is_second else "agentInfo": {
                "name": agent.name,
                "title": agent.title,
                "version": agent.version,
            },
            "capabilities" if is_second else "agentCapabilities": merged(usual, agent.capabilities),
            "authMethods": [{**kind, key: id_, "name": name} for id_, name in agent.logins.items()],
        }

    async def _log_in(self, call: Call) -> Json:
        wanted = call.params.get("methodId")
        if wanted not in self._agent.logins:
            raise _invalid(f"params.methodId: there is no method {wanted!r}")
        self._is_logged_in = True
        return {}

    async def _log_out(self, call: Call) -> Json:
        del call
        self._is_logged_in = False
        return {}

    def _check_login(self) -> None:
        if self._agent.wants_login and not self._is_logged_in:
            raise RequestFailedError(jsonrpc.AUTH_REQUIRED, "Authentication required")

    async def _new(self, call: Call) -> Json:
        self._check_login()
        self._opened += 1
        session = self.new_session(f"session-{self._opened}", cwd=str(call.params.get("cwd", "/")))
        self.sessions[session.id] = call.session = session
        return {"sessionId": session.id, **self._offered(session)}

    async def _open(self, call: Call) -> Json:
        self._check_login()
        session = self._known(call)
        if call.method == "session/load" or call.params.get("replayFrom") is not None:
            sent, calls = list(session.sent), session.calls
            # Nothing is known to the client of what is replayed.
            session.calls = {}
            session.updates.forget()
            if session.saved is not None:
                replay = Call(self, call.method, call.params, call.nth, call.random)
                await session.saved(replay)
            for method, params in sent:
                await self.connection.notify(method, params)
            session.sent.clear()
            session.sent.extend(sent)
            session.calls |= calls
        session.is_open = True
        if self.version >= 2:
            state = "running" if session.turns.locked() else "idle"
            await session.updates.send("state_update", {"state": state})
        return self._offered(session)

    def _offered(self, session: ScriptSession) -> dict[str, Json]:
        """Return what can be chosen, as members of the result that opens a session."""
        agent, updates = self._agent, session.updates
        offered: dict[str, Json] = {}
        if agent.offered:
            offered = updates.settings(agent.offered, {MODE: "", **session.chosen})
        if not agent.modes:
            offered.pop("modes", None)
        if self.version >= 2 and agent.commands:
            offered["availableCommands"] = updates.command_entries(agent.slash_commands)
        return offered

    async def _announce(self, call: Call) -> None:
        """Send the commands of a session that was opened; in version 2 the result has them."""
        commands = self._agent.commands if self.version < 2 else ()
        if commands and call.has_session and call.method in OPENING:
            session, sent = call.session, list(call.session.sent)
            await session.updates.commands(self._agent.slash_commands)
            session.sent.clear()
            session.sent.extend(sent)

    async def _list(self, call: Call) -> Json:
        cwd, cursor = call.params.get("cwd"), call.params.get("cursor")
        listed = [
            _entry(session)
            for session in self.sessions.values()
            if cwd is None or session.cwd == cwd
        ]
        size = self._agent.page or len(listed) or 1
        cursors = {None: 0} | {str(at): at for at in range(size, len(listed), size)}
        if cursor not in cursors:
            raise _invalid(f"params.cursor: no list has given {cursor!r}")
        begin = cursors[cursor]
        end = begin + size
        more = {"nextCursor": str(end)} if end < len(listed) else {}
        return {"sessions": listed[begin:end], **more}

    async def _close(self, call: Call) -> Json:
        if self.version < 2 or call.has_session:
            self._known(call).is_open = False
        return {}

    async def _delete(self, call: Call) -> Json:
        self.sessions.pop(str(call.params.get("sessionId")), None)
        return {}

    async def _set_mode(self, call: Call) -> Json:
        session, mode = self._active(call), call.params.get("modeId")
        if mode not in self._agent.modes:
            raise _invalid(f"params.modeId: there is no mode {mode!r}")
        session.chosen[MODE] = str(mode)
        return {}

    async def _set_option(self, call: Call) -> Json:
        session, wanted = self._active(call), call.params.get("configId")
        values = {option.id: option.choices for option in self._agent.offered}
        value = call.params.get("value")
        if value not in {choice.value for choice in values.get(str(wanted), ())}:
            raise _invalid(f"params.configId: there is no option {wanted!r} with {value!r}")
        session.chosen[str(wanted)] = str(value)
        return {"configOptions": self._offered(session)["configOptions"]}

    async def _prompt(self, call: Call) -> Json:
        self._active(call)
        return {"stopReason": "end_turn"}

    def _known(self, call: Call) -> ScriptSession:
        if not call.has_session:
            raise _not_found("Session not found", call.params.get("sessionId"))
        return call.session

    def _active(self, call: Call) -> ScriptSession:
        session = self._known(call)
        if not session.is_open:
            raise _not_found("Session is not open", session.id)
        return session


def merged(usual: Json, changes: Json) -> Json:
    """Return `usual` with the members of `changes`; None removes one."""
    if not (isinstance(usual, dict) and isinstance(changes, dict)):
        return changes
    result = dict(as_object(usual))
    for name, value in as_object(changes).items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def _encoding_error(value: Json) -> Exception | None:
    """Return why a result cannot be sent; None if it can."""
    try:
        jsonrpc.encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        return error
    return None


async def _repeat(call: Call) -> None:
    await call.text(call.prompt)


async def _unknown(call: Call) -> Json:
    data = {"method": call.method}
    raise RequestFailedError(jsonrpc.METHOD_NOT_FOUND, "Method not found", data)


def _invalid(sentence: str) -> RequestFailedError:
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {sentence}")


def _not_found(sentence: str, session_id: Json) -> RequestFailedError:
    return RequestFailedError(jsonrpc.RESOURCE_NOT_FOUND, sentence, {"sessionId": session_id})


def _entry(session: ScriptSession) -> Json:
    more = {"title": session.title, "updatedAt": session.updated_at}
    fields = {name: value for name, value in more.items() if value is not None}
    return {"sessionId": session.id, "cwd": session.cwd, **fields}
