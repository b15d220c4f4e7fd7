"""One pass over a file finds what decoding every line finds, and reports the same lines."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.filter import scan as module
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.frames import EntryFields
from acp_inspector.filter.scan import scan, scan_prefilter
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.messages import DecodedFrame
from acp_inspector.recording.format import Header, decode_line, encode_entry, encode_header
from acp_inspector.recording.reader import BadLine, read_lines
from acp_inspector.recording.scan import RecordingScan
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.session.exchanges import Exchanges
from acp_protocol.dialects.detect import MAX_FRAMES
from tests.inspector.filter.expressions import EXPRESSIONS

RECORDINGS: Final = sorted((Path(__file__).parents[3] / "recordings").glob("*.acp.ndjson"))
MESSAGES: Final = [
    b'{"jsonrpc":"2.0","id":%b,"method":"session/prompt","params":{"sessionId":"s1"}}',
    b'{"jsonrpc":"2.0","id":%b,"method":"fs\\/read_text_file","params":{"sessionId":"s2"}}',
    b'{"jsonrpc":"2.0","id":%b,"method":"session\\u002fprompt"}',
    b'{"jsonrpc":"2.0","id":%b,"method":"a","params":7}',
    b'{"jsonrpc":"2.0","method":"session/prompt","params":{"text":"PROMPT"},"id":%b}',
    b'{"jsonrpc":"2.0","id":%b,"result":{"text":"prompt"}}',
    b'{"jsonrpc":"2.0","id":%b,"result":{"id":1}}',
    b'{"result":{},"id":%b,"jsonrpc":"2.0"}',
    b'{"jsonrpc":"2.0","id":%b,"error":{"code":-1,"message":"no session/prompt"}}',
    b'[{"jsonrpc":"2.0","id":%b,"method":"session/prompt"}]',
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","id":%b}}',
    b'{"jsonrpc":"2.0","method":"session\\/update","params":{"sessionId":"s\\u0031","x":%b}}',
    b"no JSON, but a session/prompt %b",
    b"\xff \\u0070rompt %b",
    b'{"NaN": NaN, "id": %b}',
    b'[{"jsonrpc":"2.0","id":%b,"result":{}},{"jsonrpc":"2.0","method":"session/update"}]',
]
IDS: Final = [b"1", b"2", b'"1"', b'"a\\"b"', b"null"]
FRAMES: Final = [
    (side, message % id_) for side in ("client", "agent") for message in MESSAGES for id_ in IDS
]
frames = st.sampled_from(FRAMES)
others = st.sampled_from(
    [
        b'{"n":9,"t":1.000000,"event":"spawn","pid":1}\n',
        b'{"n":9,"t":1.000000,"event":"exit","text":"a prompt"}\n',
        b'{"n":9,"t":1.000000,"from":"agent","stderr":"a prompt\\n"}\n',
        b'{"n":9,"t":1.000000,"from":"agent","text":"\\u0070rompt"}\n',
        b'{"n":9,"t":1,"from":"agent","msg":{"prompt":1}}\n',
        b'{"n":9,"t":1.0,"from":"agent","msg":{"prompt":1}}\n',
        b'{"n":9,"t":1.000000,"from":"agent","msg":{"prompt":1},"end":"\\r\\n"}\n',
        b'{"n":9,"t":1.0,"from":"agent","msg":{"prompt":1},"end":5}\n',
        b"no line of ours\n",
        b"\n",
        b"x" * 3000 + b"\n",
        b'{"end":{},"digest":"0"}\n',
    ]
)
disguised = st.sampled_from(
    [
        b'{"n":9,"t":1.000000,"from":"agent","msg":{"prompt":1},"end":5}\n',
        b'{"n":9,"t":1.000000,"from":"agent","msg":{"prompt":1},"event":"x"}\n',
        b'{"n":9,"t":1.000000,"from":"agent","msg":\xef\xbb\xbf{"prompt":1}}\n',
        b'{"n":9,"t":1.000000,"from":"agent","msg":{"prompt":1}{}}\n',
        b'{"n":9,"t":1.000000,"from":"agent","msg":{"prompt":NaN}}\n',
        b'{"n":9,"t":1.000000,"from":"agent","msg":{"prompt":-Infinity}}\n',
        b'{"n":9,"t":1.000000,"from":"agent","msg":[1]}\n',
        b'{"n":9,"t":1.000000,"from":"agent","msg":}\n',
        b'{"n":9,"t":1.000000,"from":"agent","msg":"\xff"}\n',
        b'{"n":9,"t":1.000000,"from":"agent","msg":{"\xff":"\\ud800"}}\n',
        b'{"n":9,"t":1.000000,"from":"agent","msg":' + b'{"a":' * 250 + b"1" + b"}" * 251 + b"\n",
    ]
)
"""Lines that begin like messages; some are none."""
SEARCHED: Final = [
    "prompt",
    '""',
    '"\n"',
    '"method\\":\\"session"',
    'PROMPT or "s2"',
    "method == session/prompt",
    "method == fs/read_text_file and kind == result",
    "session == s1",
    "session in (s1, s2) or error",
    "session == s1 and not kind == request",
    "code == -1",
    "update == plan or $.params.sessionId == s1",
    "size > 60",
    "prompt or stderr or event == exit",
]


def slowly(path: Path, expression: str) -> tuple[list[Entry], list[BadLine]]:
    """Return the entries that match and the bad lines, found by decoding every line."""
    wanted, exchanges = compile_filter(expression), Exchanges()
    found: list[Entry] = []
    bad: list[BadLine] = []
    for row in read_lines(path, max_line=2000):
        if isinstance(row, BadLine):
            bad.append(row)
        if isinstance(row, JournalEvent) and row.begins_connection:
            exchanges.restart(row.seq)
        if isinstance(row, Frame):
            exchanges.apply(row)
        if isinstance(row, Frame | StderrChunk | JournalEvent) and wanted.matches(
            EntryFields(row, exchanges)
        ):
            found.append(row)
    return found, bad


def quickly(path: Path, expression: str) -> tuple[list[Entry], list[BadLine]]:
    wanted = compile_filter(expression)
    passes = scan_prefilter(wanted)
    assert passes is not None
    bad: list[BadLine] = []
    with RecordingScan(path, bad.append, max_line=2000) as recording:
        found = scan(recording, wanted, passes)
        entries = [each.frame if isinstance(each, DecodedFrame) else each for each in found]
    return entries, bad


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scans")


def numbered(lines: list[bytes | tuple[str, bytes]]) -> Iterator[bytes]:
    for n, line in enumerate(lines, 1):
        if isinstance(line, tuple):
            side, data = line
            yield encode_entry(Frame(n, n / 10, "client" if side == "client" else "agent", data))
        else:
            yield line.replace(b'"n":9', b'"n":%d' % n)


@given(st.lists(frames | others, max_size=30), st.sampled_from(SEARCHED), st.integers(0, 9))
def test_a_scan_matches_and_reports_what_decoding_every_line_does(
    folder: Path, lines: list[bytes | tuple[str, bytes]], expression: str, cut: int
) -> None:
    path = folder / "it.acp.ndjson"
    content = b"".join(numbered(lines))
    path.write_bytes(encode_header(Header("", "", "")) + content[: max(0, len(content) - cut)])
    expected = slowly(path, expression)
    assert quickly(path, expression) == expected
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert quickly(path, expression) == expected


@given(st.lists(frames | others | disguised, max_size=30), st.integers(0, 9))
def test_frames_are_counted_as_if_every_line_were_decoded(
    folder: Path, lines: list[bytes | tuple[str, bytes]], cut: int
) -> None:
    path = folder / "it.acp.ndjson"
    content = b"".join(numbered(lines))
    path.write_bytes(encode_header(Header("", "", "")) + content[: max(0, len(content) - cut)])
    rows = list(read_lines(path, max_line=2000))
    bad: list[BadLine] = []
    with RecordingScan(path, bad.append, max_line=2000) as recording:
        assert recording.count_frames() == sum(isinstance(row, Frame) for row in rows)
    assert bad == [row for row in rows if isinstance(row, BadLine)]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_recordings_are_scanned_like_they_are_read(path: Path, expression: str) -> None:
    if scan_prefilter(compile_filter(expression)):
        assert quickly(path, expression) == slowly(path, expression)


def test_the_digests_of_several_footers_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    for mode in ("new", "append"):
        writer = RecordingWriter(path, Header("", "", ""), mode=mode)
        writer.write([Frame(1, 0.0, "client", b'{"text":"prompt"}')])
        writer.close()
    assert quickly(path, "prompt")[1] == []
    content = path.read_bytes()
    path.write_bytes(content.replace(b"prompt", b"Prompt", 1))
    found, bad = quickly(path, "prompt")
    assert (len(found), [each.line for each in bad]) == (2, [3, 5])
    assert quickly(path, "prompt") == slowly(path, "prompt")


def test_a_response_matches_by_a_request_in_an_earlier_block(tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    filler = b'{"jsonrpc":"2.0","method":"m","params":{"text":"%b"}}' % (b"x" * 1000)
    data = [
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1"}}',
        *[filler] * 500,
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
    ]
    writer = RecordingWriter(path, Header("", "", ""))
    writer.write(
        Frame(n, n / 10, "agent" if b"result" in each else "client", each)
        for n, each in enumerate(data, 1)
    )
    writer.close()
    for text in ("method == session/prompt", "session == s1 and kind == result", "PROMPT"):
        assert [entry.seq for entry in quickly(path, text)[0]][-1] == 502, text


def test_only_lines_that_may_match_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it.acp.ndjson"
    writer = RecordingWriter(path, Header("", "", ""))
    data = [MESSAGES[0] % b"1", MESSAGES[5] % b"1", *[MESSAGES[10] % b"2"] * 300]
    writer.write(Frame(n, n / 10, "client", each) for n, each in enumerate(data, 1))
    writer.close()
    decoded: list[bytes] = []

    def decode(line: bytes) -> object:
        decoded.append(line)
        return decode_line(line)

    monkeypatch.setattr(module, "decode_line", decode)
    found, _ = quickly(path, "method == session/prompt")
    assert [entry.seq for entry in found] == [1]
    # The first ones tell whether there is a dialect.
    assert len([line for line in decoded if b"jsonrpc" in line]) == 2 * MAX_FRAMES + 1
