"""What may stand at a place of an expression that is being typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.completion import Completion, completions
from acp_inspector.filter.fields import FIELDS
from acp_protocol.schema.methods import METHODS

SESSIONS = ["s1", "a b", "/x/"]


def offered(text: str) -> list[str]:
    """Return what is offered where the bar stands."""
    before, _, after = text.partition("|")
    found = completions(before + after, len(before), seen={"session": SESSIONS})
    return [completion.text for completion in found]


FIRST = [*FIELDS, "not"]
TEXT = ["==", "!=", "~", "contains", "in", "exists"]
NUMBER = ["==", "!=", "<", "<=", ">", ">=", "in", "exists"]
JOINTS = ["and", "or"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("|", FIRST),
        ("error and |", FIRST),
        ("not (|", FIRST),
        ("met|", ["method"]),
        ("MET|", ["method"]),
        ("kind|", ["kind", "tool.kind"]),
        ("method |", TEXT),
        ("method !|", ["!="]),
        ("size |", NUMBER),
        ("size >|", [">", ">="]),
        ("size > |", []),
        ("held |", ["exists", *JOINTS]),
        ("error |", [*TEXT, *JOINTS]),
        ("from == |", ["client", "agent"]),
        ("from == a|", ["agent"]),
        ("finding >= |", ["info", "warning", "error"]),
        ("method == prom|", ["session/prompt"]),
        ("session == |", ["s1", '"a b"', '"/x/"']),
        ("status in |", ["("]),
        ("status in (fa|", ["failed"]),
        ("from in (client, |", ["client", "agent"]),
        ("from in (client |", [",", ")"]),
        ("from in (client) |", JOINTS),
        ("latency not |", ["in", "exists"]),
        ("from == agent |", JOINTS),
        ("some words |", JOINTS),
        ('"text" a|', ["and"]),
        ("/re/ |", JOINTS),
        ("$.params.x == 3 |", JOINTS),
        ('"quoted met|', []),
    ],
)
def test_what_fits_is_offered(text: str, words: list[str]) -> None:
    assert offered(text) == words


def test_every_method_of_every_version_is_offered() -> None:
    assert set(offered("method == |")) == {row.name for row in METHODS}


def test_places_in_messages_are_offered_once_they_begin() -> None:
    assert "$.params.sessionId" in offered("$.par|")
    assert "==" in offered("$.params.x |")


def test_the_whole_word_is_replaced() -> None:
    found = completions("error and met == x", 12)
    assert found[:1] == [Completion("method", FIELDS["method"].description, 10, 13)]


@given(st.text(alphabet="nmethod=<>~ ()\"',$.[]in0sé/", max_size=20), st.integers(-3, 25))
def test_any_place_of_any_text_has_its_offers(text: str, position: int) -> None:
    for offer in completions(text, position, seen={"session": SESSIONS}):
        assert 0 <= offer.start <= offer.end <= len(text)


@pytest.mark.parametrize("name", [name for name, field in FIELDS.items() if field.values])
def test_what_is_offered_can_be_compiled(name: str) -> None:
    for operator in set(offered(f"{name} |")) - {"in", "exists", *JOINTS}:
        for value in offered(f"{name} {operator} |"):
            assert compile_filter(f"{name} {operator} {value}")
    for value in offered(f"{name} in (|"):
        assert compile_filter(f"{name} in ({value})")
