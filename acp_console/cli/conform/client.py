"""`acp-console conform client`: judge the client that starts this command as its agent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from acp_console.cli.command import CliCommand
from acp_console.cli.conform.judging import Judging, judging_options
from acp_console.cli.run_async import run_until_signal
from acp_inspector.conformance.client.judge import client_suite, judge_client
from acp_inspector.conformance.client.stage import PERSONAS, ClientOptions, Persona
from acp_inspector.conformance.model import Case, Report
from acp_protocol.dialects.registry import open_translator
from acp_protocol.jsonrpc import Json
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.stdio import open_stdio


@click.command(name="client", cls=CliCommand, topic="conformance", is_check=True)
@click.option(
    "--persona",
    type=click.Choice(PERSONAS),
    default=PERSONAS[0],
    show_default=True,
    help="How the agent behaves that the client talks to.",
)
@judging_options
def command(*, persona: Persona, judging: Judging) -> int:
    """Judge the client that starts this command as its agent and sends a prompt.

    The report is written after the turn and when the client leaves; without --report it goes to
    stderr. Exits with 1 if a case failed, with 7 if nothing could be tried, and with 0 otherwise.

    \b
    acp-console conform client --persona hostile --report report.txt
    acp-console exec hello -- acp-console conform client --report report.html
    acp-console exec hello -- acp-console conform client --dialect acpex
    """  # noqa: D301 - the mark by which click keeps lines apart
    cases = judging.cases(client_suite())
    if judging.is_list:
        return judging.print_list(cases)
    options = ClientOptions(
        persona=persona,
        profile=judging.profile,
        dialect=judging.dialect,
        timeout=judging.timeout,
    )
    return run_until_signal(lambda: _play(cases, options, judging))


async def _play(cases: Sequence[Case], options: ClientOptions, judging: Judging) -> int:
    """Be the agent of a client until it leaves."""
    dialect = open_translator(options.dialect, str(Path.cwd()))
    outgoing = open_stdio(framing="lines" if dialect is None else dialect.framing)
    transport = outgoing if dialect is None else DialectTransport(outgoing, "agent", dialect)
    reports: list[tuple[Report, Json]] = []

    def report(found: Report) -> None:
        reports.append(judging.settle(found))
        judging.write(*reports[-1])

    try:
        await judge_client(transport, outgoing.close_sending, cases, options, report)
    finally:
        if reports and judging.output is None:
            # Our stdout belongs to the protocol.
            click.echo(judging.text(*reports[-1]), nl=False, err=True)
    return judging.exit_code(reports[-1][0])
