"""The console ends when it is asked to, also while its event loop is stuck."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.console.conftest import Agent, agent

__all__ = ["agent"]

LIMIT = 30.0
"""Seconds after which something counts as hung."""
STUCK = """
import sys
from pathlib import Path
from acp_console.agents.spec import command_agent
from acp_console.tui import app
from acp_console.tui.app import ConsoleApp
from acp_console.tui.ending import ConsoleEndTimer

class Stuck(ConsoleApp):
    CSS_PATH = Path(app.__file__).with_name("app.tcss")

    def on_mount(self):
        self.set_interval(0.05, self.wait_for_agent)

    def wait_for_agent(self):
        if Path("started").exists():
            Path("stuck").write_text("")
            while True:
                pass

timer = ConsoleEndTimer(0.5)
Stuck(agent=command_agent(sys.argv[1:]), start="chat", cwd=Path.cwd(), end_timer=timer).run()
"""


@pytest.mark.long
@pytest.mark.parametrize("way", ["SIGTERM", "SIGHUP", "ctrl+q"])
def test_a_stuck_console_ends_with_its_agents_and_restores_the_terminal(
    way: str, agent: Agent, tmp_path: Path
) -> None:
    deaf = "import os, signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
    told = "open('pid', 'w').write(str(os.getpid())); open('started', 'w').close()\n"
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    (tmp_path / "stuck.py").write_text(STUCK)
    command = [
        sys.executable,
        "stuck.py",
        *agent(deaf + told + "while True: time.sleep(9)"),
    ]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, start_new_session=True
    ) as process:
        try:
            screen = b""
            limit = time.monotonic() + LIMIT
            while not (tmp_path / "stuck").exists():
                assert time.monotonic() < limit, screen
                if select.select([ours], [], [], 0.05)[0]:
                    screen += os.read(ours, 65536)
            if way == "ctrl+q":
                os.write(ours, b"\x11")
            else:
                process.send_signal(signal.Signals[way])
            code = process.wait(LIMIT)
        finally:
            process.kill()
        while select.select([ours], [], [], 0)[0]:
            screen += os.read(ours, 65536)
        after = termios.tcgetattr(theirs)
    assert code == {"SIGTERM": 143, "SIGHUP": 129, "ctrl+q": 0}[way]
    assert after == before
    assert screen.rfind(b"\x1b[?1049l") > screen.rfind(b"\x1b[?1049h") >= 0
    status = Path("/proc", (tmp_path / "pid").read_text(), "status")
    assert not status.exists() or "State:\tZ" in status.read_text()
    os.close(ours)
    os.close(theirs)
