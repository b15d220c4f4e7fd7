"""`acp-console inspect`: browse recordings."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from acp_console.cli.command import CliCommand
from acp_console.cli.errors import UsageError
from acp_console.cli.reading import dialect_option
from acp_console.cli.recording_files import recordings_argument
from acp_console.cli.theme_option import theme_option
from acp_inspector.recording.finding import find_recordings


@click.command(name="inspect", cls=CliCommand, topic="inspecting")
@recordings_argument
@dialect_option
@theme_option
def command(*, files: tuple[Path, ...], dialect: str | None, theme: str | None) -> int:
    """Browse the traffic in recordings.

    FILE may be a folder or a pattern.

    \b
    acp-console inspect session.acp.ndjson
    acp-console inspect recordings
    """  # noqa: D301 - the mark by which click keeps lines apart
    from acp_console.traffic.sources import FileSource

    sources = [FileSource(path, dialect) for path in find_recordings(files)]
    for source in sources:
        # Reject other files before the screen opens.
        source.open().close()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("inspect needs a terminal", "without one, use acp-console show")
    from acp_console.tui.app import run_watch

    return run_watch(sources, theme)
