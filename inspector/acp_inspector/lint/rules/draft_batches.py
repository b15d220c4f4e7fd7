"""Arrays of messages as the mid-2026 draft of version 2 had them: the dialect `v2-batch`.

Each message of an array is checked by all other rules as if it came alone. Here is what only holds
for the array as a whole.

Source: ACP 2.0.0-alpha.3, "Transports", "JSON-RPC Batch Messages"; JSON-RPC 2.0, section 6.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final, cast

from acp_inspector.lint import on
from acp_inspector.lint.catalog import DRAFT_BATCHES
from acp_inspector.lint.context import OK, CheckResult, Context, EndContext, Problem
from acp_inspector.lint.registry import LintSubject, check, details, fix, track
from acp_inspector.lint.state import LintState, Point, opposite
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    INVALID_REQUEST,
    Batch,
    ErrorResponse,
    InvalidMessage,
    Message,
    Notification,
    Request,
    SuccessResponse,
    id_key,
)

rule = LintSubject(DRAFT_BATCHES, page="transports.mdx of 2.0.0-alpha.3")

LIFECYCLE: Final = frozenset(
    {
        *("initialize", "authenticate", "session/new", "session/load", "session/prompt"),
        *("auth/login", "session/resume"),
    }
)
"""Methods that change which later messages are valid."""
GRACE_S: Final = 5.0
"""Seconds in which an array should get its response."""
ARRAYS: Final = 1000
"""Arrays of each side that are remembered."""


@dataclass(slots=True)
class _Call:
    """An array of requests and notifications."""

    point: Point
    requests: int
    invalid: int
    """Entries that are neither; each gets an error response without an id."""
    answered: Point | None = None
    """The first array with its responses, or the error response to it as a whole."""

    @property
    def is_empty(self) -> bool:
        return not (self.requests or self.invalid)


@dataclass(slots=True)
class _Calls:
    """Arrays of each side that need a response, the oldest first."""

    sent: dict[Side, deque[_Call]] = field(
        default_factory=lambda: {
            "client": deque[_Call](maxlen=ARRAYS),
            "agent": deque[_Call](maxlen=ARRAYS),
        }
    )

    def at(self, side: Side, seq: int) -> _Call | None:
        return next((each for each in self.sent[side] if each.point.seq == seq), None)

    def open(self, side: Side, *, is_empty: bool) -> _Call | None:
        """Return the oldest one without requests that has no response yet."""
        waiting = (each for each in self.sent[side] if not each.requests and each.answered is None)
        return next((each for each in waiting if each.is_empty == is_empty), None)


@rule.error(526, "must", "sender", on.DRAFT_BATCHES, case="batch.filled")
@details(exercised_by=on.EVERY_FRAME)
@fix("Send at least one message in an array; where there is no response to send, send nothing.")
def empty_batch(context: Context) -> CheckResult:
    """A batch is an array with at least one value, and no empty array answers notifications."""
    return OK if _messages(context) else context.problem("an empty array is sent")


@rule.error(527, "implied", "sender", on.DRAFT_BATCHES, case="batch.one-kind")
@details(exercised_by=on.EVERY_FRAME)
@fix("Send requests and notifications in one array, responses in another.")
def mixed_batch(context: Context) -> CheckResult:
    """An array holds requests and notifications, or responses, but not both."""
    messages = _messages(context)
    is_mixed = any(map(_is_response, messages)) and any(map(_is_call, messages))
    return context.problem("an array has calls and responses") if is_mixed else OK


@rule.warning(528, "should", "sender", on.DRAFT_BATCHES, case={"client": "batch.lifecycle"})
@details(exercised_by=on.EVERY_FRAME)
@fix("Send messages that open or prompt a session, and initialize, by themselves.")
def lifecycle_in_batch(context: Context) -> CheckResult:
    """Messages that change which later ones are valid are not sent in an array: `initialize`,
    `authenticate`, `session/new`, `session/load` and `session/prompt`, nor `auth/login` and
    `session/resume`.
    """
    return tuple(
        Problem(f"{each.method} is sent in an array", (context.seq,), path=f"{index}.method")
        for index, each in enumerate(_messages(context))
        if isinstance(each, Request | Notification) and each.method in LIFECYCLE
    )


@rule.error(529, "must", "sender", on.DRAFT_BATCHES)
@details(exercised_by=on.EVERY_FRAME)
@fix("Send each message by itself once version 1 was agreed upon.")
def batch_in_version_1(context: Context) -> CheckResult:
    """Only version 2 had arrays: in version 1 each message is sent by itself."""
    if context.state.version != 1:
        return OK
    return context.problem(f"an array of {len(_messages(context))} messages is sent in version 1")


@rule.warning(530, "should", "receiver", on.response())
@fix("Send the responses to one array together in one array, and others by themselves.")
def batch_answered_apart(context: Context) -> CheckResult:
    """The responses to the requests of an array come in one array, once all were processed, and
    nothing else does.
    """
    if context.request is None:
        return None
    batch = _batch_of(context.state, opposite(context.side), context.request.seq)
    is_in_batch = context.state.is_in_batch
    if batch is None:
        if not is_in_batch:
            return None
        what = "the response to a request that was sent by itself comes in an array"
        return context.problem(what, context.request)
    if not is_in_batch:
        return context.problem("a response to an array comes by itself", batch.point)
    if batch.answered is not None and batch.answered.seq != context.seq:
        what = "the responses to one array come in several"
        return context.problem(what, batch.point, batch.answered)
    return OK


@rule.error(531, "must", "receiver", on.DRAFT_BATCHES)
@fix("Answer each invalid entry with -32600 and the id null, in the array of the responses.")
def invalid_entry_not_answered(context: Context) -> CheckResult:
    """Each invalid entry of an array gets an error -32600 with `id:null`, in the array of its
    responses.
    """
    batch = _answered(context)
    if batch is None or not batch.invalid:
        return None
    count = _refusals(context)
    if count >= batch.invalid:
        return OK
    what = f"{batch.invalid} invalid entries got {count} errors -32600"
    return context.problem(what, batch.point)


@check("invalid-entry-not-answered", on.END)
def invalid_entries_were_answered(ending: EndContext) -> CheckResult:
    return _unanswered(ending, "the invalid entries of an array got no response", is_empty=False)


@rule.error(532, "must", "receiver", on.error())
@details(exercised_by=on.DRAFT_BATCHES)
@fix("Process the valid entries of an array, and refuse only the others.")
def batch_refused_whole(context: Context) -> CheckResult:
    """Invalid entries do not make an array fail: its valid ones are processed and answered."""
    batch = _refused(context)
    if batch is None or batch.is_empty:
        return None
    return context.problem(f"an array is refused as a whole: {context.code}", batch.point)


@rule.error(533, "must", "receiver", on.error())
@fix("Answer an empty array with one error -32600 with the id null, which is in no array.")
def empty_batch_not_answered(context: Context) -> CheckResult:
    """An empty array gets a single error -32600 with `id:null`, not an array."""
    batch = _refused(context)
    if batch is None or not batch.is_empty:
        return None
    if context.code == INVALID_REQUEST:
        return OK
    return context.problem(f"an empty array is answered with {context.code}", batch.point)


@check("empty-batch-not-answered", on.DRAFT_BATCHES)
def empty_batches_get_no_array(context: Context) -> CheckResult:
    other = opposite(context.side)
    empty = context.state.of(_Calls).open(other, is_empty=True)
    if empty is None or not _refusals(context) or _answered(context) is not None:
        return None
    return context.problem("an empty array is answered with an array", empty.point)


@check("empty-batch-not-answered", on.END)
def empty_batches_were_answered(ending: EndContext) -> CheckResult:
    return _unanswered(ending, "an empty array got no response", is_empty=True)


@check(
    "answered-notification",
    on.DRAFT_BATCHES,
    fix="Send no response for the notifications of an array.",
)
def notifications_in_batches_are_not_answered(context: Context) -> CheckResult:
    batch = _answered(context)
    if batch is None:
        return None
    count = _refusals(context) - batch.invalid
    if count <= 0:
        return OK
    what = f"an array got {count} errors without an id beyond its invalid entries"
    return context.problem(what, batch.point)


@track(on.DRAFT_BATCHES)
def _keep_array(context: Context) -> None:
    calls = context.state.of(_Calls)
    answered = _answered(context)
    if answered is not None:
        answered.answered = answered.answered or context.point
        return
    messages = _messages(context)
    empty = calls.open(opposite(context.side), is_empty=True)
    if any(map(_is_response, messages)):
        if empty is not None and _refusals(context):
            empty.answered = context.point
        return
    requests = sum(isinstance(each, Request) for each in messages)
    invalid = sum(isinstance(each, InvalidMessage) for each in messages)
    if requests or invalid or not messages:
        calls.sent[context.side].append(_Call(context.point, requests, invalid))


@track(on.error())
def _keep_refusal(context: Context) -> None:
    if (batch := _refused(context)) is not None:
        batch.answered = context.point


def _messages(context: Context) -> tuple[Message, ...]:
    return cast("Batch", context.decoded.message).entries


def _is_response(message: Message) -> bool:
    is_broken = isinstance(message, InvalidMessage) and message.is_response
    return is_broken or isinstance(message, SuccessResponse | ErrorResponse)


def _is_call(message: Message) -> bool:
    return isinstance(message, Request | Notification)


def _refusals(context: Context) -> int:
    """Return how many errors -32600 without an id are in an array."""
    return sum(
        isinstance(each, ErrorResponse) and each.id is None and each.code == INVALID_REQUEST
        for each in _messages(context)
    )


def _batch_of(state: LintState, side: Side, seq: int) -> _Call | None:
    return state.of(_Calls).at(side, seq)


def _answered(context: Context) -> _Call | None:
    """Return the array that an array has the responses to; None if it has none of them."""
    other, state = opposite(context.side), context.state
    for each in _messages(context):
        if isinstance(each, SuccessResponse | ErrorResponse) and each.id is not None:
            request = state.requests.get((other, *id_key(each.id)))
            batch = None if request is None else _batch_of(state, other, request.seq)
            if batch is not None:
                return batch
    return state.of(_Calls).open(other, is_empty=False) if _refusals(context) else None


def _refused(context: Context) -> _Call | None:
    """Return the array that a single error without an id is about: the last that was sent."""
    if context.state.is_in_batch or context.id is not None or "id" not in context.value:
        return None
    other, state = opposite(context.side), context.state
    empty = state.of(_Calls).open(other, is_empty=True)
    if empty is not None:
        return empty
    last = state.last.get(other)
    batch = None if last is None else _batch_of(state, other, last.seq)
    is_about_it = batch is not None and batch.answered is None
    return batch if is_about_it and context.code == INVALID_REQUEST else None


def _unanswered(ending: EndContext, text: str, *, is_empty: bool) -> CheckResult:
    """Report the arrays without requests that got no response, though there was time for one."""
    found: list[Problem] = []
    for sender, sent in ending.state.of(_Calls).sent.items():
        seen = ending.state.seen[opposite(sender)]
        for batch in sent:
            if batch.requests or batch.is_empty != is_empty or batch.answered is not None:
                continue
            had_time = ending.point.time - batch.point.time > GRACE_S
            if had_time or seen > batch.point.seq or ending.is_over:
                found += ending.problem(text, batch.point)
    return tuple(found) or None
