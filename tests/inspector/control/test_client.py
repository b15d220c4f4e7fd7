"""Finding running proxies and watching them, with a real proxy."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acp_inspector.control.client import (
    AttachError,
    ProxyClient,
    find_proxy,
    running_proxies,
)
from acp_inspector.control.server import socket_directory
from acp_inspector.journal import Frame, JournalEvent

ECHO = (sys.executable, "-u", "-c", "import sys\nfor line in sys.stdin: sys.stdout.write(line)")
LIMIT = 30


@pytest.fixture(autouse=True)
def own_socket_directory(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """No other test's proxy is found here; the name is short, as that of a socket has to be."""
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        yield


@contextmanager
def proxied(*options: str) -> Generator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "acp_console", "proxy", *options, "--", *ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            send_line(process, b'{"a":1}\n')
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(LIMIT)


def send_line(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line)
    process.stdin.flush()
    assert process.stdout.readline() == line


def test_a_running_proxy_is_found_by_name_by_number_and_alone() -> None:
    with proxied("--name", "mine") as process:
        (found,) = running_proxies()
        assert (found.name, found.pid, found.command) == ("mine", process.pid, ECHO)
        assert find_proxy("mine") == find_proxy(str(process.pid)) == find_proxy(None) == found
        with pytest.raises(AttachError, match="no running proxy is called other; there are mine"):
            find_proxy("other")
    assert running_proxies() == []
    with pytest.raises(AttachError, match="no proxy is running"):
        find_proxy(None)


def test_several_proxies_need_a_name_to_choose_one() -> None:
    with proxied("--name", "one"), proxied("--name", "two"):
        assert {proxy.name for proxy in running_proxies()} == {"one", "two"}
        with pytest.raises(AttachError, match="choose one by its name, or"):
            find_proxy(None)
    with proxied("--name", "one") as first, proxied("--name", "one"), proxied("--name", "two"):
        with pytest.raises(AttachError, match=rf"one \({first.pid}\)") as caught:
            find_proxy("one")
        assert "two" not in caught.value.hint, "only those that match are named"


@pytest.mark.parametrize("is_recorded", [False, True])
def test_everything_is_seen_from_the_first_frame_to_the_end(
    tmp_path: Path, is_recorded: bool
) -> None:
    record = ("--record", str(tmp_path / "a.acp.ndjson")) if is_recorded else ()
    with proxied(*record) as process:
        with ProxyClient(find_proxy(None).path) as client:
            lines = client.watch()
            seen = [next(lines) for _ in range(4)]
            frames = [line for line in seen if isinstance(line, Frame)]
            assert [(frame.side, frame.data) for frame in frames] == [
                ("client", b'{"a":1}'),
                ("agent", b'{"a":1}'),
            ]
            send_line(process, b'{"b":2}\n')
            later = [next(lines), next(lines)]
            assert [line.data for line in later if isinstance(line, Frame)] == [b'{"b":2}'] * 2
            assert process.stdin is not None
            process.stdin.close()
            rest = list(lines)
        assert any(isinstance(line, JournalEvent) and line.name == "exit" for line in rest)


def test_an_observer_that_comes_back_sees_everything_again() -> None:
    with proxied() as process:
        path = find_proxy(None).path
        for count in range(1, 4):
            with ProxyClient(path) as client:
                lines = client.watch()
                frames = [next(lines) for _ in range(2 * count + 2)][2:]
                assert len([frame for frame in frames if isinstance(frame, Frame)]) == 2 * count
            send_line(process, b"{}\n")


def test_without_control_no_observer_can_attach() -> None:
    with proxied("--no-control"):
        assert running_proxies() == []


def test_the_socket_of_a_killed_proxy_is_removed() -> None:
    with proxied() as process:
        path = find_proxy(None).path
        process.send_signal(signal.SIGKILL)
        process.wait(LIMIT)
        assert path.exists()
        assert running_proxies() == []
        assert not path.exists()


def test_other_files_in_the_socket_directory_are_skipped() -> None:
    (socket_directory() / "note-1.sock").write_text("not a socket")
    assert running_proxies() == []
