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
from pathlib import Path
from typing import IO

import pytest

from acp_inspector.journal import Frame, JournalEvent, StderrText
from acp_inspector.recording.reader import read_recording

PROXY = [sys.executable, "-m", "acp_console", "proxy"]
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


def test_every_byte_arrives_both_ways_and_stands_in_the_recording(tmp_path: Path) -> None:
    path, data = tmp_path / "a.acp.ndjson", torture()
    done = run(["--record", str(path), "--", *ECHO], data)
    assert done.returncode == 0
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()
    recording = read_recording(path)
    assert recording.faults == ()
    for side in ("client", "agent"):
        said = b"".join(frame.raw + frame.end for frame in recording.frames if frame.side == side)
        assert said == data


def test_without_a_recording_it_is_as_invisible() -> None:
    data = torture()
    assert run(["--", *ECHO], data).stdout == data


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
        entry.text for entry in read_recording(path).entries if isinstance(entry, StderrText)
    )
    assert done.stderr == recorded
    assert b"oh" in recorded


def test_output_that_is_pending_at_the_end_still_arrives() -> None:
    writer = "import sys; sys.stdout.write('x' * 3_000_000); sys.stdout.flush()"
    assert len(run(["--", sys.executable, "-c", writer]).stdout) == 3_000_000


def test_a_question_stands_before_its_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    questions = [b'{"jsonrpc":"2.0","id":%d,"method":"x"}' % n for n in range(500)]
    process = subprocess.Popen(
        [*PROXY, "--record", str(path), "--", *ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for question in questions:
            process.stdin.write(question + b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == question + b"\n"
        process.stdin.close()
    seen: dict[str, set[int]] = {"client": set(), "agent": set()}
    for frame in read_recording(path).frames:
        number = json.loads(frame.raw)["id"]
        assert frame.side == "client" or number in seen["client"]
        seen[frame.side].add(number)
    assert len(seen["agent"]) == 500


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_agent(number: signal.Signals) -> None:
    agent = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: (print('got it', flush=True), sys.exit(9)))\n"
        "print('ready', flush=True); time.sleep(100)"
    )
    process = subprocess.Popen(
        [*PROXY, "--", sys.executable, "-c", agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == b"got it\n"
        assert process.wait(LIMIT) == 9


def test_what_the_agent_started_ends_with_the_proxy() -> None:
    wrapper = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', "
        "'import time; time.sleep(1000)']); print(child.pid, flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [*PROXY, "--", sys.executable, "-c", wrapper],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        grandchild = int(process.stdout.readline())
        process.stdin.close()
        assert process.wait(LIMIT) == 0
    state = Path(f"/proc/{grandchild}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


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


def test_killing_it_in_a_flood_loses_nothing_that_was_written_down_before(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    flood = "n = 0\nwhile True:\n  n += 1\n  print('{\"n\":%d}' % n, flush=True)"
    process = subprocess.Popen(
        [*PROXY, "--record", str(path), "--", sys.executable, "-c", flood],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        assert process.stdout is not None
        while not path.exists() or path.stat().st_size < 200_000:
            assert process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    recording = read_recording(path)
    assert recording.footer is None
    numbers = [json.loads(frame.raw)["n"] for frame in recording.frames]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [fault.reason for fault in recording.faults] in (
        [],
        ["the file ends in the middle of this line"],
    )
    assert len(numbers) > 1000


def test_a_path_that_cannot_be_written_costs_the_recording_alone(tmp_path: Path) -> None:
    done = run(["--record", str(tmp_path / "gone" / "a"), "--", *ECHO], b"hello\n")
    assert (done.stdout, done.returncode) == (b"hello\n", 0)
    assert done.stderr.count(b"the traffic goes on without a recording") == 1


def test_a_slow_reader_is_felt_by_the_agent_and_not_by_our_memory(tmp_path: Path) -> None:
    line = '{"n":%d,"pad":"%s"}\\n'
    flood = f"import sys\nfor n in range(300_000): sys.stdout.write('{line}' % (n, 'x' * 200))"
    process = subprocess.Popen(
        [*PROXY, "--record", str(tmp_path / "a.acp.ndjson"), "--", sys.executable, "-c", flood],
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
        drain(process.stdout)
        assert process.wait(LIMIT) == 0
    frames = read_recording(tmp_path / "a.acp.ndjson").frames
    assert len(frames) == 300_000


def drain(stream: IO[bytes]) -> None:
    """Read to the end beside the test, as a client does."""
    reader = threading.Thread(target=lambda: [None for _ in iter(lambda: stream.read(65536), b"")])
    reader.start()
    reader.join(LIMIT)
    assert not reader.is_alive()


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
    assert [(frame.raw, frame.end) for frame in client] == [(b'{"a": 1}', b"\r\n"), (b"rest", b"")]
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


def test_a_full_disk_costs_the_recording_alone_and_is_told_once(tmp_path: Path) -> None:
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
    proxy = [*PROXY, "--record", str(path), "--", *ECHO]
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
    assert [frame.raw for frame in recording.frames] == [data.splitlines()[0]] * len(
        recording.frames
    )


def test_a_line_of_a_hundred_megabytes_passes_and_is_recorded(tmp_path: Path) -> None:
    path, size = tmp_path / "a.acp.ndjson", 100 * 2**20
    agent = f"import os\nos.write(1, b'\"')\nfor _ in range(100): os.write(1, b'x' * {2**20})"
    process = subprocess.Popen(
        [
            *PROXY,
            "--record",
            str(path),
            "--",
            sys.executable,
            "-c",
            f"{agent}\nos.write(1, b'\"\\n')",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdin.close()
        arrived = 0
        while chunk := process.stdout.read(2**20):
            arrived += len(chunk)
        assert process.wait(LIMIT) == 0
    assert arrived == size + 3
    (frame,) = read_recording(path).frames
    assert len(frame.raw) == size + 2
