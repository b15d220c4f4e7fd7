"""One direction of intercepted traffic: a bounded queue that keeps the order.

The forwarder's reader puts frames in; the forwarder's writer takes bytes out and only writes them.
A paused frame delays the frames behind it and, once the queue is full, their sender too.

The state is what the receiver has been sent so far; it decides what may follow:

| state    | the receiver has        | may be sent next                   | left by                |
|----------|-------------------------|------------------------------------|------------------------|
| READY    | whole frames            | an injected frame, a reordered one | a frame: SENDING       |
|          |                         | that is due, or the head           | `begin_raw`: RAW       |
|          |                         |                                    | the end: CLOSED        |
| SENDING  | a part of a frame       | the rest of that frame             | its end: `_state_then` |
| RAW      | a chunk that is being   | nothing                            | `end_raw`: READY or    |
|          | written past the queue  |                                    | MID_LINE               |
| MID_LINE | the beginning of one    | the rest of that frame             | `put_rest`: SENDING    |
|          |                         |                                    | the end: CLOSED        |
| CLOSED   | everything              | nothing                            |                        |

So an injected frame never lands inside another one. Both channels share the controller's lock. All
locks of the proxy are taken in the order that `controller` lists.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, Protocol

from acp_inspector.intercept.batches import BatchEdit
from acp_inspector.intercept.message import EventSink, InterceptedFrame
from acp_inspector.journal import Frame
from acp_protocol.errors import AcpError
from acp_protocol.framing import Framing, Side, wire_frame

MAX_QUEUED_BYTES: Final = 8 * 2**20
"""Bytes of frames that may wait in one direction before their sender has to."""
MAX_INSERTIONS: Final = 1000
"""Frames that may wait to be injected in one direction."""


class ChannelClosedError(AcpError):
    """Nothing more can be sent in this direction."""


class ChannelState(Enum):
    """What the receiver has been sent so far, see the table above."""

    READY = auto()
    SENDING = auto()
    RAW = auto()
    MID_LINE = auto()
    CLOSED = auto()


@dataclass(slots=True)
class PausedFrame:
    """A frame that waits for an observer's decision."""

    id: int
    frame: InterceptedFrame
    breakpoint: int | None
    """Id of the breakpoint that holds it; None if everything is paused."""
    since: float
    until: float
    """When it is released without a decision."""
    batch: BatchEdit | None = None
    """The array that it is a message of."""
    entry: int | None = None
    """Its place in that array, from 0."""

    @property
    def whole(self) -> InterceptedFrame:
        """The frame that is sent: the array, or the frame itself."""
        return self.frame if self.batch is None else self.batch.frame


@dataclass(slots=True)
class Insertion:
    """A frame to inject as soon as the one before it has ended."""

    raw: bytes
    by: str
    answers: int | None = None
    """Number of the request that it responds to."""
    on_sent: Callable[[int], None] = field(default=lambda seq: None)
    """Called with its number when it is sent."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing to write for this many seconds; None: until something changes."""

    seconds: float | None


class ChannelPolicy(Protocol):
    """Decides about the frames of a channel."""

    @property
    def is_active(self) -> bool:
        """Whether frames must be processed one by one."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether everything is sent without waiting."""
        ...

    def framing(self, side: Side) -> Framing:
        """Return how the frames of a side are separated, as far as that is known."""
        ...

    def process(self, frame: Frame) -> InterceptedFrame:
        """Run rules, add-ons and breakpoints; called without the lock, by the channel's writer."""
        ...

    def note_injected(self, frame: Frame) -> None:
        """Take note of an injected frame that is being sent."""
        ...

    def pause_if_wanted(self, frame: InterceptedFrame, *, is_exempt: bool) -> PausedFrame | None:
        """Return the pause of a frame that has become the head; None if it may be sent."""
        ...

    def time_out(self, paused: PausedFrame) -> None: ...

    def run_side_effects(self, frame: InterceptedFrame) -> None:
        """Send the response or the signal that a frame causes, when it is its turn."""
        ...

    def dropped(self, frame: InterceptedFrame, /) -> None:
        """Take note that a frame is not sent, and why."""
        ...


@dataclass(slots=True)
class _Reordered:
    frame: InterceptedFrame
    frames_left: int
    until: float


class ReorderBuffer:
    """Frames that let later ones go first, oldest first."""

    def __init__(self) -> None:
        self._waiting: list[_Reordered] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def next_until(self) -> float | None:
        """The time at which the first of them has waited long enough."""
        return min((waiting.until for waiting in self._waiting), default=None)

    def put(self, frame: InterceptedFrame, frames: int, until: float) -> None:
        """Keep a frame until `frames` others are sent, or until that time."""
        self._waiting.append(_Reordered(frame, frames, until))

    def count_sent(self) -> None:
        """Count a frame that was sent ahead of these."""
        for waiting in self._waiting:
            waiting.frames_left -= 1

    def take_due(self, now: float, *, is_flushing: bool) -> InterceptedFrame | None:
        """Remove and return the oldest frame that is due; if `is_flushing`, the oldest of all."""
        for waiting in self._waiting:
            if is_flushing or waiting.frames_left <= 0 or now >= waiting.until:
                self._waiting.remove(waiting)
                return waiting.frame
        return None

    def take_all(self) -> list[InterceptedFrame]:
        frames = [waiting.frame for waiting in self._waiting]
        self._waiting.clear()
        return frames


class Channel:
    """One direction; `side` is the sender."""

    def __init__(
        self,
        side: Side,
        policy: ChannelPolicy,
        events: EventSink,
        changed: threading.Condition,
        clock: Callable[[], float],
    ) -> None:
        self.side: Side = side
        self.framing: Framing | None = None
        """How the sender separates its frames; None while that is not known."""
        self.paused: PausedFrame | None = None
        """The head, while it waits for an observer's decision."""
        self._policy = policy
        self._events = events
        self._changed = changed
        self._clock = clock
        self._state = ChannelState.READY
        self.is_whole = False
        """Whether frames are taken whole, by `take_frame`: each has a carrier of its own."""
        # The frame being sent.
        self._sending: Iterator[bytes | float | InterceptedFrame] = iter(())
        self._resume_at = 0.0
        self._state_then = ChannelState.READY
        """The state after the frame being sent."""
        # The queue, in order of arrival.
        self._reordered = ReorderBuffer()
        self._head: InterceptedFrame | None = None
        self._head_ready_at = 0.0
        self._is_processing = False
        """Whether hooks and breakpoints are processing the frame that becomes the head."""
        self._queue: deque[Frame] = deque()
        self._queued_bytes = 0
        self._exempt = 0
        """How many of these are exempt from breakpoints."""
        self._insertions: deque[Insertion] = deque()
        self._last_seq: int | None = None
        """Number of the frame that was sent last; None if it is not known."""
        # The reader's announcements.
        self._is_frame_announced = False
        self._is_flushing = False
        """Whether the reader waits in `flush`."""
        self._has_ended = False
        # The reason for lost frames.
        self._hung_by = ""
        self._closed_by = "end"

    # For the forwarder's reader.

    @property
    def is_closed(self) -> bool:
        return self._state is ChannelState.CLOSED

    @property
    def waiting(self) -> int:
        """How many frames wait behind the head."""
        return len(self._queue)

    @property
    def first_waiting(self) -> int | None:
        """The number of the first frame behind the head; None if there is none."""
        return self._queue[0].seq if self._queue else None

    @property
    def wants_frames(self) -> bool:
        """Whether the forwarder must put frames in: the policy is active, or frames are queued."""
        return self._policy.is_active or self._is_busy()

    def start(self, *, is_writing: bool, is_at_boundary: bool) -> None:
        """Begin at the forwarder's position: `end_raw` follows if it is writing a chunk."""
        with self._changed:
            self._state = (
                ChannelState.RAW if is_writing else _after_bytes(is_at_boundary=is_at_boundary)
            )

    def pass_by(self) -> bool:
        """Let a whole frame pass beside this channel; False if frames are wanted."""
        with self._changed:
            if self.wants_frames:
                return False
            # See `begin_raw`.
            self._last_seq = None
            return True

    def begin_raw(self) -> bool:
        """Let the forwarder write a chunk past this channel; False if frames are wanted."""
        with self._changed:
            if self.wants_frames or self._state not in {ChannelState.READY, ChannelState.MID_LINE}:
                return False
            self._state = ChannelState.RAW
            # Nothing is queued behind the last sent frame, so its number is not needed.
            self._last_seq = None
            return True

    def end_raw(self, *, is_at_boundary: bool) -> None:
        """Take over after the chunk; `is_at_boundary`: whether it ended with a frame."""
        with self._changed:
            if self._state is ChannelState.RAW:
                self._state = _after_bytes(is_at_boundary=is_at_boundary)
            self._changed.notify_all()

    def flush(self) -> bool:
        """Wait until every frame is sent; `put_rest` may follow then.

        False if nothing can be sent any more; then nothing may follow.
        """
        with self._changed:
            self._is_flushing = True
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self.is_closed or self._hung_by or not self._is_busy(),
            )
            self._is_flushing = False
            # The rest of the frame has no number yet, so a frame injected after it cannot refer to
            # it.
            self._last_seq = None
            return not (self.is_closed or self._hung_by)

    def put_rest(self, rest: bytes, *, is_at_boundary: bool = True) -> None:
        """Send the rest of a frame whose beginning was written as a chunk."""
        with self._changed:
            self._changed.wait_for(lambda: self._state is not ChannelState.SENDING)
            if not self.is_closed:
                self._send(iter((rest,)), _after_bytes(is_at_boundary=is_at_boundary))
            self._changed.notify_all()

    def announce(self) -> None:
        """Announce that the next frame is about to get its number; `put` follows.

        Until then, no frame is injected whose neighbour would be unknown.
        """
        with self._changed:
            self._is_frame_announced = True

    def put(self, frame: Frame) -> None:
        """Add a frame; wait while the queue is full. Once closed, the frame is recorded as lost."""
        size = len(frame.data)
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self.is_closed
                    or not self._queued_bytes
                    or self._queued_bytes + size <= MAX_QUEUED_BYTES
                )
            )
            self._is_frame_announced = False
            if self.is_closed:
                self._lose(frame)
                return
            self._queue.append(frame)
            self._queued_bytes += size
            self._changed.notify_all()

    def end(self) -> None:
        """Mark the end of the sender's output; queued frames are still sent."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def close(self) -> None:
        """Send nothing more, because the receiver is gone; `put` and `take` return at once."""
        with self._changed:
            self._close()

    # For the forwarder's writer.

    def take(self) -> bytes | None:
        """Wait for the next bytes to write and return them; None at the end."""
        step = self._take()
        assert not isinstance(step, InterceptedFrame)
        return step

    def take_frame(self) -> InterceptedFrame | None:
        """Wait for the next frame to send and return it; None at the end.

        Its sender keeps to its pieces and pauses; the next one waits for that.
        """
        step = self._take()
        assert not isinstance(step, bytes)
        return step

    def take_nowait(self) -> bytes | InterceptedFrame | Idle | None:
        """Return the result of `take`, or what it would wait for."""
        while True:
            with self._changed:
                step = self._step()
            if not isinstance(step, Frame):
                return step
            self._process(step)

    def _take(self) -> bytes | InterceptedFrame | None:
        while True:
            with self._changed:
                while isinstance(step := self._step(), Idle):
                    self._changed.wait(step.seconds)
            if not isinstance(step, Frame):
                return step
            self._process(step)

    # For the controller, which holds the lock.

    def insert(self, insertion: Insertion) -> None:
        """Send an injected frame as soon as no frame is incomplete, before all queued frames.

        Raises:
            ChannelClosedError: it can never be sent.
        """
        state = self._state_then if self._state is ChannelState.SENDING else self._state
        is_cut_off = self._has_ended and state is ChannelState.MID_LINE
        if state is ChannelState.CLOSED or self._hung_by or is_cut_off:
            raise ChannelClosedError(f"nothing more is sent from the {self.side}")
        if len(self._insertions) >= MAX_INSERTIONS:
            raise ChannelClosedError(f"{MAX_INSERTIONS} frames already wait to be injected")
        self._insertions.append(insertion)
        self._changed.notify_all()

    def resume(self, *, delay: float = 0.0) -> None:
        """Resume the paused frame after `delay` seconds."""
        if self.paused is not None:
            if delay:
                self._head_ready_at = max(self._head_ready_at, self._clock() + delay)
            self.paused = None
            self._changed.notify_all()

    def exempt_waiting(self) -> None:
        """Exempt the queued frames from breakpoints."""
        self._exempt = len(self._queue) + self._is_processing

    # The next action. The lock is held from here on, except during hooks.

    def _process(self, frame: Frame) -> None:
        processed = self._policy.process(frame)
        with self._changed:
            self._is_processing = False
            if self.is_closed:
                self._lose(frame)
                return
            is_exempt = self._exempt > 0
            self._exempt = max(self._exempt - 1, 0)
            processed.flush_events(self._events)
            self._head = processed
            self._head_ready_at = self._clock() + processed.wait
            if not processed.is_dropped and not self._policy.is_over:
                self.paused = self._policy.pause_if_wanted(processed, is_exempt=is_exempt)
                if self.paused is not None:
                    self._changed.notify_all()

    def _is_busy(self) -> bool:
        return bool(
            self._queue
            or self._head
            or self._reordered
            or self._insertions
            or self._is_processing
            or self._hung_by
            or self._state is ChannelState.SENDING
        )

    def _step(self) -> bytes | InterceptedFrame | Frame | Idle | None:
        """Return what to send, a frame to process, what to wait for, or None at the end."""
        step: bytes | InterceptedFrame | Frame | Idle | None = None
        while step is None and not self.is_closed:
            match self._state:
                case ChannelState.READY:
                    step = self._next()
                case ChannelState.SENDING:
                    step = self._portion()
                case ChannelState.MID_LINE if self._has_ended:
                    # The last line has no ending, so nothing can follow it.
                    self._close()
                case _:
                    step = Idle(None)
        return step

    def _next(self) -> Frame | Idle | None:
        """Begin to send the next frame; return a frame to process or what to wait for, if any."""
        now = self._clock()
        if self._insertions and not self._hung_by and self._has_neighbour():
            self._send(self._injected(self._insertions.popleft()))
        elif due := self._reordered.take_due(now, is_flushing=self._is_last()):
            by = due.reordering.by if due.reordering else ""
            self._events.event("released", of=due.frame.seq, by=by, after=self._last_seq)
            self._send_frame(due)
        elif self._head is not None:
            if wait := self._wait_for_head(now):
                return wait
            self._leave(self._head)
        elif self._queue:
            return self._take_from_queue()
        elif self._has_ended:
            self._close()
        else:
            until = self._reordered.next_until
            return Idle(None if until is None else until - now)
        return None

    def _take_from_queue(self) -> Frame | None:
        frame = self._queue.popleft()
        self._queued_bytes -= len(frame.data)
        self._changed.notify_all()
        if not self._hung_by:
            self._is_processing = True
            return frame
        self._last_seq = frame.seq
        self._events.event("discarded", of=frame.seq, by=self._hung_by)
        self._policy.dropped(InterceptedFrame.of(frame))
        return None

    def _wait_for_head(self, now: float) -> Idle | None:
        """Return how long the head waits; None when it may be sent."""
        if self.paused is not None and (now >= self.paused.until or self._policy.is_over):
            self._policy.time_out(self.paused)
        until = self._head_ready_at if self.paused is None else self.paused.until
        if self._policy.is_over or now >= until:
            return None
        reordered = self._reordered.next_until
        return Idle((until if reordered is None else min(until, reordered)) - now)

    def _is_last(self) -> bool:
        """Return whether no more frames come for which a reordered one could wait."""
        # This must not depend on `is_over`: the order would depend on when that was noticed. And
        # the last line may have no ending; nothing could follow it.
        return (
            (self._has_ended or self._is_flushing)
            and not self._queue
            and not self._is_processing
            and (self._head is None or self._head.frame.is_cut)
        )

    def _leave(self, head: InterceptedFrame) -> None:
        """Send the head, add it to the reorder buffer, or drop it."""
        self._head = None
        self._last_seq = head.frame.seq
        self._hung_by = head.hung_by
        self._changed.notify_all()
        self._policy.run_side_effects(head)
        if head.is_dropped:
            self._policy.dropped(head)
            return
        if head.reordering is not None:
            until = self._clock() + head.reordering.seconds
            self._reordered.put(head, head.reordering.frames, until)
            return
        self._reordered.count_sent()
        self._send_frame(head)

    def _send_frame(self, frame: InterceptedFrame) -> None:
        if self.is_whole:
            # A cut ends what carries the frame, not this direction.
            self._send(iter((frame,)))
        elif frame.cut_by:
            self._closed_by = frame.cut_by
            self._send(frame.portions(), ChannelState.CLOSED)
        else:
            self._send(frame.portions(), _after_bytes(is_at_boundary=not frame.frame.is_cut))

    def _has_neighbour(self) -> bool:
        """Return whether the frame before or behind an injected one is known."""
        is_known = self._last_seq is not None or self._head or self._queue
        return bool(is_known or not self._is_frame_announced)

    def _injected(self, insertion: Insertion) -> Iterator[bytes | InterceptedFrame]:
        wire = wire_frame(insertion.raw, self._policy.framing(self.side))
        frame = self._events.inject(self.side, wire)
        self._policy.note_injected(frame)
        number = frame.seq
        waiting = [self._head.frame] if self._head else list(self._queue)[:1]
        before = waiting[0].seq if waiting and self._last_seq is None else None
        data = {"after": self._last_seq, "before": before, "answers": insertion.answers}
        known = {key: value for key, value in data.items() if value is not None}
        self._events.event("injected", of=number, by=insertion.by, **known)
        insertion.on_sent(number)
        if self.is_whole:
            whole = InterceptedFrame.of(frame)
            whole.answers = insertion.answers
            yield whole
        else:
            yield frame.wire

    def _send(
        self,
        portions: Iterator[bytes | float | InterceptedFrame],
        state_then: ChannelState = ChannelState.READY,
    ) -> None:
        self._sending = portions
        self._resume_at = 0.0
        self._state, self._state_then = ChannelState.SENDING, state_then

    def _portion(self) -> bytes | InterceptedFrame | Idle | None:
        """Return the next part of the frame being sent, or its pause; None at its end."""
        now, is_over = self._clock(), self._policy.is_over
        if now < self._resume_at and not is_over:
            return Idle(self._resume_at - now)
        for portion in self._sending:
            if not isinstance(portion, int | float):
                return portion
            self._resume_at = now + portion
            if not is_over:
                return Idle(portion)
        if self._state_then is ChannelState.CLOSED:
            self._close()
        else:
            self._state = self._state_then
        self._changed.notify_all()
        return None

    def _lose(self, frame: Frame) -> None:
        self._events.event("discarded", of=frame.seq, by=self._closed_by)
        self._policy.dropped(InterceptedFrame.of(frame))

    def _close(self) -> None:
        self._state = ChannelState.CLOSED
        self._has_ended = True
        for reordered in self._reordered.take_all():
            self._lose(reordered.frame)
        if self._head is not None and not self._head.is_dropped:
            self._lose(self._head.frame)
        for frame in self._queue:
            self._lose(frame)
        self._queue.clear()
        self._queued_bytes = 0
        self._insertions.clear()
        self._head = self.paused = None
        self._sending = iter(())
        self._changed.notify_all()


def _after_bytes(*, is_at_boundary: bool) -> ChannelState:
    return ChannelState.READY if is_at_boundary else ChannelState.MID_LINE
