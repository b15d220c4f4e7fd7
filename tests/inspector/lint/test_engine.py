"""Every rule finds what breaks it, and nothing where all is well."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.lint.catalog import RETIRED, SUBJECTS
from acp_inspector.lint.engine import Linter, LintReport, lint
from acp_inspector.lint.registry import find_rule, rules
from acp_inspector.recording.format import decode_line, encode_entry
from acp_protocol.dialects.spellings import NO_DIALECT
from tests.inspector.lint.talk import CWD, TOOL, Case, Talk, cases

CASES = cases()
BROKEN = [case for case in CASES if case.is_broken]
NEAR = [case for case in CASES if not case.is_broken]


def recorded(talk: Talk) -> list[Entry]:
    """Return a talk's entries as they come back from a recording."""
    lines = [decode_line(encode_entry(entry)[:-1]) for entry in talk.entries]
    return [line for line in lines if isinstance(line, Frame | StderrChunk | JournalEvent)]


@cache
def report_of(case: Case) -> LintReport:
    """Return what the linter says of a case."""
    report = lint(
        recorded(case.talk()), unstable=case.is_unstable, dialect=case.dialect or NO_DIALECT
    )
    assert not report.failed
    return report


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_a_rule_finds_what_breaks_it_and_proves_it(case: Case) -> None:
    report = report_of(case)
    found = [each for each in report.findings if each.rule.name == case.rule]
    assert found, sorted({each.rule.name for each in report.findings})
    numbers = {entry.seq for entry in case.talk().entries}
    for each in found:
        assert each.message
        assert each.fix
        assert each.frames
        assert numbers.issuperset(each.frames)
    assert case.rule in report.exercised


def test_a_finding_names_the_side_at_fault_where_the_frames_show_it() -> None:
    recording = Path(__file__).parents[3] / "recordings/reading/trouble.acp.ndjson"
    lines = [decode_line(line) for line in recording.read_bytes().splitlines()]
    report = lint(line for line in lines if isinstance(line, Frame | StderrChunk | JournalEvent))
    assert sorted((each.rule.name, each.frames[-1], each.at_fault) for each in report.findings) == [
        ("concurrent-prompts", 19, "client"),
        ("duplicate-response", 13, "client"),
        ("supported-method-refused", 7, "agent"),
        ("unanswered-request", 8, "agent"),
        ("unanswered-request", 18, "client"),
        ("unanswered-request", 19, "agent"),
        ("undeclared-file-write", 14, "agent"),
        ("undeclared-image", 8, "client"),
        ("unknown-method", 18, "agent"),
        ("unknown-response-id", 15, "client"),
    ]


@pytest.mark.parametrize("case", NEAR, ids=str)
def test_a_rule_looks_at_a_near_miss_and_lets_it_pass_as_any_other_does(case: Case) -> None:
    report = report_of(case)
    assert case.rule in report.exercised
    assert not [each.message for each in report.findings if each.rule.name == case.rule]
    errors = {
        f"{each.rule.name}: {each.message}"
        for each in report.findings
        if each.severity == "error" and each.rule.name not in case.despite
    }
    assert not errors


@pytest.mark.parametrize("rule", sorted(rules()))
def test_every_rule_has_a_talk_that_breaks_it_and_a_near_miss(rule: str) -> None:
    assert rule in {case.rule for case in BROKEN}, f"nothing breaks {rule}"
    assert rule in {case.rule for case in NEAR}, f"nothing comes close to {rule}"


def test_a_relative_path_of_a_diff_is_reported_once() -> None:
    (case,) = [case for case in BROKEN if case.script.__name__ == "a_diff_is_of_a_relative_path"]
    rules = [finding.rule.name for finding in report_of(case).findings]
    assert [rule for rule in rules if rule in {"incomplete-diff", "relative-diff-path"}] == [
        "relative-diff-path"
    ]


@pytest.mark.parametrize(
    ("variant", "fields", "rule"),
    [
        ("agent_message_chunk", {"content": {"type": "text", "text": "Hi"}}, "missing-message-id"),
        ("plan_update", {"plan": {"type": "items", "entries": []}}, "incomplete-plan"),
        ("plan_update", {"plan": {"planId": "p1"}}, "incomplete-plan"),
        ("plan_update", {}, "incomplete-plan"),
        ("usage_update", {"used": 10}, "incomplete-usage"),
        ("tool_call_update", {"status": "pending"}, "invalid-update"),
    ],
)
def test_a_missing_field_is_one_finding(variant: str, fields: dict[str, Any], rule: str) -> None:
    talk = Talk(2)
    talk.open()
    talk.accept(talk.prompt())
    talk.state("running")
    talk.update(variant, **fields)
    found = [each.rule.name for each in lint(talk.entries).findings if each.severity == "error"]
    assert found == [rule]


@pytest.mark.parametrize(
    ("fields", "severities"),
    [
        ({"type": "telnet"}, {"unknown-mcp-transport": "warning"}),
        ({}, {"unknown-mcp-transport": "error"}),
    ],
)
def test_a_transport_that_is_reserved_is_less_than_none(
    fields: dict[str, str], severities: dict[str, str]
) -> None:
    talk = Talk(2)
    talk.initialize()
    talk.ask("session/new", cwd="/w", mcpServers=[{"name": "a", "command": "/a"} | fields])
    found = {each.rule.name: each.severity for each in lint(talk.entries).findings}
    assert {rule: found[rule] for rule in severities} == severities


def test_an_unannounced_method_is_blamed_on_its_sender() -> None:
    (case,) = [case for case in BROKEN if case.script.__name__ == "a_method_was_not_announced"]
    (finding,) = [
        each for each in report_of(case).findings if each.rule.name == "unannounced-extension"
    ]
    assert finding.message == "the client sends _acme/mood, which the agent did not announce"
    assert finding.fix.startswith("Send it only")


@pytest.mark.parametrize("id_", [1.5, True, {"a": 1}, 2**63, 2**64 + 1])
def test_an_invalid_id_is_blamed_on_the_request_not_on_its_response(id_: Any) -> None:
    talk = Talk()
    talk.open()
    talk.ask("_x", id_=id_)
    request = len(talk.entries)
    read_as_double = float(id_) if isinstance(id_, int) and id_ > 2**62 else id_
    talk.send("agent", {"id": read_as_double, "result": {}})
    found = [each for each in lint(talk.entries).findings if each.severity == "error"]
    assert [(each.rule.name, each.frames) for each in found] == [("invalid-id", (request,))]


@pytest.mark.parametrize("last", [b"]", b"no JSON"])
def test_json_behind_an_unfinished_line_is_not_reported_as_broken(last: bytes) -> None:
    talk = Talk()
    talk.open()
    unfinished = talk.send("agent", b"[")
    talk.send("agent", b'"text"')
    talk.send("agent", b"7")
    end = talk.send("agent", last)
    talk.say()
    found = [each for each in lint(talk.entries).findings if each.rule.name == "not-json"]
    assert [each.frames for each in found] == [(unfinished,), (end,)]


@pytest.mark.parametrize(
    ("events", "severity"),
    [
        (["eof from agent", "exit"], "error"),
        (["exit"], "error"),
        (["eof from client", "exit"], "warning"),
        (["eof from client", "eof from agent", "exit"], "warning"),
    ],
)
def test_an_open_request_is_an_error_unless_the_client_left_first(
    events: list[str], severity: str
) -> None:
    talk = Talk()
    talk.open()
    talk.prompt()
    talk.ask("_x")
    for event in events:
        name, _, side = event.partition(" from ")
        talk.event(name, **({"code": 0} if name == "exit" else {"from": side}))
    found = {each.rule.name: each.severity for each in lint(talk.entries).findings}
    assert (found["unanswered-request"], found["custom-request-unanswered"]) == (severity, severity)


def talk_in_arrays() -> Talk:
    """Return a conversation of the draft that had arrays, from `initialize` on."""
    talk, info = Talk(2), {"protocolVersion": 2, "info": TOOL}
    talk.batch("client", {"id": "i", "method": "initialize", "params": info | {"capabilities": {}}})
    talk.batch("agent", {"id": "i", "result": info | {"capabilities": {"session": {}}}})
    talk.new_session()
    ask: dict[str, Any] = {"method": "session/list", "params": {}}
    cancel = {"method": "session/cancel", "params": {"sessionId": "s1"}}
    talk.batch("client", {"id": "a", **ask}, cancel, {"id": "b", **ask})
    listed = {"sessions": [{"sessionId": "s1", "cwd": CWD}]}
    talk.batch("agent", {"id": "b", "result": listed}, {"id": "a", "result": listed})
    return talk


def test_messages_of_arrays_are_checked_one_by_one_in_the_dialect_that_has_them() -> None:
    """The version is that of the `initialize` in the first array, which should not be in one."""
    report = lint(talk_in_arrays().entries, dialect="v2-batch")
    assert report.versions == {2}
    assert [(each.rule.name, each.path) for each in report.findings] == [
        ("lifecycle-in-batch", "0.method")
    ]
    assert "batch-sent" not in report.applicable


def test_arrays_are_errors_of_the_published_protocol_and_hint_at_the_dialect() -> None:
    report = lint(talk_in_arrays().entries)
    assert report.dialects == {"v2-batch"}
    assert {"batch-sent", "batch-response"} <= {each.rule.name for each in report.findings}


@pytest.mark.parametrize(
    ("entry", "rule"),
    [
        (rb'{"jsonrpc":"2.0","id":"\ud800","method":"session/list"}', "lone-surrogate"),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"session/list"}', "duplicate-member"),
        (b'{"jsonrpc":"2.0","id":1e400,"method":"session/list"}', "invalid-id"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"session/list"}]', "not-an-object"),
        (b"1e400", "not-an-object"),
        (b"null", "not-an-object"),
    ],
)
def test_messages_of_arrays_are_checked_as_they_were_sent(entry: bytes, rule: str) -> None:
    talk = Talk(2)
    talk.open()
    talk.send("client", b"[ " + entry + b" ]")
    report = lint(talk.entries, dialect="v2-batch")
    assert not report.failed
    assert rule in {each.rule.name for each in report.findings}
    if rule == "not-an-object":
        assert next(each.message for each in report.findings).startswith("an entry of the array")


def test_a_finding_in_an_array_names_its_entry() -> None:
    talk = Talk(2)
    talk.open()
    wrong = {"id": "b", "method": "session/list", "params": {"cursor": 7}}
    talk.batch("client", {"id": "a", "method": "session/list", "params": {}}, wrong)
    (finding,) = [
        each
        for each in lint(talk.entries, dialect="v2-batch").findings
        if each.path.endswith("cursor")
    ]
    assert (finding.path, finding.frames) == ("1.params.cursor", (len(talk.entries),))


def test_only_the_refusal_of_an_array_counts_as_one() -> None:
    talk = Talk()
    talk.open()
    array = talk.send("client", b'[{"jsonrpc":"2.0","id":"a","method":"session/list"}]')
    talk.send("client", b"{]")
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "This is no JSON."}})
    talk.send("agent", {"id": None, "error": {"code": -32600, "message": "This is an array."}})
    talk.wait(10)
    talk.say()
    assert not [
        each for each in lint(talk.entries).findings if each.rule.name == "batch-not-refused"
    ]
    del talk.entries[array + 2]
    (found,) = [
        each for each in lint(talk.entries).findings if each.rule.name == "batch-not-refused"
    ]
    assert (found.frames, found.message) == ((array,), "an array got no response")


def repeat_a_foreign_method(talk: Talk) -> None:
    talk.tell("acme/ping")


def repeat_an_unknown_member(talk: Talk) -> None:
    blocks = [{"type": "text", "text": "Hi"}, {"type": "text", "text": "Hi", "hue": "red"}]
    call = talk.ask("session/prompt", sessionId="s1", prompt=blocks[len(talk.entries) % 2 :])
    talk.finish(call)


def repeat_an_unknown_method(talk: Talk) -> None:
    talk.refuse(talk.ask("session/summarize"), -32601)


@pytest.mark.parametrize(
    ("rule", "repeat"),
    [
        ("unprefixed-method", repeat_a_foreign_method),
        ("unknown-member", repeat_an_unknown_member),
        ("unknown-method", repeat_an_unknown_method),
    ],
)
def test_a_mistake_of_every_message_is_one_finding_a_connection(
    rule: str, repeat: Callable[[Talk], None]
) -> None:
    talk = Talk()
    for process in (1, 2):
        talk.event("spawn", pid=process)
        talk.open()
        for _ in range(3):
            repeat(talk)
    assert [each.rule.name for each in lint(talk.entries).findings].count(rule) == 2


def test_a_mode_that_differs_from_its_option_is_one_finding() -> None:
    (case,) = [case for case in BROKEN if case.script.__name__ == "the_option_stays_behind"]
    talk = case.talk()
    talk.turn()
    talk.turn()
    assert [each.rule.name for each in lint(talk.entries).findings].count(
        "mode-differs-from-option"
    ) == 1


def test_a_repeated_mistake_is_found_where_the_filter_looks() -> None:
    talk = Talk()
    talk.open()
    talk.tell("acme/ping")
    second = talk.tell("acme/ping")
    linter = Linter(hides=lambda finding: "" if second in finding.frames else "--filter")
    for entry in talk.entries:
        linter.feed(entry)
    assert [each.frames for each in linter.report.findings] == [(second,)]


def test_version_1_that_is_called_version_2_is_one_finding_about_the_agent() -> None:
    talk = Talk()
    begin = {"protocolVersion": 2, "capabilities": {}, "info": TOOL}
    call = talk.ask("initialize", begin)
    claims: dict[str, Any] = {"loadSession": True, "sessionCapabilities": {"list": {}}}
    methods = [{"id": "key", "name": "Key"}]
    old = {"agentCapabilities": claims, "agentInfo": TOOL, "authMethods": methods}
    answer = talk.answer(call, {"protocolVersion": 2} | old)
    talk.new_session(modes={"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]})
    prompt = talk.prompt()
    talk.say()
    talk.tool()
    talk.choose(talk.permission())
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.finish(prompt)
    talk.answer(talk.ask("session/list"), sessions=[])
    # The client may take the agent at its word.
    talk.refuse(talk.ask("auth/login", methodId="key"), -32601)
    server: dict[str, Any] = {
        "type": "stdio",
        "name": "a",
        "command": "/bin/a",
        "args": [],
        "env": [],
    }
    talk.answer(talk.ask("session/new", cwd=CWD, mcpServers=[server]), sessionId="s2")
    report = lint(talk.entries)
    found = [each for each in report.findings if each.severity != "info"]
    assert [(each.rule.name, each.frames) for each in found] == [
        ("version-in-disguise", (1, answer))
    ]
    assert report.versions == {1}


def test_no_two_cases_have_the_same_name() -> None:
    names = [str(case) for case in CASES]
    assert len(names) == len(set(names))


CORRECTED = {
    "unknown-mcp-transport": ("error", "v2", "client", "schema"),
    "concurrent-prompts": ("warning", "v1", "client", "implied"),
    "foreign-prompt-field": ("warning", "both", "client", "must"),
    "reopened-tool-call": ("error (v1: warning)", "both", "agent", "implied"),
    "diff-without-changes": ("error", "v2", "agent", "must"),
    "line-below-one": ("warning", "v1", "agent", "implied"),
    "output-after-exit": ("warning", "v2", "agent", "heuristic"),
    "invalid-select-option": ("error (v1: warning)", "both", "agent", "schema"),
    "reserved-option-category": ("info", "both", "agent", "implied"),
    "malformed-command-name": ("warning", "v2", "agent", "must"),
    "unknown-value-lost": ("warning", "v2", "proxy", "should"),
    "wrong-initialize-response": ("warning", "both", "agent", "implied"),
    "wrong-stream": ("warning", "both", "agent", "implied"),
    "http-batch-accepted": ("warning", "both", "agent", "implied"),
    "wrong-pause": ("warning", "v2", "agent", "heuristic"),
}
"""Rows that were corrected after the catalogue was published: `protocol/rules-corrections.md`."""
GONE = frozenset(f"ACP-L{number:03}" for number in RETIRED)
"""Rules that there were once."""
LETTERS = {
    "M": "must",
    "S": "should",
    "I": "implied",
    "X": "schema",
    "J": "json-rpc",
    "H": "heuristic",
}
"""The basis of a rule, as the published catalogue spells it."""


def catalogue() -> dict[str, tuple[str, str, str, str]]:
    """Return severity, version, side and basis of each rule."""
    return {
        name: (
            rule.severities,
            "both" if rule.version is None else f"v{rule.version}",
            rule.side,
            rule.basis,
        )
        for name, rule in rules().items()
    }


def test_a_rule_has_a_name_of_a_few_words_and_a_number_of_its_own() -> None:
    for name, rule in rules().items():
        assert rule.name == name
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+){0,3}", name)
        assert rule.text.strip()
        assert rule.fix.endswith(".")
        assert rule.subject in SUBJECTS
        assert find_rule(name.upper()) is find_rule(rule.id.lower()) is rule
    numbers = [rule.number for rule in rules().values()]
    assert numbers == sorted(set(numbers))
    assert not RETIRED.keys() & set(numbers)
    assert find_rule("ACP-L010") is None


def test_corrected_rules_are_in_the_catalogue_as_corrected() -> None:
    assert {id_: row for id_, row in catalogue().items() if id_ in CORRECTED} == CORRECTED


@pytest.mark.parametrize(
    ("rule", "severity"),
    [
        ("concurrent-prompts", "warning"),
        ("line-below-one", "warning"),
        ("reserved-option-category", "info"),
    ],
)
def test_what_the_protocol_does_not_forbid_is_no_error(rule: str, severity: str) -> None:
    reports = [report_of(case) for case in BROKEN if case.rule == rule]
    found = [each for report in reports for each in report.findings if each.rule.name == rule]
    assert {each.severity for each in found} == {severity}


@pytest.mark.parametrize(
    ("rule", "other"),
    [("malformed-command-name", 1), ("unknown-value-lost", 1), ("line-below-one", 2)],
)
def test_a_rule_of_one_version_says_nothing_of_the_other(rule: str, other: int) -> None:
    scripts = [case.script for case in BROKEN if case.rule == rule]
    assert scripts
    for script in scripts:
        talk = Talk(other)
        script(talk)
        found = lint(talk.entries, unstable=True).findings
        assert rule not in {each.rule.name for each in found}


def test_the_catalogue_is_the_published_one_with_its_corrections(shared: Path) -> None:
    lines = (shared / "protocol" / "rules.md").read_text().splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("| ACP-L")
    ]
    wanted = {
        row[0]: (row[1], row[2], row[3], LETTERS[row[4]])
        for row in rows
        if row[0] not in GONE and row[1] != "withdrawn"
    }
    corrected = {rules()[name].id: row for name, row in CORRECTED.items()}
    ours = {rules()[name].id: row for name, row in catalogue().items()}
    # Rules of our own come after the last published one.
    own = ours.keys() - wanted.keys()
    assert {id_: row for id_, row in ours.items() if id_ not in own} == wanted | corrected
    assert min(own) > max(wanted)


@pytest.mark.parametrize(
    ("script", "rule", "severity"),
    [
        ("the_current_value_is_none_of_the_options", "invalid-select-option", "warning"),
        ("a_select_has_no_options", "invalid-select-option", "error"),
        ("a_select_offers_nothing", "invalid-select-option", "error"),
        ("a_completed_call_goes_on", "reopened-tool-call", "warning"),
        ("a_cancelled_call_is_pending_by_null", "reopened-tool-call", "error"),
        ("a_state_of_ones_own_has_no_underscore", "malformed-auth-status", "warning"),
        ("a_status_has_no_state", "malformed-auth-status", "error"),
    ],
)
def test_what_a_version_does_not_say_weighs_less(script: str, rule: str, severity: str) -> None:
    (case,) = [case for case in BROKEN if case.script.__name__ == script]
    (finding,) = [each for each in report_of(case).findings if each.rule.name == rule]
    assert finding.severity == severity


def test_a_rule_that_had_nothing_to_look_at_is_told() -> None:
    talk = Talk()
    talk.open()
    report = lint(talk.entries)
    assert "concurrent-prompts" in report.idle or "concurrent-prompts" not in report.applicable
    assert "wrong-jsonrpc-version" not in report.idle
    assert report.idle | report.exercised >= report.applicable


def test_a_new_process_begins_a_new_connection() -> None:
    talk = Talk()
    talk.event("spawn", pid=1)
    talk.open()
    talk.end()
    talk.event("spawn", pid=2)
    talk.open()
    talk.end()
    assert not [each.message for each in lint(talk.entries).findings if each.severity != "info"]


def test_a_new_process_begins_a_new_connection_though_the_last_has_no_end() -> None:
    talk = Talk()
    talk.event("spawn", pid=1)
    talk.open()
    prompt = talk.prompt()
    talk.event("spawn", pid=2)
    first = len(talk.entries)
    talk.initialize()
    talk.new_session()
    blocks = [{"type": "text", "text": "Hello"}]
    talk.finish(talk.ask("session/prompt", sessionId="s1", prompt=blocks, id_=prompt.id))
    found = lint(talk.entries).findings
    assert not [each.message for each in found if min(each.frames) <= first]
    assert not [each.message for each in found if each.severity != "info"]


def test_questions_with_one_id_are_paired_with_their_answers_in_order() -> None:
    talk = Talk()
    talk.open()
    prompt = talk.prompt()
    listing = talk.ask("session/list", id_=prompt.id)
    talk.finish(prompt)
    talk.answer(listing, sessions=[])
    talk.turn()
    found = {each.rule.name for each in lint(talk.entries).findings if each.severity != "info"}
    assert found == {"reused-pending-id"}


def test_what_is_fed_tells_what_is_new_at_once() -> None:
    linter = Linter()
    talk = Talk()
    talk.send("client", b"nothing of JSON")
    talk.initialize()
    (first, *_) = [linter.feed(entry) for entry in talk.entries]
    assert [each.rule.name for each in first] == ["not-json"]
    assert all(each.rule.name in rules() for each in linter.report.findings)


ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, 1e300, 10**30, "", "_x", "é"),
    *([], {}, [[]], [None], [{}], [1, "a"], {"a": 1}, {"type": ["x"]}, {"outcome": []}),
]


def twisted(value: Any, random: Random) -> Any:
    """Return a JSON value in which here and there stands something else, or nothing."""
    if random.random() < 0.06:
        return random.choice(ODD)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {name: twisted(each, random) for name, each in members if random.random() > 0.02}
    if isinstance(value, list):
        return [twisted(each, random) for each in cast("list[Any]", value)]
    return value


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(CASES), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_no_check_breaks_down_whatever_comes(chosen: list[Case], random: Random) -> None:
    linter = Linter(unstable=random.random() < 0.5)
    for entry in (entry for case in chosen for entry in case.talk().entries):
        if isinstance(entry, Frame):
            try:
                message = json.loads(entry.data)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict):
                raw = json.dumps(twisted(message, random)).encode()
                linter.feed(replace(entry, data=raw))
                continue
        linter.feed(entry)
    linter.finish()
    assert not linter.report.failed


def test_a_log_line_that_ends_in_a_whole_message_says_so() -> None:
    whole = b'{"jsonrpc": "2.0", "method": "session/update", "params": {}}'
    linter = Linter()
    findings = [
        finding
        for n, line in enumerate((b"loading... " + whole, b"loading... done"), start=1)
        for finding in linter.feed(Frame(n, 0.0, "agent", line))
        if finding.rule.name == "text-on-stdout"
    ]
    ends = ["ends in a whole message" in finding.message for finding in findings]
    assert ends == [True, False]
