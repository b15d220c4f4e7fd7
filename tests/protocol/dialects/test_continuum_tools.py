"""Tool calls and permissions of Continuum Router."""

from __future__ import annotations

import pytest

from acp_protocol.dialects.continuum import Continuum
from acp_protocol.jsonrpc import Json
from tests.protocol.dialects.examples import call, frame, is_valid, said, update

PLACE = {"uri": "file:///src/main.rs", "startLine": 42}
TOOL = {"toolCallId": "tc-1", "title": "Edit File", "kind": "edit"}
CANCELLED = {"outcome": {"outcome": "cancelled"}}
CHOSEN = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}


@pytest.fixture
def dialect() -> Continuum:
    return Continuum("/abs/project")


def test_a_permission_that_nobody_can_answer_is_shown(dialect: Continuum) -> None:
    params = {"sessionId": "s1"} | TOOL | {"locations": [PLACE]}
    reading = dialect.read(call("session/request_permission", params), "agent")
    (shown,) = said(*reading.forward)
    place = {"path": "/src/main.rs", "line": 42}
    tool = TOOL | {"locations": [place], "status": "pending"}
    assert shown == update({"sessionUpdate": "tool_call"} | tool)
    assert is_valid(shown)


@pytest.mark.parametrize(
    ("status", "official"),
    [
        ("Ask", "pending"),
        ("Pending", "pending"),
        ("InProgress", "in_progress"),
        ("completed", "completed"),
        ("Failed", "failed"),
    ],
)
def test_the_progress_of_a_tool_call_is_read(
    dialect: Continuum, status: str, official: str
) -> None:
    params = {"sessionId": "s1"} | TOOL | {"status": status}
    first, second = (
        said(*dialect.read(call("session/update", params), "agent").forward)[0] for _ in range(2)
    )
    tool = TOOL | {"status": official}
    assert first == update({"sessionUpdate": "tool_call"} | tool)
    assert second == update({"sessionUpdate": "tool_call_update"} | tool)
    assert is_valid(first)
    assert is_valid(second)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (CHOSEN, CHOSEN),
        ("allow_once", CHOSEN),
        ({"outcome": "allow_once"}, CHOSEN),
        ("allow_everything", CANCELLED),
        ("selected", CANCELLED),
        ({"outcome": {"outcome": "selected", "optionId": "all"}}, CANCELLED),
        ({"outcome": {"outcome": "cancelled"}}, CANCELLED),
    ],
)
def test_a_permission_is_given_by_an_offered_word_alone(
    dialect: Continuum, answer: Json, outcome: Json
) -> None:
    params = {"sessionId": "s1"} | TOOL
    dialect.read(call("session/request_permission", params, id=21), "agent")
    read = said(*dialect.read(frame(id=21, result=answer), "client").forward)
    assert read == said(frame(id=21, result=outcome))


@pytest.mark.parametrize(
    "answer",
    [
        "allow_once",
        {"outcome": "allow_once"},
        {"outcome": {"outcome": "selected", "optionId": "allow_once"}},
        {"outcome": "selected", "optionId": "allow_once"},
        {"outcome": {"outcome": "selected", "optionId": "yes"}},
    ],
)
def test_a_word_chooses_the_option_of_its_kind(dialect: Continuum, answer: Json) -> None:
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    params = {"sessionId": "s1", "toolCall": TOOL, "options": options}
    dialect.write(call("session/request_permission", params, id=21), "agent")
    (read,) = said(*dialect.read(frame(id=21, result=answer), "client").forward)
    assert read["result"] == {"outcome": {"outcome": "selected", "optionId": "yes"}}


@pytest.mark.parametrize(
    ("word", "option"),
    [("allow_always", "narrow"), ("reject_always", "no"), ("reject_once", "no")],
)
def test_of_several_options_the_narrowest_is_chosen_and_once_where_none_lasts(
    dialect: Continuum, word: str, option: str
) -> None:
    kinds = {"narrow": "allow_always", "wide": "allow_always", "no": "reject_once"}
    options = [{"optionId": id_, "name": id_, "kind": kind} for id_, kind in kinds.items()]
    params = {"sessionId": "s1", "toolCall": TOOL, "options": options}
    dialect.write(call("session/request_permission", params, id=21), "agent")
    (read,) = said(*dialect.read(frame(id=21, result=word), "client").forward)
    assert read["result"] == {"outcome": {"outcome": "selected", "optionId": option}}
