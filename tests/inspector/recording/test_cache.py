"""An index beside its recording."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_inspector.recording.cache import (
    Trailer,
    index_path,
    load_index,
    save_index,
    state_of,
)
from acp_inspector.recording.index import Index
from acp_inspector.recording.outlines import Methods, outline

LINES = b'{"n":1,"t":0.500000,"from":"client","msg":{"jsonrpc":"2.0","method":"a"}}\n' * 9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.acp.ndjson"
    path.write_bytes(LINES)
    keep(path)
    return path


def keep(path: Path) -> None:
    methods = Methods()
    index = Index(methods=methods)
    index.add(outline(LINES, 0, methods))
    with closing(index):
        save_index(path, index, Trailer(state_of(path), 9, len(LINES), methods.names, [3]))


def loads(path: Path, *, may_grow: bool = False) -> bool:
    found = load_index(path, may_grow=may_grow)
    if found is None:
        return False
    index, trailer = found
    assert (index.brief(8).method, index.brief(8).at, trailer.changed) == ("a", 0.5, [3])
    index.close()
    return True


def test_what_was_kept_is_found_again_and_private(path: Path) -> None:
    assert loads(path)
    assert stat.S_IMODE(index_path(path).stat().st_mode) == 0o600
    assert sorted(path.parent.iterdir()) == [path, index_path(path)]


def test_it_is_not_believed_when_the_recording_was_changed(path: Path) -> None:
    facts = path.stat()
    path.write_bytes(LINES.replace(b"client", b"Client"))
    assert not loads(path, may_grow=True)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert not loads(path, may_grow=True), "same size, same time, other bytes"


def test_a_touched_recording_is_looked_at_again(path: Path) -> None:
    os.utime(path, ns=(0, 0))
    assert not loads(path, may_grow=True)


def test_a_recording_that_has_grown_keeps_its_beginning(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more\n")
    assert not loads(path)
    assert loads(path, may_grow=True)
    path.write_bytes(b"x" * len(LINES) + b"more\n")
    assert not loads(path, may_grow=True)


def test_nothing_is_kept_where_nothing_was_kept(tmp_path: Path) -> None:
    assert load_index(tmp_path / "a", may_grow=True) is None


def test_a_link_in_its_place_is_neither_read_nor_written_through(path: Path) -> None:
    target = path.with_name("target")
    index_path(path).rename(target)
    before = target.read_bytes()
    index_path(path).symlink_to(target)
    assert not loads(path)
    keep(path)
    assert target.read_bytes() == before
    assert loads(path)


def test_what_cannot_be_kept_leaves_nothing_behind(path: Path) -> None:
    index_path(path).unlink()
    index_path(path).mkdir()
    with pytest.raises(OSError, match="directory"):
        keep(path)
    assert sorted(path.parent.iterdir()) == [path, index_path(path)]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_bytes_in_its_place_are_no_index_or_one_to_look_into(
    path: Path, data: st.DataObject
) -> None:
    keep(path)
    content = bytearray(index_path(path).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=20))
    index_path(path).write_bytes(content)
    found = load_index(path, may_grow=True)
    if found is not None:
        found[0].close()


@pytest.mark.parametrize("content", [b"", b"ACPINDEX", b"[]\x02" + bytes(7) + b"ACPINDEX"])
def test_foreign_bytes_are_no_index(path: Path, content: bytes) -> None:
    index_path(path).write_bytes(content)
    assert not loads(path)
