"""Settings from the file, the environment, and flags; the later ones override the earlier ones.

The model is one piece: another name in the environment or a flag gets the options of that model in
`model.others`, or the defaults. A URL and a key variable never reach another provider.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from acp_agent.settings.keys import (
    HTTP_TOKEN_VARIABLE,
    TOKEN_VARIABLE,
    Settings,
    SettingTables,
    setting_keys,
    settings_with,
)
from acp_agent.settings.model import DEMO, ModelSettings, full_name
from acp_agent.settings.providers import PROVIDERS
from acp_agent.settings.rules import RuleTable
from acp_agent.settings.types import DatabaseUrl, InvalidSettingError, Section, Text
from acp_protocol.host.did_you_mean import nearest
from acp_protocol.host.state import AGENT_HOME, AGENT_PREFIX
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.mcp_servers import ServerTable
from acp_protocol.user_files.paths import CONFIG_VARIABLE
from acp_protocol.user_files.sentences import error_sentence
from acp_protocol.user_files.toml_source import (
    InvalidFileError,
    KeyPath,
    ParsedFile,
    as_table,
    spelled,
)

DEFAULT: Final = "default"
OTHERS: Final = "model.others"
"""A list of tables, each with the keys of `model`."""
SECRETS: Final = {"api_key": "api_key_env", "key": "api_key_env", "token": "token_env"}
"""Keys that would hold a secret, and those that name its variable."""
_ELSEWHERE: Final = (
    "do not put the password of a database here: set ACP_AGENT_SESSIONS_STORAGE to the whole URL, "
    "or PGPASSWORD, or use ~/.pgpass"
)
_NAME: Final = "model.name"
_SERVICE: Final = "model.service"
_OF_PROVIDER: Final = ("model.base_url", "model.api_key_env")
"""Keys of a model that apply to every model of the same provider."""
_OF_USER: Final = ("model.system_prompt", "model.coding_agent_mode")
"""Keys of a model that apply to every model."""
_SWITCHES: Final = ("enabled", "transport.stdio.enabled")


@dataclass(frozen=True, slots=True)
class LoadedValue:
    """A value, and the place that sets it: a line of the file, a variable, or a flag."""

    value: Any
    origin: str


Values = dict[str, LoadedValue]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file with the names of this agent's keys, whatever names it uses itself."""

    source: ParsedFile
    tree: Mapping[str, Json]
    moved: dict[KeyPath, KeyPath] = field(default_factory=dict[KeyPath, KeyPath])
    """The paths of values in the file, by their paths in `tree`."""
    notes: list[tuple[KeyPath, str]] = field(default_factory=list[tuple[KeyPath, str]])
    problems: list[tuple[KeyPath, str]] = field(default_factory=list[tuple[KeyPath, str]])
    other_names: Collection[str] = ()
    """Further names of keys, for a key that is unknown."""


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The values that are set, and where."""

    file: Path | None
    values: Mapping[str, LoadedValue]
    """Only what is set somewhere."""
    others: tuple[Values, ...] = ()
    notes: tuple[str, ...] = ()
    """What has no effect."""

    def get(self, path: str) -> LoadedValue:
        """Return the value of a key, its default if it is not set."""
        return self.values.get(path) or LoadedValue(setting_keys()[path].default, DEFAULT)

    def settings(self, *, is_networked: bool = False) -> Settings:
        """Return what the agent starts with; `is_networked` if it does not serve on stdio.

        Raises:
            InvalidFileError: it is switched off.
        """
        for path in _SWITCHES[:1] if is_networked else _SWITCHES:
            if not (setting := self.get(path)).value:
                raise InvalidFileError(f"{setting.origin}: {path} is false: the agent is disabled")
        others = [
            ModelSettings(
                **{path.removeprefix("model."): each.value for path, each in other.items()}
            )
            for other in self.others
        ]
        return settings_with({path: each.value for path, each in self.values.items()}, others)


def load_settings(
    config: ConfigFile | None, environment: Mapping[str, str], flags: Mapping[str, Any]
) -> LoadedSettings:
    """Return what a file, the environment, and flags set.

    Raises:
        InvalidFileError: something is invalid; the message lists all of it.
    """
    problems: list[str] = []
    notes: list[str] = []
    values: Values = {}
    others: list[Values] = []
    keys = setting_keys()
    if config is not None:
        file = SettingsFile(config)
        problems += file.problems
        notes += file.notes
        values, others = file.values, file.others
    from_environment: Values = {}
    for key in sorted(keys.values(), key=lambda key: key.variable or ""):
        if key.variable is not None and key.variable in environment:
            try:
                value = key(environment[key.variable])
            except InvalidSettingError as error:
                problems.append(f"{key.variable}: {error}")
            else:
                from_environment[key.path] = LoadedValue(value, key.variable)
    notes += unknown_variables(environment)
    if problems:
        raise InvalidFileError(*problems)
    from_flags = {key: LoadedValue(value, keys[key].flag or key) for key, value in flags.items()}
    problems += _passwords((*values.values(), *from_flags.values()))
    values, others = _with_full_name(values, problems), _with_full_names(others, problems)
    for layer in (from_environment, from_flags):
        values, others = _merged(values, others, layer, problems)
    if problems:
        raise InvalidFileError(*problems)
    of_user = {path: values[path] for path in _OF_USER if path in values}
    path = config.source.path if config is not None else None
    return LoadedSettings(path, values, tuple(of_user | other for other in others), tuple(notes))


def _passwords(values: Iterable[LoadedValue]) -> list[str]:
    """Return a sentence for each URL with a password, where other users may read it."""
    urls = [each for each in values if isinstance(each.value, DatabaseUrl)]
    return [f"{url.origin}: {_ELSEWHERE}" for url in urls if url.value.has_password]


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable that looks like a setting and is none."""
    keys = setting_keys()
    tokens = (TOKEN_VARIABLE, HTTP_TOKEN_VARIABLE)
    known = {AGENT_HOME, CONFIG_VARIABLE, *tokens, *(key.variable for key in keys.values())}
    notes: list[str] = []
    for name in sorted(name for name in environment if name.startswith(AGENT_PREFIX)):
        if name not in known:
            near = nearest_key(name.removeprefix(AGENT_PREFIX).lower().replace("_", "."))
            hint = keys[near].variable if near is not None and near in keys else None
            notes.append(f"{name} sets nothing" + (f"; did you mean {hint}?" if hint else ""))
    return notes


def nearest_key(path: str, other_names: Collection[str] = ()) -> str | None:
    """Return the known key that is most similar to `path`, if one is similar."""
    keys = setting_keys()
    known = [*keys, OTHERS, *other_names, *SettingTables.model_fields]
    if "." in path and (longer := [key for key in keys if key.startswith(path)]):
        return longer[0]
    if near := nearest(path, known, 0.75):
        return near
    # The right name in a wrong section, or in none.
    by_name = {key.rpartition(".")[2]: key for key in reversed(known)}
    return by_name.get(nearest(path.rpartition(".")[2], by_name, 0.8) or "")


class _OtherModel(ModelSettings):
    name: Text = Field(...)


class SettingsFile:
    """The values of a file, and its problems, each with the line that it is about."""

    def __init__(self, config: ConfigFile) -> None:
        self._source = config.source
        self._moved = config.moved
        self._other_names = config.other_names
        self._problems: list[tuple[int, str]] = []
        self.values: Values = {}
        """Empty if there are problems."""
        self.others: list[Values] = []
        """The models of `model.others`, with the keys of `model`."""
        self.notes = [f"{self._source.at(path)}: {note}" for path, note in config.notes]
        """What has no effect, and why."""
        for path, problem in config.problems:
            self._report(path, problem)
        tree = dict(config.tree)
        others: Json = []
        if (model := as_table(tree.get("model"))) is not None:
            others = model.get("others", [])
            tree["model"] = {name: value for name, value in model.items() if name != "others"}
        self._read(SettingTables, tree, (), self.values)
        if not isinstance(others, list):
            self._report(("model", "others"), f"must be a list of tables, as in [[{OTHERS}]]")
            others = []
        for place, other in enumerate(cast("list[Json]", others)):
            self.others.append({})
            self._read(_OtherModel, other, ("model", "others", place), self.others[-1])

    @property
    def problems(self) -> list[str]:
        """What is invalid, from the first line to the last."""
        return [problem for _, problem in sorted(self._problems, key=lambda each: each[0])]

    def _report(self, path: KeyPath, problem: str) -> None:
        path = self._moved.get(path, path)
        if path[:2] == ("mcp", "servers"):
            # What is deeper may be a secret in the place of a name; "[key]" means a name is wrong.
            path = tuple(step for step in path[:4] if step != "[key]")
        where = f"{self._source.at(path)}: {spelled(path)}: "
        if (line := (self._source.line(path), where + problem)) not in self._problems:
            self._problems.append(line)

    def _read(self, section: type[Section], table: Json, at: KeyPath, values: Values) -> None:
        """Set the values of a table, or report what is wrong with it."""
        directory = self._source.path.absolute().parent
        try:
            read = section.model_validate(table, context=directory)
        except ValidationError as error:
            for each in error.errors(include_url=False):
                self._report(*self._problem((*at, *each["loc"]), each))
        else:
            for path, value in _given(read, at):
                key = f"model.{path[-1]}" if at else spelled(path)
                values[key] = LoadedValue(value, self._source.at(self._moved.get(path, path)))

    def _problem(self, path: KeyPath, error: ErrorDetails) -> tuple[KeyPath, str]:
        """Return which value is wrong, and what is wrong with it."""
        is_other = path[:2] == ("model", "others") and len(path) > 3
        names = ("model", *path[3:]) if is_other else path
        if error["type"] == "extra_forbidden":
            return path, self._unknown(names, error)
        keys = setting_keys()
        depth = next((depth for depth in (1, 2, 3) if spelled(names[:depth]) in keys), 0)
        key, inner = keys.get(spelled(names[:depth])), names[depth:]
        if error["type"] == "missing" or key is None or (key.variable is None and inner):
            return path, error_sentence(error)
        return path[: len(path) - len(inner)], key.problem(error)

    def _unknown(self, names: KeyPath, error: ErrorDetails) -> str:
        for table, key in ((ServerTable, "mcp.servers."), (RuleTable, "permissions.rules.")):
            if spelled(names).startswith(key):
                return error_sentence(error, table.model_fields)
        if variable := SECRETS.get(str(names[-1])):
            return f"do not put secrets in the config file; set {variable} to the variable's name"
        near = nearest_key(spelled(names), self._other_names)
        return "unknown key" + (f"; did you mean {near}?" if near else "")


def _given(table: Section, at: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield what a table sets, each value with its path."""
    for name in table.model_fields_set:
        value = getattr(table, name)
        if isinstance(value, Section):
            yield from _given(value, (*at, name))
        else:
            yield (*at, name), value


def _with_full_name(values: Values, problems: list[str], default: str | None = None) -> Values:
    """Return `values` with the provider in the name of the model, if a model is named.

    `default` is the provider of a name without one.
    """
    service, name = values.get(_SERVICE), values.get(_NAME)
    rest = {path: value for path, value in values.items() if path != _SERVICE}
    if name is None:
        if service is not None:
            problems.append(f"{service.origin}: {_SERVICE} also needs {_NAME}")
        return rest
    prefix, colon, _ = name.value.partition(":")
    has_provider = name.value == DEMO or (colon and prefix in PROVIDERS)
    provider = service.value if service else None if has_provider else default
    try:
        return rest | {_NAME: LoadedValue(full_name(name.value, provider), name.origin)}
    except InvalidSettingError as error:
        problems.append(f"{name.origin}: {_NAME}: {error}")
        return rest


def _with_full_names(others: list[Values], problems: list[str]) -> list[Values]:
    named = [_with_full_name(other, problems) for other in others]
    seen: set[str] = set()
    for other in named:
        if (name := other.get(_NAME)) is not None:
            if name.value in seen:
                problems.append(f"{name.origin}: {OTHERS}: {name.value} is there twice")
            seen.add(name.value)
    return named


def _merged(
    values: Values, others: list[Values], layer: Values, problems: list[str]
) -> tuple[Values, list[Values]]:
    """Return `values` overridden by `layer`, and the other models."""
    if _NAME not in layer and _SERVICE not in layer:
        return values | layer, others
    before = values.get(_NAME) or LoadedValue(DEMO, DEFAULT)
    provider, colon, bare = before.value.partition(":")
    if _NAME not in layer and colon:
        layer = layer | {_NAME: LoadedValue(bare, before.origin)}
    layer = _with_full_name(layer, problems, provider if colon else None)
    name = layer.get(_NAME, before).value
    if name == before.value:
        return values | layer, others
    first = {path: each for path, each in values.items() if path.startswith("model.")}
    kept = {path: each for path, each in values.items() if path not in first}
    others = [other for other in others if _NAME in other]
    known = next((other for other in others if other[_NAME].value == name), Values())
    others = [other for other in others if other is not known]
    is_same_provider = not known and name.startswith(f"{provider}:")
    inherited = (*_OF_USER, *(_OF_PROVIDER if is_same_provider else ()))
    if _NAME in first:
        others.insert(0, first)
    return kept | {path: first[path] for path in inherited if path in first} | known | layer, others
