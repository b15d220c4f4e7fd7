"""`acp-console chat`: open the console at the chat screen."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from acp_console.agents.spec import DEMO_AGENT, Login
from acp_console.cli.agent_option import (
    CommandWithPeer,
    auth_option,
    chosen_agent,
    complete_agent,
    cwd_option,
    mcp_option,
    record_option,
    remote_options,
    speech_options,
    with_servers,
)
from acp_console.cli.errors import UsageError, warn
from acp_console.cli.theme_option import theme_option
from acp_console.paths import FileWriteError


@click.command(name="chat", cls=CommandWithPeer, topic="chat")
@click.argument("agent", required=False, shell_complete=complete_agent)
@cwd_option
@mcp_option
@auth_option
@record_option
@remote_options
@speech_options
@theme_option
@click.pass_context
def command(
    context: click.Context,
    *,
    agent: str | None,
    cwd: Path | None,
    mcp: Path | None,
    auth: Login | None,
    record: Path | None,
    protocol: int | None,
    dialect: str | None,
    theme: str | None,
) -> int:
    """Chat with AGENT, or with the agent that COMMAND starts.

    \b
    acp-console chat
    acp-console chat --record session.acp.ndjson -- my-agent --acp
    acp-console chat --mcp servers.json gemini
    """  # noqa: D301 - the mark by which click keeps lines apart
    chosen = chosen_agent(context, agent, is_remembered=True) or DEMO_AGENT
    chosen = replace(with_servers(chosen.with_protocol(protocol, dialect), mcp), login=auth)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("chat needs a terminal", "without one, use acp-console exec")
    if dialect is not None and agent is not None:
        from acp_console.agents.choices import ChoiceStore

        try:
            ChoiceStore().remember_dialect(chosen, dialect)
        except FileWriteError as problem:
            warn(f"the dialect is not remembered: {problem}")
    from acp_console.tui.app import run_console

    if cwd is not None:
        chosen = replace(chosen, cwd=None)
    directory = (cwd or chosen.cwd or Path()).resolve()
    return run_console(agent=chosen, start="chat", cwd=directory, record=record, theme=theme)
