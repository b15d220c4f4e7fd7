"""What an agent asks permission for, and the choice that it offers.

Source: ACP, "Tool Calls", version 2's migration guide.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.bookkeeping import FINAL, permission_tool
from acp_inspector.lint.moment import FINE, Found, Moment, Problem, entries, members, quoted
from acp_inspector.lint.paths import is_absolute
from acp_inspector.lint.registry import asks, check, learns, results
from acp_inspector.lint.rules.tool_calls import known_tool, place_of
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

PERMISSION: Final = "session/request_permission"
KINDS: Final = frozenset({"allow_once", "allow_always", "reject_once", "reject_always"})
ALWAYS: Final = frozenset({"allow_always", "reject_always"})
REMEMBERED: Final = 10_000
"""Choices that are remembered."""


@dataclass(slots=True)
class _Choices:
    """By session and what was asked for: where it was answered for good."""

    made: dict[tuple[str, int], Point] = field(default_factory=dict[tuple[str, int], Point])


def options_of(params: dict[str, Json]) -> list[dict[str, Json]]:
    """Return the options that a request offers, an empty object for each that is none."""
    return [members(each) for each in entries(params.get("options"))]


@check("ACP-L222", asks(PERMISSION), fix="Offer at least one option.")
def there_is_a_choice(moment: Moment) -> Found:
    """Tell of requests that offer nothing to choose from."""
    options: Json = moment.params.get("options")
    if isinstance(options, list) and options:
        return FINE
    what = "empty" if options == [] else "no array" if "options" in moment.params else "missing"
    return moment.problem(f"options is {what}", path="params.options")


@check("ACP-L223", asks(PERMISSION), fix="Give every option of a request an optionId of its own.")
def options_are_told_apart(moment: Moment) -> Found:
    """Tell of requests with two options of one id."""
    ids = [each.get("optionId") for each in options_of(moment.params)]
    if not ids:
        return None
    seen: set[str] = set()
    for index, id_ in enumerate(ids):
        if isinstance(id_, str) and id_ in seen:
            return moment.problem(
                f"the optionId {quoted(id_)} is there twice",
                path=f"params.options.{index}.optionId",
            )
        if isinstance(id_, str):
            seen.add(id_)
    return FINE


@check("ACP-L224", asks(PERMISSION), fix="Give every option optionId, name and kind.")
def options_are_complete(moment: Moment) -> Found:
    """Tell of options that lack a member."""
    options = options_of(moment.params)
    if not options:
        return None
    return tuple(
        Problem(f"an option has no {name}", (moment.n,), path=f"params.options.{index}.{name}")
        for index, option in enumerate(options)
        for name in ("optionId", "name", "kind")
        if not isinstance(option.get(name), str)
    )


@check("ACP-L225", asks(PERMISSION), fix="Use allow_once, allow_always, reject_once or …_always.")
def kinds_of_options_are_known(moment: Moment) -> Found:
    """Tell of kinds of options that version 1 does not have."""
    kinds = [
        (kind, index)
        for index, option in enumerate(options_of(moment.params))
        if isinstance(kind := option.get("kind"), str)
    ]
    if not kinds:
        return None
    return tuple(
        Problem(
            f"{quoted(kind)} is no kind of option",
            (moment.n,),
            path=f"params.options.{index}.kind",
        )
        for kind, index in kinds
        if kind not in KINDS
    )


@check("ACP-L233", asks(PERMISSION), fix='Send "toolCall": {"toolCallId": …} in params.')
def the_tool_call_is_named(moment: Moment) -> Found:
    """Tell of requests of version 1 that do not say for which tool call."""
    tool: Json = moment.params.get("toolCall")
    if not isinstance(tool, dict):
        what = "is no object" if "toolCall" in moment.params else "is missing"
        return moment.problem(f"toolCall {what}", path="params.toolCall")
    if not isinstance(members(tool).get("toolCallId"), str):
        return moment.problem("toolCall has no toolCallId", path="params.toolCall.toolCallId")
    return FINE


@check("ACP-L234", asks(PERMISSION), fix="Send title, and what it is about as subject.")
def requests_have_a_title(moment: Moment) -> Found:
    """Tell of requests of version 2 that are made up as those of version 1."""
    problems: list[Problem] = []
    if not isinstance(moment.params.get("title"), str):
        problems += moment.problem("the request has no title", path="params.title")
    if "toolCall" in moment.params:
        problems += moment.problem("toolCall stands outside of subject", path="params.toolCall")
    return tuple(problems)


@check("ACP-L235", asks(PERMISSION), fix="Send the command, and the absolute cwd it is to run in.")
def commands_are_complete(moment: Moment) -> Found:
    """Tell of commands that are to be permitted without saying what runs where."""
    subject = members(moment.params.get("subject"))
    if subject.get("type") != "command":
        return None
    problems: list[Problem] = []
    if not isinstance(subject.get("command"), str):
        problems += moment.problem("the subject has no command", path="params.subject.command")
    if not is_absolute(subject.get("cwd")):
        what = "is no absolute path" if "cwd" in subject else "is missing"
        problems += moment.problem(f"the subject's cwd {what}", path="params.subject.cwd")
    return tuple(problems)


@check("ACP-L236", asks(PERMISSION), fix="Ask before the tool call is carried out.")
def ended_tool_calls_are_not_asked_for(moment: Moment) -> Found:
    """Tell of tool calls that need permission after they ended."""
    tool, session = known_tool(moment), moment.session
    id_ = members(moment.params.get("subject")).get("toolCallId")
    if tool is None and session is not None and isinstance(id_, str):
        tool = session.tools.get(id_)
    if session is None or session.is_replaying:
        return None
    if tool is None or tool.ended is None or tool.status not in FINAL:
        return FINE if tool is not None else None
    return moment.problem(
        f"permission is asked for the tool call {quoted(tool.id)}, which was {tool.status}",
        tool.ended,
    )


@check("ACP-L237", asks(PERMISSION), fix="Ask by the request's title; leave the tool call its own.")
def asking_renames_nothing(moment: Moment) -> Found:
    """Tell of requests of version 2 that would give a known tool call another title."""
    told, tool = permission_tool(moment.params), known_tool(moment)
    title = told.get("title")
    if tool is None or not isinstance(title, str) or not isinstance(tool.title, str):
        return None if tool is None else FINE
    if title == tool.title:
        return FINE
    return moment.problem(
        f"the tool call {quoted(tool.title)} would be renamed to {quoted(title)}",
        tool.first,
        path=f"{place_of(moment)}.title",
    )


@check("ACP-L238", asks(PERMISSION), fix="Offer a way to reject.")
def one_can_reject(moment: Moment) -> Found:
    """Tell of requests that can only be granted."""
    kinds = [each.get("kind") for each in options_of(moment.params)]
    if not kinds:
        return None
    if any(isinstance(kind, str) and kind.startswith("reject") for kind in kinds):
        return FINE
    return moment.problem("no option rejects", path="params.options")


@check(
    "ACP-L239",
    asks(PERMISSION),
    exercised_by=results(PERMISSION),
    fix="Remember what was chosen for good.",
)
def choices_for_good_last(moment: Moment) -> Found:
    """Tell of requests that come again, word for word, after an answer for good."""
    choices = moment.state.of(_Choices).made
    if not choices:
        return None
    made = choices.get((moment.session_id or "", _subject(moment.params)))
    if made is None:
        return FINE
    return moment.problem("this was allowed or rejected for good before", made)


@learns(results(PERMISSION))
def _keep_choice(moment: Moment) -> None:
    ask, choices = moment.ask, moment.state.of(_Choices).made
    if ask is None or len(choices) >= REMEMBERED:
        return
    outcome = members(moment.result_object.get("outcome"))
    chosen = outcome.get("optionId")
    for option in options_of(ask.params):
        kind = option.get("kind")
        if option.get("optionId") == chosen and isinstance(kind, str) and kind in ALWAYS:
            choices[moment.session_id or "", _subject(ask.params)] = moment.point


def _subject(params: dict[str, Json]) -> int:
    """Return what tells apart what requests are about, as far as they say."""
    subject, tool = members(params.get("subject")), permission_tool(params)
    about = [tool.get(name) for name in ("title", "name", "kind", "rawInput")]
    about += [subject.get(name) for name in ("type", "command", "cwd")]
    if tool.get("title") is None and subject.get("command") is None:
        about.append(tool.get("toolCallId"))
    return hash(json.dumps([params.get("title"), about], sort_keys=True, default=str))
