"""Talks about requests for permission whose work is cancelled."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Call, Talk, breaks, keeps


def cancelled(talk: Talk, **idle: Any) -> Call:
    """Cancel work that asks for permission, and let it end."""
    talk.open()
    talk.accept(talk.prompt())
    talk.tool()
    call = talk.permission()
    talk.tell("session/cancel", sessionId="s1")
    talk.state("idle", stopReason="cancelled", **idle)
    return call


def dismiss(talk: Talk, call: Call) -> None:
    """Answer that nothing was chosen."""
    talk.answer(call, outcome={"outcome": "cancelled"})


def withdraw(talk: Talk, call: Call) -> None:
    """Let the agent take a request back."""
    talk.tell("$/cancel_request", side="agent", requestId=call.id)


@breaks("permission-not-withdrawn", 2)
def a_request_of_cancelled_work_stays_open(talk: Talk) -> None:
    call = cancelled(talk)
    talk.wait(5)
    dismiss(talk, call)


@breaks("permission-not-withdrawn", 2)
def a_request_of_cancelled_work_is_never_withdrawn(talk: Talk) -> None:
    cancelled(talk)
    talk.wait(5)
    talk.update("session_info_update", title="Hello")


@keeps("permission-not-withdrawn", 2)
def a_request_of_cancelled_work_is_withdrawn(talk: Talk) -> None:
    call = cancelled(talk)
    withdraw(talk, call)
    talk.wait(5)
    dismiss(talk, call)


@keeps("permission-not-withdrawn", 2)
def a_request_of_work_behind_stays_open(talk: Talk) -> None:
    call = cancelled(talk, background=[{"type": "tool_call", "toolCallId": "t1"}])
    talk.wait(5)
    talk.choose(call)


@breaks("withdrawn-permission-not-cancelled", 2)
def a_withdrawn_request_is_approved(talk: Talk) -> None:
    call = cancelled(talk)
    withdraw(talk, call)
    talk.wait(5)
    talk.choose(call)


@breaks("withdrawn-permission-not-cancelled", 2)
def a_withdrawn_request_fails_otherwise(talk: Talk) -> None:
    call = cancelled(talk)
    withdraw(talk, call)
    talk.wait(5)
    talk.refuse(call, -32603)


@keeps("withdrawn-permission-not-cancelled", 2)
def a_withdrawn_request_is_dismissed(talk: Talk) -> None:
    call = cancelled(talk)
    withdraw(talk, call)
    talk.wait(5)
    dismiss(talk, call)


def asked(talk: Talk) -> Call:
    """Ask for permission in the course of work."""
    talk.open()
    talk.accept(talk.prompt())
    talk.tool()
    return talk.permission()


@breaks("runs-without-approval", 2)
def a_dismissed_tool_call_runs(talk: Talk) -> None:
    dismiss(talk, asked(talk))
    talk.wait(5)
    talk.update("tool_call_update", toolCallId="t1", status="in_progress")


@breaks("runs-without-approval", 2)
def a_tool_call_runs_by_an_option_that_is_none(talk: Talk) -> None:
    talk.choose(asked(talk), "always")
    talk.wait(5)
    talk.update("tool_call_update", toolCallId="t1", status="completed")


@keeps("runs-without-approval", 2)
def a_dismissed_tool_call_fails(talk: Talk) -> None:
    dismiss(talk, asked(talk))
    talk.wait(5)
    talk.update("tool_call_update", toolCallId="t1", status="failed")
