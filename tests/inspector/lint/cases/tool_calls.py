"""Talks about what is told of tool calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps

TEXT: dict[str, Any] = {"type": "text", "text": "Hello"}


def _turn(talk: Talk, *told: Callable[[], Any]) -> None:
    """Have one turn, with what is told in the midst of it, and the tool call t1 ended."""
    talk.open()
    prompt = talk.prompt()
    if talk.version == 2:
        talk.accept(prompt)
    for each in told:
        each()
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    if talk.version == 2:
        talk.state("idle", stopReason="end_turn")
    else:
        talk.finish(prompt)


def _tool(talk: Talk, **members: Any) -> None:
    """Have one turn with a tool call."""
    _turn(talk, lambda: talk.tool(**members))


def _update(talk: Talk, **members: Any) -> int:
    return talk.update("tool_call_update", toolCallId="t1", **members)


@breaks("unannounced-tool-call")
def a_tool_call_is_updated_unannounced(talk: Talk) -> None:
    talk.open()
    _update(talk, status="completed")


@keeps("unannounced-tool-call")
def a_tool_call_is_announced_by_asking(talk: Talk) -> None:
    _turn(talk, lambda: talk.choose(talk.permission("t1")))


@breaks("incomplete-tool-call")
def a_tool_call_has_no_title(talk: Talk) -> None:
    talk.open()
    talk.update("tool_call", toolCallId="t1", name="Read")


@breaks("incomplete-tool-call")
def a_tool_call_has_no_id(talk: Talk) -> None:
    talk.open()
    talk.update("tool_call", id="t1", title="Read")


@keeps("incomplete-tool-call")
def a_tool_call_has_id_and_title(talk: Talk) -> None:
    _turn(talk, lambda: talk.update("tool_call", toolCallId="t1", title=""))


@breaks("duplicate-tool-call")
def a_tool_call_is_announced_twice(talk: Talk) -> None:
    _turn(talk, talk.tool, talk.tool)


@keeps("duplicate-tool-call")
def a_tool_call_is_announced_after_asking(talk: Talk) -> None:
    _turn(talk, lambda: talk.choose(talk.permission("t1")), talk.tool)


@keeps("duplicate-tool-call")
def a_tool_call_is_announced_again_in_a_replay(talk: Talk) -> None:
    _tool(talk)
    load = talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[])
    talk.update("user_message_chunk", content=TEXT)
    talk.tool(status="completed")
    talk.answer(load)


@breaks("untitled-tool-call", 2)
def a_first_update_has_no_title(talk: Talk) -> None:
    _turn(talk, lambda: _update(talk, kind="read"))


@keeps("untitled-tool-call", 2)
def a_second_update_has_no_title(talk: Talk) -> None:
    _tool(talk, title="Read")


@breaks("unknown-tool-status")
def a_status_of_version_2_is_used(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _update(talk, status="cancelled"))


@breaks("unknown-tool-status")
def a_status_is_written_otherwise(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _update(talk, status="inProgress"))


@keeps("unknown-tool-status")
def a_status_is_known(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _update(talk, status="in_progress"))


@breaks("reserved-tool-status", 2)
def a_status_of_ones_own_has_no_underscore(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _update(talk, status="done"))


@keeps("reserved-tool-status", 2)
def a_status_of_ones_own_has_an_underscore(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _update(talk, status="_streaming"))


@breaks("unknown-tool-kind")
def a_kind_is_made_up(talk: Talk) -> None:
    _tool(talk, kind="_bash")


@breaks("unknown-tool-kind")
def a_kind_is_made_up_in_a_request(talk: Talk) -> None:
    _turn(
        talk,
        lambda: talk.choose(
            talk.permission(toolCall={"toolCallId": "t1", "title": "Run", "kind": "bash"})
        ),
    )


@keeps("unknown-tool-kind")
def a_kind_switches_the_mode(talk: Talk) -> None:
    _tool(talk, kind="switch_mode")


@breaks("reserved-tool-kind", 2)
def a_kind_of_ones_own_has_no_underscore(talk: Talk) -> None:
    _tool(talk, kind="bash")


@keeps("reserved-tool-kind", 2)
def a_kind_of_ones_own_has_an_underscore(talk: Talk) -> None:
    _tool(talk, kind="_bash")


@breaks("raw-data-not-object")
def raw_input_is_a_string(talk: Talk) -> None:
    _tool(talk, rawInput="ls -l")


@breaks("raw-data-not-object", 2)
def raw_output_is_a_list(talk: Talk) -> None:
    _tool(talk, rawOutput=["a", "b"])


@keeps("raw-data-not-object")
def raw_input_is_an_object(talk: Talk) -> None:
    _tool(talk, rawInput={"command": "ls -l"}, rawOutput=None)


@keeps("raw-data-not-object", 2)
def raw_output_is_an_empty_object(talk: Talk) -> None:
    _tool(talk, rawOutput={})


@breaks("tool-name-changes")
def a_tool_changes_its_name(talk: Talk) -> None:
    _turn(talk, lambda: talk.tool(name="read"), lambda: _update(talk, name="Read"))


@breaks("tool-name-changes")
def a_tool_changes_its_name_after_a_null_that_clears_nothing(talk: Talk) -> None:
    changed = {"name": None}, {"name": "write"}
    _turn(
        talk, lambda: talk.tool(name="read"), *(partial(_update, talk, **each) for each in changed)
    )


@breaks("tool-name-changes", 2)
def a_tool_changes_its_name_in_version_2(talk: Talk) -> None:
    _turn(talk, lambda: talk.tool(name="read"), lambda: _update(talk, name="write"))


@keeps("tool-name-changes")
def a_tool_gets_its_name_later(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _update(talk, name="read"), lambda: _update(talk, name="read"))


@keeps("tool-name-changes", 2)
def a_tool_keeps_its_name(talk: Talk) -> None:
    _turn(talk, lambda: talk.tool(name="read"), lambda: _update(talk, name="read"))


@breaks("null-clears-nothing")
def a_title_is_to_be_cleared(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _update(talk, title=None))


@breaks("null-clears-nothing")
def a_kind_is_to_be_cleared(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _update(talk, kind=None))


@keeps("null-clears-nothing")
def a_title_is_replaced(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _update(talk, title="", status=None))
