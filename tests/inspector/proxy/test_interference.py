"""Interfering with real processes: every fault twice, dying observers, hooks that hang."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acp_inspector.control.client import ProxyClient, find_proxy
from acp_inspector.control.server import LazyController
from acp_inspector.intercept.channel import Channel
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.reader import read_recording
from tests.inspector.intercept.scene import Scene
from tests.inspector.reconstruction import fates, what_came, what_left
from tests.warm import WARM

LIMIT = 60
ECHO = (
    sys.executable,
    "-c",
    "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()",
)
ACP = (*WARM, "-m", "acp_console")


@pytest.fixture(autouse=True)
def lonely(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """No other test's proxy is found here."""
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        yield


@contextmanager
def talking(*words: str, **pipes: Any) -> Generator[subprocess.Popen[bytes]]:
    """Run a command of ours whose stdin and stdout are a test's, and end it."""
    command = [*ACP, *words]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **pipes}
    with subprocess.Popen[bytes](command, **pipes) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            if not process.stdin.closed:
                process.stdin.close()
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


@contextmanager
def greeted(*options: str, **pipes: Any) -> Generator[subprocess.Popen[bytes]]:
    """Run a proxy before an agent that says what it hears, and wait until it does."""
    with talking("proxy", *options, "--", *ECHO, **pipes) as process:
        send_line(process, b"{}")
        assert read_line(process) == b"{}"
        yield process


def send_line(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line + b"\n")
    process.stdin.flush()


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline().removesuffix(b"\n")


def send_command(process: subprocess.Popen[bytes], **request: Any) -> Any:
    """Send a command as an observer that stays."""
    send_line(process, json.dumps(request).encode())
    return json.loads(read_line(process))["ok"]


def named(path: Path, name: str) -> list[dict[str, Any]]:
    """Return the events of that name."""
    entries = read_recording(path).entries
    return [
        dict(entry.data)
        for entry in entries
        if isinstance(entry, JournalEvent) and entry.name == name
    ]


@pytest.mark.parametrize("options", [(), ("--record", "x"), ("--record", "x", "--append")])
def test_a_breakpoint_of_a_later_observer_knows_the_dialect(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "a.acp.ndjson"
    words = [str(path) if word == "x" else word for word in options]
    opening = {"protocolVersion": 1, "clientCapabilities": {"readTextFile": True}}
    ask = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
    # Which dialect this is, only the frames before it say.
    params = {"sessionId": "s", "mode": "architect"}
    call = {"jsonrpc": "2.0", "id": 2, "method": "session/set_mode", "params": params}
    if "--append" in words:
        # An earlier connection, which was official.
        with greeted(*words) as proxy:
            official: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {"fs": {}}}
            send_line(proxy, json.dumps(ask | {"params": official}).encode())
            read_line(proxy)
    with greeted(*words) as proxy:
        send_line(proxy, json.dumps(ask).encode())
        read_line(proxy)
        where = find_proxy(None).path
        with ProxyClient(where) as watcher:
            lines = (line for line in watcher.watch() if isinstance(line, Frame))
            assert next(line for line in lines if b"readTextFile" in line.data)
        with ProxyClient(where) as observer:
            observer.call("break", filter="$.params.modeId == architect")
            send_line(proxy, json.dumps(call).encode())
            assert observer.call("held", seconds=LIMIT)["holds"]
            observer.call("release_all")
        assert read_line(proxy)


# Faults.

LINES = [
    json.dumps({"jsonrpc": "2.0", "id": n, "method": "m", "params": {"n": "x" * n}}).encode()
    for n in range(40)
]
CALL_ECHO = (
    *ECHO[:2],
    ECHO[2].replace(": sys", ":\n  if b'\"error\"' in line: continue\n  sys"),
)
"""Echoes requests but no responses: when those come is left to chance."""
FAULTS = {
    "replace": "replace = { text = 'x', with = 'yy' }",
    "delay": "delay = { seconds = 0.001, jitter = 0.002 }",
    "throttle": "throttle = { rate = 20_000 }",
    "drop": "drop = true",
    "discard": "discard = true",
    "duplicate": "duplicate = { times = 3 }",
    "reorder": "reorder = { frames = 2 }",
    "corrupt": "corrupt = { bytes = 2, mode = 'replace' }",
    "split": "split = { bytes = 5, pause = 0.0001 }",
    "cut": "after = 20\ncut = { bytes = 9 }",
    "hang": "after = 20\nhang = true",
    "answer": "answer = { error = { code = 1, message = 'no' } }",
}


def faulty(path: Path, action: str, side: str, seed: int = 7) -> tuple[bytes, list[Entry], int]:
    """Send `LINES` through a rule; return what came back, the recording and the exit code."""
    rules = path.with_suffix(".toml")
    rules.write_text(
        f'seed = {seed}\n[[rule]]\nname = "r"\nfrom = "{side}"\nprobability = 0.3\n{action}\n'
    )
    # All input is there when the proxy first reads: an agent that a cut ends reads no more, and
    # what the client sends later might not be recorded.
    words = path.with_suffix(".words")
    words.write_bytes(b"".join(line + b"\n" for line in LINES))
    command = [*ACP, "proxy", "--record", str(path), "--overwrite", "--rules", str(rules)]
    with words.open("rb") as stdin:
        done = subprocess.run(
            [*command, "--", *CALL_ECHO],
            stdin=stdin,
            stdout=subprocess.PIPE,
            timeout=LIMIT,
            check=False,
        )
    return done.stdout, list(read_recording(path).entries), done.returncode


def struck(entries: list[Entry]) -> list[tuple[str, dict[str, Any]]]:
    """Return what the rule did, by the order of the frames and not by their numbers."""
    own = [fate for fate in fates(entries).values() if not fate.is_injected]
    done = [
        (
            event.name,
            {key: value for key, value in event.data.items() if key not in {"of", "after"}},
        )
        for fate in own
        for event in fate.deeds
        if event.data.get("by") == "r"
    ]
    # How much is still sent to an agent that reads no more is left to chance.
    names = [name for name, _ in done]
    return done[: names.index("cut") + 1] if "cut" in names else done


@pytest.mark.parametrize("name", FAULTS)
def test_a_seeded_fault_is_repeatable_and_the_recording_shows_what_left(
    name: str, tmp_path: Path
) -> None:
    first, entries, code = faulty(tmp_path / "a.acp.ndjson", FAULTS[name], "agent")
    assert struck(entries)
    # An agent whose output is cut off may notice.
    assert code == 0 or name == "cut"
    assert b"".join(what_came(entries, "client")) == b"".join(line + b"\n" for line in LINES)
    assert b"".join(what_left(entries, "agent")) == first
    again, entries_again, _ = faulty(tmp_path / "b.acp.ndjson", FAULTS[name], "agent")
    assert again == first
    assert struck(entries_again) == struck(entries)
    if name not in {"cut", "hang"}:
        _, other, _ = faulty(tmp_path / "c.acp.ndjson", FAULTS[name], "agent", seed=8)
        assert struck(other) != struck(entries)


def test_a_crash_kills_the_agent_at_the_same_frame_twice(tmp_path: Path) -> None:
    action = "after = 5\ncrash = { signal = 'SEGV' }"
    _, entries, code = faulty(tmp_path / "a.acp.ndjson", action, "client")
    _, again, _ = faulty(tmp_path / "b.acp.ndjson", action, "client")
    assert code == 128 + signal.SIGSEGV
    # Frames that come before it is dead may be struck as well.
    assert {name for name, _ in struck(entries) + struck(again)} == {"crashed"}
    killed = [
        next(fate.frame.data for fate in fates(each).values() if fate.deeds)
        for each in (entries, again)
    ]
    assert killed[0] == killed[1]


def test_a_cut_to_the_agent_ends_its_input_inside_a_line(tmp_path: Path) -> None:
    out, entries, code = faulty(
        tmp_path / "a.acp.ndjson", "after = 20\ncut = { bytes = 9 }", "client"
    )
    assert code == 0
    assert out == b"".join(what_left(entries, "client"))
    assert out.endswith(b"\n" + LINES[0][:9])


# Observers.


def test_a_killed_observer_releases_everything(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    with greeted("--record", str(path)) as proxy:
        with talking("attach", "--ask", "-") as observer:
            send_command(observer, do="break", filter="from == client")
            send_line(proxy, b'{"n":1}')
            send_line(proxy, b'{"n":2}')
            assert len(send_command(observer, do="held", seconds=LIMIT)["holds"]) == 1
            observer.kill()
        assert [read_line(proxy), read_line(proxy)] == [b'{"n":1}', b'{"n":2}']
        send_line(proxy, b'{"n":3}')
        assert read_line(proxy) == b'{"n":3}'
    assert Counter(event["by"] for event in named(path, "released")) == {
        "no observer is attached": 1
    }
    assert len(named(path, "held")) == 1


def test_who_stands_still_makes_the_traffic_wait_once_and_goes_on_when_it_wakes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.acp.ndjson"
    with (
        greeted("--record", str(path), stderr=subprocess.PIPE) as proxy,
        talking("attach", "--ask", "-") as observer,
    ):
        send_command(observer, do="break", filter="from == client")
        send_command(observer, do="keep", seconds=0.2)
        observer.send_signal(signal.SIGSTOP)
        try:
            for n in range(1, 50):
                send_line(proxy, b'{"n":%d}' % n)
                assert read_line(proxy) == b'{"n":%d}' % n
        finally:
            observer.send_signal(signal.SIGCONT)
        send_command(observer, do="keep", seconds=LIMIT)
        send_line(proxy, b'{"n":50}')
        assert send_command(observer, do="held", seconds=LIMIT)["holds"]
        send_command(observer, do="edit", json={"n": "held again"})
        assert read_line(proxy) == b'{"n":"held again"}'
        assert proxy.stderr is not None
        assert b"nothing is held until somebody attaches" in proxy.stderr.readline()
    assert [event["by"] for event in named(path, "released")] == ["time limit", "person"]


def test_an_observer_that_watches_and_stands_still_slows_nothing() -> None:
    line = b'{"x":"' + b"x" * 100_000 + b'"}'
    with greeted() as proxy, talking("attach", "--ask", "-") as observer:
        assert send_command(observer, do="watch")
        observer.send_signal(signal.SIGSTOP)
        try:
            for _ in range(200):
                send_line(proxy, line)
                assert read_line(proxy) == line
        finally:
            observer.kill()


def test_several_observers_decide_and_the_last_to_leave_releases() -> None:
    with greeted() as proxy:
        path = find_proxy(None).path
        with ProxyClient(path) as stays:
            stays.call("state")
            with ProxyClient(path) as leaves:
                leaves.call("break", filter="from == client")
            send_line(proxy, b'{"n":1}')
            (hold,) = stays.call("held", seconds=LIMIT)["holds"]
            stays.call("duplicate", id=hold["id"])
            assert [read_line(proxy), read_line(proxy)] == [b'{"n":1}'] * 2
            send_line(proxy, b'{"n":2}')
            stays.call("held", seconds=LIMIT)
        assert read_line(proxy) == b'{"n":2}'


def test_a_frame_of_many_megabytes_is_held_and_changed() -> None:
    whole = b'{"x":"' + b"x" * 20_000_000 + b'"}'
    with greeted() as proxy, ProxyClient(find_proxy(None).path) as attachment:
        attachment.call("break", filter="from == agent and size > 1mb")
        send_line(proxy, whole)
        (hold,) = attachment.call("held", seconds=LIMIT)["holds"]
        assert (hold["size"], hold["is_cut"]) == (len(whole), True)
        assert attachment.call("read", id=hold["id"])["text"].encode() == whole
        other = whole.replace(b"x", b"y")
        attachment.call("edit", id=hold["id"], text=other.decode())
        assert read_line(proxy) == other


# Beginnings and ends.


def test_the_end_does_not_wait_for_who_is_about_to_begin() -> None:
    is_beginning, may_begin = threading.Event(), threading.Event()
    scene = Scene()

    def begin(channel: Channel) -> None:
        is_beginning.set()
        may_begin.wait(LIMIT)

    lazy = LazyController(lambda: scene.controller)
    lazy.connect("agent", begin)
    beginner = threading.Thread(target=lazy.get)
    beginner.start()
    assert is_beginning.wait(LIMIT)
    lazy.finish()
    assert not scene.controller.is_over
    may_begin.set()
    beginner.join(LIMIT)
    assert scene.controller.is_over


def test_a_controller_created_after_the_end_is_over() -> None:
    scene = Scene()
    lazy = LazyController(lambda: scene.controller)
    lazy.finish()
    lazy.observers_left()
    assert lazy.controller is None
    assert lazy.get().is_over
    other = LazyController(lambda: Scene().controller)
    made = other.get()
    assert other.get() is made
    other.finish()
    assert made.is_over


# Hooks.


def test_a_hook_that_hangs_is_passed_over_and_holds_up_neither_traffic_nor_the_end(
    tmp_path: Path,
) -> None:
    addon = tmp_path / "hooks.py"
    addon.write_text("import time\ndef on_frame(frame, flow):\n    time.sleep(3600)\n")
    with talking("proxy", "--addon", str(addon), "--", *ECHO, stderr=subprocess.PIPE) as proxy:
        for n in range(20):
            send_line(proxy, b'{"n":%d}' % n)
            assert read_line(proxy) == b'{"n":%d}' % n
        assert proxy.stderr is not None
        warning = proxy.stderr.readline()
        assert b"hooks.py, on_frame (line 3) did not return in 5 s" in warning


@pytest.mark.parametrize("is_early", [True, False])
def test_a_message_with_a_length_header_is_held_edited_and_gets_its_length_anew(
    tmp_path: Path, is_early: bool
) -> None:
    path = tmp_path / "it.acp.ndjson"
    message = b'Content-Length: 17\r\n\r\n{"jsonrpc":"2.0"}'
    copy = (
        "import os\nwhile data := os.read(0, 65536):\n"
        "    while data: data = data[os.write(1, data):]"
    )
    breaks = ("--break", "text contains 2.0") if is_early else ()
    agent = ("--", sys.executable, "-c", copy)
    with talking("proxy", "--name", "it", "--record", str(path), *breaks, *agent) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None
        first = b"Content-Length: 2\r\n\r\n{}"
        stdin.write(first)
        stdin.flush()
        assert stdout.read(len(first)) == first
        with ProxyClient(find_proxy("it").path) as client:
            if not is_early:
                client.call("break", filter="text contains 2.0")
            stdin.write(message)
            stdin.flush()
            (hold,) = client.call("held", seconds=LIMIT)["holds"]
            assert hold["text"] == '{"jsonrpc":"2.0"}'
            client.call("edit", id=hold["id"], text='{"jsonrpc":"ü"}')
            edited = 'Content-Length: 16\r\n\r\n{"jsonrpc":"ü"}'.encode()
            assert stdout.read(len(edited)) == edited
            client.call("inject", **{"from": "agent", "text": '{"ours":1}'})
            ours = b'Content-Length: 10\r\n\r\n{"ours":1}'
            assert stdout.read(len(ours)) == ours
        stdin.close()
        assert stdout.read() == b""
    entries = read_recording(path).entries
    assert b"".join(what_came(entries, "client")) == first + message
    sent = b"".join(what_left(entries, "agent"))
    assert sent.endswith(edited + ours)
