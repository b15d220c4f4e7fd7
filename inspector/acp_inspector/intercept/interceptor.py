"""Interfering with the traffic of one proxy: breakpoints and holds, frames of our own, the pause.

One lock for both directions; rules, add-ons and filters run outside it, see `judging`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from acp_inspector.intercept.complaints import Complaints
from acp_inspector.intercept.desk import Held, Insertion, LaneClosedError
from acp_inspector.intercept.holds import Breakpoint, Hold
from acp_inspector.intercept.ids import IdSpace
from acp_inspector.intercept.injection import Injection, Injections
from acp_inspector.intercept.judging import Judge
from acp_inspector.intercept.lane import Lane
from acp_inspector.intercept.matching import Matcher, Matching
from acp_inspector.intercept.passage import (
    WAIT_LIMIT,
    DeedError,
    Interferer,
    Passage,
    Scribe,
    refuse_no_json,
)
from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

HOLD_LIMIT: Final = 60.0
"""Seconds after which a held frame leaves if nobody decides."""
ABSENCE: Final = 10.0
"""Seconds without a question after which nobody is there; a screen asks several times a second."""
PERSON: Final = "person"
"""Who did it, where it was neither a rule nor an add-on."""
OTHER: Final[Mapping[Side, Side]] = {"client": "agent", "agent": "client"}


class Interceptor:
    """Everything that interferes with one agent's traffic; all methods may be called by anybody."""

    def __init__(
        self,
        scribe: Scribe,
        *,
        interferers: Sequence[Interferer] = (),
        kill: Callable[[int], None] = lambda signal: None,
        warn: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        hold_limit: float = HOLD_LIMIT,
        ids: IdSpace | None = None,
        matching: Matching | None = None,
    ) -> None:
        """Begin with the rules and add-ons `interferers`, which see each frame in that order."""
        self._scribe = scribe
        self._interferers = tuple(interferers)
        self._kill = kill
        self.matching = matching or Matching()
        """By which the rules were loaded, because it knows what was asked."""
        self._complaints = Complaints(warn)
        self._clock = clock
        self._hold_limit = hold_limit
        self._injections = Injections(ids or IdSpace(), clock)
        self._judge = Judge(interferers, self.matching, self._injections, self._complaints)
        self._changed = threading.Condition(threading.RLock())
        self._breakpoints: dict[int, Breakpoint] = {}
        self._last_id = 0
        self._is_paused = False
        self._is_over = False
        self._is_active = bool(interferers)
        self._attended_at = clock()
        self._is_unattended = False
        self.lanes: Mapping[Side, Lane] = {
            "client": Lane("client", self, scribe, self._changed, clock),
            "agent": Lane("agent", self, scribe, self._changed, clock),
        }
        """The directions, by who sends."""

    @property
    def is_active(self) -> bool:
        """Whether frames have to be looked at; cheap enough to ask for every chunk."""
        return self._is_active

    @property
    def is_over(self) -> bool:
        """Whether nothing waits any more."""
        return self._is_over

    @property
    def is_paused(self) -> bool:
        """Whether everything is held."""
        return self._is_paused

    @property
    def hold_limit(self) -> float:
        """Seconds after which a held frame leaves if nobody decides."""
        return self._hold_limit

    @property
    def struck(self) -> Mapping[str, int]:
        """How many frames each rule and add-on has done something to, in their order."""
        return {each.name: self._judge.struck[each.name] for each in self._interferers}

    # Who is there.

    def attend(self) -> None:
        """Hear that somebody is there: breakpoints hold again, if they had stopped to."""
        with self._changed:
            self._attended_at = self._clock()
            self._is_unattended = False

    def keep(self, seconds: float | None = None) -> None:
        """Let all countdowns begin anew; with `seconds`, each from now on is so long.

        Raises:
            DeedError: nobody would wait so long, or not at all.
        """
        if seconds is not None and not 0 < seconds <= WAIT_LIMIT:
            raise DeedError(f"a hold lasts up to {WAIT_LIMIT:.0f} seconds, not {seconds}")
        with self._changed:
            self.attend()
            self._hold_limit = seconds or self._hold_limit
            until = self._clock() + self._hold_limit
            for lane in self.lanes.values():
                if lane.held is not None:
                    lane.held.until = until
            self._changed.notify_all()

    # Breakpoints and the pause.

    @property
    def breakpoints(self) -> Sequence[Breakpoint]:
        """Those that are set, oldest first."""
        with self._changed:
            return tuple(self._breakpoints.values())

    def set_breakpoint(
        self, expression: str, matches: Matcher | None = None, *, is_lasting: bool = False
    ) -> Breakpoint:
        """Hold what `expression` means, from the next frame on; or what `matches`, if given.

        Raises:
            FilterError: the expression cannot be understood, or is empty.
        """
        if matches is None and not expression.strip():
            from acp_inspector.filter.errors import FilterError

            sentence, hint = "an empty breakpoint would hold everything", "pause for that"
            raise FilterError(expression, 0, sentence, hint)
        matches = matches or self.matching.matcher(expression)
        with self._changed:
            self._last_id += 1
            point = Breakpoint(self._last_id, expression, matches, is_lasting)
            self._breakpoints[point.id] = point
            self._refresh()
            return point

    def clear_breakpoint(self, number: int) -> None:
        """Take a breakpoint away; what it holds stays held.

        Raises:
            DeedError: there is none of that id.
        """
        with self._changed:
            if self._breakpoints.pop(number, None) is None:
                raise DeedError(f"there is no breakpoint {number}")
            self._refresh()

    def pause(self) -> None:
        """Hold whatever comes, both ways, until `resume` or until a hold is too old."""
        with self._changed:
            self._is_paused = True
            self._refresh()

    def resume(self) -> None:
        """Release what only the pause holds."""
        with self._changed:
            self._is_paused = False
            for lane in self.lanes.values():
                if lane.held is not None and lane.held.breakpoint is None:
                    self._let_go(lane, PERSON)
            self._refresh()

    # Holds.

    def holds(self) -> Sequence[Hold]:
        """Return what is held, oldest first."""
        with self._changed:
            now = self._clock()
            holds = [
                Hold(
                    held.id,
                    held.passage.frame.n,
                    lane.side,
                    held.passage.raw,
                    held.breakpoint,
                    now - held.since,
                    max(held.until - now, 0.0),
                    lane.waiting,
                )
                for lane in self.lanes.values()
                if (held := lane.held) is not None
            ]
        return sorted(holds, key=lambda hold: hold.id)

    def wait_for_hold(self, seconds: float, after: int = 0) -> bool:
        """Wait at most `seconds` until something newer than hold `after` is held; tell if it is."""

        def is_there() -> bool:
            lanes = self.lanes.values()
            return any(lane.held is not None and lane.held.id > after for lane in lanes)

        with self._changed:
            return self._changed.wait_for(is_there, seconds)

    def read(self, number: int) -> bytes:
        """Return all of a held frame."""
        with self._changed:
            return self._passage(self._lane_of(number)).raw

    def release(self, number: int, by: str = PERSON) -> None:
        """Let a held frame leave as it is. All that decide raise `DeedError` if it is not held."""
        with self._changed:
            self._let_go(self._lane_of(number), by)

    def edit(self, number: int, raw: bytes, by: str = PERSON, *, is_forced: bool = False) -> None:
        """Let a held frame leave as `raw`, which has to be JSON unless it `is_forced`.

        Raises:
            DeedError: it is no JSON, there is a line ending inside, or nothing is held.
        """
        if not is_forced:
            refuse_no_json(raw)
        with self._changed:
            lane = self._lane_of(number)
            self._passage(lane).edit(raw, by)
            self._let_go(lane, by)

    def discard(self, number: int, by: str = PERSON, *, is_silent: bool = False) -> None:
        """Let a held frame never leave; who asked with it is told so, unless it `is_silent`."""
        with self._changed:
            lane = self._lane_of(number)
            passage = self._passage(lane)
            if is_silent:
                passage.drop(by)
            else:
                passage.discard(by)
            passage.write_tale(self._scribe)
            lane.decide()

    def duplicate(self, number: int, times: int = 2, by: str = PERSON) -> None:
        """Let a held frame leave `times` times.

        Raises:
            DeedError: the number makes no sense, or nothing is held.
        """
        with self._changed:
            lane = self._lane_of(number)
            self._passage(lane).duplicate(times, by)
            self._let_go(lane, by)

    def delay(self, number: int, seconds: float, by: str = PERSON) -> None:
        """Let a held frame leave after `seconds` more.

        Raises:
            DeedError: the time is negative or beyond all patience, or nothing is held.
        """
        with self._changed:
            lane = self._lane_of(number)
            passage = self._passage(lane)
            passage.delay(seconds, by)
            passage.write_tale(self._scribe)
            lane.decide(wait=seconds)

    def answer(
        self, number: int, by: str = PERSON, *, result: Json = None, error: Json = None
    ) -> None:
        """Answer a held request in the other peer's place; it never gets there.

        Raises:
            DeedError: it is no request, the error is none, or nothing is held.
        """
        with self._changed:
            lane = self._lane_of(number)
            passage = self._passage(lane)
            passage.answer(by, result=result, error=error)
            passage.write_tale(self._scribe)
            lane.decide()

    def release_all(self, by: str = PERSON) -> None:
        """Release everything held and let what waits behind it pass; breakpoints stay."""
        with self._changed:
            self._is_paused = False
            for lane in self.lanes.values():
                lane.exempt_waiting()
                if lane.held is not None:
                    self._let_go(lane, by)
            self._refresh()

    def observers_left(self) -> None:
        """Release everything, and forget the breakpoints that nobody is there for any more."""
        with self._changed:
            points = self._breakpoints.values()
            self._breakpoints = {point.id: point for point in points if point.is_lasting}
            self.release_all("nobody is attached")

    def finish(self) -> None:
        """Let everything leave at once and nothing wait from now on: the proxy is about to end."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Look at the clock again."""
        with self._changed:
            self._changed.notify_all()

    # Frames of our own.

    def inject(
        self,
        side: Side,
        raw: bytes,
        by: str = PERSON,
        *,
        is_forced: bool = False,
        keeps_id: bool = False,
    ) -> Injection:
        """Send a frame as if `side` had sent it, ahead of all that waits, never inside another.

        A request gets an id from our own space, and its answer goes to the injection and not to the
        other peer. One that `keeps_id` is like any other of `side`. What has line endings inside is
        several frames, and has to be forced; what is returned is the first that asks something.

        Raises:
            DeedError: there is a line ending inside, and it is not forced.
            LaneClosedError: nothing goes out there any more.
        """
        made = self._injections.make(side, raw, by, keeps_id=keeps_id, is_forced=is_forced)
        with self._changed:
            for injection in made:
                self.lanes[side].insert(Insertion(injection.raw, by, left=injection.take_number))
                self._injections.expect(injection)
            self._refresh()
        return next((injection for injection in made if injection.is_question), made[0])

    # What the lanes ask for.

    def judge(self, frame: Frame) -> Passage:
        """Return what the rules and add-ons want, and which breakpoint matches."""
        passage = self._judge.judge(frame, lambda: self.breakpoints, self.inject)
        with self._changed:
            # The answer that was waited for may have come, or be too late.
            self._refresh()
        return passage

    def admit(self, passage: Passage, *, is_exempt: bool) -> Held | None:
        """Hold a frame if everything is paused or a breakpoint wants it."""
        if is_exempt or self._is_unattended:
            return None
        point = passage.breakpoint if passage.breakpoint in self._breakpoints else None
        if point is None and not self._is_paused:
            return None
        self._last_id += 1
        now = self._clock()
        why = {} if point is None else {"filter": self._breakpoints[point].expression}
        self._scribe.event("held", of=passage.frame.n, by=PERSON, **why)
        return Held(self._last_id, passage, point, now, now + self._hold_limit)

    def time_out(self, held: Held) -> None:
        """Release everything, because nobody decided about `held`.

        Where nobody has asked for anything for a while, nobody is there: then nothing is held any
        more until somebody is, so that breakpoints make the traffic wait once and not always.
        """
        if self._is_over:
            self._let_go(self.lanes[held.passage.frame.side], "end")
            return
        if self._clock() - self._attended_at >= min(ABSENCE, self._hold_limit / 2):
            self._is_unattended = True
            self._complaints.tell(
                "nobody has decided about what is held: all of it was released, and nothing is "
                "held until somebody attaches"
            )
        self.release_all("time limit")

    def settle(self, passage: Passage) -> None:
        """Send the answer that stands in for a peer's, or kill the agent, if that was wanted."""
        frame = passage.frame
        if passage.reply is not None:
            raw, by = passage.reply
            try:
                self.lanes[OTHER[frame.side]].insert(Insertion(raw, by, answers=frame.n))
            except LaneClosedError as problem:
                self._complaints.once("answer", f"an answer could not be sent: {problem}")
        if passage.signal:
            try:
                self._kill(passage.signal)
            except OSError as problem:
                self._complaints.once("crash", f"the agent could not be killed: {problem}")

    # The lock is held.

    def _lane_of(self, number: int) -> Lane:
        for lane in self.lanes.values():
            if lane.held is not None and lane.held.id == number:
                return lane
        raise DeedError(f"nothing is held by the number {number} any more")

    def _let_go(self, lane: Lane, by: str) -> None:
        passage = self._passage(lane)
        passage.tell("released", by)
        passage.write_tale(self._scribe)
        lane.decide()

    def _passage(self, lane: Lane) -> Passage:
        assert lane.held is not None
        return lane.held.passage

    def _refresh(self) -> None:
        self._is_active = bool(
            self._interferers
            or self._breakpoints
            or self._is_paused
            or self._injections.are_awaited
        )
