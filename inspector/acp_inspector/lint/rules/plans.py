"""Plans: whole each time, of entries that are whole, and told apart by their ids.

Source: ACP, "Agent Plan"; schema, Plan, PlanUpdate and PlanRemoved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from acp_inspector.lint.moment import FINE, Found, Moment, entries, members, quoted
from acp_inspector.lint.registry import check, learns, results, updates
from acp_inspector.lint.rules.foreground import foreground
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

REQUIRED: Final = ("content", "priority", "status")
WORDS: Final = {
    "priority": frozenset({"high", "medium", "low"}),
    "status": frozenset({"pending", "in_progress", "completed"}),
}
TYPES: Final = frozenset({"items", "file", "markdown"})
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
    """A plan as it was told last."""

    point: Point
    statuses: dict[str, str]
    """The status of each entry, by what it says."""


@dataclass(slots=True)
class _Plans:
    known: dict[Key, _Plan] = field(default_factory=dict[Key, _Plan])


@check("ACP-L276", updates("plan", "plan_update"), fix="Give entries content, priority and status.")
def entries_are_whole(moment: Moment) -> Found:
    """Tell of entries without what they need."""
    found: Found = None
    for place, entry in _entries(moment):
        found = FINE
        for name in REQUIRED:
            if not isinstance(entry.get(name), str):
                what = "is no string" if name in entry else "is missing"
                return moment.problem(f"{name} of an entry {what}", path=f"{place}.{name}")
    return found


@check("ACP-L277", updates("plan", "plan_update"), fix="Use the priorities and statuses there are.")
def entries_use_known_words(moment: Moment) -> Found:
    """Tell of priorities and statuses that version 1 does not have."""
    found: Found = None
    for place, entry in _entries(moment):
        found = FINE
        for name, known in WORDS.items():
            value = entry.get(name)
            if isinstance(value, str) and value not in known:
                return moment.problem(f"{name} is {quoted(value)}", path=f"{place}.{name}")
    return found


@check("ACP-L278", updates("plan", "plan_update"), fix="Send all entries each time.")
def plans_are_whole(moment: Moment) -> Found:
    """Tell of plans that look like changes: a few entries of before, and most open ones gone.

    Another plan, with entries of its own, may take the place of one before.
    """
    key = _key(moment)
    before = None if key is None else moment.state.of(_Plans).known.get(key)
    if before is None or not before.statuses or before.point.n < _turn(moment):
        return None
    now = _statuses(moment)
    if not now or not now.keys() < before.statuses.keys():
        return FINE
    unfinished = {text for text, status in before.statuses.items() if status in UNFINISHED}
    gone = unfinished - now.keys()
    if len(gone) > 1 and len(gone) * 2 > len(unfinished):
        return moment.problem(
            f"the plan leaves out {len(gone)} of {len(unfinished)} unfinished entries of before",
            before.point,
        )
    return FINE


@check("ACP-L280", updates("plan_update"), fix="Give each plan a type and a planId.")
def plans_have_type_and_id(moment: Moment) -> Found:
    """Tell of plans that nobody can tell apart; those that have an id are told of elsewhere."""
    plan: Json = moment.update.get("plan")
    if not isinstance(plan, dict):
        return moment.problem("the update has no plan", path="params.update.plan")
    for name in ("type", "planId"):
        if not isinstance(members(plan).get(name), str):
            if name == "planId" and "id" in plan:
                continue
            return moment.problem(f"the plan has no {name}", path=f"params.update.plan.{name}")
    return FINE


@check("ACP-L281", updates("plan_update"), fix="Begin types of your own with “_”.")
def types_of_ones_own_are_marked(moment: Moment) -> Found:
    """Tell of types of plans that only the protocol may bring up."""
    type_ = members(moment.update.get("plan")).get("type")
    if not isinstance(type_, str):
        return None
    if type_ in TYPES or type_.startswith("_"):
        return FINE
    return moment.problem(f"the plan's type is {quoted(type_)}", path="params.update.plan.type")


@check("ACP-L282", updates("plan_update", "plan_removed"), fix="Call the plan's id planId.")
def ids_of_plans_are_called_so(moment: Moment) -> Found:
    """Tell of plans whose id has the name that proposals had for it."""
    is_update = moment.variant == "plan_update"
    plan = members(moment.update.get("plan")) if is_update else moment.update
    if "planId" not in plan and "id" in plan:
        place = "params.update.plan" if is_update else "params.update"
        return moment.problem("the plan's id is called id", path=f"{place}.planId")
    return FINE


@check("ACP-L283", updates("plan_removed"), fix="Remove plans that you told of, once.")
def removed_plans_exist(moment: Moment) -> Found:
    """Tell of plans that are removed and never were."""
    key, session = _key(moment), moment.session
    if key is None or session is None or session.is_replaying:
        return None
    if key in moment.state.of(_Plans).known:
        return FINE
    if session.origin != "new":
        # It may be one of before this connection.
        return None
    return moment.problem(f"there is no plan {quoted(key[1])}", path="params.update.planId")


@check("ACP-L284", updates("plan_update"), fix="Send the file's absolute URI.")
def files_of_plans_have_uris(moment: Moment) -> Found:
    """Tell of plans in files that are named by a path."""
    plan = members(moment.update.get("plan"))
    uri = plan.get("uri")
    if plan.get("type") != "file" or not isinstance(uri, str):
        return None
    # A drive of Windows looks like a scheme of one letter.
    if (scheme := _URI.match(uri)) is not None and len(scheme.group()) > len("C:"):
        return FINE
    return moment.problem(f"the plan's uri is {quoted(uri)}", path="params.update.plan.uri")


@check("ACP-L285", updates("plan", "plan_update"), fix="Go on from entry to entry.")
def entries_go_on(moment: Moment) -> Found:
    """Tell of completed entries that are open again, and of several in progress.

    Another prompt may begin the same plan from its beginning.
    """
    key = _key(moment)
    now = _statuses(moment)
    if key is None or not now:
        return None
    if sum(status == "in_progress" for status in now.values()) > 1:
        return moment.problem("several entries of the plan are in progress")
    before = moment.state.of(_Plans).known.get(key)
    if before is not None and before.point.n > _turn(moment):
        for text, status in now.items():
            if status in UNFINISHED and before.statuses.get(text) == "completed":
                return moment.problem(
                    f"the entry {quoted(text)} was completed, and is {status} again", before.point
                )
    return FINE


@check(
    "ACP-L286",
    results("session/prompt"),
    updates("state_update"),
    fix="Tell how each entry ended before the turn does.",
)
def entries_end_within_turns(moment: Moment) -> Found:
    """Tell of entries in progress when work ends in whose course the plan was told."""
    source = moment.result_object if moment.kind == "result" else moment.update
    if source.get("stopReason") != "end_turn" or moment.session is None:
        return None
    if moment.version == 2:
        began = foreground(moment).began
        since = None if moment.kind == "result" or began is None else began.n
    else:
        since = None if moment.ask is None else moment.ask.n
    if since is None:
        return None
    found: Found = None
    for key, plan in moment.state.of(_Plans).known.items():
        if key[0] != moment.session.id or plan.point.n < since:
            continue
        found = FINE
        left = [text for text, status in plan.statuses.items() if status == "in_progress"]
        if left:
            return moment.problem(f"the entry {quoted(left[0])} is in progress still", plan.point)
    return found


@check("ACP-L287", updates("plan", "plan_update"), fix="Send entries as objects, in entries.")
def entries_are_objects(moment: Moment) -> Found:
    """Tell of plans that are lists of words, or that have steps."""
    place, plan = _body(moment)
    if "entries" not in plan:
        if "steps" in plan or "items" in plan:
            name = "steps" if "steps" in plan else "items"
            return moment.problem(f"the plan has {name}, not entries", path=f"{place}.entries")
        return None
    for i, entry in enumerate(entries(plan["entries"])):
        if not isinstance(entry, dict):
            return moment.problem(f"an entry is {quoted(entry)}", path=f"{place}.entries.{i}")
    return FINE


@learns(updates("plan", "plan_update", "plan_removed"))
def _keep_plan(moment: Moment) -> None:
    key, known = _key(moment), moment.state.of(_Plans).known
    if key is None or moment.session is None:
        return
    if moment.variant == "plan_removed":
        known.pop(key, None)
    elif key in known or len(known) < PLANS:
        known[key] = _Plan(moment.point, _statuses(moment))


def _turn(moment: Moment) -> int:
    """Return the frame with which the work began that a plan is for."""
    session = moment.session
    if session is not None and session.is_replaying:
        # Several turns are told at once.
        return moment.n
    prompt = 0 if session is None or session.last_prompt is None else session.last_prompt.n
    began = foreground(moment).began if moment.version == 2 else None
    return prompt if began is None else max(prompt, began.n)


def _body(moment: Moment) -> tuple[str, dict[str, Json]]:
    """Return the plan of an update, and where it stands."""
    if moment.variant == "plan_update":
        return "params.update.plan", members(moment.update.get("plan"))
    return "params.update", moment.update


def _key(moment: Moment) -> Key | None:
    _, plan = _body(moment)
    id_ = "" if moment.variant == "plan" else plan.get("planId")
    if moment.session_id is None or not isinstance(id_, str):
        return None
    return (moment.session_id, id_)


def _entries(moment: Moment) -> Iterator[tuple[str, dict[str, Json]]]:
    place, plan = _body(moment)
    for i, entry in enumerate(entries(plan.get("entries"))):
        if isinstance(entry, dict):
            yield f"{place}.entries.{i}", members(entry)


def _statuses(moment: Moment) -> dict[str, str]:
    statuses: dict[str, str] = {}
    for _, entry in _entries(moment):
        text, status = entry.get("content"), entry.get("status")
        if isinstance(text, str) and isinstance(status, str) and len(statuses) < ENTRIES:
            statuses[text] = status
    return statuses
