"""Terminals of version 2, which an agent runs and whose output it sends to its client.

Source: ACP version 2, "Tool Calls", Terminals; schema, TerminalUpdate and TerminalOutputChunk.
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import absolute, schema, valid
from acp_inspector.lint.context import (
    DELIVERY_TIMEOUT_S,
    OK,
    CheckResult,
    Context,
    EndContext,
    Problem,
    quoted,
)
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix, track
from acp_inspector.lint.rules.content import is_base64
from acp_inspector.lint.rules.v2_turn_state import background_of, foregrounds_of
from acp_inspector.lint.state import SeenSession, SeenTerminal

rule = LintSubject("display-terminals", page="tool-calls.mdx", version=2)
version_2 = LintSubject("version-2", version=2)

REMEMBERED: Final = 4096


class _Commands(dict[tuple[str, str], str]):
    """The first reported command of each terminal, by session and id."""


@rule.error(267, "schema", "agent", on.update("terminal_update", "terminal_output_chunk"))
@details(source="v2/tool-calls.mdx", case="terminal.output")
@fix("Encode the bytes of each message by themselves, as base64 with padding.")
@checked_by(valid, at=("data", "output.data"), test=is_base64, what="no base64")
def invalid_output_base64() -> None:
    """`data` is valid RFC 4648 base64 in each message on its own."""


@rule.warning(270, "heuristic", "agent", on.update("terminal_output_chunk"))
@fix("Send the exitStatus after the last output, or clear it.")
def output_after_exit(context: Context) -> CheckResult:
    """No output chunk follows an `exitStatus` unless the status was cleared."""
    terminal = _terminal(context)
    if terminal is None:
        return None
    if terminal.exited is not None:
        return context.problem(
            f"output of terminal {quoted(terminal.id)} follows its exit", terminal.exited
        )
    return OK


@rule.error(271, "must", "agent", on.update("terminal_update"))
@fix("Give each command a terminal of its own.")
def reused_terminal_id(context: Context) -> CheckResult:
    """A `terminalId` is not reused for another terminal (new `command` after exit)."""
    terminal, command = _terminal(context), context.update.get("command")
    if terminal is None or terminal.exited is None or context.session is None:
        return None
    before = context.state.of(_Commands).get((context.session.id, terminal.id))
    if isinstance(command, str) and before is not None and command != before:
        return context.problem(
            f"terminal {quoted(terminal.id)} exited, and runs {quoted(command)} now",
            terminal.first,
            terminal.exited,
            at="terminalId",
        )
    return OK


@rule.warning(274, "should", "agent", on.update("terminal_update"))
@fix("Send the command with the first update.")
def terminal_without_command(context: Context) -> CheckResult:
    """The first `terminal_update` of a command terminal has `command`.

    A terminal may run no command.
    """
    command, session = context.update.get("command"), context.session
    if not isinstance(command, str) or session is None or session.is_replaying:
        return None
    terminal = _terminal(context)
    if terminal is None or (session.id, terminal.id) in context.state.of(_Commands):
        return OK
    return context.problem(
        f"the command of terminal {quoted(terminal.id)} comes after its first update",
        terminal.first,
    )


@track(on.update("terminal_update"))
def _keep_command(context: Context) -> None:
    command, id_ = context.update.get("command"), context.update.get("terminalId")
    reported = context.state.of(_Commands)
    if context.session is None or not isinstance(id_, str) or not isinstance(command, str):
        return
    if len(reported) < REMEMBERED:
        reported.setdefault((context.session.id, id_), command)


def _terminal(context: Context) -> SeenTerminal | None:
    id_ = context.update.get("terminalId")
    if context.session is None or context.session.is_replaying or not isinstance(id_, str):
        return None
    return context.session.terminals.get(id_)


@rule.warning(273, "implied", "agent", on.END)
@fix("Send a terminal_update for each terminal that you show.")
def unreported_terminal(ending: EndContext) -> CheckResult:
    """A referenced terminal gets at least one `terminal_update`."""
    found: list[Problem] = []
    has_any = False
    for session in ending.state.sessions.values():
        if session.origin != "new":
            continue
        for tool in session.tools.values():
            has_any = has_any or bool(tool.terminals)
            if ending.point.time - tool.first.time <= DELIVERY_TIMEOUT_S:
                continue
            found += [
                Problem(
                    f"tool call {quoted(tool.id)} shows terminal {quoted(id_)}, of which no "
                    "terminal_update came",
                    (tool.first.seq,),
                )
                for id_ in sorted(tool.terminals - session.terminals.keys())
            ]
    return tuple(found) if has_any else None


@rule.warning(275, "heuristic", "agent", on.END)
@fix("Send the exitStatus before the tool call is final.")
def terminal_without_exit(ending: EndContext) -> CheckResult:
    """A terminal of a finished tool call has an `exitStatus`."""
    found: list[Problem] = []
    has_any = False
    for session in ending.state.sessions.values():
        behind = _behind(ending, session)
        for tool in session.tools.values():
            for id_ in sorted(tool.terminals):
                terminal = session.terminals.get(id_)
                if terminal is None or tool.ended is None:
                    continue
                has_any = True
                is_late = ending.point.time - tool.ended.time > DELIVERY_TIMEOUT_S
                if is_late and terminal.exited is None and id_ not in behind:
                    text = f"tool call {quoted(tool.id)} ended, but its terminal {quoted(id_)} runs"
                    found.append(Problem(text, tuple(sorted({terminal.first.seq, tool.ended.seq}))))
    return tuple(found) if has_any else None


def _behind(ending: EndContext, session: SeenSession) -> set[str]:
    own = foregrounds_of(ending.state).get(session.id)
    listed = [] if own is None else background_of(own.reported) or []
    return {id_ for each in listed if isinstance(id_ := each.get("terminalId"), str)}


@rule.error(268, "must", "agent", on.update("terminal_update"), case="terminal.display-cwd")
@fix("Send an absolute cwd, or none.")
@checked_by(absolute, at="cwd")
def relative_display_cwd() -> None:
    """`cwd` is absolute when given."""


@rule.error(266, "schema", "agent", on.update("terminal_update", "terminal_output_chunk"))
@details(case="terminal.output")
@fix("Name the terminal by terminalId, and put bytes into data.")
@checked_by(schema, at="terminalId|data")
def incomplete_terminal_update() -> None:
    """`terminal_update` and `terminal_output_chunk` have `terminalId`; chunks have `data`."""


@rule.error(269, "schema", "agent", on.update("terminal_update"), case="terminal.output")
@fix('Send {"data": …} as output.')
@checked_by(schema, at=("output", "output.data"), within="output")
def terminal_output_not_object() -> None:
    """`output` is an object with `data`, not a string."""


@version_2.error(463, "schema", "agent", on.update("terminal_update"))
@fix("Send cols and rows from 1 to 65535.")
@checked_by(
    schema, at=("size", "size.cols|rows"), kinds=("missing", "type", "range"), within="size"
)
def invalid_terminal_size() -> None:
    """Terminal `size` has integer `cols` and `rows` in 1..65535."""
