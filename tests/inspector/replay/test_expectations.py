"""`NAME.expect.toml`: what may differ from a recording, and how it is learned."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.compare.diff import compare
from acp_inspector.compare.difference import value_lines
from acp_inspector.replay.expectations import (
    AppliedExpectations,
    Expectations,
    InvalidExpectationsError,
    compare_with,
    expectations_beside,
    propose,
    read_expectations,
)
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

IGNORE = '[[ignore]]\npath = "$.params.update.title"\nreason = "the model chooses it"\n'


def expected(text: str) -> Expectations:
    return Expectations.model_validate(tomllib.loads(text))


def titled(title: object, *, more: tuple[Said, ...] = ()) -> list[Said]:
    stop = answer("agent", 1, {"stopReason": "end_turn"})
    return [prompt(1, "go"), update("session_info_update", title=title), *more, chunk("ok"), stop]


def test_it_lies_beside_its_recording() -> None:
    assert expectations_beside(Path("a/hello.acp.ndjson")) == Path("a/hello.expect.toml")
    assert expectations_beside(Path("a/hello.acp.ndjson.gz")) == Path("a/hello.expect.toml")


@pytest.mark.parametrize(
    ("entry", "same", "other"),
    [
        ('[[ignore]]\npath = "$.params.update.title"', "two", None),
        ('[[ignore]]\nfilter = "update == session_info_update"', "two", None),
        ('[[match]]\npath = "$.params.update.title"\nregex = "[a-z]+"', "two", "2"),
        ('[[match]]\npath = "$..title"\ntype = "string"', "two", 2),
        ('[[match]]\npath = "$.params.update.title"\nlines = "unordered"', "b\none", "b\nc"),
    ],
)
def test_an_entry_allows_what_it_says_and_no_more(entry: str, same: str, other: object) -> None:
    expectations = expected(f'{entry}\nreason = "a test"\n')
    first = "one\nb" if "lines" in entry else "one"
    left = frames(*titled(first))
    assert compare_with(expectations, left, frames(*titled(same))).differences == ()
    assert compare(left, frames(*titled(same))).differences
    if other is not None:
        assert compare_with(expectations, left, frames(*titled(other))).differences
    changed = frames(*titled(same)[:-2], chunk("no"), titled(same)[-1])
    assert compare_with(expectations, left, changed).differences


def test_an_entry_that_never_applies_is_unused_unless_it_may() -> None:
    for may, unused in (("", ["$.params.update.title"]), ("may = true\n", [])):
        applied = AppliedExpectations.of(expected(IGNORE + may))
        said = frames(chunk("a"))
        compare(said, said, ignores=applied.ignores, matchers=applied.matchers)
        assert applied.unused() == unused


@pytest.mark.parametrize(
    ("how", "title", "why"),
    [
        ('regex = "T"', "t", "the regex T does not match the whole value marked -"),
        (
            'regex = "(t|tt)+[xy]"',
            "t" * 60,
            "the regex (t|tt)+[xy] took longer than 1 s for the value mar",
        ),
        ('type = "number"', "t", "not both are of type number"),
    ],
)
def test_a_matcher_says_why_it_does_not_match(how: str, title: str, why: str) -> None:
    said = frames(*titled(title))
    expectations = expected(f'[[match]]\npath = "$.params.update.title"\n{how}\nreason = "r"')
    (difference,) = compare_with(expectations, said, said).differences
    assert difference.why.startswith(why)
    assert list(value_lines(difference)) == [f"- {title}", f"+ {title}", difference.why]


def test_a_matcher_applies_to_equal_values_as_well() -> None:
    text = '[[match]]\npath = "$.params.update.title"\nregex = "\\\\d+"\nreason = "a number"\n'
    applied = AppliedExpectations.of(expected(text))
    said = frames(*titled("7"))
    assert not compare(said, said, matchers=applied.matchers).differences
    assert applied.unused() == []
    said = frames(*titled("seven"))
    assert compare(said, said, matchers=applied.matchers).differences


def test_a_matcher_that_may_apply_bears_equal_values() -> None:
    lines = ['path = "$.params.update.title"', 'regex = "[0-9]+"', 'reason = "r"', "may = true"]
    matchers = AppliedExpectations.of(expected("\n".join(["[[match]]", *lines]))).matchers
    said, other = frames(*titled("seven")), frames(*titled("7"))
    assert not compare(said, said, matchers=matchers).differences
    assert compare(said, other, matchers=matchers).differences


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[ignore]]\n", "ignore[0].reason: is missing"),
        ('[[ignore]]\nreason = "x"\n', "ignore[0]: one of filter and path is needed"),
        ('[[ignore]]\npath = "a"\nreason = "x"\n', "ignore[0].path: a path begins with $"),
        ('[[ignore]]\nfilter = "a =="\nreason = "x"\n', "ignore[0].filter: no filter"),
        ('[[ignore]]\nfilter = "finding"\nreason = "x"\n', "ignore[0].filter: not available here"),
        ('[[match]]\npath = "$.a"\nreason = "x"\n', "match[0]: one of regex, type and lines"),
        ('[[match]]\npath = "$.a"\nregex = "("\nreason = "x"\n', "match[0].regex: no regular"),
        ('[[match]]\npath = "$.a"\ntype = "int"\nreason = "x"\n', "match[0].type: must be one of"),
        ('[[match]]\npath = "$.a"\ntype = "string"\nreason = " "\n', "match[0].reason: String"),
        ("[[other]]\n", "other: unknown key"),
        ("[[", "no TOML"),
    ],
)
def test_an_error_names_file_and_key(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "x.expect.toml"
    path.write_text(text)
    with pytest.raises(InvalidExpectationsError) as raised:
        read_expectations(path)
    assert str(raised.value).startswith(f"{path}: {reason}")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidExpectationsError, match="no such file"):
        read_expectations(tmp_path / "x.expect.toml")


# Learning


def found(value: object) -> list[Said]:
    return titled("t", more=(update("tool_call", toolCallId="c", rawOutput={"found": value}),))


VALUES: list[tuple[object, object, str]] = [
    ("found 12 files", "found 15 files", "regex"),
    ("a\nb\nc", "c\nb\na", "lines"),
    ("apple", "pear", "type"),
    (1, 2.5, "type"),
    ("one", None, "path"),
    ({"a": 1}, {"a": 2}, "type"),
    ([1], [1, 2], "path"),
]


@pytest.mark.parametrize(("one", "other", "how"), VALUES)
def test_a_proposal_makes_the_two_runs_equal(
    tmp_path: Path, one: object, other: object, how: str
) -> None:
    left, right = frames(*found(one)), frames(*found(other))
    assert compare(left, right).differences
    proposal = propose(left, right)
    path = tmp_path / "x.expect.toml"
    path.write_text(proposal.to_toml())
    again = read_expectations(path)
    assert again == proposal
    assert f"{how} = " in path.read_text()
    assert compare_with(again, left, right).differences == ()
    assert all(each.reason for each in [*again.ignore, *again.match])


def test_steps_of_one_run_only_are_proposed_to_be_ignored() -> None:
    extra: tuple[Said, ...] = (
        update("plan", entries=[]),
        ("agent", {"method": "_vendor/ping", "params": {"n": 1}}),
    )
    left, right = frames(*titled("t")), frames(*titled("t", more=extra))
    for pair in ((left, right), (right, left)):
        proposal = propose(*pair)
        assert {each.filter for each in proposal.ignore} == {
            'update == "plan"',
            'method == "_vendor/ping"',
        }
        assert compare_with(proposal, *pair).differences == ()


def ended(reason: str) -> list[Said]:
    return [prompt(1, "go"), answer("agent", 1, {"stopReason": reason})]


def asked(method: str, **params: object) -> list[Said]:
    return [ask("agent", 1, method, sessionId="s1", **params)]


def called(**members: Any) -> list[Said]:
    return [update("tool_call", toolCallId="call-1", **members)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ended("end_turn"), ended("refusal")),
        (asked("session/request_permission", options=[]), []),
        (
            asked("session/request_permission", options=[{"kind": "reject_once"}]),
            asked("session/request_permission", options=[{"kind": "reject_always"}]),
        ),
        (
            asked("fs/write_text_file", path="/w/a", content="one two three four"),
            asked("fs/write_text_file", path="/w/a", content="one two three five"),
        ),
        (called(rawInput={"count": 1}), called(rawInput={"count": 2})),
        (called(rawInput={"port": 8080}), called(rawInput={"port": 9090})),
        (called(rawInput={"run": "head -10 x"}), called(rawInput={"run": "head -20 x"})),
        (called(rawInput={"run": "cat a1b2c3"}), called(rawInput={"run": "rm a1b2c4"})),
        (called(rawInput={"run": "cat a1b2c3"}), called(rawInput={"run": "cat a1b2c34"})),
        (called(rawInput={"run": "cat a1b2c3"}), called(rawInput={})),
        (called(status="completed"), called(status="failed")),
        (
            called(content=[{"type": "diff", "newText": "a b c d"}]),
            called(content=[{"type": "diff", "newText": "a b c e"}]),
        ),
        ([chunk("Hello")], [chunk("Goodbye")]),
        ([chunk("Hello")], []),
        (called(content=[{"type": "diff", "newText": "a"}]), called(content=[])),
        (called(content=[{"type": "diff"}]), called(content=None)),
        (ended("end_turn"), [prompt(1, "go"), answer("agent", 1, None)]),
    ],
)
def test_what_is_always_compared_is_never_proposed(one: list[Said], other: list[Said]) -> None:
    left, right = frames(*one), frames(*other)
    assert propose(left, right) == Expectations()
    assert propose(right, left) == Expectations()


@pytest.mark.parametrize(
    ("one", "other", "wrong"),
    [
        ("kill -9 48213", "kill -9 517", None),
        ("kill -9 48213", "kill -9 51744", "kill -1 51744"),
        ("cat x-a1b2c3.log", "cat x-d4e5f6.log", "rm x-d4e5f6.log"),
    ],
)
def test_input_that_differs_only_by_a_known_shape_may_be_proposed(
    one: str, other: str, wrong: str | None
) -> None:
    def called_with(run: str) -> list[Said]:
        return called(rawInput={"run": run})

    def started_with(run: str) -> list[Said]:
        return asked("terminal/create", command="sh", args=["-c", run])

    for make in (called_with, started_with):
        left, right = frames(*make(one)), frames(*make(other))
        proposal = propose(left, right)
        if wrong is None:
            assert proposal == Expectations()
            continue
        assert len(proposal.match) == 1
        assert expected(proposal.to_toml()) == proposal
        assert compare_with(proposal, left, right).differences == ()
        assert compare_with(proposal, left, frames(*make(wrong))).differences


def test_equal_runs_need_no_expectations() -> None:
    said = frames(*titled("t"))
    assert propose(said, said) == Expectations()
    assert Expectations().to_toml() == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(JSON, JSON)
def test_any_two_values_can_be_expected(one: object, other: object) -> None:
    left, right = frames(*found(one)), frames(*found(other))
    proposal = propose(left, right)
    assert expected(proposal.to_toml()) == proposal
    assert compare_with(proposal, left, right).differences == ()
