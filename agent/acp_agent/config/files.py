"""What a file sets: its keys looked at one by one, and everything that is wrong told at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from acp_agent.config.configuration import ROOMS
from acp_agent.config.documents import Document, Spot, spelled
from acp_agent.config.keys import (
    BY_PATH,
    FORMER,
    IDLE,
    MODEL_KEYS,
    OTHERS,
    SECRETS,
    SERVER_MEMBERS,
    SERVERS,
    STORAGE,
    STORAGE_PATH,
    Key,
)
from acp_agent.config.rules import MEMBERS, MUST, RULES, mistakes
from acp_agent.config.values import PATH, UNIX, UnfitError
from acp_agent.mcp.declarations import DeclarationError, configured_servers
from acp_protocol.jsonrpc import Json

_ON_DISK = "file"
_ROUTER = "continuum"
"""Whose models a bare `default_model` names: that file is the router's own."""
_MODEL = {key.path: key for key in MODEL_KEYS}


@dataclass(frozen=True, slots=True)
class Setting:
    """A value, and who has set it."""

    value: Any
    origin: str


class FileSettings:
    """The settings of a file; `problems` are sentences, each with the line that it is about."""

    def __init__(self, document: Document) -> None:
        self.settings: dict[str, Setting] = {}
        self.others: list[dict[str, Setting]] = []
        """The further models, by the keys of `model`."""
        self._problems: list[tuple[int, str]] = []
        self.notes: list[str] = []
        """What means nothing here, and why."""
        self._document = document
        self._base = document.path.absolute().parent
        """What relative names of files are told from."""
        self._take(document.tree, (), "")
        self._find_storage()

    @property
    def problems(self) -> list[str]:
        """What is wrong, from the first line to the last."""
        return [told for _, told in sorted(self._problems, key=lambda problem: problem[0])]

    def _tell(self, spot: Spot, told: str) -> None:
        self._problems.append((self._document.line(spot), f"{self._document.at(spot)}: {told}"))

    def _take(self, table: Mapping[str, Json], spot: Spot, path: str) -> None:
        """Take the values of a table, whose keys begin with `path`."""
        for name, raw in table.items():
            self._take_one((*spot, name), f"{path}{name}", raw)

    def _take_one(self, spot: Spot, path: str, raw: Json) -> None:
        if path in IDLE:
            self.notes.append(f"{self._document.at(spot)}: {path} means nothing here: {IDLE[path]}")
        elif path == OTHERS:
            self._take_others(spot, raw)
        elif path == "mcp.servers":
            self._take_servers(spot, raw)
        elif path == "permissions.rules":
            self._take_rules(spot, raw)
        elif path in FORMER:
            self._take_former(spot, path, raw)
        elif path in BY_PATH or path == STORAGE_PATH:
            self._set(self.settings, spot, BY_PATH.get(path), raw)
        elif not _is_room(path):
            self._refuse_unknown(spot, path)
        elif isinstance(raw, dict):
            self._take(cast("dict[str, Json]", raw), spot, f"{path}.")
        elif raw is not None:
            self._tell(spot, f"{spelled(spot)}: must be a table")

    def _set(self, settings: dict[str, Setting], spot: Spot, key: Key | None, raw: Json) -> None:
        """Set a key to what stands at `spot`; None is the key of the storage's path."""
        origin = self._document.at(spot)
        if raw is None:
            # In YAML a key without a value is left as it is.
            return
        path = key.path if key else STORAGE_PATH
        if path == "sessions.storage" and raw == _ON_DISK:
            settings[path] = Setting(_ON_DISK, origin)
            return
        try:
            value = (key.kind if key else PATH).value(raw)
        except UnfitError as problem:
            self._tell(spot, f"{spelled(spot)}: {problem}")
            return
        settings[path] = Setting(self._placed(path, value), origin)

    def _placed(self, path: str, value: Any) -> Any:
        """Return names of files as told from the file's own directory."""
        if isinstance(value, Path):
            return self._base / value
        if path == "admin.listen" and value.startswith(UNIX):
            socket = Path(value.removeprefix(UNIX)).expanduser()
            return f"{UNIX}{self._base / socket}"
        return value

    def _take_former(self, spot: Spot, path: str, raw: Json) -> None:
        now = BY_PATH[FORMER[path]]
        if self._has(now.path):
            self._tell(spot, f"{spelled(spot)}: {now.path} says the same; one of them has to go")
            return
        self._set(self.settings, spot, now, raw)
        is_bare = isinstance(raw, str) and ":" not in raw and raw != "demo"
        if path == "default_model" and is_bare and not self._has("model.service"):
            self.settings["model.service"] = Setting(_ROUTER, self._document.at(spot))

    def _has(self, path: str) -> bool:
        """Return whether the file names a key by its own name."""
        value: Json = self._document.tree
        for name in path.split("."):
            value = cast("dict[str, Json]", value).get(name) if isinstance(value, dict) else None
        return value is not None

    def _take_others(self, spot: Spot, raw: Json) -> None:
        tables = cast("list[Json]", raw) if isinstance(raw, list) else None
        if tables is None or not all(isinstance(table, dict) for table in tables):
            self._tell(spot, f"{OTHERS}: must be a list of tables, as in [[{OTHERS}]]")
            return
        for place, table in enumerate(tables):
            settings: dict[str, Setting] = {}
            for name, value in cast("dict[str, Json]", table).items():
                at = (*spot, place, name)
                if (key := _MODEL.get(f"model.{name}")) is not None:
                    self._set(settings, at, key, value)
                else:
                    self._refuse_unknown(at, f"model.{name}")
            if "model.name" not in settings:
                self._tell((*spot, place), f"{OTHERS}.{place + 1}.name: is missing")
            self.others.append(settings)

    def _take_rules(self, spot: Spot, raw: Json) -> None:
        tables = cast("list[Json]", raw) if isinstance(raw, list) else None
        if tables is None or not all(isinstance(table, dict) for table in tables):
            if raw is not None:
                self._tell(spot, f"{spelled(spot)}: must be {MUST}")
            return
        count = len(self._problems)
        for place, table in enumerate(tables):
            at = (*spot, place)
            members = cast("dict[str, Json]", table)
            for name in [each for each in members if each not in MEMBERS]:
                near = get_close_matches(name, MEMBERS, 1)
                self._tell_unknown((*at, name), near[0] if near else None)
            for name, why in mistakes(members):
                where = (*at, name) if name else at
                self._tell(where, f"{spelled(where)}: {why}")
        if len(self._problems) == count:
            origin = self._document.at((*spot, 0) if tables else spot)
            self.settings["permissions.rules"] = Setting(RULES.value(tables), origin)

    def _take_servers(self, spot: Spot, raw: Json) -> None:
        if not isinstance(raw, dict):
            self._set(self.settings, spot, BY_PATH["mcp.servers"], raw)
            return
        tables = cast("dict[str, Json]", raw)
        for id_, table in tables.items():
            at = (*spot, id_)
            if not isinstance(table, dict):
                self._tell(at, f"{spelled(at)}: must be a table with command, or with url")
                continue
            members = cast("dict[str, Json]", table)
            unknown = [name for name in members if name not in SERVER_MEMBERS]
            for name in unknown:
                near = get_close_matches(name, SERVER_MEMBERS, 1)
                self._tell_unknown((*at, name), near[0] if near else None)
            try:
                configured_servers({id_: members})
            except DeclarationError as problem:
                self._tell(at, str(problem))
        value = SERVERS.value(tables)
        self.settings["mcp.servers"] = Setting(value, self._document.at(spot))

    def _refuse_unknown(self, spot: Spot, path: str) -> None:
        name = path.rpartition(".")[2]
        if name in SECRETS:
            told = f"must stand in no file; {SECRETS[name]} names the variable that holds it"
            self._tell(spot, f"{spelled(spot)}: {told}")
            return
        self._tell_unknown(spot, nearest(path))

    def _tell_unknown(self, spot: Spot, near: str | None) -> None:
        hint = f"; the nearest is {near}" if near else ""
        self._tell(spot, f"{spelled(spot)}: there is no such key{hint}")

    def _find_storage(self) -> None:
        """Put the two keys of the Continuum Router into the one that is ours."""
        named = self.settings.pop(STORAGE_PATH, None)
        storage = self.settings.get("sessions.storage")
        is_on_disk = storage is not None and storage.value == _ON_DISK
        if is_on_disk and named is not None:
            self.settings["sessions.storage"] = named
        elif is_on_disk:
            told = f"must be {STORAGE.must}; {_ON_DISK} needs {STORAGE_PATH} besides"
            self._tell(("sessions", "storage"), f"sessions.storage: {told}")
        elif named is not None:
            told = f"sessions.storage: must be {_ON_DISK} where {STORAGE_PATH} is set"
            self._tell(("sessions", "storage_path"), told)


def nearest(path: str) -> str | None:
    """Return the known key that comes nearest to `path`, if one does."""
    known = [*BY_PATH, OTHERS, *FORMER, *ROOMS]
    room, _, name = path.partition(".")
    if name and (begun := [key for key in BY_PATH if key.startswith(f"{room}.{name}")]):
        return begun[0]
    if near := get_close_matches(path, known, 1, cutoff=0.75):
        return near[0]
    # In the wrong room, or in none.
    by_name = {key.rpartition(".")[2]: key for key in reversed(known)}
    near = get_close_matches(path.rpartition(".")[2], by_name, 1, cutoff=0.8)
    return by_name[near[0]] if near else None


def _is_room(path: str) -> bool:
    """Return whether keys stand below `path`."""
    return any(key.startswith(f"{path}.") for key in (*BY_PATH, *IDLE))
