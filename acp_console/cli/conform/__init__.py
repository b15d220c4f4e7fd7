"""`acp-console conform`: judge an agent or a client against the protocol."""

from __future__ import annotations

import click

from acp_console.cli.command import DefaultGroup


@click.group(
    name="conform",
    cls=DefaultGroup,
    topic="conformance",
    package=__name__,
    summaries={
        "agent": "Judge an agent; the word agent can be left out.",
        "client": "Judge the client that starts this command as its agent.",
    },
)
def command() -> None:
    """Judge an agent or a client against the sentences of the protocol.

    \b
    acp-console conform demo
    acp-console conform -- my-agent --acp
    acp-console conform client --persona hostile --report report.txt

    acp-console conform agent --help and acp-console conform client --help list the options.
    """  # noqa: D301 - the mark by which click keeps lines apart
