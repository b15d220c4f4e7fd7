"""`acp-console snapshot`: compare what recordings mean with what was stored."""

from __future__ import annotations

from pathlib import Path

import click

from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.comparing import all_option
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.playing import read_whole
from acp_console.cli.progress import current_progress
from acp_console.cli.recording_files import recordings_argument
from acp_inspector.recording.finding import find_recordings
from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.reader import garbage_collection_off, unread_problem
from acp_inspector.replay.snapshot import SnapshotComparison, compare_with_snapshot, snapshot_path
from acp_protocol.host.sanitize import escape_controls


@click.command(name="snapshot", cls=CliCommand, topic="replay", is_check=True, shows_progress=True)
@recordings_argument
@click.option(
    "--update", "is_update", is_flag=True, help="Show what differs, and store the snapshot anew."
)
@all_option
@format_option(("text", "json"), "json: one object per recording with the lines that differ.")
def command(*, files: tuple[Path, ...], is_update: bool, is_all: bool, format_: str) -> int:
    """Compare findings, conversation and exchanges of recordings with what was stored.

    They are in FILE.snapshot.json. No agent and no client is needed. Exits with 0 if all is as
    stored, and with 1 if it is not, or if a line of FILE cannot be read. FILE may be a folder or a
    pattern.

    \b
    acp-console snapshot --update session.acp.ndjson
    acp-console snapshot session.acp.ndjson
    """  # noqa: D301 - the mark by which click keeps lines apart
    found = current_progress().over(find_recordings(files), "recordings")
    is_json = format_ == "json"
    codes = [_compare(file, is_update=is_update, is_all=is_all, is_json=is_json) for file in found]
    return max(codes)


def _compare(file: Path, *, is_update: bool, is_all: bool, is_json: bool) -> int:
    """Compare one recording; return the exit code."""
    with garbage_collection_off():
        found = compare_with_snapshot(read_whole(file), is_updating=is_update)
    if found is None:
        raise RecordingError(
            f"there is no snapshot {snapshot_path(file)}", hint="store one with --update"
        )
    if is_json:
        print_json(
            {
                "file": str(file),
                "snapshot": str(found.path),
                "passed": found.is_passed,
                "updated": is_update and bool(found.diff),
                "findings": len(found.now.findings),
                "sessions": len(found.now.conversation),
                "exchanges": len(found.now.exchanges),
                "diff": [*found.diff],
                "unread": found.unread,
            }
        )
    else:
        for line in found.diff if is_all else found.shown(" (--all shows them)"):
            click.echo(line)
        click.echo(f"{escape_controls(file.name)}: {_verdict(found, is_update=is_update)}")
    if is_update:
        found.store()
    is_stored = is_update and not found.is_empty and not found.unread
    is_done = found.is_passed or is_stored
    return exit_codes.DONE if is_done else exit_codes.FOUND


def _verdict(found: SnapshotComparison, *, is_update: bool) -> str:
    if found.is_empty:
        return f"fail: the recording holds no frame; {found.counts}"
    done = f"stored {found.path.name}" if found.diff else "unchanged"
    if found.unread and (is_update or not found.diff):
        stored = f"; {done}" if is_update else ""
        return f"fail: {unread_problem(found.unread)}{stored}; {found.counts}"
    if is_update:
        return f"{done}: {found.counts}"
    if found.is_passed:
        return f"pass: {found.counts}"
    return f"fail: {found.path.name} differs; {found.counts}"
