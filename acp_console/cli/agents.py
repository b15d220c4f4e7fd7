"""`acp-console agents`: the agents that can be chosen by name."""

from __future__ import annotations

import json

import click

from acp_console.client.agents import AGENTS


@click.command(name="agents")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def command(*, as_json: bool) -> int:
    """List the agents that can be chosen by name.

    Start any other agent by its command: acp-console chat -- my-agent --acp
    """
    for agent in AGENTS:
        if not as_json:
            click.echo(f"{agent.name}  {agent.description}")
            continue
        facts = {
            "name": agent.name,
            "title": agent.title,
            "command": agent.command,
            "about": agent.description,
            "newest": agent.max_protocol_version,
            "dialect": agent.dialect,
        }
        click.echo(json.dumps(facts))
    return 0
