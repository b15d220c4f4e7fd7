"""Slash commands: those that an agent offers, and those in prompts.

Source: ACP, "Slash Commands".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema, unique, valid
from acp_inspector.lint.context import OK, CheckResult, Context
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix, track
from acp_inspector.lint.rules.config_options import opened
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import OPENING

rule = LintSubject("commands", page="slash-commands.mdx")

COMMAND_REPORTS: Final = (*on.update("available_commands_update"), *on.result(*OPENING))
PARTIAL_SHARE: Final = 0.5
"""Share of missing commands from which on a list looks partial."""


@dataclass(slots=True)
class _List:
    point: Point
    names: frozenset[str]


class _Commands(dict[str, _List]):
    """The commands of every session that reported some."""


def _listed_commands(context: Context) -> tuple[str, list[dict[str, Json]]] | None:
    is_update = context.kind == "notification"
    listed: Json = (context.update if is_update else context.result_object).get("availableCommands")
    if not isinstance(listed, list):
        return None
    place = "params.update.availableCommands" if is_update else "result.availableCommands"
    return place, [as_object(each) for each in as_list(listed)]


@track(COMMAND_REPORTS)
def _keep_commands(context: Context) -> None:
    listed, session = _listed_commands(context), opened(context)
    if listed is not None and session is not None:
        names = frozenset(each["name"] for each in listed[1] if isinstance(each.get("name"), str))
        context.state.of(_Commands)[session] = _List(context.point, names)


def _is_name(text: str) -> bool:
    return not text.startswith("/") and text.split() == [text]


@rule.warning(314, "must", "agent", COMMAND_REPORTS, version=2, source="schema", since="2026-11")
@fix("Leave the slash away; clients add it.")
@checked_by(valid, at="availableCommands.*.name", test=_is_name, what="no name")
def malformed_command_name() -> None:
    """`name` has no leading `/` and no whitespace."""


@rule.error(316, "schema", "agent", COMMAND_REPORTS, version=1, case="commands.input")
@fix("Say what is to be typed by a hint.")
@checked_by(schema, at="availableCommands.*.input.hint")
def command_input_without_hint() -> None:
    """`input`, if present, has `hint`."""


@rule.error(317, "schema", "agent", COMMAND_REPORTS, version=2, case="commands.input")
@details(source="v2/slash-commands.mdx")
@fix('Say {"type": "text", "hint": …}.')
@checked_by(schema, at="availableCommands.*.input.type|hint")
def malformed_command_input() -> None:
    """`input`, if present, has `type`; `text` inputs have `hint`."""


@rule.info(318, "heuristic", "client", on.request("session/prompt"))
@fix("Use an offered command, or leave out the slash.")
def unknown_command(context: Context) -> CheckResult:
    """A prompt that starts with `/word` names an advertised command."""
    known = context.state.of(_Commands).get(context.session_id or "")
    blocks = as_list(context.params.get("prompt"))
    text = as_object(blocks[0]).get("text") if blocks else None
    if known is None or not isinstance(text, str) or not text.startswith("/"):
        return None
    name = text[1:].split(maxsplit=1)[0] if text[1:].split() else ""
    if name in known.names:
        return OK
    return context.problem(f"/{name} was not offered", known.point, at="prompt.0.text")


@rule.info(320, "heuristic", "agent", on.update("available_commands_update"))
@fix("Send the whole list each time.")
def partial_command_list(context: Context) -> CheckResult:
    """The list is replaced as a whole; partial lists look like deltas."""
    listed, known = (
        _listed_commands(context),
        context.state.of(_Commands).get(context.session_id or ""),
    )
    if listed is None or known is None or len(known.names) < 2:
        return None
    kept = known.names & {str(each.get("name")) for each in listed[1]}
    if listed[1] and len(kept) < len(known.names) * PARTIAL_SHARE:
        return context.problem(
            f"{len(known.names) - len(kept)} of {len(known.names)} commands are gone",
            known.point,
            path=listed[0],
        )
    return OK


@rule.warning(315, "must", "agent", COMMAND_REPORTS, since="2026-11")
@fix("Give each command a name of its own.")
@checked_by(unique, at="availableCommands.*.name")
def duplicate_command() -> None:
    """Command names are unique in the list (v2: MUST)."""


@rule.error(313, "schema", "agent", COMMAND_REPORTS, case="commands.fields")
@details(source="slash-commands.mdx", since="2026-11")
@fix("Give each command a name and a description.")
@checked_by(schema, at="availableCommands.*.type|name|description")
def incomplete_command() -> None:
    """Each command has `name` and `description`; v2 also `type` (`command` or custom)."""


@rule.warning(319, "implied", "agent", on.result("initialize", *OPENING), version=1)
@details(source="slash-commands.mdx", since="2026-11")
@fix("Send available_commands_update.")
@checked_by(schema, at="availableCommands|commands|slashCommands", kinds="member")
def misplaced_commands() -> None:
    """Commands are announced with `available_commands_update`, not in capabilities or session
    results (v2 results may carry `availableCommands`).
    """
