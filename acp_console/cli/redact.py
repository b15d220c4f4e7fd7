"""`acp-console redact`: copy recordings without their secrets, to share them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.progress import current_progress
from acp_console.cli.recording_files import jobs, output_options, recordings_argument
from acp_console.wording.values import OUTPUT_VERSION, plural
from acp_inspector.redaction.files import RedactionReport, redact_recording
from acp_inspector.redaction.patterns import RULES, UnmatchedRuleError
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["text", "json"]


@click.command(name="redact", cls=CliCommand, topic="redaction", shows_progress=True)
@recordings_argument
@output_options("File to write; of several recordings or a folder, the folder.")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="NAME",
    help=f"Apply only this rule (repeatable); it must find something. Rules: {', '.join(RULES)}.",
)
@format_option(get_args(Format), "Format of the report. json: one object per recording.")
def command(
    *, files: tuple[Path, ...], out: Path, rules: tuple[str, ...], overwrite: bool, format_: Format
) -> int:
    """Copy recordings without their secrets; nothing else changes.

    Each distinct secret of a recording becomes a placeholder such as «secret:3», the same one
    everywhere. Values of secret environment variables of this process are replaced as well. FILE
    may be a folder or a pattern.

    \b
    acp-console redact session.acp.ndjson -o public.acp.ndjson
    acp-console redact --rule github session.acp.ndjson -o public.acp.ndjson
    acp-console redact recordings -o public
    acp-console scan public.acp.ndjson
    """  # noqa: D301 - the mark by which click keeps lines apart
    chosen = jobs(files, out)
    unmatched = set(rules)
    for source, target in current_progress().over(chosen, "recordings"):
        report = redact_recording(
            source, target, rules=rules, overwrite=overwrite, needs_match=len(chosen) == 1
        )
        unmatched -= report.replaced.keys()
        if format_ == "json":
            print_json(_facts(source, target, report))
        else:
            _print(target, report)
    if unmatched:
        name = min(unmatched)
        raise UnmatchedRuleError(f"the rule {name!r} finds nothing in {len(chosen)} recordings")
    return exit_codes.DONE


def _facts(source: Path, target: Path, report: RedactionReport) -> dict[str, Json]:
    return {
        "version": OUTPUT_VERSION,
        "file": str(source),
        "output": str(target),
        "secrets": sum(report.secrets.values()),
        "replaced": sum(report.replaced.values()),
        "rules": {
            name: {"secrets": report.secrets.get(name, 0), "replaced": report.replaced.get(name, 0)}
            for name in report.rules
        },
    }


def _print(target: Path, report: RedactionReport) -> None:
    shown = escape_controls(str(target))
    secrets, places = sum(report.secrets.values()), sum(report.replaced.values())
    if not places:
        click.echo(f"{shown}: no secret was found by {len(report.rules)} rules")
        return
    click.echo(f"{shown}: {plural(secrets, 'secret')} replaced in {plural(places, 'place')}")
    for name in RULES:
        if name in report.replaced:
            click.echo(f"  {name}: {report.replaced[name]}")
