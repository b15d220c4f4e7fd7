"""The socket of a proxy: who may send commands, and that no traffic waits for an observer."""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acp_inspector.control.server import MAX_OBSERVERS, ControlServer, LongPoll
from acp_inspector.control.sinks import ChangeNotifier, MemoryLog, ObservedSink
from acp_inspector.journal import Frame
from acp_inspector.recording.format import Header

HEADER = Header(created="2026-11-21T00:00:00.000Z", tool="t", schema="s")


class Proxy:
    """What a proxy has beside its pumps."""

    def __init__(self, memory: int = 16 * 2**20) -> None:
        self.growth = ChangeNotifier()
        self.log = MemoryLog(HEADER, memory)
        self.sink = ObservedSink([self.log], self.growth)
        self.has_left = threading.Event()
        self.is_waiting = threading.Event()
        self.control = ControlServer(
            "test",
            {"command": ["my-agent"]},
            lambda: self.log,
            self.growth,
            commands={
                "double": self._double,
                "fail": self._fail,
                "burst": self._burst,
                "wait": self._wait,
            },
            observers_left=self.has_left.set,
        )

    def say(self, n: int, size: int = 10) -> None:
        self.sink.write([Frame(n, 0.0, "agent", b'"%b"' % (b"x" * size))])

    @staticmethod
    def _double(request: Mapping[str, Any]) -> Any:
        return request["number"] * 2

    @staticmethod
    def _fail(request: Mapping[str, Any]) -> Any:
        raise ValueError(f"{request['why']} is no reason")

    @staticmethod
    def _burst(request: Mapping[str, Any]) -> Any:
        raise OverflowError("too much")

    def _wait(self, request: Mapping[str, Any]) -> Any:
        def look(seconds: float) -> bool:
            self.is_waiting.set()
            return threading.Event().wait(seconds)

        return LongPoll(3600, look, lambda: None)


@contextmanager
def proxy() -> Generator[Proxy]:
    it = Proxy()
    try:
        yield it
    finally:
        it.control.close()


@contextmanager
def observer(path: Path) -> Generator[Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(10)
        peer.connect(str(path))
        with peer.makefile("rwb") as lines:
            yield lines


def ask(lines: Any, **request: Any) -> Any:
    lines.write(json.dumps(request).encode() + b"\n")
    lines.flush()
    return json.loads(lines.readline())


def test_a_proxy_says_who_it_is_and_its_socket_is_private() -> None:
    with proxy() as it, observer(it.control.path) as lines:
        about = ask(lines, do="hello")["ok"]
        assert (about["name"], about["pid"], about["command"]) == (
            "test",
            os.getpid(),
            ["my-agent"],
        )
        assert stat.S_IMODE(it.control.path.stat().st_mode) == 0o600


def test_commands_are_run_and_refusals_are_reported() -> None:
    with proxy() as it, observer(it.control.path) as lines:
        assert ask(lines, do="double", number=21) == {"ok": 42}
        assert ask(lines, do="fail", why="this") == {"error": "this is no reason"}
        assert "error" in ask(lines, do="double")
        assert ask(lines, do="burst") == {"error": "the command failed: OverflowError: too much"}
        assert ask(lines, do="explode") == {"error": "there is no command 'explode'"}


@pytest.mark.parametrize("line", [b"no json\n", b"[]\n", b"5\n", b"\xff\n", b"[" * 100_000 + b"\n"])
def test_garbage_gets_an_error_and_affects_no_other_observer(line: bytes) -> None:
    with proxy() as it, observer(it.control.path) as lines:
        lines.write(line)
        lines.flush()
        assert "JSON object on one line" in json.loads(lines.readline())["error"]
        assert "ok" in ask(lines, do="hello")


def test_a_watcher_gets_what_was_and_what_comes_and_the_end() -> None:
    with proxy() as it, observer(it.control.path) as lines:
        it.say(1)
        assert "ok" in ask(lines, do="watch")
        assert json.loads(lines.readline())["acp_recording"] == 1
        assert json.loads(lines.readline())["n"] == 1
        it.say(2)
        assert json.loads(lines.readline())["n"] == 2
        it.growth.end()
        assert lines.readline() == b""


def test_several_watch_at_once_each_from_the_start() -> None:
    with proxy() as it:
        it.say(1)
        for _ in range(3):
            with observer(it.control.path) as lines:
                ask(lines, do="watch")
                assert json.loads(lines.readline())["acp_recording"] == 1
                assert json.loads(lines.readline())["n"] == 1


def test_a_watcher_that_reads_nothing_delays_no_other() -> None:
    with proxy() as it, observer(it.control.path) as idle, observer(it.control.path) as awake:
        ask(idle, do="watch")
        ask(awake, do="watch")
        awake.readline()
        for n in range(1, 200):
            it.say(n, size=20_000)
            assert json.loads(awake.readline())["n"] == n


@pytest.mark.parametrize("command", [{"do": "watch"}, {"do": "double", "number": 1}])
def test_only_the_leaving_of_the_last_observer_is_reported(command: dict[str, Any]) -> None:
    with proxy() as it:
        with observer(it.control.path) as lines:
            ask(lines, do="hello")
        with observer(it.control.path) as lines:
            ask(lines, do="hello", passing=True)
            ask(lines, do="double", number=1)
        with observer(it.control.path) as first:
            ask(first, **command)
            with observer(it.control.path) as second:
                ask(second, **command)
            assert not it.has_left.wait(0.05)
        assert it.has_left.wait(10)


def test_observers_with_commands_count_even_while_others_watch() -> None:
    with proxy() as it, observer(it.control.path) as watcher:
        ask(watcher, do="watch")
        with observer(it.control.path) as commander:
            ask(commander, do="double", number=1)
            with observer(it.control.path) as other:
                ask(other, do="watch")
            assert not it.has_left.wait(0.05)
        assert it.has_left.wait(10)


def test_who_waits_for_something_and_leaves_is_missed_at_once() -> None:
    with proxy() as it:
        with observer(it.control.path) as lines:
            lines.write(b'{"do":"wait"}\n')
            lines.flush()
            assert it.is_waiting.wait(10)
        assert it.has_left.wait(10)


def test_a_command_without_a_line_ending_gets_an_error() -> None:
    with proxy() as it, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(10)
        peer.connect(str(it.control.path))
        peer.sendall(b'{"do":"hello"')
        peer.shutdown(socket.SHUT_WR)
        with peer.makefile("rb") as lines:
            assert json.loads(lines.readline()) == {"error": "the command is too long or cut off"}
            assert lines.readline() == b""


def test_more_than_a_few_are_turned_away_and_leaving_makes_room() -> None:
    with proxy() as it:
        peers = [
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(MAX_OBSERVERS + 1)
        ]
        for peer in peers:
            peer.settimeout(10)
            peer.connect(str(it.control.path))
        with peers[-1].makefile("rb") as lines:
            assert lines.readline() == b""
        for peer in peers:
            peer.close()


def test_the_socket_goes_with_the_proxy() -> None:
    with proxy() as it:
        path = it.control.path
        assert path.exists()
    assert not path.exists()
