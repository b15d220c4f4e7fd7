"""Rules that whoever runs the agent has set: what they fit, and which of them decides."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol.call_rules.rules import (
    Effect,
    PolicyRule,
    command_words,
    deciding_rule,
    path_parts,
)
from acp_protocol.call_rules.subjects import Subject as Touched
from acp_protocol.call_rules.subjects import command_subject, name_subject, path_subject

HOME = ("/", "home", "me")


def path(*words: str) -> Touched:
    return Touched("path", words)


@pytest.mark.parametrize(
    ("pattern", "words", "fits"),
    [
        ("docs/**", ("docs", "a", "b.md"), True),
        ("docs/**", ("docs",), True),
        ("docs/**", ("docsx", "a"), False),
        ("docs/", ("docs", "a", "b.md"), True),
        ("./docs/*", ("docs", "a"), True),
        ("docs/*", ("docs", "a", "b"), False),
        ("docs/*.md", ("docs", "a.md"), True),
        ("**/test_*.py", ("a", "b", "test_x.py"), True),
        ("**/test_*.py", ("test_x.py",), True),
        ("a/**/z", ("a", "z"), True),
        ("a/**/z", ("a", "b", "c", "z"), True),
        ("a/**/z", ("a", "b"), False),
        (".env", ("deep", ".env"), True),
        (".env", ("/", "other", ".env"), True),
        (".env", (".environment",), False),
        ("**", ("/", "other", "x"), True),
        ("**", (), True),
        (".", ("x",), False),
        (".", (), True),
        ("docs/**", ("/", "docs", "a"), False),
        ("/home/me/docs/**", ("docs", "a"), True),
        ("/home/me/docs/**", ("src", "a"), False),
        ("/etc/**", ("/", "etc", "passwd"), True),
        ("app/[id]/**", ("app", "[id]", "s.ts"), True),
        ("[a-c]*", ("b.txt",), False),
        ("a;b", ("a;b",), True),
        ("A", ("a",), False),
    ],
)
def test_a_path_is_compared_part_by_part(pattern: str, words: tuple[str, ...], fits: bool) -> None:
    rule = PolicyRule("allow", None, "path", pattern)
    assert rule.fits("edit", path(*words), HOME) is fits


@pytest.mark.parametrize(
    ("pattern", "words", "fits"),
    [
        ("git *", ("git", "push", "-f"), True),
        ("git *", ("git",), True),
        ("git status", ("git", "status"), True),
        ("git status", ("git", "status", "-s"), False),
        ("git push *", ("git", "pull"), False),
        ("git * --force", ("git", "push", "x", "--force"), True),
        ("npm run test:*", ("npm", "run", "test:unit"), True),
        ("npm run test:*", ("npm", "run", "test:unit", "; rm"), False),
        ("git status", ("git status",), False),
        ("git *", ("git;", "rm"), False),
        ("git *", ("/tmp/git", "status"), False),
        ("echo 'a b'", ("echo", "a b"), True),
        ("*", ("anything", "at all"), True),
        ("*", (), True),
    ],
)
def test_a_command_is_compared_word_by_word(
    pattern: str, words: tuple[str, ...], fits: bool
) -> None:
    rule = PolicyRule("allow", "execute", "command", pattern)
    assert rule.fits("execute", command_subject(words)) is fits


def test_what_is_denied_by_a_program_s_name_is_denied_by_its_path_as_well() -> None:
    rule = PolicyRule("deny", None, "command", "rm *")
    assert rule.fits("execute", command_subject(("/bin/rm", "-r", "x")))
    assert not rule.fits("execute", command_subject(("/bin/ls", "rm")))
    assert not rule.fits("execute", command_subject(()))


@pytest.mark.parametrize(
    ("pattern", "program", "place"),
    [
        ("./deploy.sh *", ".//deploy.sh", ""),
        ("./deploy.sh *", "src/../deploy.sh", ""),
        ("./deploy.sh *", "/home/me/deploy.sh", ""),
        ("./deploy.sh *", "../deploy.sh", "src"),
        ("./deploy.sh *", "deploy.sh", ""),
        ("/usr/bin/id *", "id", ""),
        ("/usr/bin/id *", "/bin/../usr/bin/id", ""),
        ("./scripts/* *", "scripts/x", ""),
        ("./scripts/* *", "./x", "scripts"),
        ("scripts/* *", "/home/me/scripts/x", "/elsewhere"),
        ("id *", "./id", ""),
    ],
)
def test_what_is_denied_by_a_program_s_path_is_denied_however_it_is_named(
    pattern: str, program: str, place: str
) -> None:
    subject = command_subject((program, "x"), place)
    for decision in ("deny", "ask"):
        assert PolicyRule(decision, None, "command", pattern).fits("execute", subject, HOME)
    assert not PolicyRule("allow", None, "command", pattern).fits("execute", subject, HOME)
    denied = PolicyRule("deny", None, "command", pattern)
    assert not denied.fits("execute", command_subject(("other", "deploy.sh")), HOME)
    assert not denied.fits("execute", command_subject(("./other", "id")), HOME)
    assert not denied.fits("execute", command_subject(()), HOME)


def test_a_program_that_is_allowed_by_its_path_is_another_one_elsewhere() -> None:
    rule = PolicyRule("allow", None, "command", "./x *")
    assert rule.fits("execute", command_subject(("./x",)))
    assert not rule.fits("execute", command_subject(("./x",), "src"))
    by_name = PolicyRule("allow", None, "command", "x *")
    assert by_name.fits("execute", command_subject(("x",), "src"))


def test_names_are_compared_whole() -> None:
    rule = PolicyRule("allow", "fetch", "name", "*.example.com")
    assert rule.fits("fetch", name_subject("docs.example.com"))
    assert not rule.fits("fetch", name_subject("example.com"))
    assert not rule.fits("execute", name_subject("docs.example.com"))
    assert PolicyRule("allow", None, "name", "files__*").fits("execute", name_subject("files__x"))


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("example.com", "example.com:8080"),
        ("example.com:443", "example.com"),
        ("Example.com", "example.com"),
        ("example.com:8080", "example.com:8080"),
        ("[::1]", "[::1]:8080"),
    ],
)
def test_a_host_is_denied_with_all_its_ports(pattern: str, name: str) -> None:
    assert PolicyRule("deny", None, "name", pattern).fits("fetch", name_subject(name))
    assert not PolicyRule("deny", None, "name", "b.com:90").fits("fetch", name_subject("b.com"))


def test_a_host_is_allowed_with_its_port_alone() -> None:
    rule = PolicyRule("allow", None, "name", "Example.com")
    assert rule.fits("fetch", name_subject("example.com"))
    assert not rule.fits("fetch", name_subject("example.com:8080"))
    assert not rule.fits("execute", name_subject("example.com"))


def test_a_kind_alone_means_whatever_is_touched() -> None:
    rule = PolicyRule("deny", "delete")
    assert rule.fits("delete", path("x"))
    assert not rule.fits("edit", path("x"))


def test_a_pattern_of_one_area_fits_nothing_of_another() -> None:
    rule = PolicyRule("deny", None, "path", "**")
    assert not rule.fits("execute", command_subject(("x",)))
    assert not rule.fits("fetch", name_subject("x"))


def moved(rules: Sequence[PolicyRule], *words: str) -> str | None:
    """Return what is decided about the move of a directory."""
    rule = deciding_rule(rules, "move", [path(*words)], HOME, is_tree=True)
    return rule and rule.decision


def test_what_is_denied_is_not_moved_with_a_directory_above_it() -> None:
    rules = (PolicyRule("deny", None, "path", "a/secret/**"),)
    for words in ((), ("a",), ("a", "secret")):
        assert moved(rules, *words) == "deny", words
    assert moved(rules, "b") is None
    assert moved((PolicyRule("allow", None, "path", "a/secret/**"),), "a") is None
    # Where it goes, the name is still denied.
    assert moved((PolicyRule("deny", None, "path", ".env"),), "a") is None
    assert deciding_rule(rules, "move", [path("a")], HOME) is None


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("src/*/keys/**", ("src",)),
        ("src/*/keys/**", ("src", "a")),
        ("priv*/**", ()),
        ("priv*/**", ("private", "b")),
        ("**/conf/*/*.key", ("x", "conf")),
        ("**/conf/*/*.key", ("conf", "a")),
        ("conf/*.key", ("conf",)),
        ("a/**/z", ("a", "b", "c")),
        ("secret/**", ("/", "home")),
        ("secret/**", ("/",)),
        ("/home/me/s*/x", ()),
    ],
)
def test_what_a_wildcard_denies_is_not_moved_with_a_directory_above_it(
    pattern: str, words: tuple[str, ...]
) -> None:
    rules = (PolicyRule("deny", None, "path", pattern),)
    assert moved(rules, *words) == "deny"
    assert moved(rules, "other") is None
    assert moved(rules, "/", "other") is None


def test_an_earlier_rule_outweighs_what_is_denied_below_only_if_it_allows_all_there() -> None:
    below = (PolicyRule("deny", None, "path", "src/k/**"), PolicyRule("deny", "move"))

    def decision(pattern: str, *words: str) -> str | None:
        return moved((PolicyRule("allow", None, "path", pattern), *below), *words)

    assert decision("src/**", "src") == "allow"
    assert decision("src", "src") == "deny"
    assert decision("src/*", "src", "k") == "deny"
    assert decision("lib", "lib") == "allow"
    assert moved((PolicyRule("ask", None, "path", "src/x/**"), *below), "src") == "deny"


def test_what_is_denied_is_denied_however_its_letters_are_written() -> None:
    """Some disks tell them not apart."""
    meanings: dict[Effect, bool] = {"deny": True, "ask": True, "allow": False}
    for decision, is_meant in meanings.items():
        rule = PolicyRule(decision, None, "path", "Secret/**")
        assert rule.fits("read", path("sECRET", "key")) is is_meant
        assert rule.fits("read", path("Secret", "KEY"))


def test_the_first_rule_that_fits_decides() -> None:
    rules = (
        PolicyRule("allow", "execute", "command", "git status"),
        PolicyRule("deny", "execute", "command", "git *"),
        PolicyRule("ask", "execute"),
    )

    def decision(*words: str) -> str | None:
        found = deciding_rule(rules, "execute", [command_subject(words)])
        return found and found.decision

    assert (decision("git", "status"), decision("git", "push")) == ("allow", "deny")
    assert decision("ls") == "ask"
    assert deciding_rule(rules, "edit", [path("x")]) is None


def test_of_several_things_one_that_is_denied_is_enough() -> None:
    allow = PolicyRule("allow", "edit", "path", "docs/**")
    ask = PolicyRule("ask", "edit", "path", "src/**")
    deny = PolicyRule("deny", "edit", "path", ".env")
    docs, src, env, other = path("docs", "a"), path("src", "a"), path(".env"), path("x")

    def found(*subjects: Touched) -> PolicyRule | None:
        return deciding_rule((allow, ask, deny), "edit", subjects)

    assert found(docs, path("docs", "b")) == allow
    assert found(docs, src) == ask
    assert found(docs, src, env) == deny
    assert found(docs, other) is None
    assert found(other, env) == deny


def test_a_link_is_judged_by_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "open").symlink_to("secret")
    rule = PolicyRule("deny", None, "path", "secret/**")
    assert rule.fits("read", path_subject(tmp_path, str(tmp_path / "open" / "x")))


def test_a_rule_is_spelled_out() -> None:
    assert str(PolicyRule("deny", "execute", "command", "git push *")) == "deny execute git push *"
    assert str(PolicyRule("allow", None, "path", "docs/**")) == "allow docs/**"


def slowly(pattern: tuple[str, ...], words: tuple[str, ...]) -> bool:
    if not pattern:
        return not words
    if pattern[0] == "*":
        return any(slowly(pattern[1:], words[at:]) for at in range(len(words) + 1))
    return bool(words) and fnmatchcase(words[0], pattern[0]) and slowly(pattern[1:], words[1:])


WORDS = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=6).map(tuple)
PATTERNS = st.lists(st.sampled_from(["a", "b", "*", "a*", "?"]), max_size=5).map(tuple)


@given(pattern=PATTERNS, words=WORDS)
def test_many_stars_mean_what_they_mean_one_by_one(
    pattern: tuple[str, ...], words: tuple[str, ...]
) -> None:
    rule = PolicyRule("allow", None, "command", " ".join(pattern))
    assert command_words(" ".join(pattern)) == pattern
    assert rule.fits("execute", command_subject(words)) is slowly(pattern, words)


def test_many_stars_take_no_time() -> None:
    rule = PolicyRule("allow", None, "command", "* a " * 40 + "b")
    assert not rule.fits("execute", command_subject(["a"] * 2000))
    assert path_parts("**/a/" * 3 + "b") == ("**", "a", "**", "a", "**", "a", "b")
