"""What JSON is, however deeply it is nested; and lines that are no message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.lint.engine import lint
from acp_inspector.lint.json_lines import spells_json
from tests.inspector.lint.talk import Talk

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS.filter(lambda each: each not in {float("inf"), float("-inf")}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(VALUES, st.sampled_from([None, 1]))
def test_what_is_json_is_known_for_it(value: Any, indent: int | None) -> None:
    assert spells_json(json.dumps(value, indent=indent))


@given(VALUES, st.integers(0, 40), st.sampled_from('[]{},:"1a '))
def test_a_text_is_json_where_the_standard_library_reads_it(
    value: Any, place: int, slip: str
) -> None:
    text = json.dumps(value)
    text = text[:place] + slip + text[place + 1 :]
    try:
        json.loads(text, parse_constant=int)
    except ValueError:
        assert not spells_json(text)
    else:
        assert spells_json(text)


@pytest.mark.parametrize("levels", [5, 50_000])
def test_nesting_has_no_end(levels: int) -> None:
    assert spells_json('{"a":[' * levels + "]}" * levels)
    assert not spells_json('{"a":[' * levels + "]}" * (levels - 1) + "]]")
    assert not spells_json('{"a":[' * levels)


UNFINISHED = b'{"jsonrpc":"2.0","id":5,"method":'


def rules_of(talk: Talk) -> list[tuple[str, int]]:
    """Return the rules about framing that were broken, each with its last frame."""
    names = {"not-json", "message-spans-lines", "not-an-object"}
    found = lint(talk.entries).findings
    return [(each.rule.name, each.frames[-1]) for each in found if each.rule.name in names]


def test_scalars_behind_an_unfinished_line_that_was_refused_are_lines_of_their_own() -> None:
    talk = Talk()
    talk.open()
    begun = talk.send("client", UNFINISHED)
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "Parse error"}})
    number = talk.send("client", b"42")
    talk.send("agent", {"id": None, "error": {"code": -32600, "message": "Invalid request"}})
    null = talk.send("client", b"null")
    talk.send("agent", {"id": None, "error": {"code": -32600, "message": "Invalid request"}})
    assert rules_of(talk) == [
        ("not-json", begun),
        ("not-an-object", number),
        ("not-an-object", null),
    ]


def test_a_message_over_several_lines_is_one_finding_even_if_its_lines_were_refused() -> None:
    talk = Talk()
    talk.open()
    last = 0
    for line in (b"{", b'"jsonrpc": "2.0",', b'"method": "_x"', b"}"):
        last = talk.send("client", line)
        talk.send("agent", {"id": None, "error": {"code": -32700, "message": "Parse error"}})
    assert rules_of(talk) == [("message-spans-lines", last)]


def test_scalars_behind_an_unfinished_line_may_continue_it_until_it_is_refused() -> None:
    talk = Talk()
    talk.open()
    talk.send("client", b"[")
    talk.send("client", b"42")
    last = talk.send("client", b"]")
    assert rules_of(talk) == [("message-spans-lines", last)]


@pytest.mark.parametrize(
    ("events", "severities"),
    [
        (["session/list"], ["error"]),
        (["eof from client", "exit"], ["warning"]),
        (["eof from agent", "exit"], ["error"]),
        ([], []),
    ],
)
def test_an_array_without_a_response_is_reported(events: list[str], severities: list[str]) -> None:
    talk = Talk()
    talk.open()
    talk.send("client", b'[{"jsonrpc":"2.0","id":7,"method":"session/list"}]')
    for event in events:
        name, _, side = event.partition(" from ")
        if name == "session/list":
            talk.answer(talk.ask("session/list"), sessions=[])
        else:
            talk.event(name, **({"code": 0} if name == "exit" else {"from": side}))
    found = [each for each in lint(talk.entries).findings if each.rule.name == "batch-not-refused"]
    assert [each.severity for each in found] == severities
    assert all(each.message == "an array got no response" for each in found)


def test_an_initialize_of_an_unknown_version_is_not_read_as_version_2() -> None:
    talk = Talk()
    claims = {"fs": {"readTextFile": True, "writeTextFile": False}, "terminal": False}
    params = {"protocolVersion": 99, "clientCapabilities": claims}
    info = {"name": "probe", "version": "1"}
    asked = talk.ask("initialize", params | {"clientInfo": info})
    talk.answer(asked, protocolVersion=1, agentCapabilities={"loadSession": True}, agentInfo=info)
    assert "missing-info" not in {each.rule.name for each in lint(talk.entries).findings}
    assert not [each for each in lint(talk.entries).findings if each.severity == "error"]
