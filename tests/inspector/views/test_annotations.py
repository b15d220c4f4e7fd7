"""What threads find out about frames: marks, verdicts, turns, and what became of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.lint.engine import Finding
from acp_inspector.lint.registry import rules
from acp_inspector.views.annotations import (
    MAX_ENTRY,
    NO_NOTES,
    SEVERITIES,
    Annotations,
    FrameNotes,
    RuleViolation,
    Severity,
    intervention_of,
)


def finding(severity: Severity, *frames: int, rule: str = "not-json") -> Finding:
    return Finding(rules()[rule], severity, "wrong", frames, "mend it")


def frame(n: int) -> Frame:
    return Frame(n, 0.0, "agent", b"{}")


def marks(known: Annotations, count: int) -> str:
    return "".join(known.mark(n) or "." for n in range(count))


def test_a_frame_is_marked_where_a_rule_broke_and_in_small_where_it_helps_to_prove_it() -> None:
    known = Annotations()
    known.add_findings([finding("warning", 2, 4), finding("info", 4, 6), finding("error", 4, 7)])
    assert marks(known, 9) == "..w.W.IE."
    assert known.finding_counts == {"error": 1, "warning": 1, "info": 1}
    assert known.finding_count == 3


def test_what_broke_at_a_frame_is_asked_by_filters_as_on_the_command_line() -> None:
    known = Annotations()
    known.add_findings([finding("info", 2, 4), finding("error", 4, rule="message-spans-lines")])
    known.add_findings([finding("info", 4), finding("info", 9)])
    said = (
        RuleViolation("not-json", "info", "ACP-L001"),
        RuleViolation("message-spans-lines", "error", "ACP-L002"),
    )
    assert known.notes(frame(4)).violations == said
    assert known.notes(frame(9)).violations == said[:1]
    assert known.notes(frame(2)) is NO_NOTES


def test_turn_version_and_fate_are_noted() -> None:
    known = Annotations()
    known.add_entry(frame(3), FrameNotes(turn=2, version=1))
    known.add_entry(frame(4), FrameNotes(version=2, gap=0.0))
    known.add_entry(JournalEvent(5, 0.0, "held", {"of": 4}), FrameNotes())
    known.add_entry(JournalEvent(6, 0.0, "corrupted", {"of": 3}), FrameNotes())
    known.add_entry(JournalEvent(7, 0.0, "held", {"of": "4"}), FrameNotes())
    assert known.notes(frame(3)) == FrameNotes(turn=2, version=1, is_edited=True)
    assert known.notes(frame(4)) == FrameNotes(version=2, is_held=True, gap=0.0)
    assert known.notes(frame(2), is_marked=True) == FrameNotes(is_marked=True)
    assert known.entries_revision == 6


FRAMES = st.lists(
    st.builds(
        FrameNotes,
        turn=st.sampled_from([None, 1, 2]),
        version=st.sampled_from([None, 1, 2]),
        gap=st.sampled_from([0.0, 1.5]),
    ),
    min_size=5,
    max_size=5,
)


@given(FRAMES, FRAMES, st.integers(0, 5))
def test_entries_that_are_read_again_have_the_notes_of_the_last_reading(
    before: list[FrameNotes], after: list[FrameNotes], behind: int
) -> None:
    known = Annotations()
    for n, notes in enumerate(before[:behind], 1):
        known.add_entry(frame(n), notes)
    for n, notes in enumerate(after, 1):
        known.add_entry(frame(n), notes)
        if n <= behind < len(before):
            # The first reading goes on while the second one catches up.
            known.add_entry(frame(behind + 1), before[behind])
            behind += 1
    assert [known.notes(frame(n)) for n in range(1, 6)] == after


@pytest.mark.parametrize("n", [-1, 0, MAX_ENTRY, 10**18])
def test_a_number_that_cannot_be_true_takes_no_memory(n: int) -> None:
    known = Annotations()
    known.add_findings([finding("error", n)])
    known.add_entry(frame(n), FrameNotes(turn=1))
    assert known.mark(n) == ""
    assert known.notes(frame(n)).turn is None
    assert list(known.after(-5)) == []


@given(st.sets(st.integers(1, 300)), st.integers(-3, 305))
def test_the_next_and_the_last_that_break_a_rule_are_found_not_those_that_prove_it(
    numbers: set[int], n: int
) -> None:
    known = Annotations()
    known.add_findings(finding(SEVERITIES[each % 3], 301, each) for each in numbers)
    assert list(known.after(n)) == sorted(each for each in numbers if each > n)
    assert list(known.before(n)) == sorted((e for e in numbers if e < n), reverse=True)


@given(st.sets(st.integers(1, 30)), st.integers(1, 30), st.integers(0, 30))
def test_the_last_edit_among_some_frames_is_found(edited: set[int], first: int, more: int) -> None:
    known = Annotations()
    for n in edited:
        known.note_edit(JournalEvent(100 - n, 0.0, "edited", {"of": n}))
    expected = max((100 - n for n in edited if first <= n <= first + more), default=0)
    assert known.edited_between(first, first + more) == expected


def test_who_begins_anew_forgets_its_own_and_nothing_else() -> None:
    known = Annotations()
    known.add_findings([finding("error", 1)])
    known.add_entry(frame(1), FrameNotes(turn=1))
    known.clear_findings()
    assert (known.mark(1), known.finding_count) == ("", 0)
    assert known.notes(frame(1)) == FrameNotes(turn=1)
    known.clear_entries()
    assert known.notes(frame(1)) is NO_NOTES


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("held", {"of": 3}, (3, "held")),
        ("released", {"of": 3}, (3, "released")),
        ("discarded", {"of": 3}, (3, "released")),
        ("answered", {"of": 3}, (3, "released")),
        ("edited", {"of": 3}, (3, "edited")),
        ("corrupted", {"of": 3}, (3, "edited")),
        ("spawn", {"of": 3}, None),
        ("held", {"of": True}, None),
        ("held", {}, None),
    ],
)
def test_an_event_of_a_proxy_says_what_it_did_to_which_frame(
    name: str, data: dict[str, object], found: object
) -> None:
    assert intervention_of(JournalEvent(9, 0.0, name, data)) == found


def test_the_rules_of_an_entry_are_listed_once_and_in_order() -> None:
    known = Annotations()
    known.add_findings(
        [finding("info", 4, rule="message-spans-lines"), finding("error", 4), finding("info", 4)]
    )
    assert (known.rules(4), known.rules(5)) == (["message-spans-lines", "not-json"], [])
