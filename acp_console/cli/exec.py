"""`acp-console exec`: one turn without a screen.

The answer goes to stdout; what is said to a person goes to stderr.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Final, get_args

import anyio
import click

from acp_console.cli import exits
from acp_console.cli.choice import AgentCommand, agent_or_demo, speech_options
from acp_console.cli.loop import run_until_signal
from acp_console.cli.printer import TITLE_WIDTH, Format, Printer
from acp_console.cli.problems import say
from acp_console.client.agents import DEMO_AGENT, AgentSpec
from acp_console.client.host import ClientHost
from acp_console.client.link import START_LIMIT, open_link
from acp_console.client.permissions import (
    Allowed,
    PermissionAsk,
    PolicyDecider,
    least_that_allows,
)
from acp_console.client.recording import record_journal
from acp_inspector.journal import Journal
from acp_protocol.errors import TimeLimitError
from acp_protocol.host.text import one_line

DEMO_PROMPT: Final = "help"


@click.command(name="exec", cls=AgentCommand)
@click.argument("words", nargs=-1, metavar="[AGENT] PROMPT")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="The session's directory; this one by default.",
)
@click.option("--record", type=click.Path(path_type=Path), help="Record the traffic to this file.")
@click.option(
    "--allow",
    type=click.Choice(get_args(Allowed)),
    default="reads",
    show_default=True,
    help="What the agent may do without a person to ask.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="json: each update as it came, then the end; quiet: the answer's text alone.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time for the whole turn.",
)
@speech_options
@click.pass_context
def command(
    context: click.Context,
    *,
    words: tuple[str, ...],
    cwd: Path,
    record: Path | None,
    allow: Allowed,
    format_: Format,
    timeout: float | None,
    protocol: int,
    dialect: str | None,
) -> int:
    """Send PROMPT to an agent and print its answer; PROMPT - is read from stdin.

    \b
    acp-console exec "read README.md"
    acp-console exec --format json "plan" -- my-agent --acp
    git diff | acp-console exec - -- my-agent --acp
    """  # noqa: D301 - the mark by which click keeps lines apart
    name, text = _words(words)
    agent = agent_or_demo(context, name).speaking(protocol, dialect)
    turn = Turn(agent, cwd.resolve(), text, allow, format_, record)
    return run_until_signal(lambda: turn.run_within(math.inf if timeout is None else timeout))


def run_demo_turn(agent: AgentSpec = DEMO_AGENT) -> int:
    """Run one turn with an agent, and say on stderr that and why."""
    which = "the embedded demo agent" if agent.is_ours else agent.name
    say(f"there is no terminal, so this is one turn with {which}, without a screen")
    turn = Turn(agent, Path.cwd(), DEMO_PROMPT, "reads", "text", None)
    return run_until_signal(lambda: turn.run_within(math.inf))


class Turn:
    """One turn, from the start of the agent to its end."""

    def __init__(
        self,
        agent: AgentSpec,
        cwd: Path,
        text: str,
        allow: Allowed,
        format_: Format,
        record: Path | None,
    ) -> None:
        self._agent = agent
        self._cwd = cwd
        self._text = text
        self._host = ClientHost(
            PolicyDecider(allow, _tell_refusal),
            reads=allow != "none",
            writes=allow in {"edits", "all"},
            runs=allow == "all",
        )
        self._record = record
        self._printer = Printer(format_, self._leave, agent.opened_dialect())
        self._scope: anyio.CancelScope

    async def run_within(self, limit: float) -> int:
        """Run the turn in at most `limit` seconds; return the exit code.

        Raises:
            BrokenPipeError: whoever read our stdout has gone.
        """
        try:
            with anyio.CancelScope() as self._scope:
                await self._run(limit)
        finally:
            self._printer.finish()
        if not self._printer.is_read:
            raise BrokenPipeError
        return exits.DONE

    async def _run(self, limit: float) -> None:
        deadline = anyio.current_time() + limit
        journal = Journal()
        with record_journal(journal, self._agent, self._cwd, self._record, warn=say):
            journal.subscribe(self._printer.show)
            async with open_link(
                self._agent,
                cwd=self._cwd,
                journal=journal,
                host=self._host,
                start_limit=min(START_LIMIT, limit),
            ) as link:
                with anyio.CancelScope(deadline=deadline) as scope:
                    session = await link.new_session(self._cwd)
                    answer = await link.prompt(session["sessionId"], self._text)
                    self._printer.end(session["sessionId"], answer)
                if scope.cancelled_caught:
                    raise TimeLimitError("the turn", limit)

    def _leave(self) -> None:
        self._scope.cancel()


def _words(words: tuple[str, ...]) -> tuple[str | None, str]:
    match words:
        case ():
            raise click.UsageError('missing PROMPT, e.g. acp-console exec "hello"')
        case (prompt,):
            name = None
        case (name, prompt):
            pass
        case _:
            raise click.UsageError("the prompt is one argument: put it into quotes")
    if prompt == "-":
        prompt = sys.stdin.read()
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise click.UsageError("the prompt is no UTF-8 text") from None
    if not prompt.strip():
        raise click.UsageError("the prompt is empty")
    return name, prompt


def _tell_refusal(ask: PermissionAsk) -> None:
    where = f", outside {ask.cwd}" if ask.outside else ""
    title = one_line(ask.title, TITLE_WIDTH)
    kind = one_line(ask.kind, TITLE_WIDTH)
    say(f"refused: {title} ({kind}{where}); --allow {least_that_allows(ask)} lets it through")
