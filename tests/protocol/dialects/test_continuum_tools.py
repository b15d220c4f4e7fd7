"""Tool calls and permissions of Continuum Router."""

from __future__ import annotations

import json

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
        ({"optionId": "allow_once"}, CHOSEN),
        ({"outcome": {"optionId": "allow_once"}}, CHOSEN),
        ("allow_everything", CANCELLED),
        ({"optionId": "allow"}, CANCELLED),
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


YES = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]


@pytest.mark.parametrize(
    "form",
    [
        "{}",
        '{{"outcome": {}}}',
        '{{"optionId": {}}}',
        '{{"outcome": {{"outcome": "selected", "optionId": {}}}}}',
        '{{"outcome": "selected", "optionId": {}}}',
    ],
)
def test_one_of_the_four_words_chooses_the_option_of_its_kind(
    dialect: Continuum, form: str
) -> None:
    for word, outcome in [
        ("allow_once", {"outcome": "selected", "optionId": "yes"}),
        # The client has never seen the ids of our options.
        ("yes", {"outcome": "cancelled"}),
    ]:
        params = {"sessionId": "s1", "toolCall": TOOL, "options": YES}
        dialect.write(call("session/request_permission", params, id=21), "agent")
        answer = json.loads(form.format(json.dumps(word)))
        (read,) = said(*dialect.read(frame(id=21, result=answer), "client").forward)
        assert read["result"] == {"outcome": outcome}


@pytest.mark.parametrize("beside", [TOOL, {"toolCall": TOOL}])
def test_an_option_that_the_client_has_seen_is_chosen_by_its_id(
    dialect: Continuum, beside: Json
) -> None:
    params = {"sessionId": "s1", "options": YES} | beside
    dialect.read(call("session/request_permission", params, id=21), "agent")
    (read,) = said(*dialect.read(frame(id=21, result={"optionId": "yes"}), "client").forward)
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
