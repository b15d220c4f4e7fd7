"""Intercepts the traffic of one proxy: breakpoints, paused and injected frames.

Locks are taken in this order, and never the other way round:

1. `proxy.control.LazyController`: one command at a time creates the controller;
2. `proxy.forwarder.InterceptingForwarder`: handing a direction over to its channel;
3. the lock of an add-on, while its hook runs;
4. the lock of this controller, which both channels share;
5. leaves, below which none is taken: those of live filters, injections, the recorder and its queue.

None of them but an add-on's is held while bytes are read or written or while hooks run, so that a
command never waits for the traffic.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from acp_inspector.intercept.batches import BatchEdit, is_batch
from acp_inspector.intercept.channel import Channel, ChannelClosedError, Insertion, PausedFrame
from acp_inspector.intercept.injection import IdSpace, Injection, Injections
from acp_inspector.intercept.live_filter import LiveFilters, Matcher
from acp_inspector.intercept.message import (
    MAX_WAIT_S,
    BatchHook,
    EventSink,
    Hook,
    InterceptedFrame,
    InterceptError,
    check_json,
)
from acp_inspector.journal import Frame
from acp_protocol.errors import AcpError
from acp_protocol.framing import Framing, Side, opposite
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

HOLD_TIMEOUT_S: Final = 60.0
"""Seconds after which a paused frame is released without a decision."""
ABSENCE_S: Final = 10.0
"""Seconds without a command after which no observer counts as present; a screen polls often."""
PERSON: Final = "person"
"""The actor of an intervention by a user, not by a rule or add-on."""
MAX_WARNINGS: Final = 1000
"""Kinds of warnings that are distinguished; further kinds are not reported."""
MAX_WARNING_CHARS: Final = 300


class WarnOnce:
    """Reports each kind of failure once, because traffic repeats itself."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._kinds: set[str] = set()
        self._lock = threading.Lock()

    def once(self, kind: str, text: str) -> None:
        """Report `text`, unless something of that kind was reported before."""
        with self._lock:
            if kind in self._kinds or len(self._kinds) >= MAX_WARNINGS:
                return
            self._kinds.add(kind)
        self.warn(text)

    def failure(self, name: str, problem: BaseException) -> None:
        """Report, once for each type of exception, that `name` has failed."""
        kind = type(problem).__name__
        try:
            reason = str(problem)
        except Exception:  # noqa: BLE001 - `__str__` of an add-on's exception
            reason = "without a message"
        # Our own errors are sentences; those of others may need their name.
        reason = reason if isinstance(problem, AcpError) else f"{kind}: {reason}"
        self.once(f"{name}/{kind}", f"{name} failed and is skipped: {reason}")

    def warn(self, text: str) -> None:
        """Report `text`; never raises, because the traffic does not depend on it."""
        try:
            self._warn(single_line(text, MAX_WARNING_CHARS))
        except Exception:  # noqa: BLE001 - there is nowhere else to report this
            return

    def reset(self) -> None:
        """Allow each kind of failure to be reported again."""
        with self._lock:
            self._kinds.clear()


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Pauses every frame that it matches."""

    id: int
    expression: str
    """As the user wrote it."""
    matches: Matcher
    is_lasting: bool
    """Whether it stays when the last observer has left."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A paused frame, as it is at this moment."""

    id: int
    seq: int
    side: Side
    raw: bytes
    breakpoint: int | None
    """Id of the breakpoint; None if everything is paused."""
    age: float
    """Seconds since it was paused."""
    left: float
    """Seconds until its release."""
    waiting: int
    """Frames that wait behind it."""
    entry: int | None
    """Its place in its array, from 0; None for a whole frame."""


class InterceptController:
    """Intercepts one agent's traffic; all methods are thread-safe."""

    def __init__(
        self,
        events: EventSink,
        *,
        hooks: Sequence[Hook] = (),
        kill: Callable[[int], None] = lambda signal: None,
        dropped: Callable[[InterceptedFrame], None] = lambda frame: None,
        warn: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        hold_timeout: float = HOLD_TIMEOUT_S,
        ids: IdSpace | None = None,
        filters: LiveFilters | None = None,
    ) -> None:
        """Start with rules and add-ons `hooks`, which see each frame in that order.

        Args:
            events: Records interventions.
            hooks: Rules and add-ons.
            kill: Sends a signal to the agent.
            dropped: Called with a frame that is not sent; must not wait.
            warn: Shows a warning to the user.
            clock: Returns seconds since an arbitrary time.
            hold_timeout: Seconds after which a paused frame is released.
            ids: Issues ids for injected requests.
            filters: The compiler of the rules' filters; it knows the requests so far.
        """
        self.filters = filters or LiveFilters()
        self._events = events
        self._hooks = tuple(hooks)
        self._kill = kill
        self.dropped = dropped
        self._warnings = WarnOnce(warn)
        self._clock = clock
        self.hold_timeout = hold_timeout
        self._injections = Injections(ids or IdSpace(), clock)
        self._changed = threading.Condition(threading.RLock())
        self._match_counts = Counter[str]()
        self._breakpoints: dict[int, Breakpoint] = {}
        self._last_id = 0
        self.is_paused = False
        """Whether every frame is paused."""
        self.is_over = False
        """Whether nothing is paused any more."""
        self.is_active = bool(hooks)
        """Whether frames are processed one by one."""
        self._active_at = clock()
        """When an observer last sent a command."""
        self._is_unattended = False
        self.channels: Mapping[Side, Channel] = {
            "client": Channel("client", self, events, self._changed, clock),
            "agent": Channel("agent", self, events, self._changed, clock),
        }
        """The directions, by their sender."""

    @property
    def match_counts(self) -> Mapping[str, int]:
        """How many frames each rule and add-on has acted on, in their order."""
        return {hook.name: self._match_counts[hook.name] for hook in self._hooks}

    def note_match(self, name: str) -> None:
        """Count that a rule has acted on something that is no frame."""
        with self._changed:
            self._match_counts[name] += 1

    # Observers.

    def heartbeat(self) -> None:
        """Record observer activity; re-enable breakpoints that were disabled for lack of it."""
        with self._changed:
            self._active_at = self._clock()
            self._is_unattended = False

    def extend_timeouts(self, seconds: float | None = None) -> None:
        """Restart all countdowns; with `seconds`, each lasts so long from now on.

        Raises:
            InterceptError: `seconds` is out of range.
        """
        if seconds is not None and not 0 < seconds <= MAX_WAIT_S:
            raise InterceptError(f"a hold lasts up to {MAX_WAIT_S:.0f} seconds, not {seconds}")
        with self._changed:
            self.heartbeat()
            self.hold_timeout = seconds or self.hold_timeout
            until = self._clock() + self.hold_timeout
            for channel in self.channels.values():
                if channel.paused is not None:
                    channel.paused.until = until
            self._changed.notify_all()

    def observers_left(self) -> None:
        """Release everything, and remove the breakpoints that are not lasting."""
        with self._changed:
            points = self._breakpoints.values()
            self._breakpoints = {point.id: point for point in points if point.is_lasting}
            self.release_all("no observer is attached")

    def finish(self) -> None:
        """Send everything immediately and pause nothing from now on: the proxy is ending."""
        with self._changed:
            self.is_over = True
            self._changed.notify_all()

    # Breakpoints.

    @property
    def breakpoints(self) -> Sequence[Breakpoint]:
        """The active breakpoints, oldest first."""
        with self._changed:
            return tuple(self._breakpoints.values())

    def set_breakpoint(
        self, expression: str, matches: Matcher | None = None, *, is_lasting: bool = False
    ) -> Breakpoint:
        """Pause frames that match `expression`, from the next one on; if given, `matches` decides.

        Raises:
            FilterError: the expression is wrong or empty.
        """
        if matches is None and not expression.strip():
            from acp_inspector.filter.errors import FilterError

            text, hint = "an empty breakpoint would hold everything", "pause for that"
            raise FilterError(expression, 0, text, hint)
        matches = matches or self.filters.compile(expression, self._under_way)
        with self._changed:
            self._last_id += 1
            point = Breakpoint(self._last_id, expression, matches, is_lasting)
            self._breakpoints[point.id] = point
            self._update_is_active()
            return point

    def clear_breakpoint(self, number: int) -> None:
        """Remove a breakpoint; a frame that it paused stays paused.

        Raises:
            InterceptError: there is no breakpoint with this id.
        """
        with self._changed:
            if self._breakpoints.pop(number, None) is None:
                raise InterceptError(f"there is no breakpoint {number}")
            self._update_is_active()

    def pause(self) -> None:
        """Pause every frame in both directions, until `resume` or until a frame times out."""
        with self._changed:
            self.is_paused = True
            self._update_is_active()

    def resume(self) -> None:
        """Release the frames that no breakpoint holds."""
        with self._changed:
            self.is_paused = False
            for channel in self.channels.values():
                if channel.paused is not None and channel.paused.breakpoint is None:
                    self._release(channel, channel.paused, PERSON)
            self._update_is_active()

    # Paused frames. Every decision raises `InterceptError` if no frame with this id is paused.

    def holds(self) -> Sequence[Hold]:
        """Return the paused frames, oldest first."""
        with self._changed:
            now = self._clock()
            holds = [
                Hold(
                    paused.id,
                    paused.frame.frame.seq,
                    channel.side,
                    paused.frame.raw,
                    paused.breakpoint,
                    now - paused.since,
                    max(paused.until - now, 0.0),
                    channel.waiting,
                    paused.entry,
                )
                for channel in self.channels.values()
                if (paused := channel.paused) is not None
            ]
        return sorted(holds, key=lambda hold: hold.id)

    def wait_for_hold(self, seconds: float, after: int = 0) -> bool:
        """Wait until a frame newer than `after` is paused; return False on timeout."""

        def is_there() -> bool:
            paused = [channel.paused for channel in self.channels.values()]
            return any(each is not None and each.id > after for each in paused)

        with self._changed:
            return self._changed.wait_for(is_there, seconds)

    def read(self, number: int) -> bytes:
        with self._changed:
            return self._paused(number)[1].frame.raw

    def release(self, number: int, by: str = PERSON) -> None:
        with self._changed:
            self._release(*self._paused(number), by)

    def edit(self, number: int, raw: bytes, by: str = PERSON, *, is_forced: bool = False) -> None:
        """Send `raw` in place of a paused frame; it has to be JSON unless it `is_forced`.

        Raises:
            InterceptError: it is not JSON, or contains a line ending.
        """
        if not is_forced:
            check_json(raw)
        with self._changed:
            channel, paused = self._paused(number)
            paused.frame.edit(raw, by)
            self._release(channel, paused, by)

    def duplicate(self, number: int, times: int = 2, by: str = PERSON) -> None:
        """Send a paused frame `times` times.

        Raises:
            InterceptError: the number is out of range.
        """
        with self._changed:
            channel, paused = self._paused(number)
            paused.frame.duplicate(times, by)
            self._release(channel, paused, by)

    def discard(self, number: int, by: str = PERSON, *, is_silent: bool = False) -> None:
        """Drop a paused frame; a request gets an error response unless it `is_silent`."""
        with self._changed:
            channel, paused = self._paused(number)
            (paused.frame.drop if is_silent else paused.frame.discard)(by)
            self._go_on(channel, paused, by)

    def delay(self, number: int, seconds: float, by: str = PERSON) -> None:
        """Send a paused frame after `seconds` more.

        Raises:
            InterceptError: the time is out of range.
        """
        with self._changed:
            channel, paused = self._paused(number)
            paused.frame.delay(seconds, by)
            self._go_on(channel, paused, by, seconds)

    def answer(
        self, number: int, by: str = PERSON, *, result: Json = None, error: Json = None
    ) -> None:
        """Respond to a paused request in the other peer's place, and drop it.

        Raises:
            InterceptError: it is not a request, or the error has no code and message.
        """
        with self._changed:
            channel, paused = self._paused(number)
            paused.frame.answer(by, result=result, error=error)
            self._go_on(channel, paused, by)

    def release_all(self, by: str = PERSON) -> None:
        """Release paused frames and the frames queued behind them; breakpoints stay."""
        with self._changed:
            self.is_paused = False
            for channel in self.channels.values():
                channel.exempt_waiting()
                if channel.paused is not None:
                    channel.paused.whole.entry_breakpoints.clear()
                    self._release(channel, channel.paused, by)
            self._update_is_active()

    # Injected frames.

    def inject(
        self,
        side: Side,
        raw: bytes,
        by: str = PERSON,
        *,
        is_forced: bool = False,
        keeps_id: bool = False,
    ) -> Injection:
        """Send a frame as if `side` had sent it, ahead of all queued frames, never inside a line.

        A request gets an id of its own, and its response goes to the injection and not to the
        other peer. One that `keeps_id` is like any other of `side`. Several lines are several
        frames and have to be forced; the first that expects a response is returned.

        Raises:
            InterceptError: there is a line ending inside, and it is not forced.
            ChannelClosedError: nothing is sent there any more.
        """
        injections = self._injections.make(side, raw, by, keeps_id=keeps_id, is_forced=is_forced)
        with self._changed:
            for each in injections:
                self.channels[side].insert(Insertion(each.raw, by, on_sent=each.set_sent))
                self._injections.expect(each)
            self._update_is_active()
        return next((each for each in injections if each.expects_response), injections[0])

    # For the channels, see `ChannelPolicy`.

    def framing(self, side: Side) -> Framing:
        """Return how a side separates its frames; before it has sent any, how its peer does."""
        channels = self.channels
        return channels[side].framing or channels[opposite(side)].framing or "lines"

    def process(self, frame: Frame) -> InterceptedFrame:
        """Run rules, add-ons and breakpoints on a frame, in this order and without any lock.

        A hook that fails is reported once, and the frame passes as if the hook were not there.
        """
        processed = InterceptedFrame.of(frame)
        is_ours = False
        try:
            is_ours = self._injections.take_response(processed)
            self.filters.add(frame)
        except Exception as problem:  # noqa: BLE001 - knowing less must not cost the traffic
            self._warnings.failure("processing a frame", problem)
        for hook in () if is_ours else self._hooks:
            if not processed.is_dropped:
                processed = self._run(hook, processed)
        if not processed.is_dropped:
            self._match_breakpoints(processed)
        with self._changed:
            # The awaited response may have arrived, or be too late.
            self._update_is_active()
        return processed

    def note_injected(self, frame: Frame) -> None:
        """Let the filters know an injected frame, which they are not asked about."""
        try:
            self.filters.add(frame)
        except Exception as problem:  # noqa: BLE001 - knowing less must not cost the traffic
            self._warnings.failure("reading an injected frame", problem)

    def pause_if_wanted(self, frame: InterceptedFrame, *, is_exempt: bool) -> PausedFrame | None:
        """Pause a frame if everything is paused or a breakpoint matches it."""
        if is_exempt or self._is_unattended:
            return None
        return self._next_pause(frame, BatchEdit(frame) if frame.entry_breakpoints else None)

    def time_out(self, paused: PausedFrame) -> None:
        """Release everything, because no observer decided about `paused` in time.

        If no observer was active recently, nothing is paused until one is: a forgotten breakpoint
        delays the traffic only once.
        """
        if self.is_over:
            self._release(self.channels[paused.frame.frame.side], paused, "end")
            return
        if self._clock() - self._active_at >= min(ABSENCE_S, self.hold_timeout / 2):
            self._is_unattended = True
            self._warnings.warn(
                "no observer has decided about the held frames: all were released, and nothing "
                "is held until somebody attaches"
            )
        self.release_all("time limit")

    def run_side_effects(self, frame: InterceptedFrame) -> None:
        """Send the response in a peer's place, or the signal to the agent, if there is one."""
        replies = frame.replies
        if replies and is_batch(frame.frame.data):
            # Requests of an array are answered by an array.
            replies = [(b"[%b]" % b",".join(raw for raw, _ in replies), replies[0][1])]
        for raw, by in replies:
            try:
                self.channels[opposite(frame.frame.side)].insert(
                    Insertion(raw, by, answers=frame.frame.seq)
                )
            except ChannelClosedError as problem:
                self._warnings.once("answer", f"a response could not be sent: {problem}")
        if frame.signal:
            try:
                self._kill(frame.signal)
            except OSError as problem:
                self._warnings.once("crash", f"the agent could not be killed: {problem}")

    def _run(self, hook: Hook, frame: InterceptedFrame) -> InterceptedFrame:
        """Run a hook on a frame; of an array, on each message."""
        if not is_batch(frame.raw) or self._fits_all(hook, frame):
            return self._run_once(hook, frame)
        batch = BatchEdit(frame.copy())
        for index, entry in batch.entries():
            if not batch.frame.is_dropped:
                batch.put(index, self._run_once(hook, entry))
        batch.commit(hook.name)
        return batch.frame

    def _fits_all(self, hook: Hook, frame: InterceptedFrame) -> bool:
        try:
            return isinstance(hook, BatchHook) and hook.fits_all(frame)
        except Exception as problem:  # noqa: BLE001 - a filter must not end the traffic
            self._warnings.failure(hook.name, problem)
            return False

    def _run_once(self, hook: Hook, frame: InterceptedFrame) -> InterceptedFrame:
        try:
            processed = hook.process(frame, self.inject)
        except BaseException as problem:  # noqa: BLE001 - even its exit must not end the traffic
            self._warnings.failure(hook.name, problem)
            return frame
        if len(processed.events) > len(frame.events):
            self.note_match(hook.name)
        return processed

    def _match_breakpoints(self, frame: InterceptedFrame) -> None:
        """Note the breakpoint that matches a frame; of an array, those of single messages."""
        if not self.breakpoints:
            return
        whole, found = self._matching_breakpoint(frame), frame.entry_breakpoints
        count = 0
        for index, entry in BatchEdit(frame).entries() if is_batch(frame.raw) else ():
            count += 1
            if (point := self._matching_breakpoint(entry)) is not None:
                found[index] = point
        if whole is not None and len(found) in {0, count}:
            # All of it is held at once.
            frame.breakpoint = whole
            found.clear()

    def _matching_breakpoint(self, frame: InterceptedFrame) -> int | None:
        for point in self.breakpoints:
            try:
                if point.matches(frame.current):
                    return point.id
            except Exception as problem:  # noqa: BLE001 - a filter must not end the traffic
                self._warnings.failure(f"breakpoint {point.id}", problem)
        return None

    def _under_way(self) -> Mapping[Side, int]:
        """Return, for each side, the number of the first frame that was not processed yet."""
        with self._changed:
            return {
                side: number
                for side, channel in self.channels.items()
                if (number := channel.first_waiting) is not None
            }

    # The lock is held.

    def _paused(self, number: int) -> tuple[Channel, PausedFrame]:
        for channel in self.channels.values():
            if channel.paused is not None and channel.paused.id == number:
                return channel, channel.paused
        raise InterceptError(f"no frame is held under the id {number} any more")

    def _next_pause(self, frame: InterceptedFrame, batch: BatchEdit | None) -> PausedFrame | None:
        """Pause the next message of an array that a breakpoint matches, or else a whole frame."""
        if self.is_over or self._is_unattended:
            return None
        while batch is not None and (waiting := frame.entry_breakpoints):
            index = next(iter(waiting))
            if (point := waiting.pop(index)) in self._breakpoints:
                return self._pause(batch.entry(index), point, batch, index)
        point = frame.breakpoint if frame.breakpoint in self._breakpoints else None
        return None if point is None and not self.is_paused else self._pause(frame, point)

    def _pause(
        self,
        frame: InterceptedFrame,
        point: int | None,
        batch: BatchEdit | None = None,
        entry: int | None = None,
    ) -> PausedFrame:
        self._last_id += 1
        now = self._clock()
        why: dict[str, Json] = {} if entry is None else {"entry": entry}
        if point is not None:
            why["filter"] = self._breakpoints[point].expression
        self._events.event("held", of=frame.frame.seq, by=PERSON, **why)
        until = now + self.hold_timeout
        return PausedFrame(self._last_id, frame, point, now, until, batch, entry)

    def _release(self, channel: Channel, paused: PausedFrame, by: str) -> None:
        paused.frame.add_event("released", by)
        self._go_on(channel, paused, by)

    def _go_on(self, channel: Channel, paused: PausedFrame, by: str, delay: float = 0.0) -> None:
        """Carry out a decision; the next message of an array may be paused then."""
        whole, batch = paused.whole, paused.batch
        if batch is not None and paused.entry is not None:
            batch.put(paused.entry, paused.frame)
            batch.commit(by)
            if paused.frame.is_dropped and not whole.is_dropped:
                # The rest of the array is not held for this message any more.
                whole.add_event("released", by)
        whole.flush_events(self._events)
        channel.resume(delay=delay)
        if batch is not None and not whole.is_dropped:
            channel.paused = self._next_pause(whole, batch)

    def _update_is_active(self) -> None:
        self.is_active = bool(
            self._hooks
            or self._breakpoints
            or self.is_paused
            or self._injections.are_expected
            or self.filters.needs_every_frame
        )
