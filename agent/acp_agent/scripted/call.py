"""A call of a script's function: the message of the client, and what a script can do about it."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Generator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random
from typing import Any, Final, Literal, TypeAlias

import anyio
from anyio.abc import TaskGroup

from acp_agent.scripted.kit import ScriptClient, ScriptSession
from acp_agent.scripted.wire import asking, batching, striking, write_stderr
from acp_agent.store import events
from acp_agent.tools.call import OUTPUT_CONTENT, diff_content, text_content
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.faults import Fault, OutgoingFrame
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import FINAL_STATUSES

Pieces: TypeAlias = int | Literal["words", "characters", "random"]
PERMISSIONS: Final = {
    "allow_once": "Allow",
    "allow_always": "Always allow",
    "reject_once": "Reject",
    "reject_always": "Always reject",
}
"""The kinds of options of a permission request, and their names."""
MAX_RANDOM_PIECE: Final = 12
"""Characters of a piece that chance cuts off."""


class ScriptedOutcome:
    """The response to a request, and the faults that strike it."""

    def __init__(self, result: Json, error: RequestFailedError | None, *faults: Fault) -> None:
        self.result = result
        self.error = error
        self.faults = faults


class Call:
    """A message of the client, and what a script can do about it.

    Each method that sends takes faults, which strike the frames that it sends.
    """

    def __init__(
        self,
        client: ScriptClient,
        method: str,
        params: Json,
        nth: int,
        random: Random,
        usual: Callable[[Call], Any] | None = None,
    ) -> None:
        self.client = client
        self.method = method
        self.params = as_object(params)
        self.nth = nth
        """Which message of its method it is, from 1."""
        self.random = random
        """The same numbers in each run."""
        self.scope = anyio.CancelScope()
        """What the client may cancel."""
        self.waiting = anyio.CancelScope()
        """Entered while the call waits for its turn."""
        self.has_started = False
        self.outcome: ScriptedOutcome | None = None
        self.has_outcome = anyio.Event()
        self.is_sent = anyio.Event()
        """Set once the response was sent."""
        self._session = client.sessions.get(str(self.params.get("sessionId")))
        self._usual = usual
        self._usual_result: Json = None
        self._was_usual = False
        self._is_cancelled = anyio.Event()
        self._ends_when_cancelled = True

    # The message.

    @property
    def version(self) -> int:
        """The version of the protocol that was agreed on."""
        return self.client.version

    @property
    def session(self) -> ScriptSession:
        """The session that the message is about, or that the usual response has opened."""
        if self._session is None:
            raise RuntimeError(f"{self.method} is about no session that is open")
        return self._session

    @session.setter
    def session(self, session: ScriptSession) -> None:
        self._session = session

    @property
    def has_session(self) -> bool:
        return self._session is not None

    @property
    def prompt(self) -> str:
        """The text of the prompt."""
        texts = [as_object(block).get("text") for block in as_list(self.params.get("prompt"))]
        return "\n".join(text for text in texts if isinstance(text, str))

    @property
    def cwd(self) -> str:
        return self.session.cwd

    # The response.

    async def usual(self) -> Json:
        """Do what a correct agent does, and return its result.

        Raises:
            RequestFailedError: it refuses the request.
        """
        if not self._was_usual and self._usual is not None:
            self._was_usual = True
            self._usual_result = await self._usual(self)
        return self._usual_result

    async def answer(self, *faults: Fault, result: Json = None) -> None:
        """Respond now, and go on; what a script sends after this comes after the response.

        `result` is the whole result, or the stop reason of a prompt; None: the usual one.
        """
        if self.outcome is None:
            whole = await self.usual() if result is None else result
            await self.respond(ScriptedOutcome(self.as_result(whole), None, *faults))

    def as_result(self, value: Json) -> Json:
        """Return the result that a function means by what it returns."""
        return value

    async def respond(self, outcome: ScriptedOutcome) -> None:
        """Hand over the response; return when it was sent."""
        if self.outcome is None:
            self.outcome = outcome
            self.has_outcome.set()
            await self.is_sent.wait()

    # Waiting, and being cancelled.

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    def ignore_cancel(self) -> None:
        """Go on when the client cancels the turn."""
        self._ends_when_cancelled = False

    async def wait_cancel(self) -> None:
        """Wait until the client cancels the turn, or leaves."""
        async with anyio.create_task_group() as tasks:
            for event in (self._is_cancelled, self.client.has_left):

                async def wait(event: anyio.Event = event) -> None:
                    await event.wait()
                    tasks.cancel_scope.cancel()

                tasks.start_soon(wait)

    async def forever(self) -> None:
        """Wait until the client leaves; a cancelled turn ends at once."""
        await self.client.has_left.wait()

    @property
    def is_cancelled(self) -> bool:
        """Whether the client has cancelled the turn."""
        return self._is_cancelled.is_set()

    def cancel(self) -> None:
        """Let the function know that the client has cancelled."""
        self._is_cancelled.set()
        if not self.has_started:
            self.waiting.cancel()
        elif self._ends_when_cancelled:
            self.scope.cancel()

    async def cancel_again(self) -> None:
        """Cancel what was cancelled before it had started."""
        self.cancel()

    # What an agent says and shows.

    async def text(self, text: str, *faults: Fault, pieces: Pieces = 1, pause: float = 0) -> None:
        """Send a message of the agent, in pieces with pauses between them."""
        await self._say("agent_message_chunk", text, faults, pieces, pause)

    async def thought(
        self, text: str, *faults: Fault, pieces: Pieces = 1, pause: float = 0
    ) -> None:
        """Send a thought of the agent."""
        await self._say("agent_thought_chunk", text, faults, pieces, pause)

    async def user(self, text: str, *faults: Fault) -> None:
        """Send a message of the user, as a replay does."""
        self.session.prompts += 1
        blocks: list[Json] = [{"type": "text", "text": text}]
        event = events.user(f"{self.session.id}-user-{self.session.prompts}", blocks)
        with striking(faults, self.random):
            for update, members in self.session.updates.render(event):
                await self.session.updates.send(update, members)

    async def plan(self, *entries: str | Mapping[str, Json]) -> None:
        """Send a plan: texts of steps that have not begun, or entries."""
        usual = {"priority": "medium", "status": "pending"}
        await self._begin()
        rows = [{"content": each} if isinstance(each, str) else each for each in entries]
        await self.session.updates.plan([{**usual, **row} for row in rows])

    async def tool(
        self,
        call_id: str,
        *faults: Fault,
        text: str | Sequence[str] = (),
        diff: tuple[str, str | None, str] | None = None,
        content: Sequence[Json] | None = None,
        locations: Sequence[str] = (),
        **fields: Json,
    ) -> None:
        """Send a tool call, or what changes about it.

        `diff` is a path with the old and the new text. `fields` are those of the protocol, such as
        `title`, `kind`, `status`, `rawInput` and `rawOutput`.
        """
        texts = [text] if isinstance(text, str) else text
        shown: list[Json] = [*(content or ()), *map(text_content, texts)]
        shown += [] if diff is None else [diff_content(*diff)]
        changed: dict[str, Json] = dict(fields)
        if shown or content is not None:
            changed["content"] = shown
        if locations:
            changed["locations"] = [{"path": path} for path in locations]
        await self._change_call(call_id, changed, faults)

    async def show_more(self, call_id: str, text: str, *faults: Fault) -> None:
        """Add a text to what a tool call shows."""
        shown = self._known(call_id).get("content", ())
        await self._change_call(call_id, {"content": [*shown, text_content(text)]}, faults)

    async def terminal(
        self, call_id: str, command: str, output: str, *faults: Fault, exit_code: int | None = None
    ) -> None:
        """Show the whole output so far of a command that the agent runs itself."""
        ending = None if exit_code is None else {"exitCode": exit_code, "signal": None}
        block: Json = {"type": OUTPUT_CONTENT, "text": output, "ending": ending}
        block |= {"command": command, "cwd": self.cwd}
        await self._change_call(call_id, {"content": [block]}, faults)

    async def mode(self, mode: str) -> None:
        """Change the mode of the session."""
        await self.option("mode", mode)

    async def option(self, name: str, value: str) -> None:
        """Change the value of an option of the session."""
        offered = self.client.script.agent.offered
        (option,) = [each for each in offered if each.id == name]
        self.session.chosen[name] = value
        await self._begin()
        chosen = {"mode": "", **self.session.chosen}
        await self.session.updates.option_changed(option, chosen, offered)

    async def title(self, title: str) -> None:
        """Change the title of the session."""
        self.session.title = title
        await self.update("session_info_update", title=title)

    async def commands(self, commands: Mapping[str, str]) -> None:
        """Change the slash commands."""
        rows = [{"name": name, "description": about} for name, about in commands.items()]
        kind = {"type": "command"} if self.version >= 2 else {}
        await self.update(
            "available_commands_update", availableCommands=[{**kind, **row} for row in rows]
        )

    async def update(
        self, update: str, *faults: Fault, session_id: str | None = None, **members: Json
    ) -> None:
        """Send any update as written; `session_id` sends it to another session."""
        params = {"sessionUpdate": update, **members}
        await self._begin()
        with striking(faults, self.random):
            if session_id is None:
                await self.session.updates.send(update, members)
            else:
                await self.notify("session/update", sessionId=session_id, update=params)

    # What an agent asks the client for.

    def offers(self, *path: str) -> bool:
        """Return whether the client has a capability, such as `("fs", "readTextFile")`."""
        value: Json = self.client.capabilities
        for name in path:
            value = as_object(value).get(name)
        return value is not None and value is not False

    async def ask(self, method: str, *faults: Fault, **params: Json) -> Json:
        """Send a request of any method with the session's id, and return its result.

        Raises:
            RequestFailedError: the client has refused it.
        """
        if self._session is not None:
            params = {"sessionId": self.session.id, **params}
        await self._begin()
        with striking(faults, self.random):
            return await self.client.connection.request(method, params)

    async def permission(
        self, call_id: str, *faults: Fault, kinds: Sequence[str] = (), **fields: Json
    ) -> str | None:
        """Request permission for a tool call; return the kind of the chosen option.

        None: the turn was cancelled.
        """
        kinds = kinds or ("allow_once", "reject_once")
        options = [
            {"optionId": kind, "name": PERMISSIONS.get(kind, kind), "kind": kind} for kind in kinds
        ]
        known = {**self._known(call_id), **fields}
        params = self.session.updates.permission_request(call_id, known, options)
        await self._begin()
        await self.session.updates.enter_waiting()
        result = await self.ask("session/request_permission", *faults, **params)
        await self.session.updates.leave_waiting()
        chosen = as_object(as_object(result).get("outcome")).get("optionId")
        return chosen if isinstance(chosen, str) else None

    async def read(self, path: str, **where: Json) -> str:
        """Return the text of a file, which the client reads."""
        self._require("fs", "readTextFile")
        return str(as_object(await self.ask("fs/read_text_file", path=path, **where))["content"])

    async def write(self, path: str, content: str) -> None:
        """Have the client write a file."""
        self._require("fs", "writeTextFile")
        await self.ask("fs/write_text_file", path=path, content=content)

    async def run(self, *command: str, call_id: str | None = None) -> dict[str, Json]:
        """Run a command in a terminal of the client to its end; return `terminal/output`."""
        self._require("terminal")
        program, *arguments = command
        created = await self.ask("terminal/create", command=program, args=arguments, cwd=self.cwd)
        terminal = {"terminalId": as_object(created)["terminalId"]}
        if call_id is not None:
            shown = [{"type": "terminal", **terminal}]
            await self.tool(call_id, content=shown, status="in_progress")
        await self.ask("terminal/wait_for_exit", **terminal)
        output = await self.ask("terminal/output", **terminal)
        await self.ask("terminal/release", **terminal)
        return as_object(output)

    async def elicit(
        self, message: str, schema: Mapping[str, Json] | None = None, url: str | None = None
    ) -> dict[str, Json]:
        """Request input from the user by a form, or show a page; return action and content."""
        self._require("elicitation", "form" if url is None else "url")
        form: Json = {"type": "object", "properties": {}, **(schema or {})}
        what = (
            {"mode": "form", "requestedSchema": form}
            if url is None
            else {"mode": "url", "url": url, "elicitationId": "elicitation-1"}
        )
        return as_object(await self.ask("elicitation/create", message=message, **what))

    # Anything else.

    async def notify(self, method: str, *faults: Fault, **params: Json) -> None:
        """Send a notification of any method."""
        await self._begin()
        with striking(faults, self.random):
            await self.client.connection.notify(method, params)

    async def frame(self, value: Json, *faults: Fault) -> None:
        """Send any JSON as a frame."""
        await self._put(OutgoingFrame(jsonrpc.encode(value), self.client.wire.framing), faults)

    async def raw(self, data: str | bytes, *faults: Fault) -> None:
        """Write bytes or text as they are, without a line ending."""
        content = data.encode() if isinstance(data, str) else data
        await self._put(OutgoingFrame(content, None), faults)

    async def fault(self, *faults: Fault) -> None:
        """Let faults happen without a frame: noise, a crash, a hang."""
        await self._put(OutgoingFrame(None, None), faults)

    @asynccontextmanager
    async def batch(self) -> AsyncGenerator[CallBatch]:
        """Send what is sent inside the block as one array."""
        await self._begin()
        with batching() as collected:
            batch = CallBatch(self.client.tasks)
            yield batch
            for started in batch.started:
                await started.has_requests.wait()
        raw = b"[" + b",".join(collected.messages) + b"]"
        await self._put(OutgoingFrame(raw, self.client.wire.framing), ())

    async def stderr(self, line: str) -> None:
        """Write a line on stderr."""
        write_stderr(f"{line}\n")

    async def close_stdout(self) -> None:
        await self.client.wire.close_stdout()

    async def _put(self, frame: OutgoingFrame, faults: Sequence[Fault]) -> None:
        await self._begin()
        await self.client.wire.send_frame(frame, faults, self.random)

    async def _begin(self) -> None:
        """Do what has to come before the first update of a turn."""

    async def _say(
        self, kind: Any, text: str, faults: Sequence[Fault], pieces: Pieces, pause: float
    ) -> None:
        await self._begin()
        for index, piece in enumerate(_cut(text, pieces, self.random)):
            if index and pause:
                await anyio.sleep(pause)
            with striking(faults, self.random):
                await self.session.updates.text(kind, piece)

    def _known(self, call_id: str) -> dict[str, Json]:
        return self.session.calls.get(call_id, {"title": call_id})

    async def _change_call(
        self, call_id: str, changed: dict[str, Json], faults: Sequence[Fault]
    ) -> None:
        await self._begin()
        calls, updates = self.session.calls, self.session.updates
        is_new = call_id not in calls
        calls[call_id] = self._known(call_id) | changed
        with striking(faults, self.random):
            if is_new:
                await updates.start_call(call_id, {"title": call_id} | changed)
            else:
                await updates.update_call(call_id, changed)

    def _require(self, *path: str) -> None:
        if not self.offers(*path):
            sentence = f"The client does not offer {'.'.join(path)}"
            raise RequestFailedError(jsonrpc.METHOD_NOT_FOUND, sentence)


class CallBatch:
    """An array that a script sends."""

    def __init__(self, tasks: TaskGroup) -> None:
        self.started: list[Started] = []
        self._tasks = tasks

    def start(self, request: Awaitable[Any]) -> Started:
        """Send the request of `call.ask`, `call.permission` and the like in the array.

        Await what this returns after the block, to get what the request returns.
        """
        started = Started(request, self.started[-1] if self.started else None)
        self.started.append(started)
        self._tasks.start_soon(started.run)
        return started


class Started:
    """A request in an array; it can be awaited."""

    def __init__(self, request: Awaitable[Any], before: Started | None) -> None:
        self.has_requests = anyio.Event()
        """Set once the request is in the array, or there is none."""
        self._request = request
        self._before = before
        self._scope = anyio.CancelScope()
        self._is_over = anyio.Event()
        self._result: Any = None
        self._error: Exception | None = None

    async def run(self) -> None:
        try:
            with self._scope, asking(self.has_requests):
                if self._before is not None:
                    # The order in the array is the same in each run.
                    await self._before.has_requests.wait()
                self._result = await self._request
        except Exception as error:  # noqa: BLE001 - raised where the script awaits it
            self._error = error
        finally:
            self._is_over.set()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._wait().__await__()

    async def _wait(self) -> Any:
        try:
            await self._is_over.wait()
        finally:
            # A turn that is cancelled does not wait any more.
            self._scope.cancel()
        if self._error is not None:
            raise self._error
        return self._result


class PromptCall(Call):
    """A prompt. In version 2 the response comes first, and a state ends the turn."""

    message_id = ""
    _has_begun = False

    async def answer(self, *faults: Fault, result: Json = None) -> None:
        """Respond now, and go on; see `Call.answer`. In version 2 it accepts the prompt."""
        if self.version >= 2:
            await self._accept(*faults)
        else:
            await super().answer(*faults, result=result)

    def as_result(self, value: Json) -> dict[str, Json]:
        return (
            {"stopReason": value or "end_turn"}
            if value is None or isinstance(value, str)
            else value
        )

    async def finish(self, result: Json) -> None:
        """End the turn with a stop reason."""
        ended = self.as_result(result)
        if self.version < 2:
            await self.respond(ScriptedOutcome(ended, None))
            return
        await self._begin()
        await self.session.updates.send("state_update", {"state": "idle", **ended})

    async def fail(self, error: RequestFailedError) -> None:
        """End the turn with an error."""
        if self.version < 2 or not self._has_begun:
            await self.respond(ScriptedOutcome(None, error))
            return
        data = {} if error.data is None else {"data": error.data}
        shown = {"code": error.code, "message": error.message, **data}
        await self.finish({"stopReason": "error", "error": shown})

    async def end_calls(self) -> None:
        """End the tool calls of a cancelled turn."""
        for call_id, known in self.session.calls.items():
            if known.get("status", "pending") not in FINAL_STATUSES:
                known["status"] = "cancelled"
                await self.session.updates.finish_call(call_id, {"status": "cancelled"})

    async def _begin(self) -> None:
        if self.version >= 2:
            await self._accept()

    async def _accept(self, *faults: Fault) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        blocks = as_list(self.params.get("prompt"))
        await self.respond(ScriptedOutcome({"messageId": self.message_id}, None, *faults))
        updates = self.session.updates
        await updates.send("user_message", {"messageId": self.message_id, "content": blocks})
        await updates.send("state_update", {"state": "running"})


def _cut(text: str, pieces: Pieces, random: Random) -> Sequence[str]:
    match pieces:
        case "characters":
            return list(text)
        case "words":
            words = text.split(" ")
            return [f"{word} " for word in words[:-1]] + words[-1:]
        case "random":
            cut: list[str] = []
            while text:
                length = random.randint(1, MAX_RANDOM_PIECE)
                cut.append(text[:length])
                text = text[length:]
            return cut
        case count:
            count = min(count, len(text)) or 1
            ends = [len(text) * index // count for index in range(count + 1)]
            return [text[begin:end] for begin, end in pairwise(ends)]
