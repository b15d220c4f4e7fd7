"""Values that keep their history by frame number.

Conversations consist of these, so that their state at any frame is found by bisection, without
folding again. Frame numbers may repeat but never decrease.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, Final, Generic, Self, TypeVar

T = TypeVar("T")


class Versioned(Generic[T]):
    """A value and its history by frame."""

    __slots__ = ("_numbers", "_values")

    def __init__(self, value: T, n: int = 0) -> None:
        """Start with `value`, which is also the value before frame `n`."""
        self._numbers = array("Q", (n,))
        self._values = [value]

    @property
    def now(self) -> T:
        return self._values[-1]

    @property
    def last(self) -> int:
        return self._numbers[-1]

    def set(self, n: int, value: T) -> None:
        if self._numbers[-1] == n:
            self._values[-1] = value
        else:
            self._numbers.append(n)
            self._values.append(value)

    def at(self, n: int) -> T:
        """Return the value after frame `n`, in O(log n)."""
        return self._values[max(bisect_right(self._numbers, n) - 1, 0)]

    def snapshot(self, n: int) -> Versioned[T]:
        """Return the value after frame `n`, with the frame that set it, without history."""
        place = max(bisect_right(self._numbers, n) - 1, 0)
        return Versioned(self._values[place], self._numbers[place])

    def until(self, n: int) -> Versioned[T]:
        """Return a copy with the history up to frame `n`."""
        end = max(bisect_right(self._numbers, n), 1)
        copy = Versioned(self._values[0])
        copy._numbers, copy._values = self._numbers[:end], self._values[:end]
        return copy

    def versions(self) -> list[tuple[int, T]]:
        """Return each frame that set it, and the value that it set."""
        return list(zip(self._numbers, self._values, strict=True))


class VersionedList(Generic[T]):
    """A list that is appended to or replaced as a whole, and its history by frame."""

    __slots__ = ("_begins", "_begun", "_numbers", "_values")

    def __init__(self, values: Iterable[T] = (), n: int = 0) -> None:
        self._values = list(values)
        self._numbers = array("Q", (n,)) * len(self._values)
        self._begun = array("Q", (0,))
        """Frames that replaced it."""
        self._begins = [0]
        """The index of the first value after each replacement."""

    def __len__(self) -> int:
        return len(self._values) - self._begins[-1]

    @property
    def begin(self) -> int:
        """The number of values that replacements have removed so far."""
        return self._begins[-1]

    @property
    def last(self) -> int:
        return max(self._begun[-1], self._numbers[-1] if self._numbers else 0)

    def add(self, n: int, value: T) -> None:
        self._values.append(value)
        self._numbers.append(n)

    def replace(self, n: int, values: Iterable[T]) -> None:
        """Replace all values by `values` from frame `n` on."""
        self._begun.append(n)
        self._begins.append(len(self._values))
        for value in values:
            self.add(n, value)

    def since(self, place: int) -> list[T]:
        """Return the values from `place` on, counted as `begin` is."""
        return self._values[place:]

    def now(self) -> list[T]:
        return self._values[self._begins[-1] :]

    def snapshot(self, n: int) -> VersionedList[T]:
        """Return the values after frame `n`, with the last of their frames, without history."""
        begun = self._begun[max(bisect_right(self._begun, n) - 1, 0)]
        added = bisect_right(self._numbers, n)
        copy = VersionedList(self.at(n))
        copy._begun[0] = max(begun, self._numbers[added - 1] if added else 0)
        return copy

    def at(self, n: int) -> list[T]:
        begin = self._begins[max(bisect_right(self._begun, n) - 1, 0)]
        return self._values[begin : bisect_right(self._numbers, n)]


class HasHistory:
    """An object whose changing slots are `Versioned` or `VersionedList`."""

    __slots__ = ()

    @property
    def last(self) -> int:
        return max(slot.last for _, slot in self._slots() if isinstance(slot, _VERSIONED))

    def at(self, n: int) -> Self:
        copy = object.__new__(type(self))
        for name, slot in self._slots():
            setattr(copy, name, slot.snapshot(n) if isinstance(slot, _VERSIONED) else slot)
        return copy

    def _slots(self) -> Iterator[tuple[str, Any]]:
        for base in type(self).__mro__:
            for name in getattr(base, "__slots__", ()):
                yield name, getattr(self, name)


_VERSIONED: Final = (Versioned, VersionedList)
