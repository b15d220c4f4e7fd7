"""An agent that takes its time."""

from __future__ import annotations

import anyio

from acp_inspector.conformance.client.checks import check_survival, expect_no_reply
from acp_inspector.conformance.client.stage import LATE_UPDATES, LATE_UPDATES_READ, Stage
from acp_inspector.conformance.model import CLIENT, V1, CaseFailedError, NotReachedError
from acp_protocol.json_values import get
from acp_protocol.jsonrpc import Request

case = CLIENT.case


@case(
    "slow.initialize",
    "Initialization",
    "The client sends nothing before the response to initialize.",
    persona="slow",
    rules=("initialize-not-first", "request-before-initialized"),
    own=True,
)
async def slow_initialize(stage: Stage) -> None:
    count = stage.notes.get("initialize")
    if count is None:
        raise NotReachedError("the client sent no initialize")
    if count > 1:
        raise CaseFailedError("the client sent more before the response to initialize")


@case(
    "slow.new-session",
    "Session setup",
    "The client sends nothing for a session before it knows the session's id.",
    persona="slow",
    own=True,
)
async def slow_new_session(stage: Stage) -> None:
    count = stage.notes.get("session/new")
    if count is None:
        raise NotReachedError("the client sent no session/new")
    if any(
        isinstance(each, Request) and each.method == "session/prompt"
        for each in stage.messages[:count]
    ):
        raise CaseFailedError("the client sent a prompt before the response to session/new")


@case(
    "slow.patient",
    "Prompt turn",
    "The client waits for the end of a turn in which nothing is sent for a while.",
    persona="slow",
)
async def patient(stage: Stage) -> None:
    with anyio.move_on_after(stage.options.delay):
        await stage.wait_for(lambda: None, "the end of a silence")
    await check_survival(stage)


@case("slow.one-prompt", profiles=V1, persona="slow", rules=("concurrent-prompts",), own=True)
async def one_prompt(stage: Stage) -> None:
    if stage.first_prompt is None or stage.turn_ended is None:
        raise NotReachedError("no turn ended")
    for each in stage.messages[stage.first_prompt + 1 : stage.turn_ended]:
        if (
            isinstance(each, Request)
            and each.method == "session/prompt"
            and get(each.params, "sessionId") == stage.session
        ):
            raise CaseFailedError("a second prompt came while the first turn ran")


@case(
    "slow.late-updates",
    "Prompt turn, Cancellation",
    "After session/cancel the client still accepts updates of tool calls, until the turn ends.",
    persona="slow",
    own=True,
)
async def late_updates(stage: Stage) -> None:
    begin = stage.notes.get(LATE_UPDATES)
    if begin is None:
        raise NotReachedError("the user cancelled no turn")
    if LATE_UPDATES_READ not in stage.notes:
        raise CaseFailedError("the client read nothing after session/cancel")
    expect_no_reply(stage, begin, "an update after session/cancel")
