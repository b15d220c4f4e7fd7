"""`acp-console import`: make recordings of the logs of other tools."""

from __future__ import annotations

from pathlib import Path

import click

from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.errors import say, warn
from acp_console.cli.progress import current_progress
from acp_console.cli.recording_files import ANY, jobs, output_options, recordings_argument
from acp_console.wording.values import plural
from acp_inspector.importers.formats import FORMATS
from acp_inspector.importers.importer import ImportResult, import_file
from acp_inspector.recording.format import SUFFIX
from acp_protocol.host.sanitize import escape_controls


@click.command(name="import", cls=CliCommand, topic="importing", shows_progress=True)
@recordings_argument
@output_options("Recording to write; of several files or a folder, the folder.")
@click.option(
    "--as",
    "format_name",
    metavar="FORMAT",
    type=click.Choice([each.name for each in FORMATS]),
    help=f"Format of FILE: {', '.join(each.name for each in FORMATS)}; detected from its content "
    "by default.",
)
def command(*, files: tuple[Path, ...], out: Path, format_name: str | None, overwrite: bool) -> int:
    """Convert FILE, a log, trace, journal or export of another tool, to a recording.

    FILE may be a folder or a pattern; each file in it becomes a recording.

    \b
    acp-console import zed-log.json -o session.acp.ndjson
    acp-console import --as acpx 019c.stream.ndjson -o session.acp.ndjson
    acp-console import 'logs/*.log' -o recordings
    """  # noqa: D301 - the mark by which click keeps lines apart
    chosen = jobs(files, out, suffixes=ANY, named=lambda name: name.with_suffix(SUFFIX))
    for source, target in current_progress().over(chosen, "files"):
        _report(target, import_file(source, target, format_name=format_name, overwrite=overwrite))
    return exit_codes.DONE


def _report(target: Path, result: ImportResult) -> None:
    counts = [plural(result.counts["frames"], "frame")]
    if pieces := result.counts["stderr"]:
        counts.append(f"{plural(pieces, 'piece')} of stderr")
    if notes := result.counts["notes"]:
        counts.append(plural(notes, "note"))
    click.echo(f"{escape_controls(str(target))}: {', '.join(counts)} from {result.format.about}")
    # What a user should know before trusting the recording.
    for line in result.format.caveats:
        say(line)
    for guess, count in result.guesses.items():
        say(f"guessed for {plural(count, 'frame')}: {guess}")
    for what, count in result.skipped.items():
        say(f"left out: {what} ({count})")
    if count := result.counts["broken"]:
        warn(f"{plural(count, 'line')} could not be read; kept as text")
