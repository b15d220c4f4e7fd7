"""A process that opens a recording and says how long each thing took, as JSON: PATH JUMPS."""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from acp_inspector.journal import Frame
from acp_inspector.recording.random_access import IndexedRecording

SCREEN: Final = 50
"""Rows of a screen."""


def run(path: Path, jumps: int) -> dict[str, object]:
    """Return what was measured: seconds, and lists of them; `idle` and `peak` in bytes."""
    chance = random.Random(1)
    idle = _peak()
    begin = time.perf_counter()
    file = IndexedRecording(path)
    file.head(SCREEN)
    last = file.tail(SCREEN)[-2]
    screen = time.perf_counter() - begin
    # The footer is the last row.
    assert isinstance(last, Frame)
    count = last.seq
    numbers = [chance.randint(1, count) for _ in range(jumps)]
    by_number = [_seconds(lambda n=n: file.entry(n)) for n in numbers]
    index = _seconds(file.index_all)
    by_row = [_seconds(lambda n=n: file[n - 1 : n - 1 + SCREEN]) for n in numbers]
    file.close()
    return {
        "screen": screen,
        "by_number": by_number,
        "by_row": by_row,
        "index": index,
        "rows": count,
        "idle": idle,
        "peak": _peak(),
    }


def _seconds(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def _peak() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]))))
