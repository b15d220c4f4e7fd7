"""A configuration file as it was read: its values, and the line that each of them stands in."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from acp_protocol.errors import AcpError
from acp_protocol.jsonrpc import Json

SIZE: Final = 2**20
"""Bytes that a file may have."""
YAML_ENDINGS: Final = frozenset({".yaml", ".yml"})

Spot: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys, and places in lists."""


class ConfigurationError(AcpError):
    """The configuration cannot be used; each of `problems` is a line that says why."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says."""

    path: Path
    tree: Mapping[str, Json]
    lines: Mapping[Spot, int] = field(repr=False)
    """The line of each value, from 1 on."""

    def at(self, spot: Spot) -> str:
        """Return where a value stands, as in `acp-agent.toml:7`."""
        line = self.line(spot)
        return f"{self.path}:{line}" if line else str(self.path)

    def line(self, spot: Spot) -> int:
        """Return the line of a value, or of what it stands in; 0 where there is none."""
        while spot and spot not in self.lines:
            spot = spot[:-1]
        return self.lines.get(spot, 0)


def read_document(path: Path) -> Document:
    """Return what the file at `path` says; by its ending it is TOML or YAML.

    Raises:
        ConfigurationError: it cannot be read.
    """
    text = _text(path)
    if path.suffix.lower() == ".json":
        raise ConfigurationError(f"{path}: a configuration is TOML, or YAML with .yaml or .yml")
    if path.suffix.lower() in YAML_ENDINGS:
        from acp_agent.config.yaml_file import read_yaml

        return read_yaml(path, text)
    from acp_agent.config.toml_file import read_toml

    return read_toml(path, text)


def spelled(spot: Spot) -> str:
    """Return the way to a value as it is written in messages: `model.others.1.name`.

    Tables of a list are counted from 1.
    """
    return ".".join(str(step + 1 if isinstance(step, int) else step) for step in spot)


def _text(path: Path) -> str:
    try:
        # A FIFO would be waited for, and a device never ends.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor has no path
            found = os.fstat(descriptor)
            content = file.read(SIZE + 1) if stat.S_ISREG(found.st_mode) else None
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it has no such name"
        raise ConfigurationError(f"{path}: the configuration cannot be read: {reason}") from None
    if content is None:
        raise ConfigurationError(f"{path}: the configuration cannot be read: it is no file")
    if found.st_mode & stat.S_IWOTH:
        # It names programs that are started.
        raise ConfigurationError(f"{path}: everybody may write to it; chmod o-w {path}")
    if len(content) > SIZE:
        raise ConfigurationError(f"{path}: it is larger than {SIZE // 2**10} KiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise ConfigurationError(f"{path}:{line}: it is no UTF-8") from None
