"""Interfering with a running proxy, as a person does by its socket."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acp_inspector.control.client import AttachError, ProxyClient, find_proxy, running_proxies
from acp_inspector.journal import JournalEvent
from acp_inspector.recording.reader import read_recording
from tests.inspector.reconstruction import what_came, what_left
from tests.warm import WARM

LIMIT = 30
ECHO = (
    sys.executable,
    "-c",
    "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()",
)
PROXY = (*WARM, "-m", "acp_console", "proxy")
CHUNK_ECHO = (
    sys.executable,
    "-c",
    "import os\nwhile chunk := os.read(0, 65536): os.write(1, chunk)",
)
SHORT = """
import sys
from acp_console.cli.main import run
from acp_inspector.proxy import session
from acp_inspector.proxy.forwarder import InterceptingForwarder
class Short(InterceptingForwarder):
    def __init__(self, *arguments):
        super().__init__(*arguments, max_line_bytes=100_000)
session.InterceptingForwarder = Short
sys.argv[0] = "acp-console"
run()
"""
HASTY = (sys.executable, "-c", SHORT, "proxy")
"""A proxy that waits for the ends of short lines only."""


@pytest.fixture(autouse=True)
def lonely(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """No other test's proxy is found here."""
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        yield


@contextmanager
def proxied(
    *options: str, proxy: Sequence[str] = PROXY, agent: Sequence[str] = ECHO
) -> Generator[subprocess.Popen[bytes]]:
    command = [*proxy, *options, "--", *agent]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        timer = threading.Timer(LIMIT, process.kill)
        timer.daemon = True
        timer.start()
        try:
            send_line(process, b'{"hello":1}')
            assert read_line(process) == b'{"hello":1}'
            yield process
        finally:
            timer.cancel()
            assert process.stdin is not None
            if not process.stdin.closed:
                process.stdin.close()
            process.wait(LIMIT)


def send_line(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line + b"\n")
    process.stdin.flush()


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline().removesuffix(b"\n")


def held(client: ProxyClient, count: int = 1) -> list[dict[str, Any]]:
    """Return the holds once there are `count`."""
    after = 0
    while True:
        holds: list[dict[str, Any]] = client.call("held", seconds=LIMIT, after=after)["holds"]
        if len(holds) >= count:
            return holds
        assert holds, "nothing was held"
        assert holds[-1]["id"] > after, "not enough was held"
        after = holds[-1]["id"]


def events(path: Path, name: str) -> list[dict[str, Any]]:
    entries = read_recording(path).entries
    return [dict(e.data) for e in entries if isinstance(e, JournalEvent) and e.name == name]


def test_a_held_frame_leaves_as_it_was_edited_and_the_recording_has_both(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    with (
        proxied("--record", str(path)) as process,
        ProxyClient(find_proxy(None).path) as client,
    ):
        client.call("break", filter='from == client and text contains "secret"')
        send_line(process, b'{"text":"secret"}')
        (hold,) = held(client)
        assert json.loads(hold["text"]) == {"text": "secret"}
        assert 0 < hold["left"] <= 60
        with pytest.raises(AttachError, match="no JSON"):
            client.call("edit", id=hold["id"], text="{broken")
        client.call("edit", id=hold["id"], text='{"text":"public"}')
        assert read_line(process) == b'{"text":"public"}'
    recording = read_recording(path)
    names = [entry.name for entry in recording.entries if isinstance(entry, JournalEvent)]
    assert {"held", "edited", "released"} <= set(names)
    assert b"secret" in path.read_bytes()


def test_what_stands_behind_a_hold_waits_and_the_other_direction_goes_on() -> None:
    with proxied() as process, ProxyClient(find_proxy(None).path) as client:
        client.call("break", filter='from == agent and text contains "stop"')
        for word in (b'{"n":1}', b'{"n":"stop"}', b'{"n":3}'):
            send_line(process, word)
        assert read_line(process) == b'{"n":1}'
        (hold,) = held(client)
        assert hold["from"] == "agent"
        client.call("release", id=hold["id"])
        assert [read_line(process), read_line(process)] == [b'{"n":"stop"}', b'{"n":3}']


def test_the_leaving_of_an_observer_releases_everything() -> None:
    with proxied() as process:
        with ProxyClient(find_proxy(None).path) as client:
            client.call("break", filter="from == client")
            send_line(process, b"{}")
            held(client)
        assert read_line(process) == b"{}"
        send_line(process, b'{"free":true}')
        assert read_line(process) == b'{"free":true}'


def test_a_discarded_frame_never_leaves_and_a_duplicated_one_leaves_twice() -> None:
    with proxied() as process, ProxyClient(find_proxy(None).path) as client:
        client.call("break", filter="from == client")
        send_line(process, b'{"gone":1}')
        client.call("discard", id=held(client)[0]["id"])
        send_line(process, b'{"twice":1}')
        client.call("duplicate", id=held(client)[0]["id"], times=2)
        assert [read_line(process), read_line(process)] == [b'{"twice":1}'] * 2


def test_an_injected_request_has_its_own_id_and_keeps_its_response() -> None:
    with proxied() as process, ProxyClient(find_proxy(None).path) as client:
        request = '{"jsonrpc":"2.0","id":1,"method":"x"}'
        # The echo sends the request back: to the client it looks like one of the agent's.
        reply = client.call("inject", **{"from": "client", "text": request})
        assert reply["id"] != 1
        assert json.loads(read_line(process))["id"] == reply["id"]
        with pytest.raises(AttachError, match="client or agent"):
            client.call("inject", text="{}")


def test_a_breakpoint_from_the_command_line_holds_from_the_first_frame_on() -> None:
    command = [*PROXY, "--break", "from == client", "--", *ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        send_line(process, b"{}")
        deadline = time.monotonic() + LIMIT
        while not (proxies := running_proxies()):
            assert time.monotonic() < deadline, "the proxy has no socket"
        (found,) = proxies
        with ProxyClient(found.path) as client:
            client.call("release", id=held(client)[0]["id"])
            assert read_line(process) == b"{}"
        assert process.stdin is not None
        process.stdin.close()
        process.wait(LIMIT)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--break", "methd == x"), b"there is no field `methd`"),
        (("--rules", "/no/such/file"), b"/no/such/file cannot be read"),
        (("--addon", "/no/such/file"), b"/no/such/file"),
    ],
)
def test_invalid_options_are_reported_before_the_agent_starts(
    options: tuple[str, str], sentence: bytes
) -> None:
    command = [*PROXY, *options, "--", *ECHO]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 2
    first, *rest = done.stderr.splitlines()
    assert sentence in first
    # Only what has a place of its own in an expression is shown with it.
    assert (b"hint: did you mean `method`?" in rest) == ("--break" in options)


def test_an_addon_changes_what_passes(tmp_path: Path) -> None:
    addon = tmp_path / "addon.py"
    addon.write_text(
        "def on_frame(frame, flow):\n"
        "    print('not on the wire')\n"
        "    if frame.side == 'client':\n"
        "        flow.replace(frame.raw.replace(b'hello', b'bye'))\n"
    )
    command = [*PROXY, "--addon", str(addon), "--", *ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        send_line(process, b'{"hello":1}')
        assert read_line(process) == b'{"bye":1}'
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(LIMIT) == 0


@pytest.mark.parametrize("proxy", [PROXY, HASTY], ids=["all lines", "short lines"])
def test_going_from_chunks_to_lines_and_back_loses_and_changes_nothing(
    tmp_path: Path, proxy: Sequence[str]
) -> None:
    path, numbers = tmp_path / "a.acp.ndjson", random.Random(3)
    lines = [
        numbers.choice([b"{}", b"\xff\x00", b"x" * numbers.randrange(200_000), b'{"a":1}\r'])
        for _ in range(400)
    ]
    data = b"\n".join(lines) + b"\nrest"
    with proxied("--record", str(path), proxy=proxy) as process:
        read: list[bytes] = []
        reader = threading.Thread(target=lambda: read.append(_rest(process)))
        reader.start()
        switching = threading.Event()

        def switch() -> None:
            with ProxyClient(find_proxy(None).path) as client:
                while not switching.is_set():
                    point = client.call("break", filter='text contains "never there"')
                    client.call("clear", id=point["id"])

        switcher = threading.Thread(target=switch)
        switcher.start()
        assert process.stdin is not None
        at = 0
        while at < len(data):
            step = numbers.randrange(1, 50_000)
            process.stdin.write(data[at : at + step])
            process.stdin.flush()
            at += step
        switching.set()
        switcher.join(LIMIT)
        process.stdin.close()
        reader.join(LIMIT)
    assert hashlib.sha256(read[0]).digest() == hashlib.sha256(data).digest()
    recorded = b"".join(
        frame.wire for frame in read_recording(path).frames if frame.side == "client"
    )
    assert recorded == b'{"hello":1}\n' + data


def _rest(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.read()


def test_commands_are_answered_while_the_client_reads_nothing() -> None:
    lines = [b"%d " % number + b"x" * 990 for number in range(2000)]
    flood = (
        sys.executable,
        "-c",
        (
            "import os, sys\nos.write(1, sys.stdin.buffer.readline())\n"
            "for n in range(2000): sys.stdout.buffer.write(b'%d ' % n + b'x' * 990 + b'\\n')\n"
            "sys.stdout.flush()\nsys.stdin.read()"
        ),
    )
    with (
        proxied("--name", "it", agent=flood) as process,
        ProxyClient(find_proxy("it").path) as client,
    ):
        # The client does not read, so the proxy is in the middle of a write when the command comes,
        # or soon after it where the agent is slow.
        assert client.call("break", filter="from == client")["id"] == 1
        assert "n" in client.call("inject", **{"from": "agent", "text": "{}"})
        send_line(process, b'{"stop":1}')
        (hold,) = client.call("held", seconds=LIMIT)["holds"]
        client.call("release", id=hold["id"])
        left = [read_line(process) for _ in range(2001)]
        assert [line for line in left if line != b"{}"] == lines


# Lines that may never end.


def write(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(data)
    process.stdin.flush()


def read_bytes(process: subprocess.Popen[bytes], count: int) -> bytes:
    assert process.stdout is not None
    return process.stdout.read(count)


def recorded(path: Path, side: str) -> bytes:
    frames = read_recording(path).frames
    return b"".join(frame.wire for frame in frames if frame.side == side)


def test_a_line_that_never_ends_passes_and_the_lines_behind_it_are_looked_at(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.acp.ndjson"
    options = ("--record", str(path), "--name", "it")
    with (
        proxied(*options, proxy=HASTY, agent=CHUNK_ECHO) as process,
        ProxyClient(find_proxy("it").path) as client,
    ):
        client.call("break", filter='from == client and text contains "stop"')
        write(process, b"x" * 300_000)
        assert read_bytes(process, 300_000) == b"x" * 300_000
        # Ours waits until the line has ended.
        assert client.call("inject", **{"from": "client", "text": '{"n":1}'})["n"] is None
        write(process, b'stop\r\n{"stop":1}\n')
        assert read_bytes(process, 6) == b"stop\r\n"
        assert read_line(process) == b'{"n":1}'
        (hold,) = held(client)
        client.call("edit", id=hold["id"], text='{"went":1}')
        assert read_line(process) == b'{"went":1}'
    long = b"x" * 300_000 + b"stop\r\n"
    assert b"".join(what_came(read_recording(path).entries, "client")) == (
        b'{"hello":1}\n' + long + b'{"stop":1}\n'
    )
    left = b'{"hello":1}\n' + long + b'{"n":1}\n{"went":1}\n'
    assert b"".join(what_left(read_recording(path).entries, "client")) == left
    assert recorded(path, "agent") == left
    notes = [note for note in events(path, "note") if "not intercepted" in note["text"]]
    assert len(notes) == 2, "the echo of it is as long"


def test_a_line_that_never_ends_waits_for_the_frames_before_it(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    with (
        proxied("--record", str(path), "--name", "it", proxy=HASTY, agent=CHUNK_ECHO) as process,
        ProxyClient(find_proxy("it").path) as client,
    ):
        client.call("break", filter='from == client and text contains "stop"')
        write(process, b"stop\nbehind\n" + b"x" * 150_000)
        assert len(client.call("held", seconds=LIMIT)["holds"]) == 1
        client.close()
        assert read_bytes(process, 150_012) == b"stop\nbehind\n" + b"x" * 150_000
    assert recorded(path, "client") == recorded(path, "agent")
    assert recorded(path, "client").endswith(b"behind\n" + b"x" * 150_000)


def test_behind_a_hang_a_line_that_never_ends_does_not_leave(tmp_path: Path) -> None:
    path, rules = tmp_path / "a.acp.ndjson", tmp_path / "rules.toml"
    rules.write_text(
        '[[rule]]\nname = "r"\nfrom = "client"\nfilter = "text contains \'stop\'"\nhang = true\n'
    )
    options = ("--record", str(path), "--rules", str(rules))
    with proxied(*options, proxy=HASTY, agent=CHUNK_ECHO) as process:
        write(process, b"stop\n" + b"x" * 250_000 + b"\nlast\n")
        assert process.stdin is not None
        process.stdin.close()
        assert _rest(process) == b""
    entries = read_recording(path).entries
    assert b"".join(what_left(entries, "client")) == b'{"hello":1}\n'
    assert b"".join(what_came(entries, "client")) == (
        b'{"hello":1}\nstop\n' + b"x" * 250_000 + b"\nlast\n"
    )
