"""Bytes out of compressed files, as far as they go."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_inspector.recording.compression import (
    CORRUPT,
    OUTPUT,
    TRUNCATED,
    DecompressedFile,
)

PIECE = 1 << 16
CONTENT = random.Random(1).randbytes(3 * PIECE) + b"words " * 20000
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd.compress}

any_compression = pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS)


def read(path: Path, content: bytes) -> tuple[bytes, str | None]:
    path.write_bytes(content)
    with DecompressedFile(path) as stream:
        return stream.file.read(), stream.problem


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compression") / "any-name"


def test_what_is_not_compressed_is_read_as_it_is(path: Path) -> None:
    assert read(path, b"{}\n") == (b"{}\n", None)
    assert read(path, b"") == (b"", None)


@any_compression
def test_compressed_bytes_come_back(path: Path, compress: Callable[[bytes], bytes]) -> None:
    assert read(path, compress(CONTENT)) == (CONTENT, None)
    assert read(path, compress(b"")) == (b"", None)


@any_compression
def test_concatenated_streams_are_read(path: Path, compress: Callable[[bytes], bytes]) -> None:
    assert read(path, compress(b"one\n") + compress(b"two\n")) == (b"one\ntwo\n", None)


@any_compression
def test_trailing_data_is_reported(path: Path, compress: Callable[[bytes], bytes]) -> None:
    assert read(path, compress(b"one\n") + b"junk") == (b"one\n", CORRUPT)


def test_zeros_behind_gzip_are_padding(path: Path) -> None:
    assert read(path, gzip.compress(b"one\n") + bytes(512)) == (b"one\n", None)


@any_compression
@settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50
)
@given(data=st.data())
def test_a_cut_loses_only_what_lies_behind(
    path: Path, compress: Callable[[bytes], bytes], data: st.DataObject
) -> None:
    whole = compress(CONTENT)
    cut = data.draw(st.integers(4, len(whole) - 1))
    content, bad_line = read(path, whole[:cut])
    assert CONTENT.startswith(content)
    assert bad_line == TRUNCATED


@any_compression
def test_a_break_loses_nothing_before_it(path: Path, compress: Callable[[bytes], bytes]) -> None:
    """The random bytes do not shrink, so the place of the break is about that of the loss."""
    parts = [compress(CONTENT[:at] + b"x") for at in (1000, PIECE + 1000)]
    junk = bytearray(compress(b"words " * 1000))
    junk[5:] = b"\xff" * (len(junk) - 5)
    content, bad_line = read(path, b"".join(parts) + junk)
    assert content == CONTENT[:1000] + b"x" + CONTENT[: PIECE + 1000] + b"x"
    assert bad_line in {CORRUPT, TRUNCATED}


@any_compression
def test_any_change_leaves_a_beginning(path: Path, compress: Callable[[bytes], bytes]) -> None:
    whole = bytearray(compress(CONTENT))
    middle = len(whole) // 2
    whole[middle : middle + 40] = b"\xff" * 40
    content, bad_line = read(path, bytes(whole))
    assert content[: PIECE // 2] == CONTENT[: PIECE // 2]
    assert bad_line in {CORRUPT, TRUNCATED, None}


@any_compression
def test_highly_compressed_data_is_unpacked_in_pieces(
    path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path.write_bytes(compress(bytes(20 * OUTPUT)))
    with DecompressedFile(path) as stream:
        total = 0
        while piece := stream.file.read(OUTPUT):
            total += len(piece)
    assert total == 20 * OUTPUT
    assert stream.problem is None
