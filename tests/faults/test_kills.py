"""The proxy is killed at random moments of a flood: the file has what it had to have by then.

That is what the client had received before the last batch that came to its end began to be written;
a batch begins when the one before it has ended. When batches end, the proxy itself writes down here
as it runs, because no look at the file from outside can tell half a write from a whole one.

The moments come from a seed. `KILLS=500` tries that many.
"""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import sys
import time
from pathlib import Path

import pytest

from acp_inspector.recording.reader import read_recording
from tests.faults.parties import Party, Stage, python

KILLS = int(os.environ.get("KILLS", "8"))
LONGEST = 12 << 20
"""Bytes after which it is killed at the latest."""
FLOOD = python(
    "import os, sys\nnumber = 0\n"
    "while True:\n"
    "  block = []\n"
    "  for _ in range(int(sys.argv[1])):\n"
    "    number += 1\n"
    """    block.append(b'{"n":%d,"pad":"%b"}\\n' % (number, b'x' * (number % 700)))\n"""
    "  os.write(1, b''.join(block))"
)


WITNESS = """
import os, struct, sys, time
from acp_console.cli.proxy import run_command
from acp_inspector.recording.writer import RecordingWriter

log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
write = RecordingWriter.write

def witnessed(self, entries):
    write(self, entries)
    os.write(log, struct.pack("<q", time.monotonic_ns()))

RecordingWriter.write = witnessed
sys.exit(run_command(sys.argv[2:]))
"""
"""Runs the proxy, and writes down when each batch was written."""


def ends_of_batches(log: Path) -> list[int]:
    content = log.read_bytes() if log.exists() else b""
    return [moment for (moment,) in struct.iter_unpack("<q", content[: len(content) // 8 * 8])]


def killed(party: Party, kill_at: int) -> list[tuple[int, int]]:
    """Read so many bytes, then kill; return how many lines had come at which moment."""
    came: list[tuple[int, int]] = []
    lines = received = 0
    while received < kill_at:
        chunk = os.read(party.stdout.fileno(), 65536)
        assert chunk, party.stderr()
        lines += chunk.count(b"\n")
        received += len(chunk)
        came.append((time.monotonic_ns(), lines))
    party.process.send_signal(signal.SIGKILL)
    party.code()
    return came


@pytest.mark.parametrize("seed", range(KILLS))
def test_nothing_is_lost_that_had_arrived_before_the_last_batch_began(
    stage: Stage, tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    path, log = tmp_path / "it.acp.ndjson", tmp_path / "log"
    witness = [sys.executable, "-c", WITNESS, str(log)]
    flood = [*FLOOD, str(dice.choice((1, 7, 300)))]
    with stage.party([*witness, "--record", str(path), "--", *flood]) as party:
        came = killed(party, dice.randrange(1, LONGEST))
    *_, began, _ = [0, 0, *ends_of_batches(log)]
    certain = max((lines for moment, lines in came if moment <= began), default=0)
    recording = read_recording(path)
    numbers = [json.loads(frame.data)["n"] for frame in recording.frames]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= certain
    assert recording.footer is None
    # At most the last line is cut off.
    assert [fault.line for fault in recording.bad_lines] in ([], [len(recording.entries) + 2])
