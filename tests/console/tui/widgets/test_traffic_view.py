"""Which rows are shown: positions, marks, and what the next one of a kind is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from acp_console.traffic.model import TrafficModel
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.entries import EntryList
from tests.console.tui.conftest import entries, update

TALK = entries(
    ("client", {"id": 1, "method": "session/prompt", "params": {"sessionId": "s1"}}),
    *[update("agent_message_chunk", content={"type": "text", "text": str(n)}) for n in range(8)],
    ("agent", {"id": 1, "result": {"stopReason": "end_turn"}}),
)


@pytest.fixture
def view() -> TrafficModel:
    return TrafficModel(EntryList(TALK))


def run(view: TrafficModel) -> None:
    for _ in view.run():
        pass


def test_without_a_filter_every_row_has_its_own_position(view: TrafficModel) -> None:
    assert (len(view), view.row_at(3), view.position_of(3)) == (10, 3, 3)
    assert view.position_of(10) is None
    assert not view.is_behind


def test_a_filter_shows_what_it_has_come_to(view: TrafficModel) -> None:
    view.filter(compile_filter("from == client or kind == result"))
    assert (len(view), view.is_behind, view.looked_at) == (0, True, 0)
    run(view)
    assert (len(view), view.is_behind, view.looked_at) == (2, False, 10)
    assert [view.row_at(position) for position in range(2)] == [0, 9]
    assert (view.position_of(9), view.position_of(4), view.position_near(4)) == (1, None, 0)
    assert view.delta(1) == pytest.approx(0.9)


def test_what_comes_later_is_filtered_later(view: TrafficModel) -> None:
    view.filter(compile_filter("from == client"))
    run(view)
    assert isinstance(view.entries, EntryList)
    view.entries.extend(TALK)
    assert view.is_behind
    run(view)
    assert len(view) == 2


def test_what_has_changed_is_looked_at_again_behind_what_is_shown(view: TrafficModel) -> None:
    view.filter(compile_filter("marked"))
    run(view)
    view.marks.set(4)
    view.renew()
    assert (len(view), view.is_behind) == (0, True)
    run(view)
    assert (len(view), view.row_at(0), view.is_behind) == (1, 4, False)


def test_a_mark_is_set_shown_and_taken_away(view: TrafficModel) -> None:
    view.marks.set(9)
    view.marks.set(2)
    assert view.marks.rows == [2, 9]
    assert view.is_marked(9)
    view.marks.remove(9)
    assert view.marks.rows == [2]
    assert not view.is_marked(9)


@pytest.mark.parametrize("near", [1, 3, 4096])
def test_the_next_of_a_kind_is_found_in_either_direction(view: TrafficModel, near: int) -> None:
    wanted = compile_filter('"\\"3\\"" or session/prompt')

    def found(row: int, *, is_forward: bool) -> list[int]:
        steps: Iterable[int | None] = view.scan_from(
            row, wanted, is_forward=is_forward, first_rows=near
        )
        return [step for step in steps if step is not None]

    assert found(0, is_forward=True) == [4]
    assert found(4, is_forward=True) == [9]
    assert found(9, is_forward=True) == []
    assert found(9, is_forward=False) == [4]
    assert found(4, is_forward=False) == [0]
    assert found(0, is_forward=False) == []


def test_a_pair_is_both_halves_or_none(view: TrafficModel) -> None:
    for row in (0, 9):
        asked, told = view.pair_of(row)
        assert (asked and asked.seq, told and told.seq) == (1, 10)
    assert view.pair_of(4) == (None, None)
    assert [view.other_of(row) for row in (0, 4, 9)] == [9, None, 0]


def test_values_that_were_seen_are_known(view: TrafficModel) -> None:
    for position in range(10):
        view.at(position)
    assert view.known() == {"method": ["session/prompt", "session/update"], "session": ["s1"]}


def test_a_question_that_was_answered_waits_no_more() -> None:
    heard = EntryList(TALK[:3])
    view = TrafficModel(heard)
    assert view.row(0).is_open
    heard.extend(TALK[3:])
    assert not view.row(0).is_open


def test_a_frame_with_several_blocks_unfolds_into_its_messages() -> None:
    """In a run, the run unfolds first, and folds with its messages."""
    blocks = [[{"type": "text", "text": text} for text in each] for each in (["0"], ["1", "2"])]
    chunks = [
        ("agent", {"method": "session/update", "params": {"sessionId": "s1", "content": each}})
        for each in blocks
    ]
    view = TrafficModel(EntryList(entries(*chunks), dialect="continuum"))

    def lines() -> list[tuple[int, int, int]]:
        found = [view.line_at(0), view.line_at(1)]
        return [(each.begin, each.end, each.parts) for each in found]

    assert lines() == [(0, 2, 0)] * 2
    assert view.toggle(1) is True
    assert lines() == [(0, 1, 0), (1, 2, 0)]
    assert view.row(1).summary == '2 messages: agent_message_chunk "1"'
    assert view.toggle(1) is True
    assert lines() == [(0, 1, 0), (1, 2, 2)]
    texts = [view.line_row(replace(view.line_at(1), part=part)).summary for part in (1, 2)]
    assert texts == ['agent_message_chunk "1"', 'agent_message_chunk "2"']
    assert not view.can_unfold(1)
    assert view.toggle(1) is False
    assert lines() == [(0, 2, 0)] * 2
