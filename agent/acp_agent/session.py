"""A session: its directory, its history, its consents, and at most one running turn."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final, cast

import anyio

from acp_agent.asking import Context, Fill
from acp_agent.calls import Client, Desk
from acp_agent.commands.catalogue import Order, offered, order_in
from acp_agent.commands.clerk import Clerk, taken
from acp_agent.conduct import Conduct
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
from acp_agent.permissions import ModeId, Permissions
from acp_agent.rules import PolicyId
from acp_agent.sessions.chronicle import Chronicle
from acp_agent.sessions.errors import StoreError
from acp_agent.sessions.history import History
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
from acp_agent.sessions.revival import Revived
from acp_agent.slumber import Asleep, Declared
from acp_agent.tellings import Tellings
from acp_agent.tools.catalogue import elicitation_tools
from acp_agent.turn import StopReason, run_turn
from acp_agent.updates import USAGE, Updates
from acp_agent.workspace import Workspace
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)

TITLE_LENGTH: Final = 60
INFO: Final = "session_info_update"


@dataclass(frozen=True, slots=True)
class Staff:
    """Who serves a session: the client, and the models that it can choose from."""

    client: Client
    models: Sequence[Model]
    """The first serves where none was chosen."""
    pace: float
    """Seconds between two pieces of what the model streams."""
    conduct: Conduct = field(default_factory=Conduct)
    """How turns behave."""
    namespace: str | None = None
    """What stands, with a colon, before the names of commands, so that other agents of the client
    can have commands of the same names."""


class Session:
    """One conversation with the client."""

    def __init__(
        self,
        chronicle: Chronicle,
        revived: Revived,
        *,
        staff: Staff,
        workspace: Workspace,
        updates: Updates,
        servers: McpServers,
        declared: Declared,
        slept: Asleep | None = None,
    ) -> None:
        record = chronicle.record
        self.id = record.id
        self.chronicle = chronicle
        self.updates = updates
        self.servers = servers
        self.declared = declared
        self._told_troubles = slept.told_troubles if slept else set[tuple[str, str]]()
        self._told_troubles &= set(servers.warnings)
        self.cwd: Path = workspace.cwd
        new = Permissions(staff.conduct.rules, workspace.cwd)
        self.permissions = slept.permissions if slept else new
        self.touched = anyio.current_time()
        """When it was used last, on the clock of the event loop."""
        self._uses = 0
        self.tellings = Tellings(self.id)
        self.is_unknown = False
        """Whether the request that has opened it was not answered yet."""
        self._models = {model.name: model for model in staff.models}
        self.prefix = f"{staff.namespace}:" if staff.namespace else ""
        """What stands before the names of commands."""
        self._turn: anyio.CancelScope | None = None
        self._turn_ended = anyio.Event()
        self._used: dict[str, int] | None = None
        self.options = options_for(staff.models, staff.conduct.rules.default_policy)
        self._chosen = {option.id: option.chosen(record.settings) for option in self.options}
        desk = Desk(record.id, staff.client, updates, workspace, self.permissions, servers)
        desk.calls = revived.calls
        desk.audit = staff.conduct.audit
        user = servers.relay.user = Elicitation(desk.client, record.id, updates, desk.asking)
        servers.adopt(staff.conduct.tools)
        servers.adopt(elicitation_tools(user, servers.relay.ways))
        history = History(revived.history, chronicle)
        self._context = Context(staff.models[0], desk, history, staff.pace)
        self._context.limits = staff.conduct.limits
        self._context.instructed = self._instructed
        self._names = staff.conduct.instructions
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
    def is_ending(self) -> bool:
        """Whether a turn runs that was cancelled."""
        return self._turn is not None and self._turn.cancel_called

    @property
    def is_used(self) -> bool:
        """Whether a turn runs, or something else that was asked for."""
        return self.is_busy or self._uses > 0

    @contextmanager
    def used(self) -> Generator[None]:
        """Count as used, and as used last when it is over."""
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            self.touched = anyio.current_time()

    def asleep(self) -> Asleep:
        """Return what has to be kept of it where it is put away."""
        return Asleep(
            self.chronicle.record.number,
            self.declared,
            self.permissions,
            self._told_troubles,
            self.model.name,
            self.history_length,
        )

    @property
    def model(self) -> Model:
        """Who decides what is said and done."""
        return self._context.model

    @property
    def history_length(self) -> int:
        """How many entries the model knows of."""
        return len(remembered(self._context.history))

    async def prompt(
        self, said: UserSaid, hear: Callable[[], Awaitable[None]] | None = None
    ) -> StopReason:
        """Answer `said`, once `hear` has taken note of it; to be called when no turn runs."""
        stop: StopReason = "cancelled"
        before = self._context.spent
        self._turn_ended = anyio.Event()
        self._turn = turn = anyio.CancelScope()
        try:
            with turn, self.servers.relay.listening():
                if hear is not None:
                    await hear()
                said = self._plain(said)
                order = order_in(said.text, self.model)
                await self._begin("" if order is not None and order.is_aside else said.text)
                await self.warn(is_in_turn=True)
                stop = await self._answer(said, order)
                await self.chronicle.settle()
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
        """Let the agent or the model answer; return how that ended."""
        if order is not None:
            return await self._clerk.carry_out(order, said)
        self._context.history.append(said)
        return await run_turn(self._context)

    def _take_up(self, said: UserSaid, loose: tuple[ModelEvent, ...]) -> None:
        """Bear a prompt in mind that was cut off before it was answered, and what was said then."""
        said = self._plain(said)
        entry = taken(order_in(said.text, self.model), said)
        self._context.history.append(entry)
        if isinstance(entry, UserSaid):
            self._context.history.append(ModelSaid(loose))

    def _plain(self, said: UserSaid) -> UserSaid:
        """Return a prompt whose command bears the name that the model knows it by."""
        begins = f"/{self.prefix}"
        if not self.prefix or not said.text.startswith(begins):
            return said
        rest = said.text[len(begins) :]
        known = {command.name for command in offered(self.model)}
        # What is no command is for the model as it was said.
        is_command = known.intersection(rest.split(maxsplit=1)[:1])
        return replace(said, text=f"/{rest}") if is_command and not rest[0].isspace() else said

    def _account(self, before: Used) -> None:
        """Keep what was spent, however the turn has ended."""
        spent = self._context.spent
        self._used = _members(spent, before)
        if spent != before:
            self.chronicle.note(spent=asdict(spent))

    def take_used(self) -> dict[str, Json]:
        """Return, once, the tokens that the last turn has taken, as a member of its end."""
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

    async def end(self) -> None:
        """End the running turn, if there is one, and return when it has ended."""
        if self._turn is not None:
            self._turn.cancel()
            await self.ended()

    async def ended(self) -> None:
        """Return when the turn that runs has ended."""
        await self._turn_ended.wait()

    async def settle(self) -> None:
        """Return when all is kept, or cannot be, which is told to the log."""
        try:
            await self.chronicle.settle()
        except StoreError as problem:
            logger.error("what was said last is not kept: %s", problem)  # noqa: TRY400 - as below

    async def announce(self) -> None:
        """Tell the client which commands there are, and what is missing."""
        await self.updates.commands(self.listed())
        await self.warn()

    async def warn(self, *, is_in_turn: bool = False) -> None:
        """Tell the user which servers and tools cannot be used, each reason once while it holds.

        Where notices are not shown it is said in words, for which there has to be a turn.
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
        """Tell the client what it is to know without what was said: title, usage, commands."""
        try:
            told = self.surroundings()
        except StoreError as problem:
            # The answer has left: only the log can be told.
            logger.error("%s", problem)  # noqa: TRY400 - a sentence says it all
            return
        for update, members in told:
            await self.updates.send(update, members)
        await self.announce()

    def surroundings(self) -> list[tuple[str, Mapping[str, Json]]]:
        """Return the updates that tell what stands beside the conversation."""
        record = self.chronicle.current()
        told: list[tuple[str, Mapping[str, Json]]] = [(INFO, info_of(record))]
        if record.usage is not None:
            told.append((USAGE, record.usage))
        return told

    def move(self, workspace: Workspace, directories: Sequence[Path]) -> None:
        """Let the session work in other directories from now on."""
        self._context.desk.workspace = workspace
        self.declared = replace(self.declared, directories=directories)

    def option(self, id_: Json) -> Option | None:
        """Return the option of that id."""
        return next((option for option in self.options if option.id == id_), None)

    async def choose(self, option: Option, value: str) -> None:
        """Choose one of the values of `option`, and tell so."""
        before = self._chosen[option.id]
        self._chosen[option.id] = value
        is_other = option.id == MODEL and value != before
        # How full the mind of one model was says nothing about that of another.
        forgotten: dict[str, Json] = {"usage": None} if is_other else {}
        try:
            await self.chronicle.confirm(settings=dict(self._chosen), **forgotten)
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
        """Return what the session offers to choose from, as members of an answer."""
        return self.updates.settings(self.options, self._chosen)

    def commands(self) -> list[dict[str, Json]]:
        """Return the commands that a prompt may begin with, as the protocol shows them."""
        return self.updates.offered(self.listed())

    def listed(self) -> list[Command]:
        """Return those commands as the client knows them."""
        return [replace(each, name=f"{self.prefix}{each.name}") for each in offered(self.model)]

    def usage(self) -> Mapping[str, Json] | None:
        """Return how full the model's mind is, as the client was told last."""
        return self.chronicle.current().usage

    def _apply(self) -> None:
        """Let what is chosen be so."""
        self.permissions.mode = cast("ModeId", self._chosen[MODE])
        self.permissions.policy = cast("PolicyId", self._chosen[POLICY])
        self.updates.shows_thoughts = self._chosen[THINKING] == "show"
        model = self._models[self._chosen[MODEL]]
        effort = self._chosen.get(EFFORT, AS_SET)
        if effort != AS_SET and isinstance(model, Thinker):
            model = model.at(effort)
        self._context.model = model

    async def _instructed(self) -> Told | None:
        """Return what the project tells the model that serves now."""
        names = () if is_scripted(self.model) else self._names
        files = self._context.desk.workspace
        return await instructions_of(names, self.declared.directories, files, self.permissions)

    async def retitled(self) -> None:
        """Tell the client that the session is called otherwise."""
        await self.updates.send(INFO, info_of(self.chronicle.current()))

    async def _begin(self, text: str) -> None:
        """Note and tell that the session is used, and what it is called from its first words on."""
        told = {"updatedAt": self.chronicle.touch()}
        if (words := " ".join(text.split())) and self.chronicle.suggest_title(title := _cut(words)):
            told["title"] = title
        await self.chronicle.settle()
        await self.updates.send(INFO, told)


def info_of(record: Record) -> dict[str, Json]:
    """Return what a session is called, if it is, and when it was used last."""
    title = {"title": record.title} if record.title is not None else {}
    return title | {"updatedAt": record.updated}


def _cut(words: str) -> str:
    """Return `words` as a title."""
    return words[: TITLE_LENGTH - 1] + "…" if len(words) > TITLE_LENGTH else words


def _members(now: Used, before: Used) -> dict[str, int]:
    """Return what was taken between two sums, as the protocol counts it."""
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
