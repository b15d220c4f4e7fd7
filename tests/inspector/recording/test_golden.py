"""The file format does not change: recordings written once are written the same again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import pytest

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.encoder import BatchItem, EntryBatch, FrameRun, gathered_frame
from acp_inspector.recording.format import MAX_DEPTH, Header
from acp_inspector.recording.reader import read_lines, read_recording
from acp_inspector.recording.rotation import RotatingWriter, RotationLimits
from acp_inspector.recording.writer import RecordingWriter
from acp_protocol.framing import Side

GOLDEN = Path(__file__).parent / "golden"
HEADER = Header(
    "2026-01-01T00:00:00.000Z",
    "acp-console 0.1.0",
    "v1",
    command=["agent", "--größe", "\ud800"],
    cwd="/home/x",
    platform="linux",
    env=["HOME", "PATH"],
    redacted=["keys"],
    about="all kinds of lines",
    meta={"files": {"a": "b"}, "number": 1.5},
)
RAWS = [
    *(b"{}", b' {"a" : 1,\t"a":1e400} \r', b'{"b": 1.0, "a":1e3}', b'"\\ud800"', b'"\xc3\xa9"'),
    *(b"", b" ", b"\r", b"NaN", b"-Infinity", b"oops", b"{", b"{} {}", b"1 2", b"9" * 5000),
    *(b"\xef\xbb\xbf{}", b"\xff", b"\x00\xff\xfe", b"ok \xc3(", b'"\xff"', b"\x00\x1b\x7f"),
    *("\u2028\u0085\U0001f600".encode(), b"%d%b", b"null", b"[1,2,]", b"01", b"1e999"),
    b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
    b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}',
]
SIDES: list[tuple[Side, bytes]] = [("client", b"\n"), ("agent", b"\r\n"), ("agent", b"")]
ENTRIES: list[Entry] = [
    JournalEvent(1, 0.0, "spawn", {"pid": 17}),
    *(
        Frame(2 + 3 * place + number, place / 8, side, raw, end)
        for place, raw in enumerate(RAWS)
        for number, (side, end) in enumerate(SIDES)
    ),
    StderrChunk(200, 20.5, b"warning: \xe2\x82\xac\n"),
    StderrChunk(201, 20.5, b"\xff\x00\n"),
    JournalEvent(210, 1e6 + 0.25, "dropped", {"count": 8, "why": "full", "from": "agent"}),
    JournalEvent(211, 1e6 + 1, "note", {"text": "\u2028 \U0001f600", "of": None, "x": [1.5, "a"]}),
    JournalEvent(212, 1e6 + 2, "exit", {"code": 0}),
]
ITEMS: list[BatchItem] = [
    FrameRun(1, 0.25, "agent", [raw + b"\n" for raw in RAWS if b"\n" not in raw]),
    FrameRun(100, 0.5, "client", [b'{"one":1}\n']),
    FrameRun(101, 0.75, "agent", [b'{"n":%d}\r\n' % n for n in range(3)]),
    StderrChunk(104, 1.0, b"between\n"),
    *(FrameRun(105 + n, 1 + n / 8, "client", [b'{"n":%d}\n' % n]) for n in range(9)),
    FrameRun(120, 3.0, "agent", [b'{"n":%d}\n' % n for n in range(300)]),
    gathered_frame(500, 4.0, "agent", bytearray(b'{"long":1}\r')),
]
LARGE = [
    b'{"a":"' + b"x" * (9 << 20) + b'"}',
    b"[" + b'{"a":[1,2.5,"\\u00e9"]},' * (400 << 10) + b"null]",
    b"text \x01" * (300 << 10),
    b"\xff\x00" * (600 << 10),
]


def write(path: Path, entries: Iterable[Entry]) -> None:
    writer = RecordingWriter(path, HEADER)
    writer.write(entries)
    writer.close()


def mixed(folder: Path) -> None:
    write(folder / "mixed.acp.ndjson", ENTRIES)


def batches(folder: Path) -> None:
    write(folder / "batches.acp.ndjson", EntryBatch(ITEMS))


def appended(folder: Path) -> None:
    path = folder / "appended.acp.ndjson"
    write(path, ENTRIES)
    for data in (b"", b'{"n":230,"t":1000004.5,"from":"client","msg":{}}', b'{"n":240,"t":1'):
        with path.open("ab") as file:
            file.write(data)
        writer = RecordingWriter(path, HEADER, mode="append")
        first, offset = writer.first_number, writer.time_offset
        writer.write([Frame(first, offset + 0.5, "agent", b'{"later":true}')])
        writer.close()


def rotated(folder: Path) -> None:
    writer = RotatingWriter(folder / "rotated.acp.ndjson", HEADER, RotationLimits(size=4000))
    for entry in ENTRIES:
        writer.write([entry])
    writer.close()


@pytest.mark.parametrize("build", [mixed, batches, appended, rotated])
def test_recording_is_written_to_the_byte_as_ever(
    build: Callable[[Path], None], tmp_path: Path
) -> None:
    build(tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    golden = sorted(GOLDEN.glob(f"{build.__name__}*.ndjson"))
    assert sorted(written) == [path.name for path in golden]
    for path in golden:
        assert written[path.name] == path.read_bytes()


@pytest.mark.long
def test_large_frames_are_written_to_the_byte_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "large.acp.ndjson"
    frames = [Frame(n, n / 4, "agent", raw) for n, raw in enumerate(LARGE, start=1)]
    long = [
        Frame(n, n / 4, "client", cast("bytes", bytearray(raw)), b"")
        for n, raw in enumerate(LARGE, 5)
    ]
    write(path, EntryBatch([*frames, *long]))
    digests = [hashlib.sha256(line).hexdigest() for line in path.read_bytes().splitlines()]
    assert digests == (GOLDEN / "large.sha256").read_text().split()
    assert list(read_recording(path).entries[:4]) == frames


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_recording_reads_like_the_plain_one(suffix: str) -> None:
    plain = GOLDEN / "mixed.acp.ndjson"
    assert list(read_lines(Path(f"{plain}{suffix}"))) == list(read_lines(plain))


def test_golden_recording_holds_the_entries_it_was_written_from() -> None:
    recording = read_recording(GOLDEN / "mixed.acp.ndjson")
    assert list(recording.entries) == ENTRIES
    assert recording.header == HEADER
    assert recording.footer is not None
    assert recording.bad_lines == ()
