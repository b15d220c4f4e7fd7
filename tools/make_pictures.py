"""Make the pictures of the docs anew: `python -m tools.make_pictures`.

The console is driven as a user would, with the real demo agent, and its screens are exported.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import anyio
from textual.pilot import Pilot

from acp_console.agents.spec import DEMO_AGENT
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.ask import PermissionTiming
from acp_console.tui.chat.permission import PermissionView

FOLDER: Final = Path(__file__).parent.parent / "docs" / "pictures"
LIMIT: Final = 30.0
"""Seconds that a screen may take to come up."""


async def make(cwd: Path) -> None:
    """Write all pictures; the demo agent works in `cwd`."""
    app = ConsoleApp(cwd=cwd)
    async with app.run_test(size=(120, 34)) as pilot:
        await _until(pilot, lambda: bool(app.screen.query("#entries")))
        app.save_screenshot("home.svg", str(FOLDER))
    timing = PermissionTiming(settle_s=0)
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=cwd, timing=timing)
    async with app.run_test(size=(150, 40)) as pilot:
        await pilot.press(*"read notes.md then edit notes.md: milk => bread", "enter")
        await _until(pilot, lambda: bool(app.screen.query(PermissionView)))
        await pilot.press("ctrl+t")
        await pilot.pause(0.5)
        app.save_screenshot("chat.svg", str(FOLDER))
        await pilot.press("ctrl+t")
        app.screen.query_one(PermissionView).focus()
        await pilot.press("1")
        await pilot.press("ctrl+t")
        await pilot.pause(0.5)
        await pilot.press("a")
        app.save_screenshot("traffic.svg", str(FOLDER))


async def _until(pilot: Pilot[int], holds: Callable[[], bool]) -> None:
    with anyio.fail_after(LIMIT):
        while not holds():
            await pilot.pause(0.02)
    await pilot.pause()


def _renamed(path: re.Match[str]) -> str:
    return "/home/ada/project"[: len(path[0])]


def main() -> int:
    """Make the pictures in a directory of their own."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="acp-", dir="/tmp") as directory:
        home = Path(directory).resolve()
        # Nothing of this machine is in the pictures.
        names = ("CONFIG", "STATE", "DATA", "CACHE")
        os.environ.update({f"XDG_{name}_HOME": str(home / name) for name in names})
        os.environ.update(HOME=str(home), PATH=str(home))
        cwd = home / "shop"
        cwd.mkdir()
        (cwd / "notes.md").write_text("# Notes\n\nBuy milk.\nTODO: call Ada.\n")
        anyio.run(make, cwd)
        for path in FOLDER.glob("*.svg"):
            # Names of one length keep the columns, also where a path is cut.
            text = re.sub(rf"{re.escape(str(home)[:9])}\w*", _renamed, path.read_text())
            path.write_text(text)
    sys.stdout.write(f"wrote {FOLDER.name}/home.svg, chat.svg, traffic.svg\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
