"""Shared by commands that read a whole recording: reading, filters, tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Final

import click

from acp_console.cli.command import Decorated
from acp_console.cli.errors import UsageError, warn
from acp_inspector.filter.ast import Compare, In
from acp_inspector.filter.compiler import Filter, compile_filter, leaves
from acp_inspector.filter.errors import FilterError
from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.lint.engine import Linter
from acp_inspector.lint.registry import find_rule, rules
from acp_inspector.messages import DecodedFrame
from acp_inspector.recording.format import Header
from acp_inspector.recording.reader import BadLine, Row, read_lines
from acp_inspector.session.recorded_edits import read_edits
from acp_inspector.views.annotations import LINT_FIELDS, Annotations
from acp_inspector.views.session_model import SessionModel
from acp_protocol.dialects.registry import SPOKEN
from acp_protocol.dialects.spellings import NO_DIALECT
from acp_protocol.host.did_you_mean import did_you_mean

UNKNOWN_FIELDS: Final = ("finding", "rule", "held", "edited")
"""Fields that `SessionModel` does not provide."""


def filter_option(about: str) -> Callable[[Decorated], Decorated]:
    """Add `--filter EXPR` to a command; its parameter is `text`."""
    return click.option("--filter", "text", default="", metavar="EXPR", help=about)


def dialect_option(command: Decorated) -> Decorated:
    """Add `--dialect` to a command that reads a recording."""
    return click.option(
        "--dialect",
        type=click.Choice([*SPOKEN, NO_DIALECT]),
        help="Dialect of the frames; none: the published protocol.  [default: as the recording "
        "names it, or recognised]",
    )(command)


def parse_filter(
    text: str, *, option: str = "--filter", unknown_fields: Collection[str] = ()
) -> Filter:
    """Compile a filter from the command line.

    Args:
        text: The expression.
        option: The name of the option.
        unknown_fields: Fields that have no value here; a filter on them would never match.

    Raises:
        UsageError: it is invalid, and the error shows where; or it uses a field that is
            not available, or names a rule that there is not.
    """
    try:
        wanted = compile_filter(text)
    except FilterError as problem:
        picture = problem.pointer.replace("\n", "\n  ")
        raise UsageError(f"{option}: {problem.summary}\n\n  {picture}", problem.hint) from None
    if unknown := sorted(wanted.fields.intersection(unknown_fields)):
        names = ", ".join(f"`{name}`" for name in unknown)
        raise UsageError(f"{option}: not available here: {names}", "use it with show or lint")
    for name in _rules_in(wanted) if "rule" in wanted.fields else ():
        rule = find_rule(name)
        if rule is None or name not in {rule.name, rule.id}:
            raise UsageError(f"{option}: there is no rule {name}", rule_hint(name))
    return wanted


def rule_pattern(name: str) -> str:
    """Return a name or number of a rule, or a pattern of them, as they are spelt."""
    return name.upper() if name.upper().startswith("ACP-L") else name.lower()


def rule_names() -> list[str]:
    """Return the names of all rules, and then their numbers."""
    return [*rules(), *(each.id for each in rules().values())]


def rule_hint(name: str) -> str:
    """Return a hint with the rule whose name or number is nearest."""
    every = "acp-console lint --rules lists all rules"
    return did_you_mean(rule_pattern(name), rule_names(), every)


def _rules_in(wanted: Filter) -> Iterator[str]:
    """Yield the rules whose whole names a filter has."""
    for leaf in leaves(wanted.expression):
        match leaf:
            case Compare("rule", "==" | "!=", str(name)):
                yield name
            case In("rule", names):
                yield from (name for name in names if isinstance(name, str))
            case _:
                pass


def warn_about_filter(wanted: Filter, *, option: str = "--filter") -> None:
    """Warn on stderr if the filter could not be decided for some frames."""
    if wanted.warning:
        warn(f"{option} {wanted.source}: {wanted.warning}")


def warn_about_line(file: Path, bad_line: BadLine) -> None:
    """Warn on stderr about a line of a recording that cannot be read."""
    warn(f"{file}, line {bad_line.line}: {bad_line.reason}")


def read_entries(
    file: Path, *, on_bad_line: Callable[[BadLine], object] = lambda line: None
) -> Iterator[Entry]:
    """Yield the entries of a recording; report unreadable lines on stderr, and to `on_bad_line`."""
    for row in read_rows(file, on_bad_line=on_bad_line):
        if isinstance(row, Frame | StderrChunk | JournalEvent):
            yield row


def read_rows(
    file: Path, *, on_bad_line: Callable[[BadLine], object] = lambda line: None
) -> Iterator[Row]:
    """Yield the header and the entries of a recording; report lines as `read_entries` does."""
    for line in read_lines(file):
        if isinstance(line, BadLine):
            warn_about_line(file, line)
            on_bad_line(line)
        else:
            yield line


def read_decoded(file: Path, *, dialect: str | None = None) -> Iterator[DecodedFrame]:
    """Yield the frames of a recording as its model reads them: joined, paired, and as edited."""
    model = SessionModel(dialect, has_conversations_only=True, edits=read_edits(file))
    for row in read_lines(file):
        model.read([row])
        if isinstance(row, Frame) and model.decoded is not None:
            yield model.decoded


def is_redacted(file: Path) -> bool:
    """Return whether a recording has placeholders for secrets."""
    first = next(iter(read_lines(file)), None)
    return isinstance(first, Header) and bool(first.redacted)


def read_session_model(
    file: Path,
    wanted: Filter | None = None,
    *,
    until: int | None = None,
    dialect: str | None = None,
) -> SessionModel:
    """Return the session model of a recording.

    Args:
        file: The recording.
        wanted: Statistics count only frames that match it; None: all.
        until: The last entry to read; None: all.
        dialect: The dialect of its frames; None: it is recognised.
    """
    model = SessionModel(dialect, edits=read_edits(file))
    rows: Iterable[Row] = read_rows(file)
    if not file.is_file():
        # The event of an edit comes after its frame.
        rows = [*rows]
        model.expect(rows)
    if until is not None:
        rows = takewhile(lambda row: _number(row) <= until, rows)
    if wanted is None or wanted.is_empty:
        model.read(rows)
        return model
    exchanges = model.exchanges
    if "pending" in wanted.fields:
        # Which requests have a response is known only at the end.
        exchanges = read_session_model(file, until=until, dialect=dialect).exchanges

    def counts(frame: DecodedFrame) -> bool:
        notes = model.notes()
        return wanted.matches(EntryFields(frame.frame, exchanges, notes=notes, decoded=frame))

    model.read(rows, counts=counts)
    warn_about_filter(wanted)
    return model


def _number(row: Row) -> int:
    return row.seq if isinstance(row, Frame | StderrChunk | JournalEvent) else 0


def annotate(
    file: Path,
    wanted: Filter,
    *,
    has_findings: bool = False,
    has_gaps: bool = False,
    dialect: str | None = None,
) -> Annotations:
    """Read the annotations that `wanted` needs; do not read the recording if it needs none.

    Args:
        file: the recording.
        wanted: the filter.
        has_findings: findings are shown, whether or not the filter asks for them.
        has_gaps: the same for the times between frames.
        dialect: the dialect of the recording; None: it is recognised.

    Raises:
        RecordingError: it cannot be read.
    """
    found = Annotations()
    linter = Linter(dialect=dialect) if has_findings or LINT_FIELDS & wanted.fields else None
    needs_model = has_gaps or wanted.needs_notes
    model = SessionModel(dialect, edits=read_edits(file)) if needs_model else None
    if linter is None and model is None:
        return found
    for entry in read_lines(file):
        # Lines that cannot be read are reported by the command that shows the frames.
        if not isinstance(entry, Header | Frame | StderrChunk | JournalEvent):
            continue
        if linter is not None:
            found.feed_linter(linter, entry)
        if model is not None and isinstance(entry, Header):
            model.read([entry])
        elif model is not None and not isinstance(entry, Header):
            model.apply(entry)
            found.add_entry(entry, model.notes())
    if linter is not None:
        found.add_findings(linter.finish())
    return found
