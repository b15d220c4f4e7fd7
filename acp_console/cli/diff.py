"""`acp-console diff`: compare two recordings by meaning, not by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

import click

from acp_console.cli.command import CliCommand
from acp_console.cli.comparing import ComparisonOptions, comparison_options
from acp_console.cli.errors import UsageError, fail
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.printing import print_line, text_width
from acp_console.cli.progress import current_progress
from acp_console.cli.reading import (
    UNKNOWN_FIELDS,
    dialect_option,
    is_redacted,
    parse_filter,
    read_rows,
    warn_about_filter,
)
from acp_console.wording.comparison import VALUE_WIDTH, difference_lines
from acp_console.wording.values import OUTPUT_VERSION, plural
from acp_inspector.compare.diff import compare
from acp_inspector.compare.difference import JournalComparison
from acp_inspector.compare.id_map import IdMap
from acp_inspector.compare.steps import Level
from acp_inspector.compare.tolerances import tolerated_text
from acp_inspector.compare.values import ABSENT
from acp_inspector.recording.finding import find_files
from acp_inspector.recording.reader import BadLine, unread_problem
from acp_inspector.replay.expectations import FilterSelector
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["text", "json"]


@click.command(name="diff", cls=CliCommand, topic="reading", is_check=True, shows_progress=True)
@click.argument("left", metavar="A", required=False, type=click.Path(path_type=Path))
@click.argument("right", metavar="B", required=False, type=click.Path(path_type=Path))
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
    left: Path | None,
    right: Path | None,
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
    Of two folders, recordings with the same name are compared.

    \b
    acp-console diff before.acp.ndjson after.acp.ndjson
    acp-console diff --level shape before.acp.ndjson after.acp.ndjson
    acp-console diff before after
    acp-console diff --only-left 'turn == 1' --only-right 'turn == 2' A A
    acp-console diff --ignore 'update == agent_message_chunk' A B
    """  # noqa: D301 - the mark by which click keeps lines apart
    if left is None or right is None:
        missing = (
            "A and B, the two recordings" if left is None else "B, the recording to compare A with"
        )
        raise UsageError(
            f"missing {missing}", "e.g. acp-console diff before.acp.ndjson after.acp.ndjson"
        )
    comparison = ComparisonOptions.of(level, strict, expect, ignored)
    only_left = parse_filter(ours, option="--only-left", unknown_fields=UNKNOWN_FIELDS)
    only_right = parse_filter(theirs, option="--only-right", unknown_fields=UNKNOWN_FIELDS)
    selectors = FilterSelector(only_left), FilterSelector(only_right)
    pairs = _pairs(left, right)
    is_passed = True
    for pair in current_progress().over(pairs, "pairs"):
        shown = _Shown(pair, is_json=format_ == "json", is_one_of_several=left.is_dir())
        is_passed &= _compare(shown, comparison, selectors, dialect)
    warn_about_filter(only_left, option="--only-left")
    warn_about_filter(only_right, option="--only-right")
    return comparison.exit_code(is_passed=is_passed)


class _Pair(NamedTuple):
    """Two recordings to compare; None where the other folder has none of that name."""

    left: Path | None
    right: Path | None


@dataclass(frozen=True, slots=True)
class _Shown:
    pair: _Pair
    is_json: bool
    is_one_of_several: bool


def _pairs(left: Path, right: Path) -> list[_Pair]:
    """Return what is compared; beside a file, a folder has one of the same name.

    Raises:
        RecordingError: a folder has no recordings.
    """
    if left.is_dir() and right.is_dir():
        sides = [{name: path for path, name in find_files([folder])} for folder in (left, right)]
        names = sorted({*sides[0], *sides[1]})
        return [_Pair(sides[0].get(name), sides[1].get(name)) for name in names]
    return [
        _Pair(
            left / right.name if left.is_dir() else left,
            right / left.name if right.is_dir() else right,
        )
    ]


def _compare(
    shown: _Shown,
    comparison: ComparisonOptions,
    selectors: tuple[FilterSelector, FilterSelector],
    dialect: str | None,
) -> bool:
    """Compare two recordings and print the result; return whether they mean the same."""
    left, right = shown.pair
    if left is None or right is None:
        if shown.is_json:
            print_json({"acp_diff": OUTPUT_VERSION, "left": _name(left), "right": _name(right)})
        else:
            side = "B" if left is None else "A"
            click.echo(f"only in {side}: {escape_controls(str(left or right))}")
        return False
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
    if shown.is_json:
        print_json({**comparison_json(found, left, right, comparison.level), "unread": unread})
    else:
        name = f"{escape_controls(str(right))}: " if shown.is_one_of_several else ""
        for line in comparison_lines(found, left, right, name):
            print_line(line, _style(line))
    if unread:
        fail(unread_problem(unread))
    return not found.differences and not unread


def _style(line: str) -> str:
    """Return the style of a line: of what only one side has, of what changed, and of heads."""
    if line.startswith(("---", "+++")):
        return "bold"
    return {"-": "red", "+": "green", "*": "bold", "~": "yellow"}.get(line.lstrip()[:1], "")


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)


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


def comparison_lines(
    found: JournalComparison, left: Path, right: Path, name: str = ""
) -> Iterator[str]:
    """Yield the comparison as lines that are safe to show; `name` is before one without any."""
    left_steps, right_steps = found.compared
    steps = f"{left_steps} and {plural(right_steps, 'step')} compared"
    if found.tolerated:
        steps += f"; tolerated: {tolerated_text(found.tolerated)}"
    if not found.differences:
        yield f"{name}no difference: {steps}"
        return
    yield f"--- {escape_controls(str(left))}"
    yield f"+++ {escape_controls(str(right))}"
    width = text_width(VALUE_WIDTH)
    are_many = len({each.session for each in found.differences} - {None}) > 1
    for each in found.differences:
        yield ""
        yield from difference_lines(each, are_many=are_many, width=width)
    yield ""
    yield f"{plural(len(found.differences), 'difference')}: {steps}"
