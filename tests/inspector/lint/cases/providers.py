"""Talks about model providers."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps


def provider(**members: Any) -> dict[str, Any]:
    """Return a provider."""
    current = {"apiType": "openai", "baseUrl": "https://example.com"}
    plain = {"providerId": "main", "supported": ["openai"], "required": False, "current": current}
    return plain | members


def listed(talk: Talk, *providers: dict[str, Any]) -> None:
    """List providers."""
    if not talk.entries:
        talk.initialize(None, {"loadSession": True, "providers": {}})
    talk.answer(talk.ask("providers/list"), providers=list(providers))


def disable(talk: Talk) -> Any:
    """Disable the provider."""
    return talk.ask("providers/disable", providerId="main")


def choose(talk: Talk, kind: str, name: str = "main") -> Any:
    """Configure a provider."""
    asked = {"providerId": name, "apiType": kind, "baseUrl": "https://example.com"}
    return talk.ask("providers/set", asked | {"headers": {}})


@breaks("undeclared-providers", unstable=True)
def providers_are_not_claimed(talk: Talk) -> None:
    talk.initialize()
    talk.refuse(talk.ask("providers/list"), -32601)


@keeps("undeclared-providers", unstable=True)
def providers_are_claimed(talk: Talk) -> None:
    listed(talk)


@breaks("required-provider-disabled", unstable=True)
def a_required_provider_is_disabled(talk: Talk) -> None:
    listed(talk, provider(required=True))
    talk.answer(disable(talk))


@keeps("required-provider-disabled", unstable=True)
def a_required_provider_stays(talk: Talk) -> None:
    listed(talk, provider(required=True))
    talk.refuse(disable(talk), -32602, "It is required.")


@breaks("disabled-provider-missing", unstable=True)
def a_disabled_provider_is_gone(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(disable(talk))
    listed(talk)


@breaks("disabled-provider-missing", unstable=True)
def a_disabled_provider_is_configured(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(disable(talk))
    listed(talk, provider())


@keeps("disabled-provider-missing", unstable=True)
def a_disabled_provider_is_listed(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(disable(talk))
    listed(talk, provider(current=None))


@breaks("provider-headers-listed", unstable=True)
def headers_are_listed(talk: Talk) -> None:
    current = {"apiType": "openai", "baseUrl": "https://example.com", "headers": {"a": "b"}}
    listed(talk, provider(current=current))


@keeps("provider-headers-listed", unstable=True)
def no_headers_are_listed(talk: Talk) -> None:
    listed(talk, provider())


@breaks("unsupported-api-type", unstable=True)
def a_kind_is_not_supported(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(choose(talk, "anthropic"))


@keeps("unsupported-api-type", unstable=True)
def a_kind_is_supported(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(choose(talk, "openai"))


@breaks("unsupported-api-type", unstable=True)
def a_provider_that_was_not_listed_is_set(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(choose(talk, "openai", "other"))


@keeps("unsupported-api-type", unstable=True)
def a_provider_that_was_not_listed_is_refused(talk: Talk) -> None:
    listed(talk, provider())
    talk.refuse(choose(talk, "openai", "other"), -32602)
