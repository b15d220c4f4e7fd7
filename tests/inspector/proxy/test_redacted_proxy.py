"""What is beside the pumps of a real proxy: here, a recording without secrets."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acp_inspector.control.client import ProxyClient, find_proxy
from acp_inspector.recording.format import encode_entry
from acp_inspector.recording.reader import read_recording
from acp_inspector.redaction.files import find_secrets
from acp_inspector.redaction.patterns import RULES
from acp_protocol.framing import encode_frame
from tests.warm import WARM

KEY = "sk-ant-" + "api03-aB3dE5gH7jK9mN1pQ3sT5"
OWN = "hunter2-of-this-process"
PROXY = (*WARM, "-m", "acp_console", "proxy", "--redact")
ECHO = (
    sys.executable,
    "-u",
    "-c",
    "import sys\nfor line in sys.stdin: sys.stdout.write(line); sys.stderr.write('E' + line)",
)
LIMIT = 30
"""Seconds after which something counts as hung."""


@pytest.fixture(autouse=True)
def lonely(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """No other test's proxy is found here; the name is short, as that of a socket has to be."""
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        yield


@contextmanager
def proxied(*options: str) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [*PROXY, *options, "--", *ECHO, "--api-key", KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"MY_TOKEN": OWN},
    ) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(LIMIT)


def say(process: subprocess.Popen[bytes], **members: str) -> bytes:
    """Say something, and return what comes back."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(members).encode() + b"\n")
    process.stdin.flush()
    return process.stdout.readline()


def test_the_wire_is_untouched_and_the_recording_holds_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    with proxied("--record", str(path)) as process:
        assert json.loads(say(process, text=f"{KEY} and {OWN}"))["text"] == f"{KEY} and {OWN}"
        assert json.loads(say(process, password="hunter3-x"))["password"] == "hunter3-x"
        assert process.stderr is not None
        assert KEY.encode() in process.stderr.readline()
    content = path.read_bytes()
    assert [word for word in (KEY, OWN, "hunter3-x") if word.encode() in content] == []
    assert list(find_secrets(path, environment={"MY_TOKEN": OWN})) == []
    recording = read_recording(path)
    assert recording.bad_lines == ()
    assert recording.footer is not None
    assert recording.header.redacted == list(RULES)
    assert recording.header.command[-1].startswith("«secret:")
    assert [frame.side for frame in recording.frames] == ["client", "agent"] * 2


def test_bytes_of_every_kind_pass_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    noise = random.Random(3).randbytes(200_000).replace(b"\n", b".")
    texts = [KEY.encode(), b"\xef\xbb\xbf{}\r", b"\x00\xff" + KEY.encode(), b"", noise, b"[" * 5000]
    data = b"\n".join(
        [*texts, b'{"apiKey":"' + KEY.encode() + b'"}', b"no newline " + KEY.encode()]
    )
    done = subprocess.run(
        [*PROXY, "--record", str(path), "--", "cat"],
        input=data,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, data, b"")
    assert list(find_secrets(path, environment={})) == []
    kept = [frame.data for frame in read_recording(path).frames if frame.side == "agent"]
    assert [kept[3], kept[4], kept[5]] == [b"", noise, b"[" * 5000]
    assert len(kept) == 8


def test_a_header_in_the_recording_has_the_length_of_what_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    body = b'{"apiKey":"%b"}' % KEY.encode()
    wire = encode_frame(body, "headers") * 2
    done = subprocess.run(
        [*PROXY, "--record", str(path), "--", "cat"],
        input=wire,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, wire, b"")
    left = '{"apiKey":"«secret:1»"}'.encode()
    assert [each.wire for each in read_recording(path).frames] == [
        encode_frame(left, "headers")
    ] * 4


@pytest.mark.parametrize("way", ["memory", "file", "parts"])
def test_observers_see_no_secret_either(tmp_path: Path, way: str) -> None:
    record = ("--record", str(tmp_path / "a.acp.ndjson"))
    options = {"memory": (), "file": record, "parts": (*record, "--rotate-size", "1mb")}[way]
    with proxied(*options) as process:
        say(process, text=f"{KEY} and {OWN}")
        say(process, text="last")
        found = find_proxy(None)
        assert KEY not in repr(found)
        seen = b""
        with ProxyClient(found.path) as attachment:
            for line in attachment.watch():
                seen += repr(line).encode()
                if b"last" in seen and seen.count(b"agent") >= 2:
                    break
    assert b"secret:" in seen
    assert KEY.encode() not in seen
    assert OWN.encode() not in seen


def test_a_recording_is_not_redacted_by_halves(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    with proxied("--record", str(path)) as process:
        say(process, text=KEY)
    content = path.read_bytes()
    plain = [*PROXY[:-1], "--record", str(path), "--append", "--", "cat"]
    refused = subprocess.run(plain, input=b"", capture_output=True, timeout=LIMIT, check=False)
    assert refused.returncode == 2
    assert b"it is redacted; use --redact" in refused.stderr
    assert path.read_bytes() == content


def test_numbers_of_placeholders_go_on_where_it_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    for password in ("hunter3-x", "hunter4-y"):
        with proxied("--record", str(path), "--append") as process:
            say(process, password=password)
    frames = [json.loads(frame.data)["password"] for frame in read_recording(path).frames]
    assert frames[0] == frames[1] != frames[2] == frames[3]


def test_a_line_that_cannot_be_redacted_passes_and_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    line = b'"%b"\n' % (b"x" * (17 << 20))
    done = subprocess.run(
        [*PROXY, "--record", str(path), "--", "cat"],
        input=line,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stdout == line) == (0, True)
    assert done.stderr.count(b"it is left out of the recording") == 1
    dropped = [entry for entry in read_recording(path).entries if b"dropped" in encode_entry(entry)]
    assert len(dropped) == 2


def test_a_directory_that_was_deleted_under_it_does_not_stop_a_proxy(tmp_path: Path) -> None:
    gone, record = tmp_path / "gone", tmp_path / "a.acp.ndjson"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    command = (sys.executable, "-m", "acp_console", "proxy", "--record", str(record), "--", "cat")
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(gone), *command],
        input=b"{}\n",
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"{}\n")
    assert read_recording(record).header.cwd == str(gone)
