"""How long a person or an editor waits for each command to do its first useful thing."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.peer import (
    AGENT,
    CAT,
    CONSOLE,
    WAIT,
    Peer,
    SilentPeerError,
    environment,
    message,
    proxy,
)
from benchmarks.table import Row, Section, Spread

ROUNDS: Final = 40
SHAPES: Final = "import acp_protocol.schema.v1, acp_protocol.schema.v2"
INITIALIZE: Final = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize",'
    b'"params":{"protocolVersion":1,"clientCapabilities":{}}}\n'
)


@dataclass(frozen=True, slots=True)
class _Subject:
    what: str
    seconds: Callable[[Path], float]
    """Starts it once, with a new name for a recording; returns how long the wait was."""
    goal: str = ""


def measure() -> Section:
    """Start each command again and again, in turns, so that a busy spell meets them all."""
    durations: list[list[float]] = [[] for _ in SUBJECTS]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS + 1):
            for subject, taken in zip(SUBJECTS, durations, strict=True):
                taken.append(subject.seconds(Path(folder, f"{number}.acp.ndjson")))
    # The first round compiles modules and fills caches; it counts for nothing.
    spreads = [Spread.of(taken[1:]) for taken in durations]
    floor = spreads[0].median
    rows = [
        Row(
            subject.what,
            f"{spread.median * 1e3:.0f} ms",
            f"{spread.slow * 1e3:.0f} ms",
            f"+ {(spread.median - floor) * 1e3:.0f} ms" if number else "floor",
            subject.goal,
        )
        for number, (subject, spread) in enumerate(zip(SUBJECTS, spreads, strict=True))
    ]
    return Section("start", tuple(rows))


def _until_ended(command: Sequence[str]) -> float:
    begin = time.perf_counter()
    done = subprocess.run(
        command, check=False, env=environment(), capture_output=True, timeout=WAIT
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise SilentPeerError(f"{shlex.join(command)} ended with {done.returncode}: {said}")
    return seconds


def _until_answered(command: Sequence[str], question: bytes) -> float:
    """Return the time up to the first bytes of the answer, not that of the child's end."""
    begin = time.perf_counter()
    with Peer(command) as peer:
        peer.write(question)
        peer.read()
        return time.perf_counter() - begin


SUBJECTS: Final = (
    _Subject(
        "`python -c pass` until it ends", lambda _: _until_ended([sys.executable, "-c", "pass"])
    ),
    _Subject(
        "importing the shapes of all versions",
        lambda _: _until_ended([sys.executable, "-c", SHAPES]),
        "+ ≤ 60 ms",
    ),
    _Subject(
        "`acp-agent` until initialize is answered",
        lambda _: _until_answered(AGENT, INITIALIZE),
        "+ ≤ 60 ms",
    ),
    _Subject(
        "`acp-console proxy --record` until the first byte is through",
        lambda record: _until_answered(proxy(record, CAT), message(260)),
        "+ ≤ 60 ms",
    ),
    _Subject(
        "`acp-console exec hello` until it ends, its agent included",
        lambda _: _until_ended([*CONSOLE, "exec", "hello"]),
    ),
)
