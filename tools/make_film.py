"""Make the moving picture of the README anew: `python -m tools.make_film`.

The console is driven by keys as a user would, with the real demo agent and a real proxy; its
screens become one animated SVG. It shows a change that is allowed, the way back through the
traffic, what a lint finding says, and a message that is edited on its way.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio
from rich.segment import Segment
from textual.pilot import Pilot
from textual.strip import Strip

from acp_console.agents.spec import DEMO_AGENT
from acp_console.traffic.sources import FileSource, ProxySource
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.ask import PermissionTiming
from acp_console.tui.chat.permission import PermissionView
from acp_console.tui.intercept.frame_editor import FrameEditor
from acp_console.tui.intercept.held import HeldPane
from acp_inspector.control.client import running_proxies
from tools.film import Film
from tools.make_pictures import LIMIT, home, renamed, settle, strips_of, text_of

ROOT: Final = Path(__file__).parent.parent
TARGET: Final = ROOT / "docs/pictures/console.svg"
TROUBLE: Final = ROOT / "recordings/reading/trouble.acp.ndjson"
COLUMNS: Final = 120
ROWS: Final = 32
GROUND: Final = "#12161c"
PROMPT: Final = "read notes.md then edit notes.md: milk => bread"
KEY_S: Final = 0.05
"""Seconds that a typed letter is shown."""


class Camera:
    """Films a running app."""

    def __init__(self, film: Film, pilot: Pilot[int], folder: Path) -> None:
        self._film = film
        self.pilot = pilot
        self._folder = folder

    @property
    def text(self) -> str:
        """All text on the screen."""
        return text_of(self.pilot.app)

    def shoot(self, seconds: float) -> None:
        """Film the screen as it is."""
        strips = [
            Strip(Segment(renamed(part.text, self._folder), part.style) for part in strip)
            for strip in strips_of(self.pilot.app)
        ]
        self._film.add(strips, seconds)

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds and the screen changes no more."""
        await settle(self.pilot, holds)

    async def keys(self, *keys: str, seconds: float) -> None:
        """Press keys and film what each one does."""
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause(0.05)
            self.shoot(seconds)


async def film_chat(film: Film, cwd: Path) -> None:
    """An edit is asked for, shown, and allowed; then one goes back through the traffic."""
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=cwd, timing=PermissionTiming(settle_s=0))
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        camera = Camera(film, pilot, cwd.parent)
        await camera.until(lambda: "ready" in camera.text)
        camera.shoot(1.2)
        await camera.keys(*PROMPT, seconds=KEY_S)
        await pilot.press("enter")
        await camera.until(lambda: app.screen.query(PermissionView))
        camera.shoot(3.0)
        app.screen.query_one(PermissionView).focus()
        await pilot.press("1")
        await camera.until(lambda: "ready" in camera.text)
        camera.shoot(1.8)
        await pilot.press("ctrl+t")
        await camera.until(lambda: "prompt result" in camera.text)
        camera.shoot(2.4)
        for _ in range(8):
            await camera.keys("up", seconds=0.6)
        film.mark()
        camera.shoot(1.6)


async def film_finding(film: Film, cwd: Path) -> None:
    """A recording is opened, and its first violation explained."""
    app = ConsoleApp(cwd=cwd, watch=[FileSource(TROUBLE, None)])
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        camera = Camera(film, pilot, cwd.parent)
        await camera.until(lambda: "10 findings" in camera.text)
        camera.shoot(2.0)
        await pilot.press("x")
        await camera.until(lambda: True)
        camera.shoot(1.6)
        await pilot.press("5")
        await camera.until(lambda: "Fix" in camera.text)
        camera.shoot(4.0)


async def film_edit(film: Film, cwd: Path) -> None:
    """A prompt is held on its way to the agent, edited, and sent on."""
    proxy = ("proxy", "--name", "work", "--break", "method == session/prompt and kind == request")
    client = subprocess.Popen(  # noqa: ASYNC220 - it is waited for below
        (
            *("acp-console", "exec", "--allow", "all", "write list.md: milk", "--"),
            *("acp-console", *proxy, "--", "acp-agent"),
        ),
        cwd=cwd,
        env={**os.environ, "PATH": str(Path(sys.executable).parent)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with client:
        with anyio.fail_after(LIMIT):
            while not running_proxies():  # noqa: ASYNC110 - nothing tells of it
                await anyio.sleep(0.05)
        app = ConsoleApp(cwd=cwd, watch=[ProxySource(running_proxies()[0])])
        async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
            camera = Camera(film, pilot, cwd.parent)
            await camera.until(lambda: "1 paused!" in camera.text)
            camera.shoot(2.2)
            await pilot.press("alt+p", "enter")
            editor = app.screen.query_one(HeldPane).editor
            await camera.until(lambda: editor.area.has_focus)
            for word in ("milk", "", "b", "br", "bre", "brea", "bread"):
                _write(editor, word)
                await pilot.pause(0.05)
                camera.shoot(1.4 if word == "milk" else 2 * KEY_S)
            camera.shoot(1.6)
            await pilot.press("ctrl+s")
            await camera.until(lambda: client.poll() is not None)
            camera.shoot(1.2)
            await camera.keys("g", seconds=3.5)


def _write(editor: FrameEditor, word: str) -> None:
    """Replace what the prompt in the editor asks to be written; the cursor stands behind it."""
    before, sign, rest = editor.text.partition("list.md: ")
    head = before + sign + word
    editor.write(head + rest[rest.index('"') :])
    editor.area.move_cursor((head.count("\n"), len(head) - head.rfind("\n") - 1))


async def make(cwd: Path) -> str:
    """Return the film; the demo agent works in `cwd`."""
    film = Film(COLUMNS, ROWS, GROUND)
    scenes: tuple[Callable[[Film, Path], Awaitable[None]], ...] = (
        film_chat,
        film_finding,
        film_edit,
    )
    for scene in scenes:
        await scene(film, cwd)
    return film.svg("acp-console: a change is allowed, traffic is read, a message is edited")


def main() -> int:
    """Make the film in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="acp-", dir="/tmp") as directory:
        picture = anyio.run(make, home(Path(directory).resolve()))
        TARGET.write_text(picture)
    sys.stdout.write(f"wrote {TARGET.parent.name}/{TARGET.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
