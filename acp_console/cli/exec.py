"""`acp-console exec`: one turn without a screen.

The answer goes to stdout; what is said to a person goes to stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias, assert_never, cast, get_args

import anyio
import click

from acp_console.cli import exits
from acp_console.cli.choice import AgentCommand, agent_or_demo
from acp_console.cli.problems import say
from acp_console.client.agents import DEMO_AGENT, AgentSpec
from acp_console.client.host import ClientHost
from acp_console.client.link import AgentLink, open_link
from acp_console.client.permissions import Allowed, PermissionAsk, PolicyDecider
from acp_inspector.journal import Entry, Frame, Journal
from acp_inspector.recording.origin import header_of_this_run
from acp_inspector.recording.writer import RecordingWriter
from acp_protocol.errors import RequestFailedError, TimeLimitError
from acp_protocol.host.text import visible
from acp_protocol.jsonrpc import AUTH_REQUIRED, Json, Notification, encode, read_message

Format: TypeAlias = Literal["text", "json", "quiet"]

DEMO_PROMPT: Final = "help"


@click.command(name="exec", cls=AgentCommand, options_metavar="[OPTIONS] [-- COMMAND…]")
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
@click.option("--timeout", type=float, metavar="SECONDS", help="Time for the whole turn.")
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
) -> int:
    """Send PROMPT to an agent and print its answer; PROMPT - is read from stdin.

    \b
    acp-console exec "read README.md"
    acp-console exec --format json "plan" -- my-agent --acp
    git diff | acp-console exec - -- my-agent --acp
    """  # noqa: D301 - the mark by which click keeps lines apart
    name, text = _words(words)
    agent = agent_or_demo(context, name)
    turn = Turn(agent, cwd.resolve(), text, allow, format_, record)
    return anyio.run(turn.run_within, timeout)


def run_demo_turn(agent: AgentSpec = DEMO_AGENT) -> int:
    """Run one turn with an agent, and say on stderr that and why."""
    which = "the embedded demo agent" if agent is DEMO_AGENT else agent.name
    say(f"there is no terminal, so this is one turn with {which}, without a screen")
    turn = Turn(agent, Path.cwd(), DEMO_PROMPT, "reads", "text", None)
    return anyio.run(turn.run_within, None)


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
        self._host = ClientHost(PolicyDecider(allow, self._tell_refusal))
        self._record = record
        self._printer = Printer(format_)

    async def run_within(self, limit: float | None) -> int:
        """Run the turn in at most `limit` seconds; return the exit code."""
        try:
            with anyio.fail_after(limit):
                return await self._run()
        except TimeoutError:
            raise TimeLimitError("the turn", limit or 0) from None
        finally:
            self._printer.finish()

    async def _run(self) -> int:
        journal = Journal()
        with recorded(journal, self._agent, self._cwd, self._record):
            journal.subscribe(self._printer.show)
            async with open_link(
                self._agent, cwd=self._cwd, journal=journal, host=self._host
            ) as link:
                try:
                    session = await link.new_session(self._cwd)
                    answer = await link.prompt(session["sessionId"], self._text)
                except RequestFailedError as problem:
                    if problem.code == AUTH_REQUIRED:
                        _tell_ways_in(link)
                    raise
            self._printer.end(session["sessionId"], answer)
        return exits.DONE

    def _tell_refusal(self, ask: PermissionAsk) -> None:
        say(f"refused ({ask.kind}): {ask.title}; --allow edits or --allow all lets it through")


class Printer:
    """Prints what the agent says, as it says it."""

    def __init__(self, format_: Format) -> None:
        self._format: Format = format_
        self._is_in_line = False

    def show(self, entry: Entry) -> None:
        """Print what a frame brings, if it brings an update."""
        if not isinstance(entry, Frame) or entry.side != "agent":
            return
        message = read_message(entry.raw)
        if not isinstance(message, Notification) or message.method != "session/update":
            return
        update = _member(message.params, "update")
        match self._format:
            case "json":
                self._write(encode({"update": update}).decode() + "\n")
            case "text" | "quiet":
                self._text(update)
            case _:
                assert_never(self._format)

    def end(self, session_id: str, answer: Mapping[str, Json]) -> None:
        """Print how the turn ended."""
        if self._format == "json":
            end = {"stopReason": answer["stopReason"], "sessionId": session_id}
            end["usage"] = answer.get("usage")
            self._write(encode(end).decode() + "\n")
        elif answer["stopReason"] != "end_turn":
            self.finish()
            say(f"the turn ended early: {answer['stopReason']}")

    def finish(self) -> None:
        """End the last line."""
        if self._is_in_line:
            self._write("\n")
        self._is_in_line = False

    def _text(self, update: Json) -> None:
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": {"text": str(text)}}:
                self._write(visible(text))
                self._is_in_line = not text.endswith("\n")
            case {"sessionUpdate": "tool_call", "title": str(title)} if self._format == "text":
                self.finish()
                say(title, indent="  * ")
            case _:
                pass

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def recorded(journal: Journal, agent: AgentSpec, cwd: Path, path: Path | None) -> Generator[None]:
    """Record what `journal` gets while the block runs, if there is a `path` to record to.

    Raises:
        RecordingError: the file exists already or cannot be written.
    """
    if path is None:
        yield
        return
    writer = RecordingWriter(path, header_of_this_run(agent.command, cwd), warn=say)
    leave = journal.subscribe(lambda entry: writer.write([entry]))
    try:
        yield
    finally:
        leave()
        writer.close()


def _words(words: tuple[str, ...]) -> tuple[str | None, str]:
    match words:
        case ():
            raise click.UsageError('what shall the agent be told? acp-console exec "hello"')
        case (prompt,):
            name = None
        case (name, prompt):
            pass
        case _:
            raise click.UsageError("the prompt is one argument: put it into quotes")
    if prompt == "-":
        prompt = sys.stdin.read()
    if not prompt.strip():
        raise click.UsageError("the prompt is empty")
    return name, prompt


def _tell_ways_in(link: AgentLink) -> None:
    names = [str(_member(method, "name") or _member(method, "id")) for method in link.auth_methods]
    say(f"ways in that it offers: {', '.join(names) or 'none'}")


def _member(value: Json, name: str) -> Json:
    return cast("dict[str, Json]", value).get(name) if isinstance(value, dict) else None
