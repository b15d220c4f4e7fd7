"""What the text of a patch says of files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.lint.text_checks import PatchedFile, read_patch, unquoted


def _only(text: str) -> PatchedFile:
    (file,) = read_patch(text).files
    return file


def test_a_changed_file_is_modified() -> None:
    file = _only(
        "diff --git /a b /a b\nindex 1..2 100644\n--- /a b\n+++ /a b\n@@ -1 +1 @@\n-x\n+y\n"
    )
    assert (file.operation, file.path) == ("modify", "/a b")


def test_a_new_file_is_added() -> None:
    file = _only(
        "diff --git /a /a\nnew file mode 100644\n--- /dev/null\n+++ /a\n@@ -0,0 +1 @@\n+y\n"
    )
    assert (file.operation, file.path, file.names) == ("add", "/a", ["/dev/null", "/a"])


def test_an_empty_new_file_is_named_by_its_header() -> None:
    file = _only("diff --git /a b /a b\nnew file mode 100644\nindex 0..1\n")
    assert (file.operation, file.path) == ("add", "/a b")


def test_a_deleted_file_has_the_path_that_it_had() -> None:
    file = _only(
        "diff --git /a /a\ndeleted file mode 100644\n--- /a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x"
    )
    assert (file.operation, file.path) == ("delete", "/a")


@pytest.mark.parametrize(("word", "operation"), [("rename", "move"), ("copy", "copy")])
def test_a_file_is_moved_or_copied(word: str, operation: str) -> None:
    file = _only(f"diff --git /a /b\nsimilarity index 100%\n{word} from /a\n{word} to /b\n")
    assert (file.operation, file.old, file.path) == (operation, "/a", "/b")


def test_lines_of_a_hunk_are_no_headers() -> None:
    text = "diff --git /a /a\n--- /a\n+++ /a\n@@ -1,2 +1,2 @@\n--- b\n x\n+++ c\n"
    patch = read_patch(text + text)
    assert [file.names for file in patch.files] == [["/a", "/a"], ["/a", "/a"]]


def test_what_stands_before_the_first_file_is_told() -> None:
    assert read_patch("\nFrom 123 Mon\nSubject: x\n").preamble == "From 123 Mon"
    assert not read_patch("").files


def test_quoted_paths_are_unquoted() -> None:
    assert unquoted(r'"/\303\244 \"x\"\n\\"') == '/ä "x"\n\\'
    assert unquoted('"/ä"') == "/ä"
    assert unquoted('"') == '"'


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    for file in read_patch(f"diff --git {text}\n--- {text}\nrename to {text}").files:
        assert file.path is None or isinstance(file.path, str)
    assert isinstance(unquoted(f'"{text}"'), str)
