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
from textual.app import App
from textual.pilot import Pilot
from textual.strip import Strip

from acp_console.agents.spec import DEMO_AGENT
from acp_console.traffic.sources import FileSource
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.ask import PermissionTiming
from acp_console.tui.chat.permission import PermissionView

FOLDER: Final = Path(__file__).parent.parent / "docs" / "pictures"
TOUR: Final = Path(__file__).parent.parent / "recordings/tour.acp.ndjson"
NAMES: Final = ("home.svg", "chat.svg", "traffic.svg")
LIMIT: Final = 30.0
"""Seconds that a screen may take to come up."""


async def make(cwd: Path) -> None:
    """Write all pictures; the demo agent works in `cwd`."""
    app = ConsoleApp(cwd=cwd)
    async with app.run_test(size=(120, 34)) as pilot:
        await settle(pilot, lambda: bool(app.screen.query("#entries")))
        app.save_screenshot("home.svg", str(FOLDER))
    timing = PermissionTiming(settle_s=0)
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=cwd, timing=timing)
    async with app.run_test(size=(150, 40)) as pilot:
        await pilot.press(*"read notes.md then edit notes.md: milk => bread", "enter")
        await settle(pilot, lambda: bool(app.screen.query(PermissionView)))
        await pilot.press("ctrl+t")
        await settle(pilot, lambda: "session/request_permission" in text_of(app))
        app.save_screenshot("chat.svg", str(FOLDER))
    app = ConsoleApp(cwd=cwd, watch=[FileSource(TOUR, None)])
    async with app.run_test(size=(150, 40)) as pilot:
        await settle(pilot, lambda: "0 findings" in text_of(app))
        await pilot.press("right_square_bracket", "p")
        await settle(pilot, lambda: "toolCallId" in text_of(app))
        app.save_screenshot("traffic.svg", str(FOLDER))


async def settle(pilot: Pilot[int], holds: Callable[[], object]) -> None:
    """Wait until something holds and the screen changes no more.

    Raises:
        TimeoutError: that does not come; the message is the screen.
    """
    with anyio.move_on_after(LIMIT):
        while not holds():
            await pilot.pause(0.02)
        before = ""
        while before != text_of(pilot.app):
            before = text_of(pilot.app)
            await pilot.pause(0.3)
        return
    raise TimeoutError(text_of(pilot.app))


def strips_of(app: App[int]) -> list[Strip]:
    """Return the rows of the screen, as they are drawn."""
    compositor = app.screen._compositor  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way
    return compositor.render_strips()


def text_of(app: App[int]) -> str:
    """Return all text on the screen."""
    return "\n".join(strip.text for strip in strips_of(app))


def home(folder: Path) -> Path:
    """Make a new home of an imaginary user; return her project, where agents work."""
    # Nothing of this machine is in the pictures.
    names = ("CONFIG_HOME", "STATE_HOME", "DATA_HOME", "CACHE_HOME", "RUNTIME_DIR")
    os.environ.update({f"XDG_{name}": str(folder / name.lower()) for name in names})
    os.environ.update(HOME=str(folder), PATH=str(folder), TEXTUAL_ANIMATIONS="none")
    cwd = folder / "shop"
    cwd.mkdir()
    (cwd / "notes.md").write_text("# Notes\n\nBuy milk.\nTODO: call Ada.\n")
    return cwd


def renamed(text: str, folder: Path) -> str:
    """Return a text with another name for the folder; of the same length, so columns stay."""
    names = re.compile(rf"{re.escape(str(folder)[:9])}\w*")
    return names.sub(lambda path: "/home/ada/project"[: len(path[0])], text)


def main() -> int:
    """Make the pictures in a directory of their own."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="acp-", dir="/tmp") as directory:
        folder = Path(directory).resolve()
        anyio.run(make, home(folder))
        for name in NAMES:
            path = FOLDER / name
            # Also where a path is cut.
            path.write_text(renamed(path.read_text(), folder))
    sys.stdout.write(f"wrote {FOLDER.name}/{', '.join(NAMES)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
