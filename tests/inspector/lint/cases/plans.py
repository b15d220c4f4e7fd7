"""Talks in which agents plan."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps


def entry(text: str, status: str = "pending", **members: Any) -> dict[str, Any]:
    """Return an entry of a plan."""
    return {"content": text, "priority": "high", "status": status} | members


def plan(talk: Talk, *entries: Any, id_: str = "p1", **members: Any) -> None:
    """Tell a plan, as the version does."""
    if talk.version == 1:
        told: dict[str, Any] = {"entries": list(entries)}
        talk.update("plan", **(told | members))
    else:
        told = {"type": "items", "planId": id_, "entries": list(entries)}
        talk.update("plan_update", plan=told | members)


def other(talk: Talk, **members: Any) -> None:
    """Tell a plan of another type."""
    talk.update("plan_update", plan=members)


def begin(talk: Talk) -> Any:
    """Begin to work on a prompt."""
    talk.open()
    call = talk.prompt()
    if talk.version == 2:
        talk.accept(call)
    return call


def end(talk: Talk, call: Any) -> None:
    """End the work."""
    if talk.version == 1:
        talk.finish(call)
    else:
        talk.state("idle", stopReason="end_turn")


@breaks("incomplete-plan-entry")
@breaks("incomplete-plan-entry", 2)
def an_entry_has_no_priority(talk: Talk) -> None:
    begin(talk)
    plan(talk, {"content": "Read", "status": "pending"})


@keeps("incomplete-plan-entry")
@keeps("incomplete-plan-entry", 2)
def an_entry_says_nothing(talk: Talk) -> None:
    begin(talk)
    plan(talk, entry(""))


@breaks("unknown-plan-word")
def an_entry_is_cancelled(talk: Talk) -> None:
    begin(talk)
    plan(talk, entry("Read", "cancelled"))


@breaks("unknown-plan-word")
def an_entry_has_the_priority_urgent(talk: Talk) -> None:
    begin(talk)
    plan(talk, entry("Read", priority="urgent"))


@keeps("unknown-plan-word")
def an_entry_is_of_low_priority(talk: Talk) -> None:
    begin(talk)
    plan(talk, entry("Read", "completed", priority="low"))


@breaks("partial-plan")
@breaks("partial-plan", 2)
def a_plan_tells_what_changed(talk: Talk) -> None:
    begin(talk)
    plan(talk, entry("Read"), entry("Think"), entry("Write"))
    plan(talk, entry("Read", "completed"))


@keeps("partial-plan")
@keeps("partial-plan", 2)
def a_plan_drops_one_entry(talk: Talk) -> None:
    begin(talk)
    plan(talk, entry("Read"), entry("Think"), entry("Write"))
    plan(talk, entry("Read", "completed"), entry("Write"))


@keeps("partial-plan")
def a_plan_takes_the_place_of_another(talk: Talk) -> None:
    begin(talk)
    plan(talk, entry("Read"), entry("Think"), entry("Write"))
    plan(talk, entry("Ask"))


@breaks("incomplete-plan", 2)
def a_plan_has_no_id(talk: Talk) -> None:
    begin(talk)
    other(talk, type="items", entries=[])


@breaks("incomplete-plan", 2)
def a_plan_has_no_type(talk: Talk) -> None:
    begin(talk)
    other(talk, planId="p1", entries=[])


@breaks("incomplete-plan", 2)
def a_plan_is_an_array(talk: Talk) -> None:
    begin(talk)
    talk.update("plan_update", plan=[entry("Read")])


@keeps("incomplete-plan", 2)
def a_plan_is_empty(talk: Talk) -> None:
    begin(talk)
    plan(talk)


@breaks("reserved-plan-type", 2)
def a_plan_is_of_a_type_that_was_made_up(talk: Talk) -> None:
    begin(talk)
    other(talk, type="graph", planId="p1")


@keeps("reserved-plan-type", 2)
def a_plan_is_of_a_type_of_its_own(talk: Talk) -> None:
    begin(talk)
    other(talk, type="_graph", planId="p1")


@breaks("misnamed-plan-id", unstable=True)
def a_removed_plan_has_an_id(talk: Talk) -> None:
    talk.initialize({"plan": {}})
    talk.new_session()
    talk.update("plan_removed", id="p1")


@breaks("misnamed-plan-id", 2)
def a_plan_has_an_id_of_another_name(talk: Talk) -> None:
    begin(talk)
    other(talk, type="items", id="p1", entries=[])


@keeps("misnamed-plan-id", unstable=True)
def a_plan_has_its_id(talk: Talk) -> None:
    talk.initialize({"plan": {}})
    talk.new_session()
    talk.prompt()
    other(talk, type="items", planId="p1", entries=[])


@keeps("misnamed-plan-id", 2)
def a_plan_has_two_ids(talk: Talk) -> None:
    begin(talk)
    plan(talk, id="p2")


@breaks("unknown-plan-removed", unstable=True)
@breaks("unknown-plan-removed", 2, unstable=True)
def a_plan_is_removed_twice(talk: Talk) -> None:
    talk.initialize({"plan": {}} if talk.version == 1 else None)
    talk.new_session()
    talk.prompt()
    other(talk, type="items", planId="p1", entries=[])
    talk.update("plan_removed", planId="p1")
    talk.update("plan_removed", planId="p1")


@keeps("unknown-plan-removed", unstable=True)
@keeps("unknown-plan-removed", 2, unstable=True)
def a_plan_is_removed(talk: Talk) -> None:
    talk.initialize({"plan": {}} if talk.version == 1 else None)
    talk.new_session()
    talk.prompt()
    other(talk, type="items", planId="p1", entries=[])
    talk.update("plan_removed", planId="p1")


@breaks("relative-plan-uri", 2, unstable=True)
def a_plan_is_a_path(talk: Talk) -> None:
    begin(talk)
    other(talk, type="file", planId="p1", uri="/home/ada/plan.md")


@breaks("relative-plan-uri", 2, unstable=True)
def a_plan_is_a_path_of_windows(talk: Talk) -> None:
    begin(talk)
    other(talk, type="file", planId="p1", uri="C:\\plan.md")


@keeps("relative-plan-uri", 2, unstable=True)
def a_plan_is_a_uri(talk: Talk) -> None:
    begin(talk)
    other(talk, type="file", planId="p1", uri="file:///home/ada/plan.md")


@breaks("plan-entry-reopened")
@breaks("plan-entry-reopened", 2)
def an_entry_is_open_again(talk: Talk) -> None:
    begin(talk)
    plan(talk, entry("Read", "completed"))
    plan(talk, entry("Read", "in_progress"))


@breaks("plan-entry-reopened")
def two_entries_are_in_progress(talk: Talk) -> None:
    begin(talk)
    plan(talk, entry("Read", "in_progress"), entry("Think", "in_progress"))


@keeps("plan-entry-reopened")
@keeps("plan-entry-reopened", 2)
def an_entry_goes_back_to_pending(talk: Talk) -> None:
    begin(talk)
    plan(talk, entry("Read", "in_progress"), entry("Think", "completed"))
    plan(talk, entry("Read"), entry("Think", "completed"))


@keeps("plan-entry-reopened")
def a_plan_begins_again_with_another_prompt(talk: Talk) -> None:
    call = begin(talk)
    plan(talk, entry("Read", "completed"))
    end(talk, call)
    talk.prompt()
    plan(talk, entry("Read", "in_progress"))


@breaks("plan-left-in-progress")
@breaks("plan-left-in-progress", 2)
def an_entry_is_in_progress_at_the_end(talk: Talk) -> None:
    call = begin(talk)
    plan(talk, entry("Read", "in_progress"))
    end(talk, call)


@keeps("plan-left-in-progress")
@keeps("plan-left-in-progress", 2)
def an_entry_is_pending_at_the_end(talk: Talk) -> None:
    call = begin(talk)
    plan(talk, entry("Read", "completed"), entry("Think"))
    end(talk, call)


@breaks("plan-entry-not-object")
@breaks("plan-entry-not-object", 2)
def entries_are_words(talk: Talk) -> None:
    begin(talk)
    plan(talk, "Read", "Think")


@breaks("plan-entry-not-object")
def a_plan_has_steps(talk: Talk) -> None:
    begin(talk)
    talk.update("plan", steps=[entry("Read")])


@keeps("plan-entry-not-object")
@keeps("plan-entry-not-object", 2)
def a_plan_is_cleared(talk: Talk) -> None:
    begin(talk)
    plan(talk, entry("Read", "completed"))
    plan(talk)
