"""What an index knows about an expression: whole columns at once, without reading a line.

Each condition is yes, no or unknown for a row. Two integers say so for many rows, a byte each;
`and`, `or` and `not` are then the processor's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any as Anything
from typing import Final, NamedTuple, TypeAlias, get_args

from acp_inspector.filter.expressions import (
    All,
    Any,
    Compare,
    Exists,
    Expression,
    Match,
    Not,
    Within,
)
from acp_inspector.filter.facts import Kind as FrameKind
from acp_inspector.filter.fields import FIELDS
from acp_inspector.filter.matching import value_test
from acp_inspector.filter.patterns import SlowPatternError
from acp_inspector.recording.index import Columns, Index
from acp_inspector.recording.outlines import Kind
from acp_inspector.recording.pairing import ASKS

_NO, _YES, _UNKNOWN = 0, 1, 2
_IS_YES: Final = bytes(int(state == _YES) for state in range(256))
_IS_NO: Final = bytes(int(state == _NO) for state in range(256))
_FRAMES: Final = frozenset({Kind.CLIENT, Kind.AGENT})
_ENTRIES: Final = frozenset({*_FRAMES, Kind.STDERR, Kind.EVENT})
_SENDERS: Final = {Kind.CLIENT: "client", Kind.AGENT: "agent", Kind.STDERR: "agent"}


class Answer(NamedTuple):
    """What is known of some rows: a byte for each, 1 or 0."""

    yes: int
    no: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some rows that follow one another."""

    index: Index
    columns: Columns
    first: int
    """The row of the first."""

    def __len__(self) -> int:
        return len(self.columns.kinds)


_Column: TypeAlias = Callable[[Stretch], Answer]
_Test: TypeAlias = Callable[[Anything], bool]
WordTest: TypeAlias = Callable[[str], bool]
_WORDED: Final = frozenset({"from", "kind", "method"})
"""Fields whose values are words that the index knows."""


def column_test(expression: Expression, tried: list[WordTest] | None = None) -> _Column:
    """Return the function that tells what the index knows of an expression.

    `tried` takes the tests of patterns that it will try on words; see `try_words`.
    """
    match expression:
        case All(terms):
            return _joined([column_test(term, tried) for term in terms], _both)
        case Any(terms):
            return _joined([column_test(term, tried) for term in terms], _either)
        case Not(term):
            inner = column_test(term, tried)
            return lambda rows: Answer(*reversed(inner(rows)))
        case Exists(str(name)) | Compare(str(name)) | Match(str(name)) | Within(str(name)):
            test = value_test(expression)
            if tried is not None and isinstance(expression, Match) and name in _WORDED:
                tried.append(test)
            return _asked(name, expression, test)
        case _:
            return _unknown


def try_words(tests: Sequence[WordTest], words: Sequence[str]) -> None:
    """Try patterns on words: what came of it is remembered, and quick from then on."""
    for test in tests:
        for word in (*get_args(FrameKind), *_SENDERS.values(), *words):
            with suppress(SlowPatternError):
                test(word)


def is_entry(rows: Stretch) -> int:
    """Return a byte for each row: 1 where it is an entry."""
    return _mask(rows.columns.kinds.tobytes().translate(_table(_ENTRIES.__contains__)))


def _both(first: Answer, second: Answer) -> Answer:
    return Answer(first.yes & second.yes, first.no | second.no)


def _either(first: Answer, second: Answer) -> Answer:
    return Answer(first.yes | second.yes, first.no & second.no)


def _joined(terms: list[_Column], join: Callable[[Answer, Answer], Answer]) -> _Column:
    def column(rows: Stretch) -> Answer:
        if not terms:
            # No condition: everything passes.
            return Answer(_mask(b"\1" * len(rows)), 0)
        found = terms[0](rows)
        for term in terms[1:]:
            found = join(found, term(rows))
        return found

    return column


def _asked(name: str, condition: Exists | Compare | Match | Within, test: _Test) -> _Column:
    match name:
        case "stderr" | "event" if isinstance(condition, Exists):
            kind = Kind.STDERR if name == "stderr" else Kind.EVENT
            return _of_kinds(lambda each: each == kind)
        case "from":
            return _of_kinds(lambda each: each in _SENDERS and test(_SENDERS[each]))
        case "t":
            return lambda rows: _answer(map(test, rows.columns.times))
        case "kind":
            return lambda rows: _answer(_kind_states(rows, test))
        case "method":
            return lambda rows: _answer(_method_states(rows, test))
        case "latency":
            return lambda rows: _answer(_latency_states(rows, test))
        case "pending":
            return lambda rows: _answer(_pending_states(rows))
        case _:
            assert name in FIELDS
            return _unknown


def _unknown(rows: Stretch) -> Answer:
    del rows
    return Answer(0, 0)


def _of_kinds(holds: Callable[[Kind], bool]) -> _Column:
    table = _table(holds)

    def column(rows: Stretch) -> Answer:
        return _answer(rows.columns.kinds.tobytes().translate(table))

    return column


def _table(holds: Callable[[Kind], bool]) -> bytes:
    kinds = set(Kind)
    return bytes(int(code in kinds and holds(Kind(code))) for code in range(256))


def _kind_states(rows: Stretch, test: _Test) -> bytes:
    columns = rows.columns
    states = {kind: _UNKNOWN if kind in _FRAMES else _NO for kind in map(int, Kind)}
    states[Kind.STDERR] = int(test("stderr"))
    states[Kind.EVENT] = int(test("event"))
    is_request, is_notice = int(test("request")), int(test("notification"))
    answer = {(True, True): _YES, (False, False): _NO}.get((test("result"), test("error")))
    of_answer = _UNKNOWN if answer is None else answer

    def state(kind: int, partner: int, method: int) -> int:
        if partner:
            return is_request if partner == ASKS else of_answer
        return is_notice if method and kind in _FRAMES else states[kind]

    return bytes(map(state, columns.kinds, columns.partners, columns.methods))


def _method_states(rows: Stretch, test: _Test) -> bytes:
    columns, methods = rows.columns, rows.index.methods
    table = [_UNKNOWN, *(_state(test, name) for name in methods.names)]
    states = bytearray(map(table.__getitem__, columns.methods))
    for place, kind in enumerate(columns.kinds):
        if kind not in _FRAMES:
            states[place] = _NO
    for place, question in _answers(rows):
        name = rows.index.brief(question).method
        states[place] = _UNKNOWN if name is None else _state(test, name)
    return bytes(states)


def _state(test: _Test, name: str) -> int:
    try:
        return int(test(name))
    except SlowPatternError:
        return _UNKNOWN


def _latency_states(rows: Stretch, test: _Test) -> bytes:
    states = bytearray(len(rows))
    for place, question in _answers(rows):
        states[place] = test(rows.columns.times[place] - rows.index.brief(question).at)
    return bytes(states)


def _pending_states(rows: Stretch) -> bytes:
    waits = rows.index.pairing.is_open
    partners = enumerate(rows.columns.partners, start=rows.first)
    return bytes(partner == ASKS and waits(row) for row, partner in partners)


def _answers(rows: Stretch) -> list[tuple[int, int]]:
    """Return place and question of each row that answers one."""
    partners = enumerate(rows.columns.partners)
    last = rows.first + len(rows)
    return [(place, partner - 1) for place, partner in partners if 0 < partner <= last]


def _answer(states: bytes | Iterable[int]) -> Answer:
    known = bytes(states)
    return Answer(_mask(known.translate(_IS_YES)), _mask(known.translate(_IS_NO)))


def _mask(states: bytes) -> int:
    return int.from_bytes(states, "little")
