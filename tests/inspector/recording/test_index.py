"""Rows in columns that do not fill the memory."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator

import pytest

from acp_inspector.recording import index as module
from acp_inspector.recording.index import Brief, Index, size_of
from acp_inspector.recording.outlines import Kind, Methods, Outlines


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS", 4)
    monkeypatch.setattr(module, "KEPT", 2)


@pytest.fixture
def index() -> Iterator[Index]:
    index = Index()
    grow(index, 30)
    yield index
    index.close()


def grow(index: Index, rows: int, step: int = 7) -> None:
    """Row `r` begins at 10 + 10 r, every fifth is a fault, and the others ask for something."""
    for first in range(index.rows, rows, step):
        these = range(first, min(first + step, rows))
        index.add(
            Outlines(
                array("Q", [10 + 10 * row for row in these]),
                array("d", [row / 10 for row in these]),
                array("B", [0 if row % 5 == 0 else 1 for row in these]),
                array("H", index.methods.codes([b"a" if row % 5 else b"" for row in these])),
                0,
            )
        )


@pytest.mark.parametrize("row", [0, 3, 4, 17, 28, 29])
def test_each_row_has_its_brief(index: Index, row: int) -> None:
    brief = index.brief(row)
    if row % 5:
        assert brief == Brief(10 + 10 * row, row / 10, Kind.CLIENT, "a")
    else:
        assert brief == Brief(10 + 10 * row, row / 10, Kind.FAULT, None)


@pytest.mark.parametrize("row", [-1, 30])
def test_there_are_no_other_rows(index: Index, row: int) -> None:
    with pytest.raises(IndexError):
        index.brief(row)


def test_a_row_is_found_by_any_of_its_bytes(index: Index) -> None:
    assert [index.row_at(at) for at in (0, 10, 19, 20, 49, 50, 300, 999)] == [
        *(-1, 0, 0, 1),
        *(3, 4, 29, 29),
    ]


def test_rows_of_a_kind_are_found_in_order(index: Index) -> None:
    assert list(index.rows_of(Kind.FAULT)) == [0, 5, 10, 15, 20, 25]
    assert list(index.rows_of(Kind.EVENT)) == []


@pytest.mark.parametrize("rows", [0, 3, 4, 30])
def test_an_index_that_was_written_can_be_gone_on_with(rows: int) -> None:
    index = Index()
    grow(index, rows)
    kept = tempfile.TemporaryFile()  # noqa: SIM115 - the index closes it
    index.write(kept)
    kept.flush()
    content_size = kept.tell()
    again = Index(kept, rows, Methods(index.methods.names))
    grow(again, 40)
    if rows:
        assert kept.closed, "what was kept must stay as it is"
    assert content_size == size_of(rows)
    assert [again.brief(row).offset for row in range(40)] == [10 + 10 * row for row in range(40)]
    index.close()
    again.close()
