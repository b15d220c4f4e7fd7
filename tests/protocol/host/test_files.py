"""Text files inside confined roots: every way out is tried."""

from __future__ import annotations

import errno
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_protocol.host import files
from acp_protocol.host.files import FileMissingError, FileRefusedError, Roots


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("secret")
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "notes.txt").write_text("notes\n")
    return root


def test_a_file_inside_is_read_and_written(root: Path) -> None:
    roots = Roots([root])
    assert roots.read_text(str(root / "notes.txt")) == "notes\n"
    roots.write_text(str(root / "sub" / "new.txt"), "ünï\r\n")
    assert (root / "sub" / "new.txt").read_bytes() == "ünï\r\n".encode()


def test_missing_directories_are_made_inside(root: Path) -> None:
    Roots([root]).write_text(str(root / "a" / "b" / "c.txt"), "x")
    assert (root / "a" / "b" / "c.txt").read_text() == "x"


def test_a_missing_file_is_told_apart(root: Path) -> None:
    with pytest.raises(FileMissingError, match="there is no such file"):
        Roots([root]).read_text(str(root / "gone.txt"))
    with pytest.raises(FileMissingError):
        Roots([root]).read_text(str(root / "gone" / "too.txt"))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("notes.txt", "not absolute"),
        ("{root}/../secret.txt", r"with \.\. is not followed"),
        ("{root}/sub/../../secret.txt", r"with \.\. is not followed"),
        ("/etc/passwd", "outside"),
        ("{root}", "outside"),
        ("{root}x/secret.txt", "outside"),
        ("{root}/a\0b", "no NUL"),
        ("/proc/self/environ", "outside"),
        ("/proc/self/cwd/notes.txt", "outside"),
        ("/proc/self/root{root}/notes.txt", "outside"),
        ("/dev/stdin", "outside"),
        ("/dev/fd/0", "outside"),
        ("{root}/sub", "is a directory"),
        ("{root}/notes.txt/x", "not a directory"),
        ("/{root}/notes.txt", "outside"),
        ("{root}/\ud800", "no form on this disk"),
        ("{root}/" + "x" * 300, "name too long"),
        ("", "not absolute"),
        ("~/notes.txt", "not absolute"),
        ("file://{root}/notes.txt", "not absolute"),
    ],
)
def test_ways_out_are_closed(root: Path, path: str, reason: str) -> None:
    with pytest.raises(FileRefusedError, match=reason):
        Roots([root]).read_text(path.format(root=root))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("{root}/../secret.txt", r"with \.\. is not followed"),
        ("{root}/new/../../secret.txt", r"with \.\. is not followed"),
        ("/etc/acp-test", "outside"),
        ("/proc/self/comm", "outside"),
        ("/dev/null", "outside"),
        ("{root}", "outside"),
        ("{root}/sub", "no regular file"),
        ("{root}/notes.txt/x", "not a directory"),
        ("{root}/a\0b", "no NUL"),
        ("{root}/\ud800", "no form on this disk"),
    ],
)
def test_ways_out_are_closed_to_writers_too(root: Path, path: str, reason: str) -> None:
    with pytest.raises(FileRefusedError, match=reason):
        Roots([root]).write_text(path.format(root=root), "x")
    assert (root.parent / "secret.txt").read_text() == "secret"


@given(parts=st.lists(st.text(max_size=6) | st.sampled_from(["..", ".", "", "out", "notes.txt"])))
@example(parts=["out", "secret.txt"])
@example(parts=["..", "secret.txt"])
def test_no_path_whatever_leads_out(parts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        outside, root = Path(directory), Path(directory, "root")
        root.mkdir()
        (outside / "secret.txt").write_text("secret")
        (root / "notes.txt").write_text("notes")
        (root / "out").symlink_to(outside)
        try:
            text = Roots([root]).read_text("/".join([str(root), *parts]))
        except FileRefusedError:
            return
        assert text == "notes"


def test_the_spelling_alone_can_be_judged(root: Path) -> None:
    roots = Roots([root])
    roots.check_inside(str(root / "not" / "there.txt"))
    with pytest.raises(FileRefusedError, match="outside"):
        roots.check_inside(str(root.parent / "secret.txt"))


def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    (root / "sub" / "link").symlink_to("../notes.txt")
    (root / "dir").symlink_to(root / "sub")
    roots = Roots([root])
    assert roots.read_text(str(root / "sub" / "link")) == "notes\n"
    roots.write_text(str(root / "dir" / "through.txt"), "x")
    assert (root / "sub" / "through.txt").read_text() == "x"


@pytest.mark.parametrize(
    "target",
    [
        "../secret.txt",
        "/etc/passwd",
        "loop",
        "./loop",
        "sub/../../secret.txt",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/dev/zero",
        "/dev/tty",
        "//etc/passwd",
    ],
)
def test_a_link_that_leads_out_or_round_is_not_followed(root: Path, target: str) -> None:
    (root / "loop").symlink_to(target)
    roots = Roots([root])
    with pytest.raises(FileRefusedError):
        roots.read_text(str(root / "loop"))
    with pytest.raises(FileRefusedError):
        roots.write_text(str(root / "loop"), "x")
    assert (root.parent / "secret.txt").read_text() == "secret"


def test_a_chain_of_links_has_an_end(root: Path) -> None:
    (root / "link0").symlink_to("notes.txt")
    for number in range(1, 40):
        (root / f"link{number}").symlink_to(f"link{number - 1}")
    roots = Roots([root])
    assert roots.read_text(str(root / "link9")) == "notes\n"
    with pytest.raises(FileRefusedError, match="too many symbolic links"):
        roots.read_text(str(root / "link39"))


def test_a_link_that_leads_out_and_in_again_is_judged_by_where_it_ends(root: Path) -> None:
    (root.parent / "back").symlink_to(root)
    (root / "round").symlink_to("../back/notes.txt")
    (root / "straight").symlink_to(root / "sub" / ".." / "notes.txt")
    roots = Roots([root])
    with pytest.raises(FileRefusedError, match="outside"):
        roots.read_text(str(root / "round"))
    assert roots.read_text(str(root / "straight")) == "notes\n"


def test_a_linked_directory_that_leads_out_is_not_followed(root: Path) -> None:
    (root / "out").symlink_to(root.parent)
    with pytest.raises(FileRefusedError, match="outside"):
        Roots([root]).read_text(str(root / "out" / "secret.txt"))


def test_a_fifo_is_refused_and_does_not_hang(root: Path) -> None:
    os.mkfifo(root / "fifo")
    roots = Roots([root])
    with pytest.raises(FileRefusedError, match="no regular file"):
        roots.read_text(str(root / "fifo"))
    with pytest.raises(FileRefusedError, match="no regular file"):
        roots.write_text(str(root / "fifo"), "x")


def test_a_socket_and_a_device_are_refused(root: Path) -> None:
    (root / "null").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
        with pytest.raises(FileRefusedError):
            Roots([root]).read_text(str(root / "socket"))
    with pytest.raises(FileRefusedError, match="outside"):
        Roots([root]).read_text(str(root / "null"))


def test_a_hard_link_of_somebody_else_is_not_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "linked").hardlink_to(root.parent / "secret.txt")
    stranger = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: stranger)
    with pytest.raises(FileRefusedError, match="hard-linked"):
        Roots([root]).read_text(str(root / "linked"))


def test_writing_a_hard_link_leaves_its_other_name_alone(root: Path) -> None:
    (root / "linked").hardlink_to(root.parent / "secret.txt")
    Roots([root]).write_text(str(root / "linked"), "changed")
    assert (root.parent / "secret.txt").read_text() == "secret"


def test_the_mode_of_a_file_stays(root: Path) -> None:
    (root / "notes.txt").chmod(0o751)
    Roots([root]).write_text(str(root / "notes.txt"), "x")
    assert stat.S_IMODE((root / "notes.txt").stat().st_mode) == 0o751


def test_the_right_to_run_as_the_owner_does_not_outlive_the_text(root: Path) -> None:
    (root / "notes.txt").chmod(0o6755)
    Roots([root]).write_text(str(root / "notes.txt"), "x")
    assert stat.S_IMODE((root / "notes.txt").stat().st_mode) == 0o755


def test_a_read_only_file_is_not_replaced(root: Path) -> None:
    (root / "notes.txt").chmod(0o444)
    with pytest.raises(FileRefusedError, match="read-only"):
        Roots([root]).write_text(str(root / "notes.txt"), "x")
    assert (root / "notes.txt").read_text() == "notes\n"


def test_a_name_as_long_as_the_disk_allows_is_written(root: Path) -> None:
    path = root / ("語" * 84)
    Roots([root]).write_text(str(path), "x")
    assert path.read_text() == "x"


def test_binary_and_huge_files_are_refused(root: Path) -> None:
    (root / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(FileRefusedError, match="no UTF-8"):
        Roots([root]).read_text(str(root / "binary"))
    with (root / "huge").open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(FileRefusedError, match="larger than"):
        Roots([root]).read_text(str(root / "huge"))
    with pytest.raises(FileRefusedError, match="no UTF-8 form"):
        Roots([root]).write_text(str(root / "x"), "\ud800")


def test_the_largest_text_is_written_and_read_and_a_larger_one_is_not(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SIZE_LIMIT", 6)
    roots, path = Roots([root]), str(root / "notes.txt")
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
        Roots([root]).read_text(str(root / "notes.txt"))
    with pytest.raises(FileRefusedError, match="input/output error"):
        Roots([root]).write_text(str(root / "notes.txt"), "x")
    assert sorted(path.name for path in root.iterdir()) == ["notes.txt", "sub"]
    assert (root / "notes.txt").read_text() == "notes\n"


def test_a_root_that_is_gone_is_an_error(root: Path) -> None:
    roots = Roots([root / "sub"])
    (root / "sub").rmdir()
    with pytest.raises(FileRefusedError, match="no such file or directory"):
        roots.read_text(str(root / "sub" / "x"))
    with pytest.raises(FileRefusedError, match="no such file or directory"):
        roots.write_text(str(root / "sub" / "x"), "x")


def test_a_reader_finds_the_old_text_or_the_new_one_and_never_a_part(root: Path) -> None:
    path, roots = root / "notes.txt", Roots([root])
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
        Roots([root]).write_text(str(root / "busy"), "x")
    assert sorted(path.name for path in root.iterdir()) == ["busy", "notes.txt", "sub"]


def test_a_root_may_be_spelled_through_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    roots = Roots([tmp_path / "alias"])
    assert roots.read_text(str(tmp_path / "alias" / "notes.txt")) == "notes\n"
    assert roots.read_text(str(root / "notes.txt")) == "notes\n"


@contextmanager
def swapping(root: Path) -> Generator[Path]:
    """Yield a link that changes all the time: to a directory inside, and to one outside."""
    outside, inside, link = root.parent / "outside", root / "real", root / "swapped"
    for place, text in ((outside, "secret"), (inside, "inside")):
        place.mkdir()
        (place / "f.txt").write_text(text)
    # Not left to the thread: who writes before it begins would make a directory in its place.
    link.symlink_to(inside)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for target in (outside, inside):
                (root / "next").symlink_to(target)
                (root / "next").replace(link)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        yield link
    finally:
        done.set()
        swapper.join()


def test_a_directory_that_is_swapped_for_a_link_while_we_read_never_leads_out(root: Path) -> None:
    read: set[str] = set()
    with swapping(root) as link:
        for _ in range(2000):
            with suppress(FileRefusedError):
                read.add(Roots([root]).read_text(str(link / "f.txt")))
    assert read <= {"inside"}


def test_a_directory_that_is_swapped_for_a_link_while_we_write_never_leads_out(root: Path) -> None:
    with swapping(root) as link:
        for _ in range(500):
            with suppress(FileRefusedError):
                Roots([root]).write_text(str(link / "f.txt"), "written")
    assert (root.parent / "outside" / "f.txt").read_text() == "secret"
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["f.txt"]


@pytest.mark.parametrize(
    ("swapped", "link", "path"),
    [("sub", "..", "sub/secret.txt"), ("notes.txt", "../secret.txt", "notes.txt")],
)
def test_what_is_swapped_for_a_link_between_two_steps_never_leads_out(
    root: Path, monkeypatch: pytest.MonkeyPatch, swapped: str, link: str, path: str
) -> None:
    look = files._link

    def look_and_swap(directory: int, name: str) -> str | None:
        found = look(directory, name)
        if name == swapped:
            (root / name).rename(root / "away")
            (root / name).symlink_to(link)
        return found

    monkeypatch.setattr(files, "_link", look_and_swap)
    with pytest.raises(FileRefusedError):
        Roots([root]).read_text(str(root / path))


def test_a_directory_to_start_in_lies_inside_and_has_its_links_resolved(root: Path) -> None:
    (root / "in").symlink_to("sub")
    (root / "out").symlink_to("..")
    roots = Roots([root])
    assert roots.directory(str(root)) == root.resolve()
    assert roots.directory(str(root / "in")) == (root / "sub").resolve()
    for name, reason in (
        ("out", "outside"),
        ("../root", "is not followed"),
        ("notes.txt", "no directory"),
        ("gone", "no such file or directory"),
    ):
        with pytest.raises(FileRefusedError, match=reason):
            roots.directory(f"{root}/{name}")


def test_deleting_stays_inside_too(root: Path) -> None:
    roots = Roots([root])
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
    roots = Roots([root])
    roots.delete(str(root / "in"))
    roots.delete(str(root / "out"))
    assert sorted(path.name for path in root.iterdir()) == ["notes.txt", "sub"]
    assert (root.parent / "secret.txt").exists()


def test_no_descriptor_is_left_open(root: Path) -> None:
    (root / "link").symlink_to("sub/../notes.txt")
    roots = Roots([root])
    before = sorted(Path("/dev/fd").iterdir())
    for name in ("notes.txt", "link", "gone.txt", "sub", "sub/x/y", "notes.txt/x"):
        with suppress(FileRefusedError):
            roots.read_text(str(root / name))
        with suppress(FileRefusedError):
            roots.write_text(str(root / name), "x")
    assert sorted(Path("/dev/fd").iterdir()) == before
