"""A session: its directory, its history, its consents, and at most one running turn."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final, cast

import anyio

from acp_agent.asking import Context, Fill
from acp_agent.calls import Desk
from acp_agent.commands.catalogue import Order, offered, order_in
from acp_agent.commands.clerk import Clerk, taken
from acp_agent.elicitation import Elicitation
from acp_agent.instructions import Told, instructions_of
from acp_agent.mcp.servers import McpServers
from acp_agent.memory import remembered
from acp_agent.models.model import (
    Command,
    Model,
    ModelEvent,
    ModelSaid,
    Thinker,
    Used,
    UserSaid,
    is_scripted,
)
from acp_agent.params import missing
from acp_agent.permissions import ModeId, Permissions
from acp_agent.rules import PolicyId
from acp_agent.services import AgentServices
from acp_agent.sessions.errors import StoreError
from acp_agent.sessions.log import History, SessionLog
from acp_agent.sessions.options import (
    AS_SET,
    EFFORT,
    MODE,
    MODEL,
    POLICY,
    THINKING,
    Option,
    options_for,
)
from acp_agent.sessions.records import Record
from acp_agent.sessions.restore import Revived
from acp_agent.slumber import Asleep, Declared
from acp_agent.tools.catalogue import elicitation_tools
from acp_agent.turn import StopReason, run_turn
from acp_agent.updates import USAGE, Updates
from acp_agent.workspace import Workspace
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)

TITLE_LENGTH: Final = 60
INFO: Final = "session_info_update"


class PromptQueue:
    """The prompts of a session that wait for the running turn to end (version 2)."""

    def __init__(self) -> None:
        self.turn = anyio.Semaphore(1, fast_acquire=True)
        """Acquired from when a prompt is accepted until its turn has ended."""
        self.waiting: set[anyio.CancelScope] = set()
        """The prompts that are not a part of the conversation yet."""
        self.is_cancelled = False
        """Whether the turn that was accepted last was cancelled, perhaps before it began."""

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs, or a prompt was accepted for the next one."""
        return self.turn.value == 0

    def cancel(self) -> None:
        """Refuse the waiting prompts, and mark the accepted one as cancelled."""
        self.is_cancelled = True
        for scope in self.waiting:
            scope.cancel()


class SessionTasks:
    """What is sent for an open session beside its turns, such as a replay.

    It ends before the session is closed, so that nothing is sent behind the response to that.
    """

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._scopes: dict[anyio.CancelScope, anyio.Event] = {}
        self._is_over = False

    @contextmanager
    def running(self) -> Generator[None]:
        """Run a block that ends when the session is closed.

        Raises:
            RequestFailedError: the session was closed before the block had ended.
        """
        if self._is_over:
            raise self._closed()
        with anyio.CancelScope() as scope:
            has_ended = self._scopes[scope] = anyio.Event()
            try:
                yield
            finally:
                del self._scopes[scope]
                has_ended.set()
        if scope.cancelled_caught:
            raise self._closed()

    async def end(self) -> None:
        """Cancel the blocks that run and let no other begin; return when they have ended."""
        self._is_over = True
        for scope, has_ended in list(self._scopes.items()):
            scope.cancel()
            await has_ended.wait()

    def _closed(self) -> Exception:
        return missing(self._session_id, "The session was closed meanwhile")


class Session:
    """One conversation with the client."""

    def __init__(
        self,
        log: SessionLog,
        revived: Revived,
        *,
        services: AgentServices,
        workspace: Workspace,
        updates: Updates,
        servers: McpServers,
        declared: Declared,
        slept: Asleep | None = None,
    ) -> None:
        record = log.record
        self.id = record.id
        self.log = log
        self.updates = updates
        self.servers = servers
        self.declared = declared
        self._told_troubles = slept.told_troubles if slept else set[tuple[str, str]]()
        self._told_troubles &= set(servers.warnings)
        self.cwd: Path = workspace.cwd
        new = Permissions(services.rules, workspace.cwd)
        self.permissions = slept.permissions if slept else new
        self.touched = anyio.current_time()
        """When it was used last, on the clock of the event loop."""
        self._uses = 0
        self.tasks = SessionTasks(self.id)
        self.prompts = PromptQueue()
        self.is_unknown = False
        """Whether the request that has opened it was not answered yet."""
        self._models = {model.name: model for model in services.models}
        self.prefix = f"{services.namespace}:" if services.namespace else ""
        """What stands before the names of commands."""
        self._turn: anyio.CancelScope | None = None
        self._turn_ended = anyio.Event()
        self._used: dict[str, int] | None = None
        self.options = options_for(services.models, services.rules.default_policy)
        self._chosen = {option.id: option.chosen(record.settings) for option in self.options}
        desk = Desk(record.id, services.client, updates, workspace, self.permissions, servers)
        desk.calls = revived.calls
        desk.audit = services.audit
        user = servers.relay.user = Elicitation(desk.client, record.id, updates, desk.asking)
        servers.adopt(services.tools)
        servers.adopt(elicitation_tools(user, servers.relay.ways))
        history = History(revived.history, log)
        self._context = Context(services.models[0], desk, history, services.pace)
        self._context.limits = services.limits
        self._context.instructed = self._instructed
        self._names = services.instructions
        self._clerk = Clerk(self._context, self)
        self._context.fill = _fill(record.usage)
        if record.spent is not None:
            self._context.spent = _spent(record.spent)
        self._apply()
        if revived.unheard is not None:
            self._take_up(revived.unheard, revived.loose)

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None

    @property
    def is_at_work(self) -> bool:
        """Whether a turn runs, or a prompt was accepted for the next one."""
        return self.is_busy or self.prompts.is_busy

    @property
    def is_ending(self) -> bool:
        """Whether a turn runs that was cancelled."""
        return self._turn is not None and self._turn.cancel_called

    @property
    def is_used(self) -> bool:
        """Whether a turn or another request runs."""
        return self.is_busy or self._uses > 0

    @contextmanager
    def used(self) -> Generator[None]:
        """Count as used within the block, and as used last at its end."""
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            self.touched = anyio.current_time()

    def asleep(self) -> Asleep:
        """Return what is kept in memory when it is suspended."""
        return Asleep(
            self.log.record.number,
            self.declared,
            self.permissions,
            self._told_troubles,
            self.model.name,
            self.history_length,
        )

    @property
    def model(self) -> Model:
        """The chosen model."""
        return self._context.model

    @property
    def history_length(self) -> int:
        """The number of entries that are sent to the model."""
        return len(remembered(self._context.history))

    async def prompt(
        self, said: UserSaid, record_prompt: Callable[[], Awaitable[None]] | None = None
    ) -> StopReason:
        """Run one turn for `said`, once `record_prompt` has stored it; no other turn may run."""
        stop: StopReason = "cancelled"
        before = self._context.spent
        self._turn_ended = anyio.Event()
        self._turn = turn = anyio.CancelScope()
        try:
            with turn, self.servers.relay.listening():
                if record_prompt is not None:
                    await record_prompt()
                said = self._plain(said)
                order = order_in(said.text, self.model)
                await self._begin("" if order is not None and order.is_aside else said.text)
                await self.warn(is_in_turn=True)
                stop = await self._answer(said, order)
                await self.log.settle()
        except ConnectionClosedError:
            # The client asks and answers no more: what it left unanswered, it does not want.
            stop = "cancelled"
        except StoreError:
            if not turn.cancel_called:
                raise
        finally:
            self._turn = None
            self.touched = anyio.current_time()
            self._turn_ended.set()
            self._account(before)
        return "cancelled" if turn.cancel_called else stop

    async def _answer(self, said: UserSaid, order: Order | None) -> StopReason:
        """Run a slash command or a turn of the model; return why it stopped."""
        if order is not None:
            return await self._clerk.carry_out(order, said)
        self._context.history.append(said)
        return await run_turn(self._context)

    def _take_up(self, said: UserSaid, loose: tuple[ModelEvent, ...]) -> None:
        """Add a prompt that was interrupted, and the partial reply, to the history."""
        said = self._plain(said)
        entry = taken(order_in(said.text, self.model), said)
        self._context.history.append(entry)
        if isinstance(entry, UserSaid):
            self._context.history.append(ModelSaid(loose))

    def _plain(self, said: UserSaid) -> UserSaid:
        """Return a prompt whose command has no namespace."""
        begins = f"/{self.prefix}"
        if not self.prefix or not said.text.startswith(begins):
            return said
        rest = said.text[len(begins) :]
        known = {command.name for command in offered(self.model)}
        # Anything else goes to the model unchanged.
        is_command = known.intersection(rest.split(maxsplit=1)[:1])
        return replace(said, text=f"/{rest}") if is_command and not rest[0].isspace() else said

    def _account(self, before: Used) -> None:
        """Store the tokens used, however the turn has ended."""
        spent = self._context.spent
        self._used = _members(spent, before)
        if spent != before:
            self.log.note(spent=asdict(spent))

    def take_used(self) -> dict[str, Json]:
        """Return, once, the tokens that the last turn has used, as a field of its result."""
        used, self._used = self._used, None
        return {"usage": dict(used)} if used is not None and used["totalTokens"] else {}

    def cancel(self) -> None:
        """End the running turn, if there is one; its prompt is answered with `cancelled`."""
        if self._turn is not None:
            self._turn.cancel()

    def end_call(self, call_id: str) -> bool:
        """End one tool call, while the turn goes on; return whether it runs."""
        scope = self._context.desk.running.get(call_id)
        if scope is not None:
            scope.cancel()
        return scope is not None

    async def finish(self) -> None:
        """Cancel all prompts, and return when the running turn has sent its last update."""
        self.prompts.cancel()
        if self._turn is not None:
            self._turn.cancel()
            await self.ended()
        async with self.prompts.turn:
            pass

    async def ended(self) -> None:
        """Return when the turn that runs has ended."""
        await self._turn_ended.wait()

    async def settle(self) -> None:
        """Return when everything is stored; log an error if it cannot be."""
        try:
            await self.log.settle()
        except StoreError as problem:
            logger.error("the last messages are not stored: %s", problem)  # noqa: TRY400 - as below

    async def announce(self) -> None:
        """Send the available commands, and warnings."""
        await self.updates.commands(self.listed())
        await self.warn()

    async def warn(self, *, is_in_turn: bool = False) -> None:
        """Warn the user of servers and tools that cannot be used, once while the reason holds.

        Clients without notices get a message instead, which needs a running turn.
        """
        troubles = self.servers.warnings
        if not self.servers.is_changing:
            self._told_troubles &= set(troubles)
        for trouble in troubles:
            if trouble in self._told_troubles:
                continue
            if await self.updates.warn(*trouble, is_in_turn=is_in_turn):
                self._told_troubles.add(trouble)

    async def recall(self) -> None:
        """Send the state beside the conversation: title, usage, commands."""
        try:
            told = self.surroundings()
        except StoreError as problem:
            # The response has been sent, so the error goes to the log.
            logger.error("%s", problem)  # noqa: TRY400 - a sentence says it all
            return
        for update, members in told:
            await self.updates.send(update, members)
        await self.announce()

    def surroundings(self) -> list[tuple[str, Mapping[str, Json]]]:
        """Return the updates of the state beside the conversation."""
        record = self.log.current()
        told: list[tuple[str, Mapping[str, Json]]] = [(INFO, info_of(record))]
        if record.usage is not None:
            told.append((USAGE, record.usage))
        return told

    def move(self, workspace: Workspace, directories: Sequence[Path]) -> None:
        """Change the directories of the session."""
        self._context.desk.workspace = workspace
        self.declared = replace(self.declared, directories=directories)

    def option(self, id_: Json) -> Option | None:
        """Return the option of that id."""
        return next((option for option in self.options if option.id == id_), None)

    async def choose(self, option: Option, value: str) -> None:
        """Set `option` to a value, and notify the client."""
        before = self._chosen[option.id]
        self._chosen[option.id] = value
        is_other = option.id == MODEL and value != before
        # The context usage of one model says nothing about that of another.
        forgotten: dict[str, Json] = {"usage": None} if is_other else {}
        try:
            await self.log.confirm(settings=dict(self._chosen), **forgotten)
        except BaseException:
            self._chosen[option.id] = before
            raise
        self._apply()
        if is_other:
            self._context.fill = Fill()
        await self.updates.chosen(option, self._chosen, self.options)
        if option.id == MODEL and len(self._models) > 1:
            await self.announce()

    def settings(self) -> dict[str, Json]:
        """Return the options of the session, as fields of a result."""
        return self.updates.settings(self.options, self._chosen)

    def commands(self) -> list[dict[str, Json]]:
        """Return the commands that a prompt may begin with, as the protocol shows them."""
        return self.updates.offered(self.listed())

    def listed(self) -> list[Command]:
        """Return those commands as the client knows them."""
        return [replace(each, name=f"{self.prefix}{each.name}") for each in offered(self.model)]

    def usage(self) -> Mapping[str, Json] | None:
        """Return the context usage that was sent last."""
        return self.log.current().usage

    def _apply(self) -> None:
        """Apply the chosen options."""
        self.permissions.mode = cast("ModeId", self._chosen[MODE])
        self.permissions.policy = cast("PolicyId", self._chosen[POLICY])
        self.updates.shows_thoughts = self._chosen[THINKING] == "show"
        model = self._models[self._chosen[MODEL]]
        effort = self._chosen.get(EFFORT, AS_SET)
        if effort != AS_SET and isinstance(model, Thinker):
            model = model.at(effort)
        self._context.model = model

    async def _instructed(self) -> Told | None:
        """Return the project's instructions for the chosen model."""
        names = () if is_scripted(self.model) else self._names
        files = self._context.desk.workspace
        return await instructions_of(names, self.declared.directories, files, self.permissions)

    async def retitled(self) -> None:
        """Notify the client of the new title."""
        await self.updates.send(INFO, info_of(self.log.current()))

    async def _begin(self, text: str) -> None:
        """Store and send the time of use, and the title that the first prompt gives."""
        told = {"updatedAt": self.log.touch()}
        if (words := " ".join(text.split())) and self.log.suggest_title(title := _cut(words)):
            told["title"] = title
        await self.log.settle()
        await self.updates.send(INFO, told)


def info_of(record: Record) -> dict[str, Json]:
    """Return title and time of use as fields of an update."""
    title = {"title": record.title} if record.title is not None else {}
    return title | {"updatedAt": record.updated}


def _cut(words: str) -> str:
    """Return `words`, cut to the length of a title."""
    return words[: TITLE_LENGTH - 1] + "…" if len(words) > TITLE_LENGTH else words


def _members(now: Used, before: Used) -> dict[str, int]:
    """Return the difference of two sums, as the protocol counts it."""
    return {
        "totalTokens": now.total - before.total,
        "inputTokens": now.read - before.read,
        "outputTokens": now.written - before.written,
        "thoughtTokens": now.thought - before.thought,
        "cachedReadTokens": now.cached_read - before.cached_read,
        "cachedWriteTokens": now.cached_written - before.cached_written,
    }


def _spent(told: Mapping[str, Json]) -> Used:
    """Return what was spent, as far as it can be read."""
    try:
        return Used(**told)
    except TypeError:
        return Used(0, 0)


def _fill(usage: Mapping[str, Json] | None) -> Fill:
    """Return how full the model's mind is, as it was told last and as far as it can be read."""
    used, size = (usage.get("used"), usage.get("size")) if usage else (None, None)
    return Fill(used, size) if isinstance(used, int) and isinstance(size, int) else Fill()
