"""Rules about tool calls as they are written, and how their mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.config.documents import ConfigurationError
from acp_agent.config.files import FileSettings
from acp_agent.config.layers import read_layers
from acp_agent.config.rules import MEMBERS, RULES, mistakes, rule_of, table_of
from acp_agent.config.showing import as_json, as_toml
from acp_agent.config.toml_file import read_toml
from acp_agent.config.values import UnfitError
from acp_agent.config.yaml_file import read_yaml
from acp_agent.standing import StandingRule
from acp_agent.tools.tool import KINDS
from acp_protocol.jsonrpc import Json

TOML = """\
[[permissions.rules]]
kind = "execute"
command = "git *"
decision = "allow"
[[permissions.rules]]
path = "docs/**"
decision = "deny"
"""
YAML = """\
acp:
  permissions:
    rules:
      - kind: execute
        command: "git *"
        decision: allow
      - { path: "docs/**", decision: deny }
"""
BOTH = (
    StandingRule("allow", "execute", "command", "git *"),
    StandingRule("deny", None, "path", "docs/**"),
)


def test_rules_are_read_from_both_formats() -> None:
    toml = FileSettings(read_toml(Path("a.toml"), TOML))
    yaml = FileSettings(read_yaml(Path("a.yaml"), YAML))
    for settings in (toml, yaml):
        assert settings.problems == []
        assert settings.settings["permissions.rules"].value == BOTH


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("permissions.rules = 3", "a.toml:1: permissions.rules: must be a list of tables"),
        ("permissions.rules = ['x']", "a.toml:1: permissions.rules: must be a list of tables"),
        (
            "[[permissions.rules]]\nkind = 'edit'",
            "a.toml:1: permissions.rules.1: decision is missing: one of allow, ask, deny",
        ),
        (
            "[[permissions.rules]]\nkind = 'edit'\n\ndecision = 'yes'",
            "a.toml:4: permissions.rules.1.decision: must be one of allow, ask, deny",
        ),
        (
            (
                "[[permissions.rules]]\nkind='edit'\ndecision='ask'\n[[permissions.rules]]\n"
                "kind = 'edits'\ndecision = 'ask'"
            ),
            "a.toml:5: permissions.rules.2.kind: must be one of read, edit",
        ),
        (
            "[[permissions.rules]]\ndecision = 'allow'",
            "a.toml:1: permissions.rules.1: names nothing: at least one of kind, path, command",
        ),
        (
            "[[permissions.rules]]\npath = 'x'\ncommand = 'y'\ndecision = 'allow'",
            "a.toml:3: permissions.rules.1.command: one rule has either path or command",
        ),
        (
            "[[permissions.rules]]\nkind = 'execute'\npath = 'x'\ndecision = 'allow'",
            "a.toml:3: permissions.rules.1.path: no call of the kind execute has a path",
        ),
        (
            "[[permissions.rules]]\npath = 'a/../b'\ndecision = 'allow'",
            "a.toml:2: permissions.rules.1.path: must be a path without ..",
        ),
        (
            "[[permissions.rules]]\npath = '~/b'\ndecision = 'allow'",
            "a.toml:2: permissions.rules.1.path: must be told from the session's directory",
        ),
        (
            "[[permissions.rules]]\ncommand = \"git 'x\"\ndecision = 'allow'",
            "a.toml:2: permissions.rules.1.command: must be words; a quotation in it has no end",
        ),
        (
            "[[permissions.rules]]\nname = ''\ndecision = 'allow'",
            "a.toml:2: permissions.rules.1.name: must be a text that is not empty",
        ),
        (
            "[[permissions.rules]]\nkind = 'edit'\ndecison = 'allow'\ndecision = 'ask'",
            (
                "a.toml:3: permissions.rules.1.decison: there is no such key; "
                "the nearest is decision"
            ),
        ),
    ],
)
def test_a_mistake_is_told_with_its_line_and_its_key(text: str, problem: str) -> None:
    settings = FileSettings(read_toml(Path("a.toml"), text))
    assert [told for told in settings.problems if told.startswith(problem)], settings.problems
    assert "permissions.rules" not in settings.settings


@pytest.mark.parametrize(
    ("member", "pattern", "why"),
    [
        ("path", "//etc/x", "must begin with one /"),
        ("path", "C:\\x", "told with /"),
        ("path", "docs\\**", "told with /"),
        ("command", "''", "names no program"),
        ("command", "'' x", "names no program"),
        ("name", "My.Server__*", "My-Server__*"),
        ("name", "a b", "no host and no tool"),
        ("name", "https://example.com/", "no host and no tool"),
        ("name", "bücher.example", "no host and no tool"),
        ("name", "example.com.", "must be example.com"),
        ("name", "127.1", "must be 127.0.0.1"),
        ("name", "0x7f000001:8080", "must be 127.0.0.1:8080"),
        ("name", "::1", r"must be \[::1\]"),
        ("name", "[::ffff:127.0.0.1]", "must be 127.0.0.1"),
        ("name", "a__" + "x" * 70, "at most 64"),
    ],
)
def test_a_pattern_that_can_never_fit_is_a_mistake(member: str, pattern: str, why: str) -> None:
    ((named, told),) = mistakes({member: pattern, "decision": "deny"})
    assert named == member
    assert why.replace("\\", "") in told


@pytest.mark.parametrize(
    ("member", "pattern"),
    [
        ("path", "/"),
        ("path", "/etc//x"),
        ("path", "app/[id]/**"),
        ("command", "x ''"),
        ("name", "*"),
        ("name", "*.Example.com:8080"),
        ("name", "xn--bcher-kva.example"),
        ("name", "[::1]:8080"),
        ("name", "127.0.0.1"),
        ("name", "127.*"),
        ("name", "localhost"),
        ("name", "files__read-?"),
        ("name", "My-Server__*"),
    ],
)
def test_what_may_fit_is_no_mistake(member: str, pattern: str) -> None:
    assert list(mistakes({member: pattern, "decision": "deny"})) == []


def test_rules_are_shown_and_what_is_shown_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(TOML)
    layers = read_layers(path, {}, {})
    shown = as_toml(layers)
    assert f'[[permissions.rules]]  # {path}:1\nkind = "execute"\ncommand = "git *"\n' in shown
    assert '"command": "git *"' in as_json(layers)
    again = tmp_path / "again.toml"
    again.write_text(shown)
    assert read_layers(again, {}, {}).configuration().permissions.rules == BOTH


def test_no_variable_sets_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(TOML)
    layers = read_layers(path, {"ACP_AGENT_PERMISSIONS_RULES": "[]"}, {})
    assert layers.configuration().permissions.rules == BOTH
    assert any("ACP_AGENT_PERMISSIONS_RULES sets nothing" in note for note in layers.notes)


def test_a_file_with_a_mistake_sets_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(TOML + "[[permissions.rules]]\ndecision = 'deny'\n")
    with pytest.raises(ConfigurationError, match="names nothing"):
        read_layers(path, {}, {})


TABLES: st.SearchStrategy[dict[str, Json]] = st.dictionaries(
    st.sampled_from(MEMBERS),
    st.sampled_from([*KINDS, "allow", "ask", "deny", "", "a/**", "'", "..", "~", 3, None, []])
    | st.text(),
)


@given(table=TABLES)
def test_whatever_a_table_holds_is_a_rule_or_a_mistake(table: dict[str, Json]) -> None:
    found = list(mistakes(table))
    if found:
        with pytest.raises(UnfitError):
            RULES.value([table])
        return
    rule = rule_of(table)
    assert RULES.value([table]) == (rule,)
    assert table_of(rule) == table
    str(rule)
