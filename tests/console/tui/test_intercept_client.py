"""The thread between the screen and the socket, with a real proxy's inside behind it."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from acp_console.traffic.intercept import InterceptClient
from acp_inspector.control.client import AttachError, ProxyClient
from acp_inspector.control.server import (
    MAX_PREVIEW_BYTES,
    ControlServer,
    LazyController,
    commands_on,
)
from acp_inspector.control.sinks import ChangeNotifier, MemoryLog
from tests.inspector.control.test_control import HEADER
from tests.inspector.intercept.scene import NOTIFICATION as TELL
from tests.inspector.intercept.scene import REQUEST as ASK
from tests.inspector.intercept.scene import Scene

LIMIT = 20.0
"""Seconds after which something counts as stuck."""


class Office:
    """A client and its proxy."""

    def __init__(self) -> None:
        self.scene = Scene()
        self.growth = ChangeNotifier()
        lazy = LazyController(lambda: self.scene.controller)
        self.control = ControlServer(
            "test",
            {"command": ["my-agent"], "cwd": "/"},
            lambda: MemoryLog(HEADER),
            self.growth,
            commands=commands_on(lazy),
            observers_left=lazy.observers_left,
        )
        self.client = InterceptClient(self.control.path)
        self.client.start()


@contextmanager
def office() -> Generator[Office]:
    it = Office()
    try:
        yield it
    finally:
        it.client.close()
        it.control.close()


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        yield


def until(holds: Callable[[], object]) -> None:
    """Wait until `holds` does."""
    end = time.monotonic() + LIMIT
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < end, "it never came"
        pause.wait(0.01)


def test_what_is_asked_for_shows_in_the_state() -> None:
    with office() as it:
        until(lambda: it.client.state.presence == "there")
        it.client.send_command("break", filter="from == client")
        until(lambda: it.client.state.breakpoints == ((1, "from == client"),))
        assert it.scene.passed("client", ASK, TELL) == []
        until(lambda: it.client.state.held_frames)
        (hold,) = it.client.state.held_frames
        assert (hold.raw, hold.side, hold.queued_behind, hold.is_whole) == (ASK, "client", 1, True)
        assert it.client.state.find_held(hold.id) == hold
        assert it.client.read_frame(hold) == ASK
        it.client.send_command("release", id=hold.id)
        until(lambda: it.client.state.find_held(hold.id) is None)
        assert it.scene.out("client") == [ASK + b"\n"]


def test_a_refusal_is_kept_for_the_screen() -> None:
    with office() as it:
        it.client.send_command("release", id=99)
        until(lambda: it.client.refusals)
        assert "no frame is held under the id 99" in it.client.refusals.popleft()
        assert it.client.state.presence == "there"


def test_all_of_a_long_frame_can_be_had_until_it_leaves() -> None:
    raw = b"x" * (MAX_PREVIEW_BYTES + 1)
    with office() as it:
        it.client.send_command("pause")
        until(lambda: it.client.state.is_paused)
        assert it.scene.passed("agent", raw) == []
        until(lambda: it.client.state.held_frames)
        (hold,) = it.client.state.held_frames
        assert (len(hold.raw), hold.size, hold.is_whole) == (
            MAX_PREVIEW_BYTES,
            MAX_PREVIEW_BYTES + 1,
            False,
        )
        assert it.client.read_frame(hold) == raw
        it.client.send_command("release_all")
        until(lambda: not it.client.state.held_frames)
        with pytest.raises(AttachError):
            it.client.read_frame(hold)


def test_the_answer_to_a_frame_of_ours_comes_while_the_desk_goes_on() -> None:
    with office() as it:
        sent = it.client.inject("client", ASK, is_forced=False, keeps_id=False)
        lines: list[bytes] = []
        until(lambda: lines.extend(it.scene.out("client")) or lines)
        it.client.send_command("pause")
        until(lambda: it.client.state.is_paused)
        it.client.send_command("resume")
        until(lambda: not it.client.state.is_paused)
        assert not sent.is_over
        asked = json.loads(lines[0])
        answer = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": 1}).encode()
        assert it.scene.passed("agent", answer) == []
        until(lambda: sent.is_over)
        assert (sent.response, sent.id, sent.error) == (answer, asked["id"], "")


def test_what_cannot_be_sent_says_why() -> None:
    with office() as it:
        sent = it.client.inject("client", b"a\nb", is_forced=False, keeps_id=False)
        until(lambda: sent.is_over)
        assert "a frame is one line" in sent.error


def test_who_closes_the_desk_releases_what_it_held() -> None:
    with office() as it:
        it.client.send_command("break", filter="from == agent")
        until(lambda: it.client.state.breakpoints)
        assert it.scene.passed("agent", TELL) == []
        it.client.close()
        until(lambda: not it.scene.controller.breakpoints)
        assert it.scene.out("agent") == [TELL + b"\n"]


def test_a_client_that_only_watches_releases_nothing_when_it_leaves() -> None:
    with office() as it:
        with ProxyClient(it.control.path) as other:
            other.call("break", filter="from == agent", lasting=False, passing=True)
        assert it.scene.passed("agent", TELL) == []
        until(lambda: it.client.state.held_frames)
        it.client.close()
        until(lambda: not it.control._threads)  # pyright: ignore[reportPrivateUsage] - its connection is closed
        assert it.scene.out("agent") == []
        assert it.scene.controller.breakpoints


def test_a_text_about_a_frame_is_kept_while_it_is_paused() -> None:
    with office() as it:
        it.client.send_command("pause")
        until(lambda: it.client.state.is_paused)
        it.scene.passed("client", ASK)
        it.scene.passed("agent", TELL)
        until(lambda: len(it.client.state.held_frames) == 2)
        first, second = it.client.state.held_frames
        it.client.open_draft(first).texts["frame"] = "mine"
        it.client.open_draft(second)
        assert it.client.open_draft(first).texts["frame"] == "mine"
        it.client.send_command("release", id=first.id)
        until(lambda: it.client.state.find_held(first.id) is None)
        del it.client.drafts[second.id]
        it.client.open_draft(second)
        assert set(it.client.drafts) == {second.id}


def test_with_the_proxy_gone_the_desk_says_so_and_tries_again() -> None:
    with office() as it:
        until(lambda: it.client.state.presence == "there")
        it.control.close()
        it.growth.end()
        client = InterceptClient(it.control.path)
        client.start()
        until(lambda: client.state.presence == "gone")
        client.send_command("pause")
        until(lambda: client.refusals)
        assert client.refusals.popleft() == "the proxy does not respond"
    with office() as other:
        assert other.control.path == it.control.path
        until(lambda: client.state.presence == "there")
        client.close()
