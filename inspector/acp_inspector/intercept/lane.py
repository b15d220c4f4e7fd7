"""One direction of the traffic while somebody interferes: a bounded queue, and its order.

The pump's reader puts frames in; the pump's writer takes bytes out and does nothing but write them.
Whatever makes a frame wait makes those behind it wait too, and by the queue's bound the sender.

Where nobody interferes the pump writes chunks itself, between `begin_raw` and `end_raw`. Frames of
ours go out only where a line has ended, so that they never land inside another one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from acp_inspector.intercept.desk import Desk, Held, Insertion, LaneClosedError, Wait
from acp_inspector.intercept.passage import Passage, Scribe
from acp_inspector.intercept.stash import Stash
from acp_inspector.journal import Frame
from acp_protocol.framing import Side

QUEUE_LIMIT: Final = 8 * 2**20
"""Bytes of frames that may wait in one direction before its sender has to."""
INSERTIONS_LIMIT: Final = 1000
"""Frames of ours that may wait in one direction."""


class Lane:
    """One direction; `side` is who sends in it."""

    def __init__(
        self,
        side: Side,
        desk: Desk,
        scribe: Scribe,
        changed: threading.Condition,
        clock: Callable[[], float],
    ) -> None:
        self.side: Side = side
        self._desk = desk
        self._scribe = scribe
        self._changed = changed
        self._clock = clock
        self._queue: deque[Frame] = deque()
        self._size = 0
        self._head: Passage | None = None
        self._ready_at = 0.0
        self._stash = Stash()
        self._insertions: deque[Insertion] = deque()
        self._outgoing: Iterator[bytes | float] | None = None
        self._resume_at = 0.0
        self._last: int | None = None
        self._exempt = 0
        self._is_judging = False
        self._makes_way = False
        self._is_announced = False
        self._is_raw_busy = False
        self._is_at_boundary = True
        self._has_ended = self._is_closed = False
        self._is_cut = False
        self._hung_by = ""
        self._ended_by = "end"
        self.held: Held | None = None
        """The frame at the head that somebody has to decide about."""

    # The reader's side.

    @property
    def is_wanted(self) -> bool:
        """Whether the pump has to bring frames, because somebody interferes or something waits."""
        return self._desk.is_active or self._is_busy()

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will leave."""
        return self._is_closed

    @property
    def waiting(self) -> int:
        """How many frames wait behind the first."""
        return len(self._queue)

    def open(self, *, is_raw_busy: bool, is_at_boundary: bool) -> None:
        """Begin where the pump stands: `end_raw` follows if it is writing a chunk."""
        with self._changed:
            self._is_raw_busy = is_raw_busy
            self._is_at_boundary = is_at_boundary

    def begin_raw(self) -> bool:
        """Take the sink for writing a chunk past this lane; False when frames are wanted."""
        with self._changed:
            if self.is_wanted or self._is_closed:
                return False
            self._is_raw_busy = True
            # What left before cannot be said any more, and need not: nothing waits behind it.
            self._last = None
            return True

    def end_raw(self, *, is_at_boundary: bool) -> None:
        """Give the sink back; tell whether what was written ended with a line."""
        with self._changed:
            self._is_raw_busy = False
            self._is_at_boundary = is_at_boundary
            self._changed.notify_all()

    def make_way(self) -> bool:
        """Wait until every frame has left, for a line that is never going to be one.

        The line follows by `put_rest`. False if nothing leaves any more; then it must not either.
        """
        with self._changed:
            self._makes_way = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_closed or self._hung_by or not self._is_busy())
            self._makes_way = False
            # What of ours leaves behind it cannot say so: it has no number yet.
            self._last = None
            return not (self._is_closed or self._hung_by)

    def put_rest(self, rest: bytes, *, is_at_boundary: bool = True) -> None:
        """Bring the rest of a line of which the beginning has been written as a chunk."""
        with self._changed:
            self._changed.wait_for(lambda: self._outgoing is None or self._is_closed)
            self._outgoing = iter((rest,))
            self._is_at_boundary = is_at_boundary
            self._changed.notify_all()

    def announce(self) -> None:
        """Say that the next frame is about to get its number, and will then be brought.

        Until it is there, nothing of ours leaves that could not say next to which frame it does.
        """
        with self._changed:
            self._is_announced = True

    def put(self, frame: Frame) -> None:
        """Bring a frame; wait while too much waits already. One that can never leave is dropped."""
        size = len(frame.raw)
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_closed or not self._size or self._size + size <= QUEUE_LIMIT
            )
            self._is_announced = False
            if self._is_closed:
                self._lose(frame)
                return
            self._queue.append(frame)
            self._size += size
            self._changed.notify_all()

    def end(self) -> None:
        """Say that the sender will send no more; what waits still leaves."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def close(self) -> None:
        """Let nothing more leave, because nobody takes it; `put` and `take` return at once."""
        with self._changed:
            self._shut()

    # The writer's side.

    def take(self) -> bytes | None:
        """Wait for the next bytes to write and return them; None when the sink is to be closed."""
        while True:
            with self._changed:
                while isinstance(step := self._step(), Wait):
                    self._changed.wait(step.seconds)
            if not isinstance(step, Frame):
                return step
            self._judge(step)

    def look(self) -> bytes | Wait | None:
        """Return what `take` returns, or what it would wait for."""
        while True:
            with self._changed:
                step = self._step()
            if not isinstance(step, Frame):
                return step
            self._judge(step)

    # Everybody's; the lock is held.

    def insert(self, insertion: Insertion) -> None:
        """Let a frame of ours leave as soon as no other is half-way, before all that waits.

        Raises:
            LaneClosedError: it never could.
        """
        is_cut_off = self._has_ended and not self._is_at_boundary
        if self._is_closed or self._is_cut or self._hung_by or is_cut_off:
            raise LaneClosedError(f"nothing more goes out from the {self.side}")
        if len(self._insertions) >= INSERTIONS_LIMIT:
            raise LaneClosedError(f"{INSERTIONS_LIMIT} frames wait already to be injected")
        self._insertions.append(insertion)
        self._changed.notify_all()

    def decide(self, *, wait: float = 0.0) -> None:
        """Let the held frame go on, after `wait` seconds."""
        if self.held is not None:
            self.held.is_decided = True
            self._ready_at = max(self._ready_at, self._clock() + wait) if wait else self._ready_at
            self.held = None
            self._changed.notify_all()

    def exempt_waiting(self) -> None:
        """Let nothing hold what waits here now."""
        self._exempt = len(self._queue) + self._is_judging

    # What comes next; the lock is held but for the judging.

    def _judge(self, frame: Frame) -> None:
        passage = self._desk.judge(frame)
        with self._changed:
            self._is_judging = False
            if self._is_closed:
                self._lose(frame)
            else:
                self._admit(passage)

    def _is_busy(self) -> bool:
        return bool(
            self._queue
            or self._head
            or self._stash
            or self._insertions
            or self._outgoing
            or self._is_judging
            or self._hung_by
            or self._is_cut
        )

    # Each of these returns what to hand out or to wait for; None to look again.

    def _step(self) -> bytes | Frame | Wait | None:
        """Return bytes to write, a frame to judge, what to wait for, or None at the end."""
        while not self._is_closed:
            now = self._clock()
            if self._outgoing is not None:
                step = self._portion(now)
            elif self._is_raw_busy:
                step = Wait(None)
            elif self._is_at_boundary and not self._is_cut:
                step = self._next(now)
            elif self._has_ended or self._is_cut:
                # The last line has no ending: nothing can follow it.
                step = self._shut()
            else:
                step = Wait(None)
            if step is not None:
                return step
        return None

    def _next(self, now: float) -> Frame | Wait | None:
        if self._insertions and not self._hung_by and not self._is_placeless():
            return self._start(self._inserted(self._insertions.popleft()))
        if late := self._stash.take_ripe(now, is_late=self._is_late()):
            return self._leave_late(late)
        if self._head is not None:
            return self._wait_of_head(now) or self._leave(self._head)
        if not self._queue:
            return self._shut() if self._has_ended else self._wait_of_stash(now)
        frame = self._next_frame()
        if not self._hung_by:
            return frame
        self._last = frame.n
        self._scribe.event("discarded", of=frame.n, by=self._hung_by)
        return None

    def _next_frame(self) -> Frame:
        frame = self._queue.popleft()
        self._size -= len(frame.raw)
        self._is_judging = not self._hung_by
        self._changed.notify_all()
        return frame

    def _admit(self, passage: Passage) -> None:
        is_exempt = self._exempt > 0
        self._exempt = max(self._exempt - 1, 0)
        passage.write_tale(self._scribe)
        self._head = passage
        self._ready_at = self._clock() + passage.wait
        if not passage.is_dropped and not self._desk.is_over:
            self.held = self._desk.admit(passage, is_exempt=is_exempt)
            if self.held is not None:
                self._changed.notify_all()

    def _wait_of_head(self, now: float) -> Wait | None:
        """Return what the head waits for; None when it may leave."""
        if self.held is not None and (now >= self.held.until or self._desk.is_over):
            self._desk.time_out(self.held)
        until = self._ready_at if self.held is None else self.held.until
        if self._desk.is_over or now >= until:
            return None
        stashed = self._stash.next_until()
        return Wait((until if stashed is None else min(until, stashed)) - now)

    def _wait_of_stash(self, now: float) -> Wait:
        until = self._stash.next_until()
        return Wait(None if until is None else until - now)

    def _is_late(self) -> bool:
        """Tell whether nobody comes any more whom a reordered frame could let pass."""
        # Also when all is over it lets others pass: what leaves in which order must not depend on
        # when that was noticed. The last line may have no ending, and nothing could follow it.
        return (
            (self._has_ended or self._makes_way)
            and not self._queue
            and not self._is_judging
            and (self._head is None or not self._head.frame.end)
        )

    def _leave_late(self, passage: Passage) -> None:
        by = passage.reorder.by if passage.reorder else ""
        self._scribe.event("released", of=passage.frame.n, by=by, after=self._last)
        self._send(passage)

    def _leave(self, passage: Passage) -> None:
        """Let the head go: out, among those who let others pass, or nowhere."""
        self._head = None
        self._last = passage.frame.n
        self._hung_by = passage.hung_by
        self._changed.notify_all()
        self._desk.settle(passage)
        if passage.is_dropped:
            return
        if passage.reorder is not None:
            self._stash.put(passage, passage.reorder, self._clock())
            return
        self._stash.let_one_pass()
        self._send(passage)

    def _send(self, passage: Passage) -> None:
        if passage.cut_by:
            self._is_cut = True
            self._ended_by = passage.cut_by
        self._start(passage.sendings())
        self._is_at_boundary = bool(passage.frame.end)

    def _is_placeless(self) -> bool:
        """Tell whether what leaves now would stand in the recording in another place."""
        is_known = self._last is not None or self._head or self._queue
        return self._is_announced and not is_known

    def _inserted(self, insertion: Insertion) -> Iterator[bytes]:
        number = self._scribe.frame(self.side, insertion.raw, b"\n")
        waiting = [self._head.frame] if self._head else list(self._queue)[:1]
        before = waiting[0].n if waiting and self._last is None else None
        data = {"after": self._last, "before": before, "answers": insertion.answers}
        known = {key: value for key, value in data.items() if value is not None}
        self._scribe.event("injected", of=number, by=insertion.by, **known)
        insertion.left(number)
        yield insertion.raw + b"\n"

    def _start(self, portions: Iterator[bytes | float]) -> None:
        self._outgoing = portions
        self._resume_at = 0.0

    def _portion(self, now: float) -> bytes | Wait | None:
        """Return the next bytes of what is under way, or its pause; None when it is out."""
        if now < self._resume_at and not self._desk.is_over:
            return Wait(self._resume_at - now)
        for portion in self._outgoing or ():
            if isinstance(portion, bytes):
                return portion
            self._resume_at = now + portion
            if not self._desk.is_over:
                return Wait(portion)
        self._outgoing = None
        self._changed.notify_all()
        return None

    def _lose(self, frame: Frame) -> None:
        self._scribe.event("discarded", of=frame.n, by=self._ended_by)

    def _shut(self) -> None:
        self._is_closed = True
        self._has_ended = True
        head = [self._head] if self._head is not None and not self._head.is_dropped else []
        for passage in (*self._stash.take_all(), *head):
            self._lose(passage.frame)
        for frame in self._queue:
            self._lose(frame)
        self._queue.clear()
        self._size = 0
        self._insertions.clear()
        self._head = self.held = self._outgoing = None
        self._changed.notify_all()
