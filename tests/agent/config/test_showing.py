"""What is shown of settings, and what is never shown."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.config.layers import Layers, read_layers
from acp_agent.config.showing import as_json, as_toml, toml
from acp_protocol.jsonrpc import Json

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


def layers(directory: Path, text: str, environment: dict[str, str] | None = None) -> Layers:
    path = directory / "acp-agent.toml"
    path.write_text(text)
    return read_layers(path, environment or {}, {})


@pytest.mark.parametrize("show", [as_toml, as_json])
def test_no_secret_is_shown(tmp_path: Path, show: type[str]) -> None:
    environment = {"MY_TOKEN": "canary-0", "ACP_AGENT_ADMIN_TOKEN": "canary-11"}
    shown = show(layers(tmp_path, SERVERS, environment))
    assert "canary" not in shown
    for told in ("--read-only", "/src", "mcp.example/sse/", "${MY_TOKEN}", "Bearer ${MY_TOKEN}"):
        assert told in shown


def test_the_toml_can_be_read_again_and_says_who_has_set_it(tmp_path: Path) -> None:
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
"""
    found = layers(tmp_path, text, {"ACP_AGENT_LIMITS_SECONDS": "90"})
    shown = as_toml(found)
    assert f'name = "openai:x"  # {tmp_path}/acp-agent.toml:2\n' in shown
    assert 'seconds = "90s"  # ACP_AGENT_LIMITS_SECONDS\n' in shown
    assert "requests = 100  # default\n" in shown
    assert "# tokens is not set\n" in shown
    again = layers(tmp_path, shown)
    assert again.configuration() == found.configuration()


def test_the_json_has_a_version_and_every_value_with_its_origin(tmp_path: Path) -> None:
    text = "[model]\nname = 'openai:x'\n[[model.others]]\nname = 'demo'\n"
    shown = json.loads(as_json(layers(tmp_path, text)))
    path = f"{tmp_path}/acp-agent.toml"
    assert (shown["format"], shown["file"]) == (1, path)
    assert shown["settings"]["model.name"] == {"value": "openai:x", "from": f"{path}:2"}
    assert shown["settings"]["model.images"] == {"value": None, "from": "default"}
    assert shown["settings"]["sessions.idle_timeout"] == {"value": "1h", "from": "default"}
    assert shown["settings"]["model.others"] == [{"name": {"value": "demo", "from": f"{path}:4"}}]


def test_nothing_that_a_screen_obeys_is_shown(tmp_path: Path) -> None:
    shown = as_toml(layers(tmp_path, 'agent.name = "a\\u001b[31m\\u202e\\U000e0041"'))
    assert '"a\\u001b[31m\\u202e\\U000e0041"' in shown


WORDS = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.recursive(st.booleans() | st.integers(-9, 9) | WORDS, st.lists, max_leaves=5))
def test_what_is_written_reads_back(value: Json) -> None:
    assert tomllib.loads(f"a = {toml(value)}") == {"a": value}
