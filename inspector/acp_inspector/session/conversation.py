"""One session as its user sees it, now and after any earlier frame.

The first mention of a message, a tool call or a plan fixes its position; later frames change it
there. The history is kept: `at` returns the state after a frame without folding again.

When its turns begin and end is decided in `fold`.

Source: ACP, Prompt Turn; ACP version 2, Prompt Lifecycle.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, TypeVar, cast, overload

from acp_inspector.session.edits import FrameEdit
from acp_inspector.session.fold import Session
from acp_inspector.session.history import Versioned, VersionedList
from acp_inspector.session.items import (
    AgentMessage,
    CallFacts,
    ElicitationItem,
    Item,
    Notice,
    PlanItem,
    SessionMessage,
    SubagentItem,
    TerminalItem,
    TextItem,
    Thought,
    ToolCallItem,
    TurnEnd,
    UserMessage,
)
from acp_inspector.session.turn import SessionTurn
from acp_protocol.framing import Side
from acp_protocol.json_values import as_list, as_object, get, get_list, get_string
from acp_protocol.jsonrpc import Json, frozen_dataclass
from acp_protocol.schema.vocabulary import FINAL_STATUSES, OUTPUT


@dataclass(slots=True)
class Cursor:
    """The position of a model: the last entry that it has read."""

    n: int = 0
    """Number of the frame."""
    at: float = 0.0
    """Seconds since the journal began."""


@dataclass(frozen=True, slots=True)
class SessionError:
    """An error response to a request about the session."""

    n: int
    side: Side
    """The side that has sent it."""
    method: str
    code: int
    message: str


@frozen_dataclass
class SessionInfo:
    """The state of a session apart from its items."""

    cwd: str | None = None
    opened_by: str | None = None
    """The method that created, loaded, resumed or forked it."""
    parent: str | None = None
    """The session that it was forked from, or works for."""
    is_closed: bool = False
    title: str | None = None
    modes: Json = None
    current_mode: str | None = None
    config_options: list[Json] = field(default_factory=list[Json])
    commands: list[Json] = field(default_factory=list[Json])
    usage: Json = None
    state: str | None = None
    """The last `state_update` (version 2); None if there was none."""
    background: list[Json] = field(default_factory=list[Json])
    """Background work (version 2)."""
    open_prompts: int = 0
    directories: list[Json] = field(default_factory=list[Json])
    """The other directories that it was opened with."""
    servers: list[str] = field(default_factory=list[str])
    """The names of the MCP servers that it was opened with."""

    @property
    def mode_name(self) -> str:
        """The name of the current mode; its id if it has none."""
        return get_string(self.mode, "name") or self.current_mode or ""

    @property
    def mode(self) -> Json:
        """The current mode as the agent offers it; None if it does not."""
        offered = [(each, "id") for each in get_list(self.modes, "availableModes")]
        for option in filter(is_mode_option, self.config_options):
            offered += [(each, "value") for each in get_list(option, "options")]
        mode = self.current_mode or ""
        found = [each for each, key in offered if get(each, key) == mode]
        named = [each for each in found if get_string(each, "name")]
        return next(iter((*named, *found)), None)

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is pending, or the agent is working."""
        return self.open_prompts > 0 or self.state not in {None, "idle"}


def is_mode_option(option: Json) -> bool:
    """Return whether an option of a session is its mode."""
    return get(option, "category") == "mode"


@dataclass(slots=True, eq=False)
class ItemEpoch:
    """Items in the order of their first mention, with the frame of each mention."""

    begun: int
    """The first frame of this epoch."""
    items: list[Item] = field(default_factory=list[Item])
    numbers: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, n: int, item: Item) -> None:
        self.items.append(item)
        self.numbers.append(n)


class ItemsAt(Sequence[Item]):
    """The items after a frame; each is built on access."""

    def __init__(self, epoch: ItemEpoch, n: int) -> None:
        self._epoch = epoch
        self._n = n
        self._count = bisect_right(epoch.numbers, n)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        found = range(self._count)[index]
        if isinstance(found, range):
            return [self._epoch.items[place].at(self._n) for place in found]
        return self._epoch.items[found].at(self._n)

    def __iter__(self) -> Iterator[Item]:
        return (self[place] for place in range(self._count))

    def frames(self, first: int = 0) -> Sequence[int]:
        """Return the frame that mentioned each item first, from item `first` on."""
        return [self._epoch.numbers[place] for place in range(self._count)[first:]]

    def of_type(self, *types: type[Item]) -> Iterator[Item]:
        """Yield the items of some types; the others are not built."""
        for place in range(self._count):
            if isinstance(self._epoch.items[place], types):
                yield self[place]

    def is_earlier(self, other: ItemsAt) -> bool:
        """Return whether `other` are the same items, later or at the same time."""
        return self._epoch is other._epoch and self._n <= other._n

    def changed_since(self, n: int) -> Iterator[tuple[int, Item]]:
        """Yield index and current state of each item that a frame after `n` may have changed."""
        for place, item in enumerate(self._epoch.items[: self._count]):
            if item.last > n:
                yield place, item.at(self._n)


class SessionSnapshot:
    """A session after frame `n`; its parts are built on access."""

    def __init__(self, talk: Conversation, n: int, epoch: ItemEpoch, info: SessionInfo) -> None:
        self._talk = talk
        self.session_id = talk.session_id
        self.version = talk.version
        self.n = n
        self.info = info
        self.items = ItemsAt(epoch, n)
        self._epoch = epoch

    def edits_of(self, item: Item) -> list[FrameEdit]:
        """Return the edits of frames that have changed an item, in the order of the frames."""
        return self._talk.edits_of(item, self._epoch.begun, self.n)

    @property
    def errors(self) -> list[SessionError]:
        return self._talk.errors.at(self.n)

    @property
    def turns(self) -> list[SessionTurn]:
        return [turn.at(self.n) for turn in self._talk.turns_until(self.n)]

    @property
    def terminals(self) -> list[TerminalItem]:
        return [terminal.at(self.n) for terminal in self._talk.terminals_until(self.n)]


"""The error of a turn that was cut off because the agent ended."""

Spoken = TypeVar("Spoken", UserMessage, AgentMessage, Thought, SessionMessage)


class PromptEcho:
    """What an agent has repeated so far of a prompt that was just sent to it."""

    def __init__(self, prompt: UserMessage) -> None:
        self._text = prompt.text
        self._blocks = prompt.blocks[:]
        texts = (get(each, "text") for each in prompt.content)
        self._ends = {*accumulate(len(each) for each in texts if isinstance(each, str))}
        """Where the texts of its blocks end."""
        self._begin = 0
        self.taken: list[Json] = []
        """The blocks that repeat the prompt, until all of its text is repeated."""

    def takes(self, block: Json) -> bool:
        """Return whether a block goes on repeating the prompt; if so, keep it."""
        text = get(block, "text") if get(block, "type") == "text" else None
        if isinstance(text, str):
            is_whole = self._begin == 0 and text.strip() == self._text.strip()
            is_next = is_whole or self._text.startswith(text, self._begin)
            self._begin = len(self._text) if is_whole else self._begin + len(text) * is_next
        elif is_next := block in self._blocks:
            self._blocks.remove(block)
        if is_next:
            self.taken = [*self.taken, block] if self._begin < len(self._text) else []
        return is_next

    def unlike(self) -> list[Json]:
        """Return what was taken if that is no echo: it only begins like a text of the prompt."""
        return [] if self._begin in self._ends else self.taken


@frozen_dataclass
class ConversationChange:
    """A change of a conversation by one frame; `item` None: only session info changed."""

    session_id: str
    item: Item | None
    is_new: bool = False
    terminal: TerminalItem | None = None
    """The terminal that has changed."""


def _times(facts: CallFacts, status: str, at: float) -> dict[str, float | None]:
    """Return the times of a call that a new status sets, at a time."""
    if status == "in_progress":
        return {"began_at": at, "ended_at": None}
    if status not in FINAL_STATUSES or facts.status in FINAL_STATUSES:
        return {}
    # Of a call that comes with its end, nothing is known.
    return {"began_at": None} if facts.began_at == at else {"ended_at": at}


class Conversation:
    """The state of a session: its items, and its modes, options and commands."""

    def __init__(
        self,
        session_id: str,
        version: int = 1,
        cursor: Cursor | None = None,
        session: Session | None = None,
    ) -> None:
        self.session_id = session_id
        self.version = version
        self._session = session or Session(session_id)
        self.cursor = cursor or Cursor()
        """The position of the model that owns this conversation."""
        self.begun = self.cursor.n
        """The first frame that named the session."""
        self.restored = 0
        """The last request that loaded or resumed it; 0 if there was none."""
        self.turns: list[SessionTurn] = []
        self.states = 0
        """Number of `state_update` so far (version 2)."""
        self.unbound: list[UserMessage] = []
        """Prompts that have no message id yet (version 2), oldest first."""
        self.last_user_message: UserMessage | None = None
        """The last message of the user, from either side."""
        self.prompted: UserMessage | None = None
        """The last prompt of the client, which no message of the agent goes on with."""
        self.echo: PromptEcho | None = None
        """What the agent repeats of the last prompt; None: it says something else."""
        self.errors = VersionedList[SessionError]()
        self.elicitations = VersionedList[ElicitationItem]()
        self._surroundings = Versioned(SessionInfo())
        self._epochs = [ItemEpoch(0)]
        """Its items; a replay of the whole session begins a new epoch."""
        self._epoch = self._epochs[0]
        self._calls: dict[str, ToolCallItem] = {}
        self._call_begins = array("Q")
        """The frames that mentioned tool calls first."""
        self._running: dict[str, ToolCallItem] = {}
        """The calls that are not over."""
        self.allowed: list[ToolCallItem] = []
        """The calls that the user has allowed."""
        self._plans: dict[str, PlanItem] = {}
        self.terminals: list[TerminalItem] = []
        self._terminals: dict[str, TerminalItem] = {}
        self._terminal_begins = array("Q")
        self._showers: dict[str, list[ToolCallItem]] = {}
        self._messages: dict[tuple[type[TextItem], str], TextItem] = {}
        self._notices: dict[str, Notice] = {}
        self._edits: dict[str, list[FrameEdit]] = {}
        """The edits of the frames that have changed an item, by its key."""
        self._count = 0

    # Current state

    @property
    def items(self) -> list[Item]:
        """The items in the order of their first mention."""
        return self._epoch.items

    def frame_of(self, item: Item) -> int | None:
        """Return the frame that mentioned an item first; None if it is not of this session."""
        items = self._epoch.items
        place = next((at for at, each in enumerate(items) if each is item), None)
        return None if place is None else self._epoch.numbers[place]

    @property
    def info(self) -> SessionInfo:
        return self._surroundings.now

    @property
    def plan(self) -> PlanItem | None:
        """The first plan of the session."""
        return next(iter(self._plans.values()), None)

    @property
    def subagents(self) -> list[SubagentItem]:
        """The sessions that work for this one, in the order of their announcement."""
        return [each for each in self._notices.values() if isinstance(each, SubagentItem)]

    @property
    def turn(self) -> SessionTurn | None:
        """The newest turn that runs."""
        return self._session.turn

    @property
    def received_at(self) -> float:
        """When the agent sent an update or a request last, in seconds since the journal began."""
        return self._session.received_at

    def calls_since(self, n: int) -> int:
        """Return how many tool calls were first mentioned in frame `n` or later."""
        return len(self._call_begins) - bisect_left(self._call_begins, n)

    def turns_until(self, n: int) -> list[SessionTurn]:
        return self.turns[: bisect_right(self.turns, n, key=lambda turn: turn.began)]

    def turn_at(self, n: int) -> SessionTurn | None:
        """Return the newest turn if it was still running after frame `n`."""
        turn = next(reversed(self.turns_until(n)), None)
        has_ended = turn is None or (turn.ended is not None and turn.ended <= n)
        return None if has_ended else turn

    def terminals_until(self, n: int) -> list[TerminalItem]:
        return self.terminals[: bisect_right(self._terminal_begins, n)]

    def at(self, n: int) -> SessionSnapshot:
        """Return the state after frame `n` in O(log n); items are built on access."""
        place = bisect_right(self._epochs, n, key=lambda epoch: epoch.begun) - 1
        return SessionSnapshot(self, n, self._epochs[max(place, 0)], self._surroundings.at(n))

    # Items

    def add(self, item: Item) -> ConversationChange:
        self._epoch.add(self.cursor.n, item)
        if isinstance(item, UserMessage):
            self.last_user_message = item
        return ConversationChange(self.session_id, item, is_new=True)

    def notice(self, text: str) -> ConversationChange:
        return self.add(Notice(self.next_key(Notice.key_prefix), text, self.cursor.n))

    def entity(self, kind: type[Notice], key: str, text: str) -> tuple[Notice, bool]:
        """Return the item of the entity `key`, and whether it is new."""
        known = self._notices.get(key)
        if known is not None:
            return known, False
        line = self._notices[key] = kind(self.next_key(kind.key_prefix), text, self.cursor.n)
        self.add(line)
        return line, True

    def note_late(self, name: str) -> list[ConversationChange]:
        """Add a notice before the first output that comes after the end of a turn, if this is."""
        if name not in OUTPUT or not self.turns or self.turn is not None:
            return []
        last = self.turns[-1]
        # What it repeats when it is opened again belongs to no turn, nor does background work.
        if last.error is not None or last.began < self.restored or self.info.background:
            return []
        if last.ended == self.cursor.n:
            # A frame of a dialect, or an array, says both.
            return []
        text = "the following came after the end of the turn"
        line, is_new = self.entity(Notice, f"late {last.number}", text)
        return [ConversationChange(self.session_id, line, is_new)] if is_new else []

    def note_history(self) -> list[ConversationChange]:
        """Add a notice, once in a turn, that it is mixed with the history of the session."""
        if self.turn is None or self.turn.began < self.restored or not self.restored:
            return []
        opening = self.info.opened_by or "session/load"
        text = f"history came after the response to {opening}: the reply begins further below"
        line, is_new = self.entity(Notice, f"history {self.turn.number}", text)
        return [ConversationChange(self.session_id, line, is_new)] if is_new else []

    def note_edit(self, item: Item, edit: FrameEdit) -> None:
        """Take note that the frame which has changed an item was sent with other bytes."""
        known = self._edits.setdefault(item.key, [])
        # The messages of an array may change an item one after the other.
        if not known or known[-1] is not edit:
            known.append(edit)

    def current_edits_of(self, item: Item) -> list[FrameEdit]:
        """Return the edits of frames that have changed an item, since its session was loaded."""
        return self.edits_of(item, self._epoch.begun, self.cursor.n)

    def edits_of(self, item: Item, first: int, last: int) -> list[FrameEdit]:
        """Return the edits of frames from `first` to `last` that have changed an item."""
        return [each for each in self._edits.get(item.key, ()) if first <= each.of <= last]

    def next_key(self, kind: str) -> str:
        self._count += 1
        return f"{kind}-{self._count}"

    def restart(self) -> ItemEpoch:
        """Drop all items, because the agent replays them; return the items so far."""
        before = self._epoch
        self._epoch = ItemEpoch(self.cursor.n)
        self._epochs.append(self._epoch)
        self.last_user_message = None
        self._calls.clear()
        self._running.clear()
        self._plans.clear()
        self._messages.clear()
        self._notices.clear()
        self.unbound.clear()
        return before

    def restore(self, epoch: ItemEpoch) -> None:
        """Restore the items from before `restart`, because the replay failed."""
        self._epoch = ItemEpoch(self.cursor.n, epoch.items, epoch.numbers)
        self._epochs.append(self._epoch)
        for item in epoch.items:
            if isinstance(item, ToolCallItem):
                self._calls[item.key] = item
                if not item.is_over:
                    self._running[item.key] = item
            elif isinstance(item, PlanItem):
                self._plans[item.plan_id] = item
            elif isinstance(item, TextItem) and item.message_id is not None:
                self._messages[type(item), item.message_id] = item
            if isinstance(item, UserMessage):
                self.last_user_message = item

    # Messages

    def chunk(self, kind: type[Spoken], update: Json) -> ConversationChange:
        """Add a chunk to the message it belongs to: by its id, or to the last one of its kind."""
        message, is_new = self.text(kind, get_string(update, "messageId") or None)
        message.add(get(update, "content"), self.cursor.n)
        return ConversationChange(self.session_id, message, is_new)

    def message(self, kind: type[Spoken], update: Json) -> ConversationChange:
        """Replace or patch the whole message that the update names (version 2)."""
        found, is_new = self.text(kind, get_string(update, "messageId") or None)
        if "content" in (update or {}):
            found.replace(get_list(update, "content"), self.cursor.n)
        return ConversationChange(self.session_id, found, is_new)

    def text(self, kind: type[Spoken], message_id: str | None) -> tuple[Spoken, bool]:
        """Return the message with that id, else the current one; and whether it is new."""
        if message_id is not None and (kind, message_id) in self._messages:
            return cast("Spoken", self._messages[kind, message_id]), False
        last = self.items[-1] if self.items else None
        # A message to another session is also the agent's, but only chunks of its own kind continue
        # it. All chunks of a message have its id, or none.
        if (
            isinstance(last, kind)
            and type(last) is kind
            and last is not self.prompted
            and message_id == last.message_id
        ):
            return last, False
        message = kind(self.next_key(kind.key_prefix), message_id, n=self.cursor.n)
        if message_id is not None:
            self._messages[kind, message_id] = message
        self.add(message)
        return message, True

    def bind(self, message: UserMessage, message_id: str) -> None:
        """Set the message id that the agent assigned to a prompt."""
        message.bind(message_id, self.cursor.n)
        self._messages[UserMessage, message_id] = message
        if message in self.unbound:
            self.unbound.remove(message)

    def has_message(self, message_id: str) -> bool:
        return (UserMessage, message_id) in self._messages

    # Tool calls, their terminals, and plans

    def call(self, key: str) -> tuple[ToolCallItem, bool]:
        if key in self._calls:
            return self._calls[key], False
        # What an agent repeats of an earlier process has the time of the repetition.
        is_live = self.turn is not None or self.info.parent is not None
        call = ToolCallItem(key, n=self.cursor.n, began_at=self.cursor.at if is_live else None)
        self._calls[key] = self._running[key] = call
        self._call_begins.append(self.cursor.n)
        self.add(call)
        return call, True

    def change_call(self, call: ToolCallItem, **facts: Any) -> None:
        """Change fields of a call, and when it began or ended by its new status."""
        status = facts.get("status", call.facts.status)
        if status != call.facts.status and call.facts.began_at is not None:
            facts |= _times(call.facts, status, self.cursor.at)
        call.change(self.cursor.n, **facts)
        if call.is_over:
            self._running.pop(call.key, None)
        else:
            self._running[call.key] = call

    def terminal(self, key: str) -> TerminalItem:
        known = self._terminals.get(key)
        return self.new_terminal(key) if known is None else known

    def new_terminal(self, key: str) -> TerminalItem:
        """Create a terminal; it replaces any earlier one with this id."""
        terminal = self._terminals[key] = TerminalItem(key)
        self.terminals.append(terminal)
        self._terminal_begins.append(self.cursor.n)
        return terminal

    def show(self, call: ToolCallItem, terminal: TerminalItem) -> None:
        call.show(terminal)
        calls = self._showers.setdefault(terminal.key, [])
        if call not in calls:
            calls.append(call)

    def calls_showing(self, key: str) -> Sequence[ToolCallItem]:
        """Return the tool calls that show a terminal, or have shown it, the latest last."""
        return self._showers.get(key, ())

    def known_subagent(self, session_id: str) -> SubagentItem | None:
        found = self._notices.get(f"subagent {session_id}")
        return found if isinstance(found, SubagentItem) else None

    def known_call(self, key: str) -> ToolCallItem | None:
        return self._calls.get(key)

    def known_terminal(self, key: str) -> TerminalItem | None:
        return self._terminals.get(key)

    def terminal_at(self, key: str, n: int) -> TerminalItem | None:
        """Return the terminal that had this id at frame `n`: an id may be reused."""
        for place in range(bisect_right(self._terminal_begins, n) - 1, -1, -1):
            if self.terminals[place].key == key:
                return self.terminals[place]
        return None

    def open_calls(self) -> list[ToolCallItem]:
        return list(self._running.values())

    def plan_of_id(self, plan_id: str) -> tuple[PlanItem, bool]:
        if plan_id in self._plans:
            return self._plans[plan_id], False
        plan = self._plans[plan_id] = PlanItem(self.next_key("plan"), plan_id)
        self.add(plan)
        return plan, True

    # Turns and session info

    def add_prompt(self, blocks: Json) -> UserMessage:
        self.update_info(open_prompts=self.info.open_prompts + 1)
        message = UserMessage(self.next_key(UserMessage.key_prefix), n=self.cursor.n)
        message.replace(as_list(blocks), self.cursor.n)
        self.add(message)
        self.prompted, self.echo = message, PromptEcho(message)
        if self.version >= 2:
            self.unbound.append(message)
        return message

    def add_turn(self, turn: SessionTurn) -> None:
        """Add a turn that has begun."""
        self.turns.append(turn)

    def add_turn_end(self, turn: SessionTurn) -> ConversationChange:
        """Add the end of a turn."""
        is_silent = turn.is_prompted and turn.first_output is None
        return self._add_end(turn.stop_reason, turn.error, turn.usage, is_silent=is_silent)

    def add_rejection(self, error: str) -> ConversationChange:
        """Add the end of a prompt that was rejected while its turn goes on."""
        return self._add_end(None, error, None, is_silent=False)

    def _add_end(
        self, stop_reason: str | None, error: str | None, usage: Json, *, is_silent: bool
    ) -> ConversationChange:
        key = self.next_key("turnend")
        return self.add(TurnEnd(key, stop_reason, error, usage, self.cursor.n, is_silent))

    def end_process(self) -> None:
        """Note that the agent has ended: no prompt gets a response any more."""
        self.unbound.clear()
        if self.info.is_busy:
            self.update_info(open_prompts=0, state=None)

    def update_info(self, **surroundings: Any) -> None:
        new = replace(self._surroundings.now, **surroundings)
        self._surroundings.set(self.cursor.n, new)

    def set_mode(self, mode: str) -> None:
        """Note another mode; an option for the mode that offers it has that value, too."""
        options: list[Json] = []
        for option in self.info.config_options:
            values = [get(each, "value") for each in get_list(option, "options")]
            is_set = is_mode_option(option) and mode in values
            options.append({**as_object(option), "currentValue": mode} if is_set else option)
        self.update_info(current_mode=mode, config_options=options)

    def update_options(self, source: Json) -> None:
        """Apply the modes, options and commands in a response or an update."""
        if isinstance(modes := get(source, "modes"), dict):
            self.update_info(modes=modes, current_mode=get_string(modes, "currentModeId") or None)
        if isinstance(get(source, "configOptions"), list):
            self.update_info(config_options=get_list(source, "configOptions"))
            # Version 2 has its modes among the options.
            for option in self.info.config_options:
                if is_mode_option(option):
                    mode = get_string(option, "currentValue") or self.info.current_mode
                    self.update_info(current_mode=mode)
        if isinstance(get(source, "availableCommands"), list):
            self.update_info(commands=get_list(source, "availableCommands"))
