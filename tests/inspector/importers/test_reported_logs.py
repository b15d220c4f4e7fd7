"""Logs that people pasted into public reports, retold with other names: what comes out of them.

Each is one report of somebody who writes or uses an agent or a client.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from acp_inspector.importers.formats import UnknownFormatError
from acp_inspector.importers.importer import NoMessageError, import_file
from acp_inspector.importers.laid_out import MAX_LINES, join_laid_out
from acp_inspector.recording.reader import read_recording

ASKED: Final = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
ANSWERED: Final = '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
CALLED: Final = '{"jsonrpc":"2.0","id":0,"method":"_acme/ping","params":{}}'
"""A request of the agent, which only the log can tell from one of the client."""

Frame: TypeAlias = tuple[str, float, str]


def laid_out(message: str) -> str:
    return json.dumps(json.loads(message), indent=2)


def quoted(message: str) -> str:
    """Return a message as Rust's `{:?}` and `strace` write a string."""
    return json.dumps(message)


def cell(message: str) -> str:
    """Return a message as a value in CSV."""
    return '"' + message.replace('"', '""') + '"'


LOGS: Final[dict[str, tuple[str, list[Frame]]]] = {
    "a proxy that calls the agent the server": (
        (
            f'{{"seq":1,"ts":"2026-07-06T15:04:05.10Z","direction":"c2s","raw":{ASKED}}}\n'
            f'{{"seq":2,"ts":"2026-07-06T15:04:05.25Z","direction":"s2c","raw":{ANSWERED}}}\n'
            f'{{"seq":3,"ts":"2026-07-06T15:04:06.10Z","direction":"s2c","raw":{CALLED}}}\n'
        ),
        [("client", 0, ASKED), ("agent", 0.15, ANSWERED), ("agent", 1, CALLED)],
    ),
    "letters as in a talk of a mail server": (
        f"C: {ASKED}\nS: {ANSWERED}\nS: {CALLED}\n",
        [("client", 0, ASKED), ("agent", 0, ANSWERED), ("agent", 0, CALLED)],
    ),
    "an IDE that writes out and in": (
        (
            f"2026-02-14 20:22:39,308 [ 318210]   FINE - AcpTransport - OUT: {ASKED}\n"
            f"2026-02-14 20:22:39,508 [ 318410]   FINE - AcpTransport - IN: {ANSWERED}\n"
            f"2026-02-14 20:22:40,308 [ 319210]   FINE - AcpTransport - IN: {CALLED}\n"
        ),
        [("client", 0, ASKED), ("agent", 0.2, ANSWERED), ("agent", 1, CALLED)],
    ),
    "the debug notation of Rust": (
        (
            f"2026-04-15T10:00:00.1Z TRACE rpc: received line={quoted(ASKED)}\n"
            f"2026-04-15T10:00:00.2Z TRACE rpc: sent line={quoted(ANSWERED)}\n"
            f"2026-04-15T10:00:00.4Z TRACE rpc: sent line={quoted(CALLED)}\n"
        ),
        [("client", 0, ASKED), ("agent", 0.1, ANSWERED), ("agent", 0.3, CALLED)],
    ),
    "system calls of an agent": (
        (
            f"10:00:00.10 read(0, {quoted(ASKED)}, 8192) = 78\n"
            f"10:00:00.30 write(1, {quoted(ANSWERED)}, 56) = 56\n"
        ),
        [("client", 0, ASKED), ("agent", 0.2, ANSWERED)],
    ),
    "a table that a log service exports": (
        (
            f"time,direction,message\n2026-04-15T10:00:00Z,out,{cell(ASKED)}\n"
            f"2026-04-15T10:00:01Z,in,{cell(ANSWERED)}\n"
        ),
        [("client", 0, ASKED), ("agent", 1, ANSWERED)],
    ),
    "times in seconds with a fraction": (
        json.dumps({"ts": 1776247200.1, "msg": f"recv {ASKED}"})
        + "\n"
        + json.dumps({"ts": 1776247200.35, "msg": f"send {ANSWERED}"})
        + "\n",
        [("client", 0, ASKED), ("agent", 0.25, ANSWERED)],
    ),
    "a clock of twelve hours": (
        f"[12:59:59 PM] → {ASKED}\n[1:00:00 PM] ← {ANSWERED}\n",
        [("client", 0, ASKED), ("agent", 1, ANSWERED)],
    ),
    "containers put their names before each line": (
        (
            f"agent-1  | 2026-04-15T10:00:00.1Z recv {ASKED}\n"
            f"agent-1  | 2026-04-15T10:00:00.2Z send {ANSWERED}\n"
        ),
        [("client", 0, ASKED), ("agent", 0.1, ANSWERED)],
    ),
    "the system's journal": (
        (
            f"Nov 28 12:00:01 host my-agent[123]: -> {ASKED}\n"
            f"Nov 28 12:00:02 host my-agent[123]: <- {ANSWERED}\n"
        ),
        [("client", 0, ASKED), ("agent", 1, ANSWERED)],
    ),
    "colours of a logger": (
        (
            f"\x1b[2m2026-04-15T10:00:00.1Z\x1b[0m \x1b[32m INFO\x1b[0m recv {ASKED}\n"
            f"\x1b[2m2026-04-15T10:00:00.2Z\x1b[0m \x1b[32m INFO\x1b[0m send {ANSWERED}\n"
        ),
        [("client", 0, ASKED), ("agent", 0.1, ANSWERED)],
    ),
    "streams of the agent, with its stderr": (
        f"[stdin] {ASKED}\n[stderr] warming up\n[stdout] {ANSWERED}\n[stdout] {CALLED}\n",
        [("client", 0, ASKED), ("agent", 0, ANSWERED), ("agent", 0, CALLED)],
    ),
    "events of a server": (
        f"event: message\ndata: {ASKED}\n\nevent: message\ndata: {ANSWERED}\n\n",
        [("client", 0, ASKED), ("agent", 0, ANSWERED)],
    ),
    "a quotation, whose marks look like arrows": (
        f"> {ASKED}\n> {ANSWERED}\n",
        [("client", 0, ASKED), ("agent", 0, ANSWERED)],
    ),
    "arrows within a quotation": (
        f"> → {ASKED}\n> ← {ANSWERED}\n> ← {CALLED}\n",
        [("client", 0, ASKED), ("agent", 0, ANSWERED), ("agent", 0, CALLED)],
    ),
    "messages laid out over several lines": (
        f"2026-04-15T10:00:00Z → {laid_out(ASKED)}\n2026-04-15T10:00:02Z ← {laid_out(ANSWERED)}\n",
        [("client", 0, ASKED), ("agent", 2, ANSWERED)],
    ),
    "messages laid out, and nothing else": (
        f"{laid_out(ASKED)}\n\n{laid_out(ANSWERED)}\n",
        [("client", 0, ASKED), ("agent", 0, ANSWERED)],
    ),
    "a list that a client exports": (
        json.dumps(
            [
                {"from": "client", "at": 1776247200.1, "message": json.loads(ASKED)},
                {"from": "agent", "at": 1776247200.3, "message": json.loads(ANSWERED)},
            ],
            indent=2,
        ),
        [("client", 0, ASKED), ("agent", 0.2, ANSWERED)],
    ),
    "an object around it all that was cut off": (
        f'{{\n  "log": [\n    {{\n      "from": "client",\n      "message": {ASKED}\n    }},\n',
        [("client", 0, ASKED)],
    ),
    "messages without a version, as an agent sees them": (
        (
            '← {"id":0,"method":"initialize","params":{}}\n→ {"id":0,"result":{}}\n'
            '→ {"id":0,"method":"_acme/ping"}\n'
        ),
        [
            ("client", 0, '{"id":0,"method":"initialize","params":{}}'),
            ("agent", 0, '{"id":0,"result":{}}'),
            ("agent", 0, '{"id":0,"method":"_acme/ping"}'),
        ],
    ),
    "messages without a version, and nothing else": (
        '{"id":0,"method":"initialize","params":{}}\n{"id":0,"result":{}}\n',
        [
            ("client", 0, '{"id":0,"method":"initialize","params":{}}'),
            ("agent", 0, '{"id":0,"result":{}}'),
        ],
    ),
    "a logger that cuts long lines": (
        f"recv {ASKED}\nsend {ANSWERED[:-12]}... (12 more characters)\n",
        [("client", 0, ASKED)],
    ),
    "an error of an editor that quotes what it could not read": (
        (
            "2026-04-25T08:29:14+02:00 ERROR [rpc] failed to parse incoming message. Raw: "
            '{"jsonrpc":"2.0","id":3,"error":{"code":"x"}}\n'
        ),
        [("agent", 0, '{"jsonrpc":"2.0","id":3,"error":{"code":"x"}}')],
    ),
}


def compact(text: str) -> str:
    return json.dumps(json.loads(text), separators=(",", ":"))


@pytest.mark.parametrize("report", LOGS)
def test_messages_have_the_side_and_the_time_that_the_log_says(report: str, tmp_path: Path) -> None:
    log, expected = LOGS[report]
    source, out = tmp_path / "some.log", tmp_path / "out"
    source.write_text(log)
    import_file(source, out)
    frames = read_recording(out).frames
    found = [
        (frame.side, round(frame.time - frames[0].time, 3), frame.data.decode()) for frame in frames
    ]
    if "laid out" in report or "exports" in report:
        found = [(side, time, compact(text)) for side, time, text in found]
    assert found == expected


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (
            '--> initialize (id=0) params={"protocolVersion":1}\n',
            "names methods but has no messages",
        ),
        ("recv {'jsonrpc': '2.0', 'id': 0, 'method': 'initialize'}\n", "Python's notation"),
        ("recv { jsonrpc: '2.0', id: 0, method: 'initialize' }\n", "JavaScript's notation"),
        ("→ {“jsonrpc”:“2.0”,“id”:0,“method”:“initialize”}\n", "typographic"),
        ("<pre>→ {&quot;jsonrpc&quot;:&quot;2.0&quot;}</pre>\n", "it is HTML"),
        ('OUT: {"jsonrpc":"2.0","id":2,"method":"session/new",...}\n', "shortened or cut off"),
        (
            "2026-04-25T08:29:14 ERROR [agent_client_protocol::rpc] cannot parse. Raw: Welcome\n",
            "open 'dev: open acp logs'",
        ),
        (
            "[ERROR] 2026-03-05 11:50:22\n[acp::handle] Error: {\n  code = -32602,\n}\n",
            "no line of it holds a message",
        ),
    ],
)
def test_what_cannot_be_read_says_why(log: str, why: str, tmp_path: Path) -> None:
    source = tmp_path / "some.log"
    source.write_text(log)
    with pytest.raises((UnknownFormatError, NoMessageError), match=why):
        import_file(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_messages_that_are_cut_off_are_counted(tmp_path: Path) -> None:
    source = tmp_path / "some.log"
    cut = quoted(ANSWERED)[:-20]
    source.write_text(f"received line={quoted(ASKED)}\nsent line={cut}\nsent {ANSWERED[:-9]}...\n")
    assert import_file(source, tmp_path / "out").counts == {"frames": 1, "notes": 2, "broken": 2}


def test_an_object_that_does_not_end_costs_each_line_a_few_looks() -> None:
    """Neither its lines nor the objects within it are lost."""
    lines = [b'{"a": {\n'] * (2 * MAX_LINES)
    assert sum(len(each) for each in join_laid_out(lines)) == len(lines)
    inner = [b"{\n", b'"id": 1\n', b"}\n"]
    assert list(join_laid_out([b'{"a": {\n', *inner])) == [[b'{"a": {\n'], inner]
