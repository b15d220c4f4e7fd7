"""The settings, their keys, and the table of keys in the docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acp_agent.continuum.config import ALIASES, STORAGE_PATH
from acp_agent.door.flags import new_parser, new_serve_parser
from acp_agent.door.server import HANDLERS
from acp_agent.mcp.declarations import Limits
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.settings.keys import Setting, Settings, setting_keys, settings_with
from acp_agent.settings.model import ModelSettings
from acp_agent.settings.show import toml

PAGE = Path(__file__).parents[3] / "docs/configuration.md"
KEYS = setting_keys()


def test_every_alias_means_a_key() -> None:
    assert set(ALIASES.values()) <= set(KEYS)
    assert not set(ALIASES) & set(KEYS)


def test_no_two_keys_have_the_same_variable() -> None:
    variables = [key.variable for key in KEYS.values() if key.variable is not None]
    assert len(set(variables)) == len(variables)


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.path)
def test_every_default_is_a_valid_value(key: Setting) -> None:
    dumped = key.dump(key.default)
    if dumped is not None:
        assert key.read(dumped) == key.default


def test_defaults_are_those_of_the_parts_they_are_for() -> None:
    settings = settings_with({})
    assert settings == Settings()
    rules = PermissionPolicy()
    assert settings.permissions.default_policy == rules.default_policy
    assert set(settings.permissions.auto_allow) == rules.auto_allow
    assert set(settings.permissions.always_ask) == rules.always_ask
    assert settings.mcp.max_connections == Limits().connections
    assert settings.mcp.spawn_timeout == Limits().spawn_timeout
    assert KEYS["protocol.version"].written.expected == f"a whole number from 1 to {max(HANDLERS)}"


def test_values_are_set_in_the_section_of_their_key() -> None:
    settings = settings_with(
        {"model.name": "ollama:x", "limits.tokens": 5}, [ModelSettings(name="demo")]
    )
    assert settings.model == ModelSettings(name="ollama:x")
    assert settings.limits.tokens == 5
    assert [other.name for other in settings.others] == ["demo"]


def test_unknown_key_in_code_raises() -> None:
    with pytest.raises(AttributeError):
        settings_with({"limits.token": 5})


def test_every_flag_of_a_key_is_in_a_parser() -> None:
    """Those of `http` are in that of `serve`, those of `admin` in the other one."""
    for parser, without in ((new_parser(), "http"), (new_serve_parser(), "admin")):
        flags = {each.option_strings[0]: each.dest for each in parser._actions if "." in each.dest}
        keys = [key for key in KEYS.values() if key.flag is not None and key.section != without]
        assert flags == {key.flag: key.path for key in keys}


def test_docs_list_every_alias() -> None:
    page = PAGE.read_text()
    assert [name for name in ALIASES if f"`{name}`" not in page] == []


def test_docs_list_defaults_that_differ_from_continuum_router(shared: Path) -> None:
    [text] = [
        told
        for told in (path.read_text() for path in (shared / "seeds").glob("*.txt"))
        if "Configuration Reference\n\nTop-Level Options" in told
    ]
    reference = text.partition("Configuration Reference\n")[2]
    pattern = r"(?m)^([a-z][\w.]+) (?:bool|int|enum|list|string) (\[.*?\]|\S+) "
    by_itself: dict[str, str] = dict(re.findall(pattern, reference))
    assert len(by_itself) == 15
    others: dict[str, tuple[str, str]] = {}
    for path, there in by_itself.items():
        if path == STORAGE_PATH:
            continue
        key = KEYS[ALIASES.get(path, path)]
        told = key.dump(key.default)
        here = toml(told) if told is not None else "none"
        plain = re.sub(r"[\w]+", lambda word: f'"{word[0]}"', there) if "[" in there else there
        if path != "default_model" and here.strip('"') != plain.strip('"'):
            others[path] = (plain, here)
    section = (
        PAGE.read_text().partition("other defaults in Continuum Router:")[2].partition("\n## ")[0]
    )
    rows = re.findall(r"(?m)^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|", section)
    assert {path: (there.strip('"'), here) for path, there, here in rows} == others
