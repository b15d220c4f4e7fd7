"""FILE... of commands: which files are read, and what is written of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from acp_console.cli.command import Decorated
from acp_console.cli.errors import UsageError
from acp_console.paths import FileWriteError
from acp_inspector.recording.finding import SUFFIXES, find_files
from acp_protocol.errors import describe_os_error

ANY: Final = ("",)
"""The suffixes of any file."""


def recordings_argument(command: Decorated) -> Decorated:
    """Add FILE... to a command: files, folders and patterns, for `find_recordings`."""
    return click.argument(
        "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
    )(command)


def output_options(help_: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds `--output`, described by `help_`, and `--overwrite`."""

    def decorate(command: Decorated) -> Decorated:
        output = click.option(
            "-o", "--output", "out", required=True, type=click.Path(path_type=Path), help=help_
        )
        overwrite = click.option(
            "--overwrite", is_flag=True, help="Replace the output if it exists."
        )
        return output(overwrite(command))

    return decorate


class Job(NamedTuple):
    """A file to read, and the one to write."""

    source: Path
    target: Path


def jobs(
    paths: Sequence[Path],
    out: Path,
    *,
    suffixes: tuple[str, ...] = SUFFIXES,
    named: Callable[[Path], Path] = lambda name: name,
) -> list[Job]:
    """Return what to read and to write: `out` for one file, or files in the folder `out`.

    Args:
        paths: Files, folders and patterns.
        out: `--output`.
        suffixes: Of the files in folders.
        named: Returns the name of what is written, in the folder `out`.

    Raises:
        RecordingError: there is no such file.
        UsageError: two files would be written to one, or the folder is a file.
        FileWriteError: the folder cannot be made.
    """
    if len(paths) == 1 and not paths[0].is_dir() and not out.is_dir():
        found = find_files(paths, suffixes)
        if len(found) == 1:
            return [Job(found[0].path, out)]
    found = find_files(paths, suffixes)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{len(found)} files cannot be written to the file {out}", "name a folder")
    made: dict[Path, Job] = {}
    for path, name in found:
        target = out / named(name)
        if target in made:
            hint = "rename one, or convert them one by one"
            raise UsageError(f"{made[target].source} and {path} would both become {target}", hint)
        made[target] = Job(path, target)
    try:
        for target in made:
            target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileWriteError(f"cannot write to {out}: {describe_os_error(problem)}") from None
    return list(made.values())
