"""The model of one connection: all folds of this package over one pass through its entries.

A frame is decoded and paired once for all of them. A live journal is read as it grows. An edited
frame is read as it was sent, which is known if its event was noted before (`edits`). If the event
comes later, the model is outdated: fold the entries again in one that knows the edits of this one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from acp_inspector.journal import MAX_GAP, Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.messages import DecodedFrame, Decoder
from acp_inspector.recording.format import Header
from acp_inspector.recording.reader import Row
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.edits import Edits
from acp_inspector.session.events import NotificationSent, SessionEvent
from acp_inspector.session.exchanges import Exchange, Exchanges, PairedMessage
from acp_inspector.session.history import Versioned
from acp_inspector.views.annotations import FrameNotes, intervention_of
from acp_inspector.views.capabilities import Capabilities
from acp_inspector.views.statistics import Statistics
from acp_inspector.views.subjects import NamedKind, request_subject
from acp_inspector.views.turn_times import TurnTimes
from acp_inspector.views.wait_graph import WaitContext, WaitGraph, wait_graph
from acp_protocol.dialects.base import Dialect
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Notification

ACTIVITY_INTERVAL: Final = 0.1
"""Seconds within which the activity of a side is noted once."""


class SessionModel:
    """Folds the entries of a journal, one after the other."""

    def __init__(
        self,
        dialect: Dialect | str | None = None,
        *,
        has_conversations_only: bool = False,
        edits: Edits | None = None,
    ) -> None:
        """Begin.

        Args:
            dialect: The dialect of the frames, or its name; None: recognise it.
            has_conversations_only: Leave out capabilities, statistics, notes and the wait graph.
            edits: The edits that are known already.
        """
        self.edits = Edits() if edits is None else edits
        """The edits that are known so far."""
        self.is_outdated = False
        """Whether a frame was read as it came, and an edit of it was reported later."""
        self._has_conversations_only = has_conversations_only
        self.exchanges = Exchanges()
        self.conversations = Conversations(dialect, exchanges=self.exchanges)
        self.capabilities = Capabilities()
        self.statistics = Statistics()
        self.turn_times = TurnTimes()
        self.last_paired: tuple[PairedMessage, ...] = ()
        """The messages of the last frame, each with its exchange."""
        self.n = 0
        """The last entry that was read."""
        self.at = 0.0
        """The time of that entry, in seconds since the journal began."""
        self.last_cancel: int | None = None
        """The last frame that cancelled a turn."""
        self._frame_times: tuple[float | None, float | None] = (None, None)
        """The times of the last two frames."""
        self._turn: int | None = None
        """The turn that the last frame belongs to."""
        self._times = array("d")
        self._numbers = array("Q")
        self._gone = Versioned[frozenset[Side]](frozenset())
        self._held = Versioned[dict[int, float]]({})
        self._activity: dict[tuple[Side, str | None], tuple[array[int], array[float]]] = {}

    @property
    def dialect(self) -> str | None:
        """The name of the dialect; None for the published protocol."""
        return self.decoder.dialect

    @property
    def decoded(self) -> DecodedFrame | None:
        """The last frame."""
        return self.conversations.fold.decoded

    @property
    def decoder(self) -> Decoder:
        return self.conversations.fold.decoder

    def read(
        self, rows: Iterable[Row], *, counts: Callable[[DecodedFrame], bool] | None = None
    ) -> None:
        """Add the rows of a recording; `counts` as in `apply`.

        Its header says in which directory and dialect it is read. Edits are looked for in a
        sequence first. Those in a stream come too late, unless known.
        """
        if isinstance(rows, Sequence):
            self.expect(rows)
        for row in rows:
            if isinstance(row, Header):
                self.decoder.begin_recording(row.dialect, row.cwd)
            elif isinstance(row, Frame | StderrChunk | JournalEvent):
                self.apply(row, counts=counts)

    def expect(self, rows: Iterable[Row]) -> None:
        """Take note of the edits that rows report which are to be added next."""
        for row in rows:
            edit = self.edits.note(row) if isinstance(row, JournalEvent) else None
            if edit is not None and edit.of <= self.n:
                self.is_outdated = True

    def apply(self, entry: Entry, *, counts: Callable[[DecodedFrame], bool] | None = None) -> Entry:
        """Add the next entry; return it, with a valid number and time even if the file has none.

        A frame is returned as it was sent.

        Args:
            entry: The next one.
            counts: Returns, once a frame is paired, whether statistics count it; None: they count
            all. All other folds read every frame.
        """
        self.expect((entry,))
        edit = self.edits.of(entry.seq) if isinstance(entry, Frame) else None
        if edit is not None and isinstance(entry, Frame):
            entry = edit.sent(entry)
        entry = self._sound(entry)
        self.n, self.at = entry.seq, entry.time
        self._numbers.append(entry.seq)
        self._times.append(entry.time)
        if isinstance(entry, JournalEvent):
            self._note(entry)
        if not isinstance(entry, Frame):
            return entry
        self._frame_times = (self._frame_times[1], entry.time)
        paired = self.last_paired = self.conversations.fold.pair(entry)
        events = self.conversations.fold.apply_all(entry, paired)
        self.conversations.apply(entry, events, edit=edit)
        if self._has_conversations_only:
            return entry
        self.capabilities.apply(entry, paired)
        self.turn_times.apply(events)
        facts = [event for event in events if event.is_fact]
        if any(map(_cancels_turn, facts)):
            self.last_cancel = entry.seq
        self._note_activity(entry, facts)
        decoded = self.decoded
        if counts is None or (decoded is not None and counts(decoded)):
            sent = self.conversations.fold.fact_as_sent()
            self.statistics.apply(entry, facts if sent is None else [*facts, sent])
        return entry

    def notes(self) -> FrameNotes:
        """Return the notes of the last frame."""
        previous, now = self._frame_times
        gap = None if previous is None or now is None else max(now - previous, 0.0)
        return FrameNotes(turn=self._turn, version=self.conversations.version, gap=gap)

    def waiting(self, n: int | None = None, at: float | None = None) -> WaitGraph:
        """Return the wait graph after entry `n`.

        Args:
            n: Number of the entry; None: the last one.
            at: Seconds since the journal began, for a later time than that of `n`; None: that of
            `n`.
        """
        n = self.n if n is None else n
        talks = self.conversations.sessions.values()
        turns = [turn for talk in talks if talk.version >= 2 and (turn := talk.turn_at(n))]
        asking = [
            turn.session_id
            for turn in turns
            if self.conversations.sessions[turn.session_id].at(n).info.state == "requires_action"
        ]
        known_then = WaitContext(
            n=n,
            at=self.time_of(n) if at is None else at,
            turns=turns,
            gone=self._gone.at(n),
            held=self._held.at(n),
            asking=frozenset(asking),
            last_sent={key: _last(*activity, n) for key, activity in self._activity.items()},
            subject=self.subject,
        )
        return wait_graph(self.exchanges.open_at(n), known_then)

    def time_of(self, n: int) -> float:
        """Return the time of the last entry up to `n`, in seconds since the journal began."""
        known = bisect_right(self._numbers, n)
        return self._times[known - 1] if known else 0.0

    def waiting_at_cancel(self) -> WaitGraph | None:
        """Return the waits when the last cancelled turn was cancelled; None if none was."""
        if self.last_cancel is None:
            return None
        return self.waiting(self.last_cancel - 1, self.time_of(self.last_cancel))

    def subject(self, exchange: Exchange) -> str:
        """Return a short description of a request, which is not safe to show."""
        talk = self.conversations.sessions.get(exchange.session or "")

        def name_of(kind: NamedKind, id_: str) -> str:
            if talk is None:
                return ""
            if kind == "call":
                call = talk.known_call(id_)
                return "" if call is None else call.facts.title
            terminal = talk.terminal_at(id_, exchange.request_frame.seq)
            return "" if terminal is None else terminal.facts.command or ""

        return request_subject(exchange.request.method, exchange.request.params, name_of)

    def _sound(self, entry: Entry) -> Entry:
        """Return the entry with a valid number and time: files may contain anything."""
        is_next = self.n < entry.seq < self.n + MAX_GAP
        is_time = abs(entry.time) < MAX_GAP
        if is_next and is_time:
            return entry
        n, at = entry.seq if is_next else self.n + 1, entry.time if is_time else self.at
        return replace(entry, seq=n, time=at)

    def _note(self, event: JournalEvent) -> None:
        self.conversations.note(event)
        match event.name, event.data:
            case "eof", {"from": "client"}:
                self._leave("client", event.seq)
            case ("eof", {"from": "agent"}) | ("exit", _):
                self._leave("agent", event.seq)
            case (("spawn" | "connect"), _):
                self._gone.set(event.seq, frozenset())
            case _:
                self._note_intervention(event)

    def _note_intervention(self, event: JournalEvent) -> None:
        match intervention_of(event):
            case n, "held":
                self._held.set(event.seq, self._held.now | {n: event.time})
            case n, "released" if n in self._held.now:
                left = {key: at for key, at in self._held.now.items() if key != n}
                self._held.set(event.seq, left)
            case _:
                pass

    def _leave(self, side: Side, n: int) -> None:
        gone: frozenset[Side] = frozenset({*self._gone.now, side})
        self._gone.set(n, gone)

    def _note_activity(self, frame: Frame, facts: Sequence[SessionEvent]) -> None:
        turn = next((fact.turn for fact in facts if fact.session is not None), None)
        self._turn = None if turn is None else turn.number
        sessions = {fact.session for fact in facts if fact.session is not None}
        for session in (None, *sessions):
            activity = self._activity.get((frame.side, session))
            if activity is None:
                activity = self._activity[frame.side, session] = (array("Q"), array("d"))
            numbers, times = activity
            if not times or frame.time - times[-1] >= ACTIVITY_INTERVAL:
                numbers.append(frame.seq)
                times.append(frame.time)


def _cancels_turn(event: SessionEvent) -> bool:
    match event:
        case NotificationSent(message=Notification(method="session/cancel")):
            return True
        case _:
            return False


def _last(numbers: array[int], times: array[float], n: int) -> float:
    place = bisect_right(numbers, n)
    return times[place - 1] if place else 0.0
