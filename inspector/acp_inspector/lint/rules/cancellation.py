"""Cancellation of requests and of turns.

Source: ACP, "Cancellation".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, cast

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, EndContext, Problem, quoted
from acp_inspector.lint.registry import LintSubject, check, details, fix, track
from acp_inspector.lint.rules.envelope import LastNotifications
from acp_inspector.lint.rules.prompt_turn import after_cancelled_turn
from acp_inspector.lint.rules.v2_turn_state import foreground
from acp_inspector.lint.state import Point, SentRequest, opposite
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import REQUEST_CANCELLED, Json, RequestId, id_key, is_request_id
from acp_protocol.schema.vocabulary import CLOSING, OUTPUT

rule = LintSubject("cancellation", page="cancellation.mdx")
prompt_turn = LintSubject("prompt-turn", page="prompt-turn.mdx")

CANCEL: Final = "$/cancel_request"
GRACE_S: Final = 10.0
"""Seconds in which a cancelled request should be answered."""


@rule.warning(349, "implied", "sender", on.notification(CANCEL))
@fix("Cancel requests of your own that wait for their responses.")
def unknown_request_cancelled(context: Context) -> CheckResult:
    """`$/cancel_request.requestId` is an id that its sender issued and that is still pending;
    otherwise it is ignored.
    """
    id_: Json = context.params.get("requestId")
    if id_ is None or not is_request_id(id_):
        return None
    key = (context.side, *id_key(cast("RequestId", id_)))
    if key in context.state.requests or _request_with_other_id_type(context, id_) is not None:
        return OK
    answered = context.state.responded.get(key)
    if answered is None:
        if context.state.initialize is None:
            # The recording began in the middle.
            return None
        return context.problem(
            f"no request with the id {quoted(id_)} waits for a response", at="requestId"
        )
    if answered.responded is not None and not context.had_received(answered.responded):
        # The response and the cancellation crossed.
        return OK
    return context.problem(
        f"{answered.method} with the id {quoted(id_)} was answered before",
        answered,
        answered.responded,
        at="requestId",
    )


@rule.error(352, "schema", "sender", on.notification(CANCEL))
@fix("Name the request's id as requestId, type and all.")
def malformed_cancel(context: Context) -> CheckResult:
    """`requestId` is present and has the type of the original id."""
    id_: Json = context.params.get("requestId")
    if id_ is None or not is_request_id(id_):
        what = f"is {quoted(id_)}" if "requestId" in context.params else "is missing"
        return context.problem(f"requestId {what}", at="requestId")
    key = (context.side, *id_key(cast("RequestId", id_)))
    alike = None if key in context.state.requests else _request_with_other_id_type(context, id_)
    if alike is not None:
        return context.problem(
            f"requestId {quoted(id_)} is that of the request {quoted(alike.id)} in another type",
            alike,
            at="requestId",
        )
    return OK


def _request_with_other_id_type(context: Context, id_: Json) -> SentRequest | None:
    """Return the pending request whose id differs only in type, unless `id_` was used."""
    if (context.side, *id_key(cast("RequestId", id_))) in context.state.responded:
        return None
    return context.state.request_with_other_id_type(context.side, cast("RequestId", id_))


@rule.error(350, "must", "receiver", on.response())
@fix("Send a response to cancelled requests, if necessary the error -32800.")
def cancelled_request_unanswered(context: Context) -> CheckResult:
    """A request named by a cancel notification is still answered (result or -32800)."""
    return OK if context.request is not None and context.request.cancelled is not None else None


@check("cancelled-request-unanswered", on.END)
def cancelled_requests_were_answered(ending: EndContext) -> CheckResult:
    found: list[Problem] = []
    for ask in ending.state.open():
        if ask.cancelled is None or ask.is_refused:
            continue
        if ending.point.time - ask.cancelled.time > GRACE_S:
            text = f"{ask.method} with the id {quoted(ask.id)} was cancelled, but never answered"
            found.append(Problem(text, (ask.seq, ask.cancelled.seq)))
    return tuple(found) or None


@rule.error(351, "must", "receiver", on.response(), exercised_by=on.notification(CANCEL))
@fix("Do not answer $/cancel_request.")
def cancel_answered(context: Context) -> CheckResult:
    """`$/cancel_request` itself is never answered."""
    notification = context.state.of(LastNotifications).get(opposite(context.side))
    if context.id is not None or notification is None or notification.method != CANCEL:
        return None
    if context.state.last.get(notification.side) is not notification.frame:
        return None
    return context.problem(f"{CANCEL} was answered", notification.point)


@rule.info(353, "should", "responder", on.error())
@fix("Say in data what cancelled the request.")
def self_cancelled_request(context: Context) -> CheckResult:
    """-32800 without a preceding cancel means internal cancellation; report its source.

    `session/cancel` and the end of the session also end a prompt.
    """
    ask = context.request
    if ask is None or context.code != REQUEST_CANCELLED:
        return None
    if ask.cancelled is not None or _ends_with_session(context, ask):
        return OK
    return context.problem(
        f"{ask.method} reports that it was cancelled, but no cancellation was sent", ask
    )


def _ends_with_session(context: Context, ask: SentRequest) -> bool:
    own = context.state.of(Cancels)
    for points in (own.cancels, own.ends):
        point = points.get(ask.session or "")
        if point is not None and point.seq > ask.seq:
            return True
    return False


@rule.warning(354, "heuristic", "responder", on.response())
@fix("Answer a cancelled request at once.")
def slow_cancel(context: Context) -> CheckResult:
    """A cancelled request is answered within a reasonable time."""
    ask = context.request
    if ask is None or ask.cancelled is None:
        return None
    took = context.time - ask.cancelled.time
    if took > GRACE_S:
        return context.problem(
            f"{ask.method} is answered {took:.0f} seconds after it was cancelled",
            ask,
            ask.cancelled,
        )
    return OK


@rule.info(355, "heuristic", "client", on.response("session/prompt"), version=1)
@fix("Cancel prompts with session/cancel.")
def wrong_prompt_cancel(context: Context) -> CheckResult:
    """A prompt is cancelled with `session/cancel`, not only with `$/cancel_request`."""
    ask = context.request
    if ask is None or ask.cancelled is None:
        return None
    if _ends_with_session(context, ask):
        return OK
    return context.problem(f"the prompt was cancelled by {CANCEL} only", ask, ask.cancelled)


@rule.warning(356, "heuristic", "agent", on.response("session/prompt"), on.update("state_update"))
@fix("Cancel your own requests before you report that the work was cancelled.")
def agent_request_outlives_cancel(context: Context) -> CheckResult:
    """After `session/cancel` the Agent's own open requests are cancelled or answered before the
    confirmation.

    In version 2, listed background work may still send requests.
    """
    session = context.session
    if session is None or session.cancel is None:
        return None
    cancel, since = session.cancel, 0
    if context.version == 2:
        if context.variant != "state_update" or context.update.get("state") != "idle":
            return None
        began = foreground(context).began
        since = 0 if began is None else began.seq
    elif context.request is None:
        return None
    else:
        since = context.request.seq
    behind = _behind(context)
    for ask in context.state.waiting("agent", session=session.id):
        if since < ask.seq < cancel.seq and ask.cancelled is None and not _is_of(ask, behind):
            return context.problem(
                f"the work was cancelled, but {ask.method} is left open", ask, cancel
            )
    return OK


def _behind(context: Context) -> set[str]:
    listed = map(as_object, as_list(context.update.get("background")))
    return {id_ for each in listed if isinstance(id_ := each.get("toolCallId"), str)}


def _is_of(ask: SentRequest, behind: set[str]) -> bool:
    subject = as_object(ask.params.get("subject"))
    tool = as_object(subject.get("toolCall")) or subject
    id_ = tool.get("toolCallId")
    return isinstance(id_, str) and id_ in behind


@dataclass(slots=True)
class Cancels:
    """The newest cancellation of each session, and other reasons for an early end of a turn."""

    cancels: dict[str, Point] = field(default_factory=dict[str, Point])
    ends: dict[str, Point] = field(default_factory=dict[str, Point])
    """The newest `session/close`, or the like, or dismissed permission."""


@track(on.notification("session/cancel"))
def _keep_cancel(context: Context) -> None:
    if context.session_id is not None and context.session is not None:
        context.state.of(Cancels).cancels[context.session_id] = context.point


@track(on.request(*CLOSING, "session/archive"))
def _keep_end(context: Context) -> None:
    if context.session_id is not None and context.session is not None:
        context.state.of(Cancels).ends[context.session_id] = context.point


@track(on.result("session/request_permission", "elicitation/create"))
def _keep_dismissal(context: Context) -> None:
    if context.session_id is None or context.session is None:
        return
    outcome = as_object(context.result_object.get("outcome")).get("outcome")
    if outcome == "cancelled" or context.result_object.get("action") == "cancel":
        context.state.of(Cancels).ends[context.session_id] = context.point


def _known_cancel(context: Context, ask: SentRequest) -> Point | None:
    """Return the cancellation of a turn if the agent must have received it."""
    cancel = None if context.session is None else context.session.cancel
    if cancel is None or cancel.seq < ask.seq or not context.ends_after(cancel):
        return None
    return cancel


@prompt_turn.error(145, "must", "agent", on.result("session/prompt"), version=1)
@fix("End a cancelled prompt with the stop reason cancelled.")
def cancel_not_confirmed(context: Context) -> CheckResult:
    """After `session/cancel` the pending prompt ends with `stopReason:"cancelled"`. Exempt:
    responses already on the wire (no agent message seen between cancel and response, or response
    within a small window).
    """
    ask = context.request
    if ask is None or (cancel := _known_cancel(context, ask)) is None:
        return None
    reason = context.result_object.get("stopReason")
    if reason == "cancelled":
        return OK
    return context.problem(
        f"the turn was cancelled, but ends with {quoted(reason)}", ask, cancel, at="stopReason"
    )


@prompt_turn.info(522, "heuristic", "agent", on.result("session/prompt"))
@fix("End a cancelled turn with the stop reason cancelled.")
def cancel_seems_ignored(context: Context) -> CheckResult:
    """A turn that ends after `session/cancel` was sent, and was not sent at the same time, ends
    with `cancelled`, even if nothing proves that the agent had received it.

    Flag turns that end as usual a while after a cancellation that the agent may have missed.
    """
    ask, session = context.request, context.session
    cancel = None if session is None else session.cancel
    if ask is None or cancel is None or cancel.seq < ask.seq or context.has_crossed(cancel):
        return None
    reason = context.result_object.get("stopReason")
    if reason == "cancelled" or context.ends_after(cancel):
        return OK
    return context.problem(
        f"the turn ends with {quoted(reason)} after it was cancelled", ask, cancel, at="stopReason"
    )


@prompt_turn.error(146, "must", "agent", on.response("session/prompt"), version=1)
@fix("Catch what aborting throws, and answer with the stop reason cancelled.")
def cancelled_prompt_fails(context: Context) -> CheckResult:
    """A cancelled prompt is not answered with a JSON-RPC error (except -32800 after
    `$/cancel_request`).
    """
    ask = context.request
    if ask is None or (cancel := _known_cancel(context, ask)) is None:
        return None
    if context.kind == "result" or (
        context.code == REQUEST_CANCELLED and ask.cancelled is not None
    ):
        return OK
    return context.problem(
        f"the turn was cancelled, but ends with the error {context.code}", ask, cancel
    )


@prompt_turn.warning(147, "implied", "agent", on.result("session/prompt"), version=1)
@fix("Use cancelled only if the client cancelled.")
def unrequested_cancelled(context: Context) -> CheckResult:
    """`stopReason:"cancelled"` appears only after a `session/cancel`, `session/close` or
    `$/cancel_request`.

    A dismissed permission request counts as a request for cancellation.
    """
    ask, session = context.request, context.session
    if context.result_object.get("stopReason") != "cancelled" or ask is None or session is None:
        return None
    own = context.state.of(Cancels)
    points = (own.cancels.get(session.id), own.ends.get(session.id), ask.cancelled)
    if any(point is not None and point.seq > ask.seq for point in points):
        return OK
    return context.problem(
        "the turn ends as cancelled, but the client did not cancel it", ask, at="stopReason"
    )


@prompt_turn.error(148, "must", "agent", on.update(*OUTPUT), version=1)
@fix("Send remaining updates before you respond to a cancelled prompt.")
def update_after_cancelled_turn(context: Context) -> CheckResult:
    """After cancellation, no more updates of that turn follow the prompt response.

    It is reported only soon after the response, or if it is about a tool call of that turn.
    """
    session = context.session
    if session is None or session.last_prompt is None or session.last_prompt.responded is None:
        return None if session is None or session.cancel is None else OK
    ask = after_cancelled_turn(context, session)
    if ask is None:
        return None
    return context.problem(
        f"{context.variant} follows the response to the cancelled prompt", ask, ask.responded
    )


@prompt_turn.warning(
    151,
    "should",
    "agent",
    on.update("tool_call"),
    on.request("session/request_permission"),
    version=1,
)
@fix("Begin nothing new after session/cancel.")
def work_after_cancel(context: Context) -> CheckResult:
    """After receiving `session/cancel` no new tool call is started and no new permission is
    requested.
    """
    session = context.session
    if session is None or session.cancel is None:
        return None
    if context.kind == "notification":
        id_ = context.update.get("toolCallId")
        if isinstance(id_, str) and id_ in session.tools:
            return OK
    if not context.had_received(session.cancel):
        return OK
    what = "a request for permission" if context.kind == "request" else "a tool call"
    return context.problem(f"{what} begins after the turn was cancelled", session.cancel)


@prompt_turn.info(153, "heuristic", "client", on.notification("session/cancel"), version=1)
@fix("Cancel while a prompt has no response yet.")
def cancel_without_turn(context: Context) -> CheckResult:
    """`session/cancel` without a running prompt has no effect."""
    session = context.session
    if session is None:
        return None
    last = session.last_prompt
    if session.is_busy:
        return OK
    if last is not None and last.responded is not None and not context.had_received(last.responded):
        # The response and the cancellation crossed.
        return OK
    return context.problem(
        f"session {quoted(session.id)} works on no prompt that could be cancelled",
        None if last is None else last.responded,
    )


@prompt_turn.error(157, "must", "client", on.response("session/request_permission"), version=1)
@details(source="prompt-turn.mdx", since="2026-11", case="permission.cancelled")
@fix("Answer every open request for permission with the outcome cancelled.")
def permission_not_cancelled(context: Context) -> CheckResult:
    """After `session/cancel` every pending `session/request_permission` of the session gets outcome
    `cancelled` (or -32800 if the Agent cancelled that request). v2 moved this duty to the Agent
    (permission-not-withdrawn).
    """
    ask, session = context.request, context.session
    if ask is None or session is None:
        return None
    cancel = context.state.of(Cancels).cancels.get(session.id)
    if cancel is None or cancel.seq < ask.seq:
        return None
    if context.kind == "failure":
        if context.code == REQUEST_CANCELLED and ask.cancelled is not None:
            return OK
        return context.problem(
            f"after session/cancel the request for permission gets the error {context.code}",
            ask,
            cancel,
        )
    outcome = as_object(context.result_object.get("outcome")).get("outcome")
    if outcome == "cancelled":
        return OK
    return context.problem(
        f"after session/cancel the request for permission gets {quoted(outcome)}",
        ask,
        cancel,
        path="result.outcome.outcome",
    )
