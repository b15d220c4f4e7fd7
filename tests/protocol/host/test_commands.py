"""What a command of an agent comes to: its words, its environment, where it starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acp_protocol.host.sandbox import SandboxedFiles
from acp_protocol.host.terminals import CommandRefusedError, CommandSpec, prepare_command


def words(command: CommandSpec, cwd: Path) -> tuple[str, ...]:
    return prepare_command(command, cwd, SandboxedFiles([cwd])).words


@pytest.mark.parametrize(
    ("command", "started"),
    [
        (CommandSpec("make"), ("make",)),
        (CommandSpec("make", ("a b", "; rm x")), ("make", "a b", "; rm x")),
        (CommandSpec("make all", ("x",)), ("make all", "x")),
        (CommandSpec("make all"), ("/bin/sh", "-c", "make all")),
        (CommandSpec("a\nb"), ("/bin/sh", "-c", "a\nb")),
        (CommandSpec(" make "), (" make ",)),
        (CommandSpec("make;all"), ("make;all",)),
        (CommandSpec("a \0b"), ("/bin/sh", "-c", "a \0b")),
        (CommandSpec("./a b"), ("/bin/sh", "-c", "./a b")),
        (CommandSpec("/ b"), ("/bin/sh", "-c", "/ b")),
    ],
)
def test_only_a_line_without_arguments_is_left_to_the_shell(
    tmp_path: Path, command: CommandSpec, started: tuple[str, ...]
) -> None:
    assert words(command, tmp_path) == started


@pytest.mark.parametrize("name", ["my program", "./my program", "{cwd}/my program"])
def test_a_program_with_a_blank_in_its_name_is_no_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "my program").touch(mode=0o755)
    name = name.format(cwd=tmp_path)
    env = (("PATH", f"{tmp_path}:{os.environ['PATH']}"),)
    assert words(CommandSpec(name, env=env), tmp_path) == (name,)


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
def test_no_program_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandRefusedError, match="no command was given"):
        words(CommandSpec(name, ("x",)), tmp_path)


def test_the_environment_is_ours_with_what_was_given_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "kept")
    monkeypatch.setenv("THEIRS", "covered")
    env = (("THEIRS", "once"), ("THEIRS", "a=b ü"), ("EMPTY", ""))
    start = prepare_command(CommandSpec("true", env=env), tmp_path, SandboxedFiles([tmp_path]))
    assert start.env == {**os.environ, "THEIRS": "a=b ü", "EMPTY": ""}
    assert os.environ["THEIRS"] == "covered"


@pytest.mark.parametrize(
    "variable", [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0y"), ("=", ""), ("A", "\ud800")]
)
def test_what_no_environment_can_hold_is_refused(tmp_path: Path, variable: tuple[str, str]) -> None:
    with pytest.raises(CommandRefusedError, match="environment"):
        words(CommandSpec("true", env=(variable,)), tmp_path)


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """A session's directory, with ways out."""
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (inside / "file").touch()
    (inside / "in").symlink_to("sub")
    (inside / "out").symlink_to("../outside")
    (inside / "loop").symlink_to("loop")
    return inside


@pytest.mark.parametrize(
    ("cwd", "place"),
    [(None, ""), ("{}", ""), ("{}/", ""), ("{}/sub", "sub"), ("{}/in", "sub"), ("{}/./sub", "sub")],
)
def test_a_command_starts_in_a_directory_of_the_session(
    inside: Path, cwd: str | None, place: str
) -> None:
    asked = None if cwd is None else cwd.format(inside)
    start = prepare_command(CommandSpec("true", cwd=asked), inside, SandboxedFiles([inside]))
    assert start.cwd.resolve() == (inside / place).resolve()


@pytest.mark.parametrize(
    ("cwd", "reason"),
    [
        ("sub", "not absolute"),
        ("", "not absolute"),
        ("~", "not absolute"),
        ("/", "outside"),
        ("/{}", "outside"),
        ("{}/..", r"with \.\. is not followed"),
        ("{}/sub/../..", r"with \.\. is not followed"),
        ("{}x", "outside"),
        ("{}/out", "outside"),
        ("{}/out/deeper", "no such file or directory"),
        ("{}/gone", "no such file or directory"),
        ("{}/file", "not a directory"),
        ("{}/loop", "too many"),
        ("{}/\0", "no NUL"),
        ("{}/\ud800", "no form on this disk"),
        ("/proc/self/cwd", "outside"),
    ],
)
def test_no_command_starts_outside(inside: Path, cwd: str, reason: str) -> None:
    with pytest.raises(CommandRefusedError, match=reason):
        prepare_command(
            CommandSpec("true", cwd=cwd.format(inside)), inside, SandboxedFiles([inside])
        )
