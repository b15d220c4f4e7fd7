"""What a call touches, whatever its title says."""

from __future__ import annotations

from pathlib import Path

from acp_protocol.call_rules.subjects import (
    DISPLAY_WIDTH,
    command_subject,
    name_subject,
    path_subject,
)


def test_a_path_is_told_from_the_directory_of_the_session(cwd: Path) -> None:
    assert path_subject(cwd, str(cwd / "src" / "main.py")).words == ("src", "main.py")
    assert path_subject(cwd, str(cwd)).words == ()
    assert path_subject(cwd, "/etc").words == ("/", "etc")


def test_a_link_counts_as_what_it_leads_to(cwd: Path) -> None:
    (cwd / "src" / "link").symlink_to(cwd / "notes.md")
    link = str(cwd / "src" / "link")
    assert path_subject(cwd, link).words == ("notes.md",)
    assert path_subject(cwd, link, is_last_followed=False).words == ("src", "link")
    (cwd.parent / "alias").symlink_to(cwd)
    assert path_subject(cwd.parent / "alias", str(cwd.parent / "alias" / "x")).words == ("x",)


def test_a_path_that_cannot_be_is_kept_as_it_is(cwd: Path) -> None:
    assert path_subject(cwd, "/a\0b").words == ("/", "a\0b")


def test_a_subject_is_shown_on_one_line() -> None:
    assert str(command_subject(["rm", "a b", "\n\x1b"])) == "rm 'a b' '⏎␛'"
    assert len(str(command_subject(["x" * 1000]))) == DISPLAY_WIDTH
    assert (str(name_subject("")), name_subject("").words) == ("", ())
