"""Arrays on their way: rules, add-ons and breakpoints see the single messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.intercept.addons import Addon
from acp_inspector.intercept.batches import BatchEdit, is_batch
from acp_inspector.intercept.live_filter import LiveFilters
from acp_inspector.intercept.message import InterceptedFrame
from acp_inspector.intercept.rules import load_rules
from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from tests.inspector.intercept.scene import NOTIFICATION, REQUEST, Scene, everything, holding
from tests.inspector.reconstruction import what_left

ASK = b'{"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": {"a": [1]}}'
ARRAY = b" [%b , %b,%b] " % (REQUEST, ASK, NOTIFICATION)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def scene_with(tmp_path: Path, rules: str = "", addon: str = "") -> Scene:
    """Return a proxy's inside with a rule and an add-on."""
    scene = Scene(filters=LiveFilters())
    assert scene.filters is not None
    if rules:
        (tmp_path / "rules.toml").write_text(rules)
        scene.hooks += load_rules(tmp_path / "rules.toml", scene.filters.compile)
    if addon:
        (tmp_path / "hooks.py").write_text(addon)
        scene.hooks.append(Addon(tmp_path / "hooks.py", scene.warnings.append))
    scene.open()
    return scene


def rule(action: str, query: str = "method == session/request_permission") -> str:
    return f'[[rule]]\nname = "r"\nfilter = "{query}"\n{action}\n'


def edit_of(raw: bytes, side: Side = "client") -> BatchEdit:
    return BatchEdit(InterceptedFrame.of(Frame(3, 0.0, side, raw, b"\n")))


# Taking arrays apart


@given(
    st.lists(st.tuples(JSON, st.sampled_from(["keep", "edit", "drop", "twice"])), min_size=1),
    st.sampled_from([None, 1]),
    st.sampled_from([(",", ":"), (" , ", " : ")]),
)
def test_the_rest_of_an_array_keeps_its_bytes(
    entries: list[tuple[Any, str]], indent: int | None, separators: tuple[str, str]
) -> None:
    text = json.dumps([value for value, _ in entries], indent=indent, separators=separators)
    batch = edit_of(text.replace("\n", " ").encode())
    found = [*batch.entries()]
    assert [json.loads(entry.raw) for _, entry in found] == [value for value, _ in entries]
    expected: list[Any] = []
    for (index, entry), (value, deed) in zip(found, entries, strict=True):
        expected += {"keep": [value], "edit": [{}], "drop": [], "twice": [value] * 2}[deed]
        if deed == "edit":
            entry.edit(b"{}", "r")
        elif deed == "drop":
            entry.drop("r")
        elif deed == "twice":
            entry.duplicate(2, "r")
        batch.put(index, entry)
    batch.commit("r")
    assert batch.frame.is_dropped == (not expected)
    if expected:
        assert json.loads(batch.frame.raw) == expected
    if all(deed == "keep" for _, deed in entries):
        assert batch.frame.raw is batch.frame.frame.data
        assert batch.frame.events == []


@pytest.mark.parametrize(
    ("raw", "entries"),
    [
        (b"[]", []),
        (b" [ ] ", []),
        (b"{}", []),
        (b"[1, 2", []),
        (b"[1] 2", []),
        (b'["a]', []),
        (b"", []),
        (b"[1]", [b"1"]),
        (b"\xef\xbb\xbf[1,2]", [b"1", b"2"]),
        (b'[ "],[\\"" , [[1],{"a":[2,3]}] ]', [b'"],[\\""', b'[[1],{"a":[2,3]}]']),
        # What is not valid hides nothing beside it.
        (b"[%b,NaN,%b]" % (b"9" * 5000, REQUEST), [b"9" * 5000, b"NaN", REQUEST]),
        (b"[%b,%b]" % (b"[" * 2000 + b"]" * 2000, ASK), [b"[" * 2000 + b"]" * 2000, ASK]),
        (b'["\xff",%b,]' % ASK, [b'"\xff"', ASK, b""]),
        (b"[,%b]" % ASK, [b"", ASK]),
        (b"[ , ]", []),
    ],
)
def test_an_array_is_taken_apart_as_far_as_its_brackets_go(
    raw: bytes, entries: list[bytes]
) -> None:
    assert is_batch(raw) == bool(entries)
    if entries:
        assert [entry.raw for _, entry in edit_of(raw).entries()] == entries


# Rules and add-ons


@pytest.mark.parametrize(
    ("action", "left", "back"),
    [
        ("drop = true", [1, "n"], []),
        ("discard = true", [1, "n"], [{"id": 7, "error": -32603}]),
        ('answer = { error = { code = 3, message = "no" } }', [1, "n"], [{"id": 7, "error": 3}]),
        ("duplicate = { times = 3 }", [1, 7, 7, 7, "n"], []),
        ('set = { path = "$.id", value = 8 }', [1, 8, "n"], []),
        ("""replace = { text = '"id": 7', with = '"id": 9' }""", [1, 9, "n"], []),
    ],
)
def test_a_rule_acts_on_one_message_of_an_array(
    tmp_path: Path, action: str, left: list[Any], back: list[Any]
) -> None:
    scene = scene_with(tmp_path, rule(action))
    (line,) = scene.passed("agent", ARRAY)
    assert [entry.get("id", "n") for entry in json.loads(line)] == left
    assert REQUEST in line
    assert NOTIFICATION in line
    answers = [json.loads(answer) for answer in scene.out("client")]
    assert [
        {"id": each["id"], "error": each["error"]["code"]} for array in answers for each in array
    ] == back
    assert what_left(scene.journal.entries, "agent") == [line]
    (edited,) = (data for name, data in scene.events() if name == "edited")
    assert edited["entries"] in [
        {kind: [1]} for kind in ("discarded", "answered", "duplicated", "edited")
    ]
    assert scene.controller.match_counts == {"r": 1}


def test_a_rule_that_drops_each_message_drops_the_array(tmp_path: Path) -> None:
    scene = scene_with(tmp_path, rule("discard = true", "from == agent"))
    assert scene.passed("agent", ARRAY) == []
    (answer,) = scene.out("client")
    assert [each["id"] for each in json.loads(answer)] == [1, 7]
    assert [name for name, _ in scene.events()] == ["discarded", "injected"]


def test_a_rule_counts_messages_and_not_arrays(tmp_path: Path) -> None:
    scene = scene_with(tmp_path, rule("after = 1\nfirst = 1\ndrop = true"))
    (line,) = scene.passed("agent", b"[%b,%b,%b]" % (ASK, ASK, ASK))
    assert len(json.loads(line)) == 2
    assert scene.passed("agent", b"[%b]" % ASK) == [b"[%b]\n" % ASK]


@pytest.mark.parametrize("query", ["kind == batch", "size > 150"])
def test_a_rule_that_only_the_array_matches_acts_on_all_of_it(tmp_path: Path, query: str) -> None:
    scene = scene_with(tmp_path, rule("discard = true", query))
    assert scene.passed("agent", ARRAY) == []
    assert len(json.loads(scene.out("client")[0])) == 2


def test_a_wait_of_several_messages_is_one_wait_of_the_line(tmp_path: Path) -> None:
    scene = scene_with(tmp_path, rule("delay = { seconds = 2 }", "from == agent"))
    assert scene.passed("agent", ARRAY) == []
    scene.now = 2.0
    assert scene.out("agent") == [ARRAY + b"\n"]
    assert [name for name, _ in scene.events()] == ["delayed"]


def test_the_response_in_an_array_has_the_method_of_its_request(tmp_path: Path) -> None:
    scene = scene_with(tmp_path, rule("drop = true", "result and method == session/prompt"))
    scene.passed("client", b"[%b]" % REQUEST)
    results = [b'{"jsonrpc":"2.0","id":%d,"result":{}}' % number for number in (1, 2)]
    assert scene.passed("agent", b"[%b,%b]" % (*results,)) == [b"[%b]\n" % results[1]]


def test_a_message_that_is_no_json_is_edited_like_the_others(tmp_path: Path) -> None:
    scene = scene_with(tmp_path, rule("replace = { text = 'session', with = 'x' }", ""))
    broken = b'{"session":\r1}'
    (line,) = scene.passed("agent", b"[%b,%b]" % (broken, ASK))
    edited = (each.replace(b"session", b"x") for each in (broken, ASK))
    assert line == b"[%b,%b]\n" % (*edited,)
    assert scene.warnings == []


def test_an_add_on_sees_each_message_of_an_array(tmp_path: Path) -> None:
    addon = """
def on_frame(frame, flow):
    message = frame.json()
    if message.get("id") == 7:
        flow.answer(result={})
    elif "id" in message:
        flow.replace(message | {"id": 2})
"""
    scene = scene_with(tmp_path, addon=addon)
    (line,) = scene.passed("agent", ARRAY)
    assert [entry.get("id") for entry in json.loads(line)] == [2, None]
    assert json.loads(scene.out("client")[0]) == [{"jsonrpc": "2.0", "id": 7, "result": {}}]
    assert scene.warnings == []
    assert what_left(scene.journal.entries, "agent") == [line]


# Breakpoints


def test_a_breakpoint_holds_one_message_after_the_other() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("id", holding(b'"id"'))
    assert scene.passed("agent", ARRAY, b"behind") == []
    (first,) = scene.controller.holds()
    assert (first.raw, first.entry, first.seq) == (REQUEST, 0, 1)
    scene.controller.discard(first.id, is_silent=True)
    assert scene.out("agent") == []
    (second,) = scene.controller.holds()
    assert (second.raw, second.entry, second.seq) == (ASK, 1, 1)
    scene.controller.edit(second.id, b"{}")
    assert scene.out("agent") == [b" [{},%b] \n" % NOTIFICATION, b"behind\n"]
    assert [(name, data.get("entry")) for name, data in scene.events()] == [
        ("held", 0), ("edited", None), ("released", None),
        ("held", 1), ("edited", None), ("released", None),
    ]  # fmt: skip
    assert what_left(scene.journal.entries, "agent")[0] == b" [{},%b] \n" % NOTIFICATION


def test_an_array_whose_messages_are_all_dropped_does_not_leave() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("id", holding(b'"id"'))
    scene.passed("agent", b"[%b,1,%b]" % (REQUEST, ASK))
    for _ in range(2):
        scene.controller.discard(scene.controller.holds()[0].id)
    assert scene.out("agent") == [b"[1]\n"]
    assert [each["id"] for each in json.loads(scene.out("client")[0])] == [1, 7]


def test_an_array_of_which_all_matches_is_held_at_once() -> None:
    scene = Scene()
    scene.controller.set_breakpoint("", everything)
    scene.passed("agent", ARRAY)
    (hold,) = scene.controller.holds()
    assert (hold.raw, hold.entry) == (ARRAY, None)
    scene.controller.release(hold.id)
    assert scene.out("agent") == [ARRAY + b"\n"]


@pytest.mark.parametrize("way", ["all", "limit", "end", "left", "clear"])
def test_what_waits_behind_a_held_message_is_released_with_it(way: str) -> None:
    scene = Scene()
    point = scene.controller.set_breakpoint("id", holding(b'"id"'))
    scene.passed("agent", ARRAY)
    if way == "all":
        scene.controller.release_all()
    elif way == "limit":
        scene.now = 1000.0
    elif way == "end":
        scene.controller.finish()
    elif way == "left":
        scene.controller.observers_left()
    else:
        scene.controller.clear_breakpoint(point.id)
        scene.controller.release(scene.controller.holds()[0].id)
    assert scene.out("agent") == [ARRAY + b"\n"]
    assert scene.controller.holds() == []


def test_a_pause_holds_an_array_as_a_whole() -> None:
    scene = Scene()
    scene.controller.pause()
    scene.passed("agent", ARRAY)
    assert [hold.raw for hold in scene.controller.holds()] == [ARRAY]
