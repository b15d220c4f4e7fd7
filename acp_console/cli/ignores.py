"""`--ignore EXPR`, as commands that compare have it: frames, or a place in every message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from acp_console.cli.problems import say
from acp_console.cli.studies import filter_of
from acp_inspector.analysis.ignores import Ignore
from acp_inspector.filter.paths import PathError, read_path

Command = TypeVar("Command", bound=Callable[..., object])


def ignore_option(command: Command) -> Command:
    """Let a command take `--ignore EXPR`, any number of times; they come as `ignored`."""
    return click.option(
        "--ignore",
        "ignored",
        multiple=True,
        metavar="EXPR",
        help="Do not compare frames that EXPR means, or a place such as $.params.update.title.",
    )(command)


def ignores_of(texts: Sequence[str]) -> list[Ignore]:
    """Return what was typed.

    Raises:
        click.UsageError: it cannot be understood; the error shows where.
    """
    return [_ignore(text) for text in texts]


def _ignore(text: str) -> Ignore:
    if text.startswith("$"):
        try:
            return Ignore(text, read_path(text))
        except PathError:
            # With an operator behind it, it is an expression.
            pass
    return Ignore(text, filter_of(text, option="--ignore"))


def tell_ignores(ignores: Sequence[Ignore]) -> bool:
    """Say how often each applied; tell whether all of them did."""
    for ignore in ignores:
        if ignore.applied:
            say(f"--ignore {ignore.text}: applied {ignore.applied} times")
        else:
            say(f"--ignore {ignore.text}: nothing to ignore was found; leave it out or mend it")
    return all(ignore.applied for ignore in ignores)
