"""`acp-console snapshot`: compare what a recording means with what was stored."""

from __future__ import annotations

from pathlib import Path

import click

from acp_console.cli import exit_codes
from acp_console.cli.command import Command
from acp_console.cli.comparing import all_option
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.playing import read_whole
from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.reader import garbage_collection_off, unread_problem
from acp_inspector.replay.snapshot import SnapshotComparison, compare_with_snapshot, snapshot_path
from acp_protocol.host.sanitize import escape_controls


@click.command(name="snapshot", cls=Command, docs="replay.md", is_check=True, shows_progress=True)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--update", "is_update", is_flag=True, help="Show what differs, and store the snapshot anew."
)
@all_option
@format_option(("text", "json"), "json: one object with the lines that differ.")
def command(*, file: Path, is_update: bool, is_all: bool, format_: str) -> int:
    """Compare findings, conversation and exchanges of the recording FILE with what was stored.

    They are in FILE.snapshot.json. No agent and no client is needed. Exits with 0 if all is as
    stored, and with 1 if it is not, or if a line of FILE cannot be read.

    \b
    acp-console snapshot --update session.acp.ndjson
    acp-console snapshot session.acp.ndjson
    """  # noqa: D301 - the mark by which click keeps lines apart
    with garbage_collection_off():
        found = compare_with_snapshot(read_whole(file), is_updating=is_update)
    if found is None:
        raise RecordingError(
            f"there is no snapshot {snapshot_path(file)}", hint="store one with --update"
        )
    if format_ == "json":
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
