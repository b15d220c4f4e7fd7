"""How fast an agent's messages get through, every one of them recorded."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.peer import PUMP, Peer, SilentPeerError, proxy
from benchmarks.table import Row, Section, Spread

ROUNDS: Final = 5
SIZES: Final = {260: 200_000, 4096: 25_000, 65536: 2000}
"""Bytes of a message, and how many are sent: some tens of megabytes each."""
GOALS: Final = {260: "≥ 250,000 msg/s", 4096: "≥ 50 % of the pump", 65536: "≥ 50 % of the pump"}
EMITTER: Final = str(Path(__file__).with_name("emitter.py"))


@dataclass(frozen=True, slots=True)
class _Run:
    seconds: float
    """From the first byte until everything has ended, the recording on the disk included."""
    recorded: int


def measure() -> Section:
    """Let an agent talk as fast as it can through each place in the middle, in turns."""
    rows: list[Row] = []
    for size, count in SIZES.items():
        rows += _rows_of(size, count)
    return Section("throughput from agent to client", tuple(rows))


def _rows_of(size: int, count: int) -> list[Row]:
    emitter = (sys.executable, EMITTER, str(size), str(count))
    runs: list[list[_Run]] = [[], [], []]
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "it.acp.ndjson")
        commands: list[Sequence[str]] = [
            (*PUMP, *emitter),
            ("sh", "-c", f"{shlex.join(emitter)} | cat"),
            proxy(record, emitter),
        ]
        for _ in range(ROUNDS):
            for command, done in zip(commands, runs, strict=True):
                done.append(_run(command, size * count, record))
                record.unlink(missing_ok=True)
    names = ("bare pump in Python, no recording", "`cat`", "`acp-console proxy --record`")
    spreads = [Spread.of([run.seconds for run in done]) for done in runs]
    floor = spreads[0].median
    rows: list[Row] = []
    for name, spread in zip(names, spreads, strict=True):
        against = "floor" if spread is spreads[0] else f"{floor / spread.median:.0%} of the pump"
        rows.append(
            Row(
                f"{size:,} B through {name}",
                _rates(size, count, spread.median),
                _rates(size, count, spread.slow),
                against,
            )
        )
    recorded = min(run.recorded for run in runs[-1]) / count
    last = rows[-1]
    against = f"{last.against}; {recorded:.0%} recorded"
    rows[-1] = Row(last.what, last.typical, last.slow, against, f"{GOALS[size]}; 100 %")
    return rows


def _run(command: Sequence[str], expected: int, record: Path) -> _Run:
    with Peer(command) as peer:
        expected -= len(peer.read())
        begin = time.perf_counter()
        peer.read_bytes(expected)
        peer.end()
        seconds = time.perf_counter() - begin
    return _Run(seconds, _recorded(record) if record.exists() else 0)


def _recorded(record: Path) -> int:
    """Return how many frames the footer of a recording counts."""
    with record.open("rb") as file:
        file.seek(-min(4096, record.stat().st_size), os.SEEK_END)
        footer = json.loads(file.read().splitlines()[-1])
    try:
        return footer["end"]["frames"]
    except KeyError:
        raise SilentPeerError("the recording has no footer") from None


def _rates(size: int, count: int, seconds: float) -> str:
    return f"{count / seconds:,.0f} msg/s, {size * count / seconds / 1e6:,.0f} MB/s"
