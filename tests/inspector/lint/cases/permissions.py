"""Talks about what permission is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.inspector.lint.talk import CWD, Call, Talk, breaks, keeps

YES: dict[str, Any] = {"optionId": "yes", "name": "Allow", "kind": "allow_once"}
NO: dict[str, Any] = {"optionId": "no", "name": "Reject", "kind": "reject_once"}
ALWAYS: dict[str, Any] = {"optionId": "yes", "name": "Always", "kind": "allow_always"}
COMMAND: dict[str, Any] = {"type": "command", "command": "ls", "cwd": CWD}


def _turn(talk: Talk, *asked: Callable[[], Call]) -> None:
    """Have one turn, with requests in the midst of it that are granted."""
    talk.open()
    prompt = talk.prompt()
    if talk.version == 2:
        talk.accept(prompt)
    talk.tool()
    for each in asked:
        talk.choose(each())
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    if talk.version == 2:
        talk.state("idle", stopReason="end_turn")
    else:
        talk.finish(prompt)


def _ask(talk: Talk, **members: Any) -> None:
    _turn(talk, lambda: talk.permission(**members))


@breaks("no-permission-options")
def there_is_no_option(talk: Talk) -> None:
    _ask(talk, options=[])


@breaks("no-permission-options", 2)
def options_are_missing(talk: Talk) -> None:
    talk.open()
    talk.ask("session/request_permission", side="agent", sessionId="s1", title="May it?")


@keeps("no-permission-options")
def there_is_one_option(talk: Talk) -> None:
    _ask(talk, options=[YES])


@keeps("no-permission-options", 2)
def there_is_one_option_in_version_2(talk: Talk) -> None:
    _ask(talk, options=[YES])


@breaks("duplicate-permission-option")
def two_options_have_one_id(talk: Talk) -> None:
    _ask(talk, options=[YES, NO | {"optionId": "yes"}])


@breaks("duplicate-permission-option", 2)
def two_options_have_one_id_in_version_2(talk: Talk) -> None:
    _ask(talk, options=[YES, NO, NO])


@keeps("duplicate-permission-option")
def two_options_have_one_name(talk: Talk) -> None:
    _ask(talk, options=[YES, NO | {"name": "Allow"}])


@keeps("duplicate-permission-option", 2)
def two_options_have_one_kind(talk: Talk) -> None:
    _ask(talk, options=[YES, YES | {"optionId": "sure"}])


@breaks("incomplete-permission-option")
def an_option_has_a_label_for_a_name(talk: Talk) -> None:
    _ask(talk, options=[{"optionId": "yes", "label": "Allow", "kind": "allow_once"}])


@breaks("incomplete-permission-option", 2)
def an_option_has_no_kind(talk: Talk) -> None:
    _ask(talk, options=[{"optionId": "yes", "name": "Allow"}])


@keeps("incomplete-permission-option")
def an_option_has_all_three(talk: Talk) -> None:
    _ask(talk, options=[YES | {"name": ""}])


@keeps("incomplete-permission-option", 2)
def an_option_of_ones_own_kind_has_all_three(talk: Talk) -> None:
    _ask(talk, options=[YES, NO | {"kind": "_later"}])


@breaks("unknown-option-kind")
def a_kind_of_option_is_made_up(talk: Talk) -> None:
    _ask(talk, options=[YES, NO | {"kind": "_later"}])


@keeps("unknown-option-kind")
def all_kinds_of_options_are_offered(talk: Talk) -> None:
    kinds = ("allow_once", "allow_always", "reject_once", "reject_always")
    _ask(talk, options=[YES, *({"optionId": kind, "name": kind, "kind": kind} for kind in kinds)])


@breaks("permission-without-tool-call")
def the_tool_call_is_left_out(talk: Talk) -> None:
    talk.open()
    talk.ask("session/request_permission", side="agent", sessionId="s1", options=[YES, NO])


@breaks("permission-without-tool-call")
def the_tool_call_has_an_id_of_another_name(talk: Talk) -> None:
    _ask(talk, toolCall={"id": "t1", "title": "Read"})


@keeps("permission-without-tool-call")
def the_tool_call_is_there(talk: Talk) -> None:
    _ask(talk, toolCall={"toolCallId": "t1"})


@breaks("permission-without-title", 2)
def a_request_has_no_title(talk: Talk) -> None:
    talk.open()
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "t1", "title": "Read"}}
    talk.ask(
        "session/request_permission", side="agent", sessionId="s1", options=[NO], subject=subject
    )


@breaks("permission-without-title", 2)
def a_request_is_that_of_version_1(talk: Talk) -> None:
    _ask(talk, toolCall={"toolCallId": "t1", "title": "Read"})


@keeps("permission-without-title", 2)
def a_request_has_no_subject(talk: Talk) -> None:
    _ask(talk, subject=None)


@breaks("incomplete-command-subject", 2)
def a_command_runs_anywhere(talk: Talk) -> None:
    _ask(talk, subject={"type": "command", "command": "ls"})


@breaks("incomplete-command-subject", 2)
def a_command_is_an_array(talk: Talk) -> None:
    _ask(talk, subject=COMMAND | {"command": ["ls"]})


@keeps("incomplete-command-subject", 2)
def a_command_runs_in_a_directory(talk: Talk) -> None:
    _ask(talk, subject=COMMAND)


@breaks("permission-for-finished-call")
def permission_comes_too_late(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.tool(status="completed")
    talk.choose(talk.permission("t1"))
    talk.finish(prompt)


@breaks("permission-for-finished-call", 2)
def permission_for_a_command_comes_too_late(talk: Talk) -> None:
    talk.open()
    talk.tool(status="failed")
    talk.choose(talk.permission(subject=COMMAND | {"toolCallId": "t1"}))


@keeps("permission-for-finished-call")
def permission_comes_in_time(talk: Talk) -> None:
    _ask(talk)


@keeps("permission-for-finished-call", 2)
def permission_for_a_command_comes_in_time(talk: Talk) -> None:
    _ask(talk, subject=COMMAND | {"toolCallId": "t1"})


def _subject(title: str) -> dict[str, Any]:
    return {"type": "tool_call", "toolCall": {"toolCallId": "t1", "title": title}}


@breaks("permission-renames-call", 2)
def asking_renames_the_tool_call(talk: Talk) -> None:
    _ask(talk, subject=_subject("May it read a file?"))


@keeps("permission-renames-call", 2)
def asking_repeats_the_title(talk: Talk) -> None:
    _ask(talk, subject=_subject("Read a file"))


@breaks("no-reject-option")
def one_can_only_allow(talk: Talk) -> None:
    _ask(talk, options=[YES])


@breaks("no-reject-option", 2)
def one_can_only_allow_in_version_2(talk: Talk) -> None:
    _ask(talk, options=[YES, ALWAYS | {"optionId": "always"}])


@keeps("no-reject-option")
def one_can_reject_for_good(talk: Talk) -> None:
    _ask(talk, options=[YES, NO | {"kind": "reject_always"}])


@keeps("no-reject-option", 2)
def one_can_reject_once(talk: Talk) -> None:
    _ask(talk, options=[NO, YES])


@breaks("repeated-permission-request")
def the_same_is_asked_again(talk: Talk) -> None:
    _turn(talk, *[lambda: talk.permission(options=[ALWAYS, NO])] * 2)


@breaks("repeated-permission-request", 2)
def the_same_command_is_asked_again(talk: Talk) -> None:
    _turn(talk, *[lambda: talk.permission(options=[ALWAYS, NO], subject=COMMAND)] * 2)


@keeps("repeated-permission-request")
def the_same_is_asked_again_after_it_was_allowed_once(talk: Talk) -> None:
    _turn(talk, *[talk.permission] * 2)


@keeps("repeated-permission-request", 2)
def another_command_is_asked_for(talk: Talk) -> None:
    _turn(
        talk,
        lambda: talk.permission(options=[ALWAYS, NO], subject=COMMAND),
        lambda: talk.permission(options=[ALWAYS, NO], subject=COMMAND | {"command": "rm"}),
    )
