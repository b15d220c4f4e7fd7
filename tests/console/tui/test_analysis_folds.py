"""Folds in a thread: how far they come, what they answer, and what stops them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from acp_console.cli.reading import annotate
from acp_console.traffic.analysis import (
    ROWS_PER_CHECK,
    SLICE_S,
    AnalysisFolds,
    BackgroundFold,
    Query,
)
from acp_console.tui.analysis.tab import progress_text
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.entries import ENTRY_TYPES, EntryList, EntrySequence, RecordingEntries
from acp_inspector.filter.search import FilterSearch
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.lint.engine import lint
from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.session.items import TextItem
from acp_inspector.views.annotations import Annotations
from acp_inspector.views.session_model import SessionModel
from acp_protocol.jsonrpc import Json
from tests.console.tui.analysis_app import talk
from tests.console.tui.conftest import LIMIT

T = TypeVar("T")

HELLO = Path(__file__).parents[3] / "recordings" / "hello.acp.ndjson"


class Seen:
    """A fold that notes what it takes, and tells when it has taken so many."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.is_over = False

    def take(self, entry: Entry) -> None:
        self.numbers.append(entry.seq)

    def finish(self) -> None:
        self.is_over = True


def in_turn(folds: Iterable[T]) -> Callable[[T], T | None]:
    """Return what replaces a fold by one after the other."""
    left = iter(folds)

    def renew(fold: T) -> T | None:
        del fold
        return next(left, None)

    return renew


class BriskFold(BackgroundFold[T]):
    """A fold that hardly pauses."""

    def __init__(
        self,
        entries: Callable[[], EntrySequence],
        begin: Callable[[], T],
        take: Callable[[T, Entry], object],
        **options: Any,
    ) -> None:
        super().__init__(entries, begin, take, pause=0.0, **options)


def answered(folding: BackgroundFold[Any], question: Callable[[Any], Any]) -> Query[Any, Any]:
    """Return what comes of a question."""
    known = threading.Event()

    def ask(fold: Any) -> Any:
        try:
            return question(fold)
        finally:
            known.set()

    asked = folding.query(ask)
    assert known.wait(LIMIT)
    # The answer is put down behind the event: the next question comes after it.
    behind = threading.Event()
    folding.query(lambda _: behind.set())
    assert behind.wait(LIMIT)
    return asked


def until(folding: BackgroundFold[Any], holds: Callable[[], object]) -> None:
    """Ask until `holds` does; each question is a step of the thread."""
    for _ in range(10_000):
        if holds():
            return
        answered(folding, lambda _: None)
    raise AssertionError


def test_everything_is_read_in_order_and_then_it_is_over() -> None:
    said = EntryList(talk())
    seen = BriskFold(lambda: said, Seen, Seen.take, finish=Seen.finish, is_over=lambda: True)
    seen.start()
    until(seen, lambda: seen.progress.is_finished)
    assert answered(seen, lambda fold: fold.numbers).result == list(range(1, 11))
    assert answered(seen, lambda fold: fold.is_over).result is True
    assert not seen.progress.is_behind
    seen.close()


def test_what_comes_later_is_read_on() -> None:
    whole = talk()
    said = EntryList(whole[:4])
    seen = BriskFold(lambda: said, Seen, Seen.take)
    seen.start()
    until(seen, lambda: seen.progress.read == 4)
    said.extend(whole[4:])
    until(seen, lambda: seen.progress.read == 10)
    assert answered(seen, lambda fold: len(fold.numbers)).result == 10
    seen.close()


def test_what_comes_after_the_end_begins_it_anew() -> None:
    whole = talk()
    said = EntryList(whole[:4])
    seen = BriskFold(lambda: said, Seen, Seen.take, finish=Seen.finish, is_over=lambda: True)
    seen.start()
    until(seen, lambda: seen.progress.is_finished)
    said.extend(whole[4:])
    until(seen, lambda: seen.progress.renewals and seen.progress.is_finished)
    assert answered(seen, lambda fold: fold.numbers).result == list(range(1, 11))
    seen.close()


def test_a_fold_that_cannot_begin_is_told_and_nobody_waits_for_it() -> None:
    def begin() -> Seen:
        raise LookupError("no rule")

    told = BriskFold(lambda: EntryList(), begin, Seen.take)
    told.start()
    end = time.monotonic() + LIMIT
    while not told.progress.problem and time.monotonic() < end:
        threading.Event().wait(0.001)
    assert told.progress.problem == "LookupError: no rule"
    assert not told.progress.is_behind


def test_a_portion_is_read_and_no_more_until_somebody_asks() -> None:
    said = EntryList(talk())
    seen = BriskFold(lambda: said, Seen, Seen.take, portion=4)
    seen.start()
    until(seen, lambda: seen.progress.is_paused)
    assert seen.progress.read == 4
    assert seen.progress.known == 10
    seen.resume()
    until(seen, lambda: seen.progress.read == 8 and seen.progress.is_paused)
    seen.resume()
    until(seen, lambda: not seen.progress.is_behind)
    assert answered(seen, lambda fold: fold.numbers).result == list(range(1, 11))
    seen.close()


def test_it_rests_when_told_and_still_answers() -> None:
    said = EntryList()
    seen = BriskFold(lambda: said, Seen, Seen.take)
    seen.start()
    until(seen, lambda: seen.progress.is_whole)
    seen.pause()
    said.extend(talk())
    until(seen, lambda: seen.progress.known == 10)
    assert answered(seen, lambda fold: fold.numbers).result == []
    seen.resume()
    until(seen, lambda: seen.progress.read == 10)
    seen.close()


def test_one_at_which_nobody_looks_leaves_the_time_to_others() -> None:
    said = EntryList(talk())
    seen = BriskFold(lambda: said, Seen, Seen.take)
    seen.is_wanted = False
    seen.start()
    assert answered(seen, lambda fold: fold.numbers).result == []
    seen.is_wanted = True
    until(seen, lambda: seen.progress.read == 10)
    seen.close()


def test_a_question_that_cannot_be_answered_is_told_and_the_next_one_is_answered() -> None:
    said = EntryList(talk())
    seen = BriskFold(lambda: said, Seen, Seen.take)
    seen.start()
    asked = answered(seen, lambda fold: fold.nothing)
    assert asked.is_done
    assert "AttributeError" in asked.problem
    assert answered(seen, lambda _: 1).result == 1
    seen.close()


def test_a_fold_that_fails_at_an_entry_says_so_and_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(fold: Seen, entry: Entry) -> None:
        if entry.seq % 2:
            raise ValueError(f"entry {entry.seq} of {fold}")
        fold.take(entry)

    said = EntryList(talk())
    seen = BriskFold(lambda: said, Seen, broken)
    seen.start()
    until(seen, lambda: seen.progress.read == len(said))
    assert (seen.progress.missed, seen.progress.problem) == (len(said) // 2, "")
    assert seen.progress.first_missed == "entry 1: ValueError"
    assert "a bug: 5 messages left out, the first is entry 1" in progress_text(seen.progress, "")
    assert len(caplog.records) == 1
    assert answered(seen, lambda _: 1).result == 1
    seen.close()


def test_what_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordingError):
        RecordingEntries(tmp_path / "none")
    seen = BriskFold(lambda: RecordingEntries(tmp_path / "none"), Seen, Seen.take)
    seen.start()
    until(seen, lambda: "no such file" in seen.progress.problem.lower())
    seen.close()


def test_a_question_that_nobody_waits_for_is_not_asked() -> None:
    seen = BriskFold(EntryList, Seen, Seen.take)
    asked = seen.query(lambda _: 1)
    asked.is_discarded = True
    seen.start()
    assert answered(seen, lambda _: 2).result == 2
    assert not asked.is_done
    seen.close()


def test_a_recording_is_read_to_its_footer_and_its_end_judged() -> None:
    known = AnalysisFolds(lambda: RecordingEntries(HELLO))
    known.linter.start()
    known.model.start()
    until(known.linter, lambda: known.linter.progress.is_finished)
    until(known.model, lambda: not known.model.progress.is_behind)
    frames = answered(known.model, lambda model: model.statistics.total.frames).result
    model = SessionModel()
    with RecordingEntries(HELLO).index_all() as recording:
        model.read(row for row in recording if isinstance(row, ENTRY_TYPES))
    assert frames == model.statistics.total.frames > 0
    known.close()


def test_a_file_that_has_become_another_one_is_read_anew(tmp_path: Path) -> None:
    whole = HELLO.read_bytes().splitlines(keepends=True)
    path = tmp_path / "it.acp.ndjson"
    path.write_bytes(b"".join(whole[:8]))
    seen = BriskFold(lambda: RecordingEntries(path), Seen, Seen.take)
    seen.start()
    until(seen, lambda: seen.progress.read == 7)
    path.write_bytes(b"".join(whole[:4]))
    until(seen, lambda: seen.progress.renewals == 1 and seen.progress.read == 3)
    assert answered(seen, lambda fold: fold.numbers).result == [1, 2, 3]
    seen.close()


def edited_prompt(texts: int) -> list[Entry]:
    """Return a prompt, pieces of its answer, and a late event: `b` was sent in place of `a`."""
    prompts = [
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":'
        b'{"sessionId":"s","prompt":[{"type":"text","text":"%b"}]}}' % text
        for text in (b"a", b"b")
    ]
    piece = (
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
        b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"."}}}}'
    )
    pieces = [Frame(n, n / 10, "agent", piece) for n in range(2, texts + 2)]
    change: dict[str, Json] = {"of": 1, "by": "person"}
    change |= {"was": prompts[0].decode(), "now": prompts[1].decode()}
    event = JournalEvent(texts + 2, texts / 10 + 1, "edited", change)
    return [Frame(1, 0.1, "client", prompts[0]), *pieces, event]


def first_text(model: SessionModel) -> str:
    item = model.conversations.get("s").items[0]
    assert isinstance(item, TextItem)
    return item.text


@pytest.mark.parametrize("texts", [0, ROWS_PER_CHECK, 3 * ROWS_PER_CHECK])
def test_an_edit_that_comes_late_changes_the_fold_once_it_is_read_again(texts: int) -> None:
    whole = edited_prompt(texts)
    said = EntryList(whole[:-1])
    known = AnalysisFolds(lambda: said)
    known.model.start()
    until(known.model, lambda: known.model.progress.read == texts + 1)
    assert answered(known.model, first_text).result == "a"
    said.extend(whole[-1:])
    known.wake()
    until(known.model, lambda: known.model.progress.renewals)
    assert answered(known.model, first_text).result == "b"
    assert answered(known.model, lambda model: model.n).result == len(whole)
    assert known.annotations.edited_by(1) == len(whole)
    # Nothing is read again for an edit that is known.
    said.extend([JournalEvent(len(whole) + 1, 99.0, "released", {"of": 1})])
    known.wake()
    until(known.model, lambda: known.model.progress.read == len(whole) + 1)
    assert known.model.progress.renewals == 1
    known.close()


def test_what_replaces_a_fold_may_be_outdated_as_well_and_is_replaced_unasked() -> None:
    said, is_new = EntryList(talk()), threading.Event()
    fresh = [Seen(), Seen(), Seen()]

    def note() -> None:
        if seen.progress.renewals == 3:
            is_new.set()

    seen = BriskFold(lambda: said, Seen, Seen.take, renew=in_turn(fresh), news=note)
    seen.start()
    assert is_new.wait(LIMIT)
    assert answered(seen, lambda fold: fold.numbers).result == list(range(1, 11))
    seen.close()


def test_what_comes_while_it_is_read_again_is_known_to_both_folds() -> None:
    pieces = edited_prompt(ROWS_PER_CHECK + 7)
    said, fresh, known = EntryList(pieces[:-1]), Seen(), dict[Seen, list[int]]()

    def take(fold: Seen, entry: Entry) -> None:
        if fold is fresh and entry.seq == 1:
            said.extend(pieces[-1:])
            # The rest is for the next slice.
            threading.Event().wait(SLICE_S)
        fold.take(entry)

    def note(fold: Seen, entries: Sequence[Entry]) -> None:
        known.setdefault(fold, []).extend(entry.seq for entry in entries)

    seen = BriskFold(lambda: said, Seen, take, ahead=note, renew=in_turn([fresh]))
    seen.start()
    until(seen, lambda: seen.progress.renewals)
    last = pieces[-1].seq
    assert known[fresh] == [
        *range(1, ROWS_PER_CHECK + 1), last, *range(ROWS_PER_CHECK + 1, last), last
    ]  # fmt: skip
    assert answered(seen, lambda fold: fold.numbers).result == list(range(1, last + 1))
    seen.close()


def test_an_edit_that_comes_with_its_frame_needs_no_second_reading() -> None:
    whole = edited_prompt(0)
    known = AnalysisFolds(lambda: EntryList(whole))
    known.model.start()
    until(known.model, lambda: known.model.progress.read == len(whole))
    assert answered(known.model, first_text).result == "b"
    assert known.model.progress.renewals == 0
    known.close()


def test_what_is_looked_at_comes_first_and_the_background_when_that_is_done() -> None:
    may_open = threading.Event()

    def entries() -> EntryList:
        assert may_open.wait(LIMIT)
        return EntryList()

    known = AnalysisFolds(entries)
    known.background = (known.linter,)
    known.share(known.model)
    assert (known.model.is_wanted, known.linter.is_wanted) == (True, False)
    may_open.set()
    until(known.model, lambda: known.model.progress.is_whole)
    known.share(known.model)
    assert (known.model.is_wanted, known.linter.is_wanted) == (True, True)
    known.share(None)
    assert (known.model.is_wanted, known.linter.is_wanted) == (False, True)
    known.close()


def test_what_is_found_out_is_noted_by_frame() -> None:
    said = EntryList(talk())
    known = AnalysisFolds(lambda: said, is_over=lambda: True)
    known.background = (known.linter, known.model)
    known.share(None)
    until(known.linter, lambda: known.linter.progress.is_finished)
    known.share(None)
    until(known.model, lambda: known.model.progress.read == 10)
    assert "".join(known.annotations.mark(n) or "." for n in range(1, 11)) == "WW....E..I"
    assert [known.annotations.notes(each).turn for each in talk()[4:7]] == [1, 1, 1]
    known.close()


DIALECTS = sorted((HELLO.parent / "dialects").glob("*.acp.ndjson"))
FINDING = compile_filter("finding")


def rules_by_frame(known: Annotations, frames: Iterable[int]) -> dict[int, list[str]]:
    return {n: found for n in frames if (found := known.rules(n))}


def _names_dialect(entry: Entry) -> bool:
    return isinstance(entry, JournalEvent) and entry.name == "dialect"


@pytest.mark.parametrize("way", ["as its header says", "recognised", "none"])
@pytest.mark.parametrize("path", DIALECTS, ids=lambda path: path.name.partition(".")[0])
def test_tables_filters_and_screens_have_the_findings_of_lint(
    path: Path, way: str, tmp_path: Path
) -> None:
    """Live and in a recording, in the dialect that is named, recognised, or in none."""
    recording, copy = read_recording(path), tmp_path / "copy.acp.ndjson"
    dialect = "none" if way == "none" else None
    header, entries = recording.header, recording.entries
    if way == "recognised":
        header = replace(header, dialect=None)
        entries = [each for each in entries if not _names_dialect(each)]
    writer = RecordingWriter(copy, header)
    writer.write(entries)
    writer.close()
    frames = [each.seq for each in recording.frames]
    report = lint([header, *entries], dialect=dialect)
    broken: dict[int, set[str]] = {}
    for each in report.findings:
        broken.setdefault(each.frames[-1], set()).add(each.rule.name)
    expected = {n: sorted(names) for n, names in sorted(broken.items())}
    # Arrays are never taken for a dialect by themselves.
    is_unknown = way == "none" or (way == "recognised" and "v2-batch" in path.name)
    breaks_rules = "-client" in path.name and "openoxide" not in path.name
    assert bool(expected) == (is_unknown or breaks_rules)

    table = annotate(copy, FINDING, dialect=dialect)
    assert rules_by_frame(table, frames) == expected
    with RecordingEntries(copy, dialect).index_all() as rows:
        matching = list(FilterSearch(rows, FINDING, table.notes).find_all())
        assert [rows[row] for row in matching] == [
            each for each in recording.frames if each.seq in expected
        ]
        shown = AnalysisFolds(
            lambda: RecordingEntries(copy), dialect=rows.chosen_dialect, header=rows.header
        )
    said = EntryList(entries, dialect=dialect or header.dialect)
    live = AnalysisFolds(lambda: said, is_over=lambda: True, dialect=said.chosen_dialect)
    for folds in (shown, live):
        folds.linter.start()
        until(folds.linter, lambda folds=folds: folds.linter.progress.is_finished)
        assert rules_by_frame(folds.annotations, frames) == expected
        assert folds.annotations.finding_counts == report.counts
        folds.close()
