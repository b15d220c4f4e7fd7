"""Frames of a recording: as a table, as JSON, as bytes; and files that are none."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_inspector.journal import Entry, Frame, Journal, JournalEvent, StderrChunk
from acp_inspector.recording.format import encode_header, new_header
from acp_inspector.recording.writer import RecordingWriter
from acp_protocol.jsonrpc import Json, encode_request
from tests.console.cli.conftest import on_terminal
from tests.console.conftest import Call
from tests.inspector.talks import answer, ask, batch, chunk, frames
from tests.warm import WARM

RECORDINGS = Path(__file__).parents[3] / "recordings"
EXPRESSIONS = (
    "",
    "PROMPT",
    "method == session/prompt",
    "session exists and error or update == plan",
)
HELLO = {"sessionId": "s1", "prompt": [{"type": "text", "text": "hello"}]}
FRAMES = (
    ("client", encode_request(1, "session/prompt", HELLO), b"\n"),
    (
        "agent",
        b'{"jsonrpc":"2.0", "id":"\xc2\x9b31m\xe2\x80\xae", "method":"_\\u001b[2J"}',
        b"\r\n",
    ),
    ("agent", b"no \xff message \x1b[31m", b"\n"),
    ("agent", b'{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}', b""),
)


class Ticks:
    """A clock that goes a quarter of a second with each look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.25
        return self.now


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "it.acp.ndjson"
    journal = Journal(clock=Ticks())
    for side, raw, end in FRAMES:
        journal.frame("client" if side == "client" else "agent", raw, end)
    writer = RecordingWriter(path, new_header(["a"], tmp_path))
    writer.write(journal.entries)
    writer.close()
    return path


def test_the_table_is_plain_where_no_terminal_is(call: Call, recording: Path) -> None:
    done = call("show", str(recording))
    assert (done.code, done.err) == (exit_codes.DONE, "")
    assert done.out.replace("\n", "").isprintable()
    head, *rows = [line.split() for line in done.out.splitlines()]
    assert head == ["n", "t", "from", "message", "id", "latency", "size", "summary"]
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    assert rows[0][2:] == ["client", "→", "session/prompt", "1", "120", '"hello"']
    assert rows[3][4:7] == ["result", "session/prompt", "1"]
    assert rows[3][7:] == ["750", "ms", "59", "stopReason", "end_turn"]


def test_on_a_terminal_the_summary_has_the_room_that_it_needs(call: Call) -> None:
    """Each frame is on one line, at any width; a pipe gets all columns whole."""
    edit = str(Path(__file__).parents[3] / "recordings/edit.acp.ndjson")
    words = ("show", "--filter", "n in 9..11", edit)
    wide = on_terminal(*words, size=(120, 40)).out
    assert re.search(r"update/tool_call +320  call_1 Read notes.md pending\r", wide)
    narrow = re.sub(r"\x1b\[[\d;]*m", "", on_terminal(*words, size=(80, 40)).out)
    lines = narrow.splitlines()
    assert lines[0].split() == ["n", "t", "from", "message", "latency", "summary"]
    assert re.search(r"update/agent_message_ch… +\"I.ll read `notes.md`", lines[1])
    assert [line for line in lines if len(line) > 80] == []
    assert "update/agent_message_chunk" in call(*words).out


def test_json_is_one_object_a_line_that_no_terminal_obeys(call: Call, recording: Path) -> None:
    done = call("show", "--format", "json", str(recording))
    assert done.out.isascii()
    assert done.out.replace("\n", "").isprintable()
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["kind"] for row in rows] == ["request", "request", "malformed", "result"]
    assert rows[1]["id"] == "\x9b31m\u202e"
    assert rows[3]["latency"] == 0.75
    assert list(rows[0]) == [
        *("v", "n", "t", "from", "kind", "method", "id", "session", "latency", "size", "summary")
    ]


def test_raw_is_every_byte(recording: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    assert call("show", "--format", "raw", str(recording)).code == exit_codes.DONE
    shown = out.buffer
    assert isinstance(shown, io.BytesIO)
    assert shown.getvalue() == b"".join(raw + end for _, raw, end in FRAMES)


def test_raw_bytes_do_not_go_to_a_terminal(
    recording: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    done = call("show", "--format", "raw", str(recording))
    assert (done.code, done.out) == (exit_codes.USAGE, "")


def test_only_the_frames_that_hold_the_text_are_shown(call: Call, recording: Path) -> None:
    done = call("show", "--filter", "PROMPT", "--fields", "n,method", str(recording))
    assert [line.split()[0] for line in done.out.splitlines()] == ["n", "1", "4"]
    assert call("show", "--filter", "nowhere", "--count", str(recording)).out == "0\n"
    assert call("show", "--count", str(recording)).out == "4\n"


def test_an_expression_selects_frames(call: Call, recording: Path) -> None:
    def numbers(expression: str) -> list[str]:
        done = call("show", "--filter", expression, "--fields", "n", str(recording))
        assert (done.code, done.err) == (exit_codes.DONE, "")
        return done.out.split()[1:]

    assert numbers("from == agent and latency > 500ms") == ["4"]
    assert numbers("kind == request and session == s1") == ["1"]
    assert numbers("malformed") == ["3"]
    assert numbers("/no . message/ or $.result.stopReason == end_turn") == ["3", "4"]
    assert numbers("size > 60 and not pending") == ["1"]
    assert numbers("") == ["1", "2", "3", "4"]


def test_a_silence_is_found_by_the_gap_before_a_frame(call: Call, tmp_path: Path) -> None:
    """Stderr and events do not end a silence."""
    path = tmp_path / "silent.acp.ndjson"
    times = {1: 0.5, 2: 0.5, 4: 12.5, 5: 13.0}
    frames: list[Entry] = [Frame(n, t, "agent", b"{}") for n, t in times.items()]
    writer = RecordingWriter(path, new_header(["a"], tmp_path))
    writer.write([*frames[:2], StderrChunk(3, 9.0, b"busy"), *frames[2:]])
    writer.close()
    done = call("show", "--fields", "n,gap", "--json", str(path))
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"v": 1, "n": 1, "gap": None},
        {"v": 1, "n": 2, "gap": 0.0},
        {"v": 1, "n": 4, "gap": 12.0},
        {"v": 1, "n": 5, "gap": 0.5},
    ]
    done = call("show", "--filter", "gap > 10s", "--fields", "n,gap", str(path))
    assert [line.split() for line in done.out.splitlines()] == [["n", "gap"], ["4", "12.0", "s"]]
    assert call("show", "--filter", "gap == 0", "--count", str(path)).out == "1\n"
    done = call("lint", "--filter", "gap > 10s", "--json", str(path))
    assert {n for each in json.loads(done.out)["findings"] for n in each["frames"]} == {4}


def test_a_request_without_response_is_pending(call: Call, recording: Path) -> None:
    done = call("show", "--filter", "pending", "--fields", "n", str(recording))
    assert done.out.split()[1:] == ["2"]


def test_stderr_and_events_are_shown_where_a_filter_names_them(call: Call, recording: Path) -> None:
    with recording.open("ab") as file:
        file.write(b'{"n":5,"t":2.5,"from":"agent","stderr":"Panic \\u001b[31m\\n"}\n')
        file.write(b'{"n":6,"t":2.6,"event":"exit","code":1}\n')

    def shown(expression: str, *options: str) -> str:
        done = call("show", "--filter", expression, *options, str(recording))
        assert done.code == exit_codes.DONE
        return done.out

    assert shown("n > 4", "--count") == "0\n"
    assert shown("stderr", "--fields", "n,from,summary").splitlines()[1:] == [
        "5  ← agent  Panic ␛[31m"
    ]
    assert shown("event == exit", "--fields", "n,from,summary").split()[3:] == [
        *"6·",
        *["the", "agent", "ended", "with", "exit", "code", "1"],
    ]
    assert shown("stderr", "--format", "raw") == "Panic \x1b[31m\n"
    assert json.loads(shown("kind == event", "--format", "json"))["from"] is None


def test_an_edited_frame_of_a_dialect_is_shown_by_its_meaning(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "edited.acp.ndjson"
    was = b'{"type":"prompt","session_id":"s1","content":[{"type":"text","text":"hello"}]}'
    now = was.replace(b"hello", b"goodbye")
    data: dict[str, Json] = {"of": 1, "by": "person", "was": was.decode(), "now": now.decode()}
    writer = RecordingWriter(path, new_header(["a"], tmp_path))
    writer.write([Frame(1, 0.1, "client", was), JournalEvent(2, 0.2, "edited", data)])
    writer.close()
    assert json.loads(call("show", "--json", str(path)).out)["summary"] == '✎ "goodbye"'


def test_an_edited_frame_is_shown_as_it_was_sent(call: Call, tmp_path: Path) -> None:
    path, was = tmp_path / "edited.acp.ndjson", FRAMES[0][1]
    now = was.replace(b"hello", b"goodbye")
    data: dict[str, Json] = {"of": 1, "by": "person", "was": was.decode(), "now": now.decode()}
    writer = RecordingWriter(path, new_header(["a"], tmp_path))
    released = JournalEvent(3, 0.3, "released", {"of": 1, "by": "person"})
    writer.write([Frame(1, 0.1, "client", was), JournalEvent(2, 0.2, "edited", data), released])
    writer.close()
    for options in ((), ("--filter", "method == session/prompt"), ("--filter", "hello or event")):
        assert '✎ "goodbye"' in call("show", *options, str(path)).out
    found = json.loads(call("show", "--json", str(path)).out)
    assert (found["summary"], found["size"]) == ('✎ "goodbye"', len(now))
    events = call("show", "--filter", "event", str(path)).out
    assert '✎ text "hello" → "goodbye" in frame 1, edited by a person' in events
    assert "▶ frame 1 was released by a person" in events
    conversation = call("show", "--view", "conversation", str(path)).out
    assert "you: goodbye" in conversation
    assert '✎ text "hello" → "goodbye" in frame 1, edited by a person' in conversation
    [session] = json.loads(call("show", "--view", "conversation", "--json", str(path)).out)[
        "sessions"
    ]
    assert session["edited"] == {session["items"][0]["key"]: [1]}
    read, write = os.pipe()
    os.write(write, path.read_bytes())
    os.close(write)
    assert call("show", "--view", "conversation", f"/dev/fd/{read}").out == conversation
    os.close(read)
    # The event comes later, and yet the frame is what was sent.
    at = call("show", "--view", "conversation", "--at", "1", str(path)).out
    assert "you: goodbye" in at


def test_what_is_written_behind_is_shown_as_it_comes(recording: Path) -> None:
    more = b'{"n":%d,"t":9.5,"from":"client","msg":{"jsonrpc":"2.0","id":"a","result":{}}}\n'
    command = [*WARM, "-m", "acp_console", "show", "--follow", "--fields", "n,method"]
    with subprocess.Popen([*command, str(recording)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert [process.stdout.readline().split()[:1] for _ in range(5)] == [
            *([b"n"], [b"1"], [b"2"], [b"3"], [b"4"])
        ]
        with recording.open("ab") as file:
            file.write(b'{"n":5,"t":9.0,"from":"agent","msg":{"jsonrpc":"2.0","id":"a",')
            file.flush()
            file.write(b'"method":"fs/x"}}\n' + more % 6)
        lines = [process.stdout.readline().split() for _ in range(2)]
        assert lines == [[b"5", b"fs/x"], [b"6", b"fs/x"]], "an answer knows its question"
        process.send_signal(signal.SIGINT)
        assert process.wait() == exit_codes.INTERRUPTED


def test_what_is_followed_has_no_count(call: Call, recording: Path) -> None:
    done = call("show", "--follow", "--count", str(recording))
    assert (done.code, done.out) == (exit_codes.USAGE, "")


def test_an_expression_that_is_none_is_shown_with_carets(call: Call, recording: Path) -> None:
    done = call("show", "--filter", "size > 4kb and metod == x", str(recording))
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert done.err.startswith("error: --filter: there is no field `metod`\n")
    assert "  size > 4kb and metod == x\n                        ^^^^^\n" in done.err
    assert done.err.endswith("\nhint: did you mean `method`?\n")


def test_an_expression_reaches_the_terminal_as_what_can_be_shown(
    call: Call, recording: Path
) -> None:
    done = call("show", "--filter", "\x1b[2J == 3", str(recording))
    assert done.code == exit_codes.USAGE
    assert done.err.replace("\n", "").isprintable()


def test_an_unknown_field_is_reported_with_the_known_ones(call: Call, recording: Path) -> None:
    done = call("show", "--fields", "n,color", str(recording))
    assert done.code == exit_codes.USAGE
    assert "unknown field 'color'\nhint: fields: n, t, from" in done.err


def test_a_recording_that_was_cut_is_shown_as_far_as_it_goes(call: Call, recording: Path) -> None:
    cut = recording.read_bytes().splitlines(keepends=True)
    recording.write_bytes(b"".join(cut[:3]) + cut[3][:20])
    done = call("show", "--count", str(recording))
    assert (done.code, done.out) == (exit_codes.DONE, "2\n")
    assert "line 4: the file ends in the middle of this line" in done.err


def test_a_last_line_without_its_newline_is_found(call: Call, recording: Path) -> None:
    lines = recording.read_bytes().splitlines(keepends=True)
    recording.write_bytes(b"".join(lines[:5]).removesuffix(b"\n"))
    for expression in ("", "stopReason", "method == session/prompt and kind == result"):
        done = call("show", "--filter", expression, "--format", "json", str(recording))
        assert (done.code, done.err) == (exit_codes.DONE, "")
        assert json.loads(done.out.splitlines()[-1])["n"] == 4, expression


def test_a_pipe_gets_the_whole_summary(call: Call, tmp_path: Path) -> None:
    text = f"{'word ' * 2000}end"
    path = tmp_path / "long.acp.ndjson"
    writer = RecordingWriter(path, new_header(["a"], tmp_path))
    writer.write(frames(chunk(text)))
    writer.close()
    assert call("show", str(path)).out.splitlines()[1].endswith(f'"{text}"')
    *_, narrow = on_terminal("show", str(path), size=(120, 40)).out.splitlines()
    assert "…" in narrow


@pytest.mark.parametrize("format_", ["table", "json", "raw"])
def test_a_file_prints_what_a_pipe_prints(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    """A pipe is decoded line by line; a file is searched."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in sorted(RECORDINGS.rglob("*.acp.ndjson"))[:12]:
        for expression in EXPRESSIONS:
            outputs: list[bytes] = []
            for source in (path, pipe):
                out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
                monkeypatch.setattr(sys, "stdout", out)
                with (
                    subprocess.Popen(["cp", str(path), str(pipe)])
                    if source == pipe
                    else (contextlib.nullcontext())
                ):
                    done = call("show", "--filter", expression, "--format", format_, str(source))
                assert (done.code, done.err) == (exit_codes.DONE, ""), (path, expression)
                out.flush()
                assert isinstance(out.buffer, io.BytesIO)
                outputs.append(out.buffer.getvalue())
            assert outputs[0] == outputs[1], (path, expression)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "it is empty"),
        (b"\n", "its first line is not a header"),
        (b"hello\n", "its first line is not a header"),
        (b'{"jsonrpc":"2.0","id":1,"result":null}\n', "its first line is not a header"),
        (b"\0" * 3_000_000, "its first line is not a header"),
        (b"[" * 200_000, "its first line is not a header"),
    ],
)
def test_a_foreign_file_is_named_as_such(
    call: Call, tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    for words in (["show"], ["show", "--count"], ["show", "--filter", "x"], ["replay"]):
        done = call(*words, str(path), *(["demo"] if words == ["replay"] else []))
        assert (done.code, done.out) == (exit_codes.USAGE, "")
        assert done.err == f"error: {path} is not a recording: {sentence}\n"


def test_a_file_that_cannot_be_read_is_an_error(call: Call, tmp_path: Path) -> None:
    done = call("show", str(tmp_path / "none"))
    assert done.code == exit_codes.USAGE
    assert f"cannot read {tmp_path}/none: no such file" in done.err


def test_a_filter_with_a_slow_pattern_warns_at_the_end(call: Call, tmp_path: Path) -> None:
    path, journal = tmp_path / "it.acp.ndjson", Journal(clock=Ticks())
    journal.frame("client", b'{"x":"' + b"a" * 60 + b'b"}', b"\n")
    writer = RecordingWriter(path, new_header(["a"], tmp_path))
    writer.write(journal.entries)
    writer.close()
    done = call("show", "--count", "--filter", "/((a|a)+)+$/", str(path))
    assert (done.code, done.out) == (exit_codes.DONE, "0\n")
    assert "its pattern takes longer than" in done.err


@pytest.mark.long
def test_compressed_data_that_grows_without_end_is_read_only_if_wished(tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson.gz"
    frame = b'{"n":%d,"t":0.1,"from":"agent","msg":{"text":"%b"}}\n'
    with gzip.open(path, "wb") as file:
        file.write(encode_header(new_header(["x"], tmp_path)))
        file.write(frame % (1, b"small"))
        file.write(frame % (2, b"a" * 2**27))
    command = [*WARM, "-m", "acp_console"]

    def count(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *options, "show", "--count", str(path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )

    done = count()
    assert done.stdout == "1\n"
    assert "grows to more than 100 times its size; acp-console --huge reads it" in done.stderr
    done = count("--huge")
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_the_messages_of_an_array_are_listed_below_it(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    writer = RecordingWriter(path, new_header((), tmp_path))
    asked, answered = (
        batch(ask("client", 1, "session/list"), ask("client", 2, "session/close")),
        batch(answer("agent", 2, {}), answer("agent", 1, {"sessions": []})),
    )
    writer.write(frames(asked, answered))
    writer.close()
    lines = call("show", "--fields", "n,kind,method,id", str(path)).out.splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["1", "batch"],
        ["request", "session/list", "1"],
        ["request", "session/close", "2"],
        ["2", "batch"],
        ["result", "session/close", "2"],
        ["result", "session/list", "1"],
    ]
    second = json.loads(call("show", "--json", str(path)).out.splitlines()[1])
    assert [each["method"] for each in second["messages"]] == ["session/close", "session/list"]
    assert call("show", "--count", "--filter", "method == session/list", str(path)).out == "2\n"


def test_a_recording_is_read_in_the_dialect_that_is_named(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    writer = RecordingWriter(path, new_header((), tmp_path))
    content = [{"type": "text", "text": "Hello"}]
    update = {"method": "session/update", "params": {"sessionId": "s1", "content": content}}
    writer.write(frames(("agent", update), chunk("official")))
    writer.close()
    read = call("show", "--dialect", "continuum", "--fields", "summary", str(path))
    assert 'agent_message_chunk "Hello"' in read.out
    wanted = ("show", "--count", "--filter", "update == agent_message_chunk", str(path))
    assert call(*wanted).out == "2\n"
    assert call(*wanted, "--dialect", "none").out == "1\n"
    for options in (
        [],
        ["--filter", "update == agent_message_chunk"],
        ["--filter", "text ~ Hello"],
    ):
        lines = call("show", "--json", *options, str(path)).out.splitlines()
        assert {json.loads(each)["dialect"] for each in lines} == {"continuum"}
    (line, _) = call("show", "--json", "--dialect", "none", str(path)).out.splitlines()
    assert "dialect" not in json.loads(line)
    assert json.loads(call("stats", "--json", str(path)).out)["dialect"] == "continuum"
