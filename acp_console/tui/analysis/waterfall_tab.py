"""The time of requests, tool calls and turns as bars below an axis, nested by session and turn."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import ClassVar, Final

from rich.cells import cell_len, set_cell_size
from textual.binding import BindingType

from acp_console.traffic.analysis import BackgroundFold
from acp_console.tui.analysis.tab import AnalysisTab, Line, TimePoint
from acp_console.tui.commands import bindings
from acp_console.wording.methods import request_name
from acp_console.wording.values import arrow, format_number, format_seconds, plural
from acp_inspector.session.conversation import Conversation
from acp_inspector.session.exchanges import Ending, Exchange
from acp_inspector.session.turn import SessionTurn
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.turn_times import Step
from acp_protocol.host.sanitize import single_line
from acp_protocol.schema.vocabulary import USER_METHODS

MAX_EXCHANGES: Final = 2000
"""Exchanges that are shown at once, around the chosen frame."""
NAMES: Final = (24, 40)
"""Columns of the names, at least and at most."""
TIMES: Final = 9
"""Columns of the durations."""
MIN_TICK: Final = 8
"""Columns between two ticks of the axis, at least."""
HATCH: Final = "?╌╌"
"""What a stretch looks like in which a person was waited for."""
MOMENT: Final = "│"
"""What took less than half a column."""
ENDS: Final = {"error": "✗", "cancelled": "◌", "open": "▶"}
"""The end of a bar, by the ending of what it shows, if that was not a result."""
LEGEND: Final = (
    "━ answered",
    "? person",
    "✗ error",
    "▶ open",
    "│ short",
    "◌ cancelled",
    "┄ no output yet",
)
"""The signs, the ones that are seen most first."""
STYLES: Final = {"result": "", "error": "error", "cancelled": "muted", "open": "warning"}
_LONG_STEPS: Final = (60, 120, 300, 600, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000)
"""Seconds between two ticks, if they are at least a minute."""
CALL: Final = "▪"
"""Before the name of a tool call."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One session, turn, exchange or tool call."""

    name: str
    """Safe to show."""
    began: float
    """Seconds since the journal began."""
    ended: float
    ending: str
    n: int
    """The frame that began it."""
    depth: int
    first: float | None = None
    """The time of a turn's first output."""
    style: str = ""
    last: int | None = None
    """The frame that ended it."""
    waits: tuple[tuple[float, float], ...] = ()
    """When a person was waited for, from and until."""
    turn: int | None = None
    """Its number, if it is a turn."""

    def holds(self, n: int) -> bool:
        """Whether it is about frame `n`."""
        return n in {self.n, self.last}


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Bars in order."""

    bars: tuple[Bar, ...]
    exchanges: int
    """Number of exchanges."""
    shown: int
    """Number of exchanges with bars."""
    middle: int | None = None
    """The entry around which they were chosen; None: the last one."""


def bar_lines(bars: Sequence[Bar], began: float, ended: float, width: int) -> list[Line]:
    """Return bars for a width, over a stretch of time."""
    names, room = _columns(width)
    lines: list[Line] = []
    for bar in bars:
        name_width = names - 2 * bar.depth
        name = set_cell_size(single_line(bar.name, name_width), name_width)
        took = "open" if bar.ending == "open" else format_seconds(bar.ended - bar.began)
        parts = (
            ("strong" if bar.depth == 0 else bar.style, f"{'  ' * bar.depth}{name} "),
            ("muted", f"{single_line(took, TIMES):>{TIMES}} "),
            *_draw(bar, room, began, max(ended - began, 1e-6)),
        )
        lines.append(Line(parts, bar.n, _key(bar)))
    return lines


def axis_text(began: float, ended: float, width: int, *, origin: float | None = None) -> str:
    """Return the axis above bars of that width, with a tick at each round number of seconds.

    `origin`: the time that counts as 0 there; None: the beginning of the journal.
    """
    names, room = _columns(width)
    length, start = max(ended - began, 1e-6), 0.0 if origin is None else origin
    step = _round_up(length * MIN_TICK / room)
    axis = ""
    # A tick that is less than half a column away stands at the edge.
    tick = math.ceil(((began - start) - length / room / 2) / step)
    while (column := round((tick * step + start - began) / length * room)) < room:
        label = f"{MOMENT}{'' if origin is None else '+'}{_tick_text(tick * step, step)}"
        if (not axis or column > len(axis)) and column + len(label) <= room:
            axis = axis.ljust(column) + label
        tick += 1
    return " " * (names + TIMES + 2) + axis


def _legend(width: int) -> str:
    """Return as much of the legend as fits into a line."""
    shown = accumulate(LEGEND, lambda text, sign: f"{text}  {sign}")
    return next((text for text in reversed([*shown]) if cell_len(text) <= width), "")


def _round_up(seconds: float) -> float:
    """Return the next round length: 1, 2 or 5 of a power of ten, from a minute on of minutes."""
    if seconds > 50:
        return next((step for step in _LONG_STEPS if seconds <= step), _LONG_STEPS[-1])
    power = 10.0 ** math.floor(math.log10(seconds))
    return next(step * power for step in (1, 2, 5, 10) if seconds <= step * power * 1.000001)


def _tick_text(seconds: float, step: float) -> str:
    if step < 60:
        scale, unit = (1000, "ms") if step < 0.01 else (1, "s")
        digits = max(-math.floor(math.log10(step * scale) + 1e-9), 0)
        return f"{seconds * scale:.{digits}f} {unit}"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours}:{minutes:02} h" if hours else f"{minutes} min"


def _columns(width: int) -> tuple[int, int]:
    """Return the columns of the names, and those of the bars."""
    names = max(NAMES[0], min(NAMES[1], width * 2 // 5))
    return names, max(width - names - TIMES - 3, 8)


def _draw(bar: Bar, room: int, start: float, length: float) -> Iterator[tuple[str, str]]:
    """Yield the parts of a bar; each column has two places."""

    def place(at: float) -> int:
        return math.floor(min(max((at - start) / length, -1.0), 2.0) * 2 * room)

    begin, end = place(bar.began), place(bar.ended)
    if bar.ended < start or bar.began > start + length:
        # The bar is outside the visible range.
        yield "muted", "‹" if bar.ended < start else " " * (room - 1) + "›"
        return
    sign = ENDS.get(bar.ending, "") if bar.depth else ""
    last = room - 1 - bool(sign)
    begin, end = min(max(begin, 0), 2 * last), min(end, 2 * (last + 1))
    columns = range(begin // 2, max((end + 1) // 2, begin // 2 + 1))
    shown = [(bar.style, _column(column, begin, end, bar, place)) for column in columns]
    if bar.ended - bar.began < length / room / 2:
        is_wait = bar.turn is None and bool(bar.waits)
        columns, shown = columns[:1], [(bar.style, HATCH[0] if is_wait else MOMENT)]
    for stretch in bar.waits:
        begin, end = map(place, stretch)
        if end > begin:
            _hatch(shown, columns, begin, end, style="warning" * (bar.ending == "open"))
    yield "", " " * columns.start
    for style, group in groupby(shown, key=lambda each: each[0]):
        yield style, "".join(text for _, text in group)
    if sign:
        yield bar.style, sign


def _column(column: int, begin: int, end: int, bar: Bar, place: Callable[[float], int]) -> str:
    """Return what stands in a column of a bar from the place `begin` to `end`."""
    if bar.depth == 0:
        return "─"
    if bar.first is not None and 2 * column + 1 < place(bar.first):
        return "┄"
    has_left, has_right = (begin <= each < end for each in (2 * column, 2 * column + 1))
    return "━" if has_left and has_right else "╸" if has_left else "╺"


def _hatch(
    shown: list[tuple[str, str]], columns: range, begin: int, end: int, *, style: str
) -> None:
    """Mark the columns between two places as those in which a person was waited for."""
    first = max(begin // 2, columns.start)
    for column in range(first, min((end + 1) // 2, columns.stop)):
        sign = HATCH[(column - first) % len(HATCH)]
        shown[column - columns.start] = style or "muted", sign


class WaterfallTab(AnalysisTab[SessionModel, Waterfall]):
    """Shows bars; one can be zoomed to. It opens at the turn of the chosen entry."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("waterfall")
    _zoom: Bar | None = None
    _middle: int | None = None
    _aim: int | None = None
    """The entry whose turn is to be shown."""

    def __init__(
        self,
        folding: BackgroundFold[SessionModel],
        turn_of: Callable[[int], int | None] = lambda n: None,
    ) -> None:
        """Show bars of `folding`; `turn_of` returns the turn that an entry belongs to."""
        super().__init__(folding)
        self._turn_of = turn_of

    def look(self, moment: TimePoint) -> float | None:
        self._centre_on(moment.n)
        return super().look(moment)

    def _centre_on(self, n: int | None) -> None:
        near = self._middle or 0
        is_far = n is None or abs(n - near) > MAX_EXCHANGES // 2
        if is_far or self._middle is None:
            self._middle = n

    def query_function(self) -> Callable[[SessionModel], Waterfall]:
        n = self._middle
        return lambda model: waterfall(model, n)

    def query_key(self) -> object:
        return self._middle

    def select_entry(self, n: int | None) -> None:
        """Zoom to the turn of an entry, with the cursor on the bar about it."""
        self._aim = n
        if n is not None:
            self._centre_on(n)
        if self.answer is not None:
            self.show_again()

    def show(self, answer: Waterfall) -> None:
        heading = plural(answer.exchanges, "exchange")
        if answer.shown < answer.exchanges:
            heading = f"{format_number(answer.shown)} of {heading}, around the chosen frame"
        if not answer.bars:
            self.show_heading(heading)
            self.show_note("There are no requests yet.")
            return
        place = self._place_of_aim(answer)
        turn = None if place is None else self._turn_at(answer.bars, place)
        if place is not None:
            self._zoom = None if turn is None else self._fitting_zoom(answer.bars, turn)
        self._show_bars(answer.bars, heading)
        if place is not None:
            self.lines.choose(place)
        if turn is not None:
            self.lines.scroll_to(y=turn, animate=False, force=True)

    def _show_bars(self, bars: Sequence[Bar], heading: str) -> None:
        began, ended = span(bars)
        what, origin = f"{heading} · {began:.3f} s … {ended:.3f} s", None
        if self._zoom is not None:
            # The bar may have grown since.
            zoomed = _key(self._zoom)
            bar = next((bar for bar in bars if _key(bar) == zoomed), self._zoom)
            margin, origin = max(bar.ended - bar.began, 1e-4) / 20, bar.began
            began, ended = bar.began - margin, bar.ended + margin
            what = f"{bar.name} · {format_seconds(bar.ended - bar.began)} · z shows all {heading}"
        width = self.lines.width
        self.show_heading(f"{what}\n{_legend(width)}")
        self.column_head.show(axis_text(began, ended, width, origin=origin))
        self.lines.show(bar_lines(bars, began, ended, width))

    def _place_of_aim(self, answer: Waterfall) -> int | None:
        """Return the bar about the wanted entry, once it is known; None: it is not wanted."""
        n = self._aim
        if n is None or answer.middle != self._middle:
            return None
        bars = answer.bars
        number = self._turn_of(n)
        own = (place for place, bar in enumerate(bars) if bar.depth == 2 and bar.holds(n))
        turn = (place for place, bar in enumerate(bars) if number and bar.turn == number)
        place = next(own, next(turn, None))
        if place is None and self.folding.progress.is_busy:
            return None
        self._aim = None
        if place is None:
            before = [at for at, bar in enumerate(bars) if bar.depth and bar.n <= n]
            place = max(before, key=lambda at: bars[at].n, default=0)
        return place

    def _turn_at(self, bars: Sequence[Bar], place: int) -> int | None:
        """Return the turn that a bar is, or is nested in."""
        if bars[place].turn is not None:
            return place
        if bars[place].depth < 2:
            return None
        return next(at for at in range(place, -1, -1) if bars[at].turn is not None)

    def _fitting_zoom(self, bars: Sequence[Bar], turn: int) -> Bar:
        """Return the turn, or all rows in view where most of them lie outside of it."""
        # Before the first layout the list has no height; it has most of the screen's then.
        height = self.lines.size.height or self.app.size.height
        first = max(min(turn, len(bars) - height), 0)
        rows = [bar for bar in bars[first : first + height] if bar.depth]
        chosen = bars[turn]
        inside = [bar for bar in rows if bar.began <= chosen.ended and bar.ended >= chosen.began]
        if 2 * len(inside) >= len(rows):
            return chosen
        began, ended = min(bar.began for bar in rows), max(bar.ended for bar in rows)
        return Bar("rows in view", began, ended, "", 0, -1)

    def action_zoom(self) -> None:
        line = self.lines.chosen
        bars = self.answer.bars if self.answer is not None else ()
        if self._zoom is not None or line is None:
            self._zoom = None
        else:
            self._zoom = bars[self.lines.cursor] if self.lines.cursor < len(bars) else None
        self.show_again()


def _key(bar: Bar) -> tuple[int, int]:
    # The name of a turn changes when it ends.
    return bar.depth, bar.n


def span(bars: Sequence[Bar]) -> tuple[float, float]:
    """Return when the first bar begins and the last one ends."""
    return min(bar.began for bar in bars), max(bar.ended for bar in bars)


def waterfall(model: SessionModel, n: int | None) -> Waterfall:
    """Return the bars of the exchanges around an entry; None: of the last ones."""
    every = model.exchanges.all
    middle = (
        len(every) if n is None else bisect_right(every, n, key=lambda each: each.request_frame.seq)
    )
    first = max(min(middle - MAX_EXCHANGES // 2, len(every) - MAX_EXCHANGES), 0)
    chosen = every[first : first + MAX_EXCHANGES]
    groups: dict[str | None, list[Exchange]] = {}
    for exchange in chosen:
        session = exchange.session
        known = session if session in model.conversations.sessions else None
        groups.setdefault(known, []).append(exchange)
    bars: list[Bar] = []
    for session, exchanges in groups.items():
        talk = None if session is None else model.conversations.sessions[session]
        inner = _bars(model, talk, exchanges)
        began, ended = span(inner)
        name = "connection" if session is None else f"session {single_line(session, 60)}"
        bars.append(Bar(name, began, ended, "result", inner[0].n, 0))
        bars += inner
    return Waterfall(tuple(bars), len(every), len(chosen), n)


def _bars(
    model: SessionModel, talk: Conversation | None, exchanges: Sequence[Exchange]
) -> list[Bar]:
    """Return turns, exchanges and tool calls in order; those of a turn are nested below it."""
    turns: list[SessionTurn] = [] if talk is None else talk.turns
    found: list[Bar] = []
    within: dict[int, tuple[SessionTurn, list[Exchange]]] = {}
    for exchange in exchanges:
        n = exchange.request_frame.seq
        place = bisect_right(turns, n, key=lambda turn: turn.began) - 1
        turn = turns[place] if place >= 0 else None
        if turn is not None and (turn.ended is None or n <= turn.ended):
            within.setdefault(place, (turn, []))[1].append(exchange)
        else:
            found.append(_exchange(model, exchange, 1))
    for turn, inner in within.values():
        found += _turn(model, turn, inner)
    # Within a turn everything has a later frame, and a smaller one than the next turn.
    return sorted(found, key=lambda bar: (bar.n, bar.depth))


def _turn(model: SessionModel, turn: SessionTurn, inner: Sequence[Exchange]) -> Iterator[Bar]:
    """Yield a turn, its exchanges and its tool calls."""
    now = model.at if turn.ended_at is None else turn.ended_at
    ending = "open" if turn.ended is None else "error" if turn.error else "result"
    words = ""
    for exchange in inner:
        if _is_turn(exchange, turn):
            words = model.subject(exchange)
        else:
            yield _exchange(model, exchange, 2)
    how = "failed" if turn.error else turn.stop_reason or ("ended" if turn.ended else "open")
    name = f"turn {turn.number}" + ("" if how == "end_turn" else f", {how}")
    yield Bar(
        single_line(f"{name}: {words}" if words else name, NAMES[1]),
        turn.began_at,
        now,
        ending,
        turn.began,
        1,
        None if turn.first_output is None else turn.began_at + turn.first_output,
        "accent",
        last=turn.ended,
        waits=model.turn_times.waits(turn, now),
        turn=turn.number,
    )
    for step in model.turn_times.calls(turn, now):
        yield _call(step)


def _is_turn(exchange: Exchange, turn: SessionTurn) -> bool:
    """Whether it is the prompt that began the turn, and its response ends it: one bar for both."""
    if exchange.request.method != "session/prompt" or exchange.request_frame.seq != turn.began:
        return False
    response = exchange.response_frame
    return turn.ended == (None if response is None else response.seq)


def _exchange(model: SessionModel, exchange: Exchange, depth: int) -> Bar:
    response = exchange.response_frame
    began, ended = exchange.request_frame.time, model.at if response is None else response.time
    name = request_name(exchange.request.method, model.subject(exchange))
    return Bar(
        single_line(f"{arrow(exchange.requester)} {name}", NAMES[1]),
        began,
        ended,
        exchange.ending,
        exchange.request_frame.seq,
        depth,
        style=STYLES[exchange.ending],
        last=None if response is None else response.seq,
        waits=((began, ended),) if exchange.request.method in USER_METHODS else (),
    )


def _call(step: Step) -> Bar:
    ending = _CALL_ENDINGS.get(step.status, "result" if step.last else "open")
    return Bar(
        single_line(f"{CALL} {step.title or 'tool call'}", NAMES[1]),
        step.began_at,
        step.began_at + step.seconds,
        ending,
        step.n,
        2,
        style=STYLES[ending],
        last=step.last,
    )


_CALL_ENDINGS: Final[dict[str, Ending]] = {"failed": "error", "cancelled": "cancelled"}
