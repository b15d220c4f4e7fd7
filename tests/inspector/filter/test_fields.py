"""The words that fields may hold: the lists stand in the code, the schemas say what is in them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

from acp_inspector.filter.fields import FIELDS, KINDS, OPERATORS, SIDES
from acp_inspector.filter.frames import EntryKind
from acp_inspector.views.annotations import SEVERITIES, Severity
from acp_protocol.framing import Side
from acp_protocol.schema import v1, v2
from acp_protocol.schema.newer import UPDATES as NEWER

SHAPES = [Path(module.__file__ or "").read_text() for module in (v1, v2)]


def literals(name: str) -> set[str]:
    """Return the words of the type `name`, of all versions."""
    found = [
        re.search(rf"^{name}: TypeAlias = (.*?)\n\n", text, re.MULTILINE | re.DOTALL)
        for text in SHAPES
    ]
    words: set[str] = set()
    for each in filter(None, found):
        words |= {
            node.value
            for node in ast.walk(ast.parse(each[1]))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
    return words


def test_words_of_ours_are_those_of_their_types() -> None:
    assert set(KINDS) == set(get_args(EntryKind))
    assert set(SEVERITIES) == set(get_args(Severity))
    assert set(SIDES) == set(get_args(Side))


def test_words_of_the_protocol_are_those_of_the_schemas() -> None:
    """They are lists of their own so that a proxy needs no schema to read an expression."""
    updates = re.compile(r'sessionUpdate: Literal\["(\w+)"\]')
    assert set(FIELDS["update"].values) == {*NEWER[1], *NEWER[2]} | {
        word for text in SHAPES for word in updates.findall(text)
    }
    assert set(FIELDS["status"].values) == literals("ToolCallStatus")
    assert set(FIELDS["tool.kind"].values) == literals("ToolKind")


def test_every_field_is_known_by_its_name_and_has_operators() -> None:
    for name, field in FIELDS.items():
        assert field.name == name
        assert field.description
        assert field.operators == OPERATORS[field.type]
