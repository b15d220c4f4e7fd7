"""Rules about tool calls in a file, and how their mistakes are reported."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from acp_agent.continuum.config import acp_section, read_config, translated
from acp_agent.continuum.yaml_source import parse_yaml
from acp_agent.settings.load import SettingsFile, load_settings
from acp_agent.settings.rules import RuleTable
from acp_agent.settings.show import as_json, as_toml
from acp_protocol.call_rules.rules import PolicyRule
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind
from acp_protocol.user_files.toml_source import InvalidFileError, parse_toml

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
    PolicyRule("allow", "execute", "command", "git *"),
    PolicyRule("deny", None, "path", "docs/**"),
)


def rules_of(tables: Iterable[RuleTable]) -> tuple[PolicyRule, ...]:
    return tuple(each.rule() for each in tables)


def test_rules_are_read_from_both_formats() -> None:
    toml = SettingsFile(translated(parse_toml(Path("a.toml"), TOML)))
    yaml = SettingsFile(translated(acp_section(parse_yaml(Path("a.yaml"), YAML))))
    for settings in (toml, yaml):
        assert settings.problems == []
        assert rules_of(settings.values["permissions.rules"].value) == BOTH


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("permissions.rules = 3", "a.toml:1: permissions.rules: must be a list of tables"),
        ("permissions.rules = ['x']", "a.toml:1: permissions.rules.1: must be a table"),
        (
            "[[permissions.rules]]\nkind = 'edit'",
            "a.toml:1: permissions.rules.1.decision: is missing",
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
            "a.toml:1: permissions.rules.1: matches nothing: it needs at least one of kind",
        ),
        (
            "[[permissions.rules]]\npath = 'x'\ncommand = 'y'\ndecision = 'allow'",
            "a.toml:3: permissions.rules.1.command: a rule has either path or command",
        ),
        (
            "[[permissions.rules]]\nkind = 'execute'\npath = 'x'\ndecision = 'allow'",
            "a.toml:3: permissions.rules.1.path: calls of the kind execute have no path",
        ),
        (
            "[[permissions.rules]]\npath = 'a/../b'\ndecision = 'allow'",
            "a.toml:2: permissions.rules.1.path: must be a path without ..",
        ),
        (
            "[[permissions.rules]]\npath = '~/b'\ndecision = 'allow'",
            "a.toml:2: permissions.rules.1.path: must be relative to the session's directory",
        ),
        (
            "[[permissions.rules]]\ncommand = \"git 'x\"\ndecision = 'allow'",
            "a.toml:2: permissions.rules.1.command: must be words; a quotation has no end",
        ),
        (
            "[[permissions.rules]]\nname = ''\ndecision = 'allow'",
            "a.toml:2: permissions.rules.1.name: must be a non-empty string",
        ),
        (
            "[[permissions.rules]]\nkind = 'edit'\ndecison = 'allow'\ndecision = 'ask'",
            ("a.toml:3: permissions.rules.1.decison: unknown key; did you mean decision?"),
        ),
    ],
)
def test_mistake_in_a_rule_is_reported_with_line_and_key(text: str, problem: str) -> None:
    settings = SettingsFile(translated(parse_toml(Path("a.toml"), text)))
    assert [told for told in settings.problems if told.startswith(problem)], settings.problems
    assert "permissions.rules" not in settings.values


@pytest.mark.parametrize(
    ("member", "pattern", "why"),
    [
        ("path", "//etc/x", "must not begin with more than one /"),
        ("path", "C:\\x", "written with /"),
        ("path", "docs\\**", "written with /"),
        ("command", "''", "names no program"),
        ("command", "'' x", "names no program"),
        ("name", "My.Server__*", "My-Server__*"),
        ("name", "a b", "matches no host and no tool"),
        ("name", "https://example.com/", "matches no host and no tool"),
        ("name", "bücher.example", "matches no host and no tool"),
        ("name", "example.com.", "must be example.com"),
        ("name", "127.1", "must be 127.0.0.1"),
        ("name", "0x7f000001:8080", "must be 127.0.0.1:8080"),
        ("name", "::1", r"must be \[::1\]"),
        ("name", "[::ffff:127.0.0.1]", "must be 127.0.0.1"),
        ("name", "a__" + "x" * 70, "at most 64"),
    ],
)
def test_pattern_that_can_never_match_is_refused(member: str, pattern: str, why: str) -> None:
    with pytest.raises(ValidationError) as refused:
        RuleTable.model_validate({member: pattern, "decision": "deny"})
    [error] = refused.value.errors()
    assert error["loc"] == (member,)
    assert why.replace("\\", "") in error["msg"]


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
def test_pattern_that_can_match_is_accepted(member: str, pattern: str) -> None:
    table = {member: pattern, "decision": "deny"}
    assert RuleTable.model_validate(table).model_dump(exclude_none=True) == table


def test_shown_rules_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(TOML)
    layers = load_settings(read_config(path), {}, {})
    shown = as_toml(layers)
    assert f'[[permissions.rules]]  # {path}:1\nkind = "execute"\ncommand = "git *"\n' in shown
    assert '"command": "git *"' in as_json(layers)
    again = tmp_path / "again.toml"
    again.write_text(shown)
    assert rules_of(load_settings(read_config(again), {}, {}).settings().permissions.rules) == BOTH


def test_no_variable_sets_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(TOML)
    layers = load_settings(read_config(path), {"ACP_AGENT_PERMISSIONS_RULES": "[]"}, {})
    assert rules_of(layers.settings().permissions.rules) == BOTH
    assert any("ACP_AGENT_PERMISSIONS_RULES sets nothing" in note for note in layers.notes)


def test_file_with_a_mistake_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(TOML + "[[permissions.rules]]\ndecision = 'deny'\n")
    with pytest.raises(InvalidFileError, match="matches nothing"):
        load_settings(read_config(path), {}, {})


TABLES: st.SearchStrategy[dict[str, Json]] = st.dictionaries(
    st.sampled_from(sorted(RuleTable.model_fields)),
    st.sampled_from(
        [*get_args(ToolKind), "allow", "ask", "deny", "", "a/**", "'", "..", "~", 3, None, []]
    )
    | st.text(),
)


@given(table=TABLES)
def test_any_table_is_a_rule_or_refused(table: dict[str, Json]) -> None:
    with suppress(ValidationError):
        rule = RuleTable.model_validate(table)
        given = {name: value for name, value in table.items() if value is not None}
        assert rule.model_dump(exclude_none=True) == given
        str(rule.rule())
