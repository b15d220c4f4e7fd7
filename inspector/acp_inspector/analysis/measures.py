"""Durations in numbers: percentiles and a histogram.

Source: `statistics` of the standard library does the maths.
"""

from __future__ import annotations

import math
import statistics
from array import array
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

BOUNDS: Final = tuple(10**power * step for power in range(-4, 3) for step in (1, 2, 5))
"""Seconds up to which each bar of a histogram goes: 100 µs, 200 µs, 500 µs, 1 ms … 500 s."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Durations in a few numbers, in seconds; None where there are none."""

    count: int
    total: float
    least: float | None = None
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    most: float | None = None


class Durations:
    """Durations that come one by one, in seconds."""

    __slots__ = ("_bars", "_summary", "_values")

    def __init__(self) -> None:
        self._values = array("d")
        self._summary: Summary | None = None
        """Made anew only when there is one more: a screen asks again and again."""
        self._bars = [0] * (len(BOUNDS) + 1)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._values)

    def add(self, seconds: float) -> None:
        """Take one more."""
        self._values.append(seconds)
        self._summary = None
        self._bars[bisect_left(BOUNDS, seconds)] += 1

    def summary(self) -> Summary:
        """Return their summary; percentiles lie between the values that are there."""
        if self._summary is None:
            self._summary = self._summarise()
        return self._summary

    def _summarise(self) -> Summary:
        values = self._values
        if not values:
            return Summary(0, 0.0)
        least, most, total = min(values), max(values), math.fsum(values)
        if len(values) == 1:
            return Summary(1, total, least, total, total, total, total, most)
        cuts = statistics.quantiles(values, n=100, method="inclusive")
        mean = total / len(values)
        return Summary(len(values), total, least, mean, cuts[49], cuts[89], cuts[98], most)

    def histogram(self) -> list[tuple[float | None, int]]:
        """Return the bars that are not empty: up to how many seconds, and how many there are.

        The bound None stands for everything above the last one.
        """
        bounds = (*BOUNDS, None)
        return [(bound, count) for bound, count in zip(bounds, self._bars, strict=True) if count]
