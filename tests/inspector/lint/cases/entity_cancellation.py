"""Talks in which single tool calls and terminals are cancelled."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Call, Talk, breaks, keeps

OFFER: Any = {"cancel": {}}


def begun(talk: Talk, tool: Any = OFFER, terminal: Any = OFFER) -> None:
    """Have a tool call and a terminal run."""
    talk.open()
    talk.accept(talk.prompt())
    talk.tool(status="in_progress", capabilities=tool)
    talk.update("terminal_update", terminalId="x1", command="make", capabilities=terminal)


def cancel_tool(talk: Talk, id_: str = "t1") -> Call:
    """Ask for the end of a tool call."""
    return talk.ask("tool_call/cancel", sessionId="s1", toolCallId=id_)


def cancel_terminal(talk: Talk, id_: str = "x1") -> Call:
    """Ask for the end of a terminal."""
    return talk.ask("terminal/cancel", sessionId="s1", terminalId=id_)


def finish(talk: Talk) -> None:
    """Let both end, and withdraw the offers."""
    talk.update("tool_call_update", toolCallId="t1", status="cancelled", capabilities=None)
    talk.update("terminal_update", terminalId="x1", exitStatus={}, capabilities=None)
    talk.wait(60)
    talk.state("idle", stopReason="cancelled")


@breaks("tool-cancel-not-offered", 2)
def a_tool_call_is_cancelled_without_an_offer(talk: Talk) -> None:
    begun(talk, tool={})
    talk.refuse(cancel_tool(talk), -32602)


@breaks("tool-cancel-not-offered", 2)
def a_tool_call_is_cancelled_long_after_the_offer(talk: Talk) -> None:
    begun(talk)
    talk.update("tool_call_update", toolCallId="t1", capabilities=None)
    talk.wait(5)
    talk.refuse(cancel_tool(talk), -32602)


@keeps("tool-cancel-not-offered", 2)
def a_tool_call_is_cancelled_as_the_offer_is_withdrawn(talk: Talk) -> None:
    begun(talk)
    talk.update("tool_call_update", toolCallId="t1", capabilities=None)
    talk.refuse(cancel_tool(talk), -32602)


@breaks("terminal-cancel-not-offered", 2)
def a_terminal_is_cancelled_without_an_offer(talk: Talk) -> None:
    begun(talk, terminal=None)
    talk.refuse(cancel_terminal(talk), -32602)


@breaks("terminal-cancel-not-offered", 2)
def a_terminal_is_cancelled_by_the_id_of_a_tool_call(talk: Talk) -> None:
    begun(talk)
    talk.refuse(cancel_terminal(talk, "t1"), -32602)


@keeps("terminal-cancel-not-offered", 2)
def a_terminal_is_cancelled_that_offers_it(talk: Talk) -> None:
    begun(talk)
    talk.answer(cancel_terminal(talk))
    finish(talk)


@breaks("cancelled-call-not-final", 2)
def a_cancelled_tool_call_goes_on(talk: Talk) -> None:
    begun(talk)
    talk.answer(cancel_tool(talk))
    talk.wait(60)
    talk.update("tool_call_update", toolCallId="t1", status="in_progress")


@keeps("cancelled-call-not-final", 2)
def a_cancelled_tool_call_completes(talk: Talk) -> None:
    begun(talk)
    talk.answer(cancel_tool(talk))
    talk.update("tool_call_update", toolCallId="t1", status="completed", capabilities=None)
    talk.wait(60)
    talk.state("idle", stopReason="end_turn")


@breaks("cancelled-terminal-without-exit", 2)
def a_cancelled_terminal_never_exits(talk: Talk) -> None:
    begun(talk)
    talk.answer(cancel_terminal(talk))
    talk.update("tool_call_update", toolCallId="t1", status="cancelled")
    talk.wait(60)
    talk.state("running")


@keeps("cancelled-terminal-without-exit", 2)
def a_cancelled_terminal_exits_without_a_code(talk: Talk) -> None:
    begun(talk)
    talk.answer(cancel_terminal(talk))
    finish(talk)


@breaks("invalid-cancel-accepted", 2)
def an_unknown_tool_call_is_cancelled(talk: Talk) -> None:
    begun(talk)
    talk.answer(cancel_tool(talk, "t2"))


@breaks("invalid-cancel-accepted", 2)
def an_agent_without_offers_does_not_know_the_method(talk: Talk) -> None:
    begun(talk, terminal=None)
    talk.refuse(cancel_terminal(talk), -32601)


@breaks("invalid-cancel-accepted", 2)
def an_ended_tool_call_is_cancelled(talk: Talk) -> None:
    begun(talk)
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.answer(cancel_tool(talk))


@keeps("invalid-cancel-accepted", 2)
def a_tool_call_without_offer_is_not_cancelled(talk: Talk) -> None:
    begun(talk)
    talk.update("tool_call_update", toolCallId="t1", capabilities=None)
    talk.refuse(cancel_tool(talk), -32602)


@keeps("invalid-cancel-accepted", 2, despite=("closed-session-used", "tool-cancel-not-offered"))
def a_tool_call_of_a_closed_session_is_not_found(talk: Talk) -> None:
    begun(talk, tool=None)
    talk.refuse(cancel_tool(talk), -32602)
    finish(talk)
    talk.answer(talk.ask("session/close", sessionId="s1"))
    talk.refuse(cancel_tool(talk), -32002, "Resource not found", {"sessionId": "s1"})


@breaks("cancel-still-offered", 2)
def an_ended_tool_call_offers_to_be_cancelled(talk: Talk) -> None:
    begun(talk)
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.state("idle", stopReason="end_turn")


@breaks("cancel-still-offered", 2)
def an_exited_terminal_offers_to_be_cancelled(talk: Talk) -> None:
    begun(talk)
    talk.update("terminal_update", terminalId="x1", exitStatus={"exitCode": 0})
    talk.state("idle", stopReason="end_turn")


@keeps("cancel-still-offered", 2)
def offers_are_withdrawn_right_after_the_end(talk: Talk) -> None:
    begun(talk)
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.update("tool_call_update", toolCallId="t1", capabilities={"cancel": None})
    talk.update("terminal_update", terminalId="x1", exitStatus={}, capabilities=None)
    talk.state("idle", stopReason="end_turn")


@breaks("wrong-pause", 2)
def a_pending_tool_call_is_paused(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    talk.tool()
    talk.update("tool_call_update", toolCallId="t1", status="paused")


@keeps("wrong-pause", 2)
def a_tool_call_is_paused_twice(talk: Talk) -> None:
    begun(talk)
    talk.tool("t2", status="paused")
    for status in ("paused", "paused", "in_progress", "paused", "completed"):
        talk.update("tool_call_update", toolCallId="t1", status=status, capabilities=None)
