"""Terminals of version 1, which a client runs for an agent: how the agent uses them.

Source: ACP version 1, "Terminals".
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint.bookkeeping import find_terminal
from acp_inspector.lint.moment import (
    FINE,
    PATIENCE,
    Ending,
    Found,
    Moment,
    Problem,
    entries,
    members,
    quoted,
)
from acp_inspector.lint.paths import is_absolute
from acp_inspector.lint.registry import asks, check, check_at_end, results
from acp_inspector.lint.state import Session
from acp_protocol.jsonrpc import Json

USES: Final = (
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
)


@check(
    "ACP-L250",
    asks("terminal/create", *USES),
    fix="Use terminals of clients that claim them, only.",
)
def terminals_are_claimed(moment: Moment) -> Found:
    """Tell of terminals that the client did not offer."""
    if not moment.state.is_ready:
        return None
    if moment.state.claim("client", "terminal") is True:
        return FINE
    return moment.problem(
        f"{moment.method} is asked for, but the client does not claim terminal",
        moment.state.initialize,
        path="method",
    )


@check("ACP-L251", asks("terminal/create"), fix="Send a command, strings as args, pairs as env.")
def commands_are_whole(moment: Moment) -> Found:
    """Tell of commands that are none, and of lists that hold something else."""
    params = moment.params
    if not isinstance(params.get("command"), str):
        return moment.problem("there is no command", path="params.command")
    for name in ("args", "env"):
        if not isinstance(params.get(name), list | None):
            return moment.problem(f"{name} is no array", path=f"params.{name}")
    for i, each in enumerate(entries(params.get("args"))):
        if not isinstance(each, str):
            return moment.problem(f"an argument is {quoted(each)}", path=f"params.args.{i}")
    for i, each in enumerate(entries(params.get("env"))):
        for name in ("name", "value"):
            if not isinstance(members(each).get(name), str):
                where = (
                    f"params.env.{i}" if not isinstance(each, dict) else f"params.env.{i}.{name}"
                )
                return moment.problem(f"a variable is {quoted(each)}", path=where)
    return FINE


@check("ACP-L252", asks("terminal/create"), fix="Send an absolute cwd, or none.")
def commands_run_somewhere(moment: Moment) -> Found:
    """Tell of directories that depend on where someone stands."""
    cwd: Json = moment.params.get("cwd")
    if not isinstance(cwd, str):
        return None
    if is_absolute(cwd):
        return FINE
    return moment.problem(f"the cwd is {quoted(cwd)}", path="params.cwd")


@check("ACP-L253", asks(*USES), fix="Name a terminal that terminal/create returned.")
def terminals_that_are_used_exist(moment: Moment) -> Found:
    """Tell of terminals that were never created."""
    id_: Json = moment.params.get("terminalId")
    if not isinstance(id_, str) or moment.session is None:
        return None
    if find_terminal(moment) is not None:
        return FINE
    return moment.problem(f"there is no terminal {quoted(id_)}", path="params.terminalId")


@check("ACP-L254", asks(*USES), fix="Use terminals no more once you released them.")
def released_terminals_are_not_used(moment: Moment) -> Found:
    """Tell of terminals that are used, or released, after their release."""
    terminal = find_terminal(moment)
    if terminal is None:
        return None
    if terminal.released is not None:
        return moment.problem(
            f"the terminal {quoted(terminal.id)} was released before",
            terminal.released,
            path="params.terminalId",
        )
    return FINE


@check("ACP-L255", results("session/close"), fix="Release every terminal that you created.")
def terminals_are_released_before_their_session_closes(moment: Moment) -> Found:
    """Tell of terminals that stay behind when their session is closed."""
    if moment.session is None:
        return None
    created = [each for each in moment.session.terminals.values() if each.create is not None]
    if not created:
        return None
    for each in created:
        if each.released is None:
            return moment.problem(
                f"the session is closed, but terminal {quoted(each.id)} was not released",
                each.create,
                each.first,
            )
    return FINE


@check_at_end("ACP-L255", fix="Release every terminal that you created.")
def terminals_were_released(ending: Ending) -> Found:
    """Tell of terminals that nobody released before the connection ended.

    Where a turn was under way still, the agent had no time to.
    """
    if not ending.is_over:
        return None
    return _left(ending, "the connection ended, but terminal {} was not released", is_killed=False)


@check_at_end("ACP-L265", fix="Release a terminal after you killed it.")
def killed_terminals_were_released(ending: Ending) -> Found:
    """Tell of terminals that were killed and never released."""
    return _left(ending, "the terminal {} was killed, but not released", is_killed=True)


def _left(ending: Ending, text: str, *, is_killed: bool) -> Found:
    found: list[Problem] = []
    has_any = False
    for session in ending.state.sessions.values():
        for each in session.terminals.values():
            if each.create is None or (is_killed and each.killed is None):
                continue
            has_any = True
            since = each.killed if is_killed else each.first
            if each.released is None and since is not None and _had_time(ending, session, since.at):
                frames = (each.create.n, each.first.n, since.n)
                found.append(Problem(text.format(quoted(each.id)), tuple(sorted(set(frames)))))
    return tuple(found) if has_any else None


def _had_time(ending: Ending, session: Session, since: float) -> bool:
    is_closed = session.closed is not None or session.deleted is not None
    return not session.prompts and not is_closed and ending.point.at - since > PATIENCE


@check("ACP-L262", asks(*USES), fix="Name the session that the terminal was created for.")
def terminals_stay_in_their_session(moment: Moment) -> Found:
    """Tell of terminals that another session than their own uses."""
    terminal = find_terminal(moment)
    if terminal is None or moment.session_id is None:
        return None
    if terminal.session == moment.session_id:
        return FINE
    return moment.problem(
        f"the terminal {quoted(terminal.id)} is session {quoted(terminal.session)}'s",
        terminal.first,
        path="params.sessionId",
    )
