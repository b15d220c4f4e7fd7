"""Terminals of version 1, which a client runs for an agent: what the client says of them.

Source: ACP version 1, "Terminals".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.bookkeeping import find_terminal
from acp_inspector.lint.moment import FINE, PATIENCE, Found, Moment, members, quoted
from acp_inspector.lint.registry import check, learns, results
from acp_inspector.lint.state import Point, Terminal
from acp_protocol.jsonrpc import Json

OUTPUT: Final = "terminal/output"
EXIT: Final = "terminal/wait_for_exit"
AT_ONCE: Final = 0.5
"""Seconds after its creation within which a command that took its time was over before."""
HEAD: Final = 32
"""Characters that output is recognised by."""
MARGIN: Final = 1024
"""Bytes below the limit that may be lost with a cut."""
REMEMBERED: Final = 4096


@dataclass(slots=True)
class _Outputs:
    """What was said of each terminal."""

    last: dict[tuple[str, str], tuple[Point, int | None]] = field(
        default_factory=dict[tuple[str, str], tuple[Point, "int | None"]]
    )
    """When it was said last, and how many characters, if all of them."""
    heads: dict[tuple[str, str], tuple[Point, str]] = field(
        default_factory=dict[tuple[str, str], tuple[Point, str]]
    )
    """How the output began, where all of it was told once."""
    asked: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Terminals of which something was said at all."""


@check("ACP-L256", results("terminal/create"), fix="Give each terminal an id of its own.")
def live_terminals_have_ids_of_their_own(moment: Moment) -> Found:
    """Tell of two terminals that cannot be told apart."""
    id_ = moment.result_object.get("terminalId")
    if not isinstance(id_, str):
        return None
    other = moment.state.terminals.get(id_)
    if other is None or other.released is not None:
        return FINE
    session = moment.state.sessions.get(other.session)
    if session is not None and session.closed is not None:
        return FINE
    return moment.problem(
        f"the terminal {quoted(id_)} was created before, and not released",
        other.first,
        path="result.terminalId",
    )


@check("ACP-L257", results(OUTPUT), fix="Answer with output, a string, and truncated, a boolean.")
def output_is_whole(moment: Moment) -> Found:
    """Tell of output without text, or that does not say whether it was cut."""
    for name, type_ in (("output", str), ("truncated", bool)):
        value = moment.result_object.get(name)
        if not isinstance(value, type_):
            what = f"is {quoted(value)}" if name in moment.result_object else "is missing"
            return moment.problem(f"{name} {what}", moment.ask, path=f"result.{name}")
    return FINE


@check("ACP-L258", results(OUTPUT), fix="Cut output at the front, to the limit in UTF-8 bytes.")
def output_keeps_the_limit(moment: Moment) -> Found:
    """Tell of more output than was asked for, and of output that was cut at its end.

    That it was is certain where it begins as all of the output did, and so but once.
    """
    limit, output = _limit(moment), moment.result_object.get("output")
    if limit is None or not isinstance(output, str):
        return None
    size = len(output.encode(errors="surrogatepass"))
    if size > limit:
        return moment.problem(
            f"the output has {size} bytes, but the limit is {limit}",
            None if (terminal := find_terminal(moment)) is None else terminal.create,
            path="result.output",
        )
    return _cut_at_the_end(moment, output) or FINE


def _cut_at_the_end(moment: Moment, output: str) -> Found:
    terminal = find_terminal(moment)
    if terminal is None or moment.result_object.get("truncated") is not True:
        return None
    key = (terminal.session, terminal.id)
    at, head = moment.state.of(_Outputs).heads.get(key, (terminal.first, ""))
    if len(head) < HEAD or not output.startswith(head) or head in output[1:]:
        return None
    return moment.problem(
        "the output was truncated, but begins as it did before", at, path="result.output"
    )


@check("ACP-L259", results(OUTPUT), fix="Say truncated where a limit was exceeded, only.")
def output_is_cut_for_a_reason(moment: Moment) -> Found:
    """Tell of output that was cut, though nobody set a limit, or one that is far away.

    Who cuts at a line may stay below the limit, but not far.
    """
    terminal, output = find_terminal(moment), moment.result_object.get("output")
    if moment.result_object.get("truncated") is not True or terminal is None:
        return None
    limit = _limit(moment)
    if limit is None:
        return moment.problem(
            "the output was truncated without a limit", terminal.create, path="result.truncated"
        )
    size = len(output.encode(errors="surrogatepass")) if isinstance(output, str) else limit
    if "\n" not in str(output) and size < limit - MARGIN:
        return moment.problem(
            f"the output was truncated at {size} bytes, far below the limit of {limit}",
            terminal.create,
            path="result.truncated",
        )
    return FINE


def _limit(moment: Moment) -> int | None:
    terminal = find_terminal(moment)
    if terminal is None or terminal.create is None:
        return None
    limit = terminal.create.params.get("outputByteLimit")
    return limit if type(limit) is int else None


@check("ACP-L260", results(OUTPUT, EXIT), fix="Tell of an exit once it happened, and the same way.")
def exits_do_not_change(moment: Moment) -> Found:
    """Tell of exits that vanish, or that are told of in two ways."""
    terminal, ask = find_terminal(moment), moment.ask
    if terminal is None or terminal.exited is None or ask is None:
        return None
    told = _exit(moment)
    if told is None:
        if ask.n < terminal.exited.n:
            # It was asked for before, and may have been looked up before.
            return FINE
        return moment.problem(
            f"the exit of terminal {quoted(terminal.id)} was told, and is told no more",
            terminal.exited,
            path="result.exitStatus",
        )
    if _status(told) != _status(terminal.exit_status):
        return moment.problem(
            f"the exit was {quoted(terminal.exit_status)}, and is {quoted(told)}",
            terminal.exited,
            path="result.exitStatus" if moment.method == OUTPUT else "result",
        )
    return FINE


def _exit(moment: Moment) -> Json:
    return moment.result if moment.method == EXIT else moment.result_object.get("exitStatus")


def _status(told: Json) -> tuple[str, str]:
    status = members(told)
    return quoted(status.get("exitCode")), quoted(status.get("signal"))


@check("ACP-L261", results(OUTPUT, EXIT), fix="Give the exit code as a number from 0, or null.")
def exit_codes_are_natural(moment: Moment) -> Found:
    """Tell of exit codes that are none."""
    told = members(_exit(moment))
    if "exitCode" not in told:
        return None
    code = told["exitCode"]
    if code is None or (type(code) is int and code >= 0):
        return FINE
    place = "result" if moment.method == EXIT else "result.exitStatus"
    return moment.problem(f"the exit code is {quoted(code)}", path=f"{place}.exitCode")


@check("ACP-L263", results(OUTPUT, EXIT), fix="Answer terminal/create when the command has begun.")
def terminals_are_created_at_once(moment: Moment) -> Found:
    """Tell of terminals that took long to create, and whose command was over at once then.

    A warning only: the client may have been busy, and the command short.
    """
    terminal, ask = find_terminal(moment), moment.ask
    if terminal is None or terminal.create is None or ask is None or terminal.exited is not None:
        return None
    if (terminal.session, terminal.id) in moment.state.of(_Outputs).asked:
        return None
    took, waited = terminal.first.at - terminal.create.at, moment.at - terminal.first.at
    if _exit(moment) is not None and took > PATIENCE and waited < AT_ONCE:
        return moment.problem(
            f"terminal/create took {took:.1f} seconds, and the command had ended by then",
            terminal.create,
            terminal.first,
            severity="warning",
        )
    return FINE


@check("ACP-L264", results(OUTPUT), fix="Keep output until the terminal is released.")
def output_does_not_shrink(moment: Moment) -> Found:
    """Tell of output that is less than before, and was not cut."""
    terminal, ask = find_terminal(moment), moment.ask
    size = _size(moment)
    if terminal is None or ask is None or size is None:
        return None
    key = (terminal.session, terminal.id)
    at, before = moment.state.of(_Outputs).last.get(key, (terminal.first, None))
    if before is None or at.n > ask.n:
        return None
    if size < before:
        return moment.problem(
            f"the output has {size} characters, and had {before}", at, path="result.output"
        )
    return FINE


def _size(moment: Moment) -> int | None:
    output = moment.result_object.get("output")
    if not isinstance(output, str) or moment.result_object.get("truncated") is not False:
        return None
    return len(output)


@learns(results(OUTPUT, EXIT))
def _keep_output(moment: Moment) -> None:
    terminal: Terminal | None = find_terminal(moment)
    own = moment.state.of(_Outputs)
    if terminal is None or len(own.asked) >= REMEMBERED:
        return
    key = (terminal.session, terminal.id)
    own.asked.add(key)
    if moment.method != OUTPUT:
        return
    size, output = _size(moment), moment.result_object.get("output")
    own.last[key] = (moment.point, size)
    if size is not None and size >= HEAD and isinstance(output, str):
        own.heads.setdefault(key, (moment.point, output[:HEAD]))


@learns(results("terminal/create"))
def _forget_output(moment: Moment) -> None:
    id_ = moment.result_object.get("terminalId")
    if isinstance(id_, str) and moment.session is not None:
        own = moment.state.of(_Outputs)
        own.last.pop((moment.session.id, id_), None)
        own.heads.pop((moment.session.id, id_), None)
        own.asked.discard((moment.session.id, id_))
