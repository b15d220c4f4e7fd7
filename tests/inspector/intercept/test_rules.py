"""Which frames a rule strikes, and that it strikes the same ones again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.intercept.channel import Idle
from acp_inspector.intercept.live_filter import LiveFilters, Matcher
from acp_inspector.intercept.message import InterceptedFrame
from acp_inspector.intercept.rules import (
    ACTIONS,
    InterceptRule,
    RulesError,
    Trigger,
    load_rules,
    parse_rules,
)
from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from tests.inspector.intercept.scene import NOTIFICATION, Scene, everything, holding
from tests.inspector.reconstruction import what_left


@pytest.mark.parametrize(
    ("aim", "struck"),
    [
        (Trigger(), [1, 2, 3, 4, 5, 6, 7, 8]),
        (Trigger(every=3), [3, 6]),
        (Trigger(first=2), [1, 2]),
        (Trigger(after=6), [7, 8]),
        (Trigger(after=2, first=4, every=2), [4, 6]),
        (Trigger(side="client"), []),
        (Trigger(probability=0), []),
    ],
)
def test_a_rule_counts_the_frames_that_it_means(aim: Trigger, struck: list[int]) -> None:
    scene = Scene([InterceptRule("r", holding(b"x"), "drop", {}, aim)])
    for number in range(1, 9):
        left = scene.passed("agent", b"other", b"x")
        assert left == [b"other\n"] + [b"x\n"] * (number not in struck)


@given(st.permutations(["client"] * 20 + ["agent"] * 20), st.permutations(["client", "agent"] * 20))
def test_what_is_struck_does_not_depend_on_the_other_direction(
    one: list[Side], other: list[Side]
) -> None:
    def struck(order: list[Side]) -> dict[Side, list[bool]]:
        rule = InterceptRule("r", everything, "drop", {}, Trigger(probability=0.5), 7)
        found: dict[Side, list[bool]] = {"client": [], "agent": []}
        for number, side in enumerate(order, 1):
            frame = InterceptedFrame.of(Frame(number, 0, side, NOTIFICATION))
            found[side].append(rule.process(frame, print).is_dropped)
        return found

    assert struck(one) == struck(other)


def test_a_text_is_replaced_beside_a_carriage_return() -> None:
    r"""Only `\n` ends a line; a frame with `\r` in it must not pass with what is to be replaced."""
    replace = {"text": b"secret", "with": b"******"}
    scene = Scene([InterceptRule("r", everything, "replace", replace, Trigger())])
    assert scene.passed("agent", b"a\rsecret") == [b"a\r******\n"]


def test_another_seed_strikes_others() -> None:
    def struck(seed: int) -> list[bytes]:
        scene = Scene([InterceptRule("r", everything, "drop", {}, Trigger(probability=0.5), seed)])
        return scene.passed("agent", *(b"%d" % number for number in range(64)))

    assert struck(1) == struck(1)
    assert struck(1) != struck(2)


def test_a_failing_rule_is_reported_once_and_changes_nothing() -> None:
    scene = Scene(
        [InterceptRule("odd", everything, "answer", {"result": float("nan"), "error": None})]
    )
    ask = b'{"jsonrpc":"2.0","id":1,"method":"m"}'
    assert scene.passed("client", ask, ask) == [ask + b"\n", ask + b"\n"]
    assert scene.events() == []
    (warning,) = scene.warnings
    assert warning.startswith("odd failed and is skipped: not representable as JSON")


MESSAGE = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,2],"b":"x"}}'
DOCS = Path(__file__).parents[3] / "docs/intercept.md"


def all_frames(expression: str) -> Matcher:
    del expression
    return everything


def rule(toml: str) -> str:
    return f'seed = 7\n[[rule]]\nname = "r"\n{toml}\n'


def action(toml: str) -> tuple[str, Any]:
    (found,) = parse_rules(rule(toml), all_frames)
    return found.action, found.values


@pytest.mark.parametrize(
    ("toml", "params"),
    [
        ('set = { path = "$.params.b", value = { c = 1 } }', {"a": [1, 2], "b": {"c": 1}}),
        ('set = { path = "$.params.new", value = true }', {"a": [1, 2], "b": "x", "new": True}),
        ('set = { path = "$.params.a[-1]", value = 9 }', {"a": [1, 9], "b": "x"}),
        ('set = { path = "$.params.a[*]", value = 0 }', {"a": [0, 0], "b": "x"}),
        ('set = { path = "$.nowhere.b", value = 0 }', {"a": [1, 2], "b": "x"}),
        ('delete = { path = "$.params.a" }', {"b": "x"}),
        ('delete = { path = "$.params.a[*]" }', {"a": [], "b": "x"}),
        ('delete = { path = "$..b" }', {"a": [1, 2]}),
        ("""replace = { text = '"x"', with = "null" }""", {"a": [1, 2], "b": None}),
        (r"""rewrite = { pattern = '(\d),(\d)', with = '\2,\1' }""", {"a": [2, 1], "b": "x"}),
    ],
)
def test_a_rule_changes_what_the_frame_says(toml: str, params: dict[str, Any]) -> None:
    scene = Scene([*parse_rules(rule(toml), all_frames)])
    (line,) = scene.passed("client", MESSAGE)
    assert json.loads(line) == json.loads(MESSAGE) | {"params": params}


RESPONSE = '{"jsonrpc":"2.0","id":7,"result":{"text":"é"}}'.encode()


@pytest.mark.parametrize(
    ("toml", "left"),
    [
        ("invalid = true", RESPONSE[:23] + b"\xff" + RESPONSE[23:] + b"\n"),
        ('noise = { text = "DEBUG" }', b"DEBUG\n" + RESPONSE + b"\n"),
        ('noise = { text = "DEBUG ", newline = false }', b"DEBUG " + RESPONSE + b"\n"),
        ('ending = { as = "crlf" }', RESPONSE + b"\r\n"),
        ('ending = { as = "none" }', RESPONSE),
        ('spelling = { as = "bom" }', b"\xef\xbb\xbf" + RESPONSE + b"\n"),
        ('spelling = { as = "latin-1" }', RESPONSE.decode().encode("latin-1") + b"\n"),
        ("pad = { bytes = 60 }", RESPONSE[:1] + b" " * (60 - len(RESPONSE)) + RESPONSE[1:] + b"\n"),
        ("nest = { depth = 2 }", RESPONSE[:-1] + b',"_deep":[[]]}\n'),
        ('wrong_id = { as = "retyped" }', RESPONSE.replace(b"7", b'"7"') + b"\n"),
        ('wrong_id = { as = "null" }', RESPONSE.replace(b"7", b"null") + b"\n"),
        ('wrong_id = { as = "missing" }', RESPONSE.replace(b'"id":7,', b"") + b"\n"),
        ("cut = { bytes = 9 }", RESPONSE[:9]),
        ("duplicate = true", (RESPONSE + b"\n") * 2),
    ],
)
def test_a_fault_of_scripts_strikes_a_frame_of_any_agent(toml: str, left: bytes) -> None:
    scene = Scene([*parse_rules(rule(toml), all_frames)])
    scene.put("agent", RESPONSE)
    assert b"".join(scene.out("agent")) == left
    assert b"".join(what_left(scene.journal.entries, "agent")) == left
    assert scene.warnings == []


def test_a_frame_is_cut_inside_each_character_of_several_bytes() -> None:
    scene = Scene([*parse_rules(rule('split = { bytes = "characters" }'), all_frames)])
    scene.put("agent", RESPONSE)
    at = RESPONSE.index("é".encode()) + 1
    assert scene.out("agent") == [RESPONSE[:at], RESPONSE[at:] + b"\n"]


def test_only_a_response_gets_a_wrong_id() -> None:
    scene = Scene([*parse_rules(rule('wrong_id = { as = "other" }'), all_frames)])
    assert scene.passed("client", MESSAGE) == [MESSAGE + b"\n"]
    assert scene.events() == []


@pytest.mark.parametrize(
    "toml",
    [
        'set = { path = "$.params.b", value = 1 }',
        'delete = { path = "$.params" }',
        'replace = { text = "nowhere", with = "" }',
        "answer = { result = 1 }",
    ],
)
def test_what_does_not_fit_passes_unchanged(toml: str) -> None:
    scene = Scene([*parse_rules(rule(toml), all_frames)])
    assert scene.passed("client", b"no JSON") == [b"no JSON\n"]
    assert (scene.events(), scene.warnings) == ([], [])


def test_a_canned_response_gets_the_id_of_the_request() -> None:
    toml = 'answer = { error = { code = -32000, message = "log in", data = { a = 1 } } }'
    scene = Scene([*parse_rules(rule(toml), all_frames)])
    assert scene.passed("client", MESSAGE) == []
    (answer,) = scene.out("agent")
    error = {"code": -32000, "message": "log in", "data": {"a": 1}}
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": 1, "error": error}


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("delay = { seconds = 1 }", ("delay", {"seconds": 1.0, "jitter": 0.0})),
        ("reorder = true", ("reorder", {"frames": 1, "seconds": 5.0})),
        ("crash = true", ("crash", {"signal": "KILL"})),
        ('crash = { signal = "SEGV" }', ("crash", {"signal": "SEGV"})),
    ],
)
def test_missing_fields_of_actions_have_defaults(toml: str, expected: tuple[str, Any]) -> None:
    assert action(toml) == expected


def test_a_rule_says_which_frames_it_strikes() -> None:
    aim = 'from = "agent"\nafter = 1\nfirst = 5\nevery = 2\nprobability = 0.5\ndrop = true'
    (found,) = parse_rules(rule(aim), all_frames)
    assert found.trigger == Trigger("agent", 1, 5, 2, 0.5)
    assert found.seed == 7


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[rule", "invalid TOML: "),
        ("sed = 1", "`sed` is not known here; did you mean `seed`?"),
        ("seed = 1.5", "`seed` has to be a whole number"),
        ("rule = 1", "`rule` is written as `[[rule]]`"),
        ("[rule]\nname = 'x'", "`rule` is written as `[[rule]]`"),
        ("[[rule]]\ndrop = true", "rule 1: `name` is missing"),
        ("[[rule]]\nname = 'person'\ndrop = true", "rule `person`: `name` has to be a name"),
        (rule("drop = true") + rule("drop = true")[8:], "rule 2: the name `r` is used twice"),
        (rule("drip = true"), "rule `r`: `drip` is not known here; did you mean `drop`?"),
        (rule(""), "rule `r`: has no action, and needs exactly one of `replace`"),
        (rule("drop = true\nhang = true"), "rule `r`: has `drop` and `hang`"),
        (rule("drop = false"), "rule `r`: `drop` has to be a table"),
        (rule("drop = { at = 1 }"), "rule `r`, `drop`: `at` is not known here"),
        (rule("delay = true"), "rule `r`, `delay`: `seconds` is missing"),
        (rule("delay = { seconds = -1 }"), "`seconds` has to be a number from 0 to 1800"),
        (rule("delay = { seconds = nan }"), "`seconds` has to be a number from 0 to 1800"),
        (rule("delay = { seconds = true }"), "`seconds` has to be a number"),
        (rule("throttle = { rate = 0 }"), "rule `r`, `throttle`: `rate` has to be a whole number"),
        (rule("duplicate = { times = 1 }"), "`times` has to be a whole number from 2 to 1000"),
        (rule("probability = 2\ndrop = true"), "rule `r`: `probability` has to be a number"),
        (rule("from = 'me'\ndrop = true"), "rule `r`: `from` has to be `client` or `agent`"),
        (rule("from = ['me']\ndrop = true"), "rule `r`: `from` has to be `client` or `agent`"),
        (rule("filter = 1\ndrop = true"), "rule `r`: `filter` has to be a text"),
        (rule("filter = 'method =='\ndrop = true"), "rule `r`: `filter` is invalid: "),
        (rule("set = { path = 'a', value = 1 }"), "rule `r`, `set`: `path` has to be a path like"),
        (rule("set = { path = '$.a.', value = 1 }"), "`path` is not a path, see character 4"),
        (rule("set = { path = '$.a' }"), "rule `r`, `set`: `value` is missing"),
        (rule("set = { path = '$.a', value = 2020-01-01 }"), "`value` has to be a value that JSON"),
        (rule("replace = { text = '', with = '' }"), "`text` has to hold something"),
        (rule('replace = { text = "a", with = "\\n" }'), "`with` must not hold a line ending"),
        (rule(r"rewrite = { pattern = 'a', with = 'a\nb' }"), "`with` must not hold a line ending"),
        (rule('"\\u001b[31mx" = true'), "`␛[31mx` is not known here"),
        (rule("filter = 'turn == 1'\ndrop = true"), "`turn` is not known while a frame is still"),
        (rule("rewrite = { pattern = '(', with = '' }"), "`pattern` is invalid"),
        (rule(r"rewrite = { pattern = 'a', with = '\1' }"), "or `with` does not fit"),
        (rule("corrupt = { mode = 'melt' }"), "`mode` has to be `flip` or `replace`"),
        (rule("crash = { signal = 'LOUD' }"), "`signal` is not a signal here"),
        (rule("answer = true"), "rule `r`, `answer`: needs either `result` or `error`"),
        (rule("answer = { error = 1 }"), "rule `r`, `answer`, `error`: `code` is missing"),
        (rule("cut = { bytes = -1 }"), "rule `r`, `cut`: `bytes` has to be a whole number from 0"),
    ],
)
def test_errors_name_file_rule_and_key(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(RulesError, match=re.escape(sentence)) as caught:
        load_rules(path, LiveFilters().compile)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_number_with_too_many_digits_is_reported() -> None:
    with pytest.raises(RulesError, match="invalid TOML: Exceeds the limit"):
        parse_rules(f"seed = {'9' * 5000}", all_frames)


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RulesError, match="cannot be read: No such file"):
        load_rules(tmp_path / "none.toml", all_frames)
    (tmp_path / "binary.toml").write_bytes(b"\xff")
    with pytest.raises(RulesError, match="cannot be read: it is not UTF-8"):
        load_rules(tmp_path / "binary.toml", all_frames)


def test_a_mark_in_front_of_a_file_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(rule("drop = true"), encoding="utf-8-sig")
    assert [each.name for each in load_rules(path, all_frames)] == ["r"]


def test_a_slow_rewrite_changes_nothing_and_is_reported_once() -> None:
    scene = Scene(
        [*parse_rules(rule("rewrite = { pattern = '((a|a)+)+$', with = 'b' }"), all_frames)]
    )
    line = b'{"m":"' + b"a" * 60 + b'b"}'
    assert scene.passed("client", line, line) == [line + b"\n"] * 2
    (warning,) = scene.warnings
    assert warning.startswith("r failed and is skipped: its pattern takes longer")


def call(method: str, number: int = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def update(kind: str) -> dict[str, Any]:
    message = call("session/update", update={"sessionUpdate": kind})
    return {key: value for key, value in message.items() if key != "id"}


TRAFFIC: list[tuple[Side, dict[str, Any]]] = [
    ("client", call("initialize", protocolVersion=2, clientCapabilities={"terminal": True})),
    ("client", call("session/new", cwd="/home/ada/work", _meta={})),
    ("client", call("session/fork", cwd="/")),
    ("client", call("session/prompt", 4, prompt=[])),
    ("agent", update("tool_call")),
    ("agent", update("plan")),
    ("agent", call("session/request_permission", options=[])),
    ("agent", {"jsonrpc": "2.0", "id": 4, "result": {"text": "x" * 70_000}}),
]
"""What the examples of the documents are about; the last one answers the prompt."""
STRIKES = {
    "older protocol": {"edited"},
    "other home": {"edited"},
    "no terminal": {"edited"},
    "no meta": {"edited"},
    "slow updates": {"delayed"},
    "thin line": {"throttled"},
    "lost updates": {"discarded"},
    "no forks": {"discarded", "injected"},
    "answers twice": {"duplicated"},
    "late tool calls": {"reordered", "released"},
    "noise": {"corrupted"},
    "broken text": {"corrupted"},
    "log line on stdout": {"preceded"},
    "from Windows": {"line_ended"},
    "marked": {"corrupted"},
    "mostly white space": {"corrupted"},
    "brackets": {"corrupted"},
    "answers nobody": {"edited"},
    "broken off": {"cut", "discarded"},
    "in bits": {"split"},
    "silence": {"hung", "discarded"},
    "dies while asked": {"crashed"},
    "always allow": {"answered", "injected"},
}
"""What each example of the documents does to that."""


def drain(scene: Scene) -> None:
    """Let everything leave, however long it takes."""
    for channel in scene.controller.channels.values():
        while (step := channel.take_nowait()) is not None:
            if isinstance(step, Idle):
                if step.seconds is None:
                    break
                scene.now += step.seconds


@pytest.mark.parametrize("name", STRIKES)
def test_every_example_in_the_documents_strikes_what_it_means_and_nothing_else(name: str) -> None:
    text, *_ = re.findall(r"```toml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    matching = LiveFilters()
    rules = [rule for rule in parse_rules(text, matching.compile) if rule.name == name]
    scene = Scene([*rules], filters=matching)
    # Some wait for hundreds of frames, or strike one in a hundred.
    for _ in range(150 if name in {"silence", "noise"} else 10):
        for side, message in TRAFFIC:
            scene.put(side, json.dumps(message, separators=(",", ":")).encode())
            drain(scene)
    own = {event for event, data in scene.events() if data.get("by") == name}
    assert own == STRIKES[name]
    assert scene.warnings == []


def test_the_examples_are_all_there() -> None:
    text, *_ = re.findall(r"```toml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    assert [rule.name for rule in parse_rules(text, LiveFilters().compile)] == list(STRIKES)


def test_every_example_in_the_documents_is_a_file_of_rules() -> None:
    examples = re.findall(r"```toml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    assert examples
    shown = "".join(examples)
    for text in examples:
        assert parse_rules(text, LiveFilters().compile, is_http=True)
    assert [name for name in ACTIONS if f"\n{name} = " not in shown] == []
    assert [name for name in ACTIONS if f"\n| `{name}` |" not in DOCS.read_text("utf-8")] == []


@given(
    st.binary().filter(lambda raw: not {10, 13} & {*raw}),
    st.integers(1, 9),
    st.sampled_from(["flip", "replace"]),
    st.integers(),
)
def test_so_many_bytes_are_damaged_and_the_line_stays_one(
    raw: bytes, count: int, mode: Literal["flip", "replace"], seed: int
) -> None:
    def corrupted() -> InterceptedFrame:
        it = InterceptedFrame.of(Frame(1, 0.0, "agent", raw))
        ACTIONS["corrupt"].run(it, {"bytes": count, "mode": mode}, "r", Random(seed))
        return it

    it = corrupted()
    different = [a ^ b for a, b in zip(raw, it.raw, strict=True) if a != b]
    assert len(different) == min(count, len(raw))
    assert mode == "replace" or all(bits.bit_count() == 1 for bits in different)
    assert not {10, 13} & {*it.raw}
    assert corrupted().raw == it.raw
    assert [name for name, _ in it.events] == ["corrupted"] * bool(raw)


@given(st.floats(0, 10), st.floats(0, 10), st.integers())
def test_a_delay_lies_between_its_seconds_and_its_jitter(
    seconds: float, jitter: float, seed: int
) -> None:
    it = InterceptedFrame.of(Frame(1, 0.0, "agent", b""))
    ACTIONS["delay"].run(it, {"seconds": seconds, "jitter": jitter}, "r", Random(seed))
    assert seconds - 1e-6 <= it.wait <= seconds + jitter + 1e-6
