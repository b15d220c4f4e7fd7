"""What "always" comes to, in words that a user can agree to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.permissions.grants import Grant, grants_for
from acp_protocol.call_rules.subjects import Subject, SubjectType
from acp_protocol.schema.words import ToolKind

WORDS = st.lists(st.sampled_from(["git", "status", ";", "rm", "-rf", "/", "a b", ""]), max_size=5)


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        (("notes.md",), ["edit notes.md", "edit **"]),
        (("src", "main.py"), ["edit src/**", "edit **"]),
        (("a", "b", "c"), ["edit a/b/**", "edit **"]),
        (("/", "etc", "passwd"), ["edit /etc/**"]),
        (("/", "x"), ["edit /x"]),
        (("a\x1b[2J", "x"), ["edit a␛[2J/**", "edit **"]),
        ((), ["edit **"]),
    ],
)
def test_files_are_allowed_by_their_folder_or_all(words: tuple[str, ...], rules: list[str]) -> None:
    assert [str(rule) for rule in grants_for("edit", Subject("path", words))] == rules


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("ls", "-l"), "execute ls"),
        (("git", "status", "-s"), "execute git status"),
        (("git", "-C", "x", "status"), "execute git -C x status"),
        (("git",), "execute git"),
        (("sh", "-c", "ls"), "execute sh -c ls"),
        (("/bin/bash", "-c", "ls"), "execute /bin/bash -c ls"),
        (("python3.11", "x.py"), "execute python3.11 x.py"),
        (("env", "x"), "execute env x"),
        (("rm; ls", "a b"), "execute 'rm; ls' 'a b'"),
        (("./ls", "-l"), "execute ./ls -l"),
        (("git", "diff", "--outp=x"), "execute git diff --outp=x"),
        (("git", "commit", "-m", "x"), "execute git commit -m x"),
        (("git", "grep", "-O", "x"), "execute git grep -O x"),
        (("rg", "x"), "execute rg"),
        (("rg", "--pre", "sh", "x"), "execute rg --pre sh x"),
        (("cargo", "test"), "execute cargo test"),
    ],
)
def test_a_command_is_allowed_as_far_as_its_words_say_what_it_does(
    words: tuple[str, ...], rule: str
) -> None:
    (found,) = grants_for("execute", Subject("command", words))
    assert str(found) == rule
    assert found.covers("execute", Subject("command", words))


@pytest.mark.parametrize(
    "program",
    [
        "flock",
        "unshare",
        "pypy3",
        "bwrap",
        "tmux",
        "systemd-run",
        "taskset",
        "entr",
        "ts-node",
        "ghci",
        "Rscript",
        "nvim",
        "make",
        "cargo",
        "npm",
        "go",
        "sort",
        "tree",
        "file",
        "new-one",
    ],
)
def test_of_a_program_that_may_run_others_only_these_words_are_allowed(program: str) -> None:
    (rule,) = grants_for("execute", Subject("command", (program, "x")))
    assert rule.covers("execute", Subject("command", (program, "x")))
    assert not rule.covers("execute", Subject("command", (program, "x", "rm", "-rf")))
    assert not rule.covers("execute", Subject("command", (program, "/tmp/l", "rm")))


@pytest.mark.parametrize(
    ("known", "words", "is_covered"),
    [
        (("rg", "x"), ("rg", "-n", "y", "src"), True),
        (("rg", "x"), ("rg", "--pre=sh", "y"), False),
        (("rg", "x"), ("rg", "y", "--hostname-bin", "sh"), False),
        (("git", "log"), ("git", "log", "--stat"), True),
        (("git", "log"), ("git", "log", "--output", ".git/hooks/pre-commit"), False),
        (("git", "log"), ("git", "-c", "alias.log=!sh", "log"), False),
        (("git", "diff"), ("git", "difftool", "-x", "sh"), False),
    ],
)
def test_a_plain_program_is_not_led_to_others_by_its_arguments(
    known: tuple[str, ...], words: tuple[str, ...], is_covered: bool
) -> None:
    (rule,) = grants_for("execute", Subject("command", known))
    assert rule.covers("execute", Subject("command", words)) == is_covered


def test_who_may_see_the_time_may_not_set_it() -> None:
    (rule,) = grants_for("execute", Subject("command", ("date",)))
    assert rule.covers("execute", Subject("command", ("date",)))
    for words in (
        ("-s", "12:00"),
        ("--set=12:00",),
        ("--se", "12:00"),
        ("-us12:00",),
        ("01011200",),
    ):
        assert not rule.covers("execute", Subject("command", ("date", *words)))


def test_a_name_is_allowed_as_it_is() -> None:
    (rule,) = grants_for("fetch", Subject("name", ("example.com",)))
    assert str(rule) == "fetch example.com"
    assert not rule.covers("fetch", Subject("name", ("example.com.evil",)))
    assert not rule.covers("fetch", Subject("command", ("example.com",)))


@given(st.lists(st.sampled_from(["a", "b", "**", "/"]), max_size=4), st.sampled_from([0, -1]))
def test_a_rule_covers_what_it_was_made_of(words: list[str], place: int) -> None:
    subject = Subject("path", tuple(words))
    assert grants_for("edit", subject)[place].covers("edit", subject)


@given(WORDS, WORDS)
def test_a_command_is_covered_only_by_its_own_first_words(
    known: list[str], words: list[str]
) -> None:
    rule = Grant("execute", Subject("command", tuple(known)), is_prefix=True)
    assert rule.covers("execute", Subject("command", tuple(words))) == (
        words[: len(known)] == known
    )


@pytest.mark.parametrize(
    ("kind", "subject", "narrow", "wide"),
    [
        ("edit", ("path", "notes.md"), "edits of notes.md", "all edits in this directory"),
        ("delete", ("path", "src", "a"), "deletions under src/", "all deletions in this directory"),
        ("move", ("path", "a"), "moves of a", "all moves in this directory"),
        ("search", ("path", "src"), "searches in src", "all searches in this directory"),
        ("read", ("path", "/", "etc", "hosts"), "reads under /etc/", "reads under /etc/"),
        ("execute", ("command", "git", "status"), *["`git status` with any arguments"] * 2),
        ("execute", ("command", "cargo", "test"), *["exactly `cargo test`"] * 2),
        ("execute", ("name", "w__look"), *["the tool w__look"] * 2),
        ("fetch", ("name", "example.com"), *["fetches from example.com"] * 2),
        ("execute", ("name",), *["commands"] * 2),
    ],
)
def test_what_always_means_is_said_in_words(
    kind: ToolKind, subject: tuple[SubjectType, *tuple[str, ...]], narrow: str, wide: str
) -> None:
    area, *words = subject
    rules = grants_for(kind, Subject(area, tuple(words)))
    assert (rules[0].describe(), rules[-1].describe()) == (narrow, wide)
