"""How fast an agent's messages get through, every one of them recorded.

What the recording asks for by its definition is measured alone too: to tell whether each message is
JSON, to hash it and to write it, done on a core of its own by what does it fastest here. Nobody who
records faster than that does the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shlex
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import Final

import orjson

from benchmarks.peer import EMITTER, PUMP, Peer, SilentPeerError, message, proxy, tee
from benchmarks.table import Row, Section, Spread

ROUNDS: Final = 5
SIZES: Final = {260: 400_000, 4096: 60_000, 65536: 4000}
"""Bytes of a message, and how many are sent: some hundreds of megabytes each."""
GOALS: Final = {260: "≥ 250,000 msg/s", 4096: "≥ 50 % of the pump", 65536: "≥ 50 % of the pump"}
BLOCK: Final = 1 << 20
"""Bytes of messages that are hashed and written together where nothing else is done."""


@dataclass(frozen=True, slots=True)
class _Run:
    seconds: float
    """From the first byte until everything has ended, the recording on the disk included."""
    work: float
    """Seconds of the processor that all processes took together, but for who reads."""
    recorded: int = 0


def measure() -> Section:
    """Let an agent talk as fast as it can through each place in the middle, in turns."""
    rows: list[Row] = []
    for size, count in SIZES.items():
        rows += _rows_of(size, count)
    return Section("throughput from agent to client", tuple(rows))


def _rows_of(size: int, count: int) -> list[Row]:
    total = size * count
    emitter = (*EMITTER, str(size), str(count))
    with tempfile.TemporaryDirectory() as folder:
        record, copy = Path(folder, "it.acp.ndjson"), Path(folder, "copy")

        def through(command: Sequence[str]) -> Callable[[], _Run]:
            return lambda: _run(command, total, record)

        subjects: dict[str, Callable[[], _Run]] = {
            "nothing": through(emitter),
            "bare pump in Python, no recording": through((*PUMP, *emitter)),
            "`cat`": through(("sh", "-c", f"{shlex.join(emitter)} | cat")),
            "`tee`, which keeps a copy": through(tee(copy, emitter)),
            "no process: checking, hashing and writing alone": lambda: _work(size, count, copy),
            "`acp-console proxy --record`": through(proxy(record, emitter)),
        }
        runs: list[list[_Run]] = [[] for _ in subjects]
        for _ in range(ROUNDS):
            for run, done in zip(subjects.values(), runs, strict=True):
                done.append(run())
                record.unlink(missing_ok=True)
                copy.unlink(missing_ok=True)
    spreads = [Spread.of([run.seconds for run in done]) for done in runs]
    pump = spreads[1].median
    rows = [
        Row(
            f"{size:,} B through {name}",
            _rates(size, count, spread.median),
            _rates(size, count, spread.slow),
            f"{pump / spread.median:.0%} of the pump; {_work_of(done, total):.1f} s CPU a GB",
        )
        for name, spread, done in zip(subjects, spreads, runs, strict=True)
    ]
    recorded = min(run.recorded for run in runs[-1]) / count
    against = f"{rows[-1].against}; {recorded:.0%} recorded"
    return [*rows[:-1], replace(rows[-1], against=against, goal=f"{GOALS[size]}; 100 %")]


def _work_of(runs: Sequence[_Run], total: int) -> float:
    """Return the seconds of the processor that a gigabyte took."""
    return median(run.work for run in runs) / total * 1e9


def _run(command: Sequence[str], expected: int, record: Path) -> _Run:
    before = _worked(resource.RUSAGE_CHILDREN)
    with Peer(command) as peer:
        expected -= len(peer.read())
        begin = time.perf_counter()
        peer.read_bytes(expected)
        peer.end()
        seconds = time.perf_counter() - begin
    work = _worked(resource.RUSAGE_CHILDREN) - before
    return _Run(seconds, work, _recorded(record) if record.exists() else 0)


def _work(size: int, count: int, path: Path) -> _Run:
    """Do to all messages what a recording cannot do without, and nothing else."""
    per_block = max(1, BLOCK // size)
    block = message(size) * per_block
    lines = list(BytesIO(block))
    digest = hashlib.sha256()
    before = _worked(resource.RUSAGE_SELF)
    begin = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for _ in repeat(None, count // per_block):
            deque(map(orjson.loads, lines), maxlen=0)
            digest.update(block)
            file.write(block)
    seconds = time.perf_counter() - begin
    part = count // per_block * per_block / count
    return _Run(seconds / part, (_worked(resource.RUSAGE_SELF) - before) / part)


def _worked(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


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
