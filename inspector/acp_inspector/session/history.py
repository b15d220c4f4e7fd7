"""Values that keep their history by frame number.

Conversations consist of these, so that their state at any frame is found by bisection, without
folding again. Frame numbers may repeat but never decrease.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, cast

from acp_inspector.spill import Place, SpillFile

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


@dataclass(slots=True)
class _Copy:
    """The copy of an item's values in a file."""

    cache: ItemCache
    place: Place
    last: int
    """The frame that had changed the item last."""
    is_alone: bool = True
    """Whether the values are only there."""


class HasHistory:
    """An object whose changing slots are `Versioned` or `VersionedList`.

    An `ItemCache` may move them to a file; they are read back when one of them is used.
    """

    __slots__ = ("_copy",)

    if TYPE_CHECKING:
        _copy: _Copy | None
    else:

        def __getattr__(self, name: str) -> Any:
            """Return a slot that is empty: its value is in the file."""
            if name == "_copy":
                return None
            copy = self._copy
            if copy is None or not copy.is_alone:
                raise AttributeError(f"{type(self).__name__} has no {name}")
            self._load(copy)
            return getattr(self, name)

    @property
    def last(self) -> int:
        copy = self._copy
        if copy is not None and copy.is_alone:
            return copy.last
        return max(slot.last for _, slot in self._slots() if isinstance(slot, _VERSIONED))

    def at(self, n: int) -> Self:
        copy = object.__new__(type(self))
        for name, slot in self._slots():
            setattr(copy, name, slot.snapshot(n) if isinstance(slot, _VERSIONED) else slot)
        return copy

    def pack(self, cache: ItemCache) -> None:
        """Move what has a history to the file of `cache`, unless it is there."""
        copy, last = self._copy, self.last
        if copy is not None and copy.is_alone:
            return
        values = self._heavy()
        if copy is None or copy.last != last:
            place = cache.write(values)
            if place is None:
                return
            self._copy = _Copy(cache, place, last)
        else:
            copy.is_alone = True
        for name in values:
            delattr(self, name)

    def touch(self) -> None:
        """Take note of a change that no frame has made: a copy of it is out of date."""
        copy = self._copy
        if copy is not None:
            if copy.is_alone:
                self._load(copy)
            self._copy = None

    def _load(self, copy: _Copy) -> None:
        values = copy.cache.read(copy.place)
        copy.is_alone = False
        for slot, value in values.items():
            setattr(self, slot, value)
        copy.cache.keep(self, copy.place[1])

    def _heavy(self) -> dict[str, Any]:
        """Return the slots that are moved to a file."""
        return {name: each for name, each in self._slots() if isinstance(each, _VERSIONED)}

    def _slots(self) -> Iterator[tuple[str, Any]]:
        for base in type(self).__mro__:
            for name in getattr(base, "__slots__", ()):
                if name != "_copy":
                    yield name, getattr(self, name)


_VERSIONED: Final = (Versioned, VersionedList)

ITEMS_IN_MEMORY: Final = 64 << 20
"""Bytes of the items that were used last, about."""
MAX_WRITES: Final = 4
"""Bytes that are written for each one received, at most."""
ITEM_BYTES: Final = 1500
"""Bytes that an item takes besides what was sent."""


class ItemCache:
    """Keeps the items that were used last in memory, and the values of others in a file.

    Nothing is moved inside `with`, where a frame is applied: it may change an item more than once.
    """

    def __init__(self, file: SpillFile | None = None, *, in_memory: int = ITEMS_IN_MEMORY) -> None:
        self._file = file or SpillFile()
        self._limit = in_memory
        self._sizes: OrderedDict[HasHistory, int] = OrderedDict()
        self._total = 0
        self._received = self._written = 0
        self._is_applying = False

    def __enter__(self) -> Self:
        self._is_applying = True
        return self

    def __exit__(self, *_: object) -> None:
        self._is_applying = False
        self._trim()

    def note(self, item: HasHistory, size: int) -> None:
        """Take note that an item has grown."""
        self._received += size
        self.keep(item, size)

    def keep(self, item: HasHistory, size: int) -> None:
        """Keep an item in memory, with some bytes more than before."""
        known = self._sizes.pop(item, 0)
        added = size if known else size + ITEM_BYTES
        self._sizes[item] = known + added
        self._total += added
        if not self._is_applying:
            self._trim()

    def _trim(self) -> None:
        while self._total > self._limit and len(self._sizes) > 1:
            oldest, gone = self._sizes.popitem(last=False)
            self._total -= gone
            oldest.pack(self)

    def write(self, values: dict[str, Any]) -> Place | None:
        place = self._file.write(values)
        self._written += 0 if place is None else place[1]
        if self._written > MAX_WRITES * (self._received + self._limit):
            # Items that change in turn do not fit together: that would only move them.
            self._limit *= 2
        return place

    def read(self, place: Place) -> dict[str, Any]:
        return cast("dict[str, Any]", self._file.read(place))
