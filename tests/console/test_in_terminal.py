"""The real program in a terminal, driven by keys; what it draws is read as bytes."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
from PIL import Image

from acp_console.tui.images.kitty import PLACEHOLDER
from benchmarks.terminal import Terminal
from tests.console.tui.screens.test_intercepting import SCRIPT, begin, proxied

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="a pty with a login on Linux"),
]

LIMIT = 60.0
CONSOLE = (sys.executable, "-m", "acp_console")
READY = "● ready"
F6, F7, CTRL_N = "\x1b[17~", "\x1b[18~", "\x0e"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A user who starts the console for the first time."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return {**kept, "HOME": str(tmp_path), "TERM": "xterm-256color", "EDITOR": "sed -i s/one/two/"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "shop"
    found.mkdir()
    (found / "notes.txt").write_text("buy milk\n")
    return found


@pytest.fixture
def terminal(environment: dict[str, str], folder: Path) -> Generator[Terminal]:
    with Terminal((*CONSOLE, "chat", "--cwd", str(folder)), environment) as found:
        assert found.seen(READY, LIMIT)
        yield found


def press(terminal: Terminal, keys: str, wanted: str) -> None:
    """Press keys, and wait until a text is drawn after that."""
    begin = terminal.position
    terminal.press(keys)
    assert terminal.seen(wanted, LIMIT, begin) is not None, wanted


def press_until(terminal: Terminal, keys: str, wanted: str) -> None:
    """Press keys once a second until a text is drawn."""
    begin = terminal.position
    for _ in range(int(LIMIT)):
        terminal.press(keys)
        if terminal.seen(wanted, 1.0, begin):
            return
    pytest.fail(f"{wanted} was not drawn")


def send(terminal: Terminal, text: str, wanted: str) -> None:
    # Enter in the same burst would belong to a paste.
    press(terminal, text, text)
    press(terminal, "\r", wanted)


def test_an_edit_is_allowed_after_it_was_shown_a_command_refused_and_a_turn_stopped(
    terminal: Terminal, folder: Path
) -> None:
    send(terminal, "edit notes.txt: milk => bread", "Press a number")
    press(terminal, "1", READY)
    assert (folder / "notes.txt").read_text() == "buy bread\n"
    # Refused with a reason.
    send(terminal, "run touch made", "Press a number")
    # The cursor is on the first letter.
    press(terminal, "w", "ell the agent why")
    # A turn that ends before the next drawing leaves the line of status as it was.
    send(terminal, "not now", "leave")
    assert not (folder / "made").exists()
    # Escape stops a turn that waits.
    send(terminal, "run touch made", "Press a number")
    press(terminal, "\x1b", READY)


def test_an_option_and_the_mode_are_changed_and_the_traffic_shows_it(terminal: Terminal) -> None:
    assert terminal.seen("mode Ask", LIMIT)
    press(terminal, F6, "Architect")
    send(terminal, "code", "mode Code")
    # Shift+Tab, then ctrl+t.
    press(terminal, "\x1b[Z", "mode ")
    press(terminal, "\x14", "option mode")
    # The traffic has the focus a moment after it is drawn.
    press_until(terminal, "\x1b[H", "as of frame 1")


def test_a_question_is_answered_by_its_number_and_a_form_says_what_is_missing(
    terminal: Terminal,
) -> None:
    send(terminal, "ask Which colour: red, blue", "press Tab and a number")
    press(terminal, "\t", "Press a number")
    # What has only just come takes no answer.
    press_until(terminal, "1", '"red"')
    begin = terminal.position
    send(terminal, "form", "Not now (esc)")
    # The form has the focus a moment after it is drawn; then the footer shows its keys.
    assert terminal.seen("Not now \x1b", LIMIT, begin)
    press(terminal, "\x13", "is missing")
    press(terminal, "\x1b", READY)


def test_a_session_is_listed_and_loaded_and_the_first_screen_lists_both(
    terminal: Terminal,
) -> None:
    send(terminal, "read notes.txt", "buy milk")
    press(terminal, CTRL_N, READY)
    press(terminal, F7, "enter opens")
    send(terminal, "read n", "buy milk")
    press(terminal, "\x0f", "Continue")


def test_the_prompt_is_written_in_the_editor_of_the_user_in_any_width(terminal: Terminal) -> None:
    press(terminal, "one", "e")
    press(terminal, "\x07", "two")
    # Another width is drawn at once.
    begin = terminal.position
    terminal.resize(90)
    assert terminal.seen(READY, LIMIT, begin)


def test_quitting_asks_while_a_turn_runs_and_a_signal_does_not(terminal: Terminal) -> None:
    send(terminal, "run touch made", "Press a number")
    press(terminal, "\x11", "Quit?")
    press(terminal, "n", "waits for you")
    assert terminal.terminate(LIMIT) is not None
    # The alternate screen was left.
    assert terminal.seen("\x1b[?1049l", LIMIT)


def test_the_console_ends_with_its_terminal_and_goes_on_when_continued(terminal: Terminal) -> None:
    # Stopped and continued by signals, it draws all anew.
    begin = terminal.position
    os.kill(terminal.pid, signal.SIGSTOP)
    os.kill(terminal.pid, signal.SIGCONT)
    assert terminal.seen("\x1b[?1049h", LIMIT, begin)
    press(terminal, "hello", "hello")
    # A terminal that is closed sends both; here the second comes when the screen was put back.
    begin = terminal.position
    os.kill(terminal.pid, signal.SIGHUP)
    assert terminal.seen("\x1b[?1049l", LIMIT, begin)
    os.kill(terminal.pid, signal.SIGCONT)
    assert terminal.ended(LIMIT) is not None


def test_a_session_goes_on_after_the_console_was_quit(
    terminal: Terminal, environment: dict[str, str], folder: Path
) -> None:
    send(terminal, "read notes.txt", "buy milk")
    assert terminal.seen(READY, LIMIT)
    press(terminal, "\x11", "Go on with: acp-console sessions resume ")
    assert terminal.terminate(LIMIT) is not None
    command = ("/bin/sh", "-c", f"cd {folder} && exec {' '.join(CONSOLE)}")
    with Terminal(command, environment) as again:
        assert again.seen("read notes.txt", LIMIT)
        press(again, "read n", "n")
        press(again, "\r", "buy milk")
        # The way back is printed even if nothing more was said.
        press(again, "\x11", "Go on with: acp-console sessions resume ")


def test_a_terminal_that_shows_images_is_asked_first_and_forgets_them_at_the_end(
    environment: dict[str, str], folder: Path
) -> None:
    Image.new("RGB", (40, 40), "red").save(folder / "red.png")
    kitty = {**environment, "TERM": "xterm-kitty", "TMUX": "", "STY": ""}
    with Terminal((*CONSOLE, "chat", "--cwd", str(folder)), kitty) as terminal:
        assert terminal.seen("\x1b[c", LIMIT)
        terminal.press("\x1bP>|kitty(0.41.1)\x1b\\\x1b[6;20;10t\x1b[?62;c")
        assert terminal.seen(READY, LIMIT)
        send(terminal, "look at @red.png ", "\x1b_Ga=t,")
        assert terminal.seen(PLACEHOLDER, LIMIT)
        begin = terminal.position
        assert terminal.terminate(LIMIT) is not None
        assert terminal.seen("\x1b_Ga=d,", LIMIT, begin)
        # The next that is written leaves the terminal to others.
        assert terminal.seen("q=2;\x1b\\\x1b[?2004l", LIMIT, begin)


def test_a_paused_request_is_answered_in_place_of_the_agent(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "agent.py"
    script.write_text(SCRIPT)
    agent = (sys.executable, "-m", "acp_agent", "--script", str(script))
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        attach = (*CONSOLE, "attach", "work")
        with proxied(*agent) as editor:
            begin(editor, tmp_path)
            with Terminal(attach, {**environment, "XDG_RUNTIME_DIR": home}) as found:
                assert found.seen("session/new", LIMIT)
                # B, a filter, Enter and Esc.
                press(found, "B", "reak on frames")
                press(found, "method == session/prompt and from == client", "client")
                press(found, "\r", "break on")
                press(found, "\x1b", "breakpoint")
                start = found.position
                editor.prompt(2, "hello")
                assert found.seen("1 paused!", LIMIT, start)
                # Alt+P, then a response, and Ctrl+S.
                press(found, "\x1bp", "Answer a")
                press(found, "a", "end_turn")
                found.press("\x13")
                while not editor.has(2):
                    threading.Event().wait(0.01)
                assert editor.response(2) == {"stopReason": "end_turn"}
                assert "You said" not in editor.text
