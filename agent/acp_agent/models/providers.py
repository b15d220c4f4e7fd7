"""The services that have models: where each is, and which variables report it.

Keys come from the environment alone: what stands on a command line is seen by every user of the
machine. An address may stand in the configuration too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

ProviderApi = Literal["openai", "anthropic"]
"""The chat completions of OpenAI, which many speak, or the messages of Anthropic."""


SET_BY_CLIENT: Final = "that the client has set"
"""The origin of a key, or of none, where the client leads to the service."""
MIN_SECRET_LENGTH: Final = 8
"""Characters below which a key keeps nobody out."""


class SettingsError(ValueError):
    """What was set for a model cannot be; the message is a sentence and holds no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Somebody who has models."""

    prefix: str
    """What precedes the colon in the name of a model."""
    title: str
    api: ProviderApi
    base_url: str
    url_variable: str
    """Where the user sets its address, as sentences report it."""
    key_variables: tuple[str, ...]
    """None where no variable of the service is looked at."""
    key: str | None = field(default=None, repr=False)
    key_origin: str | None = None
    """Who brought the key, as in "that was typed in"; None: it stands in the first variable."""
    is_bearer: bool = True
    """Whether the key goes as a bearer token; otherwise as Anthropic wants it."""
    needs_key: bool = False
    """Whether nobody is let in without a key; elsewhere the service itself decides."""
    takes_typed: bool = False
    """Whether a key that is typed in for it would be used."""
    takes_images: bool = True
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """What requests bear besides, in place of what they would bear by themselves."""

    @property
    def secret(self) -> str | None:
        """The key where it is one: what stands for none, as in "EMPTY", may be said anywhere."""
        return self.key if self.key and len(self.key) >= MIN_SECRET_LENGTH else None


PROVIDERS: Final = {
    service.prefix: service
    for service in (
        Provider(
            prefix="openai",
            title="OpenAI",
            api="openai",
            base_url="https://api.openai.com/v1",
            url_variable="OPENAI_BASE_URL",
            key_variables=("OPENAI_API_KEY",),
            needs_key=True,
        ),
        Provider(
            prefix="anthropic",
            title="Anthropic",
            api="anthropic",
            base_url="https://api.anthropic.com",
            url_variable="ANTHROPIC_BASE_URL",
            key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
            needs_key=True,
        ),
        Provider(
            prefix="openrouter",
            title="OpenRouter",
            api="openai",
            base_url="https://openrouter.ai/api/v1",
            url_variable="OPENROUTER_BASE_URL",
            key_variables=("OPENROUTER_API_KEY",),
            needs_key=True,
        ),
        Provider(
            prefix="ollama",
            title="Ollama",
            api="openai",
            base_url="http://127.0.0.1:11434/v1",
            url_variable="OLLAMA_HOST",
            key_variables=("OLLAMA_API_KEY",),
            takes_images=False,
        ),
        Provider(
            prefix="vllm",
            title="vLLM",
            api="openai",
            base_url="http://127.0.0.1:8000/v1",
            url_variable="VLLM_BASE_URL",
            key_variables=("VLLM_API_KEY",),
            takes_images=False,
        ),
        Provider(
            prefix="llamacpp",
            title="llama.cpp",
            api="openai",
            base_url="http://127.0.0.1:8080/v1",
            url_variable="LLAMACPP_BASE_URL",
            key_variables=("LLAMA_API_KEY",),
            takes_images=False,
        ),
        Provider(
            prefix="continuum",
            title="Continuum Router",
            api="openai",
            base_url="http://127.0.0.1:8080/v1",
            url_variable="CONTINUUM_BASE_URL",
            key_variables=("CONTINUUM_API_KEY",),
            takes_images=False,
        ),
    )
}


def provider_from_environment(prefix: str, environment: Mapping[str, str]) -> Provider:
    """Return the service of that prefix as the environment tells where it is and who asks.

    Raises:
        KeyError: there is none.
        SettingsError: what the environment tells of it cannot be.
    """
    service = PROVIDERS[prefix]
    if value := environment.get(service.url_variable, "").strip():
        url = _ollama_url(value) if prefix == "ollama" else value.rstrip("/")
        if service.api == "anthropic":
            # The path begins with the version here, and many write it behind the address as well.
            url = url.removesuffix("/v1")
        _check_url(url, service.url_variable)
        # Who runs a service elsewhere decides whom it lets in.
        service = replace(service, base_url=url, needs_key=False)
    for variable in service.key_variables:
        if key := environment.get(variable, "").strip():
            check_key(key, variable)
            is_bearer = variable != "ANTHROPIC_API_KEY"
            # From here on the messages speak of the variable that counts.
            return replace(service, key=key, is_bearer=is_bearer, key_variables=(variable,))
    return service


def provider_at(
    prefix: str, base_url: str | None, key_variable: str | None, environment: Mapping[str, str]
) -> Provider:
    """Return the service of that prefix at an address, with the key that a variable holds.

    The service's own variables are not looked at where an address is given: a key that is meant for
    one place is sent to no other.

    Raises:
        KeyError: there is none.
        SettingsError: the address is none, or what the variable holds can be no key.
    """
    if base_url is None:
        service = provider_from_environment(prefix, environment)
    else:
        url = base_url.rstrip("/")
        if PROVIDERS[prefix].api == "anthropic":
            url = url.removesuffix("/v1")
        _check_url(url, "base_url")
        service = replace(
            PROVIDERS[prefix],
            base_url=url,
            url_variable="base_url",
            key_variables=(),
            needs_key=False,
        )
    if key_variable is None:
        return service
    key = environment.get(key_variable, "").strip()
    if not key:
        # Told when the model is asked: the user may choose another one.
        return replace(service, key=None, needs_key=True, key_variables=(key_variable,))
    check_key(key, key_variable)
    is_bearer = service.api != "anthropic" or key_variable == "ANTHROPIC_AUTH_TOKEN"
    return replace(service, key=key, is_bearer=is_bearer, key_variables=(key_variable,))


def _ollama_url(value: str) -> str:
    """Return what OLLAMA_HOST means: it bears a bare host, and the address that a server binds."""
    parts = _split(value if "://" in value else f"http://{value}", "OLLAMA_HOST")
    host = parts.hostname or "127.0.0.1"
    # To bind all addresses is a server's wish; a client reaches it on one of them.
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    port = _port(parts, "OLLAMA_HOST") or (443 if parts.scheme == "https" else 11434)
    at = "@" if "@" in parts.netloc else ""
    place = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{at}{place}:{port}{parts.path.rstrip('/')}/v1"


def _check_url(url: str, variable: str) -> None:
    """Refuse what is no address to put paths behind."""
    parts = _split(url, variable)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(f"{variable} is no address that begins with http:// or https://.")
    if "@" in parts.netloc:
        raise SettingsError(f"{variable} must hold no user and password; a key has its variable.")
    if parts.query or parts.fragment:
        raise SettingsError(f"{variable} must end with a path: nothing with ? or # behind it.")
    _port(parts, variable)


def check_key(key: str, variable: str) -> None:
    """Refuse what can be no key: it could not be sent.

    Raises:
        SettingsError: it can be none; the message begins with `variable`.
    """
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise SettingsError(f"{variable} holds signs that no key has; was it copied with others?")


def _split(url: str, variable: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise SettingsError(f"{variable} is no address.") from None


def _port(parts: SplitResult, variable: str) -> int | None:
    try:
        return parts.port
    except ValueError:
        raise SettingsError(f"{variable} names no port from 0 to 65535.") from None
