"""Checks that many rules share, and rules about what no other rule has reported."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from acp_inspector.journal import Frame
from acp_inspector.lint.checks import Places, claimed, schema
from acp_inspector.lint.context import OK, Context
from acp_inspector.lint.engine import lint
from acp_inspector.lint.registry import registry
from acp_inspector.lint.state import LintState
from acp_protocol.dialects.spellings import NO_DIALECT
from tests.inspector.lint.talk import Talk, cases

GENERAL = {check.rule for check in registry().checks if check.place[0]}
"""Rules about what no other rule has reported."""


def update(**members: Any) -> Context:
    """Return the context of a tool call of version 1."""
    talk = Talk()
    talk.update("tool_call", **members)
    (frame,) = talk.entries
    assert isinstance(frame, Frame)
    state = LintState()
    state.version = 1
    return Context(frame, state)


DIFF = {"type": "diff", "path": 1, "newText": "a"}


@pytest.mark.parametrize(
    ("at", "paths"),
    [
        ("title", ["params.update.title"]),
        ("toolCallId|title", ["params.update.title", "params.update.toolCallId"]),
        ("content.*.path", ["params.update.content.0.path"]),
        ("content.**", ["params.update.content.0.path"]),
        (("kind", "content.*.newText|path"), ["params.update.content.0.path"]),
        ("content.*", []),
        ("kind", []),
    ],
)
def test_errors_of_the_schema_are_found_at_the_places(at: Places, paths: list[str]) -> None:
    found = schema(update(content=[DIFF]), at=at)
    assert sorted(problem.path for problem in found or ()) == paths


@pytest.mark.parametrize(
    ("members", "at", "kinds", "is_idle"),
    [
        ({}, "content.*.path", "missing", True),
        ({"content": []}, "content.*.path", "missing", True),
        ({"content": [DIFF]}, "content.*.path", "missing", False),
        ({}, "title", "missing", False),
        ({}, "status", "word", True),
        ({"status": "pending"}, "status", "word", False),
        ({"status": None}, "kind|status", "word", False),
    ],
)
def test_there_is_nothing_to_check_where_nothing_is(
    members: dict[str, Any], at: Places, kinds: Any, is_idle: bool
) -> None:
    complete = {"toolCallId": "t1", "title": "Read"}
    assert (schema(update(**complete, **members), at=at, kinds=kinds) is None) is is_idle


def test_a_capability_is_needed_only_for_the_value_that_needs_it() -> None:
    context = update(status="pending")
    context.state.is_ready = True
    needed = claimed(context, "terminal", by="client", at="status", value="pending")
    assert [problem.path for problem in needed or ()] == ["params.update.status"]
    assert claimed(context, "terminal", by="client", at="status", value="failed") is None
    context.state.capabilities["client"] = {"terminal": True}
    assert claimed(context, "terminal", by="client", at="status", value="pending") == OK


def test_what_the_schema_finds_is_reported_under_one_name() -> None:
    """Over some of the talks that break a rule."""
    for case in [case for case in cases() if case.is_broken][::4]:
        found = lint(
            case.talk().entries, unstable=case.is_unstable, dialect=case.dialect or NO_DIALECT
        ).findings
        places = Counter((each.frames[-1], each.path) for each in found if each.path)
        for each in found:
            if each.rule.name in GENERAL and each.path:
                assert places[each.frames[-1], each.path] == 1, (str(case), each.path)


def test_each_of_the_checks_of_a_rule_finds_what_it_looks_for() -> None:
    talk = Talk()
    talk.open()
    talk.answer(talk.ask("session/list"), sessions=[{"cwd": "here"}])
    found = {each.path: each.rule.name for each in lint(talk.entries).findings}
    assert found == dict.fromkeys(
        ("result.sessions.0.sessionId", "result.sessions.0.cwd"), "incomplete-listed-session"
    )
