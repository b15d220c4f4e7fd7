"""Faults around the proxy: what the client gets, what the recording holds, who is left behind."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from acp_inspector.control.client import ProxyClient, find_proxy, running_proxies
from acp_inspector.control.server import socket_directory
from acp_inspector.recording.reader import read_recording
from tests.faults.disks import Disk
from tests.faults.processes import PROXY, Party, Stage, entries, events, python, said

pytestmark = pytest.mark.long

ECHO = python("import os\nwhile chunk := os.read(0, 65536): os.write(1, chunk)")
DEAF = "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
UNTIL_FULL = (
    "import array, fcntl, termios, time\nwaiting = array.array('i', [0])\n"
    "while waiting[0] < 65536: fcntl.ioctl(0, termios.FIONREAD, waiting)\n"
)
"""Reads nothing, and waits until no more can be written to it."""
WRAPPER = [
    "sh",
    "-c",
    'trap "" TERM HUP; exec 3<&0; "$@" <&3 & exec 3<&- 0<&-; wait; exit 0',
    "npx",
]
"""Starts a program as a child of its own, and passes nothing on."""


def proxy(path: Path, *command: str, options: Sequence[str] = ()) -> list[str]:
    return [*PROXY, "--record", str(path), *options, "--", *command]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "it.acp.ndjson"


# The agent


@pytest.mark.parametrize(
    ("end", "code", "expected"),
    [("os._exit(42)", 42, {"code": 42}), ("os.kill(os.getpid(), 11)", 139, {"signal": 11})],
)
def test_a_crash_in_the_middle_of_a_line(
    stage: Stage, path: Path, end: str, code: int, expected: dict[str, int]
) -> None:
    crash = "os.write(1, line[:9]); os.write(2, b'segfault in module x\\n')"
    agent = python(f"import os\nline = os.read(0, 99); os.write(1, line); {crash}; {end}")
    with stage.party(proxy(path, *agent)) as party:
        party.write(b'{"id":1,"method":"x"}\n')
        assert party.stdout.read() == b'{"id":1,"method":"x"}\n{"id":1,"'
        assert party.code() == code
        assert party.stderr() == b"segfault in module x\n"
    assert said(path, "agent") == b'{"id":1,"method":"x"}\n{"id":1,"'
    assert events(path)["exit"] == expected
    assert read_recording(path).footer is not None


def test_a_hang_ends_with_a_kill_once_the_client_asks(stage: Stage, path: Path) -> None:
    agent = python(f"{DEAF}print('ready', flush=True)\nwhile True: time.sleep(1000)")
    with stage.party(proxy(path, *agent)) as party:
        assert party.line() == b"ready\n"
        party.write(b"is anybody there?\n")
        party.process.send_signal(signal.SIGTERM)
        assert party.end() == (128 + signal.SIGKILL, b"")
    assert said(path, "client") == b"is anybody there?\n"
    assert events(path)["exit"] == {"signal": signal.SIGKILL}


@pytest.mark.parametrize("options", [(), ("--break", "method == never")], ids=["chunks", "lines"])
def test_output_that_is_pending_at_the_exit_waits_for_a_client_that_reads_late(
    stage: Stage, path: Path, options: Sequence[str]
) -> None:
    """What fits into the pipes and buffers between them is the client's, whenever it reads."""
    agent = python("import os\nfor letter in (b'x', b'y', b'z'): os.write(1, letter * 50_000)")
    with stage.party(proxy(path, *agent, options=options)) as party:
        with pytest.raises(subprocess.TimeoutExpired):
            # Longer than what an agent left behind is waited for.
            party.process.wait(5)
        assert party.end() == (0, b"x" * 50_000 + b"y" * 50_000 + b"z" * 50_000)
    assert len(said(path, "agent")) == 150_000


def test_a_client_that_never_reads_does_not_keep_the_proxy_from_ending(
    stage: Stage, path: Path
) -> None:
    agent = python("import os\nos.write(2, b'x')\nos.write(1, b'y' * 150_000)")
    with stage.party(proxy(path, *agent)) as party:
        with pytest.raises(subprocess.TimeoutExpired):
            party.process.wait(2)
        party.process.send_signal(signal.SIGTERM)
        assert party.code() == 0
    assert len(said(path, "agent")) >= 100_000


def test_garbage_on_stdout_passes_and_spoils_no_neighbour(stage: Stage, path: Path) -> None:
    garbage = b'npm WARN deprecated\r\n\x1b[2J\xff\xfe{"id":\n\x00\n{"id":1,"result":{}}\n[[[[\n'
    with stage.party(proxy(path, *python(f"import os; os.write(1, {garbage!r})"))) as party:
        assert party.end() == (0, garbage)
    assert said(path, "agent") == garbage
    assert [frame.data for frame in read_recording(path).frames][-2:] == [
        b'{"id":1,"result":{}}',
        b"[[[[",
    ]


def test_a_slow_agent_is_read_byte_by_byte(stage: Stage, path: Path) -> None:
    """The agent goes on when its last byte was confirmed, so one that is kept back would hang."""
    line = '{"jsonrpc":"2.0","id":1,"result":"ünï"}\n'.encode()
    agent = python(
        f"import os\nfor byte in {line!r}: os.write(1, bytes([byte])); assert os.read(0, 1)"
    )
    with stage.party(proxy(path, *agent)) as party:
        for byte in line:
            assert party.stdout.read(1) == bytes([byte])
            party.write(b".")
        assert party.end() == (0, b"")
    assert [frame.data for frame in read_recording(path).frames if frame.side == "agent"] == [
        line[:-1]
    ]


def test_a_silent_agent_costs_the_client_nothing(stage: Stage, path: Path) -> None:
    agent = python("import sys\nfor line in sys.stdin: pass\nsys.exit(3)")
    with stage.party(proxy(path, *agent)) as party:
        for number in range(1000):
            party.write(b'{"id":%d}\n' % number)
        assert party.end() == (3, b"")
    assert len(read_recording(path).frames) == 1000
    assert said(path, "agent") == b""


# The client


def test_a_client_that_is_gone_takes_the_agent_with_it(stage: Stage, tmp_path: Path) -> None:
    scripts = {
        "polite": "import sys\nprint('ready', flush=True)\nsys.stdin.read()",
        "silent": "import time\nprint('ready', flush=True)\nwhile True: time.sleep(1000)",
        "flooding": f"{DEAF}import os\nprint('ready', flush=True)\n"
        "while True:\n  try: os.write(1, b'x' * 999 + b'\\n')\n  except OSError: time.sleep(1000)",
        "mute": "import os, time\nprint('ready', flush=True)\nos.close(1)\n"
        "while True: time.sleep(1000)",
    }
    paths = {name: tmp_path / f"{name}.acp.ndjson" for name in scripts}
    parties: dict[str, Party] = {}
    with ExitStack() as running:
        for name, script in scripts.items():
            command = proxy(paths[name], *python(script))
            party = parties[name] = running.enter_context(stage.party(command))
            assert party.line() == b"ready\n"
            party.write(b"last words\n")
            party.leave()
        codes = {name: party.code() for name, party in parties.items()}
    # An agent that ignores it gets SIGTERM, and one that ignores that too gets SIGKILL.
    assert [name for name, code in codes.items() if code == 0] == ["polite"]
    for path in paths.values():
        assert said(path, "client") == b"last words\n"
        assert read_recording(path).footer is not None


WAITING: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "chunks": ("killed", "readline", ()),
    "lines": ("killed", "readline", ("--break", "method == never")),
    "mute": ("killed", "read", ()),
    "endless": ("endless", "readline", ()),
}
"""What becomes of a client's stdin, how the client hears, and the options of the proxy."""


def test_a_client_that_is_gone_while_its_words_wait_takes_the_agent_with_it(
    stage: Stage, tmp_path: Path
) -> None:
    """The agent never reads, and says so when the way to it is full."""
    paths = {name: tmp_path / f"{name}.acp.ndjson" for name in WAITING}
    with ExitStack() as running:
        for name, (stdin, hears, options) in WAITING.items():
            end = "os.close(1)" if hears == "read" else "pass"
            full = f"import os\n{UNTIL_FULL}print('full', flush=True)\n{end}\ntime.sleep(600)"
            talk = (
                "import os, subprocess, sys, threading\n"
                f"stdin = open('/dev/zero') if {stdin == 'endless'} else subprocess.PIPE\n"
                "proxy = subprocess.Popen(sys.argv[1:], stdin=stdin, stdout=subprocess.PIPE)\n"
                "write = lambda: proxy.stdin and proxy.stdin.write((b'x' * 127 + b'\\n') * 4000)\n"
                "threading.Thread(target=write, daemon=True).start()\n"
                f"proxy.stdout.{hears}()\nprint('full', flush=True)\nsys.stdin.read()"
            )
            between = proxy(paths[name], *python(full), options=options)
            party = running.enter_context(stage.party([*python(talk), *between]))
            assert party.line() == b"full\n"
            party.process.kill()
            assert party.code() == -signal.SIGKILL
        assert stage.is_empty()
    for path in paths.values():
        assert events(path)["exit"] == {"signal": signal.SIGTERM}


def test_a_client_that_has_closed_stdin_still_gets_its_responses(stage: Stage, path: Path) -> None:
    agent = python("import sys\nwords = sys.stdin.read()\nprint(words.upper())")
    with stage.party(proxy(path, *agent)) as party:
        party.write(b"words")
        assert party.end() == (0, b"WORDS\n")


def hasty(*agent: str) -> list[str]:
    """Return the command of a proxy that gives a tenth of a second where others give five."""
    script = (
        "import sys; from acp_inspector.proxy.session import run_proxy; "
        "sys.exit(run_proxy(sys.argv[1:], grace=0.1))"
    )
    return [sys.executable, "-c", script, *agent]


def test_an_agent_that_has_closed_stdout_stays_as_long_as_its_client(stage: Stage) -> None:
    """It closes its stdout, lets the client's words wait for longer than any grace, and reads."""
    agent = python(
        f"import os, sys\nos.close(1)\n{UNTIL_FULL}time.sleep(0.5)\n"
        "sys.exit(5 if len(sys.stdin.buffer.read()) == 400_000 else 1)"
    )
    with stage.party(hasty(*agent)) as party:
        party.write(b"x" * 400_000)
        assert party.end() == (5, b"")


def test_a_client_that_reads_no_more_keeps_its_agent_as_long_as_it_may_speak(stage: Stage) -> None:
    agent = python(
        "import os, sys, time\nprint('ready', flush=True)\nos.read(0, 1)\ntime.sleep(0.5)\n"
        "sys.exit(5)"
    )
    with stage.party(hasty(*agent)) as party:
        assert party.line() == b"ready\n"
        party.stdout.close()
        party.write(b"x")
        assert party.code() == 5


# The disk


def test_a_full_disk_costs_frames_that_are_counted_once_it_has_room_again(
    stage: Stage, disk: Disk
) -> None:
    """The agent empties the disk itself on command: it runs where the disk is mounted."""
    script = (
        "import os, sys\nfor line in sys.stdin:\n"
        f"  if line == 'room\\n': os.truncate({str(disk.ballast)!r}, 0)\n"
        f"  if line == 'keep\\n': open({str(disk.kept)!r}, 'wb').write("
        f"open({str(disk.recording)!r}, 'rb').read())\n"
        "  sys.stdout.write(line); sys.stdout.flush()"
    )
    with stage.party(disk.seen_by(proxy(disk.recording, *python(script)))) as party:
        for number in range(200):
            line = b'{"n":%d,"pad":"%b"}\n' % (number, b"x" * 1000)
            party.write(line)
            assert party.line() == line
        for line in (b"room\n", b"more\n"):
            party.write(line)
            assert party.line() == line
        while not disk.kept.exists() or b'"dropped"' not in disk.kept.read_bytes():
            party.write(b"keep\n")
            assert party.line() == b"keep\n"
        assert party.end() == (0, b"")
        assert party.stderr().count(b"the traffic goes on without it") == 1
    kept = read_recording(disk.kept)
    assert kept.bad_lines == ()
    numbers = [entry.seq for entry in kept.entries]
    assert numbers == sorted(set(numbers))
    assert kept.frames
    dropped = events(disk.kept)["dropped"]
    assert dropped["count"] > 0
    assert "no space left" in str(dropped["why"])


# The socket


def flood_through(party: Party, rounds: int = 2000) -> str:
    """Send and receive some megabytes; return what came as a hash."""
    came = hashlib.sha256()
    line = b'{"pad":"%b"}\n' % (b"x" * 1000)
    for _ in range(rounds):
        party.write(line)
        came.update(party.line())
    assert came.digest() == hashlib.sha256(line * rounds).digest()
    return came.hexdigest()


@pytest.mark.parametrize("fault", ["killed", "stopped", "socket removed", "nonsense"])
def test_a_misbehaving_observer_does_not_affect_the_traffic(
    stage: Stage, path: Path, fault: str
) -> None:
    watcher = python(
        "import os, socket, sys\npeer = socket.socket(socket.AF_UNIX)\npeer.connect(sys.argv[1])\n"
        'peer.sendall(b\'{"do":"watch"}\\n\')\nprint(len(peer.recv(10)), flush=True)\n'
        "sys.stdin.read()"
    )
    with stage.party(proxy(path, *ECHO, options=("--name", "it"))) as party:
        flood_through(party, 10)
        place = find_proxy("it").path
        with stage.party([*watcher, str(place)]) as observer:
            assert observer.line() == b"10\n"
            match fault:
                case "killed":
                    observer.process.kill()
                case "stopped":
                    observer.process.send_signal(signal.SIGSTOP)
                case "socket removed":
                    place.unlink()
                case _:
                    with socket.socket(socket.AF_UNIX) as peer:
                        peer.connect(str(place))
                        peer.sendall(b"\xff\x00" * 70_000 + b"\n[[[[\n{}\n")
            flood_through(party)
            assert party.end() == (0, b"")
    assert len(read_recording(path).frames) == 2 * 2010


def test_observers_of_a_proxy_that_is_killed_find_the_end_and_no_proxy(
    stage: Stage, path: Path
) -> None:
    with stage.party(proxy(path, *ECHO, options=("--name", "it"))) as party:
        flood_through(party, 1)
        found = find_proxy("it")
        with ProxyClient(found.path) as attachment:
            lines = attachment.watch()
            next(lines)
            party.process.kill()
            # No exception: what came before is worth keeping.
            rest = list(lines)
        assert all(line is not None for line in rest)
        party.code()
        assert running_proxies() == []
        assert not found.path.exists()
        assert socket_directory().is_dir()


# kill -9


def test_a_killed_agent_shows_in_the_exit_code(stage: Stage, path: Path) -> None:
    agent = python("import os\nos.write(1, b'%d\\n' % os.getpid())\nos.read(0, 1)")
    with stage.party(proxy(path, *agent)) as party:
        pid = int(party.line())
        os.kill(pid, signal.SIGKILL)
        assert party.end() == (128 + signal.SIGKILL, b"")
    assert [type(entry).__name__ for entry in entries(path)][-1] == "JournalEvent"
    assert events(path)["exit"] == {"signal": signal.SIGKILL}


@pytest.mark.parametrize("wrapper", [[], WRAPPER], ids=["bare", "wrapped"])
def test_a_proxy_that_is_killed_leaves_no_agent_that_listens(
    stage: Stage, path: Path, wrapper: list[str]
) -> None:
    with stage.party(proxy(path, *wrapper, *ECHO)) as party:
        flood_through(party, 1)
        while len(read_recording(path).frames) < 20:
            flood_through(party, 20)
        party.process.kill()
        party.leave()
        assert party.code() == -signal.SIGKILL
    assert said(path, "agent").startswith(b'{"pad":"')
    assert not read_recording(path).bad_lines


def test_a_killed_proxy_takes_an_unresponsive_agent_with_it(stage: Stage, path: Path) -> None:
    """Some editors end an agent so, and hit the proxy in its place."""
    agent = python(f"{DEAF}print('ready', flush=True)\nwhile True: time.sleep(1000)")
    with stage.party(proxy(path, *WRAPPER, *agent)) as party:
        assert party.line() == b"ready\n"
        party.process.kill()
        assert party.code() == -signal.SIGKILL
        assert stage.is_empty()


# Wrappers


@pytest.mark.parametrize("is_detached", [False, True], ids=["group", "session"])
@pytest.mark.parametrize("end", ["stdin", "SIGTERM", "wrapper killed"])
def test_what_a_wrapper_started_ends_with_the_proxy(
    stage: Stage, path: Path, end: str, is_detached: bool
) -> None:
    """Even what ignores the friendly signs, and has a session of its own."""
    inner = python(
        f"{DEAF}import os\nos.write(1, b'%d\\n' % os.getpid())\nwhile True: time.sleep(1000)"
    )
    outer = python(
        "import os, subprocess, sys\nos.write(1, b'%d\\n' % os.getpid())\n"
        f"child = subprocess.Popen(sys.argv[1:], start_new_session={is_detached})\n"
        "sys.stdin.read()\n"
    )
    with stage.party(proxy(path, *outer, *inner)) as party:
        wrapper, inside = int(party.line()), int(party.line())
        assert wrapper != inside
        match end:
            case "stdin":
                pass
            case "wrapper killed":
                os.kill(wrapper, signal.SIGKILL)
            case _:
                party.process.send_signal(signal.Signals[end])
        party.end()
    assert read_recording(path).footer is not None
