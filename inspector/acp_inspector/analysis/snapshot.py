"""The state of a session after one frame, whatever came later."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

from acp_inspector.analysis.calls import Terminal
from acp_inspector.analysis.items import Item
from acp_inspector.analysis.turns import Turn
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error answer to a question about the session."""

    n: int
    by: Side
    """Who answered so."""
    method: str
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of a session beside what was said in it."""

    cwd: str | None = None
    opened_by: str | None = None
    """The method that created, loaded, resumed or forked it."""
    parent: str | None = None
    """The session that it was forked from, or works for."""
    is_closed: bool = False
    title: str | None = None
    modes: Json = None
    current_mode: str | None = None
    config_options: list[Json] = field(default_factory=list[Json])
    commands: list[Json] = field(default_factory=list[Json])
    usage: Json = None
    state: str | None = None
    """What the agent says it is at (version 2); None until it has said so."""
    background: list[Json] = field(default_factory=list[Json])
    """Work that goes on beside (version 2)."""
    open_prompts: int = 0

    @property
    def is_busy(self) -> bool:
        """Whether a prompt waits for its answer, or the agent is at work."""
        return self.open_prompts > 0 or self.state not in {None, "idle"}


class Stretch:
    """Items in the order of their first mention, and the frames of these."""

    __slots__ = ("begun", "items", "numbers")

    def __init__(
        self, begun: int, items: list[Item] | None = None, numbers: array[int] | None = None
    ) -> None:
        self.begun = begun
        """The frame from which on these are the session's items."""
        self.items: list[Item] = [] if items is None else items
        self.numbers = array("Q") if numbers is None else numbers

    def add(self, n: int, item: Item) -> None:
        """Append an item that frame `n` mentions first."""
        self.items.append(item)
        self.numbers.append(n)


class ItemsThen(Sequence[Item]):
    """The items as they stood after a frame; each is built when it is asked for."""

    def __init__(self, stretch: Stretch, n: int) -> None:
        self._stretch = stretch
        self._n = n
        self._count = bisect_right(stretch.numbers, n)

    def __len__(self) -> int:
        """Return how many there were."""
        return self._count

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        """Return one as it stood, or several."""
        found = range(self._count)[index]
        if isinstance(found, range):
            return [self._stretch.items[place].at(self._n) for place in found]
        return self._stretch.items[found].at(self._n)

    def __iter__(self) -> Iterator[Item]:
        """Yield each as it stood."""
        return (self[place] for place in range(self._count))

    def is_earlier(self, other: ItemsThen) -> bool:
        """Tell whether `other` are the same items, later or at the same time."""
        return self._stretch is other._stretch and self._n <= other._n

    def changed_since(self, n: int) -> Iterator[tuple[int, Item]]:
        """Yield the place of each that a frame behind `n` may have changed, and how it stood."""
        for place, item in enumerate(self._stretch.items[: self._count]):
            if item.last > n:
                yield place, item.at(self._n)


class Snapshot:
    """A session as it stood; what is asked for is built when it is asked for."""

    def __init__(
        self,
        *,
        session_id: str,
        version: int,
        n: int,
        stretch: Stretch,
        surroundings: Surroundings,
        turns: tuple[Sequence[Turn], int],
        terminals: tuple[Sequence[Terminal], int],
        troubles: Sequence[Trouble],
    ) -> None:
        """Look at a conversation; of its turns and terminals, only at the first so many."""
        self.session_id = session_id
        self.version = version
        self.n = n
        """The frame after which it stood so."""
        self.surroundings = surroundings
        self.troubles = troubles
        self.items = ItemsThen(stretch, n)
        self._turns = turns
        self._terminals = terminals

    @property
    def turns(self) -> list[Turn]:
        """Every turn that had begun."""
        turns, count = self._turns
        return [turn.at(self.n) for turn in turns[:count]]

    @property
    def terminals(self) -> list[Terminal]:
        """Every terminal that had been named."""
        terminals, count = self._terminals
        return [terminal.at(self.n) for terminal in terminals[:count]]

    @property
    def is_busy(self) -> bool:
        """Whether a prompt waited for its answer, or the agent was at work."""
        return self.surroundings.is_busy
