"""Changes to `config.toml` that keep its comments and its layout.

Whole tables are added and removed as text; a text that would then not mean what it should is not
written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from acp_console.config import parse_config
from acp_console.paths import write_private
from acp_protocol.errors import AcpError
from acp_protocol.user_files.toml_source import read_text

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


class ConfigEditError(AcpError):
    """A change cannot be made; the message says why, and where to make it by hand."""


class EditableConfig:
    """The user's configuration as text."""

    def __init__(self, path: Path) -> None:
        """Read the file; one that does not exist counts as empty.

        Raises:
            InvalidFileError: it cannot be read or is invalid.
        """
        self.path = path
        self._text = read_text(path) if path.exists() or path.is_symlink() else ""
        self.config = parse_config(path, self._text)

    def add_agent(self, name: str, table: Mapping[str, Any]) -> None:
        """Add an agent, or a command for a known one that the file changes.

        Raises:
            ConfigEditError: the file has such an agent already, or cannot be changed as text.
            FileWriteError: the file cannot be written.
        """
        before = self.config.agents.get(name)
        if before is not None and (before.command is not None or before.url is not None):
            raise ConfigEditError(
                f"there is an agent {name!r} already ({self._at(name)}); remove it first: "
                f"acp-console agents rm {name}"
            )
        added = [f"{_key(key)} = {_value(value)}\n" for key, value in table.items()]
        lines = self._text.splitlines(keepends=True)
        if before is None:
            if lines:
                lines[-1] = lines[-1].rstrip("\n") + "\n"
                lines.append("\n")
            lines += [f"[agents.{_key(name)}]\n", *added]
        else:
            header = next(
                (at for at, line in enumerate(lines) if _table_of(line) == ["agents", name]), None
            )
            if header is None:
                raise self._refusal(name)
            lines[header + 1 : header + 1] = added
        agents = self._agents()
        agents[name] = {**agents.get(name, {}), **table}
        self._write(lines, self._with_agents(agents), self._refusal(name))

    def remove_agent(self, name: str) -> None:
        """Remove the table of an agent, with the comments directly above it.

        Raises:
            ConfigEditError: there is none, or it is not written as a table of its own.
            FileWriteError: the file cannot be written.
        """
        agents = self._agents()
        if agents.pop(name, None) is None:
            raise ConfigEditError(f"there is no agent {name!r} in {self.path}")
        lines = self._text.splitlines(keepends=True)
        tables = [at for at, line in enumerate(lines) if line.lstrip().startswith("[")]
        starts: list[int] = []
        for start in tables:
            while start and lines[start - 1].lstrip().startswith("#"):
                start -= 1  # noqa: PLW2901 - found by going back
            starts.append(start)
        kept = lines[: min(starts, default=len(lines))]
        for table, start, end in zip(tables, starts, [*starts, len(lines)][1:], strict=True):
            if _table_of(lines[table])[:2] != ["agents", name]:
                kept += lines[start:end]
        while kept and not kept[-1].strip():
            kept.pop()
        self._write(kept, self._with_agents(agents), self._refusal(name))

    def set_value(self, table: str, key: str, value: bool | str) -> None:
        """Set a key of a table; comments beside and around it stay.

        Raises:
            ConfigEditError: the file cannot be changed as text.
            FileWriteError: the file cannot be written.
        """
        lines = self._text.splitlines(keepends=True)
        if lines:
            lines[-1] = lines[-1].rstrip("\n") + "\n"
        line = f"{_key(key)} = {_value(value)}"
        header = next((at for at, each in enumerate(lines) if _table_of(each) == [table]), None)
        if header is None:
            lines += [*(["\n"] if lines else []), f"[{_key(table)}]\n", f"{line}\n"]
        else:
            values = r'(true|false|"[^"\\]*")'
            written = re.compile(rf"\s*{re.escape(_key(key))}\s*=\s*{values}")
            for at, each in enumerate(lines[header + 1 :], header + 1):
                if each.lstrip().startswith("["):
                    lines.insert(header + 1, f"{line}\n")
                    break
                if found := written.match(each):
                    lines[at] = line + each[found.end() :]
                    break
            else:
                lines.insert(header + 1, f"{line}\n")
        tree = tomllib.loads(self._text)
        refusal = ConfigEditError(
            f"{self.path}: {table}.{key} is written in a way that only you can change"
        )
        self._write(lines, {**tree, table: {**tree.get(table, {}), key: value}}, refusal)

    def _agents(self) -> dict[str, Any]:
        return dict(tomllib.loads(self._text).get("agents", {}))

    def _at(self, name: str) -> str:
        return self.config.at("agents", name)

    def _refusal(self, name: str) -> ConfigEditError:
        return ConfigEditError(f"{self._at(name)}: written in a way that only you can change")

    def _with_agents(self, agents: Mapping[str, Any]) -> Mapping[str, Any]:
        others = {key: each for key, each in tomllib.loads(self._text).items() if key != "agents"}
        return {**others, "agents": agents} if agents else others

    def _write(self, lines: list[str], meant: Mapping[str, Any], refusal: ConfigEditError) -> None:
        """Write the file if it then says what is meant."""
        text = "".join(lines)
        try:
            tree = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            raise refusal from None
        if {key: each for key, each in tree.items() if each or key != "agents"} != meant:
            raise refusal
        self.config = parse_config(self.path, text)
        self._text = text
        write_private(self.path, text)


def _table_of(line: str) -> list[str]:
    """Return the keys of the table that a line begins, as in `[agents.mine]`; empty if none."""
    try:
        tree: Any = tomllib.loads(line) if line.lstrip().startswith("[") else {}
    except tomllib.TOMLDecodeError:
        return []
    keys: list[str] = []
    while isinstance(tree, dict) and tree:
        [(key, tree)] = cast("dict[str, Any]", tree).items()
        keys.append(key)
    return keys


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return f"{{ {', '.join(f'{_key(key)} = {_value(each)}' for key, each in pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, cast('list[Any]', value)))}]"
    # As in JSON, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
