"""The services that run models: their addresses, and the variables that set them.

Keys come from the environment alone: every user of the machine sees a command line. An address may
come from the configuration too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

ProviderApi = Literal["openai", "anthropic"]
"""Chat completions of OpenAI, which many services speak, or messages of Anthropic."""
SET_BY_CLIENT: Final = "that the client has set"
"""The origin of a key or an address that the ACP client sets."""
MIN_SECRET_LENGTH: Final = 8
"""Characters below which a key is no secret."""


class SettingsError(ValueError):
    """The settings of a model are invalid; the message is a sentence without secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A service that runs models."""

    prefix: str
    """What precedes the colon in the name of a model."""
    title: str
    api: ProviderApi = "openai"
    base_url: str
    url_variable: str
    """Where the user sets the URL, as messages say it."""
    key_variables: tuple[str, ...]
    """Empty if no variable of the service is read."""
    key: str | None = field(default=None, repr=False)
    key_origin: str | None = None
    """Where the key is from, as in "that was typed in"; None: the first variable."""
    is_bearer: bool = True
    """Whether the key is a bearer token; otherwise it is sent as Anthropic's API keys are."""
    needs_key: bool = False
    """Whether every request needs a key; elsewhere the service itself decides."""
    takes_typed: bool = False
    """Whether a key that the user types in would be used."""
    takes_images: bool = True
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Further headers of requests; they replace others of the same name."""

    @property
    def secret(self) -> str | None:
        """The key, unless it is a placeholder such as "EMPTY"."""
        return self.key if self.key and len(self.key) >= MIN_SECRET_LENGTH else None


def _local(prefix: str, title: str, port: int, url_variable: str, key_variable: str) -> Provider:
    return Provider(
        prefix=prefix,
        title=title,
        base_url=f"http://127.0.0.1:{port}/v1",
        url_variable=url_variable,
        key_variables=(key_variable,),
        takes_images=False,
    )


PROVIDERS: Final = {
    service.prefix: service
    for service in (
        Provider(
            prefix="openai",
            title="OpenAI",
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
            base_url="https://openrouter.ai/api/v1",
            url_variable="OPENROUTER_BASE_URL",
            key_variables=("OPENROUTER_API_KEY",),
            needs_key=True,
        ),
        _local("ollama", "Ollama", 11434, "OLLAMA_HOST", "OLLAMA_API_KEY"),
        _local("vllm", "vLLM", 8000, "VLLM_BASE_URL", "VLLM_API_KEY"),
        _local("llamacpp", "llama.cpp", 8080, "LLAMACPP_BASE_URL", "LLAMA_API_KEY"),
        _local("continuum", "Continuum Router", 8080, "CONTINUUM_BASE_URL", "CONTINUUM_API_KEY"),
    )
}


def provider_from_environment(prefix: str, environment: Mapping[str, str]) -> Provider:
    """Return the provider with the URL and the key that its own variables set.

    Raises:
        KeyError: there is no such provider.
        SettingsError: the URL or the key is invalid.
    """
    service = PROVIDERS[prefix]
    if value := environment.get(service.url_variable, "").strip():
        url = _ollama_url(value) if prefix == "ollama" else value
        service = _moved(service, url, service.url_variable)
    for variable in service.key_variables:
        if key := environment.get(variable, "").strip():
            return _with_key(service, key, variable, is_bearer=variable != "ANTHROPIC_API_KEY")
    return service


def provider_at(
    prefix: str, base_url: str | None, key_variable: str | None, environment: Mapping[str, str]
) -> Provider:
    """Return the provider at a URL, with the key that a variable holds.

    With a URL, the provider's own variables are not read: a key that is meant for one address is
    sent to no other.

    Raises:
        KeyError: there is no such provider.
        SettingsError: the URL or the key is invalid.
    """
    if base_url is None:
        service = provider_from_environment(prefix, environment)
    else:
        service = replace(_moved(PROVIDERS[prefix], base_url, "base_url"), key_variables=())
    if key_variable is None:
        return service
    key = environment.get(key_variable, "").strip()
    if not key:
        # Reported by the first request: the user may choose another model.
        return replace(service, key=None, needs_key=True, key_variables=(key_variable,))
    is_bearer = service.api != "anthropic" or key_variable == "ANTHROPIC_AUTH_TOKEN"
    return _with_key(service, key, key_variable, is_bearer=is_bearer)


def _moved(service: Provider, url: str, variable: str) -> Provider:
    """Return `service` at another URL; who runs it there decides whether it needs a key."""
    url = url.rstrip("/")
    if service.api == "anthropic":
        # Our path begins with the version, and many people write it behind the URL as well.
        url = url.removesuffix("/v1")
    _check_url(url, variable)
    return replace(service, base_url=url, url_variable=variable, needs_key=False)


def _with_key(service: Provider, key: str, variable: str, *, is_bearer: bool) -> Provider:
    check_key(key, variable)
    return replace(service, key=key, is_bearer=is_bearer, key_variables=(variable,))


def _ollama_url(value: str) -> str:
    """Return the URL that OLLAMA_HOST means: it may be a bare host, or what a server binds."""
    parts = _split(value if "://" in value else f"http://{value}", "OLLAMA_HOST")
    host = parts.hostname or "127.0.0.1"
    # A server binds all addresses; a client needs one of them.
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    port = parts.port or (443 if parts.scheme == "https" else 11434)
    at = "@" if "@" in parts.netloc else ""
    bracketed = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{at}{bracketed}:{port}{parts.path.rstrip('/')}/v1"


def _check_url(url: str, variable: str) -> None:
    """Refuse a URL that paths cannot be appended to."""
    parts = _split(url, variable)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(f"{variable} is not a URL that begins with http:// or https://.")
    if "@" in parts.netloc:
        raise SettingsError(f"{variable} must not hold a user or a password; keys have variables.")
    if parts.query or parts.fragment:
        raise SettingsError(f"{variable} must end with a path, without ? or #.")


def check_key(key: str, variable: str) -> None:
    """Refuse a key that no header can hold.

    Raises:
        SettingsError: it is invalid; the message begins with `variable`.
    """
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise SettingsError(
            f"{variable} holds characters that no key has; is there more than the key?"
        )


def _split(url: str, variable: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise SettingsError(f"{variable} is not a URL with a port from 0 to 65535.") from None
    return parts
