"""`acp-console agents`: the agents that can be chosen by name."""

from __future__ import annotations

import json
from typing import Any

import click

from acp_console.client.catalogue import Catalogue, CatalogueEntry, open_catalogue
from acp_console.render.tables import Layout, TableText
from acp_console.render.values import cell_text

LAYOUT = Layout(
    columns=("name", "agent", "status", "command"),
    words=("name", "agent", "status", "command"),
    flexible="command",
    spare=("agent",),
)


def _print_list(catalogue: Catalogue, *, as_json: bool) -> None:
    if as_json:
        for entry in catalogue.entries:
            click.echo(json.dumps(_facts(entry)))
        return
    rows = [
        [cell_text(text) for text in (entry.name, entry.title, entry.status, entry.command_line)]
        for entry in catalogue.entries
    ]
    table = TableText(LAYOUT, rows)
    for row in [LAYOUT.columns, *rows]:
        click.echo(table.line(row, 120).rstrip())


def _facts(entry: CatalogueEntry) -> dict[str, Any]:
    facts = entry.facts
    return {
        "name": entry.name,
        "title": entry.title,
        "source": entry.source,
        "state": entry.state,
        "command": entry.command,
        "program": entry.program,
        "install": entry.install,
        "signIn": facts.sign_in if facts else "",
        "tried": facts.tried if facts else "",
        "confirmed": entry.is_confirmed,
    }


@click.command(name="agents")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def command(*, as_json: bool) -> int:
    """List the agents that can be chosen by name.

    Start any other agent by its command: acp-console chat -- my-agent --acp
    """
    _print_list(open_catalogue(), as_json=as_json)
    return 0
