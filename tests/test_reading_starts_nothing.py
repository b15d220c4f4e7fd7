"""Looking at a recording is inert: nothing is started, connected to or written that it names."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Header
from acp_inspector.recording.writer import RecordingWriter

ROOT = Path(__file__).parent.parent
LIMIT = 60
"""Seconds after which a program counts as hung."""
WATCHED = """
import os, sys
allowed = os.environ["ALLOWED"]
FORBIDDEN = ("subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.startfile",
             "socket.connect", "socket.bind", "socket.getaddrinfo", "webbrowser.", "pty.",
             "urllib.", "http.", "os.remove", "os.rename", "os.mkdir", "os.chmod", "os.symlink")

def watch(event, arguments):
    # What is a number already was opened before, hence looked at before.
    is_write = event == "open" and not isinstance(arguments[0], int) and (
        arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    place = os.fsdecode(arguments[0]) if arguments and isinstance(arguments[0], str) else ""
    if place.startswith(allowed) or "__pycache__" in place or place == os.devnull:
        return
    if is_write or event.startswith(FORBIDDEN):
        os.write(2, f"CAUGHT {event} {arguments!r}\\n".encode())
        os._exit(99)

from acp_console.cli.main import run
sys.addaudithook(watch)
run(sys.argv[1:])
"""
"""Runs the command line, and ends it at whatever is more than reading and printing."""


@pytest.fixture
def bait(tmp_path: Path) -> Path:
    """A recording that names commands, addresses and paths wherever it can."""
    hook = tmp_path / "hook"
    touch = f"touch {hook}"
    url = "http://127.0.0.1:9/x"
    terminal = {"sessionId": "s", "command": "sh", "args": ["-c", touch]}
    write = {"sessionId": "s", "path": str(hook), "content": "caught"}
    link = {"type": "resource_link", "uri": f"file://{hook}", "name": url}
    messages: list[tuple[str, object]] = [
        ("client", {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}),
        ("agent", {"id": 1, "method": "terminal/create", "params": terminal}),
        ("agent", {"id": 2, "method": "fs/write_text_file", "params": write}),
        ("agent", {"method": "session/update", "params": {"sessionId": "s", "content": link}}),
        ("agent", {"id": 3, "method": "elicitation/create", "params": {"url": url, "mode": "url"}}),
    ]
    entries: list[Entry] = [JournalEvent(1, 0.0, "spawn", {"pid": 1, "command": touch})]
    for n, (side, members) in enumerate(messages, start=2):
        raw = json.dumps({"jsonrpc": "2.0", **members}).encode()  # pyright: ignore[reportGeneralTypeIssues] - an object
        entries.append(Frame(n, n / 10, "client" if side == "client" else "agent", raw))
    entries.append(StderrChunk(9, 1.0, f"{touch}; {url}".encode()))
    header = Header(
        created="2026-01-01T00:00:00.000Z",
        tool="t",
        schema="s",
        transport=url,
        command=["sh", "-c", touch],
        cwd=str(tmp_path),
        meta={"files": {str(hook): "caught"}, "previous": str(hook), "series": url},
    )
    path = tmp_path / "bait.acp.ndjson"
    writer = RecordingWriter(path, header)
    writer.write(entries)
    writer.close()
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("show", "BAIT"),
        ("show", "BAIT", "--format", "json"),
        ("show", "BAIT", "--format", "raw"),
        ("scan", "BAIT"),
        ("redact", "BAIT", "-o", "OUT"),
        ("import", "PLAIN", "-o", "OUT"),
    ],
)
def test_looking_at_a_recording_reads_it_and_does_nothing_else(
    words: tuple[str, ...], bait: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    frames = [line for line in bait.read_bytes().splitlines() if b'"msg":' in line]
    plain = tmp_path / "plain"
    plain.write_bytes(b"".join(line.partition(b'"msg":')[2][:-1] + b"\n" for line in frames))
    places = {"BAIT": str(bait), "OUT": str(out / "out.acp.ndjson"), "PLAIN": str(plain)}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *(places.get(word, word) for word in words)],
        env=os.environ | {"ALLOWED": str(out)},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=LIMIT,
        check=False,
    )
    assert b"CAUGHT" not in done.stderr, done.stderr
    assert done.returncode in {0, 1}, done.stderr
    assert not (tmp_path / "hook").exists()


def test_the_check_catches_other_access(bait: Path) -> None:
    """Or the tests above would say nothing."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, "redact", str(bait), "-o", f"{bait}.out"],
        env=os.environ | {"ALLOWED": "/nowhere"},
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, b"CAUGHT" in done.stderr) == (99, True)


SERVERS = ("create_server", "create_tcp_listener", "start_server", "HTTPServer")


def test_only_the_server_of_the_protocol_listens_on_a_network() -> None:
    """No other product code names a family of sockets but that of files, nor a server.

    It serves agents, proxies, recordings and status endpoints, only where the user says so; the
    proxy asks which family its socket has.
    """
    families: dict[str, set[str]] = {}
    servers: list[str] = []
    for folder in ("acp_console", "agent", "inspector", "protocol"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            if not any(word in text for word in ("AF_", *SERVERS)):
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Attribute) and node.attr.startswith("AF_"):
                    families.setdefault(node.attr, set()).add(path.name)
                if isinstance(node, ast.Attribute) and node.attr in SERVERS:
                    servers.append(str(path))
    families.pop("AF_UNIX")
    listens = {"http_runner.py", "serving.py"}
    assert families == {"AF_INET": listens, "AF_INET6": listens}
    assert servers == []
