"""The configuration of Continuum Router, translated to the keys of this agent.

In YAML, everything is below `acp`. Some keys have other names there, and storage has two keys. The
names also work in TOML.

Source: Continuum Router, ACP, "Configuration".
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from acp_agent.continuum.policy import DEFAULT_POLICY
from acp_agent.settings.load import ConfigFile
from acp_agent.settings.types import MEMORY
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.toml_source import (
    InvalidFileError,
    ParsedFile,
    as_table,
    parse_toml,
    read_text,
)

ROOT: Final = "acp"
YAML_SUFFIXES: Final = frozenset({".yaml", ".yml"})
ALIASES: Final = {
    "default_model": "model.name",
    "system_prompt": "model.system_prompt",
    "coding_agent_mode": "model.coding_agent_mode",
    "mcp.max_connections_per_session": "mcp.max_connections",
    "mcp.server_spawn_timeout": "mcp.spawn_timeout",
}
"""The names of keys in Continuum Router, and their names here."""
AUDIO: Final = "capabilities.audio"
"""The key of Continuum Router that may only be off here."""
STORAGE_PATH: Final = "sessions.storage_path"
"""The directory, if `sessions.storage` is `file`."""
_STORAGE: Final = "sessions.storage"
_ON_DISK: Final = "file"
_PROVIDER: Final = "continuum"
"""The provider of a `default_model` without a prefix: the file is the router's own."""


def read_config(path: Path) -> ConfigFile:
    """Return the file at `path`; its suffix says whether it is TOML or YAML.

    Raises:
        InvalidFileError: it cannot be read.
    """
    text = read_text(path)
    if path.suffix.lower() == ".json":
        raise InvalidFileError(f"{path}: a configuration is TOML, or YAML with .yaml or .yml")
    if path.suffix.lower() in YAML_SUFFIXES:
        # YAML files are rare, and the library takes time.
        from acp_agent.continuum.yaml_source import parse_yaml

        return translated(acp_section(parse_yaml(path, text)))
    return translated(parse_toml(path, text))


def translated(source: ParsedFile) -> ConfigFile:
    """Return a file with the names of this agent's keys."""
    return _Translation(source).file


class _Translation:
    """Renames the keys of a file; paths in problems are those in the file."""

    def __init__(self, source: ParsedFile) -> None:
        self.tree = _without_nulls(source.tree, 2)
        self.file = ConfigFile(source, self.tree, other_names=frozenset(ALIASES))
        if self._pop(AUDIO) not in (None, False):
            reason = f"{AUDIO} has no effect: no model takes audio here"
            self.file.notes.append((_steps(AUDIO), reason))
        for alias, path in ALIASES.items():
            self._translate(alias, path)
        self._translate_storage()

    def _translate(self, alias: str, path: str) -> None:
        value = self._pop(alias)
        if value is None:
            return
        if self._get(path) is not None:
            self._report(alias, f"{path} is the same key; remove one of them")
            return
        self._put(path, value, alias)
        is_bare = isinstance(value, str) and ":" not in value and value != "demo"
        if alias == "default_model" and is_bare and self._get("model.service") is None:
            self._put("model.service", _PROVIDER, alias)

    def _translate_storage(self) -> None:
        directory, storage = self._pop(STORAGE_PATH), self._get(_STORAGE)
        if storage == _ON_DISK and directory is not None:
            # A directory of that name is not what the word means as a value of sessions.storage.
            self._put(_STORAGE, f"./{MEMORY}" if directory == MEMORY else directory, STORAGE_PATH)
        elif storage == _ON_DISK:
            self._pop(_STORAGE)
            self._report(
                _STORAGE, f"must be {MEMORY} or a directory; {_ON_DISK} also needs {STORAGE_PATH}"
            )
        elif directory is not None:
            self._report(STORAGE_PATH, f"{_STORAGE} must be {_ON_DISK} where it is set")

    def _report(self, path: str, problem: str) -> None:
        self.file.problems.append((_steps(path), problem))

    def _get(self, path: str) -> Any:
        table: Any = self.tree
        for step in _steps(path):
            table = cast("dict[str, Any]", table).get(step) if isinstance(table, dict) else None
        return table

    def _pop(self, path: str) -> Any:
        *outer, name = path.split(".")
        table = self._get(".".join(outer)) if outer else self.tree
        return cast("dict[str, Any]", table).pop(name, None) if isinstance(table, dict) else None

    def _put(self, path: str, value: Any, alias: str) -> None:
        section, name = path.split(".")
        table = self.tree.get(section)
        if table is None:
            table = self.tree[section] = {}
        if isinstance(table, dict):
            table[name] = value
            self.file.moved[section, name] = _steps(alias)


def acp_section(source: ParsedFile) -> ParsedFile:
    """Return what a YAML file has below `acp`.

    Raises:
        InvalidFileError: it has nothing there.
    """
    section = as_table(source.tree.get(ROOT))
    if section is None:
        raise InvalidFileError(f"{source.path}: {ROOT}: is missing; the agent's keys are below it")
    given = as_table(section.get("permissions") or {})
    if given is not None:
        given = {key: value for key, value in given.items() if value is not None}
        section = {**section, "permissions": {**DEFAULT_POLICY, **given}}
    lines = {path[1:]: line for path, line in source.lines.items() if path[:1] == (ROOT,)}
    return ParsedFile(source.path, section, lines)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _without_nulls(table: Mapping[str, Json], depth: int) -> dict[str, Any]:
    """Return a table without keys that have no value, as YAML allows, down to `depth` tables."""
    return {
        name: _without_nulls(inner, depth - 1) if depth and (inner := as_table(value)) else value
        for name, value in table.items()
        if value is not None
    }
