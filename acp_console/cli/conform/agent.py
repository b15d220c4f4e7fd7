"""`acp-console conform agent`: judge an agent against the protocol."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from acp_console.agents.spec import AgentSpec, Login
from acp_console.chat.logins import login_meta
from acp_console.chat.probe import open_for_login
from acp_console.cli.agent_option import (
    CommandWithPeer,
    auth_option,
    chosen_agent,
    complete_agent,
    jobs_option,
    remote_options,
)
from acp_console.cli.conform.judging import Judging, judging_options
from acp_console.cli.errors import UsageError, say
from acp_console.cli.progress import current_progress
from acp_console.cli.run_async import run_until_signal
from acp_inspector.conformance.agent.judge import agent_suite, judge_agent
from acp_inspector.conformance.model import Case, Report
from acp_inspector.conformance.peer import (
    DEMO_PROMPTS,
    PLAIN_PROMPTS,
    PROMPT_KINDS,
    Close,
    Options,
)
from acp_inspector.journal import Journal
from acp_protocol.errors import (
    AcpError,
    ConnectionClosedError,
    OperationTimeoutError,
)
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json
from acp_protocol.transport import Transport
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.opening import open_agent

GRACE_S: Final = 1.0
"""Seconds that an agent has to end after each case."""
_CLIENT = "acp-console conform client judges a client"


@click.command(
    name="agent",
    cls=CommandWithPeer,
    topic="conformance",
    is_check=True,
    hints={"--side": _CLIENT, "--persona": _CLIENT},
    shows_progress=True,
)
@click.argument("agent", required=False, shell_complete=complete_agent)
@click.option(
    "--prompt-for",
    "prompts",
    multiple=True,
    metavar="KIND=TEXT",
    help=f"Prompt that makes the agent do something: {', '.join(PROMPT_KINDS)}. Cases that need "
    "it are not reached otherwise. {cwd} in it is the session's directory. Can be repeated.",
)
@remote_options
@auth_option
@jobs_option
@judging_options
@click.pass_context
def command(
    context: click.Context,
    *,
    agent: str | None,
    prompts: tuple[str, ...],
    auth: Login | None,
    jobs: int,
    judging: Judging,
) -> int:
    """Judge an agent against the sentences of the protocol.

    Each case has a verdict: pass, fail, advice (it does otherwise than advised, which breaks
    nothing), not offered (the agent does not claim it), or not reached (the situation did not
    arise). Exits with 1 if a case failed, with 7 if nothing could be tried, and with 0 otherwise.

    \b
    acp-console conform demo
    acp-console conform --prompt-for "tool=read notes.txt" -- my-agent --acp
    acp-console conform --report conform.xml -- my-agent --acp
    acp-console conform --baseline known.json --ignore 'files.*' -- my-agent --acp
    """  # noqa: D301 - the mark by which click keeps lines apart
    if judging.is_list:
        return judging.print_list(judging.cases(agent_suite()))
    chosen = chosen_agent(context, agent)
    if chosen is None:
        raise UsageError("missing AGENT", "name an agent, or give its command after --")
    chosen = chosen.with_protocol(None, judging.dialect)
    in_dialect = replace(judging, dialect=chosen.dialect)
    in_dialect.check_dialect()
    chosen = chosen.with_protocol(2 if in_dialect.profile == "v2" else None)
    defaults = DEMO_PROMPTS if chosen.is_embedded_demo else PLAIN_PROMPTS
    options = Options(
        profile=in_dialect.profile,
        timeout=judging.timeout,
        jobs=jobs,
        prompts={**defaults, **_prompts(prompts)},
        auth_method=None if auth is None else auth.method,
        transport=chosen.transport,
    )

    async def judge() -> int:
        agent = await _in_its_dialect(chosen, options)
        cases = replace(judging, dialect=agent.dialect).cases(agent_suite())
        if agent.transport == "http":
            cases = [each for each in cases if not each.is_about_order]
        with_login = replace(options, dialect=agent.dialect, auth_meta=_login_meta(agent, auth))
        report, stderr = await _judge(agent, cases, with_login)
        if auth is not None:
            report, stderr = report.rewritten(auth.hidden), [*map(auth.hidden, stderr)]
        report, gone = judging.settle(report)
        judging.write(report, gone)
        if judging.output is None:
            click.echo(judging.text(report, gone), nl=False)
        else:
            click.echo(report.headline, err=True)
        if not report.counts["pass"]:
            _show_stderr(stderr)
        return judging.exit_code(report)

    return run_until_signal(judge)


def _show_stderr(lines: Sequence[str]) -> None:
    if lines:
        click.echo("the agent does not work; the end of its stderr:", err=True)
    for line in lines:
        click.echo(f"  | {single_line(line, len(line))}", err=True)


def _prompts(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        kind, mark, text = word.partition("=")
        if not mark or kind not in PROMPT_KINDS:
            hint = f"write KIND=TEXT, with one of {', '.join(PROMPT_KINDS)}"
            raise UsageError(f"--prompt-for: {word!r} has no known kind", hint)
        found[kind] = text
    return found


def _login_meta(agent: AgentSpec, login: Login | None) -> Mapping[str, Json]:
    if login is None or login.secret is None:
        return {}
    return login_meta(agent.open_dialect(), login.secret)


async def _in_its_dialect(agent: AgentSpec, options: Options) -> AgentSpec:
    """Start an agent whose dialect is not named, and return it with the one that it shows."""
    if agent.dialect is not None or agent.is_embedded_demo or options.profile == "v2":
        return agent
    with tempfile.TemporaryDirectory(prefix="acp-conform-", ignore_cleanup_errors=True) as name:
        try:
            limit = options.timeout
            async with open_for_login(agent, Path(name), Journal(), start_timeout=limit) as link:
                dialect = link.dialect
        except AcpError:
            # The cases say what is wrong.
            return agent
    if dialect is None:
        return agent
    say(f"{agent.title} speaks {dialect}: judged in it; --dialect {dialect} says so at once")
    return agent.with_protocol(None, dialect)


async def _judge(
    agent: AgentSpec, cases: Sequence[Case], options: Options
) -> tuple[Report, Sequence[str]]:
    """Return the report, and the end of the first stderr that has one."""
    tails: list[tuple[str, ...]] = []

    @asynccontextmanager
    async def connect(directory: Path) -> AsyncGenerator[tuple[Transport, Close]]:
        dialect = agent.open_dialect()
        framing = "lines" if dialect is None else dialect.framing
        async with open_agent(
            agent.address, cwd=directory, framing=framing, grace=GRACE_S
        ) as opened:
            transport: Transport = opened.transport
            if dialect is not None:
                transport = DialectTransport(transport, "client", dialect)
            try:
                yield transport, opened.transport.close_sending
            except ConnectionClosedError:
                raise await opened.ending() from None
            except OperationTimeoutError as problem:
                problem.stderr_tail = opened.stderr_tail()
                raise
            tails.append(opened.stderr_tail())

    progress = current_progress()

    def count(played: int, total: int) -> None:
        watched = len(cases) - total
        later = f", {watched} judged at the end" if watched else ""
        progress.count(total, f"cases played{later}", played)

    report = await judge_agent(
        connect,
        cases,
        options,
        name=agent.title,
        on_played=count,
    )
    return report, next(filter(None, tails), ())
