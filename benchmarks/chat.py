"""The chat of the console in a terminal: how soon it starts, and how it bears floods.

Everything is measured from outside: keys go into a pty, and what counts is when the bytes come out.
Each run starts a console of its own. Of several runs the best counts, because other load of the
machine only adds; the worst stands beside it. Linux only: processor time and memory are read from
/proc.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.flood import DONE, READY
from benchmarks.peer import CONSOLE, SilentPeerError, environment
from benchmarks.table import Row, Section, Spread
from benchmarks.terminal import COLUMNS, SCREEN_BYTES, Terminal

START_ROUNDS: Final = 5
ROUNDS: Final = 3
LIMIT_S: Final = 60.0
"""A wait for the console ends here, also if it hangs."""
END_LIMIT_S: Final = 5.0
"""How long a console may take to end after SIGTERM."""
SETTLE_S: Final = 2.0
"""Until a chat is at rest."""
SHARE_S: Final = 10.0
"""For how long the share of a processor is measured."""
KEY_INTERVAL_S: Final = 0.05
MAX_KEYS: Final = 120
FIRST_KEY: Final = 0x430
"""Keys are Cyrillic letters, which nothing else on the screen contains."""
RATE: Final = 100
"""Updates a second of an agent at its fastest in practice."""
FLOOD: Final = (sys.executable, str(Path(__file__).with_name("flood.py")))
EMPTY_APP: Final = (sys.executable, "-c", "from textual.app import App; App().run()")


@dataclass(frozen=True, slots=True)
class Flood:
    """What the agent sends in its turn."""

    kind: str
    count: int
    rate: float = 0
    """Updates a second; 0 for as fast as the pipe takes them."""


@dataclass(slots=True)
class _Console:
    """A console that runs in a terminal, its agent ready."""

    terminal: Terminal
    ready: float | None
    """Seconds from its start."""
    times: Path
    """Where the agent writes when it was canceled."""

    def prompt(self) -> float:
        """Send a prompt; return when."""
        self.terminal.press("go")
        time.sleep(0.2)
        begin = time.monotonic()
        self.terminal.press("\r")
        return begin

    def end(self, begin: float) -> float | None:
        """Return the seconds from `begin` until the end of the flood is on the screen."""
        seen = self.terminal.seen(DONE, LIMIT_S)
        return None if seen is None else seen - begin


@contextmanager
def _console(flood: Flood) -> Generator[_Console]:
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder, "canceled")
        agent = (*FLOOD, flood.kind, str(flood.count), str(flood.rate), str(times))
        command = (*CONSOLE, "chat", "--cwd", folder, "--", *agent)
        with Terminal(command, _environment(folder)) as terminal:
            seen = terminal.seen(READY, LIMIT_S)
            time.sleep(0.3)
            yield _Console(terminal, None if seen is None else seen - terminal.started, times)


def _environment(home: str) -> dict[str, str]:
    """Return the environment of a user who starts the console for the first time."""
    kept = {name: value for name, value in environment().items() if not name.startswith("XDG_")}
    return {**kept, "HOME": home, "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def _echo(terminal: Terminal, is_over: Callable[[], bool], limit: float) -> list[float]:
    """Press keys until the flood is over; return the seconds until each was on the screen."""
    durations: list[float] = []
    until = time.monotonic() + limit
    for number in range(MAX_KEYS):
        remaining = until - time.monotonic()
        if is_over() or remaining <= 0:
            break
        key = chr(FIRST_KEY + number)
        position, begin = terminal.position, time.monotonic()
        terminal.press(key)
        seen = terminal.seen(key, remaining, position)
        durations.append(limit if seen is None else seen - begin)
        time.sleep(KEY_INTERVAL_S)
    return durations


# What one run measures: values by name, in seconds or bytes; None where a limit was reached.
_Values = dict[str, float | None]


def _first_paint(command: Sequence[str]) -> float | None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Terminal(command, _environment(folder)) as terminal,
    ):
        seen = terminal.at(SCREEN_BYTES, LIMIT_S)
        return None if seen is None else seen - terminal.started


def _start() -> _Values:
    with _console(Flood("chunks", 0)) as console:
        terminal = console.terminal
        painted = terminal.at(SCREEN_BYTES, LIMIT_S)
        paint = None if painted is None else painted - terminal.started
        return {"floor": _first_paint(EMPTY_APP), "paint": paint, "ready": console.ready}


def _flat_out(flood: Flood) -> _Values:
    with _console(flood) as console:
        before = console.terminal.cpu_seconds()
        end = console.end(console.prompt())
        used = console.terminal.cpu_seconds() - before
        return {"end": end, "cpu": used / flood.count, "peak": console.terminal.peak_bytes()}


def echo_during(flood: Flood) -> _Values:
    """Measure key echo while the agent sends."""
    with _console(flood) as console:
        terminal = console.terminal
        console.prompt()
        begin = terminal.position
        durations = _echo(terminal, lambda: terminal.seen(DONE, 0, begin) is not None, LIMIT_S)
    if not durations:
        raise SilentPeerError("the flood ended before the first key")
    ordered = sorted(durations)
    p95 = ordered[len(ordered) * 95 // 100]
    return {"p50": Spread.of(ordered).median, "p95": p95, "max": ordered[-1]}


def cancel(flood: Flood) -> _Values:
    with _console(flood) as console:
        console.prompt()
        time.sleep(1)
        begin = time.monotonic()
        console.terminal.press("\x1b")
        while not (console.times.exists() and console.times.stat().st_size):
            if time.monotonic() > begin + LIMIT_S:
                return {"cancel": None}
            time.sleep(0.002)
        return {"cancel": float(console.times.read_text()) - begin}


def _resize(flood: Flood) -> _Values:
    with _console(flood) as console:
        terminal = console.terminal
        if console.end(console.prompt()) is None:
            return {"resize": None}
        time.sleep(1)
        position, begin = terminal.position, time.monotonic()
        terminal.resize(COLUMNS - 40)
        seen = terminal.seen(DONE, LIMIT_S, position)
        return {"resize": None if seen is None else seen - begin}


def _shares() -> _Values:
    """Measure how much of a processor a chat takes at rest, and while it waits for its agent."""
    with _console(SILENT) as console:
        time.sleep(SETTLE_S)
        idle = _share(console.terminal)
        console.prompt()
        time.sleep(SETTLE_S)
        return {"idle": idle, "turn": _share(console.terminal)}


def _share(terminal: Terminal) -> float:
    before, begin = terminal.cpu_seconds(), time.monotonic()
    time.sleep(SHARE_S)
    return (terminal.cpu_seconds() - before) / (time.monotonic() - begin)


def stress(flood: Flood) -> _Values:
    with _console(flood) as console:
        end = console.end(console.prompt())
        peak = console.terminal.peak_bytes()
        return {"end": end, "peak": peak, "stop": console.terminal.terminate(END_LIMIT_S)}


def seconds(value: float | None, limit: float = LIMIT_S) -> str:
    if value is None or value >= limit:
        return f"> {limit:.0f} s"
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.{0 if value >= 0.01 else 2}f} ms"


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _bytes(value: float | None) -> str:
    return "unknown" if value is None else f"{value / 1e6:.0f} MB"


@dataclass(frozen=True, slots=True)
class _Value:
    """One row of the table."""

    what: str
    name: str
    goal: str = ""
    unit: Callable[[float | None], str] = seconds


@dataclass(frozen=True, slots=True)
class _Scenario:
    """What is run several times, and the rows that it gives."""

    name: str
    run: Callable[[], _Values]
    values: tuple[_Value, ...]
    rounds: int = ROUNDS


def _rows(scenario: _Scenario) -> list[Row]:
    print(f"  {scenario.name} …", file=sys.stderr)
    runs = [scenario.run() for _ in range(scenario.rounds)]
    floor = min((run["floor"] or LIMIT_S for run in runs if "floor" in run), default=None)
    rows: list[Row] = []
    for value in scenario.values:
        found = [LIMIT_S if run[value.name] is None else run[value.name] or 0 for run in runs]
        best, worst = min(found), max(found)
        against = ""
        if floor is not None:
            against = "floor" if value.name == "floor" else f"+ {(best - floor) * 1e3:.0f} ms"
        worst_text = value.unit(worst) if scenario.rounds > 1 else ""
        rows.append(Row(value.what, value.unit(best), worst_text, against, value.goal))
    return rows


def _stress_row(what: str, flood: Flood) -> Row:
    print(f"  {what} …", file=sys.stderr)
    values = stress(flood)
    stop = seconds(values["stop"], END_LIMIT_S)
    return Row(
        what,
        seconds(values["end"]),
        against=f"{_bytes(values['peak'])}; ends in {stop}",
        goal=f"ends in < {END_LIMIT_S:.0f} s",
    )


CHUNKS: Final = Flood("chunks", 10_000)
PACED: Final = Flood("chunks", 800, RATE)
SILENT: Final = Flood("chunks", 2, 1 / LIMIT_S)
"""The second chunk does not come while it is measured."""
SCENARIOS: Final = (
    _Scenario(
        "start",
        _start,
        (
            _Value("an empty Textual app until its first screen", "floor"),
            _Value("chat until its first screen", "paint", "≤ 350 ms"),
            _Value("chat until the agent's session is on the screen", "ready", "≤ 600 ms"),
        ),
        START_ROUNDS,
    ),
    _Scenario(
        "chunks",
        lambda: _flat_out(CHUNKS),
        (
            _Value("10,000 chunks of 40 B, until the end is visible", "end", "≤ 1 s"),
            _Value("CPU time of one of them", "cpu", "≤ 0.05 ms"),
            _Value("memory, at most", "peak", "≤ 90 MB", _bytes),
        ),
    ),
    _Scenario(
        "echo",
        lambda: echo_during(Flood("chunks", 200_000)),
        (
            _Value("key echo during 200,000 chunks, median", "p50"),
            _Value("key echo during 200,000 chunks, 95 of 100", "p95", "≤ 50 ms"),
            _Value("key echo during 200,000 chunks, slowest", "max"),
        ),
    ),
    _Scenario(
        "tools",
        lambda: _flat_out(Flood("tools", 5_000)),
        (_Value("5,000 tool calls, until the end is visible", "end", "≤ 1 s"),),
    ),
    _Scenario(
        "tools echo",
        lambda: echo_during(Flood("tools", 30_000)),
        (_Value("key echo during 30,000 tool calls, slowest", "max", "≤ 50 ms"),),
    ),
    _Scenario(
        "paced",
        lambda: _flat_out(PACED),
        (_Value(f"{RATE} updates a second, CPU time of one", "cpu", "≤ 2 ms"),),
    ),
    _Scenario(
        "paced echo",
        lambda: echo_during(PACED),
        (
            _Value(f"key echo at {RATE} updates a second, median", "p50"),
            _Value(f"key echo at {RATE} updates a second, 95 of 100", "p95", "≤ 30 ms"),
        ),
    ),
    _Scenario(
        "rest",
        _shares,
        (
            _Value("CPU at rest", "idle", "< 1 %", _percent),
            _Value("CPU while a turn waits for the agent", "turn", "< 3 %", _percent),
        ),
    ),
    _Scenario(
        "cancel",
        lambda: cancel(PACED),
        (_Value("Esc until the agent has `session/cancel`", "cancel", "≤ 200 ms"),),
    ),
    _Scenario(
        "resize prose",
        lambda: _resize(CHUNKS),
        (_Value("another width, 400 kB of Markdown", "resize", "≤ 60 ms"),),
    ),
    _Scenario(
        "resize tools",
        lambda: _resize(Flood("tools", 20_000)),
        (_Value("another width, 20,000 tool calls", "resize", "≤ 60 ms"),),
    ),
)
STRESS: Final = {
    "a table of 3,000 × 100 cells": Flood("cells", 3_000),
    "30 MB of prose": Flood("prose", 7_500),
    "20,000 tool calls": Flood("tools", 20_000),
    "4,000 tool calls with 100 kB of output each": Flood("outputs", 4_000),
    "5,000 permission requests": Flood("permissions", 5_000),
    "100,000 updates of one tool call": Flood("one-call", 100_000),
}


def measure() -> Section:
    """Run each scenario several times and each stress case once."""
    rows = [row for scenario in SCENARIOS for row in _rows(scenario)]
    rows += [_stress_row(what, flood) for what, flood in STRESS.items()]
    return Section("chat, in a terminal of 200 × 50", tuple(rows))
