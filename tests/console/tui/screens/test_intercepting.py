"""Messages of a real proxy that are paused, changed and released on the screen."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from textual.pilot import Pilot

from acp_console.agents.spec import DEMO_AGENT
from acp_console.traffic.sources import ProxySource
from acp_console.tui.app import ConsoleApp, PausedBadge
from acp_console.tui.home.screen import HomeScreen
from acp_console.tui.intercept.held import HeldPane
from acp_console.tui.intercept.screens import BreakpointsScreen, ComposeScreen
from acp_console.tui.traffic.pane import TrafficPane
from acp_console.tui.watch.screen import WatchScreen
from acp_inspector.control.client import find_proxy
from acp_inspector.journal import Frame
from tests.console.tui.conftest import LIMIT, notices, paste, say, until
from tests.warm import WARM

pytestmark = pytest.mark.long

SCRIPT = 'async def prompt(call):\n    await call.text(f"You said: {call.prompt}")\n'
ECHO = (sys.executable, "-u", "-c", "import sys\nfor line in sys.stdin: sys.stdout.write(line)")


class Editor:
    """A client on the other side of a proxy; a thread reads what arrives."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.lines: list[bytes] = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def send(self, message: bytes | dict[str, Any]) -> None:
        assert self._process.stdin is not None
        if isinstance(message, dict):
            message = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(message + b"\n")
        self._process.stdin.flush()

    def call(self, id_: int, method: str, **params: Any) -> None:
        self.send({"id": id_, "method": method, "params": params})

    def prompt(self, id_: int, text: str) -> None:
        prompt = [{"type": "text", "text": text}]
        self.call(id_, "session/prompt", sessionId=self.response(1)["sessionId"], prompt=prompt)

    def has(self, id_: int) -> bool:
        """Whether the response to a request has arrived."""
        return any(json.loads(line).get("id") == id_ for line in self.lines)

    def response(self, id_: int) -> Any:
        """Return the result or the error of a request."""
        found = next(each for line in self.lines if (each := json.loads(line)).get("id") == id_)
        return found.get("result", found.get("error"))

    @property
    def text(self) -> str:
        return b"\n".join(self.lines).decode()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._thread.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.removesuffix(b"\n"))


@contextmanager
def proxied(*command: str, limit: str = "60s") -> Generator[Editor]:
    proxy = (*WARM, "-m", "acp_console", "proxy", "--name", "work", "--hold-limit", limit)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([*proxy, "--", *command], **pipes) as process:  # type: ignore[call-overload]
        editor = Editor(process)
        try:
            yield editor
        finally:
            editor.close()


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """No proxy but those of the test."""
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        yield


@pytest.fixture
def scripted(tmp_path: Path) -> tuple[str, ...]:
    """A scripted agent that repeats each prompt."""
    path = tmp_path / "agent.py"
    path.write_text(SCRIPT)
    return (*WARM, "-m", "acp_agent", "--script", str(path))


def begin(editor: Editor, folder: Path) -> None:
    """Open a session, and wait until it is there."""
    editor.send({"id": 0, "method": "initialize", "params": {"protocolVersion": 1}})
    editor.call(1, "session/new", cwd=str(folder), mcpServers=[])
    while not editor.has(1):
        threading.Event().wait(0.01)


@asynccontextmanager
async def watched(
    scripted: tuple[str, ...], folder: Path, limit: str = "60s"
) -> AsyncGenerator[tuple[Editor, ConsoleApp, Pilot[Any]]]:
    """A proxy with an open session, and the screen that shows it."""
    with proxied(*scripted, limit=limit) as editor:
        begin(editor, folder)
        app = ConsoleApp(cwd=folder, watch=[ProxySource(find_proxy("work"))])
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "session/new" in say(app))
            yield editor, app, pilot


def paused(app: ConsoleApp) -> list[str]:
    return [line for line in say(app).splitlines() if "⏸" in line and "▰" in line]


def traffic(app: ConsoleApp) -> TrafficPane:
    return app.screen.query_one(TrafficPane)


async def break_on(pilot: Pilot[Any], text: str) -> None:
    """Set a breakpoint by keys and a paste."""
    await pilot.press("B")
    await until(pilot, lambda: isinstance(pilot.app.screen, BreakpointsScreen))
    screen: Any = pilot.app.screen
    screen.filter.focus()
    await until(pilot, lambda: screen.filter.has_focus)
    await paste(pilot, text, "enter")
    await until(pilot, lambda: f"break on {text}" in say(pilot.app))
    await pilot.press("escape")
    await until(pilot, lambda: isinstance(pilot.app.screen, WatchScreen))


async def test_paused_request_is_edited_and_the_agent_gets_the_edited_bytes(
    scripted: tuple[str, ...], tmp_path: Path
) -> None:
    async with watched(scripted, tmp_path) as (editor, app, pilot):
        await break_on(pilot, "method == session/prompt and from == client")
        await pilot.press("home", "down")
        table = traffic(app).table
        before = table.cursor, table.scroll_offset.y
        editor.prompt(2, "hello")
        await until(pilot, lambda: len(paused(app)) == 1)
        await until(pilot, lambda: "request session/prompt is paused" in notices(app))
        assert "1 paused!" in say(app)
        assert "1 breakpoint" in say(app)
        assert (table.cursor, table.scroll_offset.y, table.has_focus) == (*before, True)
        assert not editor.has(2)
        await pilot.press("alt+p", "enter")
        pane = app.screen.query_one(HeldPane)
        await until(pilot, lambda: pane.editor.area.has_focus and "hello" in pane.editor.text)
        pane.editor.write(pane.editor.text.replace("hello", "good day"))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: editor.has(2))
        assert "You said: good day" in editor.text
        await until(pilot, lambda: not paused(app) and not app.screen.query(PausedBadge))
        await until(pilot, lambda: "edited" in say(app))


async def test_countdown_runs_out_and_the_message_is_sent_as_it_is(
    scripted: tuple[str, ...], tmp_path: Path
) -> None:
    async with watched(scripted, tmp_path, limit="2s") as (editor, app, pilot):
        await break_on(pilot, "method == session/prompt and from == client")
        editor.prompt(2, "hello")
        await until(pilot, lambda: paused(app))
        await until(pilot, lambda: not paused(app) and editor.has(2))
        assert "You said: hello" in editor.text
        await until(pilot, lambda: "by the time limit" in say(app))


async def test_two_messages_are_paused_at_once_and_decided_one_by_one(
    scripted: tuple[str, ...], tmp_path: Path
) -> None:
    async with watched(scripted, tmp_path) as (editor, app, pilot):
        await break_on(pilot, "update == agent_message_chunk")
        await break_on(pilot, "method == session/list and from == client")
        editor.prompt(2, "hello")
        await until(pilot, lambda: len(paused(app)) == 1)
        editor.call(3, "session/list")
        await until(pilot, lambda: len(paused(app)) == 2)
        await until(pilot, lambda: "2 paused!" in say(app))
        assert "◀" in paused(app)[0]
        assert "▶" in paused(app)[1]
        await pilot.press("alt+p", "down", "x")
        await until(pilot, lambda: len(paused(app)) == 1)
        assert not editor.has(2)
        await pilot.press("r")
        await until(pilot, lambda: editor.has(2) and editor.has(3))
        assert editor.response(3)["code"] == -32603
        assert "You said: hello" in editor.text
        await until(pilot, lambda: traffic(app).table.has_focus)


async def test_message_stays_paused_when_the_screen_is_closed_and_is_shown_everywhere(
    scripted: tuple[str, ...], tmp_path: Path
) -> None:
    with proxied(*scripted) as editor:
        begin(editor, tmp_path)
        app = ConsoleApp(agent=DEMO_AGENT, cwd=tmp_path)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "Live proxies" in say(app))
            await paste(pilot, "live work")
            await until(pilot, lambda: "Demo" not in say(app))
            await pilot.press("enter")
            await until(pilot, lambda: "session/new" in say(app))
            await break_on(pilot, "method == session/prompt and from == client")
            editor.prompt(2, "hello")
            await until(pilot, lambda: paused(app))
            await pilot.press("alt+p", "enter")
            pane = app.screen.query_one(HeldPane)
            await until(pilot, lambda: "hello" in pane.editor.text)
            pane.editor.write(pane.editor.text.replace("hello", "good day"))
            await pilot.press("escape", "q")
            await until(pilot, lambda: isinstance(app.screen, HomeScreen))
            await until(pilot, lambda: "⏸ 1 paused!" in say(app).splitlines()[0])
            await pilot.press("escape", *"demo")
            await until(pilot, lambda: "Live proxies" not in say(app))
            await pilot.press("enter")
            await until(pilot, lambda: "● ready" in say(app) and app.screen.query(PausedBadge))
            assert not editor.has(2)
            assert await pilot.click(PausedBadge)
            await until(pilot, lambda: isinstance(app.screen, WatchScreen))
            await until(pilot, lambda: app.screen.query(HeldPane) and paused(app))
            await pilot.press("alt+p")
            await until(pilot, lambda: "good day" in app.screen.query_one(HeldPane).editor.text)
            await pilot.press("enter", "ctrl+s")
            await until(pilot, lambda: editor.has(2))
            assert "You said: good day" in editor.text


async def test_quitting_sends_what_is_paused(scripted: tuple[str, ...], tmp_path: Path) -> None:
    with proxied(*scripted, limit="600s") as editor:
        begin(editor, tmp_path)
        app = ConsoleApp(cwd=tmp_path, watch=[ProxySource(find_proxy("work"))])
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "session/new" in say(app))
            await break_on(pilot, "method == session/prompt and from == client")
            editor.prompt(2, "hello")
            await until(pilot, lambda: paused(app))
            assert not editor.has(2)
        with anyio.fail_after(LIMIT):
            while not editor.has(2):
                await anyio.sleep(0.01)


async def test_first_screen_rings_for_what_others_have_paused(
    scripted: tuple[str, ...], tmp_path: Path
) -> None:
    with proxied(*scripted) as editor:
        begin(editor, tmp_path)
        other = (*WARM, "-m", "acp_console", "attach", "work", "--ask")
        command = '{"do": "break", "filter": "method == session/prompt and from == client"}'
        subprocess.run((*other, command), check=True, capture_output=True)
        app = ConsoleApp(cwd=tmp_path)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "Live proxies" in say(app))
            editor.prompt(2, "hello")
            await until(pilot, lambda: "⏸ 1 paused!" in say(app))
            assert "work: 1 paused!" in notices(app)
            subprocess.run((*other, '{"do": "release"}'), check=True, capture_output=True)
            await until(pilot, lambda: "⏸ 1 paused!" not in say(app).replace("work: 1", ""))


CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "word "}}
ROWS: list[tuple[bytes | dict[str, Any], str, str]] = [
    ({"method": "session/update", "params": {"sessionId": "s", "update": CHUNK}},
     "method == session/update and update == agent_message_chunk", '"word "'),
    ({"id": 5, "method": "session/list", "params": {}}, "method == session/list", '"session/list"'),
    ({"id": 5, "result": {"sessions": []}}, "kind == result", '"sessions": []'),
    ({"method": "session/cancel", "params": {"sessionId": "s"}}, "method == session/cancel",
     '"session/cancel"'),
    (b"{oops", "malformed", "{oops"),
]  # fmt: skip
"""A line, the breakpoint for such lines, and what the editor shows of it."""


async def test_any_row_makes_a_breakpoint_and_is_sent_again(tmp_path: Path) -> None:
    with proxied(*ECHO) as editor:
        for line, *_ in ROWS:
            # Some in a row: updates are one folded row.
            for _ in range(3):
                editor.send(line)
        while len(editor.lines) < 3 * len(ROWS):
            threading.Event().wait(0.01)
        app = ConsoleApp(cwd=tmp_path, watch=[ProxySource(find_proxy("work"))])
        async with app.run_test(size=(160, 40)) as pilot:

            async def click(key: str) -> None:
                """Click on a key in the footer."""
                (found,) = (each for each in app.screen.query("FooterKey") if each.key == key)  # pyright: ignore[reportAttributeAccessIssue] - its type is not public
                assert await pilot.click(found)

            async def breaks(press: Callable[[str], Awaitable[None]], wanted: str) -> None:
                await press("b")
                await until(pilot, lambda: isinstance(app.screen, BreakpointsScreen))
                screen: Any = app.screen
                await until(pilot, lambda: wanted in screen.filter.value)

            async def sends(press: Callable[[str], Awaitable[None]], text: str) -> None:
                await press("s")
                await until(pilot, lambda: isinstance(app.screen, ComposeScreen))
                compose: Any = app.screen
                await until(pilot, lambda: text in compose.editor.text)
                before = len(editor.lines)
                await pilot.press("f8")
                await until(pilot, lambda: len(editor.lines) > before)
                await pilot.press("escape")
                await until(pilot, lambda: isinstance(app.screen, WatchScreen))

            await until(pilot, lambda: f"{6 * len(ROWS) + 1} entries" in say(app))
            await until(pilot, lambda: "b Break" in say(app))
            pane = traffic(app)
            last = {entry.data: entry.seq for entry in pane.entries if isinstance(entry, Frame)}
            for n, (data, (_, wanted, text)) in enumerate(zip(last, ROWS, strict=True), start=1):
                pane.go_to_entry(last[data])
                await until(pilot, lambda: pane.table.under_cursor == last[data])  # noqa: B023 - it is waited for at once
                # A footer can be clicked as well.
                press = click if n == 1 else pilot.press
                await breaks(press, wanted)
                await pilot.press("enter")
                await until(pilot, lambda: isinstance(app.screen, WatchScreen))
                await until(pilot, lambda: f"{n} breakpoint" in say(app))  # noqa: B023
                await sends(press, text)
