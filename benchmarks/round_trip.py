"""What a place in the middle adds to the round trip of one message.

The agent is `cat`, which answers at once with what it was told. In the middle stands nothing, a
`cat` for each direction, the bare pump, or the recording proxy.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.peer import CAT, PUMP, Peer, message, proxy
from benchmarks.table import Row, Section, Spread

SIZE: Final = 260
"""Bytes of the message: the usual length of a streamed piece of text."""
WARM_UP: Final = 200
ROUNDS: Final = 4000
HOP: Final = ("sh", "-c", "cat | cat | cat")


def measure() -> Section:
    """Send a message through each in turns, in one run, and compare what they add."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        middles = {
            "nothing between, the agent is `cat`": CAT,
            "a hop through `cat`": HOP,
            "bare pump in Python, no recording": (*PUMP, *CAT),
            "`acp-console proxy --record`": proxy(Path(folder, "it.acp.ndjson"), CAT),
        }
        peers = [stack.enter_context(Peer(command)) for command in middles.values()]
        line = message(SIZE)
        durations: list[list[float]] = [[] for _ in peers]
        for _ in range(WARM_UP + ROUNDS):
            for peer, taken in zip(peers, durations, strict=True):
                begin = time.perf_counter()
                peer.write(line)
                peer.read_bytes(SIZE)
                taken.append(time.perf_counter() - begin)
    direct, hop, *others = (Spread.of(taken[WARM_UP:]) for taken in durations)
    added = hop.median - direct.median
    rows = [
        _row(what, spread, f"{(spread.median - direct.median) / added:.1f} × what the hop adds")
        for what, spread in zip(list(middles)[2:], others, strict=True)
    ]
    against = f"{rows[-1].against}; slow ones {others[-1].slow / hop.slow:.1f} × the hop's"
    rows[-1] = _row(list(middles)[-1], others[-1], against, "≤ 2 ×; slow ones ≤ 2 ×")
    floor = [_row(what, it) for what, it in zip(middles, (direct, hop), strict=False)]
    return Section(f"round trip of a message of {SIZE} bytes", (*floor, *rows))


def _row(what: str, spread: Spread, against: str = "", goal: str = "") -> Row:
    typical, slow = f"{spread.median * 1e6:.0f} µs", f"{spread.slow * 1e6:.0f} µs"
    return Row(what, typical, slow, against, goal)
