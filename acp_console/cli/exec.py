"""`acp-console exec`: one turn without a screen.

The reply goes to stdout; messages for the user go to stderr.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import anyio
import click
from anyio import to_thread

from acp_console.agents.session_options import (
    SessionOption,
    find_option,
    most_restrictive_mode,
    session_options,
)
from acp_console.agents.spec import DEMO_AGENT, AgentSpec, Login, UnknownAgentError
from acp_console.chat.connection import (
    QUIET,
    AgentConnection,
    CapabilityError,
    QuietTimes,
    connect_agent,
    remember_dialect,
)
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import AllowLevel, PolicyDecider
from acp_console.chat.prompt_blocks import file_block
from acp_console.chat.recording import record_journal
from acp_console.cli import exit_codes
from acp_console.cli.agent_option import (
    CommandWithPeer,
    agent_or_demo,
    auth_option,
    cwd_option,
    existing_record_options,
    mcp_option,
    record_option,
    remote_options,
    speech_options,
    with_servers,
)
from acp_console.cli.errors import FULL_HINT, UsageError, say, warn
from acp_console.cli.exec_output import Format, TurnPrinter
from acp_console.cli.format_option import format_option
from acp_console.cli.markdown_stream import MAX_WIDTH, MarkdownStream
from acp_console.cli.message_lines import MessageLines
from acp_console.cli.param_types import DURATION
from acp_console.cli.run_async import run_until_signal
from acp_console.wording.values import plural, stray_line_text
from acp_inspector.journal import DIALECT, Journal
from acp_inspector.recording.writer import WriteMode
from acp_protocol.dialects.spellings import NO_DIALECT
from acp_protocol.errors import (
    AcpError,
    OperationTimeoutError,
    ProtocolError,
    RequestFailedError,
    TransportError,
)
from acp_protocol.json_values import get_string, get_text
from acp_protocol.jsonrpc import Json

if TYPE_CHECKING:
    from acp_console.chat.policy_file import PolicyFile

DEMO_PROMPT: Final = "help"
CANCEL_TIMEOUT_S: Final = 2.0
"""Seconds that a turn has to end after it was cancelled."""


class OpeningError(AcpError):
    """The session to go on with is not there, or the agent cannot go on with it."""


class PromptError(AcpError):
    """The agent does not take what the prompt has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    """The options of one turn."""

    allow: AllowLevel = "reads"
    tools: tuple[str, ...] = ()
    """Names of tools that are allowed besides."""
    policy: Path | None = None
    """A file of rules that come before `allow` and `tools`."""
    format: Format = "text"
    is_raw: bool = False
    """Whether Markdown is not drawn, even on a terminal."""
    record: Path | None = None
    record_mode: WriteMode = "new"
    limit: float = math.inf
    """Seconds for the whole turn."""
    start_limit: float | None = None
    """Seconds for the response to `initialize`; None: the agent's own limit."""
    start_notice: float = 5.0
    """Seconds after which a user learns that the agent has not started yet."""
    quiet: QuietTimes = QUIET
    has_stderr: bool = False
    is_verbose: bool = False
    """Whether a line is printed for each message."""
    mode: str | None = None
    model: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    """Ids and values of other options."""
    fails_on_refusal: bool = False
    fails_on_unasked: bool = False
    files: tuple[Path, ...] = ()
    """Files to send with the prompt."""
    images: tuple[Path, ...] = ()
    """Images to send, which the agent has to take."""
    session: str | None = None
    """The agent's session to go on with."""
    servers: tuple[Mapping[str, Json], ...] = ()
    """MCP servers of the agent that it has to reach."""
    is_continued: bool = False
    """Whether to go on with the agent's newest session in the directory."""

    @property
    def is_restricted(self) -> bool:
        """Whether the agent may change nothing, so that it should work in a strict mode."""
        return self.allow in {"none", "reads"}


def _pairs(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    del context, parameter
    for text in texts:
        if not text.partition("=")[1]:
            raise UsageError(f"--set: {text!r} is not OPTION=VALUE")
    return tuple((text.partition("=")[0], text.partition("=")[2]) for text in texts)


@click.command(
    name="exec",
    cls=CommandWithPeer,
    topic="how-to",
    sections={
        "Prompt and session": ("files", "images", "session", "is_continued", "cwd", "mcp"),
        "What the agent may do": (
            *("allow", "tools", "policy"),
            *("fails_on_refusal", "fails_on_unasked"),
        ),
        "Agent": (
            "url",
            "headers",
            "token_env",
            "mode",
            "model",
            "settings",
            "auth",
            "protocol",
            "dialect",
        ),
        "Output": ("format_", "as_json", "is_raw", "has_stderr", "is_verbose"),
        "Recording": ("record", "append", "overwrite"),
    },
)
@click.argument("words", nargs=-1, metavar="[AGENT] PROMPT")
@cwd_option
@record_option
@existing_record_options
@click.option(
    "--allow",
    type=click.Choice(get_args(AllowLevel)),
    default="reads",
    show_default=True,
    help="What the agent may do without asking; with none and reads, the most restrictive mode "
    "that it offers is chosen.",
)
@click.option(
    "--allow-tool",
    "tools",
    multiple=True,
    metavar="NAME",
    help="Also allow the calls of this tool, by the name that the agent gives it.",
)
@click.option(
    "--policy",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Rules that allow or deny what the agent asks for (TOML); the first one that fits "
    "decides, --allow and --allow-tool where none does.",
)
@click.option(
    "--fail-on-refusal",
    "fails_on_refusal",
    is_flag=True,
    help=f"Exit with {exit_codes.REFUSED} if something was refused.",
)
@click.option(
    "--fail-on-unasked",
    "fails_on_unasked",
    is_flag=True,
    help=f"Exit with {exit_codes.UNASKED} if the agent did more than --allow without asking.",
)
@click.option("--mode", metavar="ID", help="Work in this mode of the agent.")
@click.option("--model", metavar="ID", help="Use this model of the agent.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    callback=_pairs,
    metavar="OPTION=VALUE",
    help="Set another option of the session.",
)
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Send a file with the prompt: embedded if the agent takes that, otherwise as a link.",
)
@click.option(
    "--image",
    "images",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Send an image with the prompt; the agent has to take images.",
)
@click.option("--session", metavar="ID", help="Go on with this session of the agent.")
@click.option(
    "--continue",
    "is_continued",
    is_flag=True,
    help="Go on with the agent's newest session in the working directory.",
)
@mcp_option
@auth_option
@format_option(
    get_args(Format),
    "json: the session, each update as received, permissions, then the result; "
    "quiet: only the reply's text, unchanged if stdout is not a terminal.",
)
@click.option(
    "--raw", "is_raw", is_flag=True, help="Print the reply as it came; on a pipe that is so anyway."
)
@click.option(
    "--timeout",
    type=DURATION,
    metavar="DURATION",
    help="Time limit for the whole turn, in seconds or with a unit: 90, 500ms, 5m, 1h.",
)
@click.option(
    "--start-timeout",
    "start_limit",
    type=DURATION,
    metavar="DURATION",
    help="Time limit for the agent's start: its response to initialize. Default: 1m, and more for "
    "agents that start slowly, or that npx or uvx may download.",
)
@click.option("--stderr", "has_stderr", is_flag=True, help="Print the stderr of the agent.")
@click.option(
    "-v",
    "--verbose",
    "is_verbose",
    is_flag=True,
    help="Print a line on stderr for each message, with its time.",
)
@remote_options
@speech_options
@click.pass_context
def command(
    context: click.Context,
    *,
    words: tuple[str, ...],
    cwd: Path | None,
    format_: Format,
    timeout: float | None,
    protocol: int | None,
    dialect: str | None,
    mcp: Path | None,
    auth: Login | None,
    **options: Any,
) -> int:
    """Send PROMPT to an agent and print its reply; PROMPT - is read from stdin.

    \b
    acp-console exec "read README.md"
    acp-console exec --json "plan" -- my-agent --acp
    git diff | acp-console exec - -- my-agent --acp

    On a terminal, Markdown in the reply is drawn, a block as soon as it has its end.

    The exit code is 0 for every turn that ends, even by a refusal or a limit: see stopReason
    in --json.
    """  # noqa: D301 - the mark by which click keeps lines apart
    name, text = _words(words)
    try:
        agent = agent_or_demo(context, name).with_protocol(protocol, dialect)
    except UnknownAgentError as problem:
        hint = f"{problem.hint}. If {name!r} begins the prompt, put the prompt into quotes"
        raise UnknownAgentError(problem.summary, hint=hint) from None
    if options["session"] is not None and options["is_continued"]:
        raise UsageError("give either --session or --continue, not both")
    before = agent.mcp_servers
    agent = replace(with_servers(agent, mcp), login=auth)
    is_appended, is_replaced = options.pop("append"), options.pop("overwrite")
    options["record_mode"] = "append" if is_appended else "overwrite" if is_replaced else "new"
    options["servers"] = tuple(each for each in agent.mcp_servers if each not in before)
    limit = math.inf if timeout is None else timeout
    turn = TurnOptions(format=format_, limit=limit, **options)
    directory = (cwd or agent.cwd or Path()).resolve()
    return run_until_signal(lambda: run_turn(agent, directory, text, turn))


def run_demo_turn(agent: AgentSpec = DEMO_AGENT) -> int:
    """Run one turn with an agent, and explain that on stderr."""
    which = "the embedded demo agent" if agent.is_embedded_demo else agent.name
    say(f"no terminal found: running one turn with {which}")
    return run_until_signal(lambda: run_turn(agent, Path.cwd(), DEMO_PROMPT, TurnOptions()))


async def run_turn(agent: AgentSpec, cwd: Path, text: str, options: TurnOptions) -> int:
    """Start an agent, run one turn, and return the exit code.

    Raises:
        OperationTimeoutError: the turn has not ended in time.
        OptionError: the agent does not offer a mode, a model or an option.
        AcpError: our stdout cannot be written to.
    """
    allow, policy = options.allow, None
    if options.policy is not None:
        # pydantic takes time, and few turns have a policy.
        from acp_console.chat.policy_file import load_policy

        policy = load_policy(options.policy)
    journal = Journal()
    whole = anyio.CancelScope()
    printer = TurnPrinter(
        options.format,
        whole.cancel,
        allowed=allow,
        rules=policy,
        has_stderr=options.has_stderr,
        cwd=cwd,
        takes_batches=agent.takes_batches,
        markdown=None if options.is_raw else _markdown(options.format),
    )
    handlers = ClientHandlers(
        PolicyDecider(allow, printer.show_decision, options.tools, policy),
        rules=policy,
        reads=allow != "none",
        writes=allow in {"edits", "all"},
        runs=allow == "all",
    )
    talk = _Talk(cwd, text, options, policy, journal, handlers, printer)
    waiting = asyncio.get_running_loop().call_later(options.start_notice, _say_waiting, printer)
    talk.on_start = waiting.cancel
    try:
        recording = record_journal(
            journal, agent, cwd, options.record, mode=options.record_mode, warn=printer.note_loss
        )
        with whole, recording:
            if options.is_verbose:
                journal.subscribe(MessageLines(str(cwd), printer.is_in_line).show)
            journal.subscribe(printer.show)
            await talk.run(agent)
    except AcpError as problem:
        printer.fail(problem)
        raise
    finally:
        waiting.cancel()
        printer.finish()
    if isinstance(printer.failure, BrokenPipeError):
        # Nothing more is printed; the exit code is about what has happened until now.
        return _exit_code(options, printer, journal)
    if printer.failure is not None:
        reason = printer.failure.strerror or printer.failure
        raise AcpError(f"writing to stdout failed: {reason}", hint=FULL_HINT)
    if printer.stray_lines:
        lines = plural(printer.stray_lines, "line")
        first = stray_line_text(printer.first_stray_line)
        warn(f"ignored {lines} of the agent's stdout: not a message of ACP; the first: {first}")
    return _exit_code(options, printer, journal)


class _Talk:
    """One turn with an agent, which may have to be started twice until it understands us."""

    def __init__(
        self,
        cwd: Path,
        text: str,
        options: TurnOptions,
        policy: PolicyFile | None,
        journal: Journal,
        handlers: ClientHandlers,
        printer: TurnPrinter,
    ) -> None:
        self._cwd = cwd
        self._text = text
        self._options = options
        self._policy = policy
        self._journal = journal
        self._handlers = handlers
        self._printer = printer
        self._deadline = anyio.current_time() + options.limit
        self._link: AgentConnection | None = None
        self.on_start: Callable[[], object] = lambda: None
        """Called when the agent has responded to `initialize`."""

    async def run(self, agent: AgentSpec) -> None:
        """Run the turn; if its refusal points to a dialect, or to none, once more in that.

        Raises:
            AcpError: it failed; the first problem if the agent did not understand the dialect.
        """
        try:
            await self._run_once(agent)
        except AcpError as problem:
            other = None if self._link is None else self._link.other_spec
            if other is None:
                raise
            if other.dialect is None:
                self._journal.event(DIALECT, dialect=NO_DIALECT)
            try:
                await self._run_once(other)
            except (ProtocolError, TransportError, RequestFailedError):
                raise problem from None
            _say_dialect(other)
            remember_dialect(other)

    async def _run_once(self, agent: AgentSpec) -> None:
        options, printer = self._options, self._printer
        answer: Mapping[str, Json] | None = None
        async with connect_agent(
            agent,
            cwd=self._cwd,
            journal=self._journal,
            handlers=self._handlers,
            start_timeout=min(options.start_limit or agent.start_timeout, options.limit),
            quiet=options.quiet,
            notify=warn,
        ) as link:
            self.on_start()
            self._link = link
            if link.spec != agent:
                _say_dialect(link.spec)
            with anyio.CancelScope(deadline=self._deadline) as scope:
                session_id = await _open_session(link, self._cwd, options, printer, self._policy)
                blocks = await _prompt(link, self._cwd, self._text, options)
                answer = await _run_prompt(link, session_id, blocks, printer)
                try:
                    await link.wait_for_late_updates(session_id, answer["stopReason"])
                finally:
                    printer.end(session_id, answer)
            if scope.cancelled_caught and not printer.has_ended:
                # With the last lines of an agent that hangs.
                raise OperationTimeoutError("the turn", options.limit)
        if scope.cancelled_caught and answer is None:
            raise OperationTimeoutError("the turn", options.limit)


def _markdown(format_: Format) -> MarkdownStream | None:
    """Return what draws the reply for a person; None where it is printed as it comes."""
    if format_ == "json" or not sys.stdout.isatty() or os.environ.get("TERM") in {None, "dumb"}:
        return None
    return MarkdownStream(os.get_terminal_size(sys.stdout.fileno()).columns or MAX_WIDTH)


def _exit_code(options: TurnOptions, printer: TurnPrinter, journal: Journal) -> int:
    if printer.report_losses(journal.missed):
        return exit_codes.FOUND
    if options.fails_on_unasked and printer.has_surprises:
        return exit_codes.UNASKED
    is_failed = options.fails_on_refusal and printer.refusals > 0
    return exit_codes.REFUSED if is_failed else exit_codes.DONE


def _say_dialect(agent: AgentSpec) -> None:
    say(f"{agent.title} {agent.speech}: found at the second try")


def _say_waiting(printer: TurnPrinter) -> None:
    stray = stray_line_text(printer.first_stray_line)
    more = f"; it wrote something that is not an ACP message: {stray}" if stray else ""
    say(f"waiting for the agent's response to initialize{more}")


async def _open_session(
    link: AgentConnection,
    cwd: Path,
    options: TurnOptions,
    printer: TurnPrinter,
    policy: PolicyFile | None,
) -> str:
    """Log in, open a session and set its options; return its id."""
    if link.is_version_1_in_disguise:
        warn(link.disguise)
    if options.servers and (out_of_reach := link.unreachable_servers(options.servers)):
        hint = "remove it from the file, or choose another agent"
        raise CapabilityError(f"--mcp: {'; '.join(out_of_reach)}", hint=hint)
    for sentence in link.unreachable_servers():
        warn(sentence)
    if link.spec.login is not None:
        await link.authenticate(link.spec.login.method, link.spec.login.secret)
    session = await _session(link, cwd, options, printer)
    session_id: str = session["sessionId"]
    offered = session_options(session)
    mode = next((each for each in offered if each.category == "mode"), None)
    chosen = await _set_options(link, session_id, offered, mode, options)
    if mode is not None and chosen is None and options.is_restricted:
        # Otherwise the agent would not even ask for what is allowed, or counted, here.
        allows_more = policy is not None and policy.allows_something
        asks = allows_more or bool(options.tools) or options.fails_on_refusal
        chosen = most_restrictive_mode(mode, asks=asks)
        if chosen is None:
            names = ", ".join(id_ for id_, _ in mode.values if id_ not in mode.assumed)
            warn(
                f"none of the agent's modes ({names}) says that it asks: it may act without asking"
            )
        else:
            if chosen != mode.current:
                await link.set_option(session_id, mode, chosen)
            printer.show_mode(chosen, asks=chosen != most_restrictive_mode(mode))
    printer.begin(session_id, link.version, chosen or (mode and mode.current))
    return session_id


async def _session(
    link: AgentConnection, cwd: Path, options: TurnOptions, printer: TurnPrinter
) -> Mapping[str, Json]:
    """Open the session that the options name, or a new one.

    Raises:
        OpeningError: the agent cannot go on with it, or there is none.
    """
    session_id = options.session
    if options.is_continued:
        if not link.can("list"):
            raise OpeningError(f"{link.title} does not list its sessions; give --session ID")
        found, _ = await link.list_sessions(cwd)
        newest = max(found, key=lambda each: get_string(each, "updatedAt"), default=None)
        session_id = get_text(newest, "sessionId")
        if session_id is None:
            raise OpeningError(f"{link.title} has no session in {cwd}")
    if session_id is None:
        return await link.new_session(cwd)
    for way in ("resume", "load"):
        if link.can(way):
            # What was said before is neither printed nor counted again.
            printer.is_replaying = True
            session = await link.open_session(way, cwd, session_id)
            await link.wait_for_late_history()
            printer.is_replaying = False
            return session
    raise OpeningError(f"{link.title} cannot go on with a session")


async def _prompt(link: AgentConnection, cwd: Path, text: str, options: TurnOptions) -> list[Json]:
    """Return the blocks of the prompt.

    Raises:
        PromptError: the agent takes no images.
    """
    abilities = link.prompt_abilities
    if options.images and "image" not in abilities.claimed:
        raise PromptError(f"{link.title} takes no images; --file sends links to them")
    files = [*options.files, *options.images]

    def read() -> list[Json]:
        return [{"type": "text", "text": text}, *(file_block(each, abilities) for each in files)]

    return await to_thread.run_sync(read)


async def _set_options(
    link: AgentConnection,
    session_id: str,
    offered: list[SessionOption],
    mode: SessionOption | None,
    options: TurnOptions,
) -> str | None:
    """Set what is configured for the agent, then what the command line says; return the mode."""
    configured = [("mode", link.spec.mode), *link.spec.options.items()]
    if options.is_restricted:
        # What is configured must not allow more than the command line does.
        names_of_mode = {"mode", mode.id} if mode else {"mode"}
        configured = [each for each in configured if each[0] not in names_of_mode]
    explicit = [("mode", options.mode), ("model", options.model), *options.settings]
    chosen: str | None = None
    for name, text in [*configured, *explicit]:
        if text is not None:
            if link.use_model(name, text, offered):
                continue
            option = find_option(offered, name)
            await link.set_option(session_id, option, option.value(text))
            chosen = text if option is mode else chosen
    return chosen


async def _run_prompt(
    link: AgentConnection, session_id: str, prompt: Sequence[Json], printer: TurnPrinter
) -> Mapping[str, Json]:
    """Send the prompt; return how the turn has ended.

    If we are cancelled, cancel the turn, wait a moment for its end and print that.
    """
    answers: list[Mapping[str, Json] | AcpError] = []
    has_ended = anyio.Event()

    async def ask() -> None:
        # It ends by the agent's answer, or below.
        with anyio.CancelScope(shield=True) as asking:
            scopes.append(asking)
            try:
                answers.append(await link.prompt(session_id, prompt))
            except AcpError as problem:
                answers.append(problem)
        has_ended.set()

    scopes: list[anyio.CancelScope] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        try:
            await has_ended.wait()
        finally:
            if not has_ended.is_set():
                with (
                    anyio.move_on_after(CANCEL_TIMEOUT_S, shield=True),
                    suppress(AcpError),
                ):
                    printer.note_cancel()
                    await link.cancel(session_id)
                    await has_ended.wait()
                for scope in scopes:
                    scope.cancel()
                for answer in answers:
                    if not isinstance(answer, AcpError):
                        printer.end(session_id, answer)
    if isinstance(answer := answers[0], AcpError):
        raise answer
    return answer


def _words(words: tuple[str, ...]) -> tuple[str | None, str]:
    match words:
        case ():
            raise UsageError("missing PROMPT", 'e.g. acp-console exec "hello"')
        case (prompt,):
            name = None
        case (name, prompt):
            pass
        case _:
            raise UsageError("there is more than one PROMPT", "put the prompt into quotes")
    if prompt == "-":
        prompt = sys.stdin.read()
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise UsageError("the prompt is not valid UTF-8") from None
    if not prompt.strip():
        raise UsageError("the prompt is empty")
    return name, prompt
