"""The proxy is killed at any moment: what either side has received is in the recording.

The moments come from a seed. `KILLS=500` tries that many.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from acp_inspector.journal import JournalEvent
from acp_inspector.recording.random_access import IndexedRecording
from acp_inspector.recording.reader import Recording, read_recording
from acp_inspector.recording.recovery import recover
from acp_inspector.recording.rotation import part_paths
from acp_inspector.recording.spool import spool_path
from acp_protocol.framing import Framing, Side, encode_frame
from tests.faults.disks import Disk
from tests.faults.processes import PROXY, Party, Stage, python

pytestmark = pytest.mark.long

KILLS = int(os.environ.get("KILLS", "4"))
LONGEST = 12 << 20
"""Bytes after which it is killed at the latest."""
FLOOD = python(
    "import os, sys, threading\n"
    "def keep():\n"
    "  with open(sys.argv[2], 'wb', 0) as file:\n"
    "    while chunk := os.read(0, 65536):\n"
    "      file.write(chunk)\n"
    "threading.Thread(target=keep).start()\n"
    "number = 0\n"
    "try:\n"
    "  while True:\n"
    "    block = []\n"
    "    for _ in range(int(sys.argv[1])):\n"
    "      number += 1\n"
    """      raw = b'{"n":%d,"pad":"%b"}' % (number, b'x' * (number % 700))\n"""
    "      header = b'Content-Length: %d\\r\\n\\r\\n' % len(raw)\n"
    "      block.append(header + raw if sys.argv[3] == 'headers' else raw + b'\\n')\n"
    "    os.write(1, b''.join(block))\n"
    "except OSError:\n"
    "  pass"
)
ECHO = python("import os\nwhile chunk := os.read(0, 65536):\n  os.write(1, chunk)")
LONG_LINE = python(
    "import os\n"
    """os.write(1, b'{"n":1}\\n{"pad":"')\n"""
    "try:\n"
    "  while True:\n"
    "    os.write(1, b'x' * 65536)\n"
    "except OSError:\n"
    "  pass"
)


def killed(party: Party, kill_at: int) -> bytes:
    """Read so many bytes, then kill; return all that came, also in the pipe."""
    received = bytearray()
    while len(received) < kill_at:
        chunk = os.read(party.stdout.fileno(), 65536)
        assert chunk, party.stderr()
        received += chunk
    return bytes(received) + kill(party)


def kill(party: Party) -> bytes:
    party.process.send_signal(signal.SIGKILL)
    party.code()
    return party.stdout.read()


def bytes_of(recordings: Sequence[Recording], side: Side) -> bytes:
    frames = [frame for each in recordings for frame in each.frames if frame.side == side]
    return b"".join(frame.wire for frame in frames)


def content(folder: Path) -> dict[str, bytes]:
    """Return each file of recordings, and of what is beside them."""
    files = (each for each in sorted(folder.rglob("*")) if each.is_file() and ".acp." in str(each))
    return {str(each): each.read_bytes() for each in files}


def read(path: Path) -> Recording:
    """Read a recording that must be whole; reading changes no file."""
    before = content(path.parent)
    recording = read_recording(path)
    assert content(path.parent) == before
    assert not recording.bad_lines
    numbers = [entry.seq for entry in recording.entries]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return recording


@pytest.mark.parametrize("framing", ["lines", "headers"])
@pytest.mark.parametrize("seed", range(KILLS))
def test_what_either_side_received_in_a_flood_is_in_the_recording(
    stage: Stage, tmp_path: Path, seed: int, framing: Framing
) -> None:
    dice = random.Random(seed)
    path, kept = tmp_path / "it.acp.ndjson", tmp_path / "kept"
    flood = [*FLOOD, str(dice.choice((1, 7, 300))), str(kept), framing]
    with stage.party([*PROXY, "--record", str(path), "--", *flood]) as party:
        raw = b'{"from":"client","pad":"%b"}' % (b"y" * dice.randrange(9000))
        line = encode_frame(raw, framing)

        def flood_agent() -> None:
            try:
                while True:
                    os.write(party.stdin.fileno(), line)
            except OSError:
                pass

        client = threading.Thread(target=flood_agent)
        client.start()
        received = killed(party, dice.randrange(1, LONGEST))
        client.join()
    recording = read(path)
    assert bytes_of([recording], "agent").startswith(received)
    assert bytes_of([recording], "client").startswith(kept.read_bytes())


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_frame_that_the_client_has_just_read_is_in_the_recording(
    stage: Stage, tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "it.acp.ndjson"
    sent = b""
    with stage.party([*PROXY, "--record", str(path), "--", *ECHO]) as party:
        for number in range(seed % 20 + 1):
            line = b'{"n":%d}\n' % number
            sent += line
            party.write(line)
            assert party.line() == line
        kill(party)
    recording = read(path)
    assert bytes_of([recording], "agent") == sent
    assert bytes_of([recording], "client") == sent


RULE = """
[[rule]]
name = "other number"
from = "client"
set = { path = "$.n", value = 7 }
"""


@pytest.mark.parametrize("count", [1, 5])
def test_a_frame_that_a_rule_has_changed_is_in_the_recording(
    stage: Stage, tmp_path: Path, count: int
) -> None:
    path, rules = tmp_path / "it.acp.ndjson", tmp_path / "rules.toml"
    rules.write_text(RULE)
    options = ["--rules", str(rules), "--record", str(path)]
    with stage.party([*PROXY, *options, "--", *ECHO]) as party:
        for _ in range(count):
            party.write(b'{"n":1}\n')
            assert party.line() == b'{"n":7}\n'
        kill(party)
    assert bytes_of([read(path)], "agent") == b'{"n":7}\n' * count


def test_the_beginning_of_a_long_line_is_in_the_recording(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    with stage.party([*PROXY, "--record", str(path), "--", *LONG_LINE]) as party:
        received = killed(party, 24 << 20)
    assert bytes_of([read(path)], "agent").startswith(received)


@pytest.mark.parametrize("seed", range(min(KILLS, 50)))
def test_frames_are_recovered_into_the_last_file_of_a_rotated_recording(
    stage: Stage, tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "it.acp.ndjson"
    flood = [*FLOOD, "300", str(tmp_path / "kept"), "lines"]
    options = ["--rotate-size", "1MB", "--record", str(path)]
    with stage.party([*PROXY, *options, "--", *flood]) as party:
        received = killed(party, (9 + seed % 5) << 20)
    before = content(path.parent)
    shown = [read_recording(part) for part in part_paths(path)]
    assert content(path.parent) == before
    assert recover(path) is not None
    assert not spool_path(path).exists()
    recordings = [read_recording(part) for part in part_paths(path)]
    assert [each.entries for each in recordings] == [each.entries for each in shown]
    numbers = [entry.seq for each in recordings for entry in each.entries]
    assert numbers == list(range(1, len(numbers) + 1))
    assert bytes_of(recordings, "agent").startswith(received)


@pytest.mark.parametrize("mode", ["--append", "--overwrite"])
def test_a_recording_is_continued_or_replaced_after_a_kill(
    stage: Stage, tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "it.acp.ndjson"
    for line in (b'{"n":1}\n', b'{"n":2}\n'):
        with stage.party([*PROXY, mode, "--record", str(path), "--", *ECHO]) as party:
            party.write(line)
            assert party.line() == line
            kill(party)
    expected = b'{"n":1}\n{"n":2}\n' if mode == "--append" else b'{"n":2}\n'
    assert bytes_of([read(path)], "agent") == expected


STOPPED_WRITER = """
import os, sys, threading
from acp_console.cli.proxy import run_command
from acp_inspector.recording.spool import Spool
from acp_inspector.recording.writer import RecordingWriter

write = RecordingWriter.write

def stop():
    threading.Event().wait()

def partly(self, entries):
    write(self, entries)
    if sys.argv[1] == "partly":
        os.ftruncate(self._descriptor, self.size - 3)
    stop()

RecordingWriter.write = {"never": lambda self, entries: stop()}.get(sys.argv[1], partly)
sys.exit(run_command(sys.argv[2:]))
"""
"""Runs the proxy; its recorder stops before, in, or after the first write."""


@pytest.mark.parametrize("when", ["never", "partly", "wholly"])
def test_what_a_write_had_come_to_makes_no_difference(
    stage: Stage, tmp_path: Path, when: str
) -> None:
    path = tmp_path / "it.acp.ndjson"
    proxy = [sys.executable, "-c", STOPPED_WRITER, when]
    with stage.party([*proxy, "--record", str(path), "--", *ECHO]) as party:
        for line in (b'{"n":1}\n', b'{"n":2}\n', b"not JSON\r\n"):
            party.write(line)
            assert party.line() == line
        kill(party)
    recording = read(path)
    assert bytes_of([recording], "agent") == b'{"n":1}\n{"n":2}\nnot JSON\r\n'
    indexed = IndexedRecording(path)
    indexed.index_all()
    assert tuple(indexed) == recording.entries
    indexed.close()
    assert recover(path) is not None
    assert read(path).entries == recording.entries
    assert not spool_path(path).exists()
    *_, last = recording.entries
    assert isinstance(last, JournalEvent)
    assert last.name == "note"
    assert "recovered" in str(last.data["text"])


def test_a_full_disk_under_the_spool_stops_no_traffic(stage: Stage, disk: Disk) -> None:
    command = [*PROXY, "--record", str(disk.recording), "--", *ECHO]
    line = b'{"pad":"%b"}\n' % (b"x" * 5000)
    with stage.party(disk.seen_by(command)) as party:
        for _ in range(60):
            party.write(line)
            assert party.line() == line
        assert party.end() == (0, b"")
        assert party.stderr().count(b"the spool of") <= 1


def test_frames_of_a_deleted_recording_do_not_get_into_a_redacted_one(
    stage: Stage, tmp_path: Path
) -> None:
    path = tmp_path / "it.acp.ndjson"
    with stage.party([*PROXY, "--record", str(path), "--", *ECHO]) as party:
        party.write(b'{"secret":1}\n')
        assert party.line() == b'{"secret":1}\n'
        kill(party)
    path.unlink()
    with stage.party([*PROXY, "--redact", "--record", str(path), "--", *ECHO]) as party:
        party.write(b"{}\n")
        assert party.line() == b"{}\n"
        assert not spool_path(path).exists()
        party.end()
    assert bytes_of([read(path)], "agent") == b"{}\n"


def test_nothing_is_reported_of_a_recording_that_lacks_no_frame(
    stage: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, kept = tmp_path / "it.acp.ndjson", tmp_path / "kept"
    with stage.party([*PROXY, "--record", str(path), "--", *ECHO]) as party:
        party.write(b"{}\n")
        assert party.line() == b"{}\n"
        kill(party)
    shutil.copytree(spool_path(path), kept)
    recover(path)
    # As if the proxy had been killed after it wrote, and before it removed the spool.
    kept.rename(spool_path(path))
    caplog.clear()
    assert bytes_of([read(path)], "agent") == b"{}\n"
    assert not caplog.text


def test_frames_wait_beside_a_recording_that_cannot_be_written(
    stage: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, elsewhere = tmp_path / "it.acp.ndjson", tmp_path / "elsewhere"
    with stage.party([*PROXY, "--record", str(path), "--", *ECHO]) as party:
        party.write(b"{}\n")
        assert party.line() == b"{}\n"
        kill(party)
    # Not written through a symbolic link, whoever runs this.
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert bytes_of([read(path)], "agent") == b"{}\n"
    assert recover(path) is None
    assert "wait in" in caplog.text
    path.unlink()
    elsewhere.rename(path)
    assert bytes_of([read(path)], "agent") == b"{}\n"


def killed_recording(stage: Stage, path: Path) -> None:
    """Record a line of each side; the proxy is killed before it is written."""
    proxy = [sys.executable, "-c", STOPPED_WRITER, "never"]
    with stage.party([*proxy, "--record", str(path), "--", *ECHO]) as party:
        party.write(b'{"n":1}\n')
        assert party.line() == b'{"n":1}\n'
        kill(party)


def test_readers_at_the_same_time_all_see_what_was_recovered(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    with stage.party(
        [*PROXY, "--record", str(path), "--", *FLOOD, "300", str(tmp_path / "k"), "lines"]
    ) as (party):
        killed(party, 20 << 20)
    show = [sys.executable, "-m", "acp_console", "show", "--count", str(path)]
    readers = [subprocess.Popen(show, stdout=subprocess.PIPE) for _ in range(4)]
    counts = {reader.communicate(timeout=60)[0] for reader in readers}
    assert len(counts) == 1
    assert spool_path(path).exists()
    recoverers = [
        subprocess.Popen([sys.executable, "-m", "acp_console", "recover", str(path)])
        for _ in range(2)
    ]
    readers = [subprocess.Popen(show, stdout=subprocess.PIPE) for _ in range(3)]
    counts |= {reader.communicate(timeout=60)[0] for reader in readers}
    assert {each.wait(60) for each in recoverers} == {0}
    assert not spool_path(path).exists()
    assert len(counts) == 1


def test_frames_are_not_recovered_into_another_recording_of_that_name(
    stage: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, other = tmp_path / "it.acp.ndjson", tmp_path / "other.acp.ndjson"
    killed_recording(stage, path)
    with stage.party([*PROXY, "--record", str(other), "--", *ECHO]) as party:
        party.write(b'{"other":1}\n')
        assert party.line() == b'{"other":1}\n'
        party.end()
    content = other.read_bytes()
    path.write_bytes(content)
    read_recording(path)
    assert path.read_bytes() == content
    assert "another recording has taken its place" in caplog.text


@pytest.mark.parametrize("way", ["link", "move"])
def test_frames_are_recovered_through_a_link_and_after_a_move(
    stage: Stage, tmp_path: Path, way: str
) -> None:
    path, name = tmp_path / "it.acp.ndjson", tmp_path / "name.acp.ndjson"
    killed_recording(stage, path)
    if way == "link":
        name.symlink_to(path)
    else:
        path.rename(name)
    assert bytes_of([read_recording(name)], "agent") == b'{"n":1}\n'
    assert recover(name) == 2
    assert not spool_path(path).exists()


def fill_with_damage(folder: Path) -> None:
    """Fill a directory with what no proxy writes."""
    folder.mkdir(0o700)
    (folder / "0").write_bytes(b"\xff" * 60)
    (folder / "1").write_bytes(b"\0" * 31 + b"c" + b"\xff" * 12 + b"x")
    (folder / "2").symlink_to("/dev/zero")
    os.mkfifo(folder / "3")


def test_a_foreign_spool_changes_nothing(tmp_path: Path, stage: Stage) -> None:
    path = tmp_path / "it.acp.ndjson"
    with stage.party([*PROXY, "--record", str(path), "--", *ECHO]) as party:
        party.write(b"{}\n")
        assert party.line() == b"{}\n"
        party.end()
    content = path.read_bytes()
    spool_path(path).symlink_to(tmp_path)
    read_recording(path)
    assert path.read_bytes() == content
    spool_path(path).unlink()
    fill_with_damage(spool_path(path))
    read_recording(path)
    assert path.read_bytes() == content
