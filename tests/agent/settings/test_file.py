"""The settings of a file, and how its mistakes are reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.continuum.config import ALIASES, acp_section, translated
from acp_agent.continuum.yaml_source import parse_yaml
from acp_agent.settings.keys import setting_keys
from acp_agent.settings.load import SettingsFile, nearest_key
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.toml_source import ParsedFile, parse_toml

PATH = Path("acp-agent.toml")
NAMES = sorted(
    {step for path in (*setting_keys(), *ALIASES) for step in path.split(".")}
    | {
        "others",
        "storage_path",
        "capabilities",
        "api_key",
        "command",
        "args",
        "env",
        "url",
        "headers",
    }
)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("file"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


def settings(text: str) -> SettingsFile:
    return SettingsFile(translated(parse_toml(PATH, text)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "\n[sessions]\nmax_concurrent = 0",
            "acp-agent.toml:3: sessions.max_concurrent: must be a whole number of at least 1",
        ),
        (
            "sessions.idle_timeout = 'soon'",
            "acp-agent.toml:1: sessions.idle_timeout: must be a duration like 90s",
        ),
        (
            "[sessions]\nmax_concurent = 3",
            (
                "acp-agent.toml:2: sessions.max_concurent: unknown key; "
                "did you mean sessions.max_concurrent?"
            ),
        ),
        (
            "idle_timeout = '1h'",
            ("acp-agent.toml:1: idle_timeout: unknown key; did you mean sessions.idle_timeout?"),
        ),
        ("[xyz]\na = 1", "acp-agent.toml:1: xyz: unknown key"),
        ("sessions = 3", "acp-agent.toml:1: sessions: must be a table"),
        (
            "[model]\napi_key = 'sk-canary'",
            (
                "acp-agent.toml:2: model.api_key: do not put secrets in the config file; "
                "set api_key_env to the variable's name"
            ),
        ),
        (
            "[admin]\ntoken = 'canary'",
            (
                "acp-agent.toml:2: admin.token: do not put secrets in the config file; "
                "set token_env to the variable's name"
            ),
        ),
        ("[model]\napi_key_env = 'sk-canary'", "the name of an environment variable"),
        (
            "[mcp.servers.x]\ncommand = 'y'\nurl = 'http://z'",
            "1: mcp.servers.x: has command and url; one of them has to go",
        ),
        ("[[model.others]]\nthinking = 'low'", "1: model.others.1.name: is missing"),
        ("model.others = 3", "1: model.others: must be a list of tables"),
        (
            "[[model.others]]\nname = 'demo'\nthinkin = 'low'",
            "3: model.others.1.thinkin: unknown key; did you mean model.thinking?",
        ),
        ("[mcp.servers]\na__b = { command = 'x' }", "2: mcp.servers.a__b: an id has"),
        ("[mcp.servers.a]\nargs = []", "1: mcp.servers.a: command is missing"),
        (
            "[mcp.servers.a]\ncommand = 'x'\nenviron = {}",
            "3: mcp.servers.a.environ: unknown key; did you mean env?",
        ),
        (
            "mcp.servers.a = { command = 'x', env = { 'K=secret' = '' } }",
            "1: mcp.servers.a.env: must not contain NUL, CR, LF, =",
        ),
        ("mcp.servers = 3", "1: mcp.servers: must be a table with a table for each server"),
        ("mcp.servers.a = 3", "1: mcp.servers.a: must be a table"),
        (
            "sessions.storage = 'file'",
            "sessions.storage: must be memory or a directory; file",
        ),
        (
            "sessions.storage_path = 'x'",
            "1: sessions.storage_path: sessions.storage must be file",
        ),
        ("admin.listen = '0.0.0.0:80'", "1: admin.listen: must be HOST:PORT on this machine"),
        ("admin.listen = '127.0.0.1'", "1: admin.listen: must be HOST:PORT on this machine"),
        ("permissions.auto_allow = ['writing']", "must be a list with some of read, edit"),
        (
            "system_prompt = 'a'\nmodel.system_prompt = 'b'",
            "1: system_prompt: model.system_prompt is the same key; remove one of them",
        ),
    ],
)
def test_mistake_is_reported_with_file_line_and_key(text: str, problem: str) -> None:
    problems = settings(text).problems
    assert len(problems) == 1
    assert problem in problems[0]
    assert "canary" not in problems[0]


def test_all_mistakes_are_reported_in_the_order_of_their_lines() -> None:
    text = "a = 1\n[[model.others]]\nx = 1\n[sessions]\nstorage = 'file'\nmax_concurrent = 'x'"
    lines = [problem.split(":")[1] for problem in settings(text).problems]
    assert lines == ["1", "2", "3", "5", "6"]


def test_relative_paths_start_from_the_directory_of_the_file(tmp_path: Path) -> None:
    text = "sessions.storage = 'store'\nadmin.listen = 'unix:s'\npermissions.audit = '/a'"
    file = SettingsFile(translated(parse_toml(tmp_path / "acp-agent.toml", text)))
    assert file.values["sessions.storage"].value == tmp_path / "store"
    assert file.values["admin.listen"].value == f"unix:{tmp_path}/s"
    assert file.values["permissions.audit"].value == Path("/a")


def test_each_setting_has_its_line() -> None:
    file = settings("\nlog.level = 'info'\n")
    assert [(each.value, each.origin) for each in file.values.values()] == [
        ("info", "acp-agent.toml:2")
    ]


def test_configuration_of_continuum_router_is_read_unchanged(shared: Path) -> None:
    [seed] = shared.glob("seeds/000_*.txt")
    text = seed.read_text()
    text = text[text.index("acp:\n  enabled") : text.index("Configuration Reference")]
    file = SettingsFile(translated(acp_section(parse_yaml(Path("config.yaml"), text))))
    assert file.problems == []
    assert {path: each.value for path, each in file.values.items()} == {
        "enabled": True,
        "transport.stdio.enabled": True,
        "agent.name": "Continuum Router",
        "agent.version": "1.0.0",
        "agent.description": "Local LLM inference agent",
        "capabilities.load_session": True,
        "capabilities.image": False,
        "capabilities.embedded_context": False,
        "capabilities.mcp": True,
        "model.name": "continuum:gpt-4o",
        "model.service": "continuum",
        "model.system_prompt": "You are a helpful coding assistant.",
        "model.coding_agent_mode": True,
        "permissions.default_policy": "ask_always",
        "permissions.auto_allow": ("read", "search", "think"),
        "permissions.always_ask": ("edit", "delete", "execute"),
        "sessions.max_concurrent": 10,
        "sessions.idle_timeout": 3600.0,
        "sessions.storage": None,
        "mcp.max_connections": 5,
        "mcp.allowed_servers": (),
        "mcp.spawn_timeout": 10.0,
    }
    assert file.notes == []


def test_storage_of_continuum_router_has_two_keys() -> None:
    file = settings("[sessions]\nstorage = 'file'\nstorage_path = '/x'")
    assert file.values["sessions.storage"].value == Path("/x")
    assert file.problems == []


def test_key_without_a_value_is_not_set() -> None:
    file = SettingsFile(translated(ParsedFile(PATH, {"model": None, "log": {"level": None}}, {})))
    assert (file.values, file.problems) == ({}, [])


@given(st.dictionaries(st.sampled_from(NAMES), TREES, max_size=4))
def test_any_file_gives_settings_notes_or_mistakes(tree: dict[str, Json]) -> None:
    file = SettingsFile(translated(ParsedFile(PATH, tree, {})))
    assert all(problem.startswith("acp-agent.toml: ") for problem in file.problems)
    for path, setting in file.values.items():
        key = setting_keys()[path]
        if key.variable is not None:
            assert key.read(key.dump(setting.value)) == setting.value


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("sesions.storage", "sessions.storage"),
        ("limits.max_concurrent", "sessions.max_concurrent"),
        ("mcp.timeout", "mcp.spawn_timeout"),
        ("colour", None),
        ("session", "sessions"),
        ("default_mode", "default_model"),
    ],
)
def test_nearest_key_is_a_similar_one(path: str, near: str | None) -> None:
    assert nearest_key(path, ALIASES) == near
