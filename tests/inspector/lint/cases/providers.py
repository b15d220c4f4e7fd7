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


@breaks("ACP-L399", unstable=True)
def providers_are_not_claimed(talk: Talk) -> None:
    talk.initialize()
    talk.refuse(talk.ask("providers/list"), -32601)


@keeps("ACP-L399", unstable=True)
def providers_are_claimed(talk: Talk) -> None:
    listed(talk)


@breaks("ACP-L400", unstable=True)
def a_required_provider_is_disabled(talk: Talk) -> None:
    listed(talk, provider(required=True))
    talk.answer(disable(talk))


@keeps("ACP-L400", unstable=True)
def a_required_provider_stays(talk: Talk) -> None:
    listed(talk, provider(required=True))
    talk.refuse(disable(talk), -32602, "It is required.")


@breaks("ACP-L401", unstable=True)
def a_disabled_provider_is_gone(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(disable(talk))
    listed(talk)


@breaks("ACP-L401", unstable=True)
def a_disabled_provider_is_configured(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(disable(talk))
    listed(talk, provider())


@keeps("ACP-L401", unstable=True)
def a_disabled_provider_is_listed(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(disable(talk))
    listed(talk, provider(current=None))


@breaks("ACP-L402", unstable=True)
def headers_are_listed(talk: Talk) -> None:
    current = {"apiType": "openai", "baseUrl": "https://example.com", "headers": {"a": "b"}}
    listed(talk, provider(current=current))


@keeps("ACP-L402", unstable=True)
def no_headers_are_listed(talk: Talk) -> None:
    listed(talk, provider())


@breaks("ACP-L403", unstable=True)
def a_kind_is_not_supported(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(choose(talk, "anthropic"))


@keeps("ACP-L403", unstable=True)
def a_kind_is_supported(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(choose(talk, "openai"))


@breaks("ACP-L403", unstable=True)
def a_provider_that_was_not_listed_is_set(talk: Talk) -> None:
    listed(talk, provider())
    talk.answer(choose(talk, "openai", "other"))


@keeps("ACP-L403", unstable=True)
def a_provider_that_was_not_listed_is_refused(talk: Talk) -> None:
    listed(talk, provider())
    talk.refuse(choose(talk, "openai", "other"), -32602)
