"""Settings from the file, the environment, and flags; the later ones override the earlier ones.

The model is one piece: another name in the environment or a flag gets the options of that model in
`model.others`, or the defaults. A URL and a key variable never reach another provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from acp_agent.config.rules import RuleTable
from acp_agent.config.source import (
    InvalidFileError,
    KeyPath,
    Source,
    as_table,
    as_tables,
    did_you_mean,
    parse_toml,
    read_text,
    spelled,
)
from acp_agent.continuum.config import ALIASES, TranslatedConfig, acp_section
from acp_agent.mcp.config import DeclarationError, configured_servers
from acp_agent.models.demo import DemoModel
from acp_agent.models.factory import ModelSettings, full_name
from acp_agent.paths import CONFIG_VARIABLE
from acp_agent.setting_types import RULE_TABLES, UNIX, InvalidSettingError
from acp_agent.settings import (
    PREFIX,
    TOKEN_VARIABLE,
    Settings,
    setting_keys,
    settings_with,
)
from acp_protocol.jsonrpc import Json

DEFAULT: Final = "default"
OTHERS: Final = "model.others"
"""A list of tables, each with the keys of `model`."""
SECRETS: Final = {"api_key": "api_key_env", "key": "api_key_env", "token": "token_env"}
"""Keys that would hold a secret, and those that name its variable."""
_NAME: Final = "model.name"
_SERVICE: Final = "model.service"
_OF_PROVIDER: Final = ("model.base_url", "model.api_key_env")
"""Keys of a model that apply to every model of the same provider."""
_OF_USER: Final = ("model.system_prompt", "model.coding_agent_mode")
"""Keys of a model that apply to every model."""
_SWITCHES: Final = ("enabled", "transport.stdio.enabled")
YAML_SUFFIXES: Final = frozenset({".yaml", ".yml"})
_FORBID: Final = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Setting:
    """A value, and the place that sets it: a line of the file, a variable, or a flag."""

    value: Any
    origin: str


Values = dict[str, Setting]


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The values that are set, and where."""

    file: Path | None
    values: Mapping[str, Setting]
    """Only what is set somewhere."""
    others: tuple[Values, ...] = ()
    notes: tuple[str, ...] = ()
    """What has no effect."""

    def get(self, path: str) -> Setting:
        """Return the value of a key, its default if it is not set."""
        return self.values.get(path) or Setting(setting_keys()[path].default, DEFAULT)

    def settings(self) -> Settings:
        """Return what the agent starts with.

        Raises:
            InvalidFileError: it is switched off.
        """
        for path in _SWITCHES:
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
    path: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]
) -> LoadedSettings:
    """Return what the file at `path`, the environment, and flags set.

    Raises:
        InvalidFileError: something is invalid; the message lists all of it.
    """
    problems: list[str] = []
    notes: list[str] = []
    values: Values = {}
    others: list[Values] = []
    keys = setting_keys()
    if path is not None:
        file = SettingsFile(read_source(path))
        problems += file.problems
        notes += file.notes
        values = _with_full_name(file.values, problems)
        others = _with_full_names(file.others, problems)
    from_environment: Values = {}
    for key in sorted(keys.values(), key=lambda key: key.variable or ""):
        if key.variable is not None and key.variable in environment:
            try:
                value = key.type(environment[key.variable])
            except InvalidSettingError as error:
                problems.append(f"{key.variable}: {error}")
            else:
                from_environment[key.path] = Setting(value, key.variable)
    notes += unknown_variables(environment)
    from_flags = {path: Setting(value, keys[path].flag or path) for path, value in flags.items()}
    for layer in (from_environment, from_flags):
        values, others = _merged(values, others, layer, problems)
    if problems:
        raise InvalidFileError(*problems)
    of_user = {path: values[path] for path in _OF_USER if path in values}
    return LoadedSettings(path, values, tuple(of_user | other for other in others), tuple(notes))


def read_source(path: Path) -> Source:
    """Return the content of the file at `path`; its suffix says whether it is TOML or YAML.

    Raises:
        InvalidFileError: it cannot be read.
    """
    text = read_text(path)
    if path.suffix.lower() == ".json":
        raise InvalidFileError(f"{path}: a configuration is TOML, or YAML with .yaml or .yml")
    if path.suffix.lower() in YAML_SUFFIXES:
        # YAML files are rare, and the library takes time.
        from acp_agent.config.yaml_source import parse_yaml

        return parse_yaml(path, text)
    return parse_toml(path, text)


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable that looks like a setting and is none."""
    keys = setting_keys()
    known = {CONFIG_VARIABLE, TOKEN_VARIABLE, *(key.variable for key in keys.values())}
    notes: list[str] = []
    for name in sorted(name for name in environment if name.startswith(PREFIX)):
        if name not in known:
            near = nearest_key(name.removeprefix(PREFIX).lower().replace("_", "."))
            hint = keys[near].variable if near is not None and near in keys else None
            notes.append(f"{name} sets nothing" + (f"; did you mean {hint}?" if hint else ""))
    return notes


def nearest_key(path: str) -> str | None:
    """Return the known key that is most similar to `path`, if one is similar."""
    keys = setting_keys()
    known = [*keys, OTHERS, *ALIASES, *(each.name for each in fields(Settings))]
    if "." in path and (longer := [key for key in keys if key.startswith(path)]):
        return longer[0]
    if near := did_you_mean(path, known, 0.75):
        return near
    # The right name in a wrong section, or in none.
    by_name = {key.rpartition(".")[2]: key for key in reversed(known)}
    return by_name.get(did_you_mean(path.rpartition(".")[2], by_name, 0.8) or "")


class SettingsFile:
    """The values of a file, and its problems, each with the line that it is about."""

    def __init__(self, source: Source) -> None:
        if source.path.suffix.lower() in YAML_SUFFIXES:
            source = acp_section(source)
        self._source = source
        self._base = source.path.absolute().parent
        """The directory that relative paths start from."""
        self._problems: list[tuple[int, str]] = []
        self.values: Values = {}
        self.others: list[Values] = []
        """The models of `model.others`, with the keys of `model`."""
        translation = TranslatedConfig(_without_nulls(source.tree, 2))
        self._moved = translation.moved
        self.notes = [f"{source.at(path)}: {note}" for path, note in translation.notes]
        """What has no effect, and why."""
        for path, problem in translation.problems:
            self._report(path, problem)
        tree = translation.tree
        # The keys that hold tables are read one by one below.
        others, rules, servers = (
            section.pop(name, None) if (section := as_table(tree.get(table))) else None
            for table, name in (("model", "others"), ("permissions", "rules"), ("mcp", "servers"))
        )
        settings = self._validated(Settings, tree, ())
        for key in setting_keys().values():
            steps = key.path.split(".")
            if _is_set(tree, steps):
                value = settings
                for step in steps:
                    value = getattr(value, step)
                self._set(self.values, tuple(steps), key.path, value)
        if others is not None:
            self._read_others(others)
        if rules is not None:
            self._read_rules(rules)
        if servers is not None:
            self._read_servers(servers)

    @property
    def problems(self) -> list[str]:
        """What is invalid, from the first line to the last."""
        return [problem for _, problem in sorted(self._problems, key=lambda each: each[0])]

    def _report(self, path: KeyPath, problem: str) -> None:
        path = self._moved.get(path, path)
        where = f"{self._source.at(path)}: {spelled(path)}: "
        self._problems.append((self._source.line(path), where + problem))

    def _validated(self, type_: Any, tree: Any, at: KeyPath) -> Any:
        """Return `tree` as `type_`, after every problem is reported and removed from it."""
        adapter = TypeAdapter[Any](type_, config=None if type_ is Settings else _FORBID)
        while True:
            try:
                return adapter.validate_python(tree)
            except ValidationError as error:
                # From the back, so that the removal of a list's entry moves no other one to remove.
                for *outer, name in reversed(self._report_errors(error, at)):
                    table: Any = tree
                    for step in outer:
                        table = table[step]
                    del table[name]

    def _report_errors(self, error: ValidationError, at: KeyPath) -> list[KeyPath]:
        """Report what is invalid; return where it is."""
        errors = error.errors(include_url=False)
        for each in errors:
            self._report((*at, *each["loc"]), self._sentence(each, at))
        return [each["loc"] for each in errors]

    def _sentence(self, error: ErrorDetails, at: KeyPath) -> str:
        path = (*at, *error["loc"])
        context = error.get("ctx", {})
        match error["type"]:
            case "unexpected_keyword_argument" | "extra_forbidden":
                return self._unknown(path)
            case "value_error":
                return str(context["error"])
            case "literal_error":
                choices = str(context["expected"]).replace("'", "").replace(" or ", ", ")
                return f"must be one of {choices}"
            case "missing":
                return "is missing"
            case "string_type":
                return "must be a non-empty string"
            case _:
                return "must be a table"

    def _unknown(self, path: KeyPath) -> str:
        name = str(path[-1])
        if name in SECRETS:
            variable = SECRETS[name]
            return f"do not put secrets in the config file; set {variable} to the variable's name"
        if path[:2] == ("permissions", "rules"):
            near = did_you_mean(name, RuleTable.model_fields)
        else:
            is_other = path[:2] == ("model", "others")
            near = nearest_key(f"model.{name}" if is_other else spelled(path))
        return _unknown_key(near)

    def _set(self, values: Values, at: KeyPath, path: str, value: Any) -> None:
        if isinstance(value, Path):
            value = self._base / value
        elif path == "admin.listen" and value.startswith(UNIX):
            value = f"{UNIX}{self._base / Path(value.removeprefix(UNIX)).expanduser()}"
        values[path] = Setting(value, self._source.at(self._moved.get(at, at)))

    def _read_others(self, raw: Json) -> None:
        at = ("model", "others")
        if (found := as_tables(raw)) is None:
            self._report(at, f"must be a list of tables, as in [[{OTHERS}]]")
            return
        tables = [_without_nulls(table, 0) for table in found]
        for place, table in enumerate(tables):
            if "name" not in table:
                self._report((*at, place, "name"), "is missing")
        models = self._validated(list[ModelSettings], tables, at)
        for place, (table, model) in enumerate(zip(tables, models, strict=True)):
            values: Values = {}
            for name in table:
                self._set(values, (*at, place, name), f"model.{name}", getattr(model, name))
            self.others.append(values)

    def _read_rules(self, raw: Json) -> None:
        at = ("permissions", "rules")
        if as_tables(raw) is None:
            self._report(at, f"must be {RULE_TABLES.expected}")
            return
        try:
            tables = TypeAdapter(list[RuleTable]).validate_python(raw)
        except ValidationError as error:
            self._report_errors(error, at)
            return
        rules = tuple(table.rule() for table in tables)
        self.values["permissions.rules"] = Setting(rules, self._source.at((*at, 0) if raw else at))

    def _read_servers(self, raw: Json) -> None:
        at = ("mcp", "servers")
        if (servers := as_table(raw)) is None:
            self._report(at, "must be a table with a table for each server")
            return
        known = ("command", "args", "env", "url", "headers", "type")
        for id_, members in servers.items():
            if (table := as_table(members)) is None:
                self._report((*at, id_), "must be a table with command, or with url")
                continue
            for name in table:
                if name not in known:
                    self._report((*at, id_, name), _unknown_key(did_you_mean(name, known)))
            try:
                configured_servers({id_: table})
            except DeclarationError as error:
                self._problems.append(
                    (self._source.line((*at, id_)), f"{self._source.at((*at, id_))}: {error}")
                )
        self.values["mcp.servers"] = Setting(servers, self._source.at(at))


def _unknown_key(near: str | None) -> str:
    return "unknown key" + (f"; did you mean {near}?" if near else "")


def _without_nulls(table: Mapping[str, Json], depth: int) -> dict[str, Any]:
    """Return a table without keys that have no value, as YAML allows, down to `depth` tables."""
    return {
        name: _without_nulls(inner, depth - 1) if depth and (inner := as_table(value)) else value
        for name, value in table.items()
        if value is not None
    }


def _is_set(tree: Any, steps: list[str]) -> bool:
    for step in steps:
        if not isinstance(tree, dict) or step not in tree:
            return False
        tree = cast("dict[str, Any]", tree)[step]
    return True


def _with_full_name(values: Values, problems: list[str], provider: str | None = None) -> Values:
    """Return `values` with the provider in the name of the model, if a model is named.

    `provider` is the one of a name that has none.
    """
    service, name = values.get(_SERVICE), values.get(_NAME)
    rest = {path: setting for path, setting in values.items() if path != _SERVICE}
    if name is None:
        if service is not None:
            problems.append(f"{service.origin}: {_SERVICE} also needs {_NAME}")
        return rest
    try:
        full = _full_name(name.value, service.value if service else None, provider)
    except InvalidSettingError as error:
        problems.append(f"{name.origin}: {_NAME}: {error}")
        return rest
    return rest | {_NAME: Setting(full, name.origin)}


def _full_name(name: str, service: str | None, provider: str | None) -> str:
    if service is None and provider is not None:
        try:
            return full_name(name)
        except InvalidSettingError:
            return full_name(name, provider)
    return full_name(name, service)


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
    before = values.get(_NAME) or Setting(DemoModel.name, DEFAULT)
    provider, colon, bare = before.value.partition(":")
    if _NAME not in layer and colon:
        layer = layer | {_NAME: Setting(bare, before.origin)}
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
