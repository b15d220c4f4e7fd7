"""`acp-console diff`: compare two recordings by meaning, not by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import click

from acp_console.cli.command import Command
from acp_console.cli.comparing import Comparison, comparison_options
from acp_console.cli.errors import fail
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.reading import (
    UNKNOWN_FIELDS,
    dialect_option,
    is_redacted,
    parse_filter,
    read_rows,
    warn_about_filter,
)
from acp_console.wording.comparison import difference_lines
from acp_console.wording.values import OUTPUT_VERSION, plural
from acp_inspector.compare.diff import compare
from acp_inspector.compare.difference import JournalComparison
from acp_inspector.compare.id_map import IdMap
from acp_inspector.compare.steps import Level
from acp_inspector.compare.tolerances import tolerated_text
from acp_inspector.compare.values import ABSENT
from acp_inspector.recording.reader import BadLine, unread_problem
from acp_inspector.replay.expectations import FilterSelector
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["text", "json"]


@click.command(name="diff", cls=Command, docs="reading.md", is_check=True, shows_progress=True)
@click.argument("left", metavar="A", type=click.Path(path_type=Path))
@click.argument("right", metavar="B", type=click.Path(path_type=Path))
@comparison_options("Expect differences as this file says: NAME.expect.toml.")
@click.option(
    "--only-left",
    "ours",
    default="",
    metavar="EXPR",
    help='Compare only the frames of A that match EXPR, such as "turn == 1".',
)
@click.option("--only-right", "theirs", default="", metavar="EXPR", help="The same for B.")
@dialect_option
@format_option(get_args(Format), "json: one object with all differences.")
def command(
    *,
    left: Path,
    right: Path,
    level: Level,
    strict: tuple[str, ...],
    expect: Path | None,
    ignored: tuple[str, ...],
    ours: str,
    theirs: str,
    dialect: str | None,
    format_: Format,
) -> int:
    """Compare the recordings A and B by the meaning of their messages.

    Exits with 0 if they mean the same, and with 1 if they do not, or if a line cannot be read. Ids
    and times may differ, as long as they are used in the same way; what was tolerated is reported.

    \b
    acp-console diff before.acp.ndjson after.acp.ndjson
    acp-console diff --level shape before.acp.ndjson after.acp.ndjson
    acp-console diff --only-left 'turn == 1' --only-right 'turn == 2' A A
    acp-console diff --ignore 'update == usage_update' --ignore '$..title' A B
    """  # noqa: D301 - the mark by which click keeps lines apart
    comparison = Comparison.of(level, strict, expect, ignored)
    only_left = parse_filter(ours, option="--only-left", unknown_fields=UNKNOWN_FIELDS)
    only_right = parse_filter(theirs, option="--only-right", unknown_fields=UNKNOWN_FIELDS)
    selectors = FilterSelector(only_left), FilterSelector(only_right)
    bad_lines: list[BadLine] = []
    rows = (
        list(read_rows(left, on_bad_line=bad_lines.append)),
        list(read_rows(right, on_bad_line=bad_lines.append)),
    )
    unread = sum(bad.is_unread for bad in bad_lines)
    found = compare(
        *rows,
        **comparison.options,
        selectors=selectors,
        ids=IdMap(is_redacted=is_redacted(left)),
        dialect=dialect,
    )
    if format_ == "json":
        print_json({**comparison_json(found, left, right, level), "unread": unread})
    else:
        for line in comparison_lines(found, left, right):
            click.echo(line)
    if unread:
        fail(unread_problem(unread))
    warn_about_filter(only_left, option="--only-left")
    warn_about_filter(only_right, option="--only-right")
    return comparison.exit_code(is_passed=not found.differences and not unread)


def comparison_json(
    found: JournalComparison, left: Path, right: Path, level: Level
) -> dict[str, Json]:
    """Return the comparison as JSON; `absent` is the value of missing members."""
    return {
        "acp_diff": OUTPUT_VERSION,
        "left": str(left),
        "right": str(right),
        "level": level,
        "absent": ABSENT,
        "compared": list(found.compared),
        "tolerated": dict(found.tolerated),
        "differences": [each.to_json() for each in found.differences],
        "counts": dict(Counter(each.kind for each in found.differences)),
    }


def comparison_lines(found: JournalComparison, left: Path, right: Path) -> Iterator[str]:
    """Yield the comparison as lines that are safe to show."""
    left_steps, right_steps = found.compared
    steps = f"{left_steps} and {plural(right_steps, 'step')} compared"
    if found.tolerated:
        steps += f"; tolerated: {tolerated_text(found.tolerated)}"
    if not found.differences:
        yield f"no difference: {steps}"
        return
    yield f"--- {escape_controls(str(left))}"
    yield f"+++ {escape_controls(str(right))}"
    are_many = len({each.session for each in found.differences} - {None}) > 1
    for each in found.differences:
        yield ""
        yield from difference_lines(each, are_many=are_many)
    yield ""
    yield f"{plural(len(found.differences), 'difference')}: {steps}"
