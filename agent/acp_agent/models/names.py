"""What tools are called before a service, where not every name is taken.

Our names may hold dots, as those of MCP servers do, and be of any length. Services take letters,
digits, `_` and `-`, and 64 of them at most.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from acp_agent.models.model import ToolOffer
from acp_protocol.jsonrpc import Json

LENGTH: Final = 64


class ToolNames:
    """The names of one request, there and back."""

    def __init__(self, tools: Sequence[ToolOffer]) -> None:
        # Who has a name that is taken as it is keeps it, whoever else would get the same.
        kept = {tool.name for tool in tools if _fitted(tool.name) == tool.name}
        self._told: dict[str, str] = {name: name for name in kept}
        self._meant: dict[str, str] = dict(self._told)
        for tool in tools:
            self._add(tool.name)

    def told(self, name: str) -> str:
        """Return what a tool is called before the service, one that is not offered too."""
        return self._told.get(name) or _fitted(name)

    def meant(self, told: str) -> str:
        """Return the tool that the service calls so; a name that nobody has stays as it is."""
        return self._meant.get(told, told)

    def _add(self, name: str) -> None:
        if name in self._told:
            return
        fitted = _fitted(name)
        number = 2
        while fitted in self._meant:
            end = f"_{number}"
            fitted = _fitted(name)[: LENGTH - len(end)] + end
            number += 1
        self._told[name] = fitted
        self._meant[fitted] = name


def _fitted(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:LENGTH] or "_"


def schema_of(tool: ToolOffer) -> dict[str, Json]:
    """Return the schema of a tool's arguments: an object, whether it says so or not."""
    parameters: Mapping[str, Json] = tool.parameters
    return {"properties": {}, **parameters, "type": "object"}
