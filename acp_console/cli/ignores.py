"""`--ignore EXPR`, for commands that compare: ignores frames, or a path in every message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

import click

from acp_console.cli.errors import fail, say
from acp_console.cli.reading import parse_filter, warn_about_filter
from acp_console.render.values import plural
from acp_inspector.analysis.annotations import FrameNotes
from acp_inspector.analysis.diff import Ignore
from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.filter.compiler import Filter
from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import Frame
from acp_inspector.jsonpath import JSONPathError, parse_path

Command = TypeVar("Command", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class FilterSelector:
    """Selects the frames that a filter matches."""

    filter: Filter

    @property
    def needs_responses(self) -> bool:
        """Whether the filter asks which requests have a response."""
        return "pending" in self.filter.fields

    def matches(self, frame: Frame, exchanges: Exchanges, notes: FrameNotes) -> bool:
        return self.filter.matches(EntryFields(frame, exchanges, notes=notes))


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
