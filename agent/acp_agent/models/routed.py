"""A model of a provider whose address and key may change while the agent runs.

The ACP client sets or disables the provider, the user logs in or out. A reply that has begun goes
on as it is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from acp_agent.models.keys import find_provider, keyring
from acp_agent.models.types import (
    HistoryEntry,
    Model,
    ModelEvent,
    ModelFailedError,
    SlashCommand,
    ToolSpec,
)
from acp_agent.settings.model import Effort, ModelSettings
from acp_agent.settings.providers import (
    SET_BY_CLIENT,
    Provider,
    SettingsError,
    provider_at,
)

if TYPE_CHECKING:
    from acp_agent.models.http import ServiceModel


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
        self._models: dict[Effort | None, ServiceModel] = {}

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
        return _WithEffort(self, cast("Effort", effort))

    async def reply(
        self,
        history: Sequence[HistoryEntry],
        tools: Sequence[ToolSpec],
        effort: Effort | None = None,
    ) -> AsyncGenerator[ModelEvent]:
        """Yield what the service streams, reached as it is now."""
        if not self.is_enabled:
            sentence = f"{self.service.title} was switched off by the client; choose another model."
            raise ModelFailedError(sentence)
        self.refresh_key()
        try:
            async with aclosing(self.current(effort).reply(history, tools)) as events:
                async for event in events:
                    yield event
            self._is_key_refused = False
        except ModelFailedError as error:
            self._is_key_refused = error.needs_key
            raise

    def current(self, effort: Effort | None = None) -> ServiceModel:
        """Return the model at the provider as it is reached now."""
        if effort not in self._models:
            # These modules take longer to import than the rest of the agent takes to start.
            if self.service.api == "openai":
                from acp_agent.models.openai import ChatModel as ModelType
            else:
                from acp_agent.models.anthropic import MessagesModel as ModelType
            settings = self._settings
            if effort is not None:
                settings = settings.model_copy(update={"thinking": effort})
            model = self.name.partition(":")[2]
            self._models[effort] = ModelType(self.service, model, settings)
        return self._models[effort]

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


class _WithEffort:
    """A model that thinks with an effort of its own."""

    commands: Sequence[SlashCommand] = ()

    def __init__(self, model: ProviderModel, effort: Effort) -> None:
        self._model = model
        self._effort: Effort = effort
        self.name = model.name

    @property
    def takes_images(self) -> bool:
        return self._model.takes_images

    def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[ModelEvent]:
        return self._model.reply(history, tools, self._effort)


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
