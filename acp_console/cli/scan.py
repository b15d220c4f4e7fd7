"""`acp-console scan`: find the secrets in files without printing them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.errors import say
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.progress import current_progress
from acp_console.cli.recording_files import ANY, recordings_argument
from acp_console.wording.values import plural
from acp_inspector.recording.finding import find_files
from acp_inspector.redaction.files import find_secrets
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["text", "json"]

EXCERPT_WIDTH: Final = 80
"""Characters of an excerpt, at most."""


@click.command(name="scan", cls=CliCommand, topic="redaction", is_check=True, shows_progress=True)
@recordings_argument
@format_option(get_args(Format), "json: one object with all findings.")
def command(*, files: tuple[Path, ...], format_: Format) -> int:
    """Search FILE... for secrets: recordings, exports, any text.

    FILE may be a folder or a pattern. Exits with 1 if it finds any, and with 0 if not. The output
    shows a placeholder instead of each secret.

    \b
    acp-console scan public.acp.ndjson
    acp-console scan --json recordings
    """  # noqa: D301 - the mark by which click keeps lines apart
    findings: list[Json] = []
    counts: Counter[str] = Counter()
    found_files = [each.path for each in find_files(files, ANY)]
    for file in current_progress().over(found_files, "files"):
        for found in find_secrets(file):
            counts[found.rule] += 1
            excerpt = single_line(found.excerpt, EXCERPT_WIDTH)
            if format_ == "text":
                click.echo(f"{escape_controls(str(file))}:{found.line}: {found.rule}: {excerpt}")
                continue
            findings.append(
                {"file": str(file), "line": found.line, "rule": found.rule, "excerpt": excerpt}
            )
    if format_ == "json":
        print_json({"findings": findings, "counts": dict[str, Json](counts)})
    elif not counts:
        say(f"no secret found in {plural(len(found_files), 'file')}")
    return exit_codes.FOUND if counts else exit_codes.DONE
