"""The steps of a scenario: what each is written as, and what it does.

Source: docs/scripted-agent.md, "Steps"; ACP, Tool Calls, "Requesting Permission"; File System;
Terminals; Elicitation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, cast

import anyio
from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from acp_agent.scripted.faults import AllFaults, CrashFault, HangFault, NoiseFault
from acp_agent.scripted.messages import CONSENTS, Speaker, plan_entry, shown_text, text_block
from acp_agent.scripted.run import OutgoingRequest, ScenarioRun, Step
from acp_agent.scripted.schema import (
    BIG,
    TABLES,
    AnyJson,
    Commands,
    Count,
    HexBytes,
    JsonList,
    JsonObject,
    Known,
    ParsedJson,
    ScenarioPart,
    Seconds,
    Texts,
    as_number,
    listed,
    nearest,
    parsed_list,
    tool_kinds,
    tool_statuses,
    whole,
    wrong,
    wrong_at,
)
from acp_protocol.json_values import as_object, get_object
from acp_protocol.jsonrpc import Json, RequestId, is_request_id

MAX_TEXT_BYTES: Final = 2**30
MAX_RANDOM_PIECE: Final = 12
"""Characters of a piece that chance cuts off."""
SPEAKERS: Final[Mapping[str, Speaker]] = {
    "text": "agent_message",
    "thought": "agent_thought",
    "user": "user_message",
}


class FaultStep(Step):
    """Faults that need no frame."""

    noise: NoiseFault | None = None
    crash: CrashFault | None = None
    hang: HangFault | None = None

    async def play(self, run: ScenarioRun) -> None:
        await run.put(None)


class ActionStep(Step, AllFaults):
    """A step that sends, writes, asks or waits; faults strike each of its frames."""

    session: str | None = None

    def session_id(self) -> str | None:
        return self.session


def _as_step(value: Any) -> Step:
    """Return the step that a table is: its class is that of the first action among the keys."""
    if isinstance(value, Step):
        return value
    if not isinstance(value, dict):
        raise wrong("has to be a table, as in `{ key = value }`")
    table = cast("dict[str, Any]", value)
    found = [word for word in ACTIONS if word in table]
    if not found:
        _check_fault_step(table)
        return FaultStep.model_validate(table)
    kind = ACTIONS[found[0]]
    for other in found[1:]:
        if other not in kind.key_names():
            raise wrong(f"does `{found[0]}` and `{other}`, and a step does one thing")
    return kind.model_validate(table)


def _check_fault_step(table: Mapping[str, Any]) -> None:
    if {"noise", "crash", "hang"} & table.keys():
        return
    if "delay" in table:
        sentence = "belongs to a frame; to let time pass, there is `wait`"
        raise wrong_at((("delay",), sentence))
    for key in table:
        if guess := nearest(key, tuple(ACTIONS)):
            raise wrong_at(((key,), f"is not known here{guess}"))
    raise wrong(f"does nothing; it needs {listed(tuple(ACTIONS))}")


def _as_ways(value: Any) -> Any:
    if not isinstance(value, list) or not value:
        raise wrong("has to be a list of lists of steps")
    ways = cast("list[Any]", value)
    if not all(isinstance(way, list) for way in ways):
        raise wrong("has to be a list of lists of steps")
    return ways


Steps: TypeAlias = Annotated[Sequence[Annotated[Step, PlainValidator(_as_step)]], TABLES]
Ways: TypeAlias = Annotated[Sequence[Steps], BeforeValidator(_as_ways)]


class HoldsSteps(ScenarioPart):
    """A table with lists of steps; an action in it was meant to be in one of those."""

    @classmethod
    def unknown_key(cls, key: str) -> str:
        if key in ACTIONS:
            return f"belongs to a step: `steps = [{{ {key} = … }}]`"
        return super().unknown_key(key)


class Speech(ActionStep):
    """A message or a thought of the agent, or a message of the user."""

    speaker: ClassVar[Speaker]
    pieces: Annotated[
        int | Literal["words", "characters", "random"],
        whole(1, BIG, "words", "characters", "random"),
    ] = 1
    pause: Seconds = 0.0
    """Seconds between two pieces."""
    size: Annotated[int, whole(1, MAX_TEXT_BYTES)] | None = None
    """Bytes that the text has at least, by being repeated; None for as it is."""
    message: str | None = None
    """The id of the message."""
    is_whole: bool = Field(default=False, alias="whole")
    """Whether each piece is all of the message, in place of the pieces before."""

    def words(self) -> str:
        raise NotImplementedError

    async def play(self, run: ScenarioRun) -> None:
        text = str(run.filled(self.words()))
        if self.size is not None:
            text *= -(-self.size // max(1, len(text.encode())))
        message_id = run.message_id(self.speaker, self.message)
        messages = run.session.messages
        spell = messages.whole if self.is_whole else messages.message
        for index, piece in enumerate(self._cut(text, run)):
            if index and self.pause:
                await run.connection.stage.sleep(self.pause)
            await run.update(spell(self.speaker, text_block(piece), message_id))

    def _cut(self, text: str, run: ScenarioRun) -> Sequence[str]:
        match self.pieces:
            case "characters":
                return list(text)
            case "words":
                words = text.split(" ")
                return [f"{word} " for word in words[:-1]] + words[-1:]
            case "random":
                pieces: list[str] = []
                at = 0
                while at < len(text):
                    length = run.random.randint(1, MAX_RANDOM_PIECE)
                    pieces.append(text[at : at + length])
                    at += length
                return pieces
            case wanted:
                count = min(wanted, len(text)) or 1
                ends = [len(text) * index // count for index in range(count + 1)]
                return [text[begin:end] for begin, end in pairwise(ends)]


class SendText(Speech):
    speaker = SPEAKERS["text"]
    text: str

    def words(self) -> str:
        return self.text


class SendThought(Speech):
    speaker = SPEAKERS["thought"]
    thought: str

    def words(self) -> str:
        return self.thought


class SendUserText(Speech):
    speaker = SPEAKERS["user"]
    user: str

    def words(self) -> str:
        return self.user


class SendBlock(ActionStep):
    """Says something that is no text: an image, a link."""

    block: JsonObject
    by: Literal["text", "thought", "user"] = "text"
    message: str | None = None

    async def play(self, run: ScenarioRun) -> None:
        speaker = SPEAKERS[self.by]
        message_id = run.message_id(speaker, self.message)
        block = run.filled(self.block)
        await run.update(run.session.messages.message(speaker, block, message_id))


class SendPlan(ActionStep):
    plan: JsonList

    async def play(self, run: ScenarioRun) -> None:
        entries = [plan_entry(run.filled(entry)) for entry in self.plan]
        await run.update(run.session.messages.plan(entries))


class CallDiff(ScenarioPart):
    path: str
    old: str | None = None
    new: str = ""

    def content(self) -> Json:
        old = {} if self.old is None else {"oldText": self.old}
        return {"type": "diff", "path": self.path, **old, "newText": self.new}


class CallFields(ActionStep):
    """The fields of a tool call."""

    title: str | None = None
    kind: Annotated[str | None, Known("kind of tool", tool_kinds)] = None
    status: Annotated[str | None, Known("status of a tool call", tool_statuses)] = None
    text: Texts = ()
    diff: CallDiff | None = None
    content: JsonList | None = None
    locations: JsonList | None = None
    input: AnyJson = None
    output: AnyJson = None
    more_fields: JsonObject = Field(default=None, alias="with")

    def fields(self) -> dict[str, Json]:
        """Return the given fields, as members of a tool call of version 1."""
        content: list[Json] = [shown_text(text) for text in self.text]
        if self.diff is not None:
            content.append(self.diff.content())
        content += self.content or ()
        has_content = bool(content) or self.content is not None
        locations = self.locations and [
            {"path": entry} if isinstance(entry, str) else entry for entry in self.locations
        ]
        fields: dict[str, Json] = {
            "title": self.title,
            "kind": self.kind,
            "status": self.status,
            "content": content if has_content else None,
            "locations": locations,
            "rawInput": self.input,
            "rawOutput": self.output,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        return given | as_object(self.more_fields)


class SendToolCall(CallFields):
    """Sends a tool call, or what has changed about one."""

    tool: str
    more: Texts = ()
    """Texts that it shows beside what it has shown before."""

    async def play(self, run: ScenarioRun) -> None:
        run.session.speaker = None
        messages, fields = run.session.messages, self.fields()
        if fields or self.tool not in messages.calls:
            await run.update(messages.call(self.tool, as_object(run.filled(fields))))
        for text in self.more:
            await run.update(messages.more(self.tool, shown_text(str(run.filled(text)))))


class SendTerminal(ActionStep):
    """Shows a command that runs at the agent's, in a terminal that only it writes in."""

    terminal: str
    tool: str | None = None
    """The tool call that shows it."""
    command: str = ""
    output: str = ""
    chunk: Count | None = None
    """Bytes of a piece of the output; None for one piece."""
    exit: Annotated[int, whole(-BIG)] | None = None
    """The exit code, if it ends."""

    async def play(self, run: ScenarioRun) -> None:
        run.session.speaker = None
        messages, cwd = run.session.messages, run.session.cwd
        raw = str(run.filled(self.output)).encode()
        size = self.chunk or max(1, len(raw))
        output = [raw[begin : begin + size] for begin in range(0, len(raw), size)]
        updates = messages.terminal(self.terminal, self.tool, self.command, cwd)
        updates += messages.printed(self.terminal, self.tool, output)
        updates += [] if self.exit is None else messages.exited(self.terminal, self.exit)
        for update in updates:
            await run.update(update)


class SendUpdate(ActionStep):
    update: JsonObject

    async def play(self, run: ScenarioRun) -> None:
        update = run.filled(self.update)
        await run.update(update, keeps=as_object(update).get("sessionUpdate") != "state_update")


class SetMode(ActionStep):
    mode: str
    modes: Texts = ()

    async def play(self, run: ScenarioRun) -> None:
        run.session.mode = self.mode
        update = run.session.messages.mode(self.mode, self.modes or [self.mode])
        await run.update(update, keeps=False)


class SendCommands(ActionStep):
    commands: Commands

    async def play(self, run: ScenarioRun) -> None:
        await run.update(run.session.messages.commands(self.commands), keeps=False)


class SendState(ActionStep):
    """Sends the state of the session; only version 2 has such an update."""

    state: str
    more: JsonObject = Field(default=None, alias="with")

    async def play(self, run: ScenarioRun) -> None:
        update = run.session.messages.state(self.state, **as_object(run.filled(self.more)))
        if update is not None:
            await run.update(update, keeps=False)


class SetTitle(ActionStep):
    title: str

    async def play(self, run: ScenarioRun) -> None:
        title = str(run.filled(self.title))
        run.session.title = title
        await run.update({"sessionUpdate": "session_info_update", "title": title}, keeps=False)


class SendNotification(ActionStep):
    method: str = Field(alias="tell")
    params: ParsedJson = None

    async def play(self, run: ScenarioRun) -> None:
        await run.notify(self.method, run.filled(self.params))


class SendFrame(ActionStep):
    """Sends any JSON as a frame."""

    frame: ParsedJson

    async def play(self, run: ScenarioRun) -> None:
        await run.send(run.filled(self.frame))


class WriteLine(ActionStep):
    line: str

    async def play(self, run: ScenarioRun) -> None:
        await run.put(f"{run.filled(self.line)}\n".encode("utf-8", "surrogatepass"))


class WriteRaw(ActionStep):
    raw: str

    async def play(self, run: ScenarioRun) -> None:
        await run.put(str(run.filled(self.raw)).encode("utf-8", "surrogatepass"))


class WriteBytes(ActionStep):
    hex: HexBytes

    async def play(self, run: ScenarioRun) -> None:
        await run.put(self.hex)


class WriteStderr(ActionStep):
    stderr: str

    async def play(self, run: ScenarioRun) -> None:
        run.connection.stage.write_line(str(run.filled(self.stderr)))


class CloseStdout(ActionStep):
    close: Literal["stdout"]

    async def play(self, run: ScenarioRun) -> None:
        await run.connection.wire.close()


def _as_wait(value: Any) -> Any:
    if not isinstance(value, str):
        return as_number(value)
    if value not in {"cancel", "forever"}:
        raise wrong("has to be seconds, `cancel` or `forever`")
    return value


class Wait(ActionStep):
    """Lets time pass, or waits until the client cancels or leaves."""

    wait: Annotated[float | Literal["cancel", "forever"], BeforeValidator(_as_wait)]
    jitter: Seconds = 0.0
    """Seconds more, at most, by chance."""

    async def play(self, run: ScenarioRun) -> None:
        if isinstance(self.wait, float):
            more = run.random.uniform(0, self.jitter) if self.jitter else 0.0
            await run.connection.stage.sleep(self.wait + more)
            return
        async with anyio.create_task_group() as tasks:

            async def look(event: anyio.Event) -> None:
                await event.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(look, run.connection.has_left)
            if self.wait == "cancel":
                tasks.start_soon(look, run.turn.is_cancelled)


class SendBatch(ActionStep):
    """Sends the messages of several steps as one array."""

    batch: Steps

    async def play(self, run: ScenarioRun) -> None:
        collected: list[Json] = []
        await replace(run, batch=collected).play(self.batch)
        await run.send(collected)


class PlaySteps(ActionStep):
    steps: Steps

    async def play(self, run: ScenarioRun) -> None:
        await run.play(self.steps)


class PlayOneOf(ActionStep):
    one_of: Ways

    async def play(self, run: ScenarioRun) -> None:
        await run.play(run.random.choice(self.one_of))


class PlayConcurrently(ActionStep):
    beside: Ways

    async def play(self, run: ScenarioRun) -> None:
        async with anyio.create_task_group() as tasks:
            for steps in self.beside:
                tasks.start_soon(run.play, steps)


def _as_id(value: Any) -> RequestId:
    if not is_request_id(value):
        raise wrong("has to be a text or a whole number")
    return value


class RequestStep(ActionStep):
    """A request to the client; the step goes on with the branch of the outcome."""

    expect: ParsedJson = None
    """What the result has to hold; None for anything."""
    id: Annotated[Any, BeforeValidator(_as_id)] = None
    """None for one that no other request has."""
    waits: bool = Field(default=True, alias="await")
    """Whether the step ends only with the response."""
    force: bool = False
    """Whether it is sent although the client does not offer it."""
    failed: Steps = ()

    async def request(self, run: ScenarioRun, method: str, params: Json) -> OutgoingRequest | None:
        """Send the request; return the response, or None if the step does not wait for it.

        An unexpected result is logged and counts as a failure.
        """
        sent = await run.request(method, run.filled(params), self.id, waits=self.waits)
        if sent is None or self.expect is None:
            return sent
        if sent.error is None:
            run.connection.expect(run.filled(self.expect), sent.result, run.place)
        elif "failed" not in self.model_fields_set:
            run.connection.fail(f"{run.place}: {method} was answered with the error {sent.error}")
        return sent

    async def is_offered(self, run: ScenarioRun, *path: str) -> bool:
        """Return whether the client has a capability; if not, log it and play `failed`."""
        offer: Json = run.connection.offers
        for name in path:
            offer = as_object(offer).get(name)
        if self.force or (offer is not None and offer is not False):
            return True
        run.connection.stage.note(f"{run.place}: not asked, the client has no {'.'.join(path)}")
        await run.play(self.failed)
        return False


class AnsweredStep(RequestStep):
    answered: Steps = ()

    async def request_and_go_on(self, run: ScenarioRun, method: str, params: Json) -> None:
        sent = await self.request(run, method, params)
        if sent is not None:
            await run.play(self.answered if sent.error is None else self.failed)


class SendRequest(AnsweredStep):
    ask: str
    """The method."""
    params: ParsedJson = Field(default_factory=dict[str, Any])

    async def play(self, run: ScenarioRun) -> None:
        await self.request_and_go_on(run, self.ask, self.params)


def _as_options(value: Any) -> Sequence[Json]:
    options: list[Json] = []
    for each in parsed_list(value):
        if isinstance(each, str) and each in CONSENTS:
            options.append({"optionId": each, "name": CONSENTS[each], "kind": each})
        elif "optionId" in as_object(each):
            options.append(each)
        else:
            kinds = listed(tuple(CONSENTS))
            raise wrong(f"has to be a list of {kinds}, or tables with `optionId`")
    return options


class RequestPermission(CallFields, RequestStep):
    permission: str
    """The id of the tool call."""
    options: Annotated[Sequence[Any], BeforeValidator(_as_options)] = Field(
        default_factory=lambda: _as_options(list(CONSENTS))
    )
    chosen: dict[str, Steps] = Field(default_factory=dict[str, Sequence[Step]])
    """How it goes on, by the id of the chosen option."""
    allowed: Steps = ()
    rejected: Steps = ()
    cancelled: Steps = ()

    async def play(self, run: ScenarioRun) -> None:
        messages, fields = run.session.messages, self.fields()
        title = self.permission if self.title is None else self.title
        run.session.speaker = None
        if self.permission not in messages.calls:
            begin = {"title": title, "status": "pending"} | fields
            await run.update(messages.call(self.permission, as_object(run.filled(begin))))
        changed = as_object(run.filled(fields))
        params = messages.pending(self.permission, title, changed, self.options)
        await self._send_state(run, "requires_action")
        sent = await self.request(run, "session/request_permission", params)
        if sent is None:
            return
        await self._send_state(run, "running")
        option, branch = self._outcome(sent)
        await run.play(self.chosen.get(option, ()))
        await run.play(branch)

    async def _send_state(self, run: ScenarioRun, state: str) -> None:
        update = run.session.messages.state(state)
        if update is not None and self.waits and run.batch is None:
            await run.update(update, keeps=False)

    def _outcome(self, sent: OutgoingRequest) -> tuple[str, Sequence[Step]]:
        """Return the option that was chosen, if any, and how it goes on."""
        outcome = get_object(sent.result, "outcome")
        if sent.error is None and outcome.get("outcome") == "cancelled":
            return "", self.cancelled
        if sent.error is not None or outcome.get("outcome") != "selected":
            return "", self.failed
        chosen = str(outcome.get("optionId"))
        kinds = {option["optionId"]: str(option.get("kind")) for option in self.options}
        if chosen not in kinds:
            return chosen, self.failed
        return chosen, self.allowed if kinds[chosen].startswith("allow") else self.rejected


class RequestReadFile(AnsweredStep):
    """Reads a file through the client; only version 1 can."""

    read: str
    line: Annotated[int, whole(0)] | None = None
    limit: Annotated[int, whole(0)] | None = None

    async def play(self, run: ScenarioRun) -> None:
        if await self.is_offered(run, "fs", "readTextFile"):
            extent = {"line": self.line, "limit": self.limit}
            given = {name: value for name, value in extent.items() if value is not None}
            params = {"sessionId": run.session.id, "path": self.read, **given}
            await self.request_and_go_on(run, "fs/read_text_file", params)


class RequestWriteFile(AnsweredStep):
    """Writes a file through the client; only version 1 can."""

    write: str
    content: str = ""

    async def play(self, run: ScenarioRun) -> None:
        if await self.is_offered(run, "fs", "writeTextFile"):
            params = {"sessionId": run.session.id, "path": self.write, "content": self.content}
            await self.request_and_go_on(run, "fs/write_text_file", params)


def _has_command(value: Sequence[str]) -> Sequence[str]:
    if not value:
        raise wrong("has to hold a command")
    return value


class RequestRunCommand(AnsweredStep):
    """Runs a command in a terminal of the client; only version 1 can."""

    run: Annotated[Texts, AfterValidator(_has_command)]
    tool: str | None = None
    """The tool call that shows the terminal; None for none."""

    async def play(self, run: ScenarioRun) -> None:
        """Run it to its end; `answer` is the result of `terminal/output` then."""
        if not await self.is_offered(run, "terminal"):
            return
        name, *arguments = self.run
        params = {"command": name, "args": arguments, "cwd": run.session.cwd}
        params = run.filled({"sessionId": run.session.id, **params})
        created = await run.request("terminal/create", params)
        if created is None or created.error is not None:
            await run.play(self.failed)
            return
        terminal = {"terminalId": as_object(created.result).get("terminalId")}
        if self.tool is not None:
            content = [{"type": "terminal", **terminal}]
            changed: dict[str, Json] = {"status": "in_progress", "content": content}
            await run.update(run.session.messages.call(self.tool, changed))
        about = run.filled({"sessionId": run.session.id, **terminal})
        await run.request("terminal/wait_for_exit", about)
        output = await self.request(run, "terminal/output", about)
        result = run.turn.known.get("answer")
        await run.request("terminal/release", about)
        run.turn.known["answer"] = result
        is_well = output is not None and output.error is None
        await run.play(self.answered if is_well else self.failed)


class RequestElicitation(RequestStep):
    """Asks the user for something in a form, or to visit a URL."""

    elicit: str
    schema_: JsonObject = Field(default=None, alias="schema")
    url: str | None = None
    name: str = "elicitation-1"
    accepted: Steps = ()
    declined: Steps = ()
    cancelled: Steps = ()

    async def play(self, run: ScenarioRun) -> None:
        mode = "form" if self.url is None else "url"
        if not await self.is_offered(run, "elicitation", mode):
            return
        params: dict[str, Json] = {"sessionId": run.session.id, "message": self.elicit}
        if self.url is None:
            empty: dict[str, Json] = {"type": "object", "properties": {}}
            params |= {"mode": mode, "requestedSchema": empty | as_object(self.schema_)}
        else:
            params |= {"mode": mode, "url": self.url, "elicitationId": self.name}
        sent = await self.request(run, "elicitation/create", params)
        if sent is None:
            return
        match as_object(sent.result).get("action"):
            case "accept":
                await run.play(self.accepted)
            case "decline":
                await run.play(self.declined)
            case "cancel":
                await run.play(self.cancelled)
            case _:
                await run.play(self.failed)


ACTIONS: Final[Mapping[str, type[ActionStep]]] = {
    "run": RequestRunCommand,
    "terminal": SendTerminal,
    "tool": SendToolCall,
    "permission": RequestPermission,
    "read": RequestReadFile,
    "write": RequestWriteFile,
    "elicit": RequestElicitation,
    "ask": SendRequest,
    "tell": SendNotification,
    "text": SendText,
    "thought": SendThought,
    "user": SendUserText,
    "block": SendBlock,
    "plan": SendPlan,
    "update": SendUpdate,
    "mode": SetMode,
    "commands": SendCommands,
    "state": SendState,
    "title": SetTitle,
    "frame": SendFrame,
    "line": WriteLine,
    "raw": WriteRaw,
    "hex": WriteBytes,
    "stderr": WriteStderr,
    "wait": Wait,
    "close": CloseStdout,
    "batch": SendBatch,
    "one_of": PlayOneOf,
    "beside": PlayConcurrently,
    "steps": PlaySteps,
}
"""The class of each action. If a table has several, the first in this order is its action."""
