"""A program that is started warm is to its caller what a cold one is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from tests.protocol.host.test_processes import is_running
from tests.warm import WARM

LIMIT_S = 60.0
STARTS = pytest.mark.parametrize("python", [[sys.executable], WARM], ids=["cold", "warm"])


@STARTS
def test_streams_words_variables_directory_and_exit_code_are_its_own(
    tmp_path: Path, python: list[str]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\n"
        "print(sys.argv[1:], sys.stdin.read(), os.environ['NAME'], os.getcwd(), __name__)\n"
        "print('done', file=sys.stderr)\n"
        "sys.exit(7)\n"
    )
    done = subprocess.run(
        [*python, str(script), "a", "b c"],
        input="said",
        capture_output=True,
        check=False,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"NAME": "value"},
        timeout=LIMIT_S,
    )
    assert (done.returncode, done.stderr) == (7, "done\n")
    assert done.stdout == f"['a', 'b c'] said value {tmp_path} __main__\n"


@STARTS
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_program_that_dies_of_a_signal_says_so(
    tmp_path: Path, python: list[str], number: signal.Signals
) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import os\nos.kill(os.getpid(), {int(number)})\n")
    done = subprocess.run([*python, str(script)], check=False, timeout=LIMIT_S)
    assert done.returncode == -number


@STARTS
async def test_signals_reach_it_and_it_ends_with_its_launcher(
    tmp_path: Path, python: list[str]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal\n"
        "signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'term\\n'))\n"
        "os.write(1, b'%d\\n' % os.getpid())\n"
        "while True: signal.pause()\n"
    )
    with subprocess.Popen([*python, str(script)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        program = int(process.stdout.readline())
        process.terminate()
        assert process.stdout.readline() == b"term\n"
        process.kill()
    with anyio.fail_after(LIMIT_S):
        while is_running(program):
            await anyio.sleep(0.01)
