"""What `acp-agent config` prints of settings, and what it never prints."""

from __future__ import annotations

import json
import re
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.continuum.config import read_config
from acp_agent.door.config_commands import write_template
from acp_agent.settings.keys import setting_keys
from acp_agent.settings.load import LoadedSettings, load_settings
from acp_agent.settings.show import as_json, as_toml, template, toml
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.toml_source import InvalidFileError

SERVERS = """\
[mcp.servers.files]
command = "/bin/files"
args = ["--api-key", "canary-1", "--token=canary-2", "sk-canary-3xxxx", "--read-only", "/src"]
env = { A = "canary-4", B = "${MY_TOKEN}", C = "canary ${MY_TOKEN}" }
[mcp.servers.web]
url = "https://user:canary-5@mcp.example/sse/canary-6-0123456789?key=canary-7#canary-8"
headers = { Authorization = "Bearer ${MY_TOKEN}", X = "Bearer canary-9" }
[mcp.servers.list]
url = "https://mcp.example/mcp"
headers = [{ name = "Authorization", value = "canary-10" }]
"""


def layers(directory: Path, text: str, environment: dict[str, str] | None = None) -> LoadedSettings:
    path = directory / "acp-agent.toml"
    path.write_text(text)
    return load_settings(read_config(path), environment or {}, {})


@pytest.mark.parametrize("show", [as_toml, as_json])
def test_no_secret_is_shown(tmp_path: Path, show: type[str]) -> None:
    environment = {"MY_TOKEN": "canary-0", "ACP_AGENT_ADMIN_TOKEN": "canary-11"}
    shown = show(layers(tmp_path, SERVERS, environment))
    assert "canary" not in shown
    for told in ("--read-only", "/src", "mcp.example/sse/", "${MY_TOKEN}", "Bearer ${MY_TOKEN}"):
        assert told in shown


def test_toml_can_be_read_again_and_has_the_origins(tmp_path: Path) -> None:
    text = """\
enabled = true
model.name = "openai:x"
model.prices = "3/15"
[[model.others]]
name = "demo"
[sessions]
idle_timeout = "never"
[mcp.servers."a.b"]
command = "x"
[mcp.servers.second]
command = "y"
"""
    found = layers(tmp_path, text, {"ACP_AGENT_LIMITS_SECONDS": "90"})
    shown = as_toml(found)
    assert f'name = "openai:x"  # {tmp_path}/acp-agent.toml:2\n' in shown
    assert 'seconds = "90s"  # ACP_AGENT_LIMITS_SECONDS\n' in shown
    assert "requests = 100  # default\n" in shown
    assert "# tokens is not set\n" in shown
    assert f'[mcp.servers."a.b"]  # {tmp_path}/acp-agent.toml:8\n' in shown
    assert "[mcp.servers.second]\n" in shown
    again = layers(tmp_path, shown)
    assert again.settings() == found.settings()


def test_json_has_a_version_and_every_value_with_its_origin(tmp_path: Path) -> None:
    text = "[model]\nname = 'openai:x'\n[[model.others]]\nname = 'demo'\n"
    shown = json.loads(as_json(layers(tmp_path, text)))
    path = f"{tmp_path}/acp-agent.toml"
    assert (shown["format"], shown["file"]) == (1, path)
    assert shown["settings"]["model.name"] == {"value": "openai:x", "from": f"{path}:2"}
    assert shown["settings"]["model.images"] == {"value": None, "from": "default"}
    assert shown["settings"]["sessions.idle_timeout"] == {"value": "1h", "from": "default"}
    assert shown["settings"]["model.others"] == [{"name": {"value": "demo", "from": f"{path}:4"}}]


def test_control_characters_are_escaped(tmp_path: Path) -> None:
    shown = as_toml(layers(tmp_path, 'agent.name = "a\\u001b[31m\\u202e\\U000e0041"'))
    assert '"a\\u001b[31m\\u202e\\U000e0041"' in shown


WORDS = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.recursive(st.booleans() | st.integers(-9, 9) | WORDS, st.lists, max_leaves=5))
def test_written_toml_reads_back(value: Json) -> None:
    assert tomllib.loads(f"a = {toml(value)}") == {"a": value}


def test_template_sets_nothing(tmp_path: Path) -> None:
    path = tmp_path / "acp-agent.toml"
    write_template(path, overwrite=False)
    assert load_settings(read_config(path), {}, {}).values == {}


def test_every_setting_of_the_template_is_valid(tmp_path: Path) -> None:
    """Comments have a space after #, and settings have none."""
    path = tmp_path / "acp-agent.toml"
    path.write_text(re.sub(r"^#(?! )", "", template(), flags=re.MULTILINE))
    found = load_settings(read_config(path), {}, {})
    left_out = {"enabled", "transport.stdio.enabled", "model.service"}
    assert set(found.values) == set(setting_keys()) - left_out
    assert len(found.others) == 1


def test_template_and_its_directory_are_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "acp-agent.toml"
    write_template(path, overwrite=False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["acp-agent.toml"]


def test_existing_file_is_overwritten_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "acp-agent.toml"
    path.write_text("mine")
    with pytest.raises(InvalidFileError, match="exists; --force overwrites it"):
        write_template(path, overwrite=False)
    assert path.read_text() == "mine"
    write_template(path, overwrite=True)
    assert path.read_text() == template()
    assert len(list(tmp_path.iterdir())) == 1


def test_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("mine")
    path = tmp_path / "acp-agent.toml"
    path.symlink_to("other")
    with pytest.raises(InvalidFileError, match="exists"):
        write_template(path, overwrite=False)
    write_template(path, overwrite=True)
    assert (tmp_path / "other").read_text() == "mine"


def test_unwritable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidFileError, match="cannot be written"):
        write_template(tmp_path / "file" / "acp-agent.toml", overwrite=False)
