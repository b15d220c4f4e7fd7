"""The configuration of Continuum Router, translated to the keys of this agent.

In YAML, everything is below `acp`. Some keys have other names there, and storage has two keys. The
names also work in TOML.

Source: Continuum Router, ACP, "Configuration".
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final, cast

from acp_agent.settings.types import MEMORY
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.toml_source import InvalidFileError, KeyPath, ParsedFile, as_table

ROOT: Final = "acp"
ALIASES: Final = {
    "default_model": "model.name",
    "system_prompt": "model.system_prompt",
    "coding_agent_mode": "model.coding_agent_mode",
    "mcp.max_connections_per_session": "mcp.max_connections",
    "mcp.server_spawn_timeout": "mcp.spawn_timeout",
}
"""The names of keys in Continuum Router, and their names here."""
IGNORED: Final = {
    "agent.version": "the version is the program's own",
    "capabilities": "the agent itself reports what it can do",
}
"""The keys of Continuum Router that have no effect here, and why."""
STORAGE_PATH: Final = "sessions.storage_path"
"""The directory, if `sessions.storage` is `file`."""
_STORAGE: Final = "sessions.storage"
_ON_DISK: Final = "file"
CONTINUUM_POLICY: Final[Mapping[str, Any]] = {
    "default_policy": "ask_always",
    "auto_allow": ["read", "search", "think"],
    "always_ask": ["delete", "edit", "execute"],
}
"""What the router decides where its configuration says nothing.

Source: Continuum Router, ACP, "Permission Options".
"""
_PROVIDER: Final = "continuum"
"""The provider of a `default_model` without a prefix: the file is the router's own."""


class TranslatedConfig:
    """A configuration with the names of this agent; paths in problems are those in the file."""

    def __init__(self, tree: Mapping[str, Json]) -> None:
        self.tree: dict[str, Any] = deepcopy(dict(tree))
        self.moved: dict[KeyPath, KeyPath] = {}
        """The paths of values in the file, by their paths in `tree`."""
        self.notes: list[tuple[KeyPath, str]] = []
        self.problems: list[tuple[KeyPath, str]] = []
        for path, reason in IGNORED.items():
            if self._pop(path) is not None:
                self.notes.append((_steps(path), f"{path} has no effect: {reason}"))
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
        self.problems.append((_steps(path), problem))

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
            self.moved[section, name] = _steps(alias)


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
        section = {**section, "permissions": {**CONTINUUM_POLICY, **given}}
    lines = {path[1:]: line for path, line in source.lines.items() if path[:1] == (ROOT,)}
    return ParsedFile(source.path, section, lines)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))
