"""Permission requests: subject, options and outcome.

Source: ACP, "Tool Calls", version 2's migration guide.
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import absolute, schema, unique
from acp_inspector.lint.context import (
    DELIVERY_TIMEOUT_S,
    OK,
    CheckResult,
    Context,
    EndContext,
    Problem,
    quoted,
)
from acp_inspector.lint.registry import LintSubject, check, checked_by, details, fix, track
from acp_inspector.lint.rules.tool_calls import (
    EXECUTED_STATUSES,
    TOOL_CALL_UPDATES,
    known_tool,
    live_tool,
    new_status,
    place_of,
)
from acp_inspector.lint.rules.v2_turn_state import background_of, foregrounds_of
from acp_inspector.lint.state import LintState, Point, SeenSession, SentRequest
from acp_inspector.lint.tracker import permission_tool
from acp_protocol.json_text import json_text
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import REQUEST_CANCELLED, Json
from acp_protocol.schema.vocabulary import CLOSING, FINAL_STATUSES, USER_METHODS

rule = LintSubject("permissions", page="tool-calls.mdx")
version_2 = LintSubject("version-2", version=2)

PERMISSION: Final = "session/request_permission"
ALWAYS: Final = frozenset({"allow_always", "reject_always"})
REMEMBERED: Final = 10_000
"""Choices that are remembered."""


class _Choices(dict[tuple[str, int], Point]):
    """By session and subject: the frame of a permanent choice."""


def options_of(params: dict[str, Json]) -> list[dict[str, Json]]:
    """Return the options that a request offers, an empty object for each that is none."""
    return [as_object(each) for each in as_list(params.get("options"))]


@rule.error(222, "schema", "agent", on.request(PERMISSION), source="tool-calls.mdx")
@fix("Offer at least one option.")
def no_permission_options(context: Context) -> CheckResult:
    """`options` is a non-empty array (schema minimum in v2, useless otherwise in v1)."""
    options: Json = context.params.get("options")
    if isinstance(options, list) and options:
        return OK
    what = "empty" if options == [] else "no array" if "options" in context.params else "missing"
    return context.problem(f"options is {what}", at="options")


@rule.error(234, "schema", "agent", on.request(PERMISSION), version=2, case="permission.tool-call")
@details(source="v2/migration.mdx")
@fix("Send title, and what it is about as subject.")
@checked_by(schema, at="title|toolCall", kinds=("missing", "type", "member"))
def permission_without_title() -> None:
    """`title` is present; `toolCall` is not at params root (use `subject`)."""


@rule.error(235, "must", "agent", on.request(PERMISSION), version=2, case="permission.tool-call")
@fix("Send the command, and the absolute cwd it is to run in.")
@checked_by(schema, at="subject.command|cwd")
@checked_by(absolute, at="subject.cwd")
def incomplete_command_subject() -> None:
    """A `command` subject has `command` and an absolute `cwd`."""


@rule.warning(236, "implied", "agent", on.request(PERMISSION))
@fix("Ask before the tool call is carried out.")
def permission_for_finished_call(context: Context) -> CheckResult:
    """Permission is not requested for a call that already has a terminal status."""
    tool, session = known_tool(context), context.session
    id_ = as_object(context.params.get("subject")).get("toolCallId")
    if tool is None and session is not None and isinstance(id_, str):
        tool = session.tools.get(id_)
    if session is None or session.is_replaying:
        return None
    if tool is None or tool.ended is None or tool.status not in FINAL_STATUSES:
        return OK if tool is not None else None
    return context.problem(
        f"permission is requested for the tool call {quoted(tool.id)}, which was {tool.status}",
        tool.ended,
    )


@rule.warning(237, "implied", "agent", on.request(PERMISSION), version=2, source="v2/migration.mdx")
@fix("Set the request's title; do not change the tool call's.")
def permission_renames_call(context: Context) -> CheckResult:
    """`subject.toolCall.title` is not used for prompt copy (it would rename the call)."""
    reported, tool = permission_tool(context.params), known_tool(context)
    title = reported.get("title")
    if tool is None or not isinstance(title, str) or not isinstance(tool.title, str):
        return None if tool is None else OK
    if title == tool.title:
        return OK
    return context.problem(
        f"the tool call {quoted(tool.title)} would be renamed to {quoted(title)}",
        tool.first,
        path=f"{place_of(context)}.title",
    )


@rule.info(238, "heuristic", "agent", on.request(PERMISSION))
@fix("Offer a way to reject.")
def no_reject_option(context: Context) -> CheckResult:
    """At least one reject option is offered."""
    kinds = [each.get("kind") for each in options_of(context.params)]
    if not kinds:
        return None
    if any(isinstance(kind, str) and kind.startswith("reject") for kind in kinds):
        return OK
    return context.problem("no option rejects", at="options")


@rule.info(239, "heuristic", "client", on.request(PERMISSION), exercised_by=on.result(PERMISSION))
@fix("Remember what was chosen for good.")
def repeated_permission_request(context: Context) -> CheckResult:
    """After `allow_always`/`reject_always` the same permission is not requested again."""
    choices = context.state.of(_Choices)
    if not choices:
        return None
    made = choices.get((context.session_id or "", _subject(context.params)))
    if made is None:
        return OK
    return context.problem("the user allowed or rejected this permanently before", made)


@track(on.result(PERMISSION))
def _keep_choice(context: Context) -> None:
    ask, choices = context.request, context.state.of(_Choices)
    if ask is None or len(choices) >= REMEMBERED:
        return
    outcome = as_object(context.result_object.get("outcome"))
    chosen = outcome.get("optionId")
    for option in options_of(ask.params):
        kind = option.get("kind")
        if option.get("optionId") == chosen and isinstance(kind, str) and kind in ALWAYS:
            choices[context.session_id or "", _subject(ask.params)] = context.point


def _subject(params: dict[str, Json]) -> int:
    """Return a hash that identifies the subject of a request."""
    subject, tool = as_object(params.get("subject")), permission_tool(params)
    about = [tool.get(name) for name in ("title", "name", "kind", "rawInput")]
    about += [subject.get(name) for name in ("type", "command", "cwd")]
    if tool.get("title") is None and subject.get("command") is None:
        about.append(tool.get("toolCallId"))
    return hash(json_text([params.get("title"), about], sort_keys=True, default=str))


OUTCOMES: Final = frozenset({"selected", "cancelled"})
ENDS: Final = (*CLOSING, "session/archive")
"""Requests that end the work of a session, permissions included."""


class _Stops(dict[str, Point]):
    """By session: the last time the client stopped its work."""


def _outcome(context: Context) -> dict[str, Json]:
    return as_object(context.result_object.get("outcome"))


@rule.error(226, "implied", "client", on.result(PERMISSION))
@fix("Select one of the options that were offered.")
def option_not_offered(context: Context) -> CheckResult:
    """The selected `optionId` was offered in that request."""
    outcome, ask = _outcome(context), context.request
    if ask is None or outcome.get("outcome") != "selected":
        return None
    chosen = outcome.get("optionId")
    if any(each.get("optionId") == chosen for each in options_of(ask.params)):
        return OK
    return context.problem(
        f"the optionId {quoted(chosen)} was not offered", ask, at="outcome.optionId"
    )


@rule.error(228, "schema", "client", on.result(PERMISSION), version=1)
@fix('Answer "selected" with an optionId, or "cancelled".')
@checked_by(schema, at="outcome.outcome|optionId", kinds=("missing", "word"))
def unknown_permission_outcome() -> None:
    """`outcome.outcome` is `selected` (with `optionId`) or `cancelled`."""


@rule.error(230, "must", "agent", TOOL_CALL_UPDATES, version=2)
@fix("Treat an unknown outcome as a refusal.")
def unknown_outcome_approves(context: Context) -> CheckResult:
    """An unknown outcome is never treated as approval (no `in_progress` afterwards)."""
    tool = live_tool(context)
    if tool is None or tool.permission is None or tool.permission.responded is None:
        return None
    outcome = as_object(as_object(tool.permission.result).get("outcome")).get("outcome")
    if not isinstance(outcome, str) or outcome in OUTCOMES:
        return None
    status = new_status(context)
    if (
        status not in EXECUTED_STATUSES
        or status == tool.status
        or context.has_crossed(tool.permission.responded)
    ):
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} is {status} after the outcome {quoted(outcome)}",
        tool.permission,
        tool.permission.responded,
        at="status",
    )


@track(on.notification("session/cancel"), on.request(*ENDS))
def _keep_stop(context: Context) -> None:
    if context.session is not None:
        context.state.of(_Stops)[context.session.id] = context.point


@rule.warning(231, "implied", "client", on.result(PERMISSION), version=1)
@details(source="tool-calls.mdx", since="2026-11")
@fix('Select an option that rejects; "cancelled" is for work that was stopped.')
def rejection_as_cancelled(context: Context) -> CheckResult:
    """`cancelled` is used only when the turn/work was cancelled or the session closed; a user
    rejection selects a reject option. (v2 also allows it for dismissal and policy decline.)
    """
    ask, session = context.request, context.session
    if ask is None or session is None or _outcome(context).get("outcome") != "cancelled":
        return None
    prompt = session.last_prompt
    begun = ask.seq if prompt is None else min(ask.seq, prompt.seq)
    stop = context.state.of(_Stops).get(session.id)
    if stop is not None and stop.seq > begun:
        return OK
    if ask.cancelled is not None or (prompt is not None and prompt.cancelled is not None):
        return OK
    return context.problem(
        "the outcome is cancelled, but the client did not stop the work", ask, at="outcome.outcome"
    )


@rule.error(
    232, "implied", "client", on.response("session/prompt"), version=1, case="permission.in-turn"
)
@details(source="prompt-turn.mdx", since="2026-11", exercised_by=on.result(PERMISSION))
@fix("Answer requests for permission while the turn runs.")
def permission_outlives_turn(context: Context) -> CheckResult:
    """A permission request is answered before the turn ends (v2: requests for background work may
    stay open).
    """
    session, prompt = context.session, context.request
    if session is None or prompt is None or session.cancel is not None:
        return None
    stop = context.state.of(_Stops).get(session.id)
    if prompt.cancelled is not None or (stop is not None and stop.seq > prompt.seq):
        return None
    return tuple(
        Problem("the turn ended before permission was answered", (ask.seq, context.seq))
        for ask in context.state.waiting("agent", PERMISSION, session.id)
        if ask.seq > prompt.seq and ask.cancelled is None and not ask.is_invalid
    )


NOT_APPROVED: Final = frozenset({"cancelled", "not offered"})
MAX_WITHDRAWN: Final = 4096


class _Open(dict[int, tuple[SentRequest, Point]]):
    """Requests that waited for the user when their session was cancelled, by their frame."""


@track(on.notification("session/cancel"))
def _keep_open(context: Context) -> None:
    session, requests = context.session, context.state.of(_Open)
    if context.version != 2 or session is None or session.cancel is None:
        return
    for ask in context.state.waiting("agent", session=session.id):
        if ask.method in USER_METHODS and len(requests) < MAX_WITHDRAWN:
            requests.setdefault(ask.seq, (ask, context.point))


@track(on.response(*sorted(USER_METHODS)))
def _drop_open(context: Context) -> None:
    if context.request is not None:
        context.state.of(_Open).pop(context.request.seq, None)


@check(
    "permission-not-withdrawn",
    on.response(*sorted(USER_METHODS)),
    fix="Cancel open requests of cancelled work.",
)
def cancelled_work_withdraws_its_requests(context: Context) -> CheckResult:
    """Flag responses to requests of work that ended as cancelled and left them open.

    Clients may respond on their own; an immediate response is not reported.
    """
    if context.request is None:
        return None
    ask, cancel = context.state.of(_Open).get(context.request.seq, (None, None))
    if ask is None or cancel is None:
        return None
    if (
        _is_left_open(context.state, context.session, ask)
        and context.time - cancel.time > DELIVERY_TIMEOUT_S
    ):
        return context.problem(
            f"{ask.method} of cancelled work was not withdrawn before its response", ask, cancel
        )
    return OK


@version_2.warning(459, "should", "agent", on.END)
@fix("Cancel open requests of cancelled work with $/cancel_request.")
def permission_not_withdrawn(ending: EndContext) -> CheckResult:
    """After `session/cancel` the Agent sends `$/cancel_request` for the cancelled work's pending
    permission (and no longer needed elicitation) requests and ignores late answers.
    """
    found: list[Problem] = []
    for ask, cancel in ending.state.of(_Open).values():
        session = ending.state.sessions.get(ask.session or "")
        is_late = ending.point.time - cancel.time > DELIVERY_TIMEOUT_S
        if is_late and _is_left_open(ending.state, session, ask):
            found.append(
                Problem(
                    f"{ask.method} of cancelled work was never withdrawn", (ask.seq, cancel.seq)
                )
            )
    return tuple(found) or None


def _is_left_open(state: LintState, session: SeenSession | None, ask: SentRequest) -> bool:
    """Return whether the requesting work has ended, and is not listed background work."""
    if session is None or session.state != "idle" or ask.cancelled is not None:
        return False
    own = foregrounds_of(state).get(session.id)
    behind = [] if own is None else background_of(own.reported) or []
    ids = {id_ for each in behind if isinstance(id_ := each.get("toolCallId"), str)}
    terminals = {id_ for each in behind if isinstance(id_ := each.get("terminalId"), str)}
    subject = as_object(ask.params.get("subject"))
    tool = permission_tool(ask.params).get("toolCallId", subject.get("toolCallId"))
    if _is_in(tool, ids) or _is_in(subject.get("terminalId"), terminals):
        return False
    known = session.tools.get(tool) if isinstance(tool, str) else None
    return known is None or not known.terminals & terminals


def _is_in(id_: Json, ids: set[str]) -> bool:
    return isinstance(id_, str) and id_ in ids


@version_2.warning(460, "implied", "client", on.response("session/request_permission"))
@fix("Answer withdrawn requests for permission with the outcome cancelled.")
def withdrawn_permission_not_cancelled(context: Context) -> CheckResult:
    """A permission request named by the Agent's `$/cancel_request` is answered with outcome
    `cancelled`.
    """
    ask = context.request
    if ask is None or ask.cancelled is None or not context.had_received(ask.cancelled):
        return None
    outcome = as_object(context.result_object.get("outcome")).get("outcome")
    if outcome == "cancelled" or context.code == REQUEST_CANCELLED:
        return OK
    outcome_text = f"the error {context.code}" if context.kind == "failure" else quoted(outcome)
    return context.problem(
        f"the withdrawn request for permission gets {outcome_text}",
        ask,
        ask.cancelled,
        path="result.outcome.outcome" if context.kind == "result" else "",
    )


@version_2.error(461, "must", "agent", on.update("tool_call_update"))
@fix("Treat a cancelled or unknown outcome as a refusal.")
def runs_without_approval(context: Context) -> CheckResult:
    """Outcome `cancelled`, or an `optionId` that was not offered, never leads to execution.

    A call that ran before the request and then completes may not have needed permission.
    """
    status, id_ = context.update.get("status"), context.update.get("toolCallId")
    if context.session is None or not isinstance(id_, str) or status is None:
        return None
    tool = context.session.tools.get(id_)
    if tool is None or tool.permission is None or tool.outcome not in NOT_APPROVED:
        return None
    answered = tool.permission.responded
    if answered is None or not context.had_received(answered):
        return None
    is_run = status == "in_progress" or status == "completed"
    if is_run and tool.status in {None, "pending"}:
        return context.problem(
            f"tool call {quoted(id_)} is {status}, though its permission was {tool.outcome}",
            tool.permission,
            answered,
            at="status",
        )
    return OK


@rule.error(223, "must", "agent", on.request("session/request_permission"), since="2026-11")
@fix("Give every option of a request an optionId of its own.")
@checked_by(unique, at="options.*.optionId")
def duplicate_permission_option() -> None:
    """`optionId`s are unique within a request (v2: MUST)."""


@rule.error(224, "schema", "agent", on.request("session/request_permission"))
@fix("Give every option optionId, name and kind.")
@checked_by(schema, at="options.*.optionId|name|kind")
def incomplete_permission_option() -> None:
    """Each option has `optionId`, `name`, `kind`."""


@rule.error(225, "schema", "agent", on.request("session/request_permission"), version=1)
@fix("Use allow_once, allow_always, reject_once or …_always.")
@checked_by(schema, at="options.*.kind", kinds="word")
def unknown_option_kind() -> None:
    """`kind` is `allow_once`, `allow_always`, `reject_once` or `reject_always`."""


@rule.error(233, "schema", "agent", on.request("session/request_permission"), version=1)
@details(case="permission.tool-call")
@fix('Send "toolCall": {"toolCallId": …} in params.')
@checked_by(schema, at=("toolCall", "toolCall.toolCallId"))
def permission_without_tool_call() -> None:
    """`toolCall` with `toolCallId` is present at params root."""


@rule.error(227, "schema", "client", on.result("session/request_permission"))
@fix('Answer {"outcome": {"outcome": "selected", "optionId": …}}.')
@checked_by(schema, at=("outcome", "outcome.outcome"))
def malformed_permission_outcome() -> None:
    """The result is `{outcome:{outcome:…}}`; flattened or string outcomes (`"allow_once"`) are
    invalid.
    """


@rule.warning(229, "must", "client", on.result("session/request_permission"), version=2)
@fix("Begin outcomes of your own with “_”.")
@checked_by(schema, at="outcome.outcome", kinds="reserved")
def reserved_permission_outcome() -> None:
    """Unknown outcomes start with `_`."""
