"""How much memory a place in the middle takes, when little, much or something huge passes.

Each is started anew for each thing that passes: a peak does not go down again. What is told is the
largest process of all that were started, which is the agent where hardly anything else is needed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from acp_inspector.control.client import ProxyClient, find_proxy
from benchmarks.peer import CAT, EMITTER, PUMP, Peer, message, proxy
from benchmarks.table import Row, Section

SIZE: Final = 260
"""Bytes of the messages of a flood."""
COUNT: Final = 500_000
LINE: Final = 100_000_000
"""Bytes of the one message that is huge."""
PAUSE: Final = 1.0
"""Seconds for which a slow reader reads nothing."""
PEAK: Final = (sys.executable, str(Path(__file__).with_name("peak.py")))
NAME: Final = f"benchmark-{os.getpid()}"
"""How the observed proxy is called, so that no other is taken for it."""


@dataclass(frozen=True, slots=True)
class _Passing:
    """What passes, and how it is read."""

    what: str
    agent: Sequence[str]
    size: int
    """Bytes that come."""
    goal: str = ""
    is_read_slowly: bool = False
    is_observed: bool = False
    """Whether somebody is attached who reads nothing, as one that was stopped does."""


BOUNDED: Final = "< 64 MB above idle"
IDLE: Final = _Passing("idle", CAT, SIZE)
FLOOD: Final = (*EMITTER, str(SIZE), str(COUNT))
LONG: Final = _Passing(
    f"a line of {LINE / 1e6:.0f} MB",
    (*EMITTER, str(LINE), "1"),
    LINE,
    "about 2 × the line above idle",
)
FLOODS: Final = (
    _Passing(f"a flood of {SIZE} B", FLOOD, SIZE * COUNT, BOUNDED),
    _Passing("a flood, read slowly", FLOOD, SIZE * COUNT, BOUNDED, is_read_slowly=True),
)
OBSERVED: Final = _Passing(
    "a flood, a stopped observer attached", FLOOD, SIZE * COUNT, BOUNDED, is_observed=True
)


def measure() -> Section:
    """Let each thing pass through each place in the middle."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "it.acp.ndjson")
        copy = Path(folder, "copy")
        for name, before, passing in (
            ("nothing", (), (IDLE, *FLOODS, LONG)),
            ("bare pump", PUMP, (IDLE, *FLOODS, LONG)),
            ("`tee`", ("sh", "-c", f'"$@" | tee {copy}', "sh"), (IDLE, *FLOODS, LONG)),
            ("proxy, `--record`", _before(record), (IDLE, *FLOODS, OBSERVED, LONG)),
            ("proxy, no recording", _before(None), (IDLE, *FLOODS, OBSERVED, LONG)),
        ):
            peaks: list[int] = []
            for it in passing:
                peaks.append(_peak((*before, *it.agent), it, Path(folder, "peak")))
                record.unlink(missing_ok=True)
                is_ours = name.startswith("proxy")
                rows.append(_row(f"{name}: {it.what}", peaks, it, is_ours=is_ours))
    return Section("memory, at most", tuple(rows))


def _before(record: Path | None) -> tuple[str, ...]:
    return proxy(record, (), "--name", NAME)


def _row(what: str, peaks: Sequence[int], passing: _Passing, *, is_ours: bool) -> Row:
    grown = peaks[-1] - peaks[0]
    against = "idle" if len(peaks) == 1 else f"+ {grown / 1e6:,.0f} MB above idle"
    if passing is LONG:
        against += f", {grown / LINE:.1f} × the line"
    return Row(what, f"{peaks[-1] / 1e6:,.0f} MB", "", against, passing.goal if is_ours else "")


def _peak(command: Sequence[str], passing: _Passing, told: Path) -> int:
    """Return the bytes that the command held at most, until it had ended."""
    with ExitStack() as stack:
        peer = stack.enter_context(Peer((*PEAK, str(told), "--", *command)))
        if passing is IDLE:
            peer.write(message(SIZE))
        left = passing.size - len(peer.read())
        if passing.is_observed:
            observer = stack.enter_context(ProxyClient(find_proxy(NAME).path))
            observer.call("watch")
        if passing.is_read_slowly:
            time.sleep(PAUSE)
        peer.read_bytes(left)
        peer.end()
    return int(told.read_text())
