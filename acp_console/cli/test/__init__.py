"""`acp-console test`: play recordings as regression tests."""

from __future__ import annotations

import click

from acp_console.cli.command import DefaultGroup


@click.group(
    name="test",
    cls=DefaultGroup,
    topic="testing",
    package=__name__,
    summaries={
        "agent": "Play recordings against an agent; the word agent can be left out.",
        "client": "Run a client with each recording in the place of its agent.",
    },
)
def command() -> None:
    """Play recordings as regression tests of an agent or a client.

    \b
    acp-console test recordings/*.acp.ndjson -- my-agent --acp
    acp-console test recordings/*.acp.ndjson --agent demo
    acp-console test client hello.acp.ndjson -- my-client --agent {agent}

    acp-console test agent --help and acp-console test client --help list the options.
    """  # noqa: D301 - the mark by which click keeps lines apart
