"""A session: its directory, its history, its permissions, and at most one running turn."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import anyio
import anyio.to_thread

from acp_agent.mcp.declarations import Server
from acp_agent.mcp.servers import McpServers
from acp_agent.models.types import (
    AssistantMessage,
    Model,
    PromptMessage,
    ReplyOptions,
    SlashCommand,
    SupportsEffort,
    TakesReplyOptions,
    TokenUsage,
    is_scripted,
)
from acp_agent.options import (
    DEFAULT_EFFORT,
    EFFORT,
    MODE,
    MODEL,
    POLICY,
    THINKING,
    OfferedOption,
    options_for,
)
from acp_agent.permissions.decide import ModeId, SessionPermissions
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.services import AgentServices
from acp_agent.sessions.restore import RestoredSession
from acp_agent.settings.keys import PolicyId
from acp_agent.store.database import SessionRecord
from acp_agent.store.entries import read_usage, write_usage
from acp_agent.store.errors import StoreError
from acp_agent.store.log import History, SessionLog
from acp_agent.tools.registry import elicitation_tools
from acp_agent.turn.context import ContextWindow, TurnContext, model_history
from acp_agent.turn.instructions import LoadedInstructions, read_instructions
from acp_agent.turn.loop import run_turn
from acp_agent.turn.slash_commands import (
    available_commands,
    history_item,
    parse_command,
    run_command,
    without_prefix,
)
from acp_agent.updates.v1 import USAGE_UPDATE, SessionUpdates
from acp_agent.world.elicitation import SessionClient, UserElicitation
from acp_agent.world.workspace import Workspace
from acp_protocol import jsonrpc
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import StopReason

logger = logging.getLogger(__name__)

TITLE_LENGTH: Final = 60
INFO: Final = "session_info_update"
CLOSED: Final = "The session was closed meanwhile"


def session_not_found(session_id: str, reason: str) -> RequestFailedError:
    """Return the error for a session that does not exist, or is not open."""
    return RequestFailedError(jsonrpc.RESOURCE_NOT_FOUND, reason, {"sessionId": session_id})


@dataclass(frozen=True, slots=True)
class SessionResources:
    """What the client wants a session to work with."""

    directories: Sequence[Path]
    """The first is its `cwd`."""
    servers: Sequence[Server]


@dataclass(frozen=True, slots=True)
class SuspendedSession:
    """What is kept in memory of a suspended session; everything else is in the store."""

    number: int
    setup: SessionResources
    permissions: SessionPermissions
    shown_warnings: set[tuple[str, str]]
    model: str
    history_length: int


class SessionTasks:
    """What runs for an open session beside its turns, such as a replay.

    It ends before the session is closed, so that nothing is sent after the response to that.
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
            raise session_not_found(self._session_id, CLOSED)
        with anyio.CancelScope() as scope:
            has_ended = self._scopes[scope] = anyio.Event()
            try:
                yield
            finally:
                del self._scopes[scope]
                has_ended.set()
        if scope.cancelled_caught:
            raise session_not_found(self._session_id, CLOSED)

    async def end(self) -> None:
        """Cancel the blocks that run and let no other begin; return when they have ended."""
        self._is_over = True
        for scope, has_ended in list(self._scopes.items()):
            scope.cancel()
            await has_ended.wait()


class AgentSession:
    """One conversation with the client."""

    def __init__(
        self,
        log: SessionLog,
        restored: RestoredSession,
        *,
        services: AgentServices,
        client: SessionClient,
        workspace: Workspace,
        updates: SessionUpdates,
        servers: McpServers,
        setup: SessionResources,
        suspended: SuspendedSession | None = None,
    ) -> None:
        record, settings = log.record, services.settings
        self.id = record.id
        self.cwd: Path = workspace.cwd
        self.log = log
        self.updates = updates
        self.servers = servers
        self.setup = setup
        self.tasks = SessionTasks(self.id)
        self.turn_slot = anyio.Semaphore(1, fast_acquire=True)
        """Acquired from when a prompt is accepted until its turn has ended (version 2)."""
        self.is_turn_cancelled = False
        """Whether the turn that was accepted last was cancelled, perhaps before it began."""
        self.is_unannounced = False
        """Whether the request that has opened it was not answered yet."""
        self.last_used = anyio.current_time()
        """When it was used last, on the clock of the event loop."""
        self.uses = 0
        """How many requests use it; it is not suspended meanwhile."""
        self._turn: anyio.CancelScope | None = None
        self._turn_ended = anyio.Event()
        self._turn_usage: dict[str, int] | None = None
        self._reply_options = ReplyOptions()
        self._shown_warnings = set[tuple[str, str]]()
        self.permissions = SessionPermissions(services.permissions, workspace.cwd)
        if suspended is not None:
            self._shown_warnings = suspended.shown_warnings & set(servers.warnings)
            self.permissions = suspended.permissions
        prefix = f"{settings.agent.namespace}:" if settings.agent.namespace else ""
        self._instruction_files = settings.agent.instructions
        self._models = {model.name: model for model in services.models}
        self.options = options_for(services.models, services.permissions)
        self._chosen = {option.id: option.chosen(record.settings) for option in self.options}
        self._context = TurnContext(
            session_id=self.id,
            client=client,
            updates=updates,
            workspace=workspace,
            permissions=self.permissions,
            tools=servers,
            model=services.models[0],
            history=History(restored.history, log),
            command_prefix=prefix,
            audit=services.audit,
            stream_delay_s=services.stream_delay_s,
            usage=read_usage(record.spent or {}),
            limits=settings.limits,
            read_instructions=self._read_instructions,
            context_window=ContextWindow.from_update(record.usage),
            call_count=restored.calls,
        )
        user = UserElicitation(client, self.id, updates, self._context.permission_lock)
        servers.relay.user = user
        servers.adopt(services.tools)
        servers.adopt(elicitation_tools(user, servers.relay.modes))
        self._apply_options()
        if restored.pending_prompt is not None:
            # The prompt was interrupted before it was in the history.
            message = without_prefix(restored.pending_prompt, self.model, prefix)
            item = history_item(parse_command(message.text, self.model), message)
            self._context.history.append(item)
            if isinstance(item, PromptMessage):
                self._context.history.append(AssistantMessage(restored.partial_reply))

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None

    @property
    def is_at_work(self) -> bool:
        """Whether a turn runs, or a prompt was accepted for the next one."""
        return self.is_busy or self.turn_slot.value == 0

    @property
    def is_ending(self) -> bool:
        """Whether a turn runs that was cancelled."""
        return self._turn is not None and self._turn.cancel_called

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
        """Run one turn, once `record_prompt` has stored its prompt; no other turn may run."""
        stop: StopReason = "cancelled"
        before = self._context.usage
        self._turn_ended = anyio.Event()
        self._turn = turn = anyio.CancelScope()
        try:
            with turn, self.servers.relay.in_turn():
                if record_prompt is not None:
                    await record_prompt()
                message = without_prefix(message, self.model, self._context.command_prefix)
                command = parse_command(message.text, self.model)
                is_local = command is not None and command.is_local
                await self._touch("" if is_local else message.text)
                await self.warn(is_in_turn=True)
                if command is not None:
                    stop = await run_command(self._context, command, message, self.servers)
                else:
                    self._context.history.append(message)
                    stop = await run_turn(self._context)
                await self.log.flush()
        except ConnectionClosedError:
            # What the client has left unanswered, it does not want.
            stop = "cancelled"
        except StoreError:
            if not turn.cancel_called:
                raise
        finally:
            self._turn = None
            self.last_used = anyio.current_time()
            self._turn_ended.set()
            spent = self._context.usage
            self._turn_usage = _usage_fields(spent, before)
            if spent != before:
                self.log.update(spent=write_usage(spent))
        return "cancelled" if turn.cancel_called else stop

    def take_turn_usage(self) -> dict[str, Json]:
        """Return, once, the tokens that the last turn has used, as a field of its result."""
        usage, self._turn_usage = self._turn_usage, None
        return {"usage": dict(usage)} if usage is not None and usage["totalTokens"] else {}

    def cancel(self) -> None:
        """End the running turn, if there is one; its prompt is answered with `cancelled`."""
        if self._turn is not None:
            self._turn.cancel()

    def end_call(self, call_id: str) -> bool:
        """End one tool call, while the turn goes on; return whether it runs."""
        scope = self._context.running.get(call_id)
        if scope is not None:
            scope.cancel()
        return scope is not None

    async def finish(self) -> None:
        """End the turn and the servers, and store everything; every wait is bounded."""
        self.is_turn_cancelled = True
        if self._turn is not None:
            self._turn.cancel()
            await self.ended()
        async with self.turn_slot:
            pass
        await self.servers.aclose()
        try:
            await self.log.flush()
        except StoreError as problem:
            logger.error("the last messages are not stored: %s", problem)  # noqa: TRY400 - as below

    async def ended(self) -> None:
        """Return when the turn that runs has ended."""
        await self._turn_ended.wait()

    async def announce(self) -> None:
        """Send the available commands, and warnings."""
        await self.updates.commands(self._commands())
        await self.warn()

    async def warn(self, *, is_in_turn: bool = False) -> None:
        """Warn the user of servers and tools that cannot be used, once while the reason holds.

        Clients without notices get a message instead, which needs a running turn.
        """
        warnings = self.servers.warnings
        if not self.servers.is_changing:
            self._shown_warnings &= set(warnings)
        for warning in warnings:
            if warning in self._shown_warnings:
                continue
            if await self.updates.warn(*warning, is_in_turn=is_in_turn):
                self._shown_warnings.add(warning)

    async def send_context(self) -> None:
        """Send the state beside the conversation: title, usage, commands."""
        try:
            pending_updates = await self.context_updates()
        except StoreError as problem:
            # The response has been sent, so the error goes to the log.
            logger.error("%s", problem)  # noqa: TRY400 - the message is enough
            return
        for update, members in pending_updates:
            await self.updates.send(update, members)
        await self.announce()

    async def context_updates(self) -> list[tuple[str, Mapping[str, Json]]]:
        """Return the updates of the state beside the conversation."""
        record = await self.log.current()
        updates: list[tuple[str, Mapping[str, Json]]] = [(INFO, session_info(record))]
        if record.usage is not None:
            updates.append((USAGE_UPDATE, record.usage))
        return updates

    def move(self, workspace: Workspace, setup: SessionResources) -> None:
        """Change the directories of the session."""
        self._context.workspace = workspace
        self.setup = setup

    def option(self, id_: Json) -> OfferedOption | None:
        """Return the option of that id."""
        return next((option for option in self.options if option.id == id_), None)

    async def set_option(self, option: OfferedOption, value: str) -> None:
        """Set `option` to a value, and notify the client."""
        before = self._chosen[option.id]
        self._chosen[option.id] = value
        is_other = option.id == MODEL and value != before
        # The context usage of one model says nothing about that of another.
        cleared: dict[str, Json] = {"usage": None} if is_other else {}
        try:
            await self.log.update_now(settings=dict(self._chosen), **cleared)
        except BaseException:
            self._chosen[option.id] = before
            raise
        self._apply_options()
        if is_other:
            self._context.context_window = ContextWindow()
        await self.updates.option_changed(option, self._chosen, self.options)
        if option.id == MODEL and len(self._models) > 1:
            await self.announce()

    def set_reply_options(self, options: ReplyOptions) -> None:
        """Choose how the model replies to the next prompt."""
        self._reply_options = options
        self._context.is_streamed = options.stream is not False
        self._apply_options()

    def settings(self) -> dict[str, Json]:
        """Return the options of the session, as fields of a result."""
        return self.updates.settings(self.options, self._chosen)

    def adopt_policy(self, policy: PermissionPolicy) -> None:
        """Decide by another policy from now on, and describe the modes by it."""
        self.permissions.settings = policy
        self.options = options_for(list(self._models.values()), policy)

    def commands(self) -> list[dict[str, Json]]:
        """Return the commands that a prompt may begin with, as the protocol shows them."""
        return self.updates.command_entries(self._commands())

    def _commands(self) -> list[SlashCommand]:
        return available_commands(self.model, self._context.command_prefix)

    def _apply_options(self) -> None:
        self.permissions.mode = cast("ModeId", self._chosen[MODE])
        self.permissions.policy = cast("PolicyId", self._chosen[POLICY])
        self.updates.shows_thoughts = self._chosen[THINKING] == "show"
        model = self._models[self._chosen[MODEL]]
        effort = self._chosen.get(EFFORT, DEFAULT_EFFORT)
        if effort != DEFAULT_EFFORT and isinstance(model, SupportsEffort):
            model = model.at(effort)
        if self._reply_options != ReplyOptions() and isinstance(model, TakesReplyOptions):
            model = model.with_options(self._reply_options)
        self._context.model = model

    async def _read_instructions(self) -> LoadedInstructions | None:
        """Return the project's instructions for the chosen model."""
        if is_scripted(self.model) or not self._instruction_files:
            return None
        return await anyio.to_thread.run_sync(
            read_instructions,
            self._instruction_files,
            self.setup.directories,
            self._context.workspace,
            self.permissions,
        )

    async def send_title(self) -> None:
        """Notify the client of the new title."""
        await self.updates.send(INFO, session_info(await self.log.current()))

    async def _touch(self, text: str) -> None:
        """Store and send the time of use, and the title that the first prompt gives."""
        info = {"updatedAt": self.log.touch()}
        words = " ".join(text.split())
        title = words[: TITLE_LENGTH - 1] + "…" if len(words) > TITLE_LENGTH else words
        if title and await self.log.suggest_title(title):
            info["title"] = title
        await self.log.flush()
        await self.updates.send(INFO, info)


def session_info(record: SessionRecord) -> dict[str, Json]:
    """Return title and time of use as fields of an update."""
    title = {"title": record.title} if record.title is not None else {}
    return title | {"updatedAt": record.updated}


def _usage_fields(now: TokenUsage, before: TokenUsage) -> dict[str, int]:
    """Return the difference of two sums, as the protocol counts it."""
    return {
        "totalTokens": now.total - before.total,
        "inputTokens": now.input_tokens - before.input_tokens,
        "outputTokens": now.output_tokens - before.output_tokens,
        "thoughtTokens": now.reasoning_tokens - before.reasoning_tokens,
        "cachedReadTokens": now.cache_read_tokens - before.cache_read_tokens,
        "cachedWriteTokens": now.cache_write_tokens - before.cache_write_tokens,
    }
