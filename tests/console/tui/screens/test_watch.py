"""Traffic of others on the screen: recordings, and running proxies as they go on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from acp_console.traffic.sources import FileSource, ProxySource
from acp_console.tui.app import ConsoleApp
from acp_console.tui.commands import COMMANDS
from acp_console.tui.help import HelpScreen
from acp_console.tui.watch.screen import WatchScreen
from acp_inspector.control.client import RunningProxy, find_proxy
from acp_inspector.filter.entries import RecordingEntries
from acp_inspector.recording.format import Header, encode_header
from acp_protocol.jsonrpc import encode_notification
from tests.console.tui.analysis_app import recording
from tests.console.tui.conftest import say, settled, until
from tests.warm import WARM

pytestmark = pytest.mark.long

RECORDINGS = Path(__file__).parents[4] / "recordings"
ECHO = (sys.executable, "-u", "-c", "import sys\nfor line in sys.stdin: sys.stdout.write(line)")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Generator[subprocess.Popen[bytes]]:
    """A running proxy, alone in its runtime directory, that sends back what it is told."""
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        command = [*WARM, "-m", "acp_console", "proxy", "--name", "work", "--", *ECHO]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            tell(process, "first")
            yield process
            assert process.stdin is not None
            process.stdin.close()


def tell(process: subprocess.Popen[bytes], text: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    params = {"sessionId": "s", "update": update}
    line = encode_notification("session/update", params) + b"\n"
    process.stdin.write(line)
    process.stdin.flush()
    assert process.stdout.readline() == line


async def test_a_recording_is_shown_from_its_first_frame_to_its_last() -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(RECORDINGS / "hello.acp.ndjson")])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        assert "initialize" in say(app)
        assert "hello.acp.ndjson" in say(app)
        assert "session/prompt" in say(app)


async def test_the_dialect_of_arrays_is_named_where_it_is_chosen() -> None:
    path = RECORDINGS / "hello.acp.ndjson"
    app = ConsoleApp(cwd=Path(), watch=[FileSource(path, "v2-batch")])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "dialect v2-batch" in say(app))


@pytest.mark.parametrize(
    ("dialect", "prompt"), [(None, "Refactor this function"), ("none", "[nothing]")]
)
async def test_a_recording_is_read_in_the_dialect_that_is_chosen(
    dialect: str | None, prompt: str
) -> None:
    path = RECORDINGS / "dialects/acpex-client.acp.ndjson"
    app = ConsoleApp(cwd=Path(), watch=[FileSource(path, dialect)])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: f'session/prompt "{prompt}"' in say(app))
        await until(pilot, lambda: re.search(r"\d findings", say(app)))
        assert ("dialect acpex" in say(app).splitlines()[0]) is (dialect is None)
        assert ("2 findings" in say(app)) is (dialect is None)


async def test_the_header_of_a_recording_without_entries_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "empty.acp.ndjson"
    path.write_bytes(encode_header(Header("", "", "", command=["some-agent", "--fast"])))
    app = ConsoleApp(cwd=Path(), watch=[FileSource(path)])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "No traffic." in say(app))
        assert "some-agent --fast" in say(app)


async def test_a_recording_looks_as_it_should(picture: SnapshotAssertion, tmp_path: Path) -> None:
    # Not one of ours: those are made anew now and then.
    app = ConsoleApp(cwd=Path(), watch=[FileSource(recording(tmp_path))])
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app) and "spawn" in say(app))
        await pilot.press("down", "m", *["down"] * 4)
        # Each of these comes in its own time: the mark, what lint says, and the chosen frame.
        await until(pilot, lambda: "53 entries · 1 marked · 6 findings" in say(app))
        await until(pilot, lambda: 'text: "/tour"' in say(app))
        await until(pilot, lambda: 'method: "session/prompt"' in say(app))
        assert await settled(pilot) == picture


async def test_recording_with_a_wrong_typed_header_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    header: dict[str, object] = {
        "acp_recording": 1,
        "created": 5,
        "tool": [],
        "schema": {},
        "about": 7,
        "command": 1,
    }
    _, rest = (RECORDINGS / "hello.acp.ndjson").read_bytes().split(b"\n", 1)
    path.write_bytes(json.dumps(header).encode() + b"\n" + rest)
    app = ConsoleApp(cwd=Path(), watch=[FileSource(path)])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app) and "initialize" in say(app))


async def test_a_recording_that_grows_is_read_on(tmp_path: Path) -> None:
    whole = (RECORDINGS / "hello.acp.ndjson").read_bytes().splitlines(keepends=True)
    path = tmp_path / "it.acp.ndjson"
    path.write_bytes(b"".join(whole[:5]))
    app = ConsoleApp(cwd=Path(), watch=[FileSource(path)])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(
            pilot, lambda: "■ recording, not closed" in say(app) and "4 entries" in say(app)
        )
        with path.open("ab") as file:
            file.writelines(whole[5:])
        await until(pilot, lambda: f"{len(whole) - 1} entries" in say(app))
        await until(pilot, lambda: "not ended" not in say(app))


async def test_a_recording_with_broken_lines_shows_where_they_are(tmp_path: Path) -> None:
    whole = (RECORDINGS / "hello.acp.ndjson").read_bytes().splitlines(keepends=True)
    path = tmp_path / "it.acp.ndjson"
    path.write_bytes(b"".join([*whole[:3], b"\x00 broken \x1b[31m\n", *whole[3:]]))
    app = ConsoleApp(cwd=Path(), watch=[FileSource(path)])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "unreadable: line 4: no JSON object" in say(app))


async def test_several_recordings_are_looked_at_one_after_the_other() -> None:
    names = ("hello", "edit")
    sources = [FileSource(RECORDINGS / f"{name}.acp.ndjson") for name in names]
    app = ConsoleApp(cwd=Path(), watch=sources)
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app) and "1 of 2" in say(app))
        await pilot.press("f3")
        await until(pilot, lambda: "edit.acp.ndjson" in say(app) and "2 of 2" in say(app))
        await until(pilot, lambda: "session/new" in say(app))
        await pilot.press("f3")
        await until(pilot, lambda: "hello.acp.ndjson" in say(app))


async def test_a_file_that_is_no_recording_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("[b]no recording[/b]")
    app = ConsoleApp(cwd=tmp_path, watch=[FileSource(path)])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "✗ cannot be read" in say(app))


async def test_a_running_proxy_is_followed_until_it_ends(
    proxy: subprocess.Popen[bytes],
) -> None:
    app = ConsoleApp(cwd=Path(), watch=[ProxySource(find_proxy("work"))])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "● live" in say(app) and '"first"' in say(app))
        tell(proxy, "second")
        await until(pilot, lambda: '"second"' in say(app))
        assert proxy.stdin is not None
        proxy.stdin.close()
        await until(pilot, lambda: "○ ended" in say(app))
        await until(pilot, lambda: "the agent exited: code 0" in say(app))
        assert isinstance(app.screen, WatchScreen)


async def test_what_a_proxy_records_is_read_from_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    record = ("--name", "work", "--record", str(tmp_path / "it.acp.ndjson"))
    command = [*WARM, "-m", "acp_console", "proxy", *record, "--", *ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        tell(process, "first")
        app = ConsoleApp(cwd=Path(), watch=[ProxySource(find_proxy("work"))])
        async with app.run_test(size=(110, 36)) as pilot:
            await until(pilot, lambda: "● live" in say(app) and '"first"' in say(app))
            assert isinstance(app.screen, WatchScreen)
            assert isinstance(app.screen.inspection.traffic.entries, RecordingEntries)
            tell(process, "second")
            await until(pilot, lambda: '"second"' in say(app) and "following" in say(app))
            assert process.stdin is not None
            process.stdin.close()
            await until(pilot, lambda: "○ ended" in say(app))
            await until(pilot, lambda: "the agent exited: code 0" in say(app))


async def test_a_proxy_that_is_gone_is_told(tmp_path: Path) -> None:
    gone = RunningProxy(tmp_path / "gone.sock", "gone", 1, ("a",), "/", "", None)
    app = ConsoleApp(cwd=tmp_path, watch=[ProxySource(gone)])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "the proxy gone (1) is gone" in say(app))


async def test_a_recording_cannot_be_interfered_with_nor_followed_and_nobody_offers_to() -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(RECORDINGS / "hello.acp.ndjson")])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        await until(pilot, lambda: "Filter" in say(app).splitlines()[-1])
        assert "Breakpoints" not in say(app).splitlines()[-1]
        assert "Follow" not in say(app).splitlines()[-1]
        await pilot.press("B", "f")
        assert isinstance(app.screen, WatchScreen)
        assert "following" not in say(app)


async def test_the_analysis_takes_the_place_of_the_traffic_where_there_is_little_room(
    tmp_path: Path,
) -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(recording(tmp_path))])
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app) and "spawn" in say(app))
        await pilot.press("7")
        await until(pilot, lambda: "→ session/new" in say(app))
        assert "Filter: text" not in say(app)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: "Filter: text" in say(app))
        assert isinstance(app.screen, WatchScreen)
        assert app.screen.inspection.traffic.table.chosen == 4
        await pilot.press("6", "right")
        await until(pilot, lambda: "After frame 5" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Filter: text" in say(app))
        assert app.screen.inspection.traffic.table.has_focus


async def test_the_analysis_stands_beside_the_traffic_where_there_is_room(tmp_path: Path) -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(recording(tmp_path))])
    async with app.run_test(size=(200, 50)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app) and "spawn" in say(app))
        await pilot.press("8")
        await until(pilot, lambda: "← agent   agent_message_chunk" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: "39 of 53 entries" in say(app))
        assert "method == session/update and update == agent_message_chunk" in say(app)


async def test_the_analysis_of_a_recording_looks_as_it_should(
    picture: SnapshotAssertion, tmp_path: Path
) -> None:
    # Not one of ours: those are made anew now and then.
    app = ConsoleApp(cwd=Path(), watch=[FileSource(recording(tmp_path))])
    async with app.run_test(size=(200, 50)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app) and "spawn" in say(app))
        await pilot.press("7")
        await until(pilot, lambda: "5 exchanges" in say(app))
        await pilot.press("down")
        await until(pilot, lambda: "6 findings" in say(app))
        assert await settled(pilot) == picture


async def test_footer_shows_whole_keys_and_always_that_of_the_help(tmp_path: Path) -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(recording(tmp_path))])
    titles = {command.title for command in COMMANDS}
    async with app.run_test(size=(80, 30)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app) and "spawn" in say(app))
        for width in (80, 100, 200):
            await pilot.resize_terminal(width, 30)
            for key in ("5", "7", "escape"):
                await pilot.press(key)
                await until(pilot, lambda: "f1 Help" in say(app).splitlines()[-1])
                footer = say(app).splitlines()[-1]
                assert "^p palette" in footer
                for shown in footer.split("▏")[0].rstrip().split("  "):
                    assert shown.strip().partition(" ")[2] in titles, footer


async def test_help_begins_with_the_keys_of_the_screen(tmp_path: Path) -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(recording(tmp_path))])
    async with app.run_test(size=(200, 50)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app) and "spawn" in say(app))
        await pilot.press("5")
        await until(pilot, lambda: app.focused is not None and app.focused.id != "frames")
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        help_screen = app.screen
        assert isinstance(help_screen, HelpScreen)
        scopes = help_screen.scopes
        assert scopes[:2] == ["findings", "analysis"]
        assert set(scopes[2:5]) == {"inspection", "watch", "traffic"}


async def test_who_waits_at_a_running_proxy_is_told_as_time_goes_on(
    proxy: subprocess.Popen[bytes],
) -> None:
    app = ConsoleApp(cwd=Path(), watch=[ProxySource(find_proxy("work"))])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: '"first"' in say(app))
        await pilot.press("9")
        await until(pilot, lambda: "Now: no request is pending" in say(app))
        assert proxy.stdin is not None
        proxy.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"session/prompt"}\n')
        proxy.stdin.flush()
        await until(pilot, lambda: "the client waits for the agent: session/prompt 1" in say(app))
        proxy.stdin.close()
        await until(pilot, lambda: "Never answered: 2 requests" in say(app))
