"""The man in the middle as a real process: nothing is lost, nothing is changed."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

import pytest

from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.recording.reader import read_recording
from tests.warm import WARM

PROXY = [*WARM, "-m", "acp_console", "proxy"]
COLD_PROXY = [sys.executable, *PROXY[len(WARM) :]]
"""One that is the process itself, with the file systems that this sees."""
ECHO = [sys.executable, "-c", "import os\nwhile chunk := os.read(0, 65536): os.write(1, chunk)"]
LIMIT = 60
"""Seconds after which the proxy counts as hung."""


def torture() -> bytes:
    """Return bytes of every kind that a pipe can carry."""
    noise = random.Random(7).randbytes(300_000)
    lines = [
        b'{"jsonrpc":"2.0","id":1,"method":"x"}',
        b'{"crlf":true}\r',
        b"\xef\xbb\xbf{}",
        b"\x00\x01\x02",
        b"",
        b"\xff\xfe not UTF-8",
        "split ünï 漢字 🙂".encode(),
        b'{"big":"' + b"x" * 1_000_000 + b'"}',
        b"[" * 5000,
        noise.replace(b"\n", b"."),
    ]
    return b"\n".join([*lines * 2, b"no newline at the end"])


def run(arguments: list[str], data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PROXY, *arguments], input=data, capture_output=True, timeout=LIMIT, check=False
    )


PIECES = {"whole": 1 << 20, "in thirds of characters": 7, "byte by byte": 1}
"""How many bytes each side writes at once."""
HASHING = """
import hashlib, os, sys, threading
path, step = sys.argv[1], int(sys.argv[2])
data = open(path, "rb").read()
def talk():
    for at in range(0, len(data), step):
        rest = data[at : at + step]
        while rest:
            rest = rest[os.write(1, rest) :]
talking = threading.Thread(target=talk)
talking.start()
digest = hashlib.sha256()
while chunk := os.read(0, 1 << 16):
    digest.update(chunk)
talking.join()
os.write(2, digest.hexdigest().encode())
sys.exit(3)
"""
"""An agent that sends a file while it reads, and after the end of its stdin the hash of what it
received."""


@pytest.mark.parametrize("step", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize("is_recorded", [True, False], ids=["recorded", "not recorded"])
def test_both_ends_hash_what_the_other_has_sent(
    tmp_path: Path, step: int, *, is_recorded: bool
) -> None:
    output, path = tmp_path / "output", tmp_path / "a.acp.ndjson"
    talk = torture() if step == max(PIECES.values()) else small_torture()
    output.write_bytes(talk[::-1])
    recording = ["--record", str(path)] if is_recorded else []
    command = [*PROXY, *recording, "--", sys.executable, "-c", HASHING, str(output), str(step)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        reader = StreamReader(process.stdout)
        for at in range(0, len(talk), step):
            process.stdin.write(talk[at : at + step])
        process.stdin.close()
        received = reader.all()
        digest_there = process.stderr.read()
        assert process.wait(LIMIT) == 3
    assert digest_there.decode() == hashlib.sha256(talk).hexdigest()
    assert hashlib.sha256(received).digest() == hashlib.sha256(output.read_bytes()).digest()
    if is_recorded:
        assert read_recording(path).bad_lines == ()
        assert recorded(path, "client") == talk
        assert recorded(path, "agent") == output.read_bytes()


class StreamReader:
    """Reads a stream to its end beside the test, as a client does."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._received = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def all(self) -> bytes:
        """Return everything, once it has come."""
        self._thread.join(LIMIT)
        assert not self._thread.is_alive()
        return self._received

    def _read(self) -> None:
        self._received = self._stream.read()


def small_torture() -> bytes:
    """Return the kinds of bytes alone, few enough to be written one by one."""
    lines = [line for line in torture().split(b"\n") if len(line) < 100]
    return b"\n".join([*lines, b"\r\r", b"\xc3", b"no newline at the end \xf0\x9f"])


def recorded(path: Path, side: str) -> bytes:
    """Return what a side output, as the recording has it."""
    frames = read_recording(path).frames
    return b"".join(frame.wire for frame in frames if frame.side == side)


def test_an_editor_that_leaves_its_pipes_not_to_wait_is_waited_for() -> None:
    """Some give a child the very pipe ends that their own event loop has set up."""
    ours, stdin = os.pipe()
    stdout, theirs = os.pipe()
    data = b"x" * 999_999 + b"\n"
    for descriptor in (ours, theirs):
        os.set_blocking(descriptor, False)
    with subprocess.Popen([*PROXY, "--", *ECHO], stdin=ours, stdout=theirs) as process:
        os.close(ours)
        os.close(theirs)
        with os.fdopen(stdout, "rb") as stream:
            reader = StreamReader(stream)
            with os.fdopen(stdin, "wb") as requests:
                requests.write(data)
            assert reader.all() == data
        assert process.wait(LIMIT) == 0


@pytest.mark.parametrize("code", [0, 1, 77])
def test_the_exit_code_is_the_agents(code: int) -> None:
    assert run(["--", sys.executable, "-c", f"raise SystemExit({code})"]).returncode == code


def test_an_agent_that_a_signal_ended_gives_128_more(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    suicide = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    done = run(["--record", str(path), "--", sys.executable, "-c", suicide])
    assert done.returncode == 128 + signal.SIGKILL
    last = read_recording(path).entries[-1]
    assert isinstance(last, JournalEvent)
    assert (last.name, last.data) == ("exit", {"signal": signal.SIGKILL})


def test_stderr_passes_through_and_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    noisy = "import os; os.write(2, b'oh \\xff no\\n')"
    done = run(["--record", str(path), "--", sys.executable, "-c", noisy])
    recorded = b"".join(
        entry.data for entry in read_recording(path).entries if isinstance(entry, StderrChunk)
    )
    assert done.stderr == recorded
    assert b"oh" in recorded


def test_output_that_is_pending_at_the_end_still_arrives() -> None:
    writer = "import sys; sys.stdout.write('x' * 3_000_000); sys.stdout.flush()"
    assert len(run(["--", sys.executable, "-c", writer]).stdout) == 3_000_000


def test_a_request_is_recorded_before_its_response(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    requests = [b'{"jsonrpc":"2.0","id":%d,"method":"x"}' % n for n in range(500)]
    process = subprocess.Popen(
        [*PROXY, "--record", str(path), "--", *ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for request in requests:
            process.stdin.write(request + b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == request + b"\n"
        process.stdin.close()
    seen: dict[str, set[int]] = {"client": set(), "agent": set()}
    for frame in read_recording(path).frames:
        number = json.loads(frame.data)["id"]
        assert frame.side == "client" or number in seen["client"]
        seen[frame.side].add(number)
    assert len(seen["agent"]) == 500


def test_the_client_sees_a_closed_stdout_while_the_agent_runs() -> None:
    agent = "import os, sys\nos.close(1)\nos.read(0, 1)"
    process = subprocess.Popen(
        [*PROXY, "--no-control", "--", sys.executable, "-c", agent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.read() == b""
        process.communicate(b"x", LIMIT)
        assert process.returncode == 0


def test_a_client_that_stops_reading_ends_things_in_order() -> None:
    flood = (
        "import sys\ntry:\n  while True: sys.stdout.write('x' * 1000 + '\\n')\n"
        "except BrokenPipeError: sys.exit(4)"
    )
    process = subprocess.Popen(
        [*PROXY, "--", sys.executable, "-c", flood],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(LIMIT) != 0


def test_killing_it_when_it_rests_loses_nothing_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    agent = "import os, sys; os.write(1, b'{}\\n' * 5000); sys.stdin.read()"
    process = subprocess.Popen(
        [*PROXY, "--record", str(path), "--", sys.executable, "-c", agent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.read(15_000) == b"{}\n" * 5000
        limit = time.monotonic() + LIMIT
        while path.read_bytes().count(b"msg") < 5000:
            assert time.monotonic() < limit
        process.send_signal(signal.SIGKILL)
    assert [frame.data for frame in read_recording(path).frames] == [b"{}"] * 5000


def test_a_path_that_cannot_be_written_costs_the_recording_alone(tmp_path: Path) -> None:
    done = run(["--record", str(tmp_path / "gone" / "a"), "--", *ECHO], b"hello\n")
    assert (done.stdout, done.returncode) == (b"hello\n", 0)
    assert done.stderr.count(b"the traffic goes on without a recording") == 1


@pytest.mark.long
def test_a_slow_reader_is_felt_by_the_agent_and_not_by_our_memory(tmp_path: Path) -> None:
    line = '{"n":%d,"pad":"%s"}\\n'
    flood = f"import sys\nfor n in range(300_000): sys.stdout.write('{line}' % (n, 'x' * 200))"
    process = subprocess.Popen(
        [
            *COLD_PROXY,
            "--record",
            str(tmp_path / "a.acp.ndjson"),
            "--",
            sys.executable,
            "-c",
            flood,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"{"
        status = Path(f"/proc/{process.pid}/status")
        if status.exists():
            peak = next(line for line in status.read_text().splitlines() if "VmHWM" in line)
            assert int(peak.split()[1]) < 100 * 1024
        assert StreamReader(process.stdout).all()
        assert process.wait(LIMIT) == 0
    frames = read_recording(tmp_path / "a.acp.ndjson").frames
    assert len(frames) == 300_000


def test_the_header_names_the_command_and_no_values_of_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    secret = "s3cr3t-value-of-a-variable"
    subprocess.run(
        [*PROXY, "--record", str(path), "--", "true"],
        env=os.environ | {"MY_TOKEN": secret},
        timeout=LIMIT,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    header = read_recording(path).header
    assert header.command == ["true"]
    assert "MY_TOKEN" in header.env
    assert secret.encode() not in path.read_bytes()


def test_frames_are_what_the_reader_gets_back(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    run(["--record", str(path), "--", *ECHO], b'{"a": 1}\r\nrest')
    client = [frame for frame in read_recording(path).frames if frame.side == "client"]
    assert [(frame.data, frame.line_ending) for frame in client] == [
        (b'{"a": 1}', b"\r\n"),
        (b"rest", b""),
    ]
    assert all(isinstance(frame, Frame) for frame in client)


def on_a_full_disk(folder: Path, kilobytes: int, command: list[str]) -> list[str]:
    """Return `command` in a place where `folder` is a small file system of its own."""
    script = f'mount -t tmpfs -o size={kilobytes}k tmpfs "$0" && exec "$@"; exit 99'
    return [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        script,
        str(folder),
        *command,
    ]


def test_a_full_disk_stops_only_the_recording_and_is_reported_once(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    can_mount = (
        shutil.which("unshare")
        and not subprocess.run(
            on_a_full_disk(folder, 64, ["true"]), capture_output=True, timeout=LIMIT, check=False
        ).returncode
    )
    if not can_mount:
        assert os.environ.get("CI") != "true"
        pytest.skip("this machine lets nobody mount a small file system")
    path = folder / "a.acp.ndjson"
    # What was recorded is gone with the file system, so it is copied out behind the agent's back.
    copied = tmp_path / "copy"
    script = f'"$@"; code=$?; cp {path} {copied}; exit $code'
    proxy = [*COLD_PROXY, "--record", str(path), "--", *ECHO]
    data = b'{"line":"%b"}\n' % (b"x" * 500) * 1000
    done = subprocess.run(
        on_a_full_disk(folder, 64, ["sh", "-c", script, "sh", *proxy]),
        input=data,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()
    assert done.stderr.count(b"the traffic goes on without it") == 1
    recording = read_recording(copied)
    assert [frame.data for frame in recording.frames] == [data.splitlines()[0]] * len(
        recording.frames
    )


@pytest.mark.long
def test_a_line_of_a_hundred_megabytes_passes_both_ways_and_is_recorded(tmp_path: Path) -> None:
    output, path = tmp_path / "output", tmp_path / "a.acp.ndjson"
    line = b'"%b"' % (random.Random(5).randbytes(2**19).hex().encode() * 100)
    output.write_bytes(line + b"\n")
    digest = hashlib.sha256(line + b"\n")
    agent = [sys.executable, "-c", HASHING, str(output), str(2**20)]
    with (
        output.open("rb") as requests,
        subprocess.Popen(
            [*PROXY, "--record", str(path), "--", *agent],
            stdin=requests,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        arrived = hashlib.sha256()
        while chunk := process.stdout.read(2**20):
            arrived.update(chunk)
        digest_there = process.stderr.read()
        assert process.wait(LIMIT) == 3
    assert arrived.digest() == digest.digest()
    assert digest_there.decode() == digest.hexdigest()
    # Looked at by its bytes: read as a recording, both would be held several times.
    with path.open("rb") as lines:
        raws = [found.partition(b'"msg":')[2][:-2] for found in lines if b'"msg":' in found[:200]]
    assert raws == [line, line]
