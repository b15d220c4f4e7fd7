"""Ways to files: every way out is tried."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_protocol.host.sandbox import FileRefusedError, SandboxedFiles


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
        SandboxedFiles([root]).read_text(path.format(root=root))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("{root}/../secret.txt", r"with \.\. is not followed"),
        ("{root}/new/../../secret.txt", r"with \.\. is not followed"),
        ("/etc/acp-test", "outside"),
        ("/proc/self/comm", "outside"),
        ("/dev/null", "outside"),
        ("{root}", "outside"),
        ("{root}" + "/a" * 201, "more than 200 levels deep"),
        ("{root}/sub", "not a regular file"),
        ("{root}/notes.txt/x", "not a directory"),
        ("{root}/a\0b", "no NUL"),
        ("{root}/\ud800", "no form on this disk"),
    ],
)
def test_ways_out_are_closed_to_writers_too(root: Path, path: str, reason: str) -> None:
    with pytest.raises(FileRefusedError, match=reason):
        SandboxedFiles([root]).write_text(path.format(root=root), "x")
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
            text = SandboxedFiles([root]).read_text("/".join([str(root), *parts]))
        except FileRefusedError:
            return
        assert text == "notes"


def test_the_spelling_alone_can_be_judged(root: Path) -> None:
    roots = SandboxedFiles([root])
    roots.check_inside(str(root / "not" / "there.txt"))
    with pytest.raises(FileRefusedError, match="outside"):
        roots.check_inside(str(root.parent / "secret.txt"))


def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    (root / "sub" / "link").symlink_to("../notes.txt")
    (root / "dir").symlink_to(root / "sub")
    roots = SandboxedFiles([root])
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
    roots = SandboxedFiles([root])
    with pytest.raises(FileRefusedError):
        roots.read_text(str(root / "loop"))
    with pytest.raises(FileRefusedError):
        roots.write_text(str(root / "loop"), "x")
    assert (root.parent / "secret.txt").read_text() == "secret"


def test_a_chain_of_links_has_an_end(root: Path) -> None:
    (root / "link0").symlink_to("notes.txt")
    for number in range(1, 40):
        (root / f"link{number}").symlink_to(f"link{number - 1}")
    roots = SandboxedFiles([root])
    assert roots.read_text(str(root / "link9")) == "notes\n"
    with pytest.raises(FileRefusedError, match="too many symbolic links"):
        roots.read_text(str(root / "link39"))


def test_a_link_that_leads_out_and_in_again_is_judged_by_where_it_ends(root: Path) -> None:
    (root.parent / "back").symlink_to(root)
    (root / "round").symlink_to("../back/notes.txt")
    (root / "straight").symlink_to(root / "sub" / ".." / "notes.txt")
    roots = SandboxedFiles([root])
    with pytest.raises(FileRefusedError, match="outside"):
        roots.read_text(str(root / "round"))
    assert roots.read_text(str(root / "straight")) == "notes\n"


def test_a_linked_directory_that_leads_out_is_not_followed(root: Path) -> None:
    (root / "out").symlink_to(root.parent)
    with pytest.raises(FileRefusedError, match="outside"):
        SandboxedFiles([root]).read_text(str(root / "out" / "secret.txt"))


def test_a_root_that_is_gone_is_an_error(root: Path) -> None:
    roots = SandboxedFiles([root / "sub"])
    (root / "sub").rmdir()
    with pytest.raises(FileRefusedError, match="no such file or directory"):
        roots.read_text(str(root / "sub" / "x"))
    with pytest.raises(FileRefusedError, match="no such file or directory"):
        roots.write_text(str(root / "sub" / "x"), "x")


def test_a_root_may_be_spelled_through_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    roots = SandboxedFiles([tmp_path / "alias"])
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
                read.add(SandboxedFiles([root]).read_text(str(link / "f.txt")))
    assert read <= {"inside"}


def test_a_directory_that_is_swapped_for_a_link_while_we_write_never_leads_out(root: Path) -> None:
    with swapping(root) as link:
        for _ in range(500):
            with suppress(FileRefusedError):
                SandboxedFiles([root]).write_text(str(link / "f.txt"), "written")
    assert (root.parent / "outside" / "f.txt").read_text() == "secret"
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["f.txt"]


def test_a_directory_that_is_swapped_for_a_link_while_we_move_never_leads_out(root: Path) -> None:
    roots, moved = SandboxedFiles([root]), root / "moved.txt"
    with swapping(root) as link:
        for _ in range(500):
            moved.write_text("moved")
            with suppress(FileRefusedError):
                roots.move(str(moved), str(link / "f.txt"), is_over=True)
            with suppress(FileRefusedError):
                roots.move(str(link / "f.txt"), str(root / "taken.txt"), is_over=True)
            if (root / "taken.txt").exists():
                assert (root / "taken.txt").read_text() in {"moved", "inside"}
    assert (root.parent / "outside" / "f.txt").read_text() == "secret"
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["f.txt"]


@pytest.mark.parametrize(
    ("swapped", "link", "path"),
    [("sub", "..", "sub/secret.txt"), ("notes.txt", "../secret.txt", "notes.txt")],
)
def test_what_is_swapped_for_a_link_between_two_steps_never_leads_out(
    root: Path, monkeypatch: pytest.MonkeyPatch, swapped: str, link: str, path: str
) -> None:
    look = os.readlink

    def look_and_swap(name: str, *, dir_fd: int | None = None) -> str:
        try:
            return look(name, dir_fd=dir_fd)
        finally:
            if name == swapped:
                (root / name).rename(root / "away")
                (root / name).symlink_to(link)

    monkeypatch.setattr(os, "readlink", look_and_swap)
    with pytest.raises(FileRefusedError):
        SandboxedFiles([root]).read_text(str(root / path))


def test_a_directory_to_start_in_lies_inside_and_has_its_links_resolved(root: Path) -> None:
    (root / "in").symlink_to("sub")
    (root / "out").symlink_to("..")
    roots = SandboxedFiles([root])
    assert roots.directory(str(root)) == root.resolve()
    assert roots.directory(str(root / "in")) == (root / "sub").resolve()
    for name, reason in (
        ("out", "outside"),
        ("../root", "is not followed"),
        ("notes.txt", "not a directory"),
        ("gone", "no such file or directory"),
    ):
        with pytest.raises(FileRefusedError, match=reason):
            roots.directory(f"{root}/{name}")


def test_no_descriptor_is_left_open(root: Path) -> None:
    (root / "link").symlink_to("sub/../notes.txt")
    roots = SandboxedFiles([root])
    before = sorted(Path("/dev/fd").iterdir())
    for name in ("notes.txt", "link", "gone.txt", "sub", "sub/x/y", "notes.txt/x"):
        with suppress(FileRefusedError):
            roots.read_text(str(root / name))
        with suppress(FileRefusedError):
            roots.write_text(str(root / name), "x")
    assert sorted(Path("/dev/fd").iterdir()) == before


def test_where_somebody_else_is_to_go_is_judged_by_the_links_on_this_disk(root: Path) -> None:
    (root / "in").symlink_to("sub")
    (root / "out").symlink_to("..")
    (root / "file").symlink_to("../secret.txt")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "fifo")
    confinement = SandboxedFiles([root])
    for name in ("notes.txt", "gone.txt", "gone/too.txt", "in/gone.txt", "sub"):
        confinement.check_links(str(root / name))
    for name, reason in (
        ("out/secret.txt", "outside"),
        ("out/gone.txt", "outside"),
        ("file", "outside"),
        ("loop", "too many symbolic links"),
        ("fifo", "not a regular file"),
        ("notes.txt/x", "not a directory"),
        ("../secret.txt", "is not followed"),
    ):
        with pytest.raises(FileRefusedError, match=reason):
            confinement.check_links(f"{root}/{name}")


def test_on_another_machine_no_link_can_be_judged_but_the_spelling(root: Path) -> None:
    elsewhere = SandboxedFiles([root / "elsewhere"])
    elsewhere.check_links(str(root / "elsewhere" / "notes.txt"))
    with pytest.raises(FileRefusedError, match="outside"):
        elsewhere.check_links(str(root / "notes.txt"))


def test_judging_links_leaves_no_descriptor_open(root: Path) -> None:
    (root / "out").symlink_to("..")
    confinement = SandboxedFiles([root])
    before = sorted(Path("/dev/fd").iterdir())
    for name in ("notes.txt", "sub/gone/x", "out/secret.txt", "notes.txt/x"):
        with suppress(FileRefusedError):
            confinement.check_links(str(root / name))
    assert sorted(Path("/dev/fd").iterdir()) == before


def test_a_directory_that_a_root_lies_in_is_known(root: Path) -> None:
    (root / "sub" / "deep").mkdir()
    confinement = SandboxedFiles([root, root / "sub" / "deep"])
    assert confinement.holds_root((root / "sub").lstat())
    assert confinement.holds_root((root / "sub" / "deep").lstat())
    (root / "other").mkdir()
    assert not confinement.holds_root((root / "other").lstat())


def test_a_directory_that_was_opened_stays_the_same_whatever_takes_its_place(root: Path) -> None:
    (root / "in").symlink_to("sub")
    (root / "sub" / "inner.txt").touch()
    for name in ("sub", "in"):
        confinement = SandboxedFiles([root])
        with (
            confinement.open_path(str(root / name)) as directory,
            confinement.open_parent_path(str(root / name)) as place,
        ):
            (root / "sub").rename(root / "away")
            (root / "sub").symlink_to("..")
            assert os.listdir(directory) == ["inner.txt"]  # noqa: PTH208 - a descriptor
            if Path("/proc/self/fd").is_dir():
                assert [each.name for each in place.iterdir()] == ["inner.txt"]
        with (
            pytest.raises(FileRefusedError, match="outside"),
            confinement.open_path(f"{root}/{name}"),
        ):
            pass
        (root / "sub").unlink()
        (root / "away").rename(root / "sub")


def test_without_paths_to_what_is_held_a_directory_is_named(root: Path) -> None:
    """As on macOS."""
    files = SandboxedFiles([root], descriptors=root / "gone")
    before = sorted(Path("/dev/fd").iterdir())
    with files.open_parent_path(str(root / "sub")) as place:
        assert place == (root / "sub").resolve()
    with files.open_path(str(root)) as directory:
        assert sorted(os.listdir(directory)) == ["notes.txt", "sub"]  # noqa: PTH208 - the same
    for name in ("gone", "notes.txt", "../root"):
        with pytest.raises(FileRefusedError), files.open_path(f"{root}/{name}"):
            pass
    assert sorted(Path("/dev/fd").iterdir()) == before
