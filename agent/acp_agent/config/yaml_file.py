"""YAML as the Continuum Router has it: the agent's keys stand below `acp`.

Only plain values are taken, read as YAML 1.2 does: `no` and `1:30` are texts. Aliases are refused:
with few lines they can spell out more than any memory holds.

Source: Continuum Router, ACP, "Configuration"; YAML 1.2, 10.3 "Core Schema".
"""
# The library's stubs leave much open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

import yaml
from yaml.composer import Composer
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from acp_agent.config.documents import ConfigurationError, Document, Spot
from acp_protocol.jsonrpc import Json

ROOM: Final = "acp"
DEPTH: Final = 32
_CORE: Final = "tag:yaml.org,2002:"


class _Resolver(BaseResolver):
    """What plain words mean in YAML 1.2."""


for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    _Resolver.add_implicit_resolver(_CORE + _name, re.compile(rf"^(?:{_pattern})$"), _first)


class _Loader(Reader, Scanner, Parser, Composer, _Resolver):
    """Composes nodes, and constructs nothing of them."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        _Resolver.__init__(self)
        self.depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        """Compose a node that is no alias, and not too deep."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem="an alias is not taken", problem_mark=mark)
        self.depth += 1
        if self.depth > DEPTH:
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem="it stands too deep", problem_mark=mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def read_yaml(path: Path, text: str) -> Document:
    """Return what `text` says below `acp`, which stands in the file at `path`.

    Raises:
        ConfigurationError: it is no YAML, or has no `acp`.
    """
    reader = _Values(path)
    try:
        node = _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        # What is missing at the end is missed behind it.
        line = min(mark.line + 1 if mark else 1, len(text.splitlines()) or 1)
        raise ConfigurationError(f"{path}:{line}: {problem.problem or 'it is no YAML'}") from None
    except yaml.YAMLError:
        raise ConfigurationError(f"{path}: a sign in it is none that YAML takes") from None
    tree = reader.value(node, ()) if node is not None else {}
    inner = cast("Mapping[str, Json]", tree).get(ROOM) if isinstance(tree, dict) else None
    if not isinstance(inner, dict):
        raise ConfigurationError(f"{path}: {ROOM}: is missing; what sets the agent stands below it")
    lines = {spot[1:]: line for spot, line in reader.lines.items() if spot[:1] == (ROOM,)}
    return Document(path, inner, lines)


class _Values:
    """Makes values of nodes, and notes their lines."""

    def __init__(self, path: Path) -> None:
        self.lines: dict[Spot, int] = {}
        self._path = path

    def value(self, node: Node, spot: Spot) -> Json:
        """Return the value of a node, which stands at `spot`."""
        if isinstance(node, MappingNode):
            return self._table(node, spot)
        if isinstance(node, SequenceNode):
            values: list[Json] = []
            for place, each in enumerate(node.value):
                self.lines[*spot, place] = each.start_mark.line + 1
                values.append(self.value(each, (*spot, place)))
            return values
        return self._scalar(cast("ScalarNode", node))

    def _table(self, node: MappingNode, spot: Spot) -> dict[str, Json]:
        table: dict[str, Json] = {}
        for name, inner in node.value:
            key: str = name.value if isinstance(name, ScalarNode) else ""
            if not key or key == "<<":
                raise self._refused(name, "a key has to be a word")
            if key in table:
                raise self._refused(name, f"{key} stands there twice")
            self.lines[*spot, key] = name.start_mark.line + 1
            table[key] = self.value(inner, (*spot, key))
        return table

    def _scalar(self, node: ScalarNode) -> Json:
        text: str = node.value
        match node.tag.removeprefix(_CORE):
            case "str":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int" if len(text) < 20:
                return int(text)
            case "float" | "int":
                return float(text)
            case _:
                raise self._refused(node, "a tag is not taken")

    def _refused(self, node: Node, reason: str) -> ConfigurationError:
        return ConfigurationError(f"{self._path}:{node.start_mark.line + 1}: {reason}")
