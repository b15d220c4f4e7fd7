"""`acp-console exec`: one turn without a screen.

The reply goes to stdout; messages for the user go to stderr.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Final, get_args

import anyio
import click

from acp_console.cli import exit_codes
from acp_console.cli.agent_option import (
    AgentCommand,
    Seconds,
    agent_or_demo,
    record_option,
    speech_options,
)
from acp_console.cli.errors import say
from acp_console.cli.exec_output import TITLE_WIDTH, Format, TurnPrinter
from acp_console.cli.run_async import run_until_signal
from acp_console.client.agents import DEMO_AGENT, AgentSpec, UnknownAgentError
from acp_console.client.connection import START_TIMEOUT_S, connect_agent
from acp_console.client.handlers import ClientHandlers
from acp_console.client.permissions import (
    AllowLevel,
    PermissionPrompt,
    PolicyDecider,
    required_level,
)
from acp_console.client.recording import record_journal
from acp_console.render.values import plural
from acp_inspector.journal import Journal
from acp_protocol.errors import OperationTimeoutError
from acp_protocol.host.sanitize import single_line

DEMO_PROMPT: Final = "help"
UNQUOTED: Final = "the prompt is one argument: put it into quotes"


@click.command(name="exec", cls=AgentCommand)
@click.argument("words", nargs=-1, metavar="[AGENT] PROMPT")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="The session's working directory; the current one by default.",
)
@record_option
@click.option(
    "--allow",
    type=click.Choice(get_args(AllowLevel)),
    default="reads",
    show_default=True,
    help="What the agent may do without asking.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="json: each update as received, then the result; quiet: only the reply's text.",
)
@click.option(
    "--timeout",
    type=Seconds(),
    metavar="SECONDS",
    help="Time limit for the whole turn.",
)
@click.option("--stderr", "has_stderr", is_flag=True, help="Print the stderr of the agent.")
@speech_options
@click.pass_context
def command(
    context: click.Context,
    *,
    words: tuple[str, ...],
    cwd: Path,
    record: Path | None,
    allow: AllowLevel,
    format_: Format,
    timeout: float | None,
    has_stderr: bool,
    protocol: int,
    dialect: str | None,
) -> int:
    """Send PROMPT to an agent and print its reply; PROMPT - is read from stdin.

    \b
    acp-console exec "read README.md"
    acp-console exec --format json "plan" -- my-agent --acp
    git diff | acp-console exec - -- my-agent --acp

    The exit code is 0 for every turn that ends, even by a refusal or a limit: see stopReason
    in --format json.
    """  # noqa: D301 - the mark by which click keeps lines apart
    name, text = _words(words)
    try:
        agent = agent_or_demo(context, name).with_protocol(protocol, dialect)
    except UnknownAgentError as problem:
        raise UnknownAgentError(f"{problem}. If {name!r} begins the prompt: {UNQUOTED}") from None
    limit = math.inf if timeout is None else timeout
    return run_until_signal(
        lambda: run_turn(
            agent, cwd.resolve(), text, allow, format_, record, limit, has_stderr=has_stderr
        )
    )


def run_demo_turn(agent: AgentSpec = DEMO_AGENT) -> int:
    """Run one turn with an agent, and explain that on stderr."""
    which = "the embedded demo agent" if agent.is_embedded_demo else agent.name
    say(f"no terminal found: running one turn with {which}")
    return run_until_signal(lambda: run_turn(agent, Path.cwd(), DEMO_PROMPT))


async def run_turn(
    agent: AgentSpec,
    cwd: Path,
    text: str,
    allow: AllowLevel = "reads",
    format_: Format = "text",
    record: Path | None = None,
    limit: float = math.inf,
    *,
    has_stderr: bool = False,
) -> int:
    """Start an agent, run one turn in at most `limit` seconds, and return the exit code.

    Raises:
        OperationTimeoutError: the turn has not ended by then.
        BrokenPipeError: the reader of our stdout has gone.
    """
    handlers = ClientHandlers(
        PolicyDecider(allow, _report_refusal),
        reads=allow != "none",
        writes=allow in {"edits", "all"},
        runs=allow == "all",
    )
    deadline = anyio.current_time() + limit
    journal = Journal()
    whole = anyio.CancelScope()
    printer = TurnPrinter(format_, whole.cancel, agent.open_dialect(), has_stderr=has_stderr)
    try:
        with whole, record_journal(journal, agent, cwd, record, warn=say):
            journal.subscribe(printer.show)
            async with connect_agent(
                agent,
                cwd=cwd,
                journal=journal,
                handlers=handlers,
                start_timeout=min(START_TIMEOUT_S, limit),
            ) as link:
                with anyio.CancelScope(deadline=deadline) as scope:
                    session = await link.new_session(cwd)
                    answer = await link.prompt(session["sessionId"], text)
                    printer.end(session["sessionId"], answer)
                if scope.cancelled_caught:
                    raise OperationTimeoutError("the turn", limit)
    finally:
        printer.finish()
    if not printer.is_read:
        raise BrokenPipeError
    if printer.stray_lines:
        lines = plural(printer.stray_lines, "line")
        say(f"ignored {lines} of the agent's stdout: not a message of ACP")
    return exit_codes.DONE


def _words(words: tuple[str, ...]) -> tuple[str | None, str]:
    match words:
        case ():
            raise click.UsageError('missing PROMPT, e.g. acp-console exec "hello"')
        case (prompt,):
            name = None
        case (name, prompt):
            pass
        case _:
            raise click.UsageError(UNQUOTED)
    if prompt == "-":
        prompt = sys.stdin.read()
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise click.UsageError("the prompt is not valid UTF-8") from None
    if not prompt.strip():
        raise click.UsageError("the prompt is empty")
    return name, prompt


def _report_refusal(ask: PermissionPrompt) -> None:
    where = f", outside {ask.cwd}" if ask.paths_outside else ""
    title = single_line(ask.title, TITLE_WIDTH)
    kind = single_line(ask.kind, TITLE_WIDTH)
    say(f"refused: {title} ({kind}{where}); --allow {required_level(ask)} allows it")
