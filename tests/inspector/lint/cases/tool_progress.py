"""Talks about how tool calls go on."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Call, Talk, breaks, keeps

WRAPPED: dict[str, Any] = {"type": "content", "content": {"type": "text", "text": "Hello"}}


def _begin(talk: Talk) -> Call:
    talk.open()
    prompt = talk.prompt()
    if talk.version == 2:
        talk.accept(prompt)
    talk.tool()
    return prompt


def _end(talk: Talk, prompt: Call) -> None:
    if talk.version == 2:
        talk.state("idle", stopReason="end_turn")
    else:
        talk.finish(prompt)


def _statuses(talk: Talk, *statuses: Any) -> None:
    prompt = _begin(talk)
    for status in statuses:
        talk.update("tool_call_update", toolCallId="t1", status=status)
    _end(talk, prompt)


@breaks("reopened-tool-call")
def a_completed_call_goes_on(talk: Talk) -> None:
    _statuses(talk, "completed", "in_progress")


@breaks("reopened-tool-call", 2)
def a_cancelled_call_is_pending_by_null(talk: Talk) -> None:
    _statuses(talk, "cancelled", None)


@keeps("reopened-tool-call")
def a_completed_call_is_completed_again(talk: Talk) -> None:
    _statuses(talk, "completed", "completed", None)


@keeps("reopened-tool-call", 2)
def a_paused_call_goes_on(talk: Talk) -> None:
    _statuses(talk, "in_progress", "paused", "in_progress", "completed", "completed")


@keeps("reopened-tool-call")
def a_replay_goes_through_it_again(talk: Talk) -> None:
    _statuses(talk, "failed", "failed")
    load = talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[])
    talk.say()
    talk.tool(status="in_progress")
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    talk.answer(load)


@keeps("reopened-tool-call")
def two_replays_go_through_it_again(talk: Talk) -> None:
    _statuses(talk, "failed", "failed")
    first, second = (
        talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[]) for _ in range(2)
    )
    for load in (second, first):
        talk.say()
        talk.tool(status="in_progress")
        talk.update("tool_call_update", toolCallId="t1", status="failed")
        talk.answer(load)


@breaks("tool-call-steps-back")
def a_call_is_pending_again(talk: Talk) -> None:
    _statuses(talk, "in_progress", "pending", "completed")


@breaks("tool-call-steps-back", 2)
def a_call_is_pending_again_by_null(talk: Talk) -> None:
    _statuses(talk, "in_progress", None, "completed")


@keeps("tool-call-steps-back")
def a_call_in_progress_says_nothing_new(talk: Talk) -> None:
    _statuses(talk, "pending", "in_progress", None, "completed")


@keeps("tool-call-steps-back", 2)
def a_call_in_progress_ends(talk: Talk) -> None:
    _statuses(talk, "in_progress", "cancelled")


@breaks("finished-tool-call-changes")
def content_comes_after_the_end(talk: Talk) -> None:
    prompt = _begin(talk)
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.update("tool_call_update", toolCallId="t1", content=[WRAPPED])
    _end(talk, prompt)


@breaks("finished-tool-call-changes", 2)
def a_chunk_comes_after_the_end(talk: Talk) -> None:
    prompt = _begin(talk)
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.update("tool_call_content_chunk", toolCallId="t1", content=WRAPPED)
    _end(talk, prompt)


@keeps("finished-tool-call-changes")
def content_comes_with_the_end_and_a_title_later(talk: Talk) -> None:
    prompt = _begin(talk)
    talk.update("tool_call_update", toolCallId="t1", status="completed", content=[WRAPPED])
    talk.update("tool_call_update", toolCallId="t1", title="Read main.py")
    _end(talk, prompt)


@keeps("finished-tool-call-changes", 2)
def content_is_not_touched_after_the_end(talk: Talk) -> None:
    _statuses(talk, "completed", "completed")


@breaks("runs-before-permission")
def a_call_begins_before_it_is_permitted(talk: Talk) -> None:
    prompt = _begin(talk)
    asked = talk.permission()
    talk.update("tool_call_update", toolCallId="t1", status="in_progress")
    talk.choose(asked)
    _end(talk, prompt)


@breaks("runs-before-permission", 2)
def a_call_ends_before_it_is_permitted(talk: Talk) -> None:
    prompt = _begin(talk)
    asked = talk.permission()
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.choose(asked)
    _end(talk, prompt)


@keeps("runs-before-permission")
def a_call_gets_a_title_before_it_is_permitted(talk: Talk) -> None:
    prompt = _begin(talk)
    asked = talk.permission()
    talk.update("tool_call_update", toolCallId="t1", title="Read main.py", status="pending")
    talk.choose(asked)
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    _end(talk, prompt)


@keeps("runs-before-permission", 2)
def a_call_fails_before_it_is_permitted(talk: Talk) -> None:
    prompt = _begin(talk)
    asked = talk.permission()
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    talk.choose(asked)
    _end(talk, prompt)


@breaks("runs-after-rejection")
def a_rejected_call_is_carried_out(talk: Talk) -> None:
    prompt = _begin(talk)
    talk.choose(talk.permission(), "no")
    talk.update("tool_call_update", toolCallId="t1", status="in_progress")
    _end(talk, prompt)


@breaks("runs-after-rejection", 2)
def a_cancelled_call_is_carried_out(talk: Talk) -> None:
    prompt = _begin(talk)
    talk.answer(talk.permission(), outcome={"outcome": "cancelled"})
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    _end(talk, prompt)


@breaks("runs-before-permission")
@keeps("runs-after-rejection")
@keeps("runs-after-rejection", 2)
def a_call_begins_while_its_rejection_is_on_its_way(talk: Talk) -> None:
    prompt = _begin(talk)
    asked = talk.permission()
    talk.choose(asked, "no")
    talk.at -= 0.0099
    talk.update("tool_call_update", toolCallId="t1", status="in_progress")
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    _end(talk, prompt)


@keeps("runs-after-rejection")
def a_rejected_call_fails(talk: Talk) -> None:
    prompt = _begin(talk)
    talk.choose(talk.permission(), "no")
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    _end(talk, prompt)


@keeps("runs-after-rejection", 2)
def a_rejected_call_is_permitted_after_all(talk: Talk) -> None:
    prompt = _begin(talk)
    talk.choose(talk.permission(), "no")
    talk.update("tool_call_update", toolCallId="t1", title="Read main.py")
    talk.choose(talk.permission(), "yes")
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    _end(talk, prompt)


@breaks("reopened-tool-call")
def a_request_for_permission_brings_an_ended_call_back(talk: Talk) -> None:
    talk.open()
    talk.prompt()
    talk.tool(status="completed")
    told = {"toolCallId": "t1", "title": "Read a file", "status": "in_progress"}
    talk.choose(talk.permission(toolCall=told))


@breaks("tool-call-steps-back", 2)
def a_request_for_permission_makes_a_call_pending_again(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    talk.tool(status="in_progress")
    told = {"toolCallId": "t1", "status": "pending"}
    talk.choose(talk.permission(subject={"type": "tool_call", "toolCall": told}))


@keeps("tool-call-steps-back")
def a_request_for_permission_leaves_the_status_away(talk: Talk) -> None:
    talk.open()
    talk.prompt()
    talk.tool(status="in_progress")
    talk.choose(talk.permission())


@keeps("unknown-outcome-approves", 2)
def a_call_begins_while_an_unknown_outcome_is_on_its_way(talk: Talk) -> None:
    prompt = _begin(talk)
    talk.answer(talk.permission(), outcome={"outcome": "_later"})
    talk.at -= 0.0099
    talk.update("tool_call_update", toolCallId="t1", status="in_progress")
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    _end(talk, prompt)
