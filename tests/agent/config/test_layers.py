"""Who stands above whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_agent.config.documents import ConfigurationError
from acp_agent.config.layers import Layers, read_layers

OPENAI = """\
[model]
service = "openai"
name = "big"
base_url = "http://corp.example/v1"
api_key_env = "CORP_KEY"
window = 1000
system_prompt = "Be brief."

[[model.others]]
name = "ollama:small"
thinking = "low"
"""


def layers(
    directory: Path,
    text: str,
    environment: dict[str, str] | None = None,
    flags: dict[str, Any] | None = None,
) -> Layers:
    path = directory / "acp-agent.toml"
    path.write_text(text)
    return read_layers(path, environment or {}, flags or {})


def test_flags_stand_above_the_environment_and_that_above_the_file(tmp_path: Path) -> None:
    text = "[sessions]\nmax_concurrent = 1\nidle_timeout = '1m'\n[limits]\nrequests = 7\n"
    environment = {
        "ACP_AGENT_SESSIONS_MAX_CONCURRENT": "2",
        "ACP_AGENT_SESSIONS_IDLE_TIMEOUT": "2m",
    }
    found = layers(tmp_path, text, environment, {"sessions.max_concurrent": 3})
    paths = ("sessions.max_concurrent", "sessions.idle_timeout", "limits.requests", "log.level")
    assert [(found.setting(path).value, found.setting(path).origin) for path in paths] == [
        (3, "--max-concurrent"),
        (120.0, "ACP_AGENT_SESSIONS_IDLE_TIMEOUT"),
        (7, f"{tmp_path}/acp-agent.toml:5"),
        ("warning", "default"),
    ]
    configuration = found.configuration()
    assert configuration.sessions.max_concurrent == 3
    assert configuration.limits.requests == 7
    assert configuration.log.level == "warning"


def test_without_a_file_there_are_the_others() -> None:
    found = read_layers(None, {"ACP_AGENT_LOG_LEVEL": "debug"}, {})
    assert (found.file, found.configuration().log.level) == (None, "debug")


def test_all_mistakes_of_all_layers_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as wrong:
        layers(tmp_path, "enabled = 1", {"ACP_AGENT_LIMITS_TOKENS": "sk-secret"})
    assert wrong.value.problems == (
        f"{tmp_path}/acp-agent.toml:1: enabled: must be true or false",
        "ACP_AGENT_LIMITS_TOKENS: must be a whole number of at least 1",
    )


def test_a_variable_that_sets_nothing_is_named_with_the_nearest() -> None:
    environment = {"ACP_AGENT_SESSIONS_MAX_CONCURENT": "1", "ACP_AGENT_ADMIN_TOKEN": "x"}
    assert read_layers(None, environment, {}).notes == (
        (
            "ACP_AGENT_SESSIONS_MAX_CONCURENT sets nothing; "
            "the nearest is ACP_AGENT_SESSIONS_MAX_CONCURRENT"
        ),
    )


@pytest.mark.parametrize(
    ("name", "near"),
    [("SESSIONS_MAX", "SESSIONS_MAX_CONCURRENT"), ("MCP_SPAWN", "MCP_SPAWN_TIMEOUT")],
)
def test_the_beginning_of_a_variable_is_nearest_to_the_whole(name: str, near: str) -> None:
    [note] = read_layers(None, {f"ACP_AGENT_{name}": "1"}, {}).notes
    assert note == f"ACP_AGENT_{name} sets nothing; the nearest is ACP_AGENT_{near}"


@pytest.mark.parametrize("key", ["enabled", "transport.stdio.enabled"])
def test_an_agent_that_is_switched_off_is_not_started(tmp_path: Path, key: str) -> None:
    found = layers(tmp_path, f"\n{key} = false")
    with pytest.raises(ConfigurationError, match=f"acp-agent.toml:2: {key} is false"):
        found.configuration()


def test_the_further_models_take_what_is_about_their_user(tmp_path: Path) -> None:
    configuration = layers(tmp_path, OPENAI).configuration()
    assert configuration.model.name == "openai:big"
    [other] = configuration.others
    assert (other.name, other.thinking, other.system_prompt) == ("ollama:small", "low", "Be brief.")
    assert (other.base_url, other.api_key_env, other.window) == (None, None, None)


@pytest.mark.parametrize("name", ["anthropic:x", "demo"])
def test_a_key_and_an_address_never_reach_another_service(tmp_path: Path, name: str) -> None:
    model = layers(tmp_path, OPENAI, {}, {"model.name": name}).configuration().model
    assert (model.name, model.base_url, model.api_key_env) == (name, None, None)
    assert (model.window, model.system_prompt) == (None, "Be brief.")


@pytest.mark.parametrize(
    ("environment", "flags"),
    [({"ACP_AGENT_MODEL_NAME": "huge"}, {}), ({}, {"model.name": "openai:huge"})],
)
def test_another_model_of_the_same_service_is_reached_as_the_first(
    tmp_path: Path, environment: dict[str, str], flags: dict[str, str]
) -> None:
    configuration = layers(tmp_path, OPENAI, environment, flags).configuration()
    model = configuration.model
    assert (model.name, model.base_url) == ("openai:huge", "http://corp.example/v1")
    assert (model.api_key_env, model.window) == ("CORP_KEY", None)
    assert [other.name for other in configuration.others] == ["openai:big", "ollama:small"]


def test_a_further_model_that_is_wanted_changes_places_with_the_first(tmp_path: Path) -> None:
    flags = {"model.name": "ollama:small", "model.max_tokens": 5}
    configuration = layers(tmp_path, OPENAI, {}, flags).configuration()
    model, [other] = configuration.model, configuration.others
    assert (model.name, model.thinking, model.max_tokens) == ("ollama:small", "low", 5)
    assert model.base_url is None
    assert (other.name, other.base_url) == ("openai:big", "http://corp.example/v1")


def test_the_same_model_named_again_stays_as_it_is(tmp_path: Path) -> None:
    flags = {"model.name": "openai:big"}
    model = layers(tmp_path, OPENAI, {}, flags).configuration().model
    assert (model.base_url, model.window) == ("http://corp.example/v1", 1000)


def test_a_service_alone_takes_the_name_that_is_there(tmp_path: Path) -> None:
    environment = {"ACP_AGENT_MODEL_SERVICE": "vllm"}
    model = layers(tmp_path, OPENAI, environment).configuration().model
    assert (model.name, model.base_url, model.api_key_env) == ("vllm:big", None, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model.name = 'gpt'", ":1: model.name: must be one of demo, openai:NAME"),
        (
            "model.name = 'foo:bar'",
            "another service that speaks chat completions is openai:NAME at OPENAI_BASE_URL or",
        ),
        ("model.service = 'openai'", ":1: model.service needs model.name besides"),
        (
            "[model]\nservice = 'anthropic'\nname = 'openai:x'",
            ":3: model.name: must be a model of anthropic, not of openai; one of the two has to go",
        ),
        (
            "[[model.others]]\nname = 'demo'\n[[model.others]]\nname = 'demo'",
            ":4: model.others: demo stands there twice",
        ),
    ],
)
def test_a_model_without_a_name_or_a_service_is_refused(
    tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(ConfigurationError) as wrong:
        layers(tmp_path, text)
    assert reason in str(wrong.value)


def test_a_name_with_a_colon_can_be_of_a_service(tmp_path: Path) -> None:
    text = "[model]\nservice = 'ollama'\nname = 'qwen3:8b'"
    assert layers(tmp_path, text).configuration().model.name == "ollama:qwen3:8b"
