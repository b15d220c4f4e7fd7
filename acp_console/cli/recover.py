"""`acp-console recover`: write into recordings what killed proxies had not written."""

from __future__ import annotations

from pathlib import Path

import click

from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.errors import say
from acp_console.cli.progress import current_progress
from acp_console.cli.recording_files import recordings_argument
from acp_inspector.recording.finding import find_recordings
from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.reader import read_header
from acp_inspector.recording.recovery import recover
from acp_protocol.host.sanitize import escape_controls


@click.command(name="recover", cls=CliCommand, topic="recording-format", shows_progress=True)
@recordings_argument
def command(*, files: tuple[Path, ...]) -> int:
    """Append to each recording FILE what its proxy had not written when it was killed.

    A proxy keeps what was sent in a directory beside the recording until it is written. Commands
    that read a recording show it and change nothing; this one writes it, and removes the directory.
    Nothing is done while the proxy lives. In a rotated recording, name the first file. FILE may be
    a folder or a pattern.

    \b
    acp-console recover session.acp.ndjson
    """  # noqa: D301 - the mark by which click keeps lines apart
    code = exit_codes.DONE
    for file in current_progress().over(find_recordings(files), "recordings"):
        count = recover(file)
        if count is None:
            code = exit_codes.USAGE
        elif not count:
            code = max(code, _say_nothing(file))
    return code


def _say_nothing(file: Path) -> int:
    """Say that a recording has all of its frames; return the exit code."""
    name = escape_controls(str(file))
    if not file.stat().st_size:
        say(f"{name}: nothing to recover; it is empty, no message came before its proxy was killed")
        return exit_codes.DONE
    try:
        read_header(file)
    except RecordingError as problem:
        say(escape_controls(str(problem)), "error")
        return exit_codes.USAGE
    say(f"{name}: nothing to recover")
    return exit_codes.DONE
