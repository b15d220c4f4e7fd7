"""Talks about what goes on behind a session of version 2."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps

TOOL = {"type": "tool_call", "toolCallId": "t1"}
TERMINAL = {"type": "terminal", "terminalId": "x1"}


def idle(talk: Talk, *background: Any) -> None:
    """Say that nothing runs but this."""
    talk.state("idle", stopReason="end_turn", background=list(background))


def begun(talk: Talk, *background: Any) -> None:
    """Have a tool call and a terminal go on behind a prompt that was worked on."""
    talk.open()
    talk.accept(talk.prompt())
    talk.tool(content=[{"type": "terminal", "terminalId": "x1"}], status="in_progress")
    talk.update("terminal_update", terminalId="x1", command="sleep 1")
    idle(talk, *background)


@breaks("background-list-omitted", 2)
def a_list_is_left_out_later(talk: Talk) -> None:
    begun(talk, TERMINAL)
    talk.state("running")


@breaks("background-list-omitted", 2)
def an_empty_list_is_null_later(talk: Talk) -> None:
    begun(talk)
    talk.state("running", background=None)


@keeps("background-list-omitted", 2)
def a_list_is_told_from_some_time_on(talk: Talk) -> None:
    begun(talk)
    talk.state("running", background=[])


@breaks("unknown-background-item", 2)
def a_tool_call_is_listed_unannounced(talk: Talk) -> None:
    begun(talk, TOOL | {"toolCallId": "t2"})


@breaks("unknown-background-item", 2)
def a_terminal_is_listed_unannounced(talk: Talk) -> None:
    begun(talk, TERMINAL | {"terminalId": "t1"})


@keeps("unknown-background-item", 2)
def a_terminal_and_work_to_come_are_listed(talk: Talk) -> None:
    begun(talk, TERMINAL, {"type": "_deployment", "id": "d1"})


@breaks("unknown-background-item", 2, unstable=True)
def a_child_is_listed_unannounced(talk: Talk) -> None:
    begun(talk, {"type": "subagent", "sessionId": "s2"})


@keeps("unknown-background-item", 2, unstable=True)
def a_child_is_announced_and_listed(talk: Talk) -> None:
    talk.open()
    talk.update("subagent_update", sessionId="s2", title="Helper")
    idle(talk, {"type": "subagent", "sessionId": "s2"})


@breaks("background-item-vanishes", 2)
def a_terminal_vanishes_from_the_list(talk: Talk) -> None:
    begun(talk, TERMINAL)
    idle(talk)


@breaks("background-item-vanishes", 2)
def a_paused_tool_call_vanishes_from_the_list(talk: Talk) -> None:
    begun(talk, TOOL)
    talk.update("tool_call_update", toolCallId="t1", status="paused")
    idle(talk)


@keeps("background-item-vanishes", 2)
def a_terminal_exits_and_leaves_the_list(talk: Talk) -> None:
    begun(talk, TERMINAL)
    talk.update("terminal_update", terminalId="x1", exitStatus={})
    idle(talk)


@breaks("background-listed-twice", 2)
def a_process_is_listed_twice(talk: Talk) -> None:
    begun(talk, TERMINAL, TOOL)


@keeps("background-listed-twice", 2)
def a_process_and_another_tool_call_are_listed(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    talk.tool("t2", status="in_progress")
    talk.tool(content=[{"type": "terminal", "terminalId": "x1"}], status="in_progress")
    talk.update("terminal_update", terminalId="x1", command="sleep 1")
    idle(talk, TERMINAL, TOOL | {"toolCallId": "t2"})


@breaks("background-item-vanishes", 2)
def a_terminal_that_a_tool_call_named_is_unlisted(talk: Talk) -> None:
    talk.open()
    talk.state("running", background=[])
    talk.tool(status="in_progress", content=[{"type": "terminal", "terminalId": "x1"}])
    talk.state("running", background=[{"type": "terminal", "terminalId": "x1"}])
    talk.state("running", background=[])
