"""Terminals of version 1, which a client runs for an agent: how the agent uses them.

Source: ACP version 1, "Terminals".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import absolute, claimed, schema
from acp_inspector.lint.context import (
    DELIVERY_TIMEOUT_S,
    OK,
    CheckResult,
    Context,
    EndContext,
    Problem,
    quoted,
)
from acp_inspector.lint.registry import LintSubject, check, checked_by, fix, track
from acp_inspector.lint.state import Point, SeenSession, SeenTerminal
from acp_inspector.lint.tracker import find_terminal
from acp_protocol.dialects.base import moved_to_meta
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json

rule = LintSubject("terminals", page="terminals.mdx", version=1)

_ARGUMENT: Final = re.compile(r"-|[|&;<>]")
"""The beginning of a word that belongs to no path."""
ACPEX: Final = "acpex"
"""The dialect whose clients may claim some methods of terminals only."""
ABILITIES: Final = {
    "terminal/create": "create",
    "terminal/output": "output",
    "terminal/wait_for_exit": "waitForExit",
    "terminal/kill": "kill",
    "terminal/release": "release",
}
"""What such a client claims for each method."""
USES: Final = ("terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release")


@rule.error(250, "must", "agent", on.request("terminal/create", *USES))
@fix("Use terminals of clients that claim them, only.")
def undeclared_terminal(context: Context) -> CheckResult:
    """`terminal/*` only with `clientCapabilities.terminal: true`."""
    some = as_object(moved_to_meta(context.state.capabilities["client"], ACPEX).get("terminal"))
    if context.state.dialect == ACPEX and some.get(ABILITIES[context.method or ""]) is True:
        return OK
    return claimed(context, v1="terminal", by="client")


@rule.warning(521, "heuristic", "agent", on.request("terminal/create"))
@fix("Put the program into command and each argument into args.")
def command_line_as_command(context: Context) -> CheckResult:
    """`terminal/create` names a program in `command` and its arguments in `args`; a client that
    starts it without a shell does not find a whole command line.

    Flag a command with white space, unless it may be the path of a program.
    """
    command: Json = context.params.get("command")
    if not isinstance(command, str):
        return None
    first, *more = command.split() or [""]
    is_path = "/" in first or "\\" in first
    if not more or (is_path and not any(_ARGUMENT.match(each) for each in more)):
        return OK
    return context.problem(f"the command is a whole command line: {quoted(command)}", at="command")


@rule.error(253, "implied", "agent", on.request(*USES), case="terminal.known")
@fix("Name a terminal that terminal/create returned.")
def unknown_terminal(context: Context) -> CheckResult:
    """output/wait/kill/release name a terminal that was created."""
    id_: Json = context.params.get("terminalId")
    if not isinstance(id_, str) or context.session is None:
        return None
    if find_terminal(context) is not None:
        return OK
    return context.problem(f"there is no terminal {quoted(id_)}", at="terminalId")


@rule.error(254, "must", "agent", on.request(*USES), case="terminal.not-after-release")
@fix("Use terminals no more once you released them.")
def released_terminal_used(context: Context) -> CheckResult:
    """No `terminal/*` call uses an id after `terminal/release` (double release included)."""
    terminal = find_terminal(context)
    if terminal is None:
        return None
    if terminal.released is not None:
        return context.problem(
            f"the terminal {quoted(terminal.id)} was released before",
            terminal.released,
            at="terminalId",
        )
    return OK


@rule.warning(255, "must", "agent", on.result("session/close"))
@fix("Release every terminal that you created.")
def unreleased_terminal(context: Context) -> CheckResult:
    """Every created terminal is released before the session closes or the connection ends."""
    if context.session is None:
        return None
    created = [each for each in context.session.terminals.values() if each.create is not None]
    if not created:
        return None
    for each in created:
        if each.released is None:
            return context.problem(
                f"the session is closed, but terminal {quoted(each.id)} was not released",
                each.create,
                each.first,
            )
    return OK


@check("unreleased-terminal", on.END)
def terminals_were_released(ending: EndContext) -> CheckResult:
    """Flag terminals that were not released before the connection ended.

    During a running turn, the agent had no time to release them.
    """
    if not ending.is_over:
        return None
    return _left(ending, "the connection ended, but terminal {} was not released", is_killed=False)


def _left(ending: EndContext, text: str, *, is_killed: bool) -> CheckResult:
    found: list[Problem] = []
    has_any = False
    for session in ending.state.sessions.values():
        for each in session.terminals.values():
            if each.create is None or (is_killed and each.killed is None):
                continue
            has_any = True
            since = each.killed if is_killed else each.first
            if (
                each.released is None
                and since is not None
                and _had_time(ending, session, since.time)
            ):
                frames = (each.create.seq, each.first.seq, since.seq)
                found.append(Problem(text.format(quoted(each.id)), tuple(sorted(set(frames)))))
    return tuple(found) if has_any else None


@rule.info(265, "heuristic", "agent", on.END)
@fix("Release a terminal after you killed it.")
@checked_by(_left, text="the terminal {} was killed, but not released", is_killed=True)
def killed_terminal_not_released() -> None:
    """A killed terminal is followed by release."""


def _had_time(ending: EndContext, session: SeenSession, since: float) -> bool:
    is_closed = session.closed is not None or session.deleted is not None
    return not session.prompts and not is_closed and ending.point.time - since > DELIVERY_TIMEOUT_S


@rule.warning(262, "heuristic", "agent", on.request(*USES))
@fix("Name the session that the terminal was created for.")
def terminal_of_other_session(context: Context) -> CheckResult:
    """The `sessionId` of terminal calls equals that of `terminal/create`."""
    terminal = find_terminal(context)
    if terminal is None or context.session_id is None:
        return None
    if terminal.session == context.session_id:
        return OK
    return context.problem(
        f"the terminal {quoted(terminal.id)} belongs to session {quoted(terminal.session)}",
        terminal.first,
        at="sessionId",
    )


OUTPUT: Final = "terminal/output"
EXIT: Final = "terminal/wait_for_exit"
QUICK_COMMAND_S: Final = 0.5
"""A command that ended within so many seconds after the response had probably ended before it."""
HEAD_CHARS: Final = 32
"""Characters by which output is recognised."""
MARGIN_BYTES: Final = 1024
"""Bytes below the limit that may be lost with a cut."""
REMEMBERED: Final = 4096


@dataclass(slots=True)
class _Outputs:
    """The reports about each terminal."""

    last: dict[tuple[str, str], tuple[Point, int | None]] = field(
        default_factory=dict[tuple[str, str], tuple[Point, "int | None"]]
    )
    """The last report, and its number of characters if the output was complete."""
    heads: dict[tuple[str, str], tuple[Point, str]] = field(
        default_factory=dict[tuple[str, str], tuple[Point, str]]
    )
    """The beginning of the output, if all of it was reported once."""
    requested_outputs: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Terminals whose output was requested."""


@rule.error(256, "implied", "client", on.result("terminal/create"))
@fix("Give each terminal an id of its own.")
def duplicate_terminal_id(context: Context) -> CheckResult:
    """`terminalId`s of live terminals are unique."""
    id_ = context.result_object.get("terminalId")
    if not isinstance(id_, str):
        return None
    other = context.state.terminals.get(id_)
    if other is None or other.released is not None:
        return OK
    session = context.state.sessions.get(other.session)
    if session is not None and session.closed is not None:
        return OK
    return context.problem(
        f"the terminal {quoted(id_)} was created before, and not released",
        other.first,
        at="terminalId",
    )


@rule.error(258, "must", "client", on.result(OUTPUT))
@fix("Cut output at the front, to the limit in UTF-8 bytes.")
def output_over_limit(context: Context) -> CheckResult:
    """`output` is at most `outputByteLimit` UTF-8 bytes; cut at the front, at a character boundary.

    A cut at the end is certain if the output begins like the full output, and only once so.
    """
    limit, output = _limit(context), context.result_object.get("output")
    if limit is None or not isinstance(output, str):
        return None
    size = len(output.encode(errors="surrogatepass"))
    if size > limit:
        return context.problem(
            f"the output has {size} bytes, but the limit is {limit}",
            None if (terminal := find_terminal(context)) is None else terminal.create,
            at="output",
        )
    return _cut_at_the_end(context, output) or OK


def _cut_at_the_end(context: Context, output: str) -> CheckResult:
    terminal = find_terminal(context)
    if terminal is None or context.result_object.get("truncated") is not True:
        return None
    key = (terminal.session, terminal.id)
    at, head = context.state.of(_Outputs).heads.get(key, (terminal.first, ""))
    if len(head) < HEAD_CHARS or not output.startswith(head) or head in output[1:]:
        return None
    return context.problem("the output was truncated, but begins as it did before", at, at="output")


@rule.warning(259, "implied", "client", on.result(OUTPUT))
@fix("Say truncated where a limit was exceeded, only.")
def truncated_without_need(context: Context) -> CheckResult:
    """`truncated:true` only if a limit was set and exceeded.

    A cut at a line end may stay slightly below the limit.
    """
    terminal, output = find_terminal(context), context.result_object.get("output")
    if context.result_object.get("truncated") is not True or terminal is None:
        return None
    limit = _limit(context)
    if limit is None:
        return context.problem(
            "the output was truncated without a limit", terminal.create, at="truncated"
        )
    size = len(output.encode(errors="surrogatepass")) if isinstance(output, str) else limit
    if "\n" not in str(output) and size < limit - MARGIN_BYTES:
        return context.problem(
            f"the output was truncated at {size} bytes, far below the limit of {limit}",
            terminal.create,
            at="truncated",
        )
    return OK


def _limit(context: Context) -> int | None:
    terminal = find_terminal(context)
    if terminal is None or terminal.create is None:
        return None
    limit = terminal.create.params.get("outputByteLimit")
    return limit if type(limit) is int else None


@rule.warning(260, "implied", "client", on.result(OUTPUT, EXIT))
@fix("Report an exit once it happened, and the same way.")
def exit_status_changes(context: Context) -> CheckResult:
    """`exitStatus` is absent while running and does not change or vanish after exit; it agrees with
    `terminal/wait_for_exit`.
    """
    terminal, ask = find_terminal(context), context.request
    if terminal is None or terminal.exited is None or ask is None:
        return None
    exit_fields = _exit(context)
    if exit_fields is None:
        if ask.seq < terminal.exited.seq:
            # The request is older, and so may be the reported status.
            return OK
        return context.problem(
            f"the exit of terminal {quoted(terminal.id)} was reported, and is no longer reported",
            terminal.exited,
            at="exitStatus",
        )
    if _status(exit_fields) != _status(terminal.exit_status):
        return context.problem(
            f"the exit was {quoted(terminal.exit_status)}, and is {quoted(exit_fields)}",
            terminal.exited,
            path="result.exitStatus" if context.method == OUTPUT else "result",
        )
    return OK


def _exit(context: Context) -> Json:
    return context.result if context.method == EXIT else context.result_object.get("exitStatus")


def _status(exit_fields: Json) -> tuple[str, str]:
    status = as_object(exit_fields)
    return quoted(status.get("exitCode")), quoted(status.get("signal"))


@rule.error(261, "schema", "client", on.result(OUTPUT, EXIT))
@fix("Give the exit code as a number from 0, or null.")
@checked_by(schema, at=("exitCode", "exitStatus.exitCode"), kinds=("type", "range"))
def invalid_exit_code() -> None:
    """`exitCode` is a non-negative integer or null."""


@rule.error(263, "implied", "client", on.result(OUTPUT, EXIT))
@fix("Answer terminal/create when the command has begun.")
def slow_terminal_create(context: Context) -> CheckResult:
    """`terminal/create` returns at once, not when the command ends (compare with exit times).

    A warning only: the client may have been busy, and the command short.
    """
    terminal, ask = find_terminal(context), context.request
    if terminal is None or terminal.create is None or ask is None or terminal.exited is not None:
        return None
    if (terminal.session, terminal.id) in context.state.of(_Outputs).requested_outputs:
        return None
    took, waited = terminal.first.time - terminal.create.time, context.time - terminal.first.time
    if _exit(context) is not None and took > DELIVERY_TIMEOUT_S and waited < QUICK_COMMAND_S:
        return context.problem(
            f"terminal/create took {took:.1f} seconds, and the command had ended by then",
            terminal.create,
            terminal.first,
            severity="warning",
        )
    return OK


@rule.warning(264, "implied", "client", on.result(OUTPUT))
@fix("Keep output until the terminal is released.")
def output_shrinks(context: Context) -> CheckResult:
    """Output of an unreleased terminal never shrinks except by front truncation."""
    terminal, ask = find_terminal(context), context.request
    size = _size(context)
    if terminal is None or ask is None or size is None:
        return None
    key = (terminal.session, terminal.id)
    at, before = context.state.of(_Outputs).last.get(key, (terminal.first, None))
    if before is None or at.seq > ask.seq:
        return None
    if size < before:
        return context.problem(
            f"the output has {size} characters, and had {before}", at, at="output"
        )
    return OK


def _size(context: Context) -> int | None:
    output = context.result_object.get("output")
    if not isinstance(output, str) or context.result_object.get("truncated") is not False:
        return None
    return len(output)


@track(on.result(OUTPUT, EXIT))
def _keep_output(context: Context) -> None:
    terminal: SeenTerminal | None = find_terminal(context)
    own = context.state.of(_Outputs)
    if terminal is None or len(own.requested_outputs) >= REMEMBERED:
        return
    key = (terminal.session, terminal.id)
    own.requested_outputs.add(key)
    if context.method != OUTPUT:
        return
    size, output = _size(context), context.result_object.get("output")
    own.last[key] = (context.point, size)
    if size is not None and size >= HEAD_CHARS and isinstance(output, str):
        own.heads.setdefault(key, (context.point, output[:HEAD_CHARS]))


@track(on.result("terminal/create"))
def _forget_output(context: Context) -> None:
    id_ = context.result_object.get("terminalId")
    if isinstance(id_, str) and context.session is not None:
        own = context.state.of(_Outputs)
        own.last.pop((context.session.id, id_), None)
        own.heads.pop((context.session.id, id_), None)
        own.requested_outputs.discard((context.session.id, id_))


@rule.error(252, "must", "agent", on.request("terminal/create"), case="terminal.cwd")
@fix("Send an absolute cwd, or none.")
@checked_by(absolute, at="cwd")
def relative_terminal_cwd() -> None:
    """`cwd`, if given, is absolute."""


@rule.error(251, "schema", "agent", on.request("terminal/create"), case="terminal.create")
@fix("Send a command, strings as args, pairs as env.")
@checked_by(schema, at=("command|args|env", "args.*", "env.*", "env.*.name|value"))
def malformed_terminal_create() -> None:
    """`terminal/create` has `command`; `args` is a string array; `env` is an array of
    `{name,value}`.
    """


@rule.error(257, "schema", "client", on.result("terminal/output"))
@fix("Answer with output, a string, and truncated, a boolean.")
@checked_by(schema, at="output|truncated")
def incomplete_terminal_output() -> None:
    """`terminal/output` result has `output` and `truncated`."""
