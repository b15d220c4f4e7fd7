"""Options of the commands that compare messages, and what they allow to differ."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.command import Decorated
from acp_console.cli.errors import fail, say
from acp_console.cli.reading import UNKNOWN_FIELDS, parse_filter, warn_about_filter
from acp_console.wording.values import plural
from acp_inspector.compare.diff import CompareOptions
from acp_inspector.compare.ignoring import Ignore
from acp_inspector.compare.steps import Level
from acp_inspector.compare.tolerances import TABLE, TOLERANCES, ToleranceName
from acp_inspector.jsonpath import JSONPathError, parse_path
from acp_inspector.replay.expectations import (
    AppliedExpectations,
    Expectations,
    FilterSelector,
    expectations_beside,
    read_expectations,
)

MAX_DIFFERENCES_SHOWN: Final = 20
"""Differences that are shown of each kind, unless all are requested."""
BESIDE_RECORDING: Final = (
    "Expect differences as this file says. Default: FILE's NAME.expect.toml, if it exists."
)
"""Help of `--expect` for commands that play a recording."""
_ALL: Final = "all"
_STRICT: Final = [*(each.name for each in TABLE), _ALL]


def level_option(command: Decorated) -> Decorated:
    """Add `--level` to a command."""
    return click.option(
        "--level",
        type=click.Choice(get_args(Level)),
        default="semantic",
        show_default=True,
        help="strict: message by message; shape: only methods, kinds, statuses and endings.",
    )(command)


def comparison_options(expect: str) -> Callable[[Decorated], Decorated]:
    """Add `--level`, `--strict`, `--expect` and `--ignore`; pass them to `Comparison.of`.

    Args:
        expect: The help of `--expect`.
    """

    def add(command: Decorated) -> Decorated:
        strict = click.option(
            "--strict",
            multiple=True,
            type=click.Choice(_STRICT),
            metavar="NAME",
            help="Do not tolerate this: " + ", ".join(_STRICT) + ".",
        )
        file = click.option(
            "--expect", type=click.Path(path_type=Path), metavar="FILE", help=expect
        )
        ignore = click.option(
            "--ignore",
            "ignored",
            multiple=True,
            metavar="EXPR",
            help="Ignore frames that match EXPR, or values at a path such as "
            "$.params.update.title.",
        )
        return level_option(strict(file(ignore(command))))

    return add


def all_option(command: Decorated) -> Decorated:
    """Add `--all` to a command that shows differences; its parameter is `is_all`."""
    return click.option(
        "--all", "is_all", is_flag=True, help="Show every difference of every kind."
    )(command)


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """How closely a command compares, and what its options allow."""

    level: Level
    tolerances: frozenset[ToleranceName]
    chosen: Sequence[Ignore]
    """What `--ignore` says."""
    expected: AppliedExpectations
    """What the file of `--expect` says."""
    expect: Path | None

    @classmethod
    def of(
        cls,
        level: Level,
        strict: Sequence[str],
        expect: Path | None,
        ignored: Sequence[str],
        *,
        recording: Path | None = None,
    ) -> ComparisonOptions:
        """Return what the options say.

        Args:
            level: `--level`.
            strict: `--strict`.
            expect: `--expect`.
            ignored: `--ignore`.
            recording: The recording whose NAME.expect.toml counts without `--expect`.

        Raises:
            UsageError: one of `--ignore` cannot be parsed, or needs a field that is not available.
            AcpError: the file is invalid or cannot be read.
        """
        chosen = [_ignore(text) for text in ignored]
        if expect is None and recording is not None:
            beside = expectations_beside(recording)
            expect = beside if os.path.lexists(beside) else None
        found = Expectations() if expect is None else read_expectations(expect)
        tolerances = frozenset[ToleranceName]() if _ALL in strict else TOLERANCES.difference(strict)
        return cls(level, tolerances, chosen, AppliedExpectations.of(found), expect)

    @property
    def options(self) -> CompareOptions:
        return {
            "level": self.level,
            "ignores": [*self.chosen, *self.expected.ignores],
            "matchers": self.expected.matchers,
            "tolerances": self.tolerances,
        }

    def exit_code(self, *, is_passed: bool) -> int:
        """Report what was allowed; return the exit code: what never applied is a mistake."""
        unused = self.expected.unused()
        for text in unused:
            fail(
                f"{self.expect}: {text}: never applied",
                "remove the entry, or mark it with may = true",
            )
        if not _report(self.chosen) or unused:
            return exit_codes.USAGE
        return exit_codes.DONE if is_passed else exit_codes.FOUND


def _ignore(text: str) -> Ignore:
    if text.startswith("$"):
        try:
            return Ignore(text, parse_path(text))
        except JSONPathError:
            # With an operator after it, it is an expression.
            pass
    wanted = parse_filter(text, option="--ignore", unknown_fields=UNKNOWN_FIELDS)
    return Ignore(text, FilterSelector(wanted))


def _report(ignores: Sequence[Ignore]) -> bool:
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
