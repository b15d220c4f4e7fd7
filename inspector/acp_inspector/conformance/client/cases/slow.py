"""An agent that takes its time."""

from __future__ import annotations

from functools import partial

import anyio

from acp_inspector.conformance.client.checks import check_survival, expect_no_reply
from acp_inspector.conformance.client.stage import LATE_UPDATES, LATE_UPDATES_READ, Stage
from acp_inspector.conformance.model import CLIENT, V1, CaseFailedError, NotReachedError
from acp_protocol.json_values import get
from acp_protocol.jsonrpc import Request

case = partial(CLIENT.case, persona="slow")


@case(
    "slow.initialize",
    "Initialization",
    rules=("initialize-not-first", "request-before-initialized"),
    own=True,
)
async def slow_initialize(stage: Stage) -> None:
    """The client sends nothing before the response to initialize."""
    count = stage.notes.get("initialize")
    if count is None:
        raise NotReachedError("the client sent no initialize")
    if count > 1:
        raise CaseFailedError("the client sent more before the response to initialize")


@case("slow.new-session", "Session setup", own=True)
async def slow_new_session(stage: Stage) -> None:
    """The client sends nothing for a session before it knows the session's id."""
    count = stage.notes.get("session/new")
    if count is None:
        raise NotReachedError("the client sent no session/new")
    if any(
        isinstance(each, Request) and each.method == "session/prompt"
        for each in stage.messages[:count]
    ):
        raise CaseFailedError("the client sent a prompt before the response to session/new")


@case("slow.patient", "Prompt turn")
async def patient(stage: Stage) -> None:
    """The client waits for the end of a turn in which nothing is sent for a while."""
    with anyio.move_on_after(stage.options.delay):
        await stage.wait_for(lambda: None, "the end of a silence")
    await check_survival(stage)


@case("slow.one-prompt", profiles=V1, rules=("concurrent-prompts",), own=True)
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


@case("slow.late-updates", "Prompt turn, Cancellation", own=True)
async def late_updates(stage: Stage) -> None:
    """After session/cancel the client still accepts updates of tool calls, until the turn ends."""
    begin = stage.notes.get(LATE_UPDATES)
    if begin is None:
        raise NotReachedError("the user cancelled no turn")
    if LATE_UPDATES_READ not in stage.notes:
        raise CaseFailedError("the client read nothing after session/cancel")
    expect_no_reply(stage, begin, "an update after session/cancel")
