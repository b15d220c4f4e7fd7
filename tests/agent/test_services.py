"""What the settings come to."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from acp_agent.continuum.config import read_config
from acp_agent.mcp.declarations import StdioServer, WebServer
from acp_agent.models.types import ModelFailedError, PromptMessage
from acp_agent.services import build_mcp, build_models, build_services
from acp_agent.settings.keys import McpServerSettings, Settings, settings_with
from acp_agent.settings.load import load_settings
from acp_agent.settings.model import ModelSettings
from acp_agent.settings.providers import SettingsError
from acp_agent.settings.rules import RuleTable
from acp_agent.store.errors import StoreError
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.rules import PolicyRule
from acp_protocol.jsonrpc import Json
from tests.agent.models.provider import providing, replied, sse, streamed

PAGE = Path(__file__).parents[2] / "docs/configuration.md"
STOP: Json = {"choices": [{"finish_reason": "stop"}]}
WORKING = "You are a coding agent"


def mcp(environment: dict[str, str], **members: Any) -> list[Any]:
    return list(build_mcp(McpServerSettings(**members), environment).configured)


def test_policies_lists_and_limits_reach_the_turns(tmp_path: Path) -> None:
    configuration = settings_with(
        {
            "permissions.default_policy": "ask_always",
            "permissions.auto_allow": ("read", "search"),
            "permissions.always_ask": ("edit",),
            "permissions.rules": (RuleTable(decision="deny", kind="delete"),),
            "permissions.audit": tmp_path / "audit",
            "agent.instructions": ("CLAUDE.md",),
            "limits.requests": 3,
            "limits.tokens": 5,
            "limits.seconds": 7.0,
        }
    )
    services = build_services(configuration, {})
    permissions, limits = services.permissions, services.settings.limits
    assert permissions.default_policy == "ask_always"
    assert (permissions.auto_allow, permissions.always_ask) == ({"read", "search"}, {"edit"})
    assert permissions.rules == (PolicyRule("deny", "delete"),)
    assert services.settings.agent.instructions == ("CLAUDE.md",)
    assert (limits.requests, limits.tokens, limits.seconds) == (3, 5, 7.0)
    assert services.audit is not None
    services.audit.close()
    assert build_services(Settings(), {}).audit is None


async def test_what_may_be_fetched_reaches_the_tool(tmp_path: Path) -> None:
    services = build_services(settings_with({"fetch.allow_private": ("10.0.0.0/8",)}), {})
    for address, is_asked in (("10.1.2.3", False), ("192.168.0.1", True)):
        arguments: Json = {"url": f"http://{address}/"}
        call = await services.tools["fetch"].prepare(arguments, Workspace("s", tmp_path))
        assert call.must_ask is is_asked
    assert build_services(Settings(), {}).tools == {}


def test_sessions_are_kept_as_it_was_set(tmp_path: Path) -> None:
    build_services(settings_with({"sessions.storage": tmp_path / "store"}), {}).store.close()
    assert (tmp_path / "store").is_dir()


def test_a_file_is_no_directory_to_keep_sessions_in(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(StoreError, match="it is a file; sessions are kept in a directory"):
        build_services(settings_with({"sessions.storage": path}), {})


def test_variables_are_filled_in_where_secrets_stand() -> None:
    servers = {
        "files": {
            "command": "files",
            "args": ["${TOKEN}"],
            "env": {"A": "${TOKEN}", "B": "x${TOKEN}y${EMPTY}", "C": "$TOKEN"},
        },
        "web": {
            "url": "https://x",
            "headers": {"Authorization": "Bearer ${TOKEN}"},
        },
    }
    assert mcp({"TOKEN": "t", "EMPTY": ""}, servers=servers) == [
        StdioServer("files", ("files", "${TOKEN}"), {"A": "t", "B": "xty", "C": "$TOKEN"}),
        WebServer("web", "https://x", {"Authorization": "Bearer t"}),
    ]


def test_a_server_whose_variable_is_not_set_is_left_out_and_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    servers = {
        "files": {"command": "files", "env": {"A": "${TOKEN}"}},
        "web": {"url": "https://x"},
    }
    assert mcp({}, servers=servers) == [WebServer("web", "https://x")]
    told = "mcp.servers.files is left out: env.A: the variable TOKEN is not set"
    assert [record.getMessage() for record in caplog.records] == [told]


def test_a_server_that_is_not_allowed_needs_no_variables(caplog: pytest.LogCaptureFixture) -> None:
    servers = {"files": {"command": "files", "env": {"A": "${TOKEN}"}}}
    settings = build_mcp(
        McpServerSettings.model_validate(
            {"servers": servers, "allowed_servers": ("web",), "max_connections": 2}
        ),
        {},
    )
    assert (settings.allowed, settings.configured) == (("web",), ())
    assert caplog.records == []
    assert settings.limits.connections == 2


async def test_a_model_is_asked_where_and_as_it_was_set() -> None:
    async with providing(streamed(sse(STOP, done=True))) as provider:
        choice = ModelSettings(
            name="openai:m",
            base_url=f"{provider.url}/v1",
            api_key_env="MY_KEY",
            system_prompt="Be brief.",
            coding_agent_mode=False,
        )
        environment = {"MY_KEY": "mine", "OPENAI_API_KEY": "theirs", "OPENAI_BASE_URL": "http://x"}
        [model] = build_models(Settings(model=choice), environment)
        assert await replied(model, [PromptMessage("hi")]) == []
    [asked] = provider.asked
    assert asked.headers["authorization"] == "Bearer mine"
    assert asked.body["messages"][0] == {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:9/v1", None])
async def test_a_key_that_is_not_there_is_told_when_the_model_is_asked(
    base_url: str | None,
) -> None:
    """Nothing is sent with another key; and who does not ask this model does not mind."""
    choice = ModelSettings(name="openai:m", base_url=base_url, api_key_env="MY_KEY")
    [model] = build_models(Settings(model=choice), {"OPENAI_API_KEY": "theirs"})
    with pytest.raises(ModelFailedError, match="MY_KEY") as failed:
        await replied(model, [PromptMessage("hi")])
    assert failed.value.needs_key


async def test_the_most_that_is_logged_holds_no_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with providing(streamed(sse(STOP, done=True))) as provider:
        choice = ModelSettings(name="openai:m", base_url=f"{provider.url}/v1", api_key_env="MY_KEY")
        [model] = build_models(Settings(model=choice), {"MY_KEY": "canary-0123456789"})
        assert await replied(model, [PromptMessage("hi")]) == []
    assert caplog.text
    assert "canary" not in caplog.text


async def test_no_key_goes_to_an_address_that_names_none() -> None:
    async with providing(streamed(sse(STOP, done=True))) as provider:
        choice = ModelSettings(
            name="openai:m", base_url=f"{provider.url}/v1", system_prompt="Brief."
        )
        environment = {"OPENAI_API_KEY": "theirs"}
        [model] = build_models(Settings(model=choice), environment)
        assert await replied(model, [PromptMessage("hi")]) == []
    [asked] = provider.asked
    assert "authorization" not in asked.headers
    told = json.dumps(asked.body["messages"][0])
    assert WORKING in told
    assert "Brief." in told


@pytest.mark.parametrize(
    ("choice", "environment", "reason"),
    [
        (ModelSettings(name="openai:m", api_key_env="K"), {"K": "a b"}, "K holds characters"),
        (
            ModelSettings.model_construct(name="openai:m", base_url="ftp://x"),
            {},
            "base_url is not a URL",
        ),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_sent(
    choice: ModelSettings, environment: dict[str, str], reason: str
) -> None:
    with pytest.raises(SettingsError, match=reason):
        build_models(Settings(model=choice), environment)


def example(format_: str, directory: Path) -> Settings:
    """Return what the example of that format in the docs comes to."""
    [text] = re.findall(rf"^```{format_}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    path = directory / f"acp-agent.{format_}"
    path.write_text(text)
    return load_settings(read_config(path), {}, {}).settings()


def test_the_example_of_the_docs_can_be_run(tmp_path: Path) -> None:
    configuration = example("toml", tmp_path)
    environment = {"LAB_KEY": "k", "TICKETS_TOKEN": "t", "XDG_CONFIG_HOME": str(tmp_path)}
    names = [model.name for model in build_models(configuration, environment)]
    assert names == ["openai:qwen3-coder", "anthropic:claude-sonnet-4-6", "ollama:qwen3:8b"]
    assert configuration.sessions.storage == Path.home() / ".local/state/acp-agent"
    assert configuration.permissions.audit == tmp_path / "decisions.ndjson"
    [server] = build_mcp(configuration.mcp, environment).configured
    assert server == WebServer(
        "tickets", "https://tickets.example/mcp", {"Authorization": "Bearer t"}
    )
    assert configuration.limits.seconds == 1800.0


def test_the_example_in_yaml_can_be_run(tmp_path: Path) -> None:
    configuration = example("yaml", tmp_path)
    [model] = build_models(configuration, {})
    assert model.name == "continuum:gpt-4o"
    assert configuration.sessions.storage == Path("/var/lib/acp-agent")
    assert set(configuration.permissions.always_ask) == {"edit", "delete", "execute"}
