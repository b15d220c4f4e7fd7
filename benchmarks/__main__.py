"""`python -m benchmarks [MEASURE…]`: measure, and print one table in Markdown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Final

from benchmarks import (
    chat,
    connection,
    lint,
    memory,
    network,
    opening,
    round_trip,
    snapshot,
    start,
    throughput,
)
from benchmarks.peer import SilentPeerError
from benchmarks.table import Section, machine, table

MEASURES: Final[dict[str, Callable[[], Section]]] = {
    "start": start.measure,
    "round-trip": round_trip.measure,
    "throughput": throughput.measure,
    "memory": memory.measure,
    "connection": connection.measure,
    "opening": opening.measure,
    "lint": lint.measure,
    "snapshot": snapshot.measure,
    "chat": chat.measure,
    "network": network.measure,
}


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the measures that are asked for, all of them when none is; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=", ".join(MEASURES))
    names: list[str] = parser.parse_args(arguments).measures or list(MEASURES)
    if unknown := [name for name in names if name not in MEASURES]:
        parser.error(f"no such measure: {', '.join(unknown)}; there are {', '.join(MEASURES)}")
    sections: list[Section] = []
    # Named before the measures, which are load of their own.
    place = machine()
    for name in names:
        print(f"measuring {name} …", file=sys.stderr)
        try:
            sections.append(MEASURES[name]())
        except SilentPeerError as problem:
            print(f"cannot measure {name}: {problem}", file=sys.stderr)
            return 1
    print(place)
    print()
    print(table(sections))
    return 0


if __name__ == "__main__":
    sys.exit(run())
