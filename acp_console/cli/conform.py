"""`acp-console conform`: judge an agent or a client against the protocol."""

from __future__ import annotations

import fnmatch
import os
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import anyio
import click
from click.core import ParameterSource

from acp_console.agents.spec import AgentSpec
from acp_console.cli import exit_codes
from acp_console.cli.agent_option import AgentCommand, Duration, chosen_agent, complete_agent
from acp_console.cli.baselines import (
    Baseline,
    Ignored,
    Issue,
    baseline_options,
    ignore_names_option,
)
from acp_console.cli.errors import UsageError, did_you_mean
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.run_async import run_until_signal
from acp_console.paths import FileWriteError
from acp_console.wording.build_summary import build_summary
from acp_console.wording.values import OUTPUT_VERSION, ascii_json, plural
from acp_inspector.conformance.agent.judge import agent_suite, judge_agent
from acp_inspector.conformance.client.stage import (
    PERSONAS,
    ClientOptions,
    Persona,
    client_suite,
    judge_client,
)
from acp_inspector.conformance.model import PROFILES, Case, Profile, Report, Suite
from acp_inspector.conformance.peer import (
    DEMO_PROMPTS,
    PLAIN_PROMPTS,
    PROMPT_KINDS,
    TIMEOUT_S,
    Close,
    Options,
)
from acp_inspector.conformance.reports import html_report, junit_report, text_report
from acp_protocol.dialects.registry import BATCHES, SPOKEN
from acp_protocol.errors import AgentExitedError, ConnectionClosedError, OperationTimeoutError
from acp_protocol.host.process import spawn
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json
from acp_protocol.transport import Transport
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.stdio import StreamTransport, open_stdio

Format: TypeAlias = Literal["text", "json", "junit", "html", "markdown"]
SUFFIXES: Final[Mapping[str, Format]] = {
    ".xml": "junit",
    ".html": "html",
    ".json": "json",
    ".md": "markdown",
}
"""The format of a report by the name of its file."""
OF_AGENTS: Final = {
    "dialect": "--dialect",
    "prompts": "--prompt-for",
    "auth_method": "--auth",
    "jobs": "--jobs",
}
OF_CLIENTS: Final = {"persona": "--persona"}
"""Options that have no effect on the other side, by parameter."""
GRACE_S: Final = 1.0
"""Seconds that an agent has to end after each case."""


@click.command(name="conform", cls=AgentCommand, docs="conformance.md", is_check=True)
@click.argument("agent", required=False, shell_complete=complete_agent)
@click.option(
    "--side",
    type=click.Choice(["agent", "client"]),
    default="agent",
    show_default=True,
    help="Side to judge. For a client this command is its agent, on stdin and stdout.",
)
@click.option(
    "--persona",
    type=click.Choice(PERSONAS),
    default=PERSONAS[0],
    show_default=True,
    help="How the agent behaves that the client talks to.",
)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="v1",
    show_default=True,
    help="Version of the protocol, and whether its unstable parts count.",
)
@click.option("--dialect", type=click.Choice(SPOKEN), help="Dialect that the agent speaks.")
@click.option(
    "--case",
    "patterns",
    multiple=True,
    metavar="ID",
    help='Play only these cases; wildcards select several: "cancel.*". Can be repeated.',
)
@click.option("--list", "is_list", is_flag=True, help="List the cases and exit.")
@click.option(
    "--prompt-for",
    "prompts",
    multiple=True,
    metavar="KIND=TEXT",
    help=f"Prompt that makes the agent do something: {', '.join(PROMPT_KINDS)}. Cases that need "
    "it are not reached otherwise. {cwd} in it is the session's directory. Can be repeated.",
)
@click.option("--auth", "auth_method", metavar="METHOD", help="Log in by this method first.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 32),
    default=4,
    show_default=True,
    help="Agents that run at a time.",
)
@click.option(
    "--timeout",
    type=Duration(),
    default=TIMEOUT_S,
    show_default=True,
    metavar="DURATION",
    help="Time limit for each step, in seconds or with a unit: 90, 500ms, 5m.",
)
@ignore_names_option("ID", "cancel.*")
@baseline_options
@format_option(
    get_args(Format),
    "json: one object; junit: for build servers; html: a page; markdown: a summary for the page of "
    "a build.",
)
@click.option(
    "--output",
    "--report",
    "output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report to this file, and the counts to the terminal. Without --format, .xml "
    "is JUnit, .html a page, .json JSON, .md Markdown, anything else text.",
)
@click.option("--all", "is_all", is_flag=True, help="Show the cases that did not fail, too.")
@click.pass_context
def command(
    context: click.Context,
    *,
    agent: str | None,
    side: str,
    persona: Persona,
    profile: Profile,
    dialect: str | None,
    patterns: tuple[str, ...],
    ignored: tuple[str, ...],
    baseline: Path | None,
    update_baseline: bool,
    is_list: bool,
    prompts: tuple[str, ...],
    auth_method: str | None,
    jobs: int,
    timeout: float,
    format_: Format,
    output: Path | None,
    is_all: bool,
) -> int:
    """Judge an agent or a client against the sentences of the protocol.

    Each case has a verdict: pass, fail, advice (it does otherwise than advised, which breaks
    nothing), not offered (the agent does not claim it), or not reached (the situation did not
    arise). Exits with 1 if a case failed, and with 0 otherwise.

    To judge a client, let it start this command as its agent and send a prompt. The report is
    written after the turn and when the client leaves; without --report it goes to stderr.

    \b
    acp-console conform --prompt-for "tool=read notes.txt" -- my-agent --acp
    acp-console conform demo
    acp-console conform --report conform.xml -- my-agent --acp
    acp-console conform --baseline known.json --ignore 'files.*' -- my-agent --acp
    acp-console conform --side client --persona hostile --report report.txt
    """  # noqa: D301 - the mark by which click keeps lines apart
    suite = client_suite() if side == "client" else agent_suite()
    _check(context, side, profile, dialect)
    cases = _selected(suite, profile, patterns, ignored, dialect)
    known = Baseline(baseline, "conform", is_updating=update_baseline)
    is_default = context.get_parameter_source("format_") is ParameterSource.DEFAULT
    if output is not None and format_ == "text" and is_default:
        format_ = SUFFIXES.get(output.suffix.lower(), "text")
    if is_list:
        return _list(cases, format_)
    if side == "client":
        if agent is not None or "agent_command" in context.meta:
            raise UsageError("a client starts this command; it takes no AGENT")
        options = ClientOptions(persona=persona, profile=profile, timeout=timeout)
        return run_until_signal(
            lambda: _play(cases, options, known, format_, output, is_all=is_all)
        )
    chosen = chosen_agent(context, agent)
    if chosen is None:
        raise UsageError("missing AGENT", "name an agent, or give its command after --")
    chosen = chosen.with_protocol(2 if profile == "v2" else None, dialect)
    defaults = DEMO_PROMPTS if chosen.is_embedded_demo else PLAIN_PROMPTS
    options = Options(
        profile=profile,
        timeout=timeout,
        jobs=jobs,
        prompts={**defaults, **_prompts(prompts)},
        auth_method=auth_method,
    )

    async def judge() -> int:
        report, stderr = await _judge(chosen, cases, options)
        report, gone = _settled(report, known)
        if output is None:
            click.echo(_text(report, format_, gone, is_all=is_all), nl=False)
        else:
            _write(report, format_, output, gone, is_all=is_all)
            click.echo(report.headline, err=True)
        if not report.counts["pass"]:
            _show_stderr(stderr)
        return exit_codes.FOUND if report.has_failed else exit_codes.DONE

    return run_until_signal(judge)


def _check(context: click.Context, side: str, profile: Profile, dialect: str | None) -> None:
    """Raise if an option has no effect."""
    for name, option in (OF_AGENTS if side == "client" else OF_CLIENTS).items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            other = "agent" if side == "client" else "client"
            raise UsageError(f"{option} is for --side {other}", "leave it out")
    if dialect is not None and (dialect == BATCHES) != (profile == "v2"):
        of = "v2" if dialect == BATCHES else "v1"
        raise UsageError(f"{dialect} is a dialect of version {of[1]}", f"add --profile {of}")


def _selected(
    suite: Suite,
    profile: Profile,
    patterns: Sequence[str],
    ignored: Sequence[str],
    dialect: str | None,
) -> Sequence[Case]:
    for pattern in patterns:
        if not fnmatch.filter(suite.cases, pattern):
            hint = did_you_mean(pattern, suite.cases, "--list shows the ids")
            raise UsageError(f"--case: no case matches {pattern!r}", hint)
    cases = suite.select(profile, patterns, dialect=dialect)
    if not cases:
        raise UsageError(f"--case: {profile} has no case that matches", "--list shows the ids")
    left_out = Ignored(ignored, suite.cases, "case")
    kept = [case for case in cases if case.id not in left_out]
    if not kept:
        raise UsageError("--ignore: no case is left", "--list shows the ids")
    return kept


def _settled(report: Report, baseline: Baseline) -> tuple[Report, Json]:
    """Return the report with the failures marked that the baseline holds, and what is gone."""
    if not baseline.is_used:
        return report, []
    where = " ".join(filter(None, (report.side, report.profile, report.persona)))
    failed = [each for each in report.results if each.verdict == "fail"]
    issues = [
        Issue(where, each.case.id, rule) for each in failed for rule in each.violated or ("",)
    ]
    cases = {each.case.id for each in report.results}
    found = baseline.settle(issues, lambda each: each.where == where and each.name in cases)
    new = {issue.name for issue, is_known in zip(issues, found.known, strict=True) if not is_known}
    marked = [
        replace(each, is_known=each.verdict == "fail" and each.case.id not in new)
        for each in report.results
    ]
    return replace(report, results=tuple(marked)), found.gone_json()


def _show_stderr(lines: Sequence[str]) -> None:
    if lines:
        click.echo("the agent does not work; the end of its stderr:", err=True)
    for line in lines:
        click.echo(f"  | {single_line(line, len(line))}", err=True)


async def _play(
    cases: Sequence[Case],
    options: ClientOptions,
    baseline: Baseline,
    format_: Format,
    output: Path | None,
    *,
    is_all: bool,
) -> int:
    """Be the agent of a client until it leaves."""
    outgoing = open_stdio()
    reports: list[tuple[Report, Json]] = []

    def report(found: Report) -> None:
        reports.append(_settled(found, baseline))
        if output is not None:
            _write(reports[-1][0], format_, output, reports[-1][1], is_all=is_all)

    try:
        await judge_client(outgoing, outgoing.close_sending, cases, options, report)
    finally:
        if reports and output is None:
            # Our stdout belongs to the protocol.
            last, gone = reports[-1]
            click.echo(_text(last, format_, gone, is_all=is_all), nl=False, err=True)
    return exit_codes.FOUND if reports[-1][0].has_failed else exit_codes.DONE


def _prompts(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        kind, mark, text = word.partition("=")
        if not mark or kind not in PROMPT_KINDS:
            hint = f"write KIND=TEXT, with one of {', '.join(PROMPT_KINDS)}"
            raise UsageError(f"--prompt-for: {word!r} has no known kind", hint)
        found[kind] = text
    return found


async def _judge(
    agent: AgentSpec, cases: Sequence[Case], options: Options
) -> tuple[Report, Sequence[str]]:
    """Return the report, and the end of the first stderr that has one."""
    tails: list[tuple[str, ...]] = []

    @asynccontextmanager
    async def connect(directory: Path) -> AsyncGenerator[tuple[Transport, Close]]:
        env: Mapping[str, str] = {**os.environ, **agent.env}
        command = agent.absolute_command()
        async with spawn(command, cwd=directory, env=env, grace=GRACE_S, is_peer=True) as child:
            dialect = agent.open_dialect()
            framing = "lines" if dialect is None else dialect.framing
            pipes = StreamTransport(child.stdout, child.stdin, framing=framing)
            transport: Transport = pipes
            if dialect is not None:
                transport = DialectTransport(pipes, "client", dialect)
            try:
                yield transport, pipes.close_sending
            except ConnectionClosedError:
                with anyio.move_on_after(GRACE_S):
                    await child.wait()
                raise AgentExitedError(child.exit_code, child.stderr_tail()) from None
            except OperationTimeoutError as problem:
                problem.stderr_tail = child.stderr_tail()
                raise
            tails.append(child.stderr_tail())

    report = await judge_agent(connect, cases, options, name=agent.title)
    return report, next(filter(None, tails), ())


def _list(cases: Sequence[Case], format_: Format) -> int:
    if format_ == "json":
        rows: list[Json] = [
            {
                "id": case.id,
                "section": case.section,
                "sentence": case.sentence,
                "rules": list(case.rules),
                "profiles": list(case.profiles),
                "persona": case.persona,
            }
            for case in cases
        ]
        print_json({"cases": rows})
        return exit_codes.DONE
    width = max(len(case.id) for case in cases)
    for case in cases:
        click.echo(f"{case.id:<{width}}  {case.sentence}")
    click.echo(f"{len(cases)} cases")
    return exit_codes.DONE


def _text(report: Report, format_: Format, gone: Json, *, is_all: bool) -> str:
    match format_:
        case "text":
            return text_report(report, is_all=is_all) + "\n"
        case "json":
            return ascii_json({"v": OUTPUT_VERSION, **report.to_json(), "gone": gone}) + "\n"
        case "junit":
            return junit_report(report) + "\n"
        case "html":
            return html_report(report)
        case "markdown":
            return _markdown(report)


def _markdown(report: Report) -> str:
    failed = [each for each in report.results if each.verdict == "fail" and not each.is_known]
    unreached = Counter(each.reason for each in report.results if each.verdict == "not reached")
    advice = [each.case.id for each in report.results if each.verdict == "advice"]
    against = [f"{plural(len(advice), 'case')} against advice: {', '.join(advice)}"]
    return build_summary(
        f"ACP conformance of {report.peer}",
        report.headline,
        is_passed=report.is_passed,
        columns=("case", "requirement", "found", "section"),
        rows=[
            (each.case.id, each.case.sentence, each.reason, each.case.section) for each in failed
        ],
        notes=[
            *(against if advice else ()),
            *(f"{plural(n, 'case')} not reached: {why}" for why, n in unreached.most_common()),
        ],
    )


def _write(report: Report, format_: Format, output: Path, gone: Json, *, is_all: bool) -> None:
    try:
        output.write_text(_text(report, format_, gone, is_all=is_all), encoding="utf-8")
    except OSError as problem:
        raise FileWriteError(f"cannot write {output}: {problem.strerror}") from None
