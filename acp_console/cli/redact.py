"""`acp-console redact`: copy a recording without its secrets, to share it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.command import Command
from acp_console.cli.format_option import format_option, print_json
from acp_console.wording.values import OUTPUT_VERSION, plural
from acp_inspector.redaction.files import redact_recording
from acp_inspector.redaction.patterns import RULES
from acp_protocol.host.sanitize import escape_controls

Format: TypeAlias = Literal["text", "json"]


@click.command(name="redact", cls=Command, docs="redaction.md", shows_progress=True)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", "out", required=True, type=click.Path(path_type=Path), help="File to write."
)
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="NAME",
    help=f"Apply only this rule (repeatable); it must find something. Rules: {', '.join(RULES)}.",
)
@click.option("--overwrite", is_flag=True, help="Replace the output if it exists.")
@format_option(get_args(Format), "Format of the report.")
def command(
    *, file: Path, out: Path, rules: tuple[str, ...], overwrite: bool, format_: Format
) -> int:
    """Copy the recording FILE without its secrets; nothing else changes.

    Each distinct secret becomes a placeholder such as «secret:3», the same one everywhere.
    Values of secret environment variables of this process are replaced as well.

    \b
    acp-console redact session.acp.ndjson -o public.acp.ndjson
    acp-console redact --rule github session.acp.ndjson -o public.acp.ndjson
    acp-console scan public.acp.ndjson
    """  # noqa: D301 - the mark by which click keeps lines apart
    report = redact_recording(file, out, rules=rules, overwrite=overwrite)
    shown = escape_controls(str(out))
    secrets, places = sum(report.secrets.values()), sum(report.replaced.values())
    if format_ == "json":
        rules_json = {
            name: {"secrets": report.secrets.get(name, 0), "replaced": report.replaced.get(name, 0)}
            for name in report.rules
        }
        facts = {
            "version": OUTPUT_VERSION,
            "file": str(file),
            "output": str(out),
            "secrets": secrets,
            "replaced": places,
            "rules": rules_json,
        }
        print_json(facts)
    elif not places:
        click.echo(f"{shown}: no secret was found by {len(report.rules)} rules")
    else:
        click.echo(f"{shown}: {plural(secrets, 'secret')} replaced in {plural(places, 'place')}")
        for name in RULES:
            if name in report.replaced:
                click.echo(f"  {name}: {report.replaced[name]}")
    return exit_codes.DONE
