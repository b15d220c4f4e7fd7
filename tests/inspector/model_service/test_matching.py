"""Requests are equal but for what each run has anew; responses get the live values back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.model_service.bodies import TextEdit, apply_edits, edit_chunks
from acp_inspector.model_service.cassette import ModelRequest
from acp_inspector.model_service.matching import Comparison, Roots, match_requests, nearest
from acp_inspector.model_service.routes import Route

THERE = Roots("/home/me/project", "/home/me", "")
HERE = Roots("/tmp/run-1", "/root", "")
ONE = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
TWO = "9a0c04e0-1f89-41d3-8a0c-1305e82c3302"
THREE = "77777777-1f89-41d3-8a0c-1305e82c3302"

DAY, OTHER_DAY = "Thursday, November 26, 2026", "Friday, January 1, 2027"


def request(body: Any) -> ModelRequest:
    return ModelRequest(method="POST", route="openai", path="/chat/completions", body=body)


def matched(recorded: Any, live: Any) -> Comparison:
    return match_requests(request(recorded), request(live), THERE, HERE)


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        (f"session {ONE}", f"session {TWO}"),
        ("0" * 30 + "ab", "1" * 30 + "cd"),
        ("at 2026-11-26T20:22:40.123Z sharp", "at 2027-01-02T01:02:03Z sharp"),
        ("Today is Thursday, November 26, 2026.", "Today is Friday, January 1, 2027."),
        ("Thu Nov 26 20:22:40 UTC 2026", "Fri Jan  1 00:00:00 UTC 2027"),
        (
            "Thu Nov 26 2026 20:23:40 GMT+0000 (Coordinated Universal Time)",
            "Fri Jan 01 2027 00:00:00 GMT+0100 (Central European Time)",
        ),
        ("-rw-r--r-- 1 me me 12 Nov 26 20:22 a.md", "-rw-r--r-- 1 me me 12 Jan  1 09:05 a.md"),
        ("11/26/2026, 8:22:40 PM", "1/2/2027, 9:00:01 AM"),
        ("read_file-1764188560123-abc12f", "read_file-1800000000123-0011ff"),
        ("call_9f3kA81bXz", "call_7d2jB70aYy"),
        ("Process Group PGID: 1234", "Process Group PGID: 77"),
        ("Chunk ID: bc2962\nWall time: 0.1 s", "Chunk ID: 00ff1a\nWall time: 0.2 s"),
        ('{"chunk_id":"bc2962"}', '{"chunk_id":"1234"}'),
        ("Task ID: a1b2c3", "Task ID: 00ff1a"),
        ("Terminal ID: a1b2c3", "Terminal ID: 00ff1a"),
        ("trace-id: a1b2c3", "trace-id: 00ff1a"),
        ("exec-id=a1B2c3, chunk id: face", "exec-id=Zz9y8x, chunk id: 0123"),
        ("took 0.12s", "took 12.5s"),
        ("in /home/me/project/src.", "in /tmp/run-1/src."),
        ("in /home/me/project and -home-me-project", "in /tmp/run-1 and -tmp-run-1"),
        ("at file:///home/me/project/a", "at file:///tmp/run-1/a"),
        ("home /home/me/.cache, cwd /home/me/project", "home /root/.cache, cwd /tmp/run-1"),
        ("in /home/me/project, keep /home/me/.x/project-1", "in /tmp/run-1, keep /root/.x/run-1-2"),
        ("in /tmp/ab, keep /var/tmp/.x/ab-1", "in /tmp/cd, keep /var/tmp/.x/cd-2"),
        ("in /tmp/Ab_c, keep /var/tmp/.x/ab-c", "in /tmp/cd_, keep /var/tmp/.x/cd-1"),
        ("/home/me/one and /home/me/two", "/tmp/xyz/one and /tmp/xyz/two"),
        ("in /home/me/project/part", "in /tmp/other"),
        ("/home/me/project, in /home/me/project/part", "/tmp/run-1, in /tmp/other"),
        ("/home/me/project/part/a and /home/me/project/b", "/tmp/other/a and /tmp/run-1/b"),
    ],
)
def test_what_each_run_has_anew_is_equal(recorded: str, live: str) -> None:
    comparison = matched({"text": recorded}, {"text": live})
    assert comparison.is_equal
    assert comparison.tolerated or comparison.directories


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ({"text": "one"}, {"text": "two"}),
        ({"text": "5 seconds"}, {"text": "6 seconds"}),
        ({"text": "port 8080"}, {"text": "port 8081"}),
        ({"text": "read /etc/passwd"}, {"text": "read /etc/shadow"}),
        ({"text": "in /home/me/project"}, {"text": "in /etc"}),
        ({"text": "/home/me/project/a"}, {"text": "/tmp/run-1/b"}),
        ({"text": "/tmp/here/a"}, {"text": "/tmp/here/b"}),
        ({"text": "/tmp/here/a.py"}, {"text": "/tmp/there/b.py"}),
        ({"text": "/home/me/project and /home/me/project"}, {"text": "/tmp/run-1 and /tmp/run-2"}),
        ({"text": f"{ONE} and {ONE}"}, {"text": f"{TWO} and {THREE}"}),
        ({"text": f"{ONE} and {TWO}"}, {"text": f"{THREE} and {THREE}"}),
        ({"id": "one", "call_id": "one"}, {"id": "two", "call_id": "three"}),
        ({"list": [1, 2]}, {"list": [2, 1]}),
        ({"list": [1]}, {"list": [1, 1]}),
        ({"a": 1}, {}),
        ({"a": None}, {}),
        ({}, {"a": 1}),
        ({"a": 1}, {"a": True}),
        ({"a": 1764188560}, {"a": 1}),
        ({"a": f"in {ONE}", "b": ONE}, {"a": f"in {ONE}", "b": TWO}),
        (
            {"messages": [{"name": "a"}, {"name": "b"}]},
            {"messages": [{"name": "b"}, {"name": "a"}]},
        ),
        ({"list": [{"system": "x"}, "a b"]}, {"list": [{"system": "x"}, "b a"]}),
        (
            {"messages": [{"role": "user", "content": "a b"}]},
            {"messages": [{"role": "user", "content": "b a"}]},
        ),
        ({"system": "a b"}, {"system": "b b"}),
        ({"system": "a", "text": "a b"}, {"system": "a", "text": "b a"}),
        (
            {"text": "in /tmp/ab, keep /var/tmp/.x/ab-1"},
            {"text": "in /tmp/cd, keep /var/tmp/.x/zz-1"},
        ),
    ],
)
def test_what_differs_in_content_is_not(recorded: Any, live: Any) -> None:
    comparison = matched(recorded, live)
    assert not comparison.is_equal
    assert all(each.describe() for each in comparison.differences)


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ({"created": 1764188560}, {"created": 1800000000}),
        ({"created": 1764188560123}, {"created": 1800000000456}),
        ({"tool_call_id": "one", "call_id": "one"}, {"tool_call_id": "two", "call_id": "two"}),
        ({"n": 1}, {"n": 1.0}),
        ({"system": "skills: 'a', 'b'"}, {"system": "skills: 'b', 'a'"}),
        (
            {"tools": [{"name": "a", "x": 1}, {"name": "b"}]},
            {"tools": [{"name": "b"}, {"name": "a", "x": 1}]},
        ),
        (
            {"messages": [{"role": "system", "content": "a\nb"}]},
            {"messages": [{"role": "system", "content": "b\na"}]},
        ),
        ({"text": "key «secret:1»"}, {"text": "key abc"}),
        ({"text": "key «secret:1»"}, {"text": "key «secret:7»"}),
    ],
)
def test_values_with_another_form_are_equal(recorded: Any, live: Any) -> None:
    assert matched(recorded, live).is_equal


@pytest.mark.parametrize("field", ["method", "path", "query", "raw"])
def test_each_part_of_a_request_counts(field: str) -> None:
    value = b"other" if field == "raw" else "other"
    one = request({"text": "equal"})
    other = one.model_copy(update={field: value})
    assert not match_requests(one, other, THERE, HERE).is_equal


@pytest.mark.parametrize(
    ("recorded", "live"),
    [("a b", "b a"), ([{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}])],
)
def test_another_order_counts_as_tolerated(recorded: Any, live: Any) -> None:
    assert matched({"system": recorded}, {"system": live}).tolerated == 1
    assert matched({"system": recorded}, {"system": recorded}).tolerated == 0


@given(st.lists(st.tuples(st.sampled_from([ONE, TWO, THREE]), st.sampled_from([ONE, TWO, THREE]))))
def test_ids_are_one_to_one(pairs: list[tuple[str, str]]) -> None:
    """Wherever they are, and also those that happen to be the same in both runs."""
    recorded = [one if place % 2 else f"in {one}" for place, (one, _) in enumerate(pairs)]
    live = [other if place % 2 else f"in {other}" for place, (_, other) in enumerate(pairs)]
    there, back = dict(pairs), {other: one for one, other in pairs}
    are_one_to_one = all(there[one] == other and back[other] == one for one, other in pairs)
    comparison = matched(recorded, live)
    assert comparison.is_equal is are_one_to_one
    assert not comparison.is_equal or comparison.live == there


def roots(cwd: str, home: str = "") -> Roots:
    return Roots(cwd, home, "")


@pytest.mark.parametrize(
    ("there", "here", "recorded", "live"),
    [
        (roots("/w/my app"), roots("/w/run 1"), "in /w/my app/a", "in /w/run 1/a"),
        (roots("/w/x", "/home/ann"), roots("/w/x", "/home/bob"), "/home/ann/a", "/home/bob/a"),
        (roots("/w"), roots("/v"), "in /w/a", "in /v/a"),
    ],
    ids=["with spaces", "homes side by side", "short"],
)
def test_directories_of_the_process_are_found_whatever_their_names(
    there: Roots, here: Roots, recorded: str, live: str
) -> None:
    assert match_requests(request(recorded), request(live), there, here).is_equal


@pytest.mark.parametrize(
    ("there", "here"),
    [
        (roots("/", "/"), roots("/", "/")),
        (roots(""), roots("")),
        (roots(""), roots("/x")),
        (roots("/x"), roots("")),
    ],
)
@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ("read /etc/passwd", "read /etc/shadow"),
        ("read /a/b", "read /c/d"),
        ("in /var/tmp/.x/ab-1", "in /var/tmp/.x/zz-1"),
        ("a b", "a/x b/x"),
    ],
)
def test_without_directories_of_the_process_paths_are_content(
    there: Roots, here: Roots, recorded: str, live: str
) -> None:
    assert not match_requests(request(recorded), request(live), there, here).is_equal


@pytest.mark.parametrize(
    ("others", "nearest_one", "live"),
    [
        ([{"a": "x", "b": "y"}], {"a": "1", "b": "y"}, {"a": "1", "b": "2"}),
        ([{"a": "hello you"}], {"a": "hello world"}, {"a": "hello worlds"}),
        ([{"m": ["1"]}], {"m": ["3", "4"], "n": "5"}, {"m": ["1", "2"], "n": "6"}),
        ([{"m": ["1"]}], {"m": ["1", "2", "3", "4"]}, {"m": ["1", "2", "3"]}),
        ([{"a": "1", "b": "2"}], {"a": "1"}, {"a": "1"}),
    ],
    ids=[
        "fewer fields",
        "longer common start",
        "no missing item",
        "items nearer in number",
        "members",
    ],
)
def test_the_nearest_request_is_the_one_with_the_least_differences(
    others: list[Any], nearest_one: Any, live: Any
) -> None:
    requests = [*enumerate(map(request, others)), (7, request(nearest_one))]
    for order in (requests, requests[::-1]):
        found = nearest(order, request(live), THERE, HERE)
        assert found is not None
        assert found[0] == 7


def test_a_difference_is_shown_around_the_first_character_that_differs() -> None:
    text = "x" * 100
    [short] = matched({"text": "one"}, {"text": "two"}).differences
    assert short.describe() == "text: recorded 'one', now 'two'"
    [long] = matched({"text": f"{text}one"}, {"text": f"{text}two"}).differences
    assert long.describe() == f"text: recorded …'{'x' * 20}one', now …'{'x' * 20}two'"


def test_a_difference_is_shown_behind_what_was_bound() -> None:
    texts = (f"{DAY}: in /home/me/project: a.md, b.md", f"{OTHER_DAY}: in /tmp/run-1: a.md")
    found = nearest([(1, request({"text": texts[0]}))], request({"text": texts[1]}), THERE, HERE)
    assert found is not None
    shown = found[1][0].describe()
    assert shown == "text: recorded …' in /tmp/run-1: a.md, b.md', now …' in /tmp/run-1: a.md'"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/v1/models", "/models"), ("/models", "/models"), ("/v1x/models", "/v1x/models")],
)
def test_a_path_is_relative_to_the_base_url(path: str, expected: str) -> None:
    assert Route("openai", "https://models.example/v1").relative(path) == expected
    assert Route("openai", "https://models.example").relative(path) == path


def test_a_response_gets_the_live_ids_and_directories() -> None:
    comparison = matched(
        {"text": f"{ONE} in /home/me/project and -home-me-project"},
        {"text": f"{TWO} in /tmp/run-1 and -tmp-run-1"},
    )
    text = f"write /home/me/project/a, not /home/me/project-2, {ONE}; -home-me-project."
    assert apply_edits(text, comparison.edits(text)) == (
        f"write /tmp/run-1/a, not /home/me/project-2, {TWO}; -tmp-run-1."
    )


def test_the_nearest_request_is_of_the_same_route_or_path() -> None:
    live = request({"a": "1"})
    other_route = live.model_copy(update={"route": "anthropic"})
    other_path = live.model_copy(update={"path": "/models"})
    neither = other_route.model_copy(update={"path": "/models"})
    assert nearest([(1, neither)], live, THERE, HERE) is None
    assert nearest([], live, THERE, HERE) is None
    assert nearest([(1, neither), (2, other_route)], live, THERE, HERE) == (2, [])
    found = nearest([(1, neither), (2, other_path)], live, THERE, HERE)
    assert found is not None
    assert (found[0], [each.path for each in found[1]]) == (2, ["path"])


def test_the_longest_directory_is_replaced_in_a_response() -> None:
    comparison = matched(
        {"text": "home /home/me/.cache, cwd /home/me/project"},
        {"text": "home /root/.cache, cwd /tmp/run-1"},
    )
    text = "/home/me/project/a and /home/me/b"
    assert apply_edits(text, comparison.edits(text)) == "/tmp/run-1/a and /root/b"


TEXTS = st.text(st.sampled_from('ab/é€😀"\\\n '), max_size=12)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(JSON_VALUES, JSON_VALUES)
def test_without_such_values_equal_means_equal(one: Any, other: Any) -> None:
    assert matched({"v": one}, {"v": one}).is_equal
    if matched({"v": one}, {"v": other}).is_equal:
        assert one == other


def replacing(old: str, new: str) -> Any:
    def find(text: str) -> list[TextEdit]:
        edits: list[TextEdit] = []
        at = text.find(old)
        while at >= 0:
            edits.append(TextEdit(at, at + len(old), new))
            at = text.find(old, at + len(old))
        return edits

    return find


@given(
    st.lists(st.sampled_from(["a", "OLD", "é", '"', "O", "LD", "\\"]), max_size=12),
    st.lists(st.integers(1, 40), max_size=10),
    st.sampled_from(["", "x", "a longer text"]),
)
def test_a_text_is_replaced_however_events_and_chunks_cut_it(
    words: list[str], sizes: list[int], new: str
) -> None:
    text = "".join(words)
    events = [
        f"event: delta\ndata: {json.dumps({'type': 'delta', 'delta': {'text': part}})}\n\n"
        for part in text
    ]
    body = "".join(events).encode()
    chunks: list[bytes] = []
    for size in sizes:
        chunks, body = [*chunks, body[:size]], body[size:]
    chunks.append(body)
    edited = edit_chunks(chunks, replacing("OLD", new))
    assert len(edited) == len(chunks)
    lines = b"".join(edited).decode().splitlines()
    deltas = [json.loads(line[6:])["delta"]["text"] for line in lines if line.startswith("data: ")]
    assert "".join(deltas) == text.replace("OLD", new)
    assert len(deltas) == len(text)
    if "OLD" not in text:
        assert edited == chunks


@given(st.lists(st.binary(max_size=6), max_size=6))
def test_bytes_without_the_text_stay_as_they_are(chunks: list[bytes]) -> None:
    assert edit_chunks(chunks, replacing("OLD", "new")) == chunks


@pytest.mark.parametrize("cut", range(1, 30))
def test_cuts_of_other_bytes_stay_where_they_are(cut: int) -> None:
    body = b"before OLD after \xff OLD behind"
    edited = edit_chunks([body[:cut], body[cut:]], replacing("OLD", "a new one"))
    assert b"".join(edited) == body.replace(b"OLD", b"a new one")
    assert edited[0].startswith(body[: min(cut, 7)])


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ("Chunk ID: bc2962, again bc2962", "Chunk ID: 00ff1a, again bc2963"),
        ("Chunk ID: aa11, Chunk ID: bb22", "Chunk ID: cc33, Chunk ID: cc33"),
        ("the version is bc2962", "the version is 00ff1a"),
        ("the task id is face", "the task id is fade"),
        ("Task ID: write the docs", "Task ID: read the docs"),
        ("User ID: 1234", "User ID: 4321"),
    ],
)
def test_a_short_id_is_bound_only_where_it_is_called_one(recorded: str, live: str) -> None:
    assert not matched({"text": recorded}, {"text": live}).is_equal


def test_a_response_gets_the_live_short_id_and_no_part_of_another_word() -> None:
    comparison = matched(
        {"text": "Chunk ID: bc2962, Run ID: 4242"}, {"text": "Chunk ID: 00ff1a, Run ID: 5353"}
    )
    text = "chunk bc2962 of abc2962, 4242 lines"
    assert apply_edits(text, comparison.edits(text)) == "chunk 00ff1a of abc2962, 4242 lines"
