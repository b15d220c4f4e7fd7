"""Plans: sent in full each time, with complete entries and unique ids.

Source: ACP, "Agent Plan"; schema, Plan, PlanUpdate and PlanRemoved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import check, track
from acp_inspector.lint.rules.v2_turn_state import foreground
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import PLAN_ENTRY_PRIORITIES, PLAN_ENTRY_STATUSES, PLAN_TYPES

REQUIRED: Final = ("content", "priority", "status")
WORDS: Final = {
    "priority": PLAN_ENTRY_PRIORITIES[1],
    "status": PLAN_ENTRY_STATUSES[1],
}
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


@check("ACP-L276", on.update("plan", "plan_update"))
def entries_are_whole(context: Context) -> CheckResult:
    found: CheckResult = None
    for place, entry in _entries(context):
        found = OK
        for name in REQUIRED:
            if not isinstance(entry.get(name), str):
                what = "is not a string" if name in entry else "is missing"
                return context.problem(f"{name} of an entry {what}", path=f"{place}.{name}")
    return found


@check("ACP-L277", on.update("plan", "plan_update"))
def entries_use_known_words(context: Context) -> CheckResult:
    found: CheckResult = None
    for place, entry in _entries(context):
        found = OK
        for name, known in WORDS.items():
            value = entry.get(name)
            if isinstance(value, str) and value not in known:
                return context.problem(f"{name} is {quoted(value)}", path=f"{place}.{name}")
    return found


@check("ACP-L278", on.update("plan", "plan_update"))
def plans_are_whole(context: Context) -> CheckResult:
    """Flag plans that look partial: some earlier entries, but most unfinished ones missing.

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


@check("ACP-L280", on.update("plan_update"))
def plans_have_type_and_id(context: Context) -> CheckResult:
    plan: Json = context.update.get("plan")
    if not isinstance(plan, dict):
        return context.problem("the update has no plan", at="plan")
    for name in ("type", "planId"):
        if not isinstance(as_object(plan).get(name), str):
            if name == "planId" and "id" in plan:
                continue
            return context.problem(f"the plan has no {name}", at=f"plan.{name}")
    return OK


@check("ACP-L281", on.update("plan_update"))
def types_of_ones_own_are_marked(context: Context) -> CheckResult:
    type_ = as_object(context.update.get("plan")).get("type")
    if not isinstance(type_, str):
        return None
    if type_ in PLAN_TYPES[2] or type_.startswith("_"):
        return OK
    return context.problem(f"the plan's type is {quoted(type_)}", at="plan.type")


@check("ACP-L282", on.update("plan_update", "plan_removed"))
def ids_of_plans_are_called_so(context: Context) -> CheckResult:
    is_update = context.variant == "plan_update"
    plan = as_object(context.update.get("plan")) if is_update else context.update
    if "planId" not in plan and "id" in plan:
        place = "params.update.plan" if is_update else "params.update"
        return context.problem("the plan's id is called id", path=f"{place}.planId")
    return OK


@check("ACP-L283", on.update("plan_removed"))
def removed_plans_exist(context: Context) -> CheckResult:
    key, session = _key(context), context.session
    if key is None or session is None or session.is_replaying:
        return None
    if key in context.state.of(_Plans):
        return OK
    if session.origin != "new":
        # It may be from before this connection.
        return None
    return context.problem(f"there is no plan {quoted(key[1])}", at="planId")


@check("ACP-L284", on.update("plan_update"))
def files_of_plans_have_uris(context: Context) -> CheckResult:
    plan = as_object(context.update.get("plan"))
    uri = plan.get("uri")
    if plan.get("type") != "file" or not isinstance(uri, str):
        return None
    # A Windows drive looks like a scheme of one letter.
    if (scheme := _URI.match(uri)) is not None and len(scheme.group()) > len("C:"):
        return OK
    return context.problem(f"the plan's uri is {quoted(uri)}", at="plan.uri")


@check("ACP-L285", on.update("plan", "plan_update"))
def entries_go_on(context: Context) -> CheckResult:
    """Flag completed entries that are open again, and several entries in progress.

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


@check("ACP-L286", on.result("session/prompt"), on.update("state_update"))
def entries_end_within_turns(context: Context) -> CheckResult:
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


@check("ACP-L287", on.update("plan", "plan_update"))
def entries_are_objects(context: Context) -> CheckResult:
    place, plan = _body(context)
    if "entries" not in plan:
        if "steps" in plan or "items" in plan:
            name = "steps" if "steps" in plan else "items"
            return context.problem(f"the plan has {name}, not entries", path=f"{place}.entries")
        return None
    for i, entry in enumerate(as_list(plan["entries"])):
        if not isinstance(entry, dict):
            return context.problem(f"an entry is {quoted(entry)}", path=f"{place}.entries.{i}")
    return OK


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
