"""The sidebar and the cards count the same lines of a change."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_console.chat.changed_files import ChangedFiles
from acp_console.chat.line_diff import FileChange, is_patch_of
from acp_console.chat.past import PastStates
from acp_console.tui.transcript.cards import ToolCard
from acp_console.tui.transcript.rows import Look
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import Effect, ToolCallItem
from acp_protocol.json_values import get
from acp_protocol.jsonrpc import Json
from tests.inspector.talks import frames, prompt, update

LOOK = Look.from_theme({}, has_colors=False)
LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=6).map("\n".join)


def edited(*content: Mapping[str, Json]) -> ToolCallItem:
    call = ToolCallItem("c", n=1)
    call.change(1, title="Edit", status="completed")
    call.replace([dict(each) for each in content], 1)
    return call


def change(old: str, new: str) -> Mapping[str, Json]:
    return {"type": "diff", "path": "/w/a", "oldText": old, "newText": new}


def patched(text: str, *changes: Mapping[str, Json]) -> Mapping[str, Json]:
    patch: Json = {"format": "git_patch", "text": text}
    return {"type": "diff", "changes": [dict(each) for each in changes], "patch": patch}


def in_sidebar(*calls: ToolCallItem) -> dict[str, tuple[int, int] | None]:
    """Return the counts of each file, None if it is deleted."""
    files = ChangedFiles()
    files.note(calls)
    found = files.files().values()
    return {each.path: None if each.is_deleted else (each.added, each.removed) for each in found}


def on_card(call: ToolCallItem) -> str:
    return ToolCard(call).rows(0, 80, LOOK)[0].text


def test_two_swapped_lines_are_one_added_and_one_removed() -> None:
    call = edited(change("a\nb\n", "b\na\n"))
    assert in_sidebar(call) == {"/w/a": (1, 1)}
    assert "+1 −1" in on_card(call)


@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
def test_write_through_the_client_leaves_the_counts_of_its_call(is_first: bool) -> None:
    write = Effect("e", "wrote /w/a without asking")
    write.path = "/w/a"
    call = edited(change("a\nb\n", "a\nB\n"))
    files = ChangedFiles()
    files.note([write, call] if is_first else [call, write])
    assert files.files() == {"/w/a": FileChange("/w/a", 1, 1)}


def test_written_file_is_no_longer_deleted() -> None:
    gone = ToolCallItem("c", n=1)
    gone.change(1, title="Delete", status="completed", kind="delete", locations=[{"path": "/w/a"}])
    write = Effect("e", "wrote /w/a without asking")
    write.path = "/w/a"
    files = ChangedFiles()
    files.note([gone])
    assert files.files()["/w/a"].is_deleted
    files.note([write])
    assert files.files() == {"/w/a": FileChange("/w/a", is_counted=False)}


def test_changes_of_a_file_by_several_calls_are_added_up() -> None:
    calls = edited(change("a\n", "b\n")), edited(change("b\n", "b\nc\n"))
    assert in_sidebar(*calls) == {"/w/a": (2, 1)}


@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=3))
def test_card_and_sidebar_say_the_same_of_any_change(texts: list[tuple[str, str]]) -> None:
    call = edited(*(change(old, new) for old, new in texts))
    [(added, removed)] = [counts for counts in in_sidebar(call).values() if counts is not None]
    card = ToolCard(call)
    signs = [line[0] for piece in card.pieces for line in piece.hunk]
    assert (added, removed) == (signs.count("+"), signs.count("-"))
    assert (f"+{added} −{removed}" in on_card(call)) == bool(added or removed)


TWO_FILES = """\
diff --git a/w/a b/w/a
--- a/w/a
+++ b/w/a
@@ -1,2 +1,3 @@
-one
+1
+2
 two
diff --git a/w/b b/w/b
deleted file mode 100644
--- a/w/b
+++ /dev/null
@@ -1 +0,0 @@
-b
"""


def test_files_of_a_patch_are_counted_each() -> None:
    changes: list[Mapping[str, Json]] = [
        {"operation": "modify", "path": "/w/a"},
        {"operation": "delete", "path": "/w/b"},
        {"operation": "add", "path": "/w/c"},
    ]
    call = edited(patched(TWO_FILES, *changes))
    assert in_sidebar(call) == {"/w/a": (2, 1), "/w/b": None, "/w/c": (0, 0)}
    assert "+2 −2" in on_card(call)


@pytest.mark.parametrize(
    ("text", "paths", "expected"),
    [
        ("@@ -1 +1 @@\n-a\n+b\n", ["/w/a"], {"/w/a": (1, 1)}),
        ("--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n--- a\n+++ b\n", [], {"/w/a": (1, 1)}),
        (TWO_FILES, [], {"w/a": (2, 1), "w/b": (0, 1)}),
    ],
)
def test_a_patch_says_of_which_file_it_is(
    text: str, paths: list[str], expected: dict[str, tuple[int, int]]
) -> None:
    call = edited(patched(text, *({"operation": "modify", "path": path} for path in paths)))
    assert in_sidebar(call) == expected


def test_a_call_that_failed_changed_nothing() -> None:
    call = edited(patched(TWO_FILES))
    call.change(2, status="failed")
    assert in_sidebar(call) == {}


@given(LINES, LINES)
def test_a_patch_of_two_texts_is_known_as_such_and_of_others_not(old: str, new: str) -> None:
    from difflib import unified_diff

    old, new = old and f"{old}\n", new and f"{new}\n"
    patch = "".join(unified_diff(old.splitlines(True), new.splitlines(True), "/w/a", "/w/a"))
    assert is_patch_of(patch, change(old, new)) == (old != new)
    assert not is_patch_of(patch, change(old, f"{new}evil\n"))


def test_the_state_of_a_past_moment_is_that_of_its_frame() -> None:
    steps = [{"content": "one", "status": "pending"}, {"content": "two", "status": "pending"}]
    done = [{**each, "status": "completed"} for each in steps]
    conversations = Conversations()
    conversations.read(
        frames(
            prompt(1, "go"),
            update("plan", entries=steps),
            update("tool_call", toolCallId="c", title="Edit", content=[change("a\n", "b\n")]),
            update("tool_call_update", toolCallId="c", status="completed"),
            update("plan", entries=done),
        )
    )
    states = PastStates()

    def at(n: int) -> tuple[int | None, list[str]]:
        state = states.of(conversations.at(n)["s1"], n / 10)
        finished = [step for step in state.plan if get(step, "status") == "completed"]
        return len(finished) if state.plan else None, list(state.files)

    expected: list[tuple[int | None, list[str]]]
    expected = [(None, []), (0, []), (0, []), (0, ["/w/a"]), (2, ["/w/a"])]
    assert [at(n) for n in range(1, 6)] == expected
    # What was seen later changes nothing of it.
    assert [at(n) for n in range(1, 6)] == expected
