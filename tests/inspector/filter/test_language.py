"""Expressions: every field and operator, precedence, what they need, and how they are written."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.filter.ast import Not, negation
from acp_inspector.filter.compiler import Filter, compile_filter
from acp_inspector.filter.errors import FilterError
from acp_inspector.filter.fields import FIELDS
from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import decode_line
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.views.annotations import NO_NOTES, FrameNotes, RuleViolation
from acp_protocol.host.sanitize import escape_controls
from tests.conftest import ROOT
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

PERMISSION = {"toolCallId": "c1", "kind": "edit", "status": "pending", "title": "Write it"}
FAILURE = {"id": 9, "error": {"code": -32601, "message": "no such method", "data": {"x": [1, 2]}}}
TALK: tuple[Said, ...] = (
    prompt(1, "Say hello, “friend”"),
    chunk("HELLO you"),
    update("tool_call", session="s2", toolCallId="c1", kind="edit", status="in_progress"),
    ask("agent", 1, "session/request_permission", sessionId="s1", toolCall=PERMISSION),
    answer("client", 1, {"outcome": {"outcome": "selected", "optionId": "yes"}}),
    answer("agent", 1, {"stopReason": "end_turn"}),
    ask("agent", "9", "terminal/create", sessionId="s1", command="ls", args=["-l", "a b"]),
    answer("client", "9", {"terminalId": "t1"}),
    ("agent", FAILURE),
    ("agent", b"not \xff json"),
    ("client", b'[{"jsonrpc":"2.0","method":"x"}]'),
    ask("client", 3, "fs/read_text_file", sessionId="s1", path="/a/b.py", limit=2000),
)
"""Frames 1 to 12, a tenth of a second apart; 12 waits for its answer, 9 answers nothing."""
BESIDE: tuple[Entry, ...] = (
    StderrChunk(13, 1.3, b"panic: Hello\n"),
    JournalEvent(14, 1.4, "exit", {"code": 3}),
)
NOTES = {
    2: FrameNotes(turn=1, version=2, is_held=True, is_marked=True, gap=0.1),
    3: FrameNotes(
        turn=1,
        version=1,
        is_edited=True,
        violations=(RuleViolation("tool-order", "warning"),),
        gap=4.0,
    ),
    6: FrameNotes(
        turn=2, violations=(RuleViolation("stop", "error"), RuleViolation("late", "info"))
    ),
}
EVERYTHING = list(range(1, 15))


def everything() -> list[EntryFields]:
    exchanges = Exchanges()
    talk = frames(*TALK)
    for frame in talk:
        exchanges.apply(frame)
    entries = [*talk, *BESIDE]
    return [EntryFields(each, exchanges, notes=NOTES.get(each.seq, NO_NOTES)) for each in entries]


def selected(text: str) -> list[int]:
    """Return the numbers of the entries that are meant."""
    wanted = compile_filter(text)
    return [facts.seq for facts in everything() if wanted.matches(facts)]


TABLE = {
    "": EVERYTHING,
    # Silences.
    "gap > 1s": [3],
    "gap exists": [2, 3],
    "gap <= 100ms": [2],
    # Whole entries.
    "n == 3": [3],
    "n != 3 and n <= 4": [1, 2, 4],
    "n < 2 or n >= 14": [1, 14],
    "n > 12": [13, 14],
    "n in (1, 3..4, 13..)": [1, 3, 4, 13, 14],
    "n exists": EVERYTHING,
    "t == 0.3s": [3],
    "t in 300ms..0.5": [3, 4, 5],
    "t < 0.005m": [1, 2],
    "t in ..200ms": [1, 2],
    "t != 1s and t > 800ms": [9, 11, 12, 13, 14],
    "from == client": [1, 5, 8, 11, 12],
    "from != client": [2, 3, 4, 6, 7, 9, 10, 13],
    "not from exists": [14],
    "from ~ ^cl and n < 3": [1],
    "size == 10b": [10],
    "size > 0.11kb and kind == request": [1, 4, 7, 12],
    "size in (10, 13)": [10, 13],
    "size not exists": [14],
    # What frames say.
    "kind == request": [1, 4, 7, 12],
    "kind in (result, error)": [5, 6, 8, 9],
    "kind == stderr or kind == event": [13, 14],
    "kind in (stderr, event)": [13, 14],
    "kind != event and n > 12": [13],
    "kind in (stderr, batch)": [11, 13],
    "kind != notification and from == agent": [4, 6, 7, 9, 10, 13],
    "kind == batch": [11],
    "method == session/prompt": [1, 6],
    "method != session/update": [1, 4, 5, 6, 7, 8, 11, 12],
    "method ~ ^fs/|^term": [7, 8, 12],
    "method ~ /FS/": [],
    "method ~ /FS/i": [12],
    'method contains "PROMPT"': [1, 6],
    "method in (session/prompt, terminal/create)": [1, 6, 7, 8],
    "not method exists": [9, 10, 13, 14],
    "id == 1": [1, 4, 5, 6],
    'id == "1"': [],
    'id == "9"': [7, 8],
    "id in (3, 9)": [9, 12],
    "id != 1": [7, 8, 9, 12],
    "id exists and not id == 1": [7, 8, 9, 12],
    "session == s2": [3],
    "session != s1": [3],
    "session exists": [1, 2, 3, 4, 5, 6, 7, 8, 12],
    "update == tool_call": [3],
    "update contains chunk": [2],
    "status == pending": [4],
    "status in (in_progress, failed)": [3],
    'status == "odd"': [],
    "status == _odd or status != pending": [3],
    "tool == c1": [3, 4],
    "tool.kind == edit": [3, 4],
    "terminal == t1": [8],
    "error": [9],
    "error exists": [9],
    "error contains METHOD": [9],
    'error == "no such method"': [9],
    "malformed": [10],
    "malformed ~ UTF-8": [10],
    "code == -32601": [9],
    "code < -32600": [9],
    "code in -32700..-32600": [9],
    "latency > 200ms": [6],
    "latency <= 150ms": [5, 8],
    "latency exists": [5, 6, 8],
    "pending": [12],
    "pending exists": [12],
    "text ~ HELLO": [2],
    "text contains hello": [1, 2, 13],
    # What others know.
    "turn == 1": [2, 3],
    "turn exists": [2, 3, 6],
    "not turn exists and n < 4": [1],
    "finding": [3, 6],
    "finding >= warning": [3, 6],
    "finding == error": [6],
    "finding < warning": [6],
    "finding != error": [3],
    "finding in (info)": [6],
    "rule == late": [6],
    "rule ~ order": [3],
    "rule": [3, 6],
    "held": [2],
    "edited": [3],
    "marked": [2],
    "held or edited": [2, 3],
    "schema == 2": [2],
    "schema in 1..2": [2, 3],
    # Beside the frames.
    "stderr": [13],
    'stderr contains "panic"': [13],
    "event": [14],
    "event == exit and $.code != 0": [14],
    # Text anywhere.
    "hello": [1, 2, 13],
    '"HELLO you"': [2],
    "HELLO you": [2],
    "'hello, “FRIEND”'": [1],
    "/h.llo/": [1, 2, 13],
    "/^NOT/": [10],
    "session/prompt": [1, 6],
    "/a/b.py": [12],
    # Places in messages.
    "$.params.limit == 2000": [12],
    "$.params.limit > 1999.5": [12],
    "$.params.limit in (1, 1000..3000)": [12],
    '$.params.limit == "2000"': [],
    "$.params.path == /a/b.py": [12],
    "$.params.path ~ [.]py$": [12],
    '$.params.path < "/b"': [12],
    "$.params.path < 3": [],
    "$.params.path contains B.PY": [12],
    "$.params.args contains -L": [7],
    "$.params.args[1] == 'a b'": [7],
    "$.params.args[-2] == -l": [7],
    "$.params.args[*] == -l": [7],
    "$.params.args[*] != -l": [],
    "$.params.args[2] exists": [],
    "$.params.command != pwd": [7],
    "$..toolCallId == c1": [3, 4],
    "$..text exists": [1, 2],
    "$.error.code == -32601": [9],
    "$.error.data.x contains 2": [9],
    "$.error.data.x[*] in (7, 2)": [9],
    "$[0].method == x": [11],
    '$["params"]["sessionId"] == s2': [3],
    "$.jsonrpc == 2.0": [],
    '$.jsonrpc == "2.0"': [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12],
    # Joined.
    "n == 1 or n == 2 and n == 3": [1],
    "(n == 1 or n == 2) and n == 2": [2],
    "not n < 3 and n < 5": [3, 4],
    "not (n < 3 or n > 4)": [3, 4],
    "NOT n < 13 AND size Exists": [13],
    "size>140 and(id==1)": [1, 4],
}


@pytest.mark.parametrize("text", TABLE)
def test_an_expression_selects(text: str) -> None:
    assert selected(text) == TABLE[text]


@pytest.mark.parametrize("text", TABLE)
def test_what_is_written_anew_means_the_same(text: str) -> None:
    wanted = compile_filter(text)
    again = compile_filter(str(wanted))
    assert again == wanted
    assert str(again) == str(wanted)


def test_the_table_has_every_operator_of_every_type_and_every_field() -> None:
    requested = frozenset[str]().union(*(compile_filter(text).fields for text in TABLE))
    assert requested == {*FIELDS, "$"}


@pytest.mark.parametrize("name", FIELDS)
def test_a_condition_on_what_is_absent_does_not_hold(name: str) -> None:
    """A bare event knows next to nothing, a frame alone no notes and no exchanges."""
    alone = EntryFields(frames(TALK[5])[0])
    bare = EntryFields(JournalEvent(1, 0.0, "spawn"))
    field = FIELDS[name]
    value = {"number": "1", "time": "1s", "size": "1b"}.get(field.type, '"error"')
    value = field.values[0] if field.values else value
    for facts in (alone, bare):
        if compile_filter(f"{name} exists").matches(facts):
            continue
        assert compile_filter(f"not {name} exists").matches(facts)
        for operator in set(field.operators) - {"exists", "in"}:
            assert not compile_filter(f"{name} {operator} {value}").matches(facts), operator
        if "in" in field.operators:
            assert not compile_filter(f"{name} in ({value})").matches(facts)


def test_a_filter_knows_what_it_needs() -> None:
    cheap = compile_filter('from == agent and size > 4kb and (stderr or "text") and t in 1s..2s')
    assert cheap.fields == {"from", "size", "stderr", "text", "t"}
    assert {cheap.needs_exchanges, cheap.needs_notes} == {False}
    path = compile_filter("not $.params.x == 1")
    assert (path.fields, path.needs_exchanges) == ({"$"}, False)
    assert compile_filter("update == tool_call or status == failed").needs_exchanges is False
    assert compile_filter("latency > 1s").needs_exchanges
    assert compile_filter("finding").needs_notes
    assert compile_filter(" ").is_empty


def test_a_filter_keeps_what_was_typed() -> None:
    wanted = compile_filter("t<500ms")
    assert (wanted.source, str(wanted)) == ("t<500ms", "t < 0.5s")


def test_a_double_negation_is_removed() -> None:
    assert compile_filter("not (not (pending))") == compile_filter("pending")
    assert selected("not not not error") == [n for n in EVERYTHING if n != 9]


WORDS = st.sampled_from(
    [
        *(
            "and",
            "or",
            "not",
            "(",
            ")",
            "in",
            "contains",
            "exists",
            ",",
            "==",
            "!=",
            "<",
            ">=",
            "~",
        ),
        *FIELDS,
        *(
            "$.a.b[0]",
            "$..x",
            "$[*]",
            '$["a b"]',
            "word",
            '"text \\" \\\\"',
            "'a'",
            "/re+/",
            "/x/i",
        ),
        *("3", "4kb", "10s", "1..2", "1s..", "request", "client", "failed", "warning", "-1.5e3"),
        *('"', "/", "$", ".", "=", "&&", "\\", "\n", "(?i)", "[", "{1", "é", "\x00"),
    ]
)
JUMBLES = st.lists(WORDS, max_size=12).map(" ".join) | st.lists(WORDS, max_size=8).map("".join)


def understood(text: str) -> Filter | FilterError:
    try:
        return compile_filter(text)
    except FilterError as problem:
        return problem


@given(st.text(max_size=60) | JUMBLES)
def test_any_text_is_a_filter_or_an_error_with_a_place(text: str) -> None:
    wanted = understood(text)
    if isinstance(wanted, FilterError):
        problem = wanted
        assert 0 <= problem.position <= len(text)
        assert escape_controls(problem.pointer) == problem.pointer
        assert str(problem).startswith(problem.reason)
        return
    again = compile_filter(str(wanted))
    assert again == wanted
    for facts in everything():
        assert wanted.matches(facts) == again.matches(facts)


CONDITIONS = st.recursive(
    st.sampled_from([text for text in TABLE if text]),
    lambda inner: st.one_of(
        inner.map(lambda text: f"not ({text})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
    ),
    max_leaves=6,
)


@given(CONDITIONS)
def test_joined_conditions_survive_writing_and_denying(text: str) -> None:
    wanted = compile_filter(text)
    assert compile_filter(str(wanted)) == wanted
    assert compile_filter(f"not (not ({text}))") == wanted
    denied = compile_filter(f"not ({text})")
    assert negation(denied.expression) == wanted.expression
    assert isinstance(denied.expression, Not) or isinstance(wanted.expression, Not)
    for facts in everything():
        assert denied.matches(facts) != wanted.matches(facts)


@given(st.binary(max_size=40))
def test_no_bytes_make_a_filter_fail(raw: bytes) -> None:
    frame = replace(frames(TALK[0])[0], data=raw)
    for text in TABLE:
        compile_filter(text).matches(EntryFields(frame, Exchanges()))


DOCUMENT = (ROOT / "docs/filters.md").read_text()
EXAMPLES = re.findall(r"^\| `(.+)` \| .* \| ([\d, ]+) \|$", DOCUMENT, re.MULTILINE)


def test_the_document_has_examples() -> None:
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize(("text", "numbers"), EXAMPLES)
def test_examples_in_the_documentation_select_the_stated_frames(text: str, numbers: str) -> None:
    block = DOCUMENT.partition("```json\n")[2].partition("```")[0]
    entries = [decode_line(line.encode()) for line in block.splitlines()]
    exchanges = Exchanges()
    for entry in entries:
        assert isinstance(entry, Frame | StderrChunk | JournalEvent)
        if isinstance(entry, Frame):
            exchanges.apply(entry)
    # In a table of Markdown a bar is spelled with a backslash.
    wanted = compile_filter(text.replace("\\|", "|"))
    found = [
        entry.seq
        for entry in entries
        if isinstance(entry, Frame | StderrChunk | JournalEvent)
        and wanted.matches(EntryFields(entry, exchanges))
    ]
    assert found == [int(number) for number in numbers.split(",")]


def test_the_expressions_that_the_document_begins_with_can_be_compiled() -> None:
    block = DOCUMENT.partition("```\n")[2].partition("```")[0]
    assert [str(compile_filter(line)) for line in block.splitlines()]


def test_the_document_names_every_field() -> None:
    fields = DOCUMENT.partition("## Fields")[2].partition("## Operators")[0]
    assert [name for name in FIELDS if f"`{name}`" not in fields] == []
