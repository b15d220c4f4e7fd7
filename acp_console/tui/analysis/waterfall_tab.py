"""Requests and their responses as bars over time, nested by session and turn."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.cells import set_cell_size
from textual.binding import BindingType

from acp_console.tui.analysis.tab import AnalysisTab, Line, TimePoint
from acp_console.tui.commands import bindings
from acp_console.wording.values import arrow, format_number, format_seconds, plural
from acp_inspector.session.conversation import Conversation
from acp_inspector.session.exchanges import Exchange
from acp_inspector.session.turn import SessionTurn
from acp_inspector.views.session_model import SessionModel
from acp_protocol.host.sanitize import single_line

MAX_EXCHANGES: Final = 2000
"""Exchanges that are shown at once, around the chosen frame."""
NAMES: Final = (24, 40)
"""Columns of the names, at least and at most."""
TIMES: Final = 9
"""Columns of the durations."""
ENDS: Final = {"result": "━", "error": "✗", "cancelled": "◌", "open": "▶"}
"""The end of a bar, by the ending of its exchange."""
_SIGNS: Final = frozenset({"error", "cancelled"})
"""The endings with a sign that does not look like a bar."""
LEGEND: Final = "━ answered  ✗ error  ◌ cancelled  ▶ open  ┄ before first output"
STYLES: Final = {"result": "", "error": "error", "cancelled": "muted", "open": "warning"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One session, turn or exchange."""

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


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Bars in order."""

    bars: tuple[Bar, ...]
    exchanges: int
    """Number of exchanges."""
    shown: int
    """Number of exchanges with bars."""


def bar_lines(bars: Sequence[Bar], began: float, ended: float, width: int) -> list[Line]:
    """Return bars for a width, over a stretch of time."""
    names = max(NAMES[0], min(NAMES[1], width * 2 // 5))
    room = max(width - names - TIMES - 3, 8)
    length = max(ended - began, 1e-6)
    lines: list[Line] = []
    for bar in bars:
        name_width = names - 2 * bar.depth
        name = set_cell_size(single_line(bar.name, name_width), name_width)
        took = "open" if bar.ending == "open" else format_seconds(bar.ended - bar.began)
        parts = (
            ("strong" if bar.depth == 0 else bar.style, f"{'  ' * bar.depth}{name} "),
            ("muted", f"{single_line(took, TIMES):>{TIMES}} "),
            *_draw(bar, room, lambda at: int((at - began) / length * (room - 1))),
        )
        lines.append(Line(parts, bar.n, _key(bar)))
    return lines


def _draw(bar: Bar, room: int, column: Callable[[float], int]) -> Iterator[tuple[str, str]]:
    begin, end = column(bar.began), column(bar.ended)
    if end < 0 or begin >= room:
        # The bar is outside the visible range.
        yield "muted", "‹" if end < 0 else " " * (room - 1) + "›"
        return
    begin, end = max(begin, 0), min(end, room - 1)
    if begin == end and bar.ending in _SIGNS:
        # The sign follows the bar and leaves it its place.
        begin, end = (begin, end + 1) if end < room - 1 else (begin - 1, end)
    yield "", " " * begin
    length = end - begin
    waited = 0
    if bar.first is not None:
        waited = max(min(column(bar.first) - begin, length), 0)
    line = "┄" * waited + ("─" if bar.depth == 0 else "━") * (length - waited)
    yield bar.style, line + ("─" if bar.depth == 0 else ENDS[bar.ending])


class WaterfallTab(AnalysisTab[SessionModel, Waterfall]):
    """Shows bars; one can be zoomed to."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("waterfall")
    _zoom: Bar | None = None
    _middle: int | None = None

    def look(self, moment: TimePoint) -> float | None:
        near = self._middle or 0
        is_far = moment.n is None or abs(moment.n - near) > MAX_EXCHANGES // 2
        if is_far or self._middle is None:
            self._middle = moment.n
        return super().look(moment)

    def query_function(self) -> Callable[[SessionModel], Waterfall]:
        n = self._middle
        return lambda model: waterfall(model, n)

    def query_key(self) -> object:
        return self._middle

    def show(self, answer: Waterfall) -> None:
        heading = plural(answer.exchanges, "exchange")
        if answer.shown < answer.exchanges:
            heading = f"{format_number(answer.shown)} of {heading}, around the chosen frame"
        if not answer.bars:
            self.show_heading(heading)
            self.show_note("There are no requests yet.")
            return
        began, ended = span(answer.bars)
        if self._zoom is not None:
            # The bar may have grown since.
            zoomed = _key(self._zoom)
            bar = next((bar for bar in answer.bars if _key(bar) == zoomed), self._zoom)
            margin = max(bar.ended - bar.began, 1e-4) / 20
            began, ended = bar.began - margin, bar.ended + margin
            heading += ", zoomed"
        when = f"{began:.3f} s … {ended:.3f} s ({format_seconds(ended - began)})"
        self.show_heading(f"{heading} · {when}\n{LEGEND}")
        self.lines.show(bar_lines(answer.bars, began, ended, self.lines.width))

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
        inner = list(_bars(talk, exchanges, model.at))
        began, ended = span(inner)
        name = "connection" if session is None else f"session {single_line(session, 60)}"
        bars.append(Bar(name, began, ended, "result", inner[0].n, 0))
        bars += inner
    return Waterfall(tuple(bars), len(every), len(chosen))


def _bars(talk: Conversation | None, exchanges: Sequence[Exchange], now: float) -> Iterator[Bar]:
    """Yield turns and exchanges in order of beginning; exchanges in a turn are nested below it."""
    turns: list[SessionTurn] = [] if talk is None else talk.turns
    last = -1
    for exchange in exchanges:
        place = bisect_right(turns, exchange.request_frame.seq, key=lambda turn: turn.began) - 1
        turn = turns[place] if place >= 0 else None
        is_within = turn is not None and (
            turn.ended is None or exchange.request_frame.seq <= turn.ended
        )
        if turn is not None and is_within and place > last:
            last = place
            yield _turn(turn, now)
        yield _exchange(exchange, 2 if is_within else 1, now)


def _turn(turn: SessionTurn, now: float) -> Bar:
    how = turn.error or turn.stop_reason or ("ended" if turn.ended else "open")
    ending = "open" if turn.ended is None else "error" if turn.error else "result"
    return Bar(
        single_line(f"turn {turn.number}: {how}", NAMES[1]),
        turn.began_at,
        now if turn.ended_at is None else turn.ended_at,
        ending,
        turn.began,
        1,
        None if turn.first_output is None else turn.began_at + turn.first_output,
        "accent",
    )


def _exchange(exchange: Exchange, depth: int, now: float) -> Bar:
    return Bar(
        single_line(f"{arrow(exchange.requester)} {exchange.request.method}", NAMES[1]),
        exchange.request_frame.time,
        now if exchange.response_frame is None else exchange.response_frame.time,
        exchange.ending,
        exchange.request_frame.seq,
        depth,
        style=STYLES[exchange.ending],
    )
