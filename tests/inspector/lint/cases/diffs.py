"""Talks about diffs."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps

PATH = f"{CWD}/a.py"
OTHER = f"{CWD}/b.py"
HUNK = "@@ -1 +1 @@\n-x\n+y\n"
PATCH = f"diff --git {PATH} {PATH}\n--- {PATH}\n+++ {PATH}\n{HUNK}"
MODIFY: dict[str, Any] = {"operation": "modify", "path": PATH, "fileType": "text"}


def _show(talk: Talk, **members: Any) -> None:
    """Have one turn with a tool call that shows a diff."""
    talk.open()
    prompt = talk.prompt()
    if talk.version == 2:
        talk.accept(prompt)
    talk.tool(kind="edit", status="completed", content=[{"type": "diff"} | members])
    if talk.version == 2:
        talk.state("idle", stopReason="end_turn")
    else:
        talk.finish(prompt)


def _patch(talk: Talk, text: str, *changes: Any) -> None:
    patch = {"format": "git_patch", "text": text}
    _show(talk, changes=list(changes) or [MODIFY], patch=patch)


@breaks("incomplete-diff")
def a_diff_has_no_new_text(talk: Talk) -> None:
    _show(talk, path=PATH, oldText="x", content="y")


@breaks("incomplete-diff")
def a_diff_has_no_path(talk: Talk) -> None:
    _show(talk, newText="y")


@keeps("incomplete-diff")
def a_diff_empties_a_file(talk: Talk) -> None:
    _show(talk, path=PATH, oldText=None, newText="")


@breaks("diff-without-changes", 2)
def a_diff_is_that_of_version_1(talk: Talk) -> None:
    _show(talk, path=PATH, oldText="x", newText="y")


@breaks("diff-without-changes", 2)
def a_diff_has_both(talk: Talk) -> None:
    _show(talk, changes=[MODIFY], newText="y")


@keeps("diff-without-changes", 2)
def a_diff_has_changes(talk: Talk) -> None:
    _patch(talk, PATCH)


@breaks("incomplete-diff-change", 2)
def a_move_has_no_path_before(talk: Talk) -> None:
    _show(talk, changes=[{"operation": "move", "path": PATH}])


@breaks("incomplete-diff-change", 2)
def a_new_file_has_only_a_path_before(talk: Talk) -> None:
    _show(talk, changes=[{"operation": "add", "oldPath": PATH}])


@keeps("incomplete-diff-change", 2)
def a_copy_has_both_paths(talk: Talk) -> None:
    _show(talk, changes=[{"operation": "copy", "oldPath": PATH, "path": OTHER}])


@breaks("relative-diff-path")
def a_diff_is_of_a_relative_path(talk: Talk) -> None:
    _show(talk, path="a.py", newText="y")


@breaks("relative-diff-path", 2)
def a_file_was_moved_from_a_relative_path(talk: Talk) -> None:
    _show(talk, changes=[{"operation": "move", "oldPath": "a.py", "path": PATH}])


@keeps("relative-diff-path")
def a_diff_is_of_a_path_on_a_drive(talk: Talk) -> None:
    _show(talk, path="C:\\a.py", newText="y")


@keeps("relative-diff-path", 2)
def a_file_was_moved_from_an_absolute_path(talk: Talk) -> None:
    _show(talk, changes=[{"operation": "move", "oldPath": OTHER, "path": PATH}])


@breaks("malformed-git-patch", 2)
def a_patch_has_prefixes(talk: Talk) -> None:
    _patch(talk, f"diff --git a{PATH} b{PATH}\n--- a{PATH}\n+++ b{PATH}\n{HUNK}")


@breaks("malformed-git-patch", 2)
def a_patch_is_of_a_commit(talk: Talk) -> None:
    _patch(talk, f"commit 0123\nAuthor: Ada\n\n    Say y\n\n{PATCH}")


@breaks("malformed-git-patch", 2)
def a_patch_has_no_header_of_git(talk: Talk) -> None:
    _patch(talk, f"--- {PATH}\n+++ {PATH}\n{HUNK}")


@keeps("malformed-git-patch", 2)
def a_removed_line_looks_like_a_name(talk: Talk) -> None:
    _patch(talk, PATCH.replace("-x", "--- a/x"))


@keeps("malformed-git-patch", 2)
def a_new_file_came_from_nowhere(talk: Talk) -> None:
    text = f"diff --git {PATH} {PATH}\nnew file mode 100644\n--- /dev/null\n+++ {PATH}\n"
    _patch(talk, f"{text}@@ -0,0 +1 @@\n+y\n", MODIFY | {"operation": "add"})


@breaks("patch-differs-from-changes", 2)
def a_patch_has_another_file(talk: Talk) -> None:
    _patch(talk, PATCH + PATCH.replace(PATH, OTHER))


@breaks("patch-differs-from-changes", 2)
def a_patch_deletes_what_was_modified(talk: Talk) -> None:
    text = f"diff --git {PATH} {PATH}\ndeleted file mode 100644\n--- {PATH}\n+++ /dev/null\n"
    _patch(talk, f"{text}@@ -1 +0,0 @@\n-x\n")


@keeps("patch-differs-from-changes", 2)
def a_patch_covers_only_some_changes(talk: Talk) -> None:
    picture = {"operation": "add", "path": f"{CWD}/a.png", "fileType": "binary"}
    _patch(talk, PATCH, picture, MODIFY)


@keeps("patch-differs-from-changes", 2)
def a_patch_moves_a_file(talk: Talk) -> None:
    text = f"diff --git {PATH} {OTHER}\nrename from {PATH}\nrename to {OTHER}\n"
    _patch(talk, text, {"operation": "move", "oldPath": PATH, "path": OTHER, "fileType": "text"})


@breaks("text-change-without-patch", 2)
def a_text_changes_without_a_patch(talk: Talk) -> None:
    _show(talk, changes=[MODIFY])


@keeps("text-change-without-patch", 2)
def a_picture_changes_without_a_patch(talk: Talk) -> None:
    _show(talk, changes=[MODIFY | {"fileType": "binary"}])


@breaks("empty-diff", 2)
def a_diff_changes_nothing(talk: Talk) -> None:
    _show(talk, changes=[])


@keeps("empty-diff", 2)
def a_diff_changes_one_file(talk: Talk) -> None:
    _patch(talk, PATCH)
