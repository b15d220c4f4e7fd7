"""Settings of the file, the environment and flags, and which override which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_agent.continuum.config import read_config
from acp_agent.settings.load import LoadedSettings, load_settings
from acp_agent.settings.show import as_json, as_toml
from acp_agent.settings.types import DatabaseUrl
from acp_protocol.user_files.toml_source import InvalidFileError

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
) -> LoadedSettings:
    path = directory / "acp-agent.toml"
    path.write_text(text)
    return load_settings(read_config(path), environment or {}, flags or {})


def test_flags_override_the_environment_which_overrides_the_file(tmp_path: Path) -> None:
    text = "[sessions]\nmax_concurrent = 1\nidle_timeout = '1m'\n[limits]\nrequests = 7\n"
    environment = {
        "ACP_AGENT_SESSIONS_MAX_CONCURRENT": "2",
        "ACP_AGENT_SESSIONS_IDLE_TIMEOUT": "2m",
    }
    found = layers(tmp_path, text, environment, {"sessions.max_concurrent": 3})
    paths = ("sessions.max_concurrent", "sessions.idle_timeout", "limits.requests", "log.level")
    assert [(found.get(path).value, found.get(path).origin) for path in paths] == [
        (3, "--max-concurrent"),
        (120.0, "ACP_AGENT_SESSIONS_IDLE_TIMEOUT"),
        (7, f"{tmp_path}/acp-agent.toml:5"),
        ("warning", "default"),
    ]
    configuration = found.settings()
    assert configuration.sessions.max_concurrent == 3
    assert configuration.limits.requests == 7
    assert configuration.log.level == "warning"


def test_settings_load_without_a_file() -> None:
    found = load_settings(None, {"ACP_AGENT_LOG_LEVEL": "debug"}, {})
    assert (found.file, found.settings().log.level) == (None, "debug")


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError) as wrong:
        layers(tmp_path, "enabled = 1", {"ACP_AGENT_LIMITS_TOKENS": "sk-secret"})
    assert wrong.value.problems == (
        f"{tmp_path}/acp-agent.toml:1: enabled: must be true or false",
        "ACP_AGENT_LIMITS_TOKENS: must be a whole number of at least 1",
    )


def test_unknown_variable_is_named_with_the_nearest_one_key() -> None:
    environment = {"ACP_AGENT_SESSIONS_MAX_CONCURENT": "1", "ACP_AGENT_ADMIN_TOKEN": "x"}
    assert load_settings(None, environment, {}).notes == (
        (
            "ACP_AGENT_SESSIONS_MAX_CONCURENT sets nothing; "
            "did you mean ACP_AGENT_SESSIONS_MAX_CONCURRENT?"
        ),
    )


@pytest.mark.parametrize(
    ("name", "near"),
    [("SESSIONS_MAX", "SESSIONS_MAX_CONCURRENT"), ("MCP_SPAWN", "MCP_SPAWN_TIMEOUT")],
)
def test_prefix_of_a_variable_is_nearest_to_the_whole(name: str, near: str) -> None:
    [note] = load_settings(None, {f"ACP_AGENT_{name}": "1"}, {}).notes
    assert note == f"ACP_AGENT_{name} sets nothing; did you mean ACP_AGENT_{near}?"


@pytest.mark.parametrize("key", ["enabled", "transport.stdio.enabled"])
def test_disabled_agent_does_not_start(tmp_path: Path, key: str) -> None:
    found = layers(tmp_path, f"\n{key} = false")
    with pytest.raises(InvalidFileError, match=f"acp-agent.toml:2: {key} is false"):
        found.settings()


def test_other_models_take_the_user_s_options(tmp_path: Path) -> None:
    configuration = layers(tmp_path, OPENAI).settings()
    assert configuration.model.name == "openai:big"
    [other] = configuration.others
    assert (other.name, other.thinking, other.system_prompt) == ("ollama:small", "low", "Be brief.")
    assert (other.base_url, other.api_key_env, other.window) == (None, None, None)


@pytest.mark.parametrize("name", ["anthropic:x", "demo"])
def test_key_and_url_never_reach_another_provider(tmp_path: Path, name: str) -> None:
    model = layers(tmp_path, OPENAI, {}, {"model.name": name}).settings().model
    assert (model.name, model.base_url, model.api_key_env) == (name, None, None)
    assert (model.window, model.system_prompt) == (None, "Be brief.")


@pytest.mark.parametrize(
    ("environment", "flags"),
    [({"ACP_AGENT_MODEL_NAME": "huge"}, {}), ({}, {"model.name": "openai:huge"})],
)
def test_other_model_of_the_same_provider_has_its_url_and_key(
    tmp_path: Path, environment: dict[str, str], flags: dict[str, str]
) -> None:
    configuration = layers(tmp_path, OPENAI, environment, flags).settings()
    model = configuration.model
    assert (model.name, model.base_url) == ("openai:huge", "http://corp.example/v1")
    assert (model.api_key_env, model.window) == ("CORP_KEY", None)
    assert [other.name for other in configuration.others] == ["openai:big", "ollama:small"]


def test_other_model_that_is_chosen_becomes_the_first(tmp_path: Path) -> None:
    flags = {"model.name": "ollama:small", "model.max_tokens": 5}
    configuration = layers(tmp_path, OPENAI, {}, flags).settings()
    model, [other] = configuration.model, configuration.others
    assert (model.name, model.thinking, model.max_tokens) == ("ollama:small", "low", 5)
    assert model.base_url is None
    assert (other.name, other.base_url) == ("openai:big", "http://corp.example/v1")


def test_same_model_named_again_keeps_its_options(tmp_path: Path) -> None:
    flags = {"model.name": "openai:big"}
    model = layers(tmp_path, OPENAI, {}, flags).settings().model
    assert (model.base_url, model.window) == ("http://corp.example/v1", 1000)


def test_service_alone_applies_to_the_configured_name(tmp_path: Path) -> None:
    environment = {"ACP_AGENT_MODEL_SERVICE": "vllm"}
    model = layers(tmp_path, OPENAI, environment).settings().model
    assert (model.name, model.base_url, model.api_key_env) == ("vllm:big", None, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model.name = 'gpt'", ":1: model.name: must be one of demo, openai:NAME"),
        (
            "model.name = 'foo:bar'",
            "another service that speaks chat completions is openai:NAME at OPENAI_BASE_URL or",
        ),
        ("model.service = 'openai'", ":1: model.service also needs model.name"),
        (
            "[model]\nservice = 'anthropic'\nname = 'openai:x'",
            ":3: model.name: must be a model of anthropic, not of openai; one of the two has to go",
        ),
        (
            "[[model.others]]\nname = 'demo'\n[[model.others]]\nname = 'demo'",
            ":4: model.others: demo is there twice",
        ),
    ],
)
def test_model_without_a_name_or_a_service_is_refused(
    tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(InvalidFileError) as wrong:
        layers(tmp_path, text)
    assert reason in str(wrong.value)


def test_name_of_a_model_is_reported_with_other_mistakes(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError) as wrong:
        layers(tmp_path, "a = 1\n[model]\nname = 'x:y'\n[[model.others]]\nname = 'z'\n")
    assert [problem.split(": ")[1] for problem in wrong.value.problems] == [
        "a",
        "model.name",
        "model.others.1.name",
    ]


def test_unprintable_name_in_the_environment_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"ACP_AGENT_MODEL_NAME: model\.name: must be one"):
        layers(tmp_path, OPENAI, {"ACP_AGENT_MODEL_NAME": "a\x07"})


def test_name_with_a_colon_can_have_a_service(tmp_path: Path) -> None:
    text = "[model]\nservice = 'ollama'\nname = 'qwen3:8b'"
    assert layers(tmp_path, text).settings().model.name == "ollama:qwen3:8b"


URL = "postgresql://acp:canary@db/acp"


def test_password_of_a_database_is_only_taken_from_a_variable(tmp_path: Path) -> None:
    found = layers(tmp_path, "", {"ACP_AGENT_SESSIONS_STORAGE": URL})
    assert found.settings().sessions.storage == DatabaseUrl(URL)
    with pytest.raises(InvalidFileError, match=r":1: do not put the password") as caught:
        layers(tmp_path, f"sessions.storage = {URL!r}")
    assert "canary" not in str(caught.value)
    with pytest.raises(InvalidFileError, match="--sessions: do not put the password"):
        layers(tmp_path, "", flags={"sessions.storage": DatabaseUrl(URL)})


@pytest.mark.parametrize("show", [as_toml, as_json])
def test_password_of_a_database_is_not_shown(tmp_path: Path, show: Callable[..., str]) -> None:
    shown = show(layers(tmp_path, "", {"ACP_AGENT_SESSIONS_STORAGE": URL}))
    assert "postgresql://acp:***@db/acp" in shown
    assert "canary" not in shown
