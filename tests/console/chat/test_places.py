"""Numbers of lines: none is shown where it could be another one in the file."""

from __future__ import annotations

from typing import Any

import pytest

from acp_console.chat.line_diff import line_hunks, line_numbers, patch_lines
from acp_console.chat.places import diff_begin, output_begin
from acp_inspector.session.items import CallFacts

OLD = "one\ntwo\nthree\nfour\nfive\nsix\n"
NEW = OLD.replace("five", "FIVE")


def facts(line: object = None, raw: Any = None, **more: Any) -> CallFacts:
    place = {"path": "/a"} | ({} if line is None else {"line": line})
    return CallFacts(locations=[place], raw_input=raw, **more)


@pytest.mark.parametrize(
    ("call", "begin"),
    [
        pytest.param(facts(), 1, id="a whole file, as the protocol has it"),
        pytest.param(facts(5), 1, id="the line that changes"),
        pytest.param(facts(41), 41, id="a line that the text has not"),
        pytest.param(facts(3), None, id="a part or a whole file"),
        pytest.param(facts(raw={"edits": [{"old_string": OLD}]}), None, id="a part somewhere"),
        pytest.param(facts(3, {"old_string": OLD}), 3, id="a part at a line"),
        pytest.param(facts("5"), 1, id="a line that is not a number"),
        pytest.param(CallFacts(raw_input=[{}]), 1, id="no location"),
    ],
)
def test_the_place_of_a_diff_is_known_or_not(call: CallFacts, begin: int | None) -> None:
    diff = {"type": "diff", "path": "/a", "oldText": OLD, "newText": NEW}
    assert diff_begin(call, diff) == begin
    assert diff_begin(call, {**diff, "oldText": None}) == 1


def test_what_was_read_is_numbered_unless_it_brings_its_numbers() -> None:
    assert output_begin(facts(40, kind="read"), "x\ny\n") == 40
    assert output_begin(facts(40, kind="read"), "   40\tx\n") is None
    assert output_begin(facts(kind="read"), "x\n") is None
    assert output_begin(facts(40, kind="execute"), "x\n") is None


def test_lines_of_a_hunk_and_of_a_patch_have_the_numbers_of_both_sides() -> None:
    [hunk] = line_hunks(OLD, OLD.replace("two\n", "").replace("six", "SIX"))
    assert line_numbers(hunk) == [
        (0, 0), (1, 1), (2, 0), (3, 2), (4, 3), (5, 4), (6, 0), (0, 5),
    ]  # fmt: skip
    patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,2 +7 @@\n-c\n d\n@@ -9,0 +13,1 @@\n+e\n"
    lines = [line for _, line in patch_lines(patch) if line is not None]
    assert line_numbers(lines)[-4:] == [(3, 0), (4, 7), (0, 0), (0, 13)]
