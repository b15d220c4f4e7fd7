"""Slash commands: those that an agent offers, and those in prompts.

Source: ACP, "Slash Commands".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import check, track
from acp_inspector.lint.rules.config_options import opened
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import OPENING

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


@check("ACP-L313", COMMAND_REPORTS)
def commands_say_what_they_are(context: Context) -> CheckResult:
    listed = _listed_commands(context)
    if listed is None or not listed[1]:
        return None
    wanted = ("name", "description") if context.version == 1 else ("type", "name", "description")
    for n, command in enumerate(listed[1]):
        for name in wanted:
            if not isinstance(command.get(name), str):
                return context.problem(
                    f"the command {quoted(command.get('name'))} has no {name}",
                    path=f"{listed[0]}.{n}.{name}",
                )
    return OK


@check("ACP-L314", COMMAND_REPORTS)
def names_are_one_word(context: Context) -> CheckResult:
    listed = _listed_commands(context)
    if listed is None or not listed[1]:
        return None
    for n, command in enumerate(listed[1]):
        name = command.get("name")
        if isinstance(name, str) and (name.startswith("/") or name.split() != [name]):
            return context.problem(
                f"the command's name is {quoted(name)}", path=f"{listed[0]}.{n}.name"
            )
    return OK


@check("ACP-L315", COMMAND_REPORTS)
def command_names_are_unique(context: Context) -> CheckResult:
    listed = _listed_commands(context)
    if listed is None or not listed[1]:
        return None
    seen: set[str] = set()
    for n, command in enumerate(listed[1]):
        name = command.get("name")
        if isinstance(name, str):
            if name in seen:
                return context.problem(
                    f"two commands are called {quoted(name)}", path=f"{listed[0]}.{n}.name"
                )
            seen.add(name)
    return OK


@check("ACP-L316", COMMAND_REPORTS)
def input_has_a_hint(context: Context) -> CheckResult:
    return _input(context, lambda value: None if isinstance(value.get("hint"), str) else "hint")


@check("ACP-L317", COMMAND_REPORTS)
def input_has_type_and_hint(context: Context) -> CheckResult:
    def missing(value: dict[str, Json]) -> str | None:
        if not isinstance(value.get("type"), str):
            return "type"
        is_text = value["type"] == "text"
        return "hint" if is_text and not isinstance(value.get("hint"), str) else None

    return _input(context, missing)


def _input(context: Context, missing: Callable[[dict[str, Json]], str | None]) -> CheckResult:
    listed = _listed_commands(context)
    is_any = False
    for n, command in enumerate(listed[1] if listed is not None else []):
        value: Json = command.get("input")
        if value is None or listed is None:
            continue
        is_any = True
        lack = missing(as_object(value))
        if lack is not None:
            return context.problem(
                f"the input of {quoted(command.get('name'))} has no {lack}",
                path=f"{listed[0]}.{n}.input.{lack}",
            )
    return OK if is_any else None


@check("ACP-L318", on.request("session/prompt"))
def commands_that_are_typed_exist(context: Context) -> CheckResult:
    known = context.state.of(_Commands).get(context.session_id or "")
    blocks = as_list(context.params.get("prompt"))
    text = as_object(blocks[0]).get("text") if blocks else None
    if known is None or not isinstance(text, str) or not text.startswith("/"):
        return None
    name = text[1:].split(maxsplit=1)[0] if text[1:].split() else ""
    if name in known.names:
        return OK
    return context.problem(f"/{name} was not offered", known.point, at="prompt.0.text")


@check("ACP-L319", on.result("initialize", *OPENING))
def commands_come_in_updates(context: Context) -> CheckResult:
    for name in ("availableCommands", "commands", "slashCommands"):
        if name in context.result_object:
            return context.problem(f"the result has {name}", at=name)
    return OK


@check("ACP-L320", on.update("available_commands_update"))
def lists_are_whole(context: Context) -> CheckResult:
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
