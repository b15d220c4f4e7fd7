"""YAML as version 1.2 reads it: `no` and `1:30` are strings.

Nodes are composed, and no Python objects constructed of them. Aliases are refused, because a few
lines of them can expand to more than any memory holds.

Source: YAML 1.2, 10.3 "Core Schema".
"""
# The library's stubs leave much open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import yaml
from yaml.composer import Composer
from yaml.nodes import Node
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.toml_source import InvalidFileError, KeyPath, ParsedFile, as_table

MAX_DEPTH: Final = 32
_CORE: Final = "tag:yaml.org,2002:"


class _Loader(Reader, Scanner, Parser, Composer, BaseResolver):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)
        self.depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        mark = self.peek_event().start_mark
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are not allowed", problem_mark=mark)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem="nested too deeply", problem_mark=mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(_CORE + _name, re.compile(rf"^(?:{_pattern})$"), _first)


def parse_yaml(path: Path, text: str) -> ParsedFile:
    """Return the content of `text`, which is the YAML file at `path`.

    Raises:
        InvalidFileError: it is not YAML.
    """
    try:
        node = _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # What is missing at the end of the file has a mark behind the last line.
        line = min(mark.line + 1 if mark else 1, len(text.splitlines()) or 1)
        raise InvalidFileError(f"{path}:{line}: {error.problem or 'not YAML'}") from None
    except yaml.YAMLError:
        raise InvalidFileError(f"{path}: it has a character that YAML does not allow") from None
    lines: dict[KeyPath, int] = {}
    tree = _value(path, node, (), lines) if node is not None else {}
    return ParsedFile(path, as_table(tree) or {}, lines)


def _value(path: Path, node: Any, at: KeyPath, lines: dict[KeyPath, int]) -> Json:
    """Return the value of a node, and note the lines of everything in it."""
    if node.id == "scalar":
        return _scalar(path, node)
    if node.id == "sequence":
        for index, each in enumerate(node.value):
            lines[*at, index] = each.start_mark.line + 1
        return [_value(path, each, (*at, index), lines) for index, each in enumerate(node.value)]
    table: dict[str, Json] = {}
    for name, inner in node.value:
        line = name.start_mark.line + 1
        key = name.value if name.id == "scalar" else ""
        if not key or key == "<<":
            raise InvalidFileError(f"{path}:{line}: a key must be a word")
        if key in table:
            raise InvalidFileError(f"{path}:{line}: {key}: is set twice")
        lines[*at, key] = line
        table[key] = _value(path, inner, (*at, key), lines)
    return table


def _scalar(path: Path, node: Any) -> Json:
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
            line = node.start_mark.line + 1
            raise InvalidFileError(f"{path}:{line}: tags are not allowed")
