"""Makes models of their settings.

The demo model needs nothing, and nothing of what the others need is imported for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_agent.models.demo import DemoModel
from acp_agent.models.keys import find_provider
from acp_agent.models.routed import ProviderModel
from acp_agent.models.types import Model
from acp_agent.settings.model import DEMO, ModelSettings
from acp_agent.settings.providers import PROVIDERS, SettingsError

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
