"""Where services are, as the environment tells."""

from __future__ import annotations

import pytest

from acp_agent.settings.providers import PROVIDERS, SettingsError, provider_from_environment


@pytest.mark.parametrize("prefix", PROVIDERS)
def test_an_empty_environment_leaves_a_service_where_it_is(prefix: str) -> None:
    service = PROVIDERS[prefix]
    assert provider_from_environment(prefix, {}) == service
    assert provider_from_environment(
        prefix, {service.url_variable: " ", service.key_variables[0]: ""}
    ) == (service)


def test_a_key_is_taken_and_not_shown() -> None:
    service = provider_from_environment("openai", {"OPENAI_API_KEY": " sk-canary\n"})
    assert service.key == "sk-canary"
    assert "sk-canary" not in repr(service)


def test_an_address_of_ones_own_needs_no_key() -> None:
    service = provider_from_environment("openai", {"OPENAI_BASE_URL": "http://host:1/v1/"})
    assert service.base_url == "http://host:1/v1"
    assert not service.needs_key


def test_the_version_is_not_said_twice() -> None:
    service = provider_from_environment(
        "anthropic", {"ANTHROPIC_BASE_URL": "http://host:1/below/v1/"}
    )
    assert service.base_url == "http://host:1/below"


def test_anthropic_tells_its_keys_from_tokens() -> None:
    key = provider_from_environment(
        "anthropic", {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_AUTH_TOKEN": "b"}
    )
    assert (key.key, key.is_bearer) == ("a", False)
    token = provider_from_environment("anthropic", {"ANTHROPIC_AUTH_TOKEN": "b"})
    assert (token.key, token.is_bearer) == ("b", True)
    assert token.key_variables == ("ANTHROPIC_AUTH_TOKEN",)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("box", "http://box:11434/v1"),
        ("box:80", "http://box:80/v1"),
        (":1234", "http://127.0.0.1:1234/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("[::]:9", "http://[::1]:9/v1"),
        ("[fe80::1]", "http://[fe80::1]:11434/v1"),
        ("https://ollama.example", "https://ollama.example:443/v1"),
        ("http://box:80/below/", "http://box:80/below/v1"),
    ],
)
def test_the_host_of_ollama_may_be_told_in_its_own_ways(host: str, url: str) -> None:
    assert provider_from_environment("ollama", {"OLLAMA_HOST": host}).base_url == url


@pytest.mark.parametrize(
    ("prefix", "url"),
    [
        ("openai", "api.example"),
        ("openai", "ftp://api.example"),
        ("openai", "https://"),
        ("openai", "https://user:hunter2@api.example"),
        ("openai", "https://api.example/v1?key=hunter2"),
        ("openai", "https://api.example:99999"),
        ("openai", "https://[::1"),
        ("ollama", "http://user:hunter2@box"),
        ("ollama", "box:http"),
        ("ollama", "[::1"),
    ],
)
def test_an_address_that_cannot_be_is_refused_without_its_secrets(prefix: str, url: str) -> None:
    variable = PROVIDERS[prefix].url_variable
    with pytest.raises(SettingsError, match=variable) as caught:
        provider_from_environment(prefix, {variable: url})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk canary", "sk-cañary", "sk\ncanary", "sk\x00canary"])
def test_a_key_that_cannot_be_sent_is_refused_without_saying_it(key: str) -> None:
    with pytest.raises(SettingsError, match="OPENAI_API_KEY holds characters") as caught:
        provider_from_environment("openai", {"OPENAI_API_KEY": key})
    assert "canary" not in str(caught.value)
