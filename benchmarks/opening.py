"""How long a large recording takes to open, to look at and to go on with, and what it fills."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from acp_inspector.journal import Frame
from acp_inspector.recording.format import Header
from acp_inspector.recording.writer import RecordingWriter
from benchmarks.peer import SilentPeerError, environment
from benchmarks.table import Row, Section, Spread

FRAMES: Final = int(os.environ.get("BENCH_FRAMES", "4000000"))
"""Frames of the recording: about a gigabyte."""
ROUNDS: Final = 3
JUMPS: Final = 200
BATCH: Final = 1000
OPENER: Final = str(Path(__file__).with_name("opener.py"))
SHOW: Final = (sys.executable, "-m", "acp_console", "show")
PRINTED: Final = (
    ("--count", ("--count",), "< 3 s"),
    ("--filter 'method == session/prompt'", ("--filter", "method == session/prompt"), "< 5 s"),
    ("--filter '\"nothing like it\"'", ("--filter", '"nothing like it"'), "< 3 s"),
)
"""Commands that look through all of it, with their options."""
TIMEOUT: Final = 600.0
"""Seconds after which a process that measures is given up."""


@dataclass(frozen=True, slots=True)
class _Opening:
    """What `opener.py` says."""

    screen: float
    by_number: list[float]
    by_row: list[float]
    index: float
    rows: int
    idle: int
    peak: int


def measure() -> Section:
    """Open one large recording between two rivals."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "it.acp.ndjson")
        _record(path)
        size = path.stat().st_size
        rivals = [("wc", "-l", str(path)), ("grep", "-c", "session/update", str(path))]
        counted, searched = (
            Spread.of([_until_ended(rival) for _ in range(ROUNDS)]) for rival in rivals
        )
        opened = [_open(path) for _ in range(ROUNDS)]
        printed = [
            (
                what,
                Spread.of([_until_ended((*SHOW, *args, str(path))) for _ in range(ROUNDS)]),
                goal,
            )
            for what, args, goal in PRINTED
        ]
        resumed = Spread.of([_seconds(lambda: _resume(path)) for _ in range(ROUNDS)])
    return Section(
        f"opening a recording of {size / 1e6:,.0f} MB, {FRAMES:,} frames",
        (
            _row("`wc -l`", counted, "floor"),
            _row("`grep -c`", searched, _against(searched, counted, searched)),
            *_rows_of(opened, counted, searched),
            *(
                _row(f"`show {what}`", spread, _against(spread, counted, searched), goal)
                for what, spread, goal in printed
            ),
            _row(
                "going on with it (`--append`)",
                resumed,
                _against(resumed, counted, searched),
            ),
        ),
    )


def _rows_of(opened: Sequence[_Opening], counted: Spread, searched: Spread) -> Iterator[Row]:
    def row(what: str, durations: Iterable[float], goal: str = "") -> Row:
        spread = Spread.of(list(durations))
        return _row(what, spread, _against(spread, counted, searched), goal)

    yield row("first screen, head and tail", (each.screen for each in opened), "< 1 s")
    by_number = chain.from_iterable(each.by_number for each in opened)
    yield row("any frame by number, no index yet", by_number, "< 50 ms")
    yield row("index", (each.index for each in opened))
    by_row = chain.from_iterable(each.by_row for each in opened)
    yield row("any screen by row", by_row, "< 50 ms")
    worst = max(opened, key=lambda each: each.peak)
    grown = f"+ {(worst.peak - worst.idle) / 1e6:,.0f} MB above idle"
    yield Row("memory, all of this", f"{worst.peak / 1e6:,.0f} MB", "", grown, "< 200 MB")


def _row(what: str, spread: Spread, against: str, goal: str = "") -> Row:
    return Row(what, _milliseconds(spread.median), _milliseconds(spread.slow), against, goal)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.2f} ms" if seconds < 0.01 else f"{seconds * 1e3:,.0f} ms"


def _against(spread: Spread, counted: Spread, searched: Spread) -> str:
    ratios = spread.median / counted.median, spread.median / searched.median
    return "{:.2g} × wc, {:.2g} × grep".format(*ratios)


def _record(path: Path) -> None:
    """Write a recording as talks go: mostly chunks, some questions and answers."""
    writer = RecordingWriter(path, Header("2026-01-01T00:00:00.000Z", "benchmarks", "v1"))
    for first in range(1, FRAMES + 1, BATCH):
        writer.write(_frame(n) for n in range(first, min(first + BATCH, FRAMES + 1)))
    writer.close()


def _frame(n: int) -> Frame:
    at = n / 1e4
    match n % 10:
        case 8:
            params = b'"id":%d,"method":"fs/read_text_file","params":{"path":"/a/%d"}' % (n, n)
            return Frame(n, at, "agent", b'{"jsonrpc":"2.0",%b}' % params)
        case 9:
            answer = b'{"jsonrpc":"2.0","id":%d,"result":{"content":"%d"}}' % (n - 1, n)
            return Frame(n, at, "client", answer)
        case _:
            return Frame(n, at, "agent", _CHUNK % (b"word %d " % n * (n % 7)))


_CHUNK: Final = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"sess_0123456789abcdef",'
    b'"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%b"}}}}'
)


def _open(path: Path) -> _Opening:
    """Open the recording in a process of its own, whose memory counts."""
    command = [sys.executable, OPENER, str(path), str(JUMPS)]
    done = subprocess.run(
        command, check=False, env=environment(), capture_output=True, timeout=TIMEOUT
    )
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip()
        raise SilentPeerError(f"the recording could not be opened: {reason}")
    output: dict[str, Any] = json.loads(done.stdout)
    return _Opening(**output)


def _resume(path: Path) -> None:
    RecordingWriter(path, Header("", "", ""), mode="append").close()


def _until_ended(command: Sequence[str]) -> float:
    # Not to the null device: grep would notice it and stop at the first line.
    return _seconds(lambda: subprocess.run(command, check=True, capture_output=True))


def _seconds(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin
