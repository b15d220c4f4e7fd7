"""Values that remember what they were at each frame.

The fold of a conversation keeps everything in these, so that its state at any frame is found by
bisection instead of by folding again. A number of a frame may be given more than once, never a
lower one than before.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Past(Generic[T]):
    """A value that is set anew from time to time."""

    __slots__ = ("_numbers", "_values")

    def __init__(self, value: T, n: int = 0) -> None:
        """Begin with `value`, which holds before frame `n` too."""
        self._numbers = array("Q", (n,))
        self._values = [value]

    @property
    def now(self) -> T:
        """What it is after the last frame."""
        return self._values[-1]

    @property
    def last(self) -> int:
        """The frame that set it last."""
        return self._numbers[-1]

    def set(self, n: int, value: T) -> None:
        """Let it be `value` from frame `n` on."""
        if self._numbers[-1] == n:
            self._values[-1] = value
        else:
            self._numbers.append(n)
            self._values.append(value)

    def at(self, n: int) -> T:
        """Return what it was after frame `n`, in O(log n)."""
        return self._values[max(bisect_right(self._numbers, n) - 1, 0)]

    def until(self, n: int) -> Past[T]:
        """Return it as it stood after frame `n`, with all it was before."""
        end = max(bisect_right(self._numbers, n), 1)
        copy = Past(self._values[0], self._numbers[0])
        for number, value in zip(self._numbers[1:end], self._values[1:end], strict=True):
            copy.set(number, value)
        return copy

    def versions(self) -> list[tuple[int, T]]:
        """Return each frame that set it, with what it was from there on."""
        return list(zip(self._numbers, self._values, strict=True))


class Growth(Generic[T]):
    """A list that grows at its end, or is replaced as a whole."""

    __slots__ = ("_begins", "_begun", "_numbers", "_values")

    def __init__(self, values: Iterable[T] = (), n: int = 0) -> None:
        self._values = list(values)
        self._numbers = array("Q", [n] * len(self._values))
        self._begun = array("Q", (0,))
        """Frames that replaced it."""
        self._begins = [0]
        """Where among the values each replacement begins."""

    def __len__(self) -> int:
        """Return how many values it holds now."""
        return len(self._values) - self._begins[-1]

    @property
    def begin(self) -> int:
        """How many values it ever held that a replacement has taken away."""
        return self._begins[-1]

    @property
    def last(self) -> int:
        """The frame that changed it last."""
        return max(self._begun[-1], self._numbers[-1] if self._numbers else 0)

    def add(self, n: int, value: T) -> None:
        """Append `value` at frame `n`."""
        self._values.append(value)
        self._numbers.append(n)

    def replace(self, n: int, values: Iterable[T]) -> None:
        """Let it hold `values` and nothing else from frame `n` on."""
        self._begun.append(n)
        self._begins.append(len(self._values))
        for value in values:
            self.add(n, value)

    def since(self, place: int) -> list[T]:
        """Return what stands from `place` on, counted as `begin` is."""
        return self._values[place:]

    def now(self) -> list[T]:
        """Return what it holds after the last frame."""
        return self._values[self._begins[-1] :]

    def at(self, n: int) -> list[T]:
        """Return what it held after frame `n`."""
        begin = self._begins[max(bisect_right(self._begun, n) - 1, 0)]
        return self._values[begin : bisect_right(self._numbers, n)]
