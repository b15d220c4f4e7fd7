"""What the tests of the screens share."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from rich.cells import cell_len
from rich.segment import Segment
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.events import Paste
from textual.pilot import Pilot

from acp_inspector.journal import Entry, Frame

LIMIT = 60.0
"""Seconds after which a screen counts as stuck."""
QUIET = 3
"""Pictures in a row that have to be alike."""


class SvgExtension(SingleFileSnapshotExtension):
    """Pictures, one file each."""

    file_extension = "svg"
    _write_mode = WriteMode.TEXT


@pytest.fixture
def picture(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """A snapshot that is a picture."""
    return snapshot.use_extension(SvgExtension)


@pytest.fixture(autouse=True)
def still_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep cursors from blinking: a picture is taken at any moment."""
    monkeypatch.setattr("textual.widgets.Input.cursor_blink", False)
    monkeypatch.setattr("textual.widgets.TextArea.cursor_blink", False)
    # The variable of that name is read where Textual is imported, which is done by now.
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")


@pytest.fixture(scope="session", autouse=True)
def quick_apps() -> Iterator[None]:
    """Parse each style sheet once for all apps, and draw and collect garbage less often."""
    parsed: dict[object, list[RuleSet]] = {}
    parse = Stylesheet._parse_rules  # pyright: ignore[reportPrivateUsage] - there is no other way

    def parse_once(sheet: Stylesheet, css: str, *where: Any, **how: Any) -> list[RuleSet]:
        variables = tuple(sheet._variables.items())  # pyright: ignore[reportPrivateUsage] - there is no other way
        key = (css, where, tuple(how.items()), variables)
        if key not in parsed:
            parsed[key] = parse(sheet, css, *where, **how)
        return parsed[key]

    thresholds = gc.get_threshold()
    gc.set_threshold(10_000, 10, 50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        # Textual's own is the same, but not in C, and is called a million times.
        patch.setattr(RuleSet, "__hash__", object.__hash__)
        patch.setattr("textual.screen.UPDATE_PERIOD", 1 / 60)
        yield
    gc.set_threshold(*thresholds)


async def until(pilot: Pilot[Any], holds: Callable[[], object]) -> None:
    """Let the app run until `holds` does; it draws by itself, as often as for a user."""
    wait_s = 0.01
    with anyio.move_on_after(LIMIT):
        while not holds():
            await anyio.sleep(wait_s)
            # To read the whole screen takes a while itself.
            wait_s = min(wait_s * 1.5, 0.1)
        await pilot.pause()
        return
    pytest.fail(f"what is waited for does not come; the screen is\n{say(pilot.app)}")


async def settled(pilot: Pilot[Any]) -> str:
    """Return the picture of the screen once it changes no more.

    Markdown, trees and suggestions are laid out in the background, in any number of steps. Between
    two of them a busy machine may take a moment: whoever knows what the last one brings waits for
    that with `until` first.
    """
    with anyio.fail_after(LIMIT):
        before, same = _drawn(pilot.app), 0
        while same < QUIET:
            await pilot.pause(0.05)
            drawn = _drawn(pilot.app)
            before, same = drawn, same + 1 if drawn == before else 0
    return pilot.app.export_screenshot()


def _drawn(app: App[Any]) -> list[list[Segment]]:
    """Return what a picture shows; a picture takes ten times as long."""
    compositor = app.screen._compositor  # pyright: ignore[reportPrivateUsage] - no other way
    update: Any = compositor.render_update(full=True, screen_stack=app._background_screens)  # pyright: ignore[reportPrivateUsage]
    return [list(strip) for strip in update.strips]


def say(app: App[Any]) -> str:
    """Return all text that the screen shows now."""
    lines = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage] - no other way
    return "\n".join(strip.text for strip in lines)


async def paste(pilot: Pilot[Any], text: str, *keys: str) -> None:
    """Paste a text where the focus is, and press keys; typing would draw at each letter."""
    pilot.app.post_message(Paste(text))
    await pilot.press(*keys)
    await pilot.pause()


def place_of(app: App[Any], text: str) -> tuple[int, int]:
    """Return column and row of a text on the screen, to click on it."""
    rows = say(app).splitlines()
    row = next(row for row, line in enumerate(rows) if text in line)
    return cell_len(rows[row].partition(text)[0]), row


def notices(app: App[Any]) -> str:
    """Return the notifications that the app has shown."""
    return "\n".join(notice.message for notice in app._notifications)  # pyright: ignore[reportPrivateUsage] - there is no other way to see them


def entries(*said: tuple[str, object]) -> list[Entry]:
    """Return frames, a tenth of a second apart; bytes stand for themselves."""
    frames: list[Entry] = []
    for n, (side, what) in enumerate(said, start=1):
        raw = what if isinstance(what, bytes) else json.dumps({"jsonrpc": "2.0"} | what).encode()  # pyright: ignore[reportOperatorIssue] - an object
        frames.append(Frame(n, n / 10, "client" if side == "client" else "agent", raw))
    return frames


def update(name: str, /, **members: object) -> tuple[str, dict[str, object]]:
    """Return the agent's `session/update`."""
    params = {"sessionId": "s1", "update": {"sessionUpdate": name} | members}
    return "agent", {"method": "session/update", "params": params}


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A directory to work in."""
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    return tmp_path
