"""A session of an agent: its state, the queued prompts and the open permission requests.

The agent serves it in a task of its own. A screen sets `on_change`, and reads the attributes when
that is called.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

import anyio
from anyio import to_thread

from acp_console.agents.session_options import (
    OptionError,
    SessionOption,
    find_option,
    session_options,
)
from acp_console.agents.spec import AgentSpec, SignInRequiredError
from acp_console.chat.alarms import unasked_alarm
from acp_console.chat.connection import AGENT_GONE, AgentConnection, OpeningWay
from acp_console.chat.elicitation import Elicitation, ElicitationAnswer, PageRequest
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.logins import LoginMethod
from acp_console.chat.permissions import PermissionPrompt
from acp_console.chat.prompt_blocks import prompt_blocks
from acp_console.chat.recording import report_decision
from acp_console.chat.running_agent import RunningAgent
from acp_console.chat.states import ChatState, Event, ShownState
from acp_console.chat.work import TurnWork, Work, opening_work, turn_work
from acp_inspector.journal import Journal
from acp_inspector.session.conversation import Conversation, SessionInfo
from acp_inspector.session.items import (
    Item,
    ModeNotice,
    Notice,
    PermissionRequest,
    PlanItem,
    ToolCallItem,
    UserMessage,
)
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.errors import AcpError, RequestFailedError
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json, RequestId, id_key

SLICE_S: Final = 0.002
"""Seconds of work that one look at the traffic may take."""
OUTPUT_INTERVAL_S: Final = 0.1
"""Seconds between two looks at the output of running commands."""

NOT_KNOWN: Final = "does not know the messages above"

Action: TypeAlias = Callable[[AgentConnection], Awaitable[object]]


@dataclass(slots=True)
class _PendingPermission:
    session_id: str
    tool_call: Json
    """The id of the tool call that it is about."""
    is_over: anyio.Event = field(default_factory=anyio.Event)
    option_id: str | None = None


@dataclass(slots=True)
class _PendingElicitation:
    request: Elicitation
    is_over: anyio.Event = field(default_factory=anyio.Event)
    answer: ElicitationAnswer | None = None


@dataclass(frozen=True, slots=True)
class SessionSetup:
    """Where a session works, and with what."""

    cwd: Path
    directories: Sequence[Path] = ()
    """Other absolute directories that the agent may read and write."""
    servers: Sequence[Mapping[str, Json]] | None = field(default=None, repr=False)
    """The MCP servers as version 2 writes them; None: those of the agent. May hold secrets."""


class ChatSession:
    """One session of a running agent, turn after turn.

    Args:
        agent: the agent, which opens the session once it runs.
        cwd: the session's directory; None: that of the agent.
        way: how it is opened.
        session_id: the id of the session to load, resume or fork.
        directories: other absolute directories that the agent may read and write.
        servers: the MCP servers of the session; None: those of the agent.
        earlier: what is known of a session to resume or fork, to be shown above; where the agent
        cannot go on with it, a new session begins below.
        known_title: the title that the agent gave the session before.
        continues: the id in the store of the session to resume.
        forget_draft: called once the draft of the session is kept with this run of the agent.
        on_change: called whenever there is something new to show; must be quick.
    """

    def __init__(
        self,
        agent: RunningAgent,
        cwd: Path | None = None,
        *,
        way: OpeningWay = "new",
        session_id: str | None = None,
        directories: Sequence[Path] = (),
        servers: Sequence[Mapping[str, Json]] | None = None,
        earlier: Sequence[Item] = (),
        known_title: str = "",
        continues: str = "",
        forget_draft: Callable[[], object] = lambda: None,
        on_change: Callable[[], object] = lambda: None,
    ) -> None:
        self.agent = agent
        self.cwd = cwd or agent.cwd
        self.setup = SessionSetup(self.cwd, directories, servers)
        self.on_change = on_change
        self._state = ChatState()
        self.session_id = None if way in {"new", "fork"} else session_id
        self.queued: list[str] = []
        """Prompts that wait; each is a turn of its own once the agent is ready."""
        self.error: AcpError | None = None
        """Why the agent stopped or the last turn failed, until the next prompt."""
        self._way: OpeningWay = way
        self._source = session_id
        self._was_open = way == "resume"
        """Whether it is known from an earlier process of the agent."""
        self._is_restarted = False
        """Whether it was open before in this console."""
        self._is_lost = False
        """Whether its connection broke, and it was not opened again yet."""
        self._has_items = bool(earlier)
        self._forget_draft = forget_draft
        self._known_title = known_title
        self._continues = continues
        self._keeps_title = False
        """Whether the title stays what it was: the agent knows only the newest part."""
        plans = (item for item in reversed(earlier) if isinstance(item, PlanItem))
        self._known_plan = next(plans, None)
        """The plan of an earlier process of the agent."""
        self._last_mode = _last_mode(earlier)
        """The mode that was shown last, of an earlier process of the agent."""
        prompts = (item.text for item in earlier if isinstance(item, UserMessage))
        self._first_prompt = next(prompts, "")
        self._must_reset = self._expects_replay = False
        self._opened: Mapping[str, Json] = {}
        self._options: tuple[SessionInfo, list[SessionOption]] | None = None
        """The options of the last known info."""
        self._pending: dict[tuple[str, RequestId], _PendingPermission] = {}
        self._elicitations: dict[tuple[str, RequestId], _PendingElicitation] = {}
        self._pages: dict[str, PageRequest] = {}
        """Pages that the user agreed to open, by id, until they are done with."""
        self._changed_items: list[Item] = list(earlier)
        self.alarms: list[SessionOption] = []
        """The modes and options by which the agent says that it asks about nothing."""
        self._judged: list[SessionOption] | None = None
        """The options that `alarms` are of."""
        self._outgoing: str | None = None
        """The next prompt, while the files that it mentions are read."""
        self._running: str | None = None
        """The prompt that was sent, until its response."""
        self._reading: anyio.CancelScope | None = None
        """Once they are being read."""
        self._actions: list[Action] = []
        self._wake = anyio.Event()
        self._login: str | None = None
        """The method to log in by before the next try to open the session."""
        self._retry = anyio.Event()
        self._scope = anyio.CancelScope()
        self._fresh_outputs: set[str] = set()
        """Terminals of this session with output that was not shown yet."""
        self._has_output = anyio.Event()
        agent.add(self)

    # For screens: state

    @property
    def state(self) -> ShownState:
        """What it does, as the user sees it; `chat.states` has what leads from one to another."""
        return self._state.shown

    @property
    def is_open(self) -> bool:
        """Whether the agent has opened it."""
        return self._state.is_open

    @property
    def spec(self) -> AgentSpec:
        return self.agent.spec

    @property
    def title(self) -> str:
        """The agent's own name; untrusted."""
        return self.agent.title

    @property
    def dialect(self) -> str | None:
        """The dialect that the running agent speaks; None for the published protocol."""
        if (link := self.agent.link) is None:
            return None
        # Arrays need no translation.
        return link.dialect or (BATCHES if self.spec.dialect == BATCHES else None)

    @property
    def name(self) -> str:
        """The session's title, else its first prompt, else the agent's name; untrusted."""
        return self.session_title or self._first_prompt or self.title

    @property
    def session_title(self) -> str:
        """The agent's title for the session, also one of before a resume; untrusted."""
        conversation = self.conversation
        title = conversation.info.title if conversation is not None else None
        if self._keeps_title:
            return self._known_title
        return title or self._known_title

    @property
    def plan(self) -> Sequence[Json]:
        """The steps of its plan, also of one from before a resume."""
        plan = None if self.conversation is None else self.conversation.plan
        plan = plan or self._known_plan
        return [] if plan is None else plan.entries

    @property
    def journal(self) -> Journal:
        return self.agent.journal

    @property
    def record(self) -> Path | None:
        return self.agent.record

    @property
    def recording_failure(self) -> str:
        return self.agent.recording_failure

    @property
    def is_busy(self) -> bool:
        return self.state in {"working", "stopping"}

    @property
    def has_failed_to_start(self) -> bool:
        """Whether the agent ended before it had opened the session, or refused to open it."""
        return self.state == "stopped" and not self.is_open

    @property
    def needs_login(self) -> bool:
        """Whether the agent has refused the session or the last prompt until the user logs in."""
        return isinstance(self.error, SignInRequiredError)

    @property
    def logins(self) -> list[LoginMethod]:
        """The ways to log in that the running agent offers."""
        link = self.agent.link
        return [] if link is None else link.logins

    @property
    def is_waiting_for_user(self) -> bool:
        """Whether the agent waits for a permission, a form or a page."""
        return bool(self._pending or self._elicitations)

    @property
    def elicitations(self) -> list[Elicitation]:
        """The forms and pages that wait for the user, oldest first."""
        return [pending.request for pending in self._elicitations.values()]

    @property
    def sign(self) -> str:
        """The sign of its state: each has its own, besides its colour."""
        if self.is_waiting_for_user:
            return "?"
        return {"ready": "●", "stopped": "✗"}.get(self.state, "◐")

    @property
    def conversation(self) -> Conversation | None:
        """The conversation of the open session; None before its first frame."""
        return self.agent.conversations.sessions.get(self.session_id or "")

    @property
    def options(self) -> list[SessionOption]:
        """What can be chosen in the session, with the current values."""
        info = self.conversation.info if self.conversation is not None else None
        if info is None or not self.is_open:
            return []
        if self._options is not None and self._options[0] is info:
            return self._options[1]
        modes = {**as_object(info.modes), "currentModeId": info.current_mode}
        offered = {"modes": modes, "configOptions": info.config_options}
        found = session_options({**offered, "models": self._opened.get("models")})
        self._options = info, found
        return found

    def now(self) -> float | None:
        """Return the seconds since the journal began; None when no agent runs."""
        return self.agent.now()

    @property
    def turn_work(self) -> TurnWork | None:
        """What the turn does now, or how the last one ended; before it, how the session opens."""
        talk, now, fold = self.conversation, self.journal.now, self.agent.conversations.fold
        asks_user = self.is_waiting_for_user
        if self.state == "starting" and not asks_user:
            opening = opening_work(fold, now)
            if opening is not None:
                return opening
        if talk is None:
            return None
        is_stopped = self.state == "stopped"
        return turn_work(fold, talk, now, asks_user=asks_user, is_stopped=is_stopped)

    @property
    def entries_read(self) -> int:
        """Entries of the journal that the conversation knows."""
        return self.agent.entries_read

    @property
    def is_behind(self) -> bool:
        """Whether there is more in the journal than the conversation knows."""
        return self.agent.entries_read < len(self.journal)

    def take_changes(self) -> Sequence[Item]:
        """Return the items that changed since the last call; there may be more at once."""
        self.agent.read_journal(SLICE_S)
        self._note_alarms()
        items, self._changed_items = self._changed_items, []
        return items

    def _note_alarms(self) -> None:
        """Say it each time the agent comes into a mode in which it does not ask."""
        options = self.options
        if options is self._judged:
            return
        before = {} if self._judged is None else {each.id: each.current for each in self.alarms}
        self._judged = options
        self.alarms = [each for each in options if each.unasked(each.current) == "anything"]
        self._changed_items += [
            unasked_alarm(each) for each in self.alarms if before.get(each.id) != each.current
        ]

    def take_reset(self) -> bool:
        """Return, once, whether all that was shown comes again."""
        must_reset, self._must_reset = self._must_reset, False
        return must_reset

    # For screens: actions

    def send(self, text: str) -> None:
        """Send a prompt now if the agent is ready, otherwise after those that wait."""
        if self.state != "stopped":
            self.error = None
        self._first_prompt = self._first_prompt or text
        self.queued.append(text)
        self._send_queued()
        self.on_change()

    def take_back(self, place: int, text: str) -> bool:
        """Take a prompt out of the queue; return False if it is no longer there."""
        if self.queued[place : place + 1] != [text]:
            return False
        del self.queued[place]
        self.on_change()
        return True

    def cancel(self) -> list[str]:
        """Cancel the running turn; return the prompts that were not sent, and now will not be."""
        unsent, self.queued = self.queued, []
        if self._outgoing is not None:
            unsent.insert(0, self._outgoing)
            self._outgoing = None
            if self._reading is not None:
                self._reading.cancel()
                self._reading = None
        self._state.take("cancel")
        self._wake.set()
        self.on_change()
        return unsent

    def answer(
        self, permission: PermissionRequest, option_id: str, subject: Sequence[object]
    ) -> bool:
        """Answer a permission request by what the user has seen: the `subject` of its call.

        Return False, and send nothing, if the agent has changed the call meanwhile, or the request
        is closed or of an old agent.
        """
        self.agent.read_journal()
        pending = self._pending.get(id_key(permission.request_id))
        call = self._call_of(permission)
        if pending is None or call is None or call.subject != subject:
            self.on_change()
            return False
        pending.option_id = option_id
        pending.is_over.set()
        return True

    def answer_elicitation(self, request: Elicitation, answer: ElicitationAnswer) -> None:
        """Answer a form or a page; one that is closed is ignored.

        What an accepted form holds must fit it, see `FormRequest.errors`.
        """
        pending = self._elicitations.get(id_key(request.request_id))
        if pending is not None and pending.request is request:
            pending.answer = answer
            pending.is_over.set()

    def set_option(self, option: SessionOption, value: Json) -> None:
        """Set a mode, a model or another option, and remember it for the next chat."""

        async def set_it(link: AgentConnection) -> None:
            assert self.session_id is not None
            await link.set_option(self.session_id, option, value)
            self._note_model(option, value)
            self.agent.remember(option, value)

        self.do(set_it)

    def log_in(self, method: str | None = None) -> None:
        """Log in by a method of the agent, then open the session if it was refused.

        Without a method the user has logged in elsewhere, such as in a terminal. Variables to log
        in with are for `RunningAgent.restart`.
        """
        self.error = None
        was_open = self.is_open
        if not was_open or method is not None:
            # Prompts wait until the login is over; a turn that runs goes on.
            self._state.take("sign_in")
        if not was_open:
            self._login = method
            self._retry.set()
        elif method is not None:
            self.do(lambda link: self._log_in_again(link, method))
        else:
            self._send_queued()
        self.on_change()

    def log_out(self) -> None:
        """Log out of the agent."""
        self.do(lambda link: link.logout())

    def rename(self, title: str) -> None:
        """Give the session another title; for agents that can."""

        async def set_title(link: AgentConnection) -> None:
            assert self.session_id is not None
            await link.set_title(self.session_id, title)
            if self._keeps_title:
                self._keeps_title = False
                self._note_continued()

        self.do(set_title)

    def cancel_work(self, work: Work) -> None:
        """Cancel a subagent, a tool call or a terminal that can be, and nothing else."""
        if work.kind == "subagent":
            for pending in self._pending.values():
                if pending.session_id == work.key:
                    pending.is_over.set()
            self.do(lambda link: link.cancel_subagent(work.key))
        elif work.kind == "tool_call" or work.kind == "terminal":
            kind: Literal["tool_call", "terminal"] = work.kind
            self.do(lambda link: link.cancel_work(kind, work.session_id, work.key))

    def keep_draft(self, text: str) -> None:
        """Keep an unsent prompt with the session."""
        run = self.agent.run_record
        id_ = self.session_id
        if run is not None and id_ is not None and run.keep_draft(id_, text):
            self._forget_draft()
            self._forget_draft = lambda: None

    def do(self, action: Action) -> None:
        """Send a request of this session; its error is shown."""
        self._actions.append(action)
        self._wake.set()

    def restart(self) -> None:
        """End the agent and start it again; queued prompts stay."""
        self.agent.restart()

    def show(self, item: Item) -> None:
        """Show an item that is no part of the session, below what is there."""
        self._changed_items.append(item)
        self.on_change()

    async def close(self) -> None:
        """Close the session, and its agent with the last one."""
        await self.agent.close_session(self)

    # For the agent

    async def serve(self, link: AgentConnection, handlers: ClientHandlers) -> None:
        """Open the session and do what the user wants until the agent ends."""
        with anyio.CancelScope() as self._scope:
            try:
                while not await self._try_to_open(link):
                    await self._retry.wait()
                    self._retry = anyio.Event()
            except AGENT_GONE:
                return
            async with BackgroundTasks() as tasks:
                tasks.start_soon(self._show_outputs, handlers)
                self._become_ready("configured")
                while True:
                    await self._wake.wait()
                    self._wake = anyio.Event()
                    text = self._outgoing
                    if text is not None and self._reading is None:
                        self._reading = anyio.CancelScope()
                        tasks.start_soon(self._run_turn, link, text, self._reading)
                    if self._state.take("cancel_sent"):
                        assert self.session_id is not None
                        await link.cancel(self.session_id)
                        self.cancel_open_requests()
                    actions, self._actions = self._actions, []
                    for action in actions:
                        tasks.start_soon(self._run_action, link, action)

    def _close_permissions(self) -> None:
        """Show the open permission requests of a process that has ended as cancelled."""
        for item in self.conversation.items if self.conversation else ():
            permission = item.permission if isinstance(item, ToolCallItem) else None
            if permission is not None and permission.outcome is None:
                permission.outcome = {"outcome": "cancelled"}
                self._changed_items.append(item)

    def prepare(self) -> None:
        """Get ready for a new process of the agent."""
        self._known_title = self.session_title
        if self.conversation is not None:
            self._known_plan = self.conversation.plan or self._known_plan
            self._last_mode = _last_mode(self.conversation.items) or self._last_mode
        self._close_permissions()
        self._keep_open()
        self._login = self._running = None
        self._has_items |= bool(self.conversation and self.conversation.items)
        self.error = None
        self._state.take("agent_starts")
        self._fresh_outputs.clear()
        self.on_change()

    def stop(self, error: AcpError | None) -> None:
        """Take note that the agent has ended."""
        self._is_lost = False
        self._stop("agent_ended", error)

    def lose(self, error: AcpError) -> None:
        """Take note that the connection broke, and will be opened again."""
        self._keep_open()
        if not self._is_lost:
            unknown = "; whether the turn goes on is not known" if self._running else ""
            text = f"{error}{unknown}: connecting again"
            self._changed_items.append(Notice(f"lost {len(self.journal)}", text))
        self._is_lost = True
        self._stop("connection_lost", None)

    def _keep_open(self) -> None:
        """Remember the session, to go on with it in the next process or connection."""
        if self.is_open and self.session_id is not None:
            self._source, self._was_open, self._is_restarted = self.session_id, True, True
            run = self.agent.run_record
            self._continues = "" if run is None else run.id_of(self.session_id)

    def resend(self) -> None:
        """Send the running prompt again once the agent has started again."""
        if self._running is not None:
            self.queued.insert(0, self._running)
            self._running = None

    def _stop(self, event: Event, error: AcpError | None) -> None:
        was_stopped = self.state == "stopped"
        self._state.take(event)
        if was_stopped and error is None:
            return
        self.error = error
        if self._outgoing is not None:
            self.queued.insert(0, self._outgoing)
            self._outgoing = None
        self._reading = None
        self._actions.clear()
        self.on_change()

    def leave(self) -> None:
        """Close the session, while the agent goes on with others; nothing more is sent in it."""
        link, session_id = self.agent.link, self.session_id

        async def close(link: AgentConnection) -> None:
            assert session_id is not None
            self.cancel_open_requests()
            try:
                if link.can("close"):
                    await link.close_session(session_id)
            finally:
                self._scope.cancel()

        self.cancel()

        if link is not None and session_id is not None and self.is_open:
            self.do(close)
        else:
            self._scope.cancel()

    async def decide(self, request: PermissionPrompt) -> str | None:
        """Wait for the user's choice; None when the turn was cancelled meanwhile.

        A request about a tool call replaces an earlier one about the same call.
        """
        key, tool_call = id_key(request.request_id), request.tool_call.get("toolCallId")
        for earlier in self._pending.values():
            if (earlier.session_id, earlier.tool_call) == (request.session_id, tool_call):
                earlier.is_over.set()
        pending = self._pending[key] = _PendingPermission(request.session_id, tool_call)
        self.on_change()
        try:
            await pending.is_over.wait()
        finally:
            del self._pending[key]
            self.on_change()
        if pending.option_id is not None:
            report_decision(self.journal, request, pending.option_id)
        return pending.option_id

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Wait for the user's answer; it is `cancel` when the turn was cancelled meanwhile."""
        key = id_key(request.request_id)
        pending = self._elicitations[key] = _PendingElicitation(request)
        self.on_change()
        try:
            await pending.is_over.wait()
        finally:
            del self._elicitations[key]
            self.on_change()
        answer = pending.answer or ElicitationAnswer("cancel")
        if isinstance(request, PageRequest) and answer.action == "accept":
            self._pages[request.elicitation_id] = request
        return answer

    def note_page_done(self, elicitation_id: str) -> None:
        """Tell the user that the agent knows what was done on a page."""
        page = self._pages.pop(elicitation_id, None)
        if page is not None:
            text = f"what was to do at {page.host} is done"
            self._changed_items.append(Notice(f"page {elicitation_id}", text))
            self.on_change()

    def cancel_open_requests(self) -> None:
        """Withdraw what waits for the user: permissions, forms and pages."""
        for pending in (*self._pending.values(), *self._elicitations.values()):
            pending.is_over.set()

    def note_change(self, item: Item) -> None:
        if self._expects_replay:
            self._expects_replay, self._must_reset = False, True
            self._changed_items.clear()
            self._judged = self._known_plan = None
        self._changed_items.append(item)
        if isinstance(item, ToolCallItem):
            # Output may have come before the call that shows it.
            self.note_outputs(item.terminals)

    def note_outputs(self, terminals: Iterable[str]) -> None:
        self._fresh_outputs.update(terminals)
        if self._fresh_outputs:
            self._has_output.set()

    # Running

    async def _try_to_open(self, link: AgentConnection) -> bool:
        login, self._login = self._login, None
        try:
            if login is not None:
                await link.authenticate(login)
            elif first := self.agent.take_login():
                await link.authenticate(first.method, first.secret)
            await self._open(link)
        except AGENT_GONE:
            raise
        except AcpError as problem:
            if not self.agent.start_in_its_dialect(link):
                self._stop("refused", problem)
            return False
        if login is not None:
            self.agent.retry_refused()
        return True

    async def _log_in_again(self, link: AgentConnection, method: str) -> None:
        try:
            await link.authenticate(method)
        except AGENT_GONE:
            raise
        except AcpError as problem:
            self.error = problem
        if self._state.now == "signing_in":
            self._become_ready("signed_in")
        self.on_change()

    async def _open(self, link: AgentConnection) -> None:
        """Open the session in the way that was asked for, or the nearest one the agent can."""
        way = "resume" if self._was_open else self._way
        # What came while the connection was lost is in the history only.
        has_gaps = self._is_lost and link.can("load")
        if way == "resume" and (has_gaps or not link.can("resume")):
            way = "load"
        if self._was_open and not link.can("load") and way == "load":
            way = "new"
        try:
            self._opened = await self._open_by(link, way)
        except RequestFailedError:
            if not self._was_open or way == "new":
                raise
            way = "new"
            self._opened = await self._open_by(link, way)
        session_id = self._opened["sessionId"]
        assert isinstance(session_id, str)
        self.session_id = session_id
        if way == "new" and self._was_open:
            self._keeps_title = bool(self._known_title)
            self._note_continued()
        self._state.take("opened")
        self._say_how_it_goes_on(way)
        self._say_mode()
        self._is_lost = False
        if way == "fork" and self._has_items:
            self._changed_items.append(Notice("fork", "this session is a copy of the one above"))
        if link.is_version_1_in_disguise:
            self._changed_items.append(Notice("version", link.disguise))
        for sentence in link.left_out(self.cwd, self.setup.servers):
            self._changed_items.append(Notice(sentence, sentence))
        if way == "new":
            await self._configure(link, session_id)

    def _note_continued(self) -> None:
        """Note in the store that the new session of the agent goes on with the one before."""
        run, session_id = self.agent.run_record, self.session_id
        if run is not None and session_id is not None and self._continues:
            run.continue_in(session_id, self._continues, keeps_title=self._keeps_title)

    def _say_how_it_goes_on(self, way: OpeningWay) -> None:
        """Add a notice for a session of an earlier process or connection, unless it is repeated."""
        if not self._was_open or not self._has_items or way == "load":
            return
        knows = "goes on with this session" if way == "resume" else NOT_KNOWN
        agent = "agent restarted; it" if self._is_restarted else "the agent"
        if self._is_lost:
            agent = "connected again; the agent"
            knows += "; what it sent meanwhile may be missing" if way == "resume" else ""
        self._changed_items.append(Notice("restart", f"{agent} {knows}"))

    def _say_mode(self) -> None:
        """Add a notice of the mode, where the last that is shown names another one."""
        if not self._was_open and self._way != "load":
            return
        self.agent.read_journal()
        items = () if self.conversation is None else self.conversation.items
        last = _last_mode(items) or self._last_mode
        info = None if self.conversation is None else self.conversation.info
        if last and info is not None and info.mode_name not in {"", last}:
            self._changed_items.append(ModeNotice("mode", info.mode_name, info.mode))

    async def _open_by(self, link: AgentConnection, way: OpeningWay) -> Mapping[str, Json]:
        if way in {"new", "fork"}:
            self.session_id = None
        source = None if way == "new" else self._source
        # What is shown goes only once the agent begins to repeat it.
        self._expects_replay = way == "load"
        try:
            opened = await link.open_session(
                way,
                self.cwd,
                source,
                directories=self.setup.directories,
                servers=self.setup.servers,
            )
        except AcpError:
            self._expects_replay = False
            raise
        if way in {"load", "resume"}:
            # Nothing is prompted before the history is complete.
            await link.wait_for_late_history()
        return opened

    async def _configure(self, link: AgentConnection, session_id: str) -> None:
        """Set the mode and the options that the user has configured for the agent."""
        offered = session_options(self._opened)
        for name, text in [("mode", self.spec.mode), *self.spec.options.items()]:
            if text is None or link.use_model(name, text, offered):
                continue
            try:
                option = find_option(offered, name)
                value = option.value(text)
                await link.set_option(session_id, option, value)
                self._note_model(option, value)
            except (OptionError, RequestFailedError) as problem:
                refusal = f"{name} could not be set to {text}: {problem}"
                self._changed_items.append(Notice(f"option {name}", refusal))

    def _note_model(self, option: SessionOption, value: Json) -> None:
        """Keep the model that was set: no update of the agent names it."""
        if option.method == "session/set_model":
            models = {**as_object(self._opened.get("models")), "currentModelId": value}
            self._opened, self._options = {**self._opened, "models": models}, None

    async def _show_outputs(self, handlers: ClientHandlers) -> None:
        """Show what commands write while they run, not only when the agent asks for it."""
        while True:
            await self._has_output.wait()
            self._has_output = anyio.Event()
            terminals, self._fresh_outputs = self._fresh_outputs, set()
            session_id = self.session_id or ""
            outputs = {key: handlers.terminal_output(session_id, key) for key in terminals}
            talk = self.conversation
            for key, output in outputs.items() if talk is not None else ():
                assert talk is not None
                terminal = talk.known_terminal(key)
                if terminal is not None and output is not None:
                    terminal.live = output
                    self._changed_items += talk.calls_showing(key)
            self.on_change()
            await anyio.sleep(OUTPUT_INTERVAL_S)

    async def _run_turn(self, link: AgentConnection, text: str, reading: anyio.CancelScope) -> None:
        assert self.session_id is not None
        self._expects_replay = False
        blocks: list[Json] = []
        with reading:
            blocks = await to_thread.run_sync(
                prompt_blocks, text, self.cwd, link.prompt_abilities, abandon_on_cancel=True
            )
        if reading.cancel_called:
            # The user has stopped it before it was sent.
            return
        self._outgoing = self._reading = None
        self._state.take("prompt_sent")
        self._running = text
        try:
            answer = await link.prompt(self.session_id, blocks)
            self.agent.note_understood()
            if self.queued:
                # What is still on its way is no reply to the next prompt.
                await link.wait_for_late_updates(self.session_id, answer.get("stopReason"))
        except AGENT_GONE:
            return
        except AcpError as problem:
            if self.agent.start_in_its_dialect(link):
                return
            self.error = problem
        self._running = None
        self._become_ready("turn_over")

    async def _run_action(self, link: AgentConnection, action: Action) -> None:
        try:
            await action(link)
        except AGENT_GONE:
            return
        except AcpError as problem:
            self.error = problem
        self.on_change()

    def _become_ready(self, event: Event) -> None:
        is_cancelling = self._state.now == "cancelling"
        self._state.take(event)
        if is_cancelling:
            # The turn ended before it could be cancelled.
            self.cancel_open_requests()
        self._send_queued()
        self.on_change()

    def _send_queued(self) -> None:
        # Until the user has logged in, the agent would refuse them all.
        if self.queued and not self.needs_login and self._state.take("prompt"):
            self._outgoing = self.queued.pop(0)
            self._wake.set()

    def _call_of(self, permission: PermissionRequest) -> ToolCallItem | None:
        calls = (
            item
            for session_id, talk in self.agent.conversations.sessions.items()
            if self.agent.session_for(session_id) is self
            for item in talk.items
            if isinstance(item, ToolCallItem) and item.permission is permission
        )
        return next(calls, None)


def _last_mode(items: Sequence[Item]) -> str:
    """Return the name of the mode that the items name last; empty if none is named."""
    found = (item.name for item in reversed(items) if isinstance(item, ModeNotice))
    return next(found, "")
