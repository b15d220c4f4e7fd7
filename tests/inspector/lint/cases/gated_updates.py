"""Talks in which agents send what clients have to ask for."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps

PLAN: dict[str, Any] = {"type": "items", "planId": "p1", "entries": []}


@breaks("undeclared-plan")
def a_plan_has_an_id_unasked(talk: Talk) -> None:
    talk.open()
    talk.update("plan_update", plan=PLAN)


@breaks("undeclared-plan", unstable=True)
def a_plan_is_removed_for_a_client_that_says_true(talk: Talk) -> None:
    talk.initialize({"plan": True})
    talk.new_session()
    talk.update("plan_removed", planId="p1")


@keeps("undeclared-plan", unstable=True)
def a_plan_has_an_id_where_asked_for(talk: Talk) -> None:
    talk.initialize({"plan": {}})
    talk.new_session()
    prompt = talk.prompt()
    talk.update("plan_update", plan=PLAN)
    talk.finish(prompt)


@breaks("undeclared-notice")
def a_notice_comes_unasked(talk: Talk) -> None:
    talk.initialize({"session": {"notices": None}})
    talk.new_session()
    talk.update("notice", severity="info", title="Hello")


@keeps("undeclared-notice")
def a_notice_comes_where_asked_for(talk: Talk) -> None:
    talk.initialize({"session": {"notices": {}}})
    talk.new_session()
    talk.update("notice", severity="info", title="Hello")
