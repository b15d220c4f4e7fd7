"""Talks about slash commands."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps


def command(version: int = 1, /, **members: Any) -> dict[str, Any]:
    """Return a command."""
    kind = {} if version == 1 else {"type": "command"}
    return kind | {"name": "review", "description": "Review the changes"} | members


def offered(talk: Talk, *commands: dict[str, Any]) -> None:
    """Tell of commands."""
    if not any(b"session/new" in getattr(each, "data", b"") for each in talk.entries):
        talk.open()
    talk.update("available_commands_update", availableCommands=list(commands))


@breaks("incomplete-command")
def a_command_has_no_description(talk: Talk) -> None:
    offered(talk, {"name": "review"})


@breaks("incomplete-command", 2)
def a_command_has_no_type(talk: Talk) -> None:
    offered(talk, command())


@keeps("incomplete-command", 2)
def a_command_has_a_type_of_its_own(talk: Talk) -> None:
    offered(talk, command(2, type="_workflow"))


@breaks("malformed-command-name", 2)
def a_name_has_a_slash(talk: Talk) -> None:
    offered(talk, command(2, name="/review"))


@breaks("malformed-command-name", 2)
def a_name_has_two_words(talk: Talk) -> None:
    offered(talk, command(2, name="review all"))


@keeps("malformed-command-name", 2)
def a_name_has_a_slash_within(talk: Talk) -> None:
    offered(talk, command(2, name="git/review"))


@breaks("duplicate-command")
def two_commands_share_a_name(talk: Talk) -> None:
    offered(talk, command(), command(description="Again"))


@keeps("duplicate-command")
def two_names_differ_in_case(talk: Talk) -> None:
    offered(talk, command(), command(name="Review"))


@breaks("command-input-without-hint")
def input_has_no_hint(talk: Talk) -> None:
    offered(talk, command(input={}))


@keeps("command-input-without-hint")
def input_has_an_empty_hint(talk: Talk) -> None:
    offered(talk, command(input={"hint": ""}))


@breaks("malformed-command-input", 2)
def input_has_no_type(talk: Talk) -> None:
    offered(talk, command(2, input={"hint": "what"}))


@breaks("malformed-command-input", 2)
def text_has_no_hint(talk: Talk) -> None:
    offered(talk, command(2, input={"type": "text"}))


@keeps("malformed-command-input", 2)
def input_of_its_own_kind_needs_no_hint(talk: Talk) -> None:
    offered(talk, command(2, input={"type": "_file"}))


@breaks("unknown-command")
def a_command_is_typed_that_was_not_offered(talk: Talk) -> None:
    offered(talk, command())
    talk.turn("/revise all")


@keeps("unknown-command")
def a_command_is_typed_with_input(talk: Talk) -> None:
    offered(talk, command())
    talk.turn("/review all")


@breaks("misplaced-commands")
def commands_are_in_the_result(talk: Talk) -> None:
    talk.initialize()
    talk.new_session(availableCommands=[command()])


@keeps("misplaced-commands")
def commands_follow_the_result(talk: Talk) -> None:
    offered(talk, command())


@breaks("partial-command-list")
def a_list_is_a_change_alone(talk: Talk) -> None:
    offered(talk, command(), command(name="plan"), command(name="test"))
    offered(talk, command(name="lint"))


@keeps("partial-command-list")
def a_list_loses_one(talk: Talk) -> None:
    offered(talk, command(), command(name="plan"), command(name="test"))
    offered(talk, command(), command(name="test"))
