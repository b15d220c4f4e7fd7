"""Prints measures as one table, with the machine that they hold for."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from acp_protocol.version import VERSION

HEAD: Final = ("what", "typical", "slow", "against the floor", "goal")


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was measured."""

    what: str
    typical: str
    """The median, with its unit."""
    slow: str = ""
    """What one in a hundred exceeds, or the slowest of fewer."""
    against: str = ""
    """How it compares with the floor or the rival of its section."""
    goal: str = ""
    """What it should be, in the words of `against`."""


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one measure, the floor first."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """Durations of one thing, in seconds."""

    median: float
    slow: float
    """The 99th percentile; with fewer than a hundred durations, the longest."""

    @classmethod
    def of(cls, durations: Sequence[float]) -> Spread:
        """Return the spread of `durations`, of which there is at least one."""
        ordered = sorted(durations)
        return cls(median(ordered), ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)])


def machine() -> str:
    """Return a line that names the machine, the interpreter, and how busy the machine is now."""
    cores = os.cpu_count()
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    others = f"{os.getloadavg()[0]:.1f} others at work"
    return f"acp-console {VERSION} on {_processor()}, {cores} cores, {system}, {python}; {others}"


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    text = facts.read_text() if facts.exists() else ""
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor() or "a processor without a name"


def table(sections: Iterable[Section]) -> str:
    """Return the sections as one Markdown table with columns of even width."""
    lines: list[tuple[str, ...]] = [HEAD]
    for section in sections:
        lines.append((f"**{section.title}**", "", "", "", ""))
        lines += [(r.what, r.typical, r.slow, r.against, r.goal) for r in section.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    rules = tuple("-" * width for width in widths)
    return "\n".join(_line(line, widths) for line in [lines[0], rules, *lines[1:]])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"
