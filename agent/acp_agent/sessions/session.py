"""A session: its directory, its history, its consents, and at most one running turn."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

import anyio

from acp_agent.mcp.servers import McpServers
from acp_agent.models.types import (
    AssistantMessage,
    Model,
    ModelEvent,
    PromptMessage,
    SlashCommand,
    SupportsEffort,
    TokenUsage,
    is_scripted,
)
from acp_agent.params import session_not_found
from acp_agent.permissions.decide import ModeId, SessionPermissions
from acp_agent.permissions.grants import PolicyId
from acp_agent.services import AgentServices
from acp_agent.sessions.log import History, SessionLog, read_usage, write_usage
from acp_agent.sessions.options import (
    DEFAULT_EFFORT,
    EFFORT,
    MODE,
    MODEL,
    POLICY,
    THINKING,
    Option,
    options_for,
)
from acp_agent.sessions.restore import RestoredSession
from acp_agent.sessions.store import SessionRecord, StoreError
from acp_agent.sessions.suspended import SessionSetup, SuspendedSession
from acp_agent.tools.registry import elicitation_tools
from acp_agent.turn.context import ContextWindow, TurnContext
from acp_agent.turn.history import model_history
from acp_agent.turn.instructions import LoadedInstructions, load_instructions
from acp_agent.turn.loop import StopReason, run_turn
from acp_agent.turn.slash_command_list import ParsedCommand, available_commands, parse_command
from acp_agent.turn.slash_commands import SlashCommands, history_item
from acp_agent.turn.tool_calls import ToolContext
from acp_agent.updates.elicitation import UserElicitation
from acp_agent.updates.v1 import USAGE_UPDATE, SessionUpdates
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
        return session_not_found(self._session_id, "The session was closed meanwhile")


class Session:
    """One conversation with the client."""

    def __init__(
        self,
        log: SessionLog,
        revived: RestoredSession,
        *,
        services: AgentServices,
        workspace: Workspace,
        updates: SessionUpdates,
        servers: McpServers,
        declared: SessionSetup,
        slept: SuspendedSession | None = None,
    ) -> None:
        record = log.record
        self.id = record.id
        self.log = log
        self.updates = updates
        self.servers = servers
        self.setup = declared
        self._shown_warnings = slept.shown_warnings if slept else set[tuple[str, str]]()
        self._shown_warnings &= set(servers.warnings)
        self.cwd: Path = workspace.cwd
        new = SessionPermissions(services.rules, workspace.cwd)
        self.permissions = slept.permissions if slept else new
        self.last_used = anyio.current_time()
        """When it was used last, on the clock of the event loop."""
        self._uses = 0
        self.tasks = SessionTasks(self.id)
        self.prompts = PromptQueue()
        self.is_unannounced = False
        """Whether the request that has opened it was not answered yet."""
        self._models = {model.name: model for model in services.models}
        self.prefix = f"{services.namespace}:" if services.namespace else ""
        """What precedes the names of commands."""
        self._turn: anyio.CancelScope | None = None
        self._turn_ended = anyio.Event()
        self._used: dict[str, int] | None = None
        self.options = options_for(services.models, services.rules.default_policy)
        self._chosen = {option.id: option.chosen(record.settings) for option in self.options}
        desk = ToolContext(
            record.id, services.client, updates, workspace, self.permissions, servers
        )
        desk.call_count = revived.calls
        desk.audit = services.audit
        user = servers.relay.user = UserElicitation(
            desk.client, record.id, updates, desk.permission_lock
        )
        servers.adopt(services.tools)
        servers.adopt(elicitation_tools(user, servers.relay.modes))
        history = History(revived.history, log)
        self._context = TurnContext(services.models[0], desk, history, services.pace)
        self._context.limits = services.limits
        self._context.read_instructions = self._instructed
        self._names = services.instructions
        self._commands = SlashCommands(self._context, self)
        self._context.context_window = _fill(record.usage)
        if record.spent is not None:
            self._context.usage = read_usage(record.spent)
        self._apply()
        if revived.pending_prompt is not None:
            self._take_up(revived.pending_prompt, revived.partial_reply)

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
            self.last_used = anyio.current_time()

    def suspended(self) -> SuspendedSession:
        """Return what is kept in memory when it is suspended."""
        return SuspendedSession(
            self.log.record.number,
            self.setup,
            self.permissions,
            self._shown_warnings,
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
        return len(model_history(self._context.history))

    async def prompt(
        self, message: PromptMessage, record_prompt: Callable[[], Awaitable[None]] | None = None
    ) -> StopReason:
        """Run one turn for `said`, once `record_prompt` has stored it; no other turn may run."""
        stop: StopReason = "cancelled"
        before = self._context.usage
        self._turn_ended = anyio.Event()
        self._turn = turn = anyio.CancelScope()
        try:
            with turn, self.servers.relay.in_turn():
                if record_prompt is not None:
                    await record_prompt()
                message = self._plain(message)
                order = parse_command(message.text, self.model)
                await self._begin("" if order is not None and order.is_local else message.text)
                await self.warn(is_in_turn=True)
                stop = await self._answer(message, order)
                await self.log.flush()
        except ConnectionClosedError:
            # The client asks and answers no more: what it left unanswered, it does not want.
            stop = "cancelled"
        except StoreError:
            if not turn.cancel_called:
                raise
        finally:
            self._turn = None
            self.last_used = anyio.current_time()
            self._turn_ended.set()
            self._account(before)
        return "cancelled" if turn.cancel_called else stop

    async def _answer(self, message: PromptMessage, order: ParsedCommand | None) -> StopReason:
        """Run a slash command or a turn of the model; return why it stopped."""
        if order is not None:
            return await self._commands.run(order, message)
        self._context.history.append(message)
        return await run_turn(self._context)

    def _take_up(self, message: PromptMessage, loose: tuple[ModelEvent, ...]) -> None:
        """Add a prompt that was interrupted, and the partial reply, to the history."""
        message = self._plain(message)
        entry = history_item(parse_command(message.text, self.model), message)
        self._context.history.append(entry)
        if isinstance(entry, PromptMessage):
            self._context.history.append(AssistantMessage(loose))

    def _plain(self, message: PromptMessage) -> PromptMessage:
        """Return a prompt whose command has no namespace."""
        begins = f"/{self.prefix}"
        if not self.prefix or not message.text.startswith(begins):
            return message
        rest = message.text[len(begins) :]
        known = {command.name for command in available_commands(self.model)}
        # Anything else goes to the model unchanged.
        is_command = known.intersection(rest.split(maxsplit=1)[:1])
        return (
            replace(message, text=f"/{rest}") if is_command and not rest[0].isspace() else message
        )

    def _account(self, before: TokenUsage) -> None:
        """Store the tokens used, however the turn has ended."""
        spent = self._context.usage
        self._used = _members(spent, before)
        if spent != before:
            self.log.update(spent=write_usage(spent))

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
        scope = self._context.tool_context.running.get(call_id)
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
            await self.log.flush()
        except StoreError as problem:
            logger.error("the last messages are not stored: %s", problem)  # noqa: TRY400 - as below

    async def announce(self) -> None:
        """Send the available commands, and warnings."""
        await self.updates.commands(self.listed_commands())
        await self.warn()

    async def warn(self, *, is_in_turn: bool = False) -> None:
        """Warn the user of servers and tools that cannot be used, once while the reason holds.

        Clients without notices get a message instead, which needs a running turn.
        """
        troubles = self.servers.warnings
        if not self.servers.is_changing:
            self._shown_warnings &= set(troubles)
        for trouble in troubles:
            if trouble in self._shown_warnings:
                continue
            if await self.updates.warn(*trouble, is_in_turn=is_in_turn):
                self._shown_warnings.add(trouble)

    async def send_context(self) -> None:
        """Send the state beside the conversation: title, usage, commands."""
        try:
            pending_updates = self.context_updates()
        except StoreError as problem:
            # The response has been sent, so the error goes to the log.
            logger.error("%s", problem)  # noqa: TRY400 - a sentence says it all
            return
        for update, members in pending_updates:
            await self.updates.send(update, members)
        await self.announce()

    def context_updates(self) -> list[tuple[str, Mapping[str, Json]]]:
        """Return the updates of the state beside the conversation."""
        record = self.log.current()
        shown: list[tuple[str, Mapping[str, Json]]] = [(INFO, session_info(record))]
        if record.usage is not None:
            shown.append((USAGE_UPDATE, record.usage))
        return shown

    def move(self, workspace: Workspace, directories: Sequence[Path]) -> None:
        """Change the directories of the session."""
        self._context.tool_context.workspace = workspace
        self.setup = replace(self.setup, directories=directories)

    def option(self, id_: Json) -> Option | None:
        """Return the option of that id."""
        return next((option for option in self.options if option.id == id_), None)

    async def set_option(self, option: Option, value: str) -> None:
        """Set `option` to a value, and notify the client."""
        before = self._chosen[option.id]
        self._chosen[option.id] = value
        is_other = option.id == MODEL and value != before
        # The context usage of one model says nothing about that of another.
        forgotten: dict[str, Json] = {"usage": None} if is_other else {}
        try:
            await self.log.update_now(settings=dict(self._chosen), **forgotten)
        except BaseException:
            self._chosen[option.id] = before
            raise
        self._apply()
        if is_other:
            self._context.context_window = ContextWindow()
        await self.updates.option_changed(option, self._chosen, self.options)
        if option.id == MODEL and len(self._models) > 1:
            await self.announce()

    def settings(self) -> dict[str, Json]:
        """Return the options of the session, as fields of a result."""
        return self.updates.settings(self.options, self._chosen)

    def commands(self) -> list[dict[str, Json]]:
        """Return the commands that a prompt may begin with, as the protocol shows them."""
        return self.updates.command_entries(self.listed_commands())

    def listed_commands(self) -> list[SlashCommand]:
        """Return those commands as the client knows them."""
        return [
            replace(each, name=f"{self.prefix}{each.name}")
            for each in available_commands(self.model)
        ]

    def usage(self) -> Mapping[str, Json] | None:
        """Return the context usage that was sent last."""
        return self.log.current().usage

    def _apply(self) -> None:
        """Apply the chosen options."""
        self.permissions.mode = cast("ModeId", self._chosen[MODE])
        self.permissions.policy = cast("PolicyId", self._chosen[POLICY])
        self.updates.shows_thoughts = self._chosen[THINKING] == "show"
        model = self._models[self._chosen[MODEL]]
        effort = self._chosen.get(EFFORT, DEFAULT_EFFORT)
        if effort != DEFAULT_EFFORT and isinstance(model, SupportsEffort):
            model = model.at(effort)
        self._context.model = model

    async def _instructed(self) -> LoadedInstructions | None:
        """Return the project's instructions for the chosen model."""
        names = () if is_scripted(self.model) else self._names
        files = self._context.tool_context.workspace
        return await load_instructions(names, self.setup.directories, files, self.permissions)

    async def send_title(self) -> None:
        """Notify the client of the new title."""
        await self.updates.send(INFO, session_info(self.log.current()))

    async def _begin(self, text: str) -> None:
        """Store and send the time of use, and the title that the first prompt gives."""
        info = {"updatedAt": self.log.touch()}
        if (words := " ".join(text.split())) and self.log.suggest_title(title := _cut(words)):
            info["title"] = title
        await self.log.flush()
        await self.updates.send(INFO, info)


def session_info(record: SessionRecord) -> dict[str, Json]:
    """Return title and time of use as fields of an update."""
    title = {"title": record.title} if record.title is not None else {}
    return title | {"updatedAt": record.updated}


def _cut(words: str) -> str:
    """Return `words`, cut to the length of a title."""
    return words[: TITLE_LENGTH - 1] + "…" if len(words) > TITLE_LENGTH else words


def _members(now: TokenUsage, before: TokenUsage) -> dict[str, int]:
    """Return the difference of two sums, as the protocol counts it."""
    return {
        "totalTokens": now.total - before.total,
        "inputTokens": now.input_tokens - before.input_tokens,
        "outputTokens": now.output_tokens - before.output_tokens,
        "thoughtTokens": now.reasoning_tokens - before.reasoning_tokens,
        "cachedReadTokens": now.cache_read_tokens - before.cache_read_tokens,
        "cachedWriteTokens": now.cache_write_tokens - before.cache_write_tokens,
    }


def _fill(usage: Mapping[str, Json] | None) -> ContextWindow:
    """Return how full the context window is, as last reported and as far as it can be read."""
    used, size = (usage.get("used"), usage.get("size")) if usage else (None, None)
    return (
        ContextWindow(used, size)
        if isinstance(used, int) and isinstance(size, int)
        else ContextWindow()
    )
