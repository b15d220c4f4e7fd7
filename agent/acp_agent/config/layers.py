"""All settings together: what is by itself, then the file, the environment, and the flags.

What comes later stands above what came before. The model is one piece: whoever names another one
gets it as the file describes it among the others, or else as it is by itself. What is meant for one
service, its address and its key, never reaches another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from acp_agent.config.configuration import TOKEN_VARIABLE, Configuration, configuration_of
from acp_agent.config.documents import ConfigurationError, read_document
from acp_agent.config.files import FileSettings, Setting, nearest
from acp_agent.config.keys import BY_PATH, BY_VARIABLE, OTHERS
from acp_agent.config.place import PREFIX, VARIABLE
from acp_agent.config.values import UnfitError
from acp_agent.models.choice import ModelChoice, full_name
from acp_agent.models.demo import DemoModel

Settings = dict[str, Setting]

DEFAULT: Final = "default"
_NAME: Final = "model.name"
_SERVICE: Final = "model.service"
_OF_THE_SERVICE: Final = ("model.base_url", "model.api_key_env")
"""Keys of a model that hold for each model of the same service."""
_OF_THE_USER: Final = ("model.system_prompt", "model.coding_agent_mode")
"""Keys of a model that are about its user, and hold for each model."""
_OWN_VARIABLES: Final = frozenset({VARIABLE, TOKEN_VARIABLE})


@dataclass(frozen=True, slots=True)
class Layers:
    """What is set, and who has set it."""

    file: Path | None
    settings: Mapping[str, Setting]
    """Only what somebody has set."""
    others: tuple[Settings, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """What was said and means nothing, or cannot be meant."""

    def setting(self, path: str) -> Setting:
        """Return the setting of a key, its default if nobody has set it."""
        return self.settings.get(path) or Setting(BY_PATH[path].default, DEFAULT)

    def configuration(self) -> Configuration:
        """Return what the agent is started with.

        Raises:
            ConfigurationError: it is not to be started.
        """
        for path in ("enabled", "transport.stdio.enabled"):
            if not (setting := self.setting(path)).value:
                told = f"{path} is false: the agent is not to be started"
                raise ConfigurationError(f"{setting.origin}: {told}")
        values = {
            path: setting.value
            for path, setting in self.settings.items()
            if path not in {"enabled", "transport.stdio.enabled"}
        }
        return configuration_of(values, [_choice(other) for other in self.others])


def read_layers(
    path: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]
) -> Layers:
    """Return what is set by the file at `path`, by the environment, and by flags.

    Raises:
        ConfigurationError: something of it cannot be; all of that is told.
    """
    problems: list[str] = []
    notes: list[str] = []
    settings: Settings = {}
    others: list[Settings] = []
    if path is not None:
        file = FileSettings(read_document(path))
        problems += file.problems
        notes += file.notes
        settings, others = _named(file.settings, problems), _all_named(file.others, problems)
    named = _from_environment(environment, problems)
    notes += strangers(environment)
    told = {path: Setting(value, BY_PATH[path].flag or path) for path, value in flags.items()}
    for layer in (named, told):
        settings, others = _above(settings, others, layer, problems)
    if problems:
        raise ConfigurationError(*problems)
    mine = {path: settings[path] for path in _OF_THE_USER if path in settings}
    return Layers(path, settings, tuple(mine | other for other in others), tuple(notes))


def strangers(environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable that looks as if it set something, and does not."""
    told: list[str] = []
    for name in sorted(environment):
        if not name.startswith(PREFIX) or name in _OWN_VARIABLES or name in BY_VARIABLE:
            continue
        near = nearest(name.removeprefix(PREFIX).lower().replace("_", "."))
        hint = BY_PATH[near].variable if near in BY_PATH else None
        told.append(f"{name} sets nothing" + (f"; the nearest is {hint}" if hint else ""))
    return told


def _from_environment(environment: Mapping[str, str], problems: list[str]) -> Settings:
    settings: Settings = {}
    for name in sorted(environment.keys() & BY_VARIABLE.keys()):
        key = BY_VARIABLE[name]
        try:
            settings[key.path] = Setting(key.kind(environment[name]), name)
        except UnfitError as problem:
            problems.append(f"{name}: {problem}")
    return settings


def _named(settings: Settings, problems: list[str], service: str | None = None) -> Settings:
    """Return `settings` with the service in the name of the model, where a model is named."""
    told = settings.get(_SERVICE)
    rest = {path: setting for path, setting in settings.items() if path != _SERVICE}
    name = rest.get(_NAME)
    if name is None:
        if told is not None:
            problems.append(f"{told.origin}: {_SERVICE} needs {_NAME} besides")
        return rest
    try:
        full = _full(name.value, told.value if told else None, service)
    except UnfitError as problem:
        problems.append(f"{name.origin}: {_NAME}: {problem}")
        return rest
    return rest | {_NAME: Setting(full, name.origin)}


def _full(name: str, told: str | None, service: str | None) -> str:
    """Return the name of a model; `service` has it where nothing else is said."""
    if told is None and service is not None:
        try:
            return full_name(name)
        except UnfitError:
            return full_name(name, service)
    return full_name(name, told)


def _all_named(others: list[Settings], problems: list[str]) -> list[Settings]:
    named = [_named(other, problems) for other in others]
    seen: set[str] = set()
    for other in named:
        if (name := other.get(_NAME)) is not None:
            if name.value in seen:
                problems.append(f"{name.origin}: {OTHERS}: {name.value} stands there twice")
            seen.add(name.value)
    return named


def _above(
    settings: Settings, others: list[Settings], layer: Settings, problems: list[str]
) -> tuple[Settings, list[Settings]]:
    """Return `settings` with `layer` above them, and the models besides."""
    if _NAME not in layer and _SERVICE not in layer:
        return settings | layer, others
    before = settings.get(_NAME) or Setting(DemoModel.name, DEFAULT)
    service, colon, bare = before.value.partition(":")
    if _NAME not in layer and colon:
        layer = layer | {_NAME: Setting(bare, before.origin)}
    layer = _named(layer, problems, service if colon else None)
    name = layer.get(_NAME, before).value
    if name == before.value:
        return settings | layer, others
    first = {path: each for path, each in settings.items() if path.startswith("model.")}
    kept = {path: each for path, each in settings.items() if path not in first}
    is_same_service = name.startswith(f"{service}:")
    lasting = {*_OF_THE_USER, *(_OF_THE_SERVICE if is_same_service else ())}
    rest = [other for other in others if _NAME in other]
    known = next((other for other in rest if other[_NAME].value == name), Settings())
    rest = [other for other in rest if other is not known]
    mine = {path: first[path] for path in (_OF_THE_USER if known else lasting) if path in first}
    if _NAME in first:
        rest.insert(0, first)
    return kept | mine | known | layer, rest


def _choice(settings: Settings) -> ModelChoice:
    values = {path.removeprefix("model."): each.value for path, each in settings.items()}
    return ModelChoice(**values)
