"""Options of the commands that compare: --level, --strict, --expect and --ignore."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final, TypeVar, get_args

import click

from acp_console.cli.errors import fail, say
from acp_console.cli.reading import parse_filter, warn_about_filter
from acp_console.wording.values import plural
from acp_inspector.compare.diff import Ignore
from acp_inspector.compare.id_map import TOLERANCES, Tolerance
from acp_inspector.compare.steps import Level
from acp_inspector.jsonpath import JSONPathError, parse_path
from acp_inspector.replay.expectations import (
    AppliedExpectations,
    Expectations,
    FilterSelector,
    expectations_beside,
    read_expectations,
)

Command = TypeVar("Command", bound=Callable[..., object])


_ALL: Final = "all"


def level_option(command: Command) -> Command:
    """Add `--level` to a command."""
    return click.option(
        "--level",
        type=click.Choice(get_args(Level)),
        default="semantic",
        show_default=True,
        help="strict: message by message; shape: only methods, kinds, statuses and endings.",
    )(command)


def strict_option(command: Command) -> Command:
    """Add the repeatable option `--strict NAME` to a command; its parameter is `strict`."""
    return click.option(
        "--strict",
        multiple=True,
        type=click.Choice([*get_args(Tolerance), _ALL]),
        metavar="NAME",
        help="Do not tolerate this: " + ", ".join([*get_args(Tolerance), _ALL]) + ".",
    )(command)


def expect_option(about: str) -> Callable[[Command], Command]:
    """Add `--expect FILE` to a command."""
    return click.option("--expect", type=click.Path(path_type=Path), metavar="FILE", help=about)


def tolerances_of(strict: Sequence[str]) -> frozenset[Tolerance]:
    """Return what is tolerated, given what is not."""
    return frozenset() if _ALL in strict else TOLERANCES.difference(strict)


def expectations_file(recording: Path, chosen: Path | None) -> Path | None:
    """Return the chosen file, or else the one beside the recording if it exists."""
    beside = expectations_beside(recording)
    return beside if chosen is None and os.path.lexists(beside) else chosen


def applied_expectations(path: Path | None) -> AppliedExpectations:
    """Return the expectations in a file; without one there are none."""
    return AppliedExpectations.of(Expectations() if path is None else read_expectations(path))


def report_expectations(applied: AppliedExpectations, path: Path | None) -> bool:
    """Report the entries that had to apply and did not; return whether there are none."""
    unused = applied.unused()
    for text in unused:
        fail(f"{path}: {text}: never applied", "remove the entry, or mark it with may = true")
    return not unused


def ignore_option(command: Command) -> Command:
    """Add the repeatable option `--ignore EXPR` to a command; its parameter is `ignored`."""
    return click.option(
        "--ignore",
        "ignored",
        multiple=True,
        metavar="EXPR",
        help="Ignore frames that match EXPR, or values at a path such as $.params.update.title.",
    )(command)


def ignores_of(texts: Sequence[str], *, lacks: Collection[str] = ()) -> list[Ignore]:
    """Parse the options; `lacks` names the fields that are not available.

    Raises:
        UsageError: it cannot be parsed, and the error shows where; or it uses a field
            that is not available.
    """
    ignores: list[Ignore] = []
    for text in texts:
        if text.startswith("$"):
            try:
                ignores.append(Ignore(text, parse_path(text)))
                continue
            except JSONPathError:
                # With an operator after it, it is an expression.
                pass
        wanted = parse_filter(text, option="--ignore", unknown_fields=lacks)
        ignores.append(Ignore(text, FilterSelector(wanted)))
    return ignores


def report_ignores(ignores: Sequence[Ignore]) -> bool:
    """Report how often each applied; return whether all found something to ignore."""
    for ignore in ignores:
        if isinstance(ignore.what, FilterSelector):
            warn_about_filter(ignore.what.filter, option="--ignore")
        if ignore.applied:
            say(f"--ignore {ignore.text}: applied {plural(ignore.applied, 'time')}")
        elif ignore.covered:
            say(f"--ignore {ignore.text}: not needed; another --ignore covers its frames")
        else:
            fail(f"--ignore {ignore.text}: nothing to ignore was found", "remove or correct it")
    return all(ignore.applied or ignore.covered for ignore in ignores)
