"""Makes models of their settings, reached as the user's keys or the ACP client say.

The demo model needs nothing, and nothing of what the others need is imported for it. The address
and the key of a provider may change while the agent runs: the client sets or disables it, the user
logs in or out. A reply that has begun goes on as it is.

Source: ACP, Authentication, "Terminal Auth".
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from acp_agent.models.demo import DemoModel
from acp_agent.models.types import (
    HistoryEntry,
    Model,
    ModelEvent,
    ModelFailedError,
    ReplyOptions,
    SlashCommand,
    ToolSpec,
)
from acp_agent.settings.model import DEMO, ModelSettings
from acp_agent.settings.providers import (
    PROVIDERS,
    SET_BY_CLIENT,
    Provider,
    SettingsError,
    provider_at,
    provider_from_environment,
)
from acp_protocol.host.regular_files import PRIVATE_FILE, replacing
from acp_protocol.user_files.paths import config_directory

if TYPE_CHECKING:
    from acp_agent.models.http import ServiceModel


NAME: Final = "acp-agent-keys.json"
MAX_VARIANTS: Final = 16
"""Variants of one model, such as efforts, that are kept with their certificates."""
_UNCHANGED: Final[Mapping[str, object]] = {}


class Keyring:
    """The stored keys by provider, in a file that only its owner can read.

    Each method raises `SettingsError` if the file cannot be read or written, or is invalid.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, prefix: str) -> str | None:
        key = self._read().get(prefix)
        return key if isinstance(key, str) and key else None

    def put(self, prefix: str, key: str) -> None:
        self._write(self._read() | {prefix: key})

    def remove(self, prefix: str) -> None:
        keys = self._read()
        if keys.pop(prefix, None) is not None:
            self._write(keys)

    def _read(self) -> dict[str, object]:
        try:
            value: object = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise SettingsError(f"{self.path} cannot be read as what holds keys; remove it.")
        return cast("dict[str, object]", value)

    def _write(self, keys: Mapping[str, object]) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(self.path) as file:
                # Others might read the file before; from now on, they must not.
                os.fchmod(file.fileno(), PRIVATE_FILE)
                file.write(json.dumps(keys, indent=2).encode() + b"\n")
        except OSError as problem:
            why = problem.strerror or "it cannot be written"
            raise SettingsError(f"{self.path}: {why}.") from None


def keyring(environment: Mapping[str, str]) -> Keyring:
    """Return the user's keyring; its file need not exist."""
    return Keyring(config_directory(environment) / NAME)


def find_provider(
    prefix: str, base_url: str | None, key_variable: str | None, environment: Mapping[str, str]
) -> Provider:
    """Return the provider at its URL, with the key from a variable or the stored one.

    Raises:
        KeyError: there is no such provider.
        SettingsError: the URL or the key is invalid.
    """
    if base_url is not None or key_variable is not None:
        return provider_at(prefix, base_url, key_variable, environment)
    service = provider_from_environment(prefix, environment)
    if not service.needs_key or service.key is not None:
        return service
    # The stored key is for the service itself, and goes nowhere else.
    return replace(
        service,
        key=keyring(environment).get(prefix),
        key_origin="that was typed in",
        is_bearer=service.api != "anthropic",
        takes_typed=True,
    )


class ProviderModel:
    """A model behind a provider, reached as the user's settings or the client say.

    Raises:
        SettingsError: the settings are invalid.
    """

    commands: Sequence[SlashCommand] = ()

    def __init__(self, settings: ModelSettings, environment: Mapping[str, str]) -> None:
        self.name = settings.name
        self._settings = settings
        self._environment = environment
        self.service = self._find()
        """How the provider is reached now."""
        self.is_enabled = True
        self._is_set_by_client = False
        self._is_signed_out = False
        self._is_key_refused = False
        self._models: dict[frozenset[tuple[str, object]], ServiceModel] = {}
        """By what differs from the settings."""

    @property
    def takes_images(self) -> bool:
        """Whether the model accepts images."""
        images = self._settings.images
        return self.service.takes_images if images is None else images

    @property
    def lacks_key(self) -> bool:
        """Whether it cannot reply for want of a key."""
        return self.wants_key and self.service.key is None

    @property
    def wants_key(self) -> bool:
        """Whether requests need the user's own key."""
        return self.service.needs_key

    def at(self, effort: str) -> Model:
        """Return the model as it thinks with that effort, reached as this one is."""
        return _Adjusted(self, {"thinking": effort})

    def with_options(self, options: ReplyOptions) -> Model:
        """Return the model as it replies with these options, reached as this one is."""
        return _Adjusted(self, {}).with_options(options)

    async def reply(
        self,
        history: Sequence[HistoryEntry],
        tools: Sequence[ToolSpec],
        changes: Mapping[str, object] = _UNCHANGED,
    ) -> AsyncGenerator[ModelEvent]:
        """Yield what the service sends, reached as it is now, with changes of the settings."""
        if not self.is_enabled:
            sentence = f"{self.service.title} was switched off by the client; choose another model."
            raise ModelFailedError(sentence)
        self.refresh_key()
        try:
            async with aclosing(self.current(changes).reply(history, tools)) as events:
                async for event in events:
                    yield event
            self._is_key_refused = False
        except ModelFailedError as error:
            self._is_key_refused = error.needs_key
            raise

    def current(self, changes: Mapping[str, object] = _UNCHANGED) -> ServiceModel:
        """Return the model at the provider as it is reached now, with changes of the settings."""
        key = frozenset(changes.items())
        if key not in self._models:
            # These modules take longer to import than the rest of the agent takes to start.
            if self.service.api == "openai":
                from acp_agent.models.openai import ChatModel as ModelType
            else:
                from acp_agent.models.anthropic import MessagesModel as ModelType
            if len(self._models) >= MAX_VARIANTS:
                self._models.clear()
            settings = self._settings.model_copy(update=changes)
            model = self.name.partition(":")[2]
            self._models[key] = ModelType(self.service, model, settings)
        return self._models[key]

    def refresh_key(self) -> None:
        """Take the key that the user has set meanwhile, if a key is missing or was refused.

        Raises:
            ModelFailedError: the stored keys cannot be read.
        """
        is_needed = self.lacks_key or self._is_key_refused
        if is_needed and not self._is_set_by_client and not self._is_signed_out:
            self._find_again()

    def route(self, url: str, headers: Mapping[str, str]) -> None:
        """Reach the provider at `url` from now on, with these headers and no key of ours.

        Raises:
            SettingsError: the URL is invalid.
        """
        service = replace(
            provider_at(self.service.prefix, url, None, {}),
            url_variable=f"the address {SET_BY_CLIENT}",
            key_origin=SET_BY_CLIENT,
        )
        self._reach(_with_headers(service, headers))
        self._is_set_by_client = self.is_enabled = True

    def disable(self) -> None:
        """Refuse to reply until the client sets the provider."""
        self.is_enabled = False

    def sign_in(self) -> bool:
        """Use the user's own key again; return whether there is one.

        Raises:
            ModelFailedError: the stored keys cannot be read.
        """
        self._is_signed_out = self._is_set_by_client = False
        self._find_again()
        return not self.lacks_key

    def sign_out(self) -> None:
        """Stop using the user's key, and remove the stored one.

        Raises:
            SettingsError: it cannot be removed; it is not used all the same.
        """
        self._is_signed_out = True
        if self.wants_key:
            self._reach(replace(self.service, key=None))
            keyring(self._environment).remove(self.service.prefix)

    def _find(self) -> Provider:
        settings = self._settings
        return find_provider(
            settings.provider, settings.base_url, settings.api_key_env, self._environment
        )

    def _find_again(self) -> None:
        try:
            self._reach(self._find())
        except SettingsError as error:
            raise ModelFailedError(str(error), needs_key=True) from None

    def _reach(self, service: Provider) -> None:
        if service != self.service:
            self.service = service
            self._models.clear()


class _Adjusted:
    """A model with changes of its settings."""

    commands: Sequence[SlashCommand] = ()

    def __init__(self, model: ProviderModel, changes: Mapping[str, object]) -> None:
        self._model = model
        self._changes = changes
        self.name = model.name

    @property
    def takes_images(self) -> bool:
        return self._model.takes_images

    def with_options(self, options: ReplyOptions) -> Model:
        given = {name: value for name, value in asdict(options).items() if value is not None}
        return _Adjusted(self._model, {**self._changes, **given})

    def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[ModelEvent]:
        return self._model.reply(history, tools, self._changes)


def _with_headers(service: Provider, headers: Mapping[str, str]) -> Provider:
    """Return `service` with these headers.

    A key among them becomes the service's key, so that it is kept out of messages.
    """
    rest = dict(headers)
    for name, value in headers.items():
        scheme, _, token = value.partition(" ")
        if name.lower() == "authorization" and scheme.lower() == "bearer" and token.strip():
            del rest[name]
            service = replace(service, key=token.strip(), is_bearer=True)
        elif name.lower() == "x-api-key" and service.api == "anthropic" and value.strip():
            del rest[name]
            service = replace(service, key=value.strip(), is_bearer=False)
    return replace(service, headers=tuple(sorted(rest.items())))


ALL: Final = "*"
"""Means each model that a provider has."""
_THINK_BY_TOKENS: Final = frozenset({"anthropic", "openrouter"})
"""Providers that take a number of tokens to think with."""


def create_model(settings: ModelSettings, environment: Mapping[str, str]) -> Model:
    """Return the model.

    Raises:
        SettingsError: the settings are invalid; the message says why.
    """
    check_settings(settings)
    return DemoModel() if settings.name == DEMO else ProviderModel(settings, environment)


def expand_settings(settings: ModelSettings, environment: Mapping[str, str]) -> list[ModelSettings]:
    """Return `settings`; for `PROVIDER:*`, one for each model that the provider has now.

    Raises:
        SettingsError: the provider does not list them.
    """
    prefix, _, rest = settings.name.partition(":")
    if rest != ALL:
        return [settings]
    from acp_agent.models.model_list import list_models

    provider = find_provider(prefix, settings.base_url, settings.api_key_env, environment)
    names = list_models(provider)
    return [settings.model_copy(update={"name": f"{prefix}:{name}"}) for name in names]


def check_settings(settings: ModelSettings) -> None:
    """Check that the settings of a model go together.

    Raises:
        SettingsError: they do not; the message says why.
    """
    is_demo = settings.name == DEMO
    takes_tokens = is_demo or settings.provider in _THINK_BY_TOKENS
    if isinstance(settings.thinking, int) and not takes_tokens:
        raise SettingsError(
            f"{PROVIDERS[settings.provider].title} takes an effort, not a number of tokens: "
            "thinking may be low, medium or high."
        )


def takes_images_by_settings(settings: ModelSettings) -> bool:
    """Return whether that model accepts images."""
    if settings.name == DEMO:
        return DemoModel.takes_images
    if settings.images is not None:
        return settings.images
    return PROVIDERS[settings.provider].takes_images
