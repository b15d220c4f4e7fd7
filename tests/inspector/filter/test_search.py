"""Many entries and one expression: with an index and without, the same rows are meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.entries import ENTRY_TYPES, EntryList, RecordingEntries
from acp_inspector.filter.frames import EntryFields
from acp_inspector.filter.patterns import BoundedRegex
from acp_inspector.filter.scan import scan, scan_prefilter
from acp_inspector.filter.search import FilterSearch
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.messages import DecodedFrame
from acp_inspector.recording.format import Header, encode_header
from acp_inspector.recording.scan import RecordingScan
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.views.annotations import FrameNotes
from tests.conftest import ROOT
from tests.inspector.filter.expressions import EXPRESSIONS
from tests.inspector.talks import Said, answer, ask, batch, chunk, frames, prompt

RECORDINGS = sorted((Path(__file__).parents[3] / "recordings").glob("*.acp.ndjson"))

T = TypeVar("T")
ESCAPED = (
    b'{"n":9007,"t":2.5,"from":"agent","msg":{"jsonrpc":"2.0","method":"session\\/update",'
    b'"params":{"sessionId":"s\\u0031","update":{"sessionUpdate":"tool\\u005fcall"}}}}\n'
)


@pytest.fixture(params=RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A recording with some lines that are odd among those that are not."""
    lines = request.param.read_bytes().splitlines(keepends=True)
    odd = [
        b'{"n":9001,"t":1,"from":"agent","msg":{"id":77,"jsonrpc":"2.0","method":"fs/read"}}\n',
        b'{"n":9002,"t":2.0,"from":"client","msg":{"jsonrpc": "2.0", "id": 77, "result": 1}}\n',
        b'{"n":9003,"t":2.000000,"from":"client","text":"no JSON, but a session/prompt"}\n',
        b'{"n":9004,"t":2.000000,"from":"agent","b64":"/w=="}\n',
        b'{"n":9005,"t":2.000000,"from":"agent","stderr":"Warn \\u001b[31m\\n"}\n',
        b'{"n":9006,"t":2.000000,"event":"mark","text":"here"}\n',
        b"no line of ours\n",
        ESCAPED,
        b'{"n":9008,"t":2.500000,"from":"agent","msg":{"jsonrpc":"2.0","method":3}}\n',
        b'{"n":9009,"t":2.600000,"from":"client","msg":{"method":"session/prompt","params":{}}}\n',
        b'{"n":9010,"t":2.600000,"from":"client","msg":{"id":"n","method":"session/prompt"}}\n',
        b'{"n":9011,"t":2.6,"from":"agent","msg":{"jsonrpc":"2.0","method":"session/update","id":1.5}}\n',
        (
            b'{"n":9012,"t":2.600000,"from":"agent",'
            b'"msg":{"jsonrpc":"2.0","method":"session/update","id":1.5}}\n'
        ),
        (
            b'{"n":9013,"t":2.600000,"from":"agent",'
            b'"msg":{"jsonrpc":"2.0","method":"session/update","params":7}}\n'
        ),
        (
            b'{"n":9014,"t":2.700000,"from":"client","msg":[{"jsonrpc":"2.0","id":81,'
            b'"method":"session/list"},{"jsonrpc":"2.0","id":82,"method":"session/prompt"}]}\n'
        ),
        (
            b'{"n":9015,"t":2.800000,"from":"agent","msg": [{"jsonrpc":"2.0","id":82,"result":{}},'
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1"}}]}\n'
        ),
        b'{"n":9016,"t":2.900000,"from":"agent","msg":{"jsonrpc":"2.0","id":81,"result":{}}}\n',
    ]
    found = tmp_path / "it.acp.ndjson"
    found.write_bytes(b"".join([*lines[:-1], *odd, *lines[-1:]]))
    return found


def meant(entries: list[Entry], expression: str) -> list[int]:
    """Return the numbers of what is meant, found by looking at everything."""
    wanted, exchanges = compile_filter(expression), Exchanges()
    for entry in entries:
        if isinstance(entry, Frame):
            exchanges.apply(entry)
    return [entry.seq for entry in entries if wanted.matches(EntryFields(entry, exchanges))]


ARRAYS = frames(
    batch(ask("client", 1, "session/list"), prompt(2, "hi")),
    ask("client", 3, "session/close"),
    ask("client", 4, "session/fork"),
    batch(answer("agent", 3, {}), answer("agent", 2, {}), ("agent", {"method": "session/update"})),
    batch(("agent", {"id": 1, "error": {"code": -32601, "message": "no"}})),
)


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("method == session/list", [1, 5]),
        ("method == session/prompt", [1, 4]),
        ("method == session/close and kind == result", [4]),
        ("method == session/list and kind == result", []),
        ("kind == batch", [1, 4, 5]),
        ("kind == request", [1, 2, 3]),
        ("session == s1", [1, 4]),
        ("latency > 250ms", [4, 5]),
        ("code == -32601", [5]),
        ("id == 2", [1, 4]),
        ("pending", [3]),
        ("$.method == session/list or $[1].id == 2", [1, 4]),
    ],
)
def test_an_array_matches_if_one_of_its_messages_does(
    expression: str, found: list[int], tmp_path: Path
) -> None:
    wanted = compile_filter(expression)
    assert meant(list(ARRAYS), expression) == found
    assert [row + 1 for row in FilterSearch(EntryList(ARRAYS), wanted).find_all()] == found
    path = tmp_path / "it.acp.ndjson"
    writer = RecordingWriter(path, Header("", "", ""))
    writer.write(ARRAYS)
    writer.close()
    with RecordingEntries(path).index_all() as recording:
        assert [row + 1 for row in FilterSearch(recording, wanted).find_all()] == found
    if passes := scan_prefilter(wanted):
        with RecordingScan(path, lambda line: None) as scanned:
            read = [
                each for each in scan(scanned, wanted, passes) if isinstance(each, DecodedFrame)
            ]
        assert [each.frame.seq for each in read] == found


TWO_BLOCKS = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
CONTINUUM_CHUNK: Said = (
    "agent",
    {"method": "session/update", "params": {"sessionId": "s1", "content": TWO_BLOCKS}},
)
CONTINUUM = frames(
    ask("client", 1, "initialize", protocolVersion=1, clientCapabilities={"readTextFile": True}),
    answer("agent", 1, {"protocolVersion": 1, "agentCapabilities": {"image": True}}),
    ask("client", 2, "session/prompt", sessionId="s1", content=[{"type": "text", "text": "hi"}]),
    CONTINUUM_CHUNK,
    ("agent", {"id": 2, "error": {"code": -32001, "message": "gone"}}),
    # A request that means a notification.
    ask("client", 3, "session/cancel", sessionId="s1"),
    answer("agent", 3, {}),
)
OFFICIAL = frames(
    ask("client", 1, "initialize", protocolVersion=1, clientCapabilities={"fs": {}}),
    answer("agent", 1, {"protocolVersion": 1, "agentCapabilities": {"promptCapabilities": {}}}),
    chunk("Hello"),
)
MIXED: list[Entry] = [
    *OFFICIAL,
    JournalEvent(4, 0.4, "spawn", {"pid": 1}),
    *(replace(frame, seq=frame.seq + 4) for frame in CONTINUUM),
    JournalEvent(12, 1.2, "spawn", {"pid": 2}),
    *(replace(frame, seq=frame.seq + 12) for frame in OFFICIAL),
]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("update == agent_message_chunk", [3, 8, 15]),
        ("update == agent_message_chunk and t < 0.35s", [3, 15]),
        ("session == s1", [3, 7, 8, 9, 10, 11, 15]),
        ("method == session/prompt", [7, 9]),
        ("kind == error and method == session/prompt", [9]),
        ("code == -32001", [9]),
        ("$.params.prompt[0].text == hi", [7]),
        ("$.params.content[1].text == two", [8]),
        ("two", [8]),
        ("agent_message_chunk", [3, 15]),
        ("method == session/cancel", [10, 11]),
        ("latency < 150ms and method == session/cancel", [11]),
        ("pending", []),
        ("id == 2", [7, 9]),
    ],
)
def test_a_frame_of_a_dialect_matches_by_what_it_means(
    expression: str, found: list[int], tmp_path: Path
) -> None:
    wanted = compile_filter(expression)
    assert [row + 1 for row in FilterSearch(EntryList(MIXED), wanted).find_all()] == found
    path = tmp_path / "it.acp.ndjson"
    writer = RecordingWriter(path, Header("", "", ""))
    writer.write(MIXED)
    writer.close()
    with RecordingEntries(path).index_all() as recording:
        assert [row + 1 for row in FilterSearch(recording, wanted).find_all()] == found
        assert list(recording.translated(0, len(recording))) == [4, 5, 6, 7, 8, 9, 10]
    if passes := scan_prefilter(wanted):
        with RecordingScan(path, lambda line: None) as scanned:
            read = [
                each for each in scan(scanned, wanted, passes) if isinstance(each, DecodedFrame)
            ]
        assert [each.frame.seq for each in read] == found


def test_the_header_of_a_recording_names_the_dialect_and_the_directory(tmp_path: Path) -> None:
    """Without the frames that show the dialect it could not be recognised."""
    path = tmp_path / "it.acp.ndjson"
    opened = ask("client", 7, "session/new", mode="code")
    writer = RecordingWriter(path, Header("", "", "", cwd="/there", dialect="continuum"))
    writer.write(frames(opened, CONTINUUM_CHUNK))
    writer.close()
    for expression, found in (("$.params.cwd == /there", [1]), ("update exists", [2])):
        wanted = compile_filter(expression)
        with RecordingEntries(path).index_all() as recording:
            assert [row + 1 for row in FilterSearch(recording, wanted).find_all()] == found
            assert recording.dialect == "continuum"
    unknown = path.read_bytes().replace(b'"continuum"', b'"newer"')
    path.write_bytes(unknown)
    with RecordingEntries(path).index_all() as recording:
        assert recording.named_dialect is None


DELTA: Said = (
    "agent",
    {
        "method": "session/update",
        "params": {"session_id": "s1", "type": "text_delta", "text": "Hello"},
    },
)
NAMED: list[Entry] = [
    *OFFICIAL,
    JournalEvent(4, 0.4, "dialect", {"dialect": "openoxide"}),
    replace(frames(DELTA)[0], seq=5),
    JournalEvent(6, 0.6, "spawn", {"pid": 1}),
    JournalEvent(7, 0.6, "dialect", {"dialect": "openoxide"}),
    replace(frames(DELTA)[0], seq=8),
    JournalEvent(9, 0.9, "spawn", {"pid": 2}),
    replace(frames(DELTA)[0], seq=10),
    JournalEvent(11, 0.9, "dialect", {"dialect": "newer"}),
    replace(frames(DELTA)[0], seq=12),
]


def test_an_event_names_the_dialect_of_its_connection(tmp_path: Path) -> None:
    """Without it these frames could not be recognised."""
    wanted = compile_filter("update == agent_message_chunk")
    heard = EntryList(NAMED[:8])
    assert (heard.dialect, heard.named_dialect) == ("openoxide", "openoxide")
    heard.extend(NAMED[8:])
    assert (heard.dialect, heard.named_dialect) == (None, None)
    assert [row + 1 for row in FilterSearch(heard, wanted).find_all()] == [3, 5, 8]
    path = tmp_path / "it.acp.ndjson"
    for named in (None, "continuum"):
        path.unlink(missing_ok=True)
        writer = RecordingWriter(path, Header("", "", "", dialect=named))
        writer.write(NAMED)
        writer.close()
        with RecordingEntries(path).index_all() as recording:
            assert [row + 1 for row in FilterSearch(recording, wanted).find_all()] == [3, 5, 8]
        passes = scan_prefilter(wanted)
        assert passes is not None
        with RecordingScan(path, lambda line: None) as scanned:
            read = [
                each for each in scan(scanned, wanted, passes) if isinstance(each, DecodedFrame)
            ]
        assert [each.frame.seq for each in read] == [3, 5, 8]
    with RecordingEntries(path, "none").index_all() as recording:
        assert [row + 1 for row in FilterSearch(recording, wanted).find_all()] == [3]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_index_and_a_sieve_find_what_reading_everything_finds(
    path: Path, expression: str
) -> None:
    with RecordingEntries(path).index_all(step=1000) as recording:
        entries = [row for row in recording if isinstance(row, ENTRY_TYPES)]
        expected = meant(entries, expression)
        rows = FilterSearch(recording, compile_filter(expression)).find_all()
        found = [recording[row] for row in rows]
        assert [entry.seq for entry in found if isinstance(entry, ENTRY_TYPES)] == expected
        heard = EntryList(entries)
        rows = FilterSearch(heard, compile_filter(expression)).find_all()
        assert [heard[row].seq for row in rows] == expected


def test_the_examples_of_the_document_mean_the_same_to_an_index(tmp_path: Path) -> None:
    document = (ROOT / "docs/filters.md").read_text()
    examples = re.findall(r"^\| `(.+)` \| .* \| ([\d, ]+) \|$", document, re.MULTILINE)
    assert len(examples) >= 20
    path = tmp_path / "it.acp.ndjson"
    lines = document.partition("```json\n")[2].partition("```")[0]
    path.write_bytes(encode_header(Header("", "", "")) + lines.encode())
    with RecordingEntries(path).index_all() as recording:
        for text, numbers in examples:
            rows = FilterSearch(recording, compile_filter(text.replace("\\|", "|"))).find_all()
            assert [row + 1 for row in rows] == [int(n) for n in numbers.split(",")], text


@given(st.lists(st.integers(1, 5)), st.sampled_from(["latency >= 0s", "method == a", "id == 1"]))
def test_what_comes_later_is_looked_at_later(steps: list[int], expression: str) -> None:
    payloads = (b'{"jsonrpc":"2.0","id":1,"method":"a"}', b'{"jsonrpc":"2.0","id":1,"result":{}}')
    entries: list[Entry] = [
        Frame(n + 1, n / 10, ("client", "agent")[n % 2], payloads[n % 2]) for n in range(sum(steps))
    ]
    heard = EntryList()
    scan = FilterSearch(heard, compile_filter(expression))
    place = 0
    for step in steps:
        heard.extend(entries[place : place + step])
        place += step
        scan.find_all()
    assert [heard[row].seq for row in scan.rows] == meant(entries, expression)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def test_a_field_that_the_index_knows_costs_no_look_at_a_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = compile_filter("from == client and t >= 0s and not stderr and not pending")
    with RecordingEntries(path).index_all() as recording:
        # The first rows tell whether there is a dialect.
        assert not recording.translated(0, len(recording))
        monkeypatch.setattr(RecordingEntries, "raw_lines", None)
        monkeypatch.setattr(RecordingEntries, "__getitem__", None)
        assert FilterSearch(recording, wanted).find_all()


def test_a_response_matches_by_a_request_far_before_it(tmp_path: Path) -> None:
    payloads = [
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1"}}',
        *[b'{"jsonrpc":"2.0","id":7,"method":"m"}'] * 1200,
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
    ]
    frames = [
        Frame(n, n / 10, "agent" if b"result" in payload else "client", payload)
        for n, payload in enumerate(payloads, 1)
    ]
    path = tmp_path / "it.acp.ndjson"
    writer = RecordingWriter(path, Header("", "", ""))
    writer.write(frames)
    writer.close()
    with RecordingEntries(path).index_all() as recording:
        for text in ("kind == result and session == s1", "not kind == request and session == s1"):
            assert list(FilterSearch(recording, compile_filter(text)).find_all()) == [1201], text


def test_marks_come_from_the_notes() -> None:
    heard = EntryList([Frame(n, 0.0, "client", b"{}") for n in range(1, 5)])
    scan = FilterSearch(
        heard, compile_filter("marked"), lambda entry: FrameNotes(is_marked=entry.seq == 3)
    )
    assert list(scan.find_all()) == [2]


def test_it_can_be_left_after_each_step() -> None:
    heard = EntryList([Frame(n, 0.0, "client", b"{}") for n in range(1, 1000)])
    scan = FilterSearch(heard, compile_filter("{"))
    next(scan.steps())
    assert 0 < scan.position < 100
    assert len(scan.find_all()) == 999


class Elsewhere:
    """Does what may take long when somebody looks for the third time, and counts it."""

    def __init__(self) -> None:
        self.deeds = 0
        self.is_inside = False

    def __call__(self, deed: Callable[[], T], /) -> Generator[None, None, T]:
        self.deeds += 1
        yield
        yield
        self.is_inside = True
        try:
            return deed()
        finally:
            self.is_inside = False


PATTERNS = ("method ~ ^session/", "/P.*T/", "kind ~ quest and $.params ~ a", "update ~ c or error")


@pytest.mark.parametrize("expression", PATTERNS)
def test_patterns_run_only_in_the_slow_runner(
    path: Path, expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = Elsewhere()
    is_tried: list[bool] = []

    def is_found_in(self: BoundedRegex[str], text: str) -> bool:
        is_tried.append(elsewhere.is_inside)
        return find(self, text)

    find = BoundedRegex[str].is_found_in
    monkeypatch.setattr(BoundedRegex, "is_found_in", is_found_in)
    with RecordingEntries(path).index_all() as recording:
        wanted = compile_filter(expression)
        assert wanted.has_patterns
        found = FilterSearch(recording, wanted, run_slow=elsewhere).find_all()
        assert is_tried
        assert all(is_tried)
        assert found == FilterSearch(recording, compile_filter(expression)).find_all()
        heard = EntryList([row for row in recording if isinstance(row, ENTRY_TYPES)])
        is_tried.clear()
        rows = FilterSearch(heard, wanted, run_slow=elsewhere).find_all()
        assert all(is_tried)
        assert [heard[row].seq for row in rows] == meant(heard_all(heard), expression)


def heard_all(heard: EntryList) -> list[Entry]:
    return [heard[row] for row in range(len(heard))]


def test_filters_without_patterns_do_not_use_the_slow_runner(path: Path) -> None:
    elsewhere = Elsewhere()
    with RecordingEntries(path).index_all() as recording:
        FilterSearch(recording, compile_filter("error or words"), run_slow=elsewhere).find_all()
    assert not elsewhere.deeds
