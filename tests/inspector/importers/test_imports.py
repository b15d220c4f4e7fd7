"""Samples of every format become recordings that read back as told; and so does real traffic."""

from __future__ import annotations

import base64
import gzip
import json
import stat
import tracemalloc
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.importers.formats import FORMATS, UnknownFormatError
from acp_inspector.importers.importer import ImportResult, NoMessageError, import_file
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.lint.engine import lint
from acp_inspector.recording.format import RecordingError, RecordingExistsError
from acp_inspector.recording.reader import Recording, read_recording
from acp_inspector.views.session_model import SessionModel
from acp_protocol.framing import encode_frame

SAMPLES = Path(__file__).parent / "samples"
UNORDERED = {"http.har"}
"""Samples that are read as a whole and put into order; their own tests say what holds of them."""


def imported(path: Path, folder: Path, name: str | None = None) -> tuple[ImportResult, Recording]:
    out = folder / "out.acp.ndjson"
    result = import_file(path, out, format_name=name)
    recording = read_recording(out)
    assert recording.bad_lines == ()
    assert recording.footer is not None
    return result, recording


def told(recording: Recording) -> list[tuple[Any, ...]]:
    """Return who said what and when, of every entry."""
    rows: list[tuple[Any, ...]] = []
    for entry in recording.entries:
        match entry:
            case Frame(time=at, side=side, data=raw, line_ending=end):
                rows.append((side, round(at, 6), raw, end))
            case StderrChunk(time=at, data=text):
                rows.append(("stderr", round(at, 6), text))
            case JournalEvent(time=at, name=name, data=data):
                rows.append((name, round(at, 6), data.get("text")))
    return rows


def lines(name: str) -> list[bytes]:
    return (SAMPLES / name).read_bytes().splitlines()


def test_plain_messages(tmp_path: Path) -> None:
    result, recording = imported(SAMPLES / "plain.ndjson", tmp_path)
    sides = ["client", "agent"] * 2 + ["agent", "agent", "client", "agent", "agent"]
    expected = [
        (side, 0, line, b"\n") for side, line in zip(sides, lines("plain.ndjson"), strict=True)
    ]
    assert told(recording) == expected
    assert result.counts == {"frames": 9, "broken": 1}
    assert sorted(result.guesses.values()) == [1, 1, 1]


@pytest.mark.parametrize("name", [None, "acpx"])
def test_a_journal_of_acpx_is_read_whether_it_is_called_so_or_not(
    tmp_path: Path, name: str | None
) -> None:
    result, recording = imported(SAMPLES / "acpx.stream.ndjson", tmp_path, name)
    assert result.format.name == (name or "ndjson")
    sides = ["client", "agent"] * 3 + ["client", "client", "agent"]
    expected = [
        (side, 0, line, b"\n")
        for side, line in zip(sides, lines("acpx.stream.ndjson"), strict=True)
    ]
    assert told(recording) == expected
    assert (result.counts["broken"], result.guesses) == (0, {})


def test_a_capture(tmp_path: Path) -> None:
    result, recording = imported(SAMPLES / "capture.ndjson", tmp_path)
    first = b'{"jsonrpc":"2.0", "id":0,"method":"initialize","params":{}}'
    assert told(recording) == [
        ("client", 0.5, first, b"\n"),
        ("stderr", 0.75, b"ready\n"),
        ("agent", 1.0, b'{"jsonrpc":"2.0","id":0,"result":{}}', b"\r\n"),
        ("note", 1.0, '{"t": 1.25, "dir": "a2c", "li'),
        ("client", 1.5, b"\xff\xfea", b"\n"),
        ("exit", 2.0, None),
        ("spawn", 2.0, None),
        ("client", 2.0, first.replace(b" ", b""), b"\n"),
        ("agent", 2.5, b'{"jsonrpc":', b""),
    ]
    assert result.counts == {"frames": 5, "stderr": 1, "notes": 1, "events": 2, "broken": 1}


def test_processes_of_a_capture_are_connections_of_their_own(tmp_path: Path) -> None:
    def line(t: float, side: str, message: dict[str, Any], **more: Any) -> str:
        text = json.dumps({"jsonrpc": "2.0"} | message)
        return json.dumps({"t": t, "dir": side, "line": text} | more)

    lost = {"id": 7, "method": "session/list"}
    start = {"id": 7, "method": "initialize", "params": {"protocolVersion": 1}}
    source = tmp_path / "in"
    rows = [
        line(0.1, "c2a", lost, proc=1),
        line(0.2, "c2a", start, proc=2),
        json.dumps({"t": 0.3, "dir": "stderr", "line": "bye", "proc": 1}),
        line(0.4, "a2c", {"id": 7, "result": {"sessions": []}}, proc=1),
        line(0.5, "a2c", {"id": 7, "result": {"protocolVersion": 1}}, proc=2),
    ]
    source.write_text("\n".join(rows) + "\n")
    _, recording = imported(source, tmp_path)
    kinds = [row[0] for row in told(recording)]
    assert kinds == ["client", "exit", "spawn", "client", "stderr", "note", "agent"]
    model = SessionModel()
    model.read(recording.entries)
    first, second = model.exchanges.all
    assert (first.request.method, first.ending) == ("session/list", "open")
    assert (second.request.method, second.ending) == ("initialize", "result")
    found = {each.frames: each for each in lint(recording.entries).findings}
    assert found[1,].message == "session/list with the id 7 was never answered"


def test_a_trace_of_the_conductor(tmp_path: Path) -> None:
    result, recording = imported(SAMPLES / "trace.jsons", tmp_path)
    start = b'{"jsonrpc":"2.0",'
    assert told(recording) == [
        (
            "client",
            0.25,
            start + b'"id":"a-0","method":"initialize","params":{"protocolVersion":1}}',
            b"\n",
        ),
        ("agent", 0.5, start + b'"id":"a-0","result":{"protocolVersion":1}}', b"\n"),
        (
            "agent",
            0.75,
            start + b'"method":"session/update","params":{"sessionId":"s"}}',
            b"\n",
        ),
        ("note", 0.75, '{"type":"req'),
        (
            "client",
            1.0,
            start + b'"id":1,"method":"session/load","params":{"sessionId":"x"}}',
            b"\n",
        ),
        (
            "agent",
            1.5,
            start + b'"id":1,"error":{"code":-32602,"message":"unknown session"}}',
            b"\n",
        ),
    ]
    assert sorted(result.skipped.values()) == [2, 2]


def test_a_log_of_zed(tmp_path: Path) -> None:
    result, recording = imported(SAMPLES / "zed.json", tmp_path)
    rows = told(recording)
    start = b'{"jsonrpc":"2.0",'
    assert [row[:2] for row in rows] == [
        (who, 0) for who in ("client", "stderr", "agent", "agent", "note", "client")
    ]
    assert rows[0][2] == (
        start + b'"id":"0a-1","method":"initialize",'
        b'"params":{"protocolVersion":1,"clientInfo":{"name":"zed"}}}'
    )
    assert rows[1][2] == b"starting [1] {\n"
    assert rows[2][2] == start + b'"id":"0a-1","result":{"protocolVersion":1}}'
    assert rows[3][2] == start + b'"method":"session/update","params":{"sessionId":"s"}}'
    assert '"sideways"' in rows[4][2]
    assert rows[5][2] == start + b'"id":4,"error":{"code":-32002,"message":"no such file"}}'
    assert (result.counts["broken"], sum(result.guesses.values())) == (1, 1)


def test_an_export_of_acp_devtools(tmp_path: Path) -> None:
    result, recording = imported(SAMPLES / "devtools.json", tmp_path)
    rows = told(recording)
    assert recording.header.created == "2026-06-12T15:27:46.196Z"
    assert rows[0] == (
        "client",
        0,
        b'{"id":1,"method":"initialize", "params":{},"jsonrpc":"2.0"}',
        b"\n",
    )
    assert rows[1] == ("agent", 0.25, b"no [message] {", b"\n")
    assert rows[2][:2] == ("note", 0.25)
    assert rows[3] == ("agent", 1.0, b'{"jsonrpc":"2.0","id":1,"result":{}}', b"\n")
    assert result.counts == {"frames": 3, "notes": 1, "broken": 1}


def test_a_log_of_jetbrains(tmp_path: Path) -> None:
    result, recording = imported(SAMPLES / "text.log", tmp_path)
    log = lines("text.log")
    assert recording.header.created == "2026-02-14T20:22:39.300Z"
    assert told(recording) == [
        ("note", 0, log[0].decode()),
        ("client", 0.008, log[1].partition(b"OUT: ")[2], b"\n"),
        ("agent", 0.508, log[2].partition(b"IN: ")[2], b"\n"),
        ("note", 0.6, log[3].decode()),
        ("agent", 1.0, log[4].partition(b"IN: ")[2], b"\n"),
    ]
    assert result.counts == {"frames": 3, "notes": 2, "broken": 1}


def test_traffic_of_acp_el(tmp_path: Path) -> None:
    result, recording = imported(SAMPLES / "acp-el.traffic", tmp_path)
    assert [frame.side for frame in recording.frames] == ["client", "agent", "agent", "client"]
    first, second, third, last = (json.loads(frame.data) for frame in recording.frames)
    assert first["params"]["clientCapabilities"]["fs"] == {
        "readTextFile": True,
        "writeTextFile": False,
    }
    assert second["result"] == {
        "protocolVersion": 1,
        "authMethods": [],
        "agentInfo": {"name": 'a "(b" \\ c\nd', "title": None},
    }
    assert third["params"]["entries"] == [{"content": "x", "share": 0.5}, {"content": "y", "n": -3}]
    assert last["params"] == {"sessionId": "s é"}
    assert result.counts == {"frames": 4, "notes": 1, "broken": 1}


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.iterdir()))
def test_a_recording_says_where_it_is_from(sample: str, tmp_path: Path) -> None:
    result, recording = imported(SAMPLES / sample, tmp_path)
    header = recording.header
    assert header.about == f"Imported from {sample} ({result.format.about})"
    assert header.meta["imported"] == {
        "format": result.format.name,
        "file": sample,
        "caveats": list(result.format.caveats),
    }
    assert (header.command, header.cwd, header.env) == ([], "", [])
    assert stat.S_IMODE(recording.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("sample", sorted({path.name for path in SAMPLES.iterdir()} - UNORDERED))
def test_a_file_cut_anywhere_is_imported_as_far_as_it_goes(sample: str, tmp_path: Path) -> None:
    content = (SAMPLES / sample).read_bytes()
    whole = told(imported(SAMPLES / sample, tmp_path)[1])
    for size in range(len(content) // 2, len(content), 7):
        folder = tmp_path / str(size)
        folder.mkdir()
        source = folder / "cut"
        source.write_bytes(content[:size])
        try:
            rows = told(imported(source, folder)[1])
        except NoMessageError:
            # Its first message takes more than half of it.
            assert sample == "devtools.json"
            continue
        assert rows[:-1] == whole[: len(rows) - 1]


RUBBISH = st.one_of(
    st.binary(max_size=4),
    st.sampled_from(
        [b"{", b"}", b"[", b"]", b'"', b"\\", b",", b"\n", b"(", b")", b".", b"#1=", b"NaN"]
    ),
    st.sampled_from([b"digits", b"depth", b"1e999", b"-1", b"null", rb'"\ud800"']),
)
LONG = {b"digits": b"9" * 5000, b"depth": b"[" * 100_000}
"""What would be too long to be shown where a test fails."""


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(SAMPLES.iterdir())),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 30), RUBBISH), min_size=1, max_size=4),
    st.booleans(),
)
def test_a_file_spoiled_anywhere_is_imported_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    sample: Path,
    spots: list[tuple[float, int, bytes]],
    is_named: bool,
) -> None:
    """Whatever is written is a whole recording; nothing but a sentence is ever raised."""
    folder = tmp_path_factory.mktemp("spoiled")
    content = bytearray(sample.read_bytes())
    for share, size, rubbish in spots:
        at = int(share * len(content))
        content[at : at + size] = LONG.get(rubbish, rubbish)
    source = folder / "in"
    source.write_bytes(content)
    known = import_file(sample, folder / "known").format.name
    try:
        imported(source, folder, known if is_named else None)
    except UnknownFormatError:
        assert not is_named
    except NoMessageError:
        assert {path.name for path in folder.iterdir()} == {"in", "known"}


@pytest.mark.parametrize("name", [each.name for each in FORMATS])
@pytest.mark.parametrize(
    "junk",
    [b"", b"\n", b"hello\n", b"[]", b"()", b'[{"a":1},{}]', b"((:a . 1))", b"\xff\x00\n" * 9],
)
def test_what_holds_no_message_is_refused_however_it_is_called(
    name: str, junk: bytes, tmp_path: Path
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(junk)
    reason = r"in as .*: no message can be read in it" if junk.strip() else r"in: it is empty"
    with pytest.raises(NoMessageError, match=reason):
        import_file(source, out, format_name=name)
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize(
    "sample",
    ["acpx.stream.ndjson", "capture.ndjson", "text.log", "plain.ndjson", "trace.jsons"],
)
def test_a_spoiled_line_costs_its_neighbours_nothing(sample: str, tmp_path: Path) -> None:
    every = (SAMPLES / sample).read_bytes().splitlines(keepends=True)
    name, whole = (result := imported(SAMPLES / sample, tmp_path))[0].format.name, told(result[1])
    kept = {row[2] for row in whole}
    for spoiled in range(len(every)):
        folder = tmp_path / str(spoiled)
        folder.mkdir()
        source = folder / "in"
        source.write_bytes(b"".join([*every[:spoiled], b"\xff{\n", *every[spoiled + 1 :]]))
        rows = told(imported(source, folder, name)[1])
        assert len(kept & {row[2] for row in rows}) >= len(kept) - 2


def test_a_compressed_file_is_imported(tmp_path: Path) -> None:
    packed = tmp_path / "it.gz"
    packed.write_bytes(gzip.compress((SAMPLES / "plain.ndjson").read_bytes()))
    assert len(imported(packed, tmp_path)[1].frames) == 9


@pytest.mark.long
def test_a_huge_list_is_not_held_in_memory(tmp_path: Path) -> None:
    element = (
        b'{"_direction":"incoming","_type":"notification","id":null,"method":"m","params":{"x":"'
        + b"y[{" * 2000
        + b'"}}'
    )
    source = tmp_path / "huge.json"
    source.write_bytes(b"[" + b",".join([element] * 3000) + b"]")
    assert source.stat().st_size > 18_000_000
    tracemalloc.start()
    result = import_file(source, tmp_path / "out")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.counts["frames"] == 3000
    assert peak < 9_000_000


def test_real_traffic_is_imported_to_the_byte(shared: Path, tmp_path: Path) -> None:
    """All captures of real agents, malformed input among it."""
    files = sorted((shared / "traffic").glob("*.ndjson"))
    assert len(files) >= 19
    for path in files:
        folder = tmp_path / path.name
        folder.mkdir()
        result, recording = imported(path, folder)
        said: list[tuple[str, float, bytes]] = []
        for line in path.read_bytes().splitlines():
            row = json.loads(line)
            raw = base64.b64decode(row["b64"]) if "b64" in row else row["line"].encode()
            said.append((row["dir"], row["t"], raw + b"\n"))
        who = {"client": "c2a", "agent": "a2c"}
        assert result.format.name == "capture"
        assert result.counts["broken"] == 0
        read = [
            (who[entry.side], round(entry.time, 4), entry.data + entry.line_ending)
            if isinstance(entry, Frame)
            else ("stderr", round(entry.time, 4), entry.data)
            for entry in recording.entries
            if not isinstance(entry, JournalEvent)
        ]
        assert read == said, path.name


def test_a_stream_with_lengths_is_imported_with_its_headers(tmp_path: Path) -> None:
    result, recording = imported(SAMPLES / "framed.stream", tmp_path)
    assert (result.counts["frames"], result.counts["broken"], result.guesses) == (4, 0, {})
    assert [each.side for each in recording.frames] == ["client", "agent"] * 2
    assert all(json.loads(each.data)["jsonrpc"] == "2.0" for each in recording.frames)
    wire = b"".join(each.wire for each in recording.frames)
    assert wire == (SAMPLES / "framed.stream").read_bytes()


FRAMED = [
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
    b'{"jsonrpc":"2.0","id":1,"result":{"x":"\xc3\xbc"}}',
    b'{"jsonrpc":"2.0","id":2,"method":"session/new","params":{\n}}',
]


def test_lines_of_a_capture_are_joined_to_the_frames_of_their_side(tmp_path: Path) -> None:
    client, agent = (
        b"".join(encode_frame(raw, "headers") for raw in part)
        for part in (FRAMED[::2], FRAMED[1:2])
    )
    rows = [
        {"t": 0.5, "dir": way, "line": line.removesuffix(b"\n").decode()}
        | ({} if line.endswith(b"\n") else {"noeol": True})
        for way, stream in (("c2a", client), ("a2c", agent))
        for line in BytesIO(stream)
    ]
    source = tmp_path / "it.ndjson"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result, recording = imported(source, tmp_path)
    assert result.format.name == "capture"
    assert result.counts == {"frames": 3, "broken": 0}
    assert [each.seq for each in recording.entries] == [1, 2, 3]
    assert [each.data for each in recording.frames] == [*FRAMED[::2], FRAMED[1]]
    assert b"".join(each.wire for each in recording.frames) == client + agent


def test_a_target_that_exists_is_only_replaced_when_that_was_said(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("precious")
    with pytest.raises(RecordingExistsError):
        import_file(SAMPLES / "zed.json", out)
    assert out.read_text() == "precious"
    import_file(SAMPLES / "zed.json", out, overwrite=True)
    assert len(read_recording(out).frames) == 4


def test_a_file_is_not_imported_into_itself(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_bytes((SAMPLES / "plain.ndjson").read_bytes())
    with pytest.raises(RecordingError, match="choose another name"):
        import_file(source, source, overwrite=True)
    assert source.read_bytes() == (SAMPLES / "plain.ndjson").read_bytes()


def test_what_is_unknown_or_ours_is_refused_and_nothing_written(tmp_path: Path) -> None:
    source, ours, out = tmp_path / "in", tmp_path / "ours", tmp_path / "out"
    source.write_text("hello\n")
    with pytest.raises(UnknownFormatError, match=r"cannot import .*in: its format is not known"):
        import_file(source, out)
    import_file(SAMPLES / "zed.json", ours)
    with pytest.raises(UnknownFormatError, match="recording already"):
        import_file(ours, out)
    with pytest.raises(RecordingError, match="cannot read"):
        import_file(tmp_path / "missing", out)
    assert not out.exists()


def test_plain_messages_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    source, target = tmp_path / "plain", tmp_path / "a.acp.ndjson"
    line = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
    source.write_bytes(b"\xef\xbb\xbf" + line + b"\n")
    assert import_file(source, target).format.name == "ndjson"
    assert [frame.data for frame in read_recording(target).frames] == [line]
