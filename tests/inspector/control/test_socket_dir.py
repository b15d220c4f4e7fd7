"""The private directory for sockets."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from acp_inspector.control.server import (
    SocketDirectoryError,
    socket_directory,
    socket_name,
    sockets,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "acp-console"


def test_the_directory_is_made_for_its_user_alone(home: Path) -> None:
    assert socket_directory() == home
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_directory_that_others_may_enter_is_refused(home: Path) -> None:
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    with pytest.raises(SocketDirectoryError, match="open to others"):
        socket_directory()


def test_a_link_to_somewhere_else_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    home.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SocketDirectoryError, match="not a directory"):
        socket_directory()


@pytest.mark.parametrize(
    ("name", "socket"),
    [
        ("work", "work-7.sock"),
        ("../../etc/passwd", "etc-passwd-7.sock"),
        ("a b/ü\n", "a-b-7.sock"),
        ("...", "agent-7.sock"),
        ("x" * 500, f"{'x' * 32}-7.sock"),
    ],
)
def test_a_socket_is_named_after_its_proxy_and_nothing_more(name: str, socket: str) -> None:
    assert socket_name(name, 7) == socket


def test_sockets_are_listed_by_name(home: Path) -> None:
    home.mkdir(mode=0o700)
    for name in ("b-2.sock", "a-1.sock", "note.txt"):
        (home / name).touch()
    assert [path.name for path in sockets()] == ["a-1.sock", "b-2.sock"]
