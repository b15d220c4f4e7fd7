"""Patches that git itself takes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_agent.world.diffs import git_move, git_patch


def test_paths_are_absolute_and_a_new_file_comes_from_nowhere() -> None:
    assert git_patch("/a/b.txt", None, "x\n") == (
        "diff --git /a/b.txt /a/b.txt\n"
        "new file mode 100644\n"
        "--- /dev/null\n"
        "+++ /a/b.txt\n"
        "@@ -0,0 +1 @@\n"
        "+x\n"
    )


def test_a_path_that_would_confuse_a_reader_is_quoted_as_git_does() -> None:
    patch = git_patch('/a/"b"\n\x01', "x", "y")
    assert patch.startswith('diff --git "/a/\\"b\\"\\n\\001" "/a/\\"b\\"\\n\\001"\n')


def test_a_text_that_did_not_change_has_no_hunks() -> None:
    assert git_patch("/a", "x\n", "x\n") == "diff --git /a /a\n"


LINES = st.lists(st.sampled_from(["a", "b", "\u2028", "\x0c", "", "+x", "-- y", "c\r"]), max_size=9)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(old=LINES, new=LINES, ends=st.tuples(st.booleans(), st.booleans()))
def test_git_makes_the_new_text_of_the_old_one(
    tmp_path_factory: pytest.TempPathFactory,
    old: list[str],
    new: list[str],
    ends: tuple[bool, bool],
) -> None:
    before, after = (
        "\n".join(lines) + "\n" * (end and bool(lines))
        for lines, end in zip((old, new), ends, strict=True)
    )
    if before == after:
        return
    folder: Path = tmp_path_factory.mktemp("patch")
    (folder / "file").write_bytes(before.encode())
    patch = git_patch("file", before, after)
    subprocess.run(
        ["git", "apply", "-p0", "--whitespace=nowarn"],
        cwd=folder,
        input=patch.encode(),
        check=True,
        capture_output=True,
    )
    assert (folder / "file").read_bytes() == after.encode()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_moves_what_a_patch_moves(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("x")
    command = ["git", "apply", "-p0"]
    subprocess.run(command, cwd=tmp_path, input=git_move("old", "néw/\t").encode(), check=True)
    assert (tmp_path / "néw" / "\t").read_text() == "x"
    assert not (tmp_path / "old").exists()
