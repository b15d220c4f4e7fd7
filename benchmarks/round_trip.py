"""What a place in the middle adds to the round trip of one message.

The agent is `cat`, which sends back at once what it gets. In the middle stands nothing, a
`cat` for each direction, a `tee` that keeps a copy, the bare pump, or the recording proxy.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.peer import CAT, PUMP, Peer, message, proxy
from benchmarks.table import Row, Section, Spread

SIZE: Final = 260
"""Bytes of the message: the usual length of a streamed piece of text."""
STARTS: Final = 12
"""Times that all are started anew: on which cores processes meet is luck that lasts their life."""
WARM_UP: Final = 100
ROUNDS: Final = 500
"""Round trips after each start."""
HOP: Final = ("sh", "-c", "cat | cat | cat")
TEE: Final = ("sh", "-c", 'tee "$0.1" | cat | tee "$0.2"')
"""Takes the copies' name as its last word."""


def measure() -> Section:
    """Send a message through each in turns, in one run, and compare what they add."""
    durations: list[list[float]] = [[] for _ in range(5)]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(STARTS):
            record = Path(folder, f"{number}.acp.ndjson")
            rival = (*TEE, str(Path(folder, f"{number}")))
            talks = _talks((CAT, HOP, rival, (*PUMP, *CAT), proxy(record, CAT)))
            for pooled, taken in zip(durations, talks, strict=True):
                pooled.extend(taken)
    direct, hop, teed, pump, recorded = (Spread.of(taken) for taken in durations)
    added = hop.median - direct.median
    rival, middle, ours = (
        f"{(it.median - direct.median) / added:.1f} ×" for it in (teed, pump, recorded)
    )
    slow = f"slow ones {recorded.slow / hop.slow:.1f} × the hop's"
    rows = (
        _row("nothing between, the agent is `cat`", direct, "floor"),
        _row("a hop through `cat`", hop, "1 × what the hop adds"),
        _row("a hop through `tee`, which keeps a copy", teed, f"{rival} what the hop adds"),
        _row("bare pump in Python, no recording", pump, f"{middle} what the hop adds"),
        _row(
            "`acp-console proxy --record`",
            recorded,
            f"{ours} what the hop adds; {slow}",
            "≤ 2 ×; slow ones ≤ 2 ×",
        ),
    )
    return Section(f"round trip of a message of {SIZE} bytes", rows)


def _talks(commands: Sequence[Sequence[str]]) -> list[list[float]]:
    """Return how long each of the round trips through each command took, in seconds."""
    line = message(SIZE)
    durations: list[list[float]] = [[] for _ in commands]
    with ExitStack() as stack:
        peers = [stack.enter_context(Peer(command)) for command in commands]
        for _ in range(WARM_UP + ROUNDS):
            for peer, taken in zip(peers, durations, strict=True):
                begin = time.perf_counter()
                peer.write(line)
                peer.read_bytes(SIZE)
                taken.append(time.perf_counter() - begin)
    return [taken[WARM_UP:] for taken in durations]


def _row(what: str, spread: Spread, against: str = "", goal: str = "") -> Row:
    typical, slow = f"{spread.median * 1e6:.0f} µs", f"{spread.slow * 1e6:.0f} µs"
    return Row(what, typical, slow, against, goal)
