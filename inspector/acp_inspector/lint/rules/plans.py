"""Plans: sent in full each time, with complete entries and unique ids.

Source: ACP, "Agent Plan"; schema, Plan, PlanUpdate and PlanRemoved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from acp_inspector.lint import on
from acp_inspector.lint.checks import claimed, schema
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix, track
from acp_inspector.lint.rules.v2_turn_state import foreground
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json

rule = LintSubject("plans", page="agent-plan.mdx")

UNFINISHED: Final = frozenset({"pending", "in_progress"})
PLANS: Final = 1000
"""Plans that are remembered."""
ENTRIES: Final = 1000
"""Entries of each plan that are remembered."""

Key: TypeAlias = tuple[str, str]
"""A session, and the id of one of its plans; empty for the one plan of version 1."""

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class _Plan:
    """The last reported state of a plan."""

    point: Point
    statuses: dict[str, str]
    """The status of each entry, by its content."""


class _Plans(dict[Key, _Plan]):
    """The last reported plans."""


@rule.warning(278, "must", "agent", on.update("plan", "plan_update"))
@fix("Send all entries each time.")
def partial_plan(context: Context) -> CheckResult:
    """Each plan update is complete: an update that drops most unfinished entries of the previous
    one looks like a delta.

    A new plan with other entries may replace an earlier one.
    """
    key = _key(context)
    before = None if key is None else context.state.of(_Plans).get(key)
    if before is None or not before.statuses or before.point.seq < _turn(context):
        return None
    now = _statuses(context)
    if not now or not now.keys() < before.statuses.keys():
        return OK
    unfinished = {text for text, status in before.statuses.items() if status in UNFINISHED}
    gone = unfinished - now.keys()
    if len(gone) > 1 and len(gone) * 2 > len(unfinished):
        return context.problem(
            f"the plan leaves out {len(gone)} of {len(unfinished)} earlier unfinished entries",
            before.point,
        )
    return OK


@rule.error(280, "schema", "agent", on.update("plan_update"), version=2, source="v2/agent-plan.mdx")
@fix("Give each plan a type and a planId.")
def incomplete_plan(context: Context) -> CheckResult:
    """`plan_update.plan` has `type` and `planId`, also for unknown types."""
    plan: Json = context.update.get("plan")
    if not isinstance(plan, dict):
        return context.problem("the update has no plan", at="plan")
    for name in ("type", "planId"):
        if not isinstance(as_object(plan).get(name), str):
            if name == "planId" and "id" in plan:
                continue
            return context.problem(f"the plan has no {name}", at=f"plan.{name}")
    return OK


@rule.error(282, "schema", "agent", on.update("plan_update", "plan_removed"))
@fix("Call the plan's id planId.")
def misnamed_plan_id(context: Context) -> CheckResult:
    """Plan ids are sent as `planId` (not `id`)."""
    is_update = context.variant == "plan_update"
    plan = as_object(context.update.get("plan")) if is_update else context.update
    if "planId" not in plan and "id" in plan:
        place = "params.update.plan" if is_update else "params.update"
        return context.problem("the plan's id is called id", path=f"{place}.planId")
    return OK


@rule.warning(283, "implied", "agent", on.update("plan_removed"), source="rfds/plan-operations.mdx")
@fix("Remove plans that you reported, once.")
def unknown_plan_removed(context: Context) -> CheckResult:
    """`plan_removed` names a plan that exists."""
    key, session = _key(context), context.session
    if key is None or session is None or session.is_replaying:
        return None
    if key in context.state.of(_Plans):
        return OK
    if session.origin != "new":
        # It may be from before this connection.
        return None
    return context.problem(f"there is no plan {quoted(key[1])}", at="planId")


@rule.error(
    284, "must", "agent", on.update("plan_update"), version=2, source="v2/draft/agent-plan.mdx"
)
@fix("Send the file's absolute URI.")
def relative_plan_uri(context: Context) -> CheckResult:
    """File plan `uri` is absolute (unstable)."""
    plan = as_object(context.update.get("plan"))
    uri = plan.get("uri")
    if plan.get("type") != "file" or not isinstance(uri, str):
        return None
    # A Windows drive looks like a scheme of one letter.
    if (scheme := _URI.match(uri)) is not None and len(scheme.group()) > len("C:"):
        return OK
    return context.problem(f"the plan's uri is {quoted(uri)}", at="plan.uri")


@rule.info(285, "heuristic", "agent", on.update("plan", "plan_update"))
@fix("Go on from entry to entry.")
def plan_entry_reopened(context: Context) -> CheckResult:
    """Entry status does not regress from `completed`; at most one entry is `in_progress`.

    A new prompt may restart the same plan.
    """
    key = _key(context)
    now = _statuses(context)
    if key is None or not now:
        return None
    if sum(status == "in_progress" for status in now.values()) > 1:
        return context.problem("several entries of the plan are in progress")
    before = context.state.of(_Plans).get(key)
    if before is not None and before.point.seq > _turn(context):
        for text, status in now.items():
            if status in UNFINISHED and before.statuses.get(text) == "completed":
                return context.problem(
                    f"the entry {quoted(text)} was completed, and is {status} again", before.point
                )
    return OK


@rule.info(286, "heuristic", "agent", on.result("session/prompt"), on.update("state_update"))
@fix("Report how each entry ended before the turn does.")
def plan_left_in_progress(context: Context) -> CheckResult:
    """At `end_turn` no entry is left `in_progress`."""
    source = context.result_object if context.kind == "result" else context.update
    if source.get("stopReason") != "end_turn" or context.session is None:
        return None
    if context.version == 2:
        began = foreground(context).began
        since = None if context.kind == "result" or began is None else began.seq
    else:
        since = None if context.request is None else context.request.seq
    if since is None:
        return None
    found: CheckResult = None
    for key, plan in context.state.of(_Plans).items():
        if key[0] != context.session.id or plan.point.seq < since:
            continue
        found = OK
        left = [text for text, status in plan.statuses.items() if status == "in_progress"]
        if left:
            return context.problem(f"the entry {quoted(left[0])} is still in progress", plan.point)
    return found


@rule.error(287, "schema", "agent", on.update("plan", "plan_update"))
@fix("Send entries as objects, in entries.")
@checked_by(schema, at=("entries", "entries.*", "plan.entries", "plan.entries.*"))
def plan_entry_not_object() -> None:
    """`plan.entries` are objects, not strings (`steps` arrays are a dialect)."""


@track(on.update("plan", "plan_update", "plan_removed"))
def _keep_plan(context: Context) -> None:
    key, known = _key(context), context.state.of(_Plans)
    if key is None or context.session is None:
        return
    if context.variant == "plan_removed":
        known.pop(key, None)
    elif key in known or len(known) < PLANS:
        known[key] = _Plan(context.point, _statuses(context))


def _turn(context: Context) -> int:
    """Return the frame that began the work of a plan."""
    session = context.session
    if session is not None and session.is_replaying:
        # Several turns run at once.
        return context.seq
    prompt = 0 if session is None or session.last_prompt is None else session.last_prompt.seq
    began = foreground(context).began if context.version == 2 else None
    return prompt if began is None else max(prompt, began.seq)


def _body(context: Context) -> tuple[str, dict[str, Json]]:
    """Return the plan of an update, and its path."""
    if context.variant == "plan_update":
        return "params.update.plan", as_object(context.update.get("plan"))
    return "params.update", context.update


def _key(context: Context) -> Key | None:
    _, plan = _body(context)
    id_ = "" if context.variant == "plan" else plan.get("planId")
    if context.session_id is None or not isinstance(id_, str):
        return None
    return (context.session_id, id_)


def _entries(context: Context) -> Iterator[tuple[str, dict[str, Json]]]:
    place, plan = _body(context)
    for i, entry in enumerate(as_list(plan.get("entries"))):
        if isinstance(entry, dict):
            yield f"{place}.entries.{i}", as_object(entry)


def _statuses(context: Context) -> dict[str, str]:
    statuses: dict[str, str] = {}
    for _, entry in _entries(context):
        text, status = entry.get("content"), entry.get("status")
        if isinstance(text, str) and isinstance(status, str) and len(statuses) < ENTRIES:
            statuses[text] = status
    return statuses


@rule.error(279, "must", "agent", on.update("plan_update", "plan_removed"), version=1)
@details(source="v1/draft/agent-plan.mdx")
@fix("Send the update plan instead.")
@checked_by(claimed, v1="plan", by="client")
def undeclared_plan() -> None:
    """`plan_update` / `plan_removed` only if the Client advertised `plan` (unstable)."""


@rule.error(276, "schema", "agent", on.update("plan", "plan_update"), source="agent-plan.mdx")
@fix("Give entries content, priority and status.")
@checked_by(
    schema, at=("entries.*.content|priority|status", "plan.entries.*.content|priority|status")
)
def incomplete_plan_entry() -> None:
    """Plan entries have `content`, `priority`, `status`."""


@rule.error(
    277, "schema", "agent", on.update("plan", "plan_update"), version=1, source="agent-plan.mdx"
)
@fix("Use the priorities and statuses there are.")
@checked_by(
    schema, at=("entries.*.priority|status", "plan.entries.*.priority|status"), kinds="word"
)
def unknown_plan_word() -> None:
    """`priority` ∈ high/medium/low and `status` ∈ pending/in_progress/completed (v2 adds
    `cancelled`; unknown values need `_`).
    """


@rule.warning(281, "must", "agent", on.update("plan_update"), version=2)
@fix("Begin custom types with “_”.")
@checked_by(schema, at="plan.type", kinds="reserved")
def reserved_plan_type() -> None:
    """Unknown `plan.type` values start with `_`."""
