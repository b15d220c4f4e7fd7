"""Files inside confined roots: what is read, written, moved and deleted, and what is not."""

from __future__ import annotations

import errno
import os
import socket
import stat
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from acp_protocol.host.sandbox import FileMissingError, FileRefusedError, SandboxedFiles


def test_a_file_inside_is_read_and_written(root: Path) -> None:
    roots = SandboxedFiles([root])
    assert roots.read_text(str(root / "notes.txt")) == "notes\n"
    roots.write_text(str(root / "sub" / "new.txt"), "ünï\r\n")
    assert (root / "sub" / "new.txt").read_bytes() == "ünï\r\n".encode()


def test_missing_directories_are_made_inside(root: Path) -> None:
    SandboxedFiles([root]).write_text(str(root / "a" / "b" / "c.txt"), "x")
    assert (root / "a" / "b" / "c.txt").read_text() == "x"


def test_a_missing_file_is_told_apart(root: Path) -> None:
    with pytest.raises(FileMissingError, match="does not exist"):
        SandboxedFiles([root]).read_text(str(root / "gone.txt"))
    with pytest.raises(FileMissingError):
        SandboxedFiles([root]).read_text(str(root / "gone" / "too.txt"))


def test_a_fifo_is_refused_and_does_not_hang(root: Path) -> None:
    os.mkfifo(root / "fifo")
    roots = SandboxedFiles([root])
    with pytest.raises(FileRefusedError, match="not a regular file"):
        roots.read_text(str(root / "fifo"))
    with pytest.raises(FileRefusedError, match="not a regular file"):
        roots.write_text(str(root / "fifo"), "x")


def test_a_socket_and_a_device_are_refused(root: Path) -> None:
    (root / "null").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
        with pytest.raises(FileRefusedError):
            SandboxedFiles([root]).read_text(str(root / "socket"))
    with pytest.raises(FileRefusedError, match="outside"):
        SandboxedFiles([root]).read_text(str(root / "null"))


def test_a_hard_link_of_somebody_else_is_not_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "linked").hardlink_to(root.parent / "secret.txt")
    stranger = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: stranger)
    with pytest.raises(FileRefusedError, match="hard-linked"):
        SandboxedFiles([root]).read_text(str(root / "linked"))


def test_writing_a_hard_link_leaves_its_other_name_alone(root: Path) -> None:
    (root / "linked").hardlink_to(root.parent / "secret.txt")
    SandboxedFiles([root]).write_text(str(root / "linked"), "changed")
    assert (root.parent / "secret.txt").read_text() == "secret"


def test_the_mode_of_a_file_stays(root: Path) -> None:
    (root / "notes.txt").chmod(0o751)
    SandboxedFiles([root]).write_text(str(root / "notes.txt"), "x")
    assert stat.S_IMODE((root / "notes.txt").stat().st_mode) == 0o751


def test_the_right_to_run_as_the_owner_does_not_outlive_the_text(root: Path) -> None:
    (root / "notes.txt").chmod(0o6755)
    SandboxedFiles([root]).write_text(str(root / "notes.txt"), "x")
    assert stat.S_IMODE((root / "notes.txt").stat().st_mode) == 0o755


def test_a_read_only_file_is_not_replaced(root: Path) -> None:
    (root / "notes.txt").chmod(0o444)
    with pytest.raises(FileRefusedError, match="read-only"):
        SandboxedFiles([root]).write_text(str(root / "notes.txt"), "x")
    assert (root / "notes.txt").read_text() == "notes\n"


def test_a_name_as_long_as_the_disk_allows_is_written(root: Path) -> None:
    path = root / ("語" * 84)
    SandboxedFiles([root]).write_text(str(path), "x")
    assert path.read_text() == "x"


def test_binary_and_huge_files_are_refused(root: Path) -> None:
    (root / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(FileRefusedError, match="not UTF-8"):
        SandboxedFiles([root]).read_text(str(root / "binary"))
    with (root / "huge").open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(FileRefusedError, match="larger than"):
        SandboxedFiles([root]).read_text(str(root / "huge"))
    with pytest.raises(FileRefusedError, match="no UTF-8 form"):
        SandboxedFiles([root]).write_text(str(root / "x"), "\ud800")


def test_the_largest_text_is_written_and_read_and_a_larger_one_is_not(root: Path) -> None:
    roots, path = SandboxedFiles([root], size_limit=6), str(root / "notes.txt")
    roots.write_text(path, "語語")
    assert roots.read_text(path) == "語語"
    with pytest.raises(FileRefusedError, match="larger than 6 bytes"):
        roots.write_text(path, "語語.")
    assert (root / "notes.txt").read_text() == "語語"
    (root / "notes.txt").write_text("1234567")
    with pytest.raises(FileRefusedError, match="larger than 6 bytes"):
        roots.read_text(path)


def test_a_disk_that_fails_is_an_error_and_no_empty_text(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*of_what: object, **more: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdopen", fail)
    with pytest.raises(FileRefusedError, match="input/output error"):
        SandboxedFiles([root]).read_text(str(root / "notes.txt"))
    with pytest.raises(FileRefusedError, match="input/output error"):
        SandboxedFiles([root]).write_text(str(root / "notes.txt"), "x")
    assert sorted(path.name for path in root.iterdir()) == ["notes.txt", "sub"]
    assert (root / "notes.txt").read_text() == "notes\n"


def test_a_reader_finds_the_old_text_or_the_new_one_and_never_a_part(root: Path) -> None:
    path, roots = root / "notes.txt", SandboxedFiles([root])
    texts = {letter * 100_000 for letter in "ab"}
    path.write_text("a" * 100_000)
    done = threading.Event()
    found: set[str] = set()

    def read() -> None:
        while not done.is_set():
            found.add(path.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(200):
            roots.write_text(str(path), "ab"[number % 2] * 100_000)
    finally:
        done.set()
        reader.join()
    assert found <= texts


def test_a_failed_write_leaves_nothing_behind(root: Path) -> None:
    (root / "busy").mkdir()
    with pytest.raises(FileRefusedError):
        SandboxedFiles([root]).write_text(str(root / "busy"), "x")
    assert sorted(path.name for path in root.iterdir()) == ["busy", "notes.txt", "sub"]


def test_deleting_stays_inside_too(root: Path) -> None:
    roots = SandboxedFiles([root])
    roots.delete(str(root / "notes.txt"))
    assert not (root / "notes.txt").exists()
    with pytest.raises(FileMissingError):
        roots.delete(str(root / "notes.txt"))
    with pytest.raises(FileRefusedError, match="outside"):
        roots.delete(str(root.parent / "secret.txt"))
    with pytest.raises(FileRefusedError, match="is a directory"):
        roots.delete(str(root / "sub"))


def test_deleting_a_link_leaves_alone_what_it_names(root: Path) -> None:
    (root / "in").symlink_to("notes.txt")
    (root / "out").symlink_to("../secret.txt")
    roots = SandboxedFiles([root])
    roots.delete(str(root / "in"))
    roots.delete(str(root / "out"))
    assert sorted(path.name for path in root.iterdir()) == ["notes.txt", "sub"]
    assert (root.parent / "secret.txt").exists()


def test_a_file_is_moved_and_directories_on_its_way_are_made(root: Path) -> None:
    roots = SandboxedFiles([root])
    roots.move(str(root / "notes.txt"), str(root / "a" / "b" / "moved.txt"))
    assert (root / "a" / "b" / "moved.txt").read_text() == "notes\n"
    assert not (root / "notes.txt").exists()


def test_a_directory_is_moved_with_what_is_in_it(root: Path) -> None:
    (root / "sub" / "in.txt").write_text("x")
    (root / "sub").chmod(0o750)
    SandboxedFiles([root]).move(str(root / "sub"), str(root / "new"))
    assert (root / "new" / "in.txt").read_text() == "x"
    assert stat.S_IMODE((root / "new").stat().st_mode) == 0o750


def test_what_is_there_is_moved_over_only_where_that_is_wanted(root: Path) -> None:
    other = root / "sub" / "other.txt"
    other.write_text("other")
    roots = SandboxedFiles([root])
    for goal in (other, root / "sub", root / "notes.txt"):
        with pytest.raises(FileRefusedError, match="something by this name already"):
            roots.move(str(root / "notes.txt"), str(goal))
    with pytest.raises(FileRefusedError, match="something by this name already"):
        roots.move(str(root / "sub"), str(root / "notes.txt"))
    assert (other.read_text(), (root / "notes.txt").read_text()) == ("other", "notes\n")
    roots.move(str(root / "notes.txt"), str(other), is_over=True)
    assert other.read_text() == "notes\n"


def test_moving_over_takes_no_full_directory_no_pipe_and_nothing_read_only(root: Path) -> None:
    (root / "sub" / "in.txt").write_text("x")
    (root / "empty").mkdir()
    os.mkfifo(root / "pipe")
    (root / "shut.txt").write_text("x")
    (root / "shut.txt").chmod(0o444)
    roots = SandboxedFiles([root])
    for name, goal, reason in (
        ("notes.txt", "sub", "is a directory"),
        ("empty", "sub", "not empty"),
        ("sub", "notes.txt", "not a directory"),
        ("notes.txt", "pipe", "not a regular file"),
        ("notes.txt", "shut.txt", "read-only"),
    ):
        with pytest.raises(FileRefusedError, match=reason):
            roots.move(str(root / name), str(root / goal), is_over=True)
    assert (root / "notes.txt").read_text() == "notes\n"
    assert (root / "sub" / "in.txt").exists()


def test_of_a_link_the_link_is_moved_at_either_end(root: Path) -> None:
    (root / "out").symlink_to("../secret.txt")
    (root / "goal").symlink_to("../secret.txt")
    roots = SandboxedFiles([root])
    roots.move(str(root / "out"), str(root / "away"))
    assert (root / "away").readlink() == Path("../secret.txt")
    with pytest.raises(FileRefusedError, match="something by this name already"):
        roots.move(str(root / "notes.txt"), str(root / "goal"))
    roots.move(str(root / "notes.txt"), str(root / "goal"), is_over=True)
    assert (root / "goal").read_text() == "notes\n"
    assert not (root / "goal").is_symlink()
    assert (root.parent / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize(
    ("name", "goal", "reason"),
    [
        ("../secret.txt", "x", "is not followed"),
        ("notes.txt", "../x", "is not followed"),
        ("out/secret.txt", "x", "outside"),
        ("notes.txt", "out/x", "outside"),
        ("notes.txt", "a\0b", "no NUL"),
        ("notes.txt", ".", "outside"),
        (".", "x", "outside"),
        ("gone", "made/x", "does not exist"),
        ("sub", "sub/deeper/x", "into itself"),
        ("in/sub", "sub/x", "into itself"),
        ("notes.txt", "notes.txt/x", "not a directory"),
    ],
)
def test_both_ends_of_a_move_stay_inside(root: Path, name: str, goal: str, reason: str) -> None:
    (root / "out").symlink_to("..")
    (root / "in").symlink_to(".")
    with pytest.raises(FileRefusedError, match=reason):
        SandboxedFiles([root]).move(f"{root}/{name}", f"{root}/{goal}")
    assert sorted(path.name for path in root.iterdir()) == ["in", "notes.txt", "out", "sub"]
    assert list((root / "sub").iterdir()) == []
    assert (root.parent / "secret.txt").read_text() == "secret"


def test_what_a_root_lies_in_is_not_moved(root: Path) -> None:
    (root / "sub" / "more").mkdir()
    (root / "free").mkdir()
    roots = SandboxedFiles([root, root / "sub" / "more"])
    for name in ("sub", "sub/more"):
        with pytest.raises(FileRefusedError, match="holds a directory of this session"):
            roots.move(str(root / name), str(root / "away"))
    with pytest.raises(FileRefusedError, match="holds a directory of this session"):
        roots.move(str(root / "free"), str(root / "sub" / "more"), is_over=True)


@pytest.mark.parametrize("name", ["notes.txt", "sub"])
@pytest.mark.parametrize(
    ("number", "reason"), [(errno.EXDEV, "another device"), (errno.EACCES, "permission denied")]
)
def test_a_move_that_fails_leaves_all_as_it_was(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int, reason: str
) -> None:
    def fail(*of_what: object, **more: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(FileRefusedError, match=reason):
        SandboxedFiles([root]).move(str(root / name), str(root / "new"))
    assert sorted(path.name for path in root.iterdir()) == ["notes.txt", "sub"]
    assert (root / "notes.txt").read_text() == "notes\n"


def test_moving_leaves_no_descriptor_open(root: Path) -> None:
    roots = SandboxedFiles([root])
    before = sorted(Path("/dev/fd").iterdir())
    for name, goal in (("notes.txt", "x"), ("x", "sub"), ("gone", "y"), ("sub", "sub/y")):
        with suppress(FileRefusedError):
            roots.move(str(root / name), str(root / goal))
    assert sorted(Path("/dev/fd").iterdir()) == before


def test_a_file_is_missed_only_where_it_could_be_seen(root: Path) -> None:
    (root / "broken").symlink_to("gone.txt")
    (root / "out").symlink_to("../gone.txt")
    (root / "loop").symlink_to("loop")
    roots = SandboxedFiles([root])
    for name in ("gone.txt", "gone/too.txt", "broken"):
        assert roots.is_missing(str(root / name)), name
    for name in ("notes.txt", "sub", "out", "loop", "notes.txt/x", "../gone.txt", ""):
        assert not roots.is_missing(f"{root}/{name}"), name
    assert not SandboxedFiles([root / "elsewhere"]).is_missing(str(root / "elsewhere" / "gone.txt"))
