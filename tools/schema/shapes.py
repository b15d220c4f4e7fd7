"""The source of the shapes: a class for each object, an alias for everything else."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from tools.schema.annotations import META, annotation, member_annotation
from tools.schema.objects import ELSE, Arm, Layout, Tag
from tools.schema.published import Published, Schema, alternatives, references


@dataclass(frozen=True)
class Piece:
    """A class or an alias."""

    name: str
    source: str
    needs: frozenset[str]
    """The pieces that it needs to follow."""


def shapes_source(published: Published) -> str:
    """Return the module of all shapes of a version, not formatted yet."""
    pieces = _Shapes(published.definitions).pieces()
    return _head(published) + "\n\n".join(piece.source for piece in _in_order(pieces)) + "\n"


def _head(published: Published) -> str:
    version = published.version
    return f'''"""The shapes of ACP version {version}. Made by tools/make_schema.py, never by hand.

Source: v{version}/schema.unstable.json, SHA-256 {published.digest}…
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

from typing_extensions import NotRequired, TypedDict

from acp_protocol.schema.constraints import (
    ELSE, I32, I64, ITEMS, NULL, U16, U32, U64, VALUE, VALUE_AND_ITEMS,
    Discriminator, MinLength, Range,
)

SCHEMA_ID: Final = "{published.identity}"

UNSTABLE: Final = frozenset({sorted(published.definitions.keys() - published.stable.keys())!r})
"""Definitions that the stable schema does not have."""

UNSTABLE_MEMBERS: Final[dict[str, tuple[str, ...]]] = {_unstable_members(published)!r}
"""Members and tag values of shared definitions that the stable schema does not have."""

Meta: TypeAlias = {META}
"""What a `_meta` may be."""


'''


class _Shapes:
    """Gathers the pieces of all definitions."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self._definitions = definitions
        self._layout = Layout(definitions)

    def pieces(self) -> list[Piece]:
        """Return the pieces in the order of their definitions' names."""
        return [
            piece
            for name, schema in sorted(self._definitions.items())
            for piece in self._defined(name, schema)
        ]

    def _defined(self, name: str, schema: Schema) -> list[Piece]:
        if not self._layout.is_object(schema):
            return [_alias(name, annotation(schema), references(schema))]
        arms = self._layout.arms(schema)
        if len(arms) == 1:
            return [_class(name, name, arms[0])]
        names = {arm.labels: self._arm_name(name, arm) for arm in arms}
        classes = [
            _class(names[arm.labels], f"{name}, {arm.label}", arm)
            for arm in arms
            if names[arm.labels] not in self._definitions
        ]
        return [*classes, *_unions(name, arms, names, depth=0)]

    def _arm_name(self, union: str, arm: Arm) -> str:
        """Return the class of an arm, which may be another definition as it stands."""
        for name in references(alternatives(self._definitions[union])):
            described = self._layout.arms(self._definitions[name])
            if len(described) == 1 and arm.is_like(described[0]):
                return name
        name = union + arm.label
        return f"Tagged{name}" if name in self._definitions else name


def _class(name: str, source: str, arm: Arm) -> Piece:
    lines = [
        f"class {name}(TypedDict, extra_items=Any):",
        f'    """Source: ACP schema, {source}."""',
    ]
    members = arm.members | {name: {} for name in sorted(arm.required - arm.members.keys())}
    if members:
        lines.append("")
    for member, schema in members.items():
        if not member.isidentifier() or keyword.iskeyword(member):
            raise ValueError(f"{name}: no class can have the member {member!r}")
        type_ = member_annotation(schema, is_required=member in arm.required)
        lines.append(f"    {member}: {type_}")
    return Piece(name, "\n".join(lines) + "\n", frozenset(references(list(members.values()))))


def _alias(name: str, type_: str, needs: Iterable[str]) -> Piece:
    return Piece(name, f"{name}: TypeAlias = {type_}\n", frozenset(needs))


def _unions(
    name: str, arms: list[Arm], names: dict[tuple[str, ...], str], depth: int
) -> list[Piece]:
    """Return the alias `name` of all arms, selected by their tags at `depth` if they have one.

    Arms of the same tag that have a tag of their own again become an alias before it.
    """
    inner: list[Piece] = []
    parts: list[str] = []
    values: list[str] = []
    members: set[str] = set()
    for tag, group in groupby(arms, key=lambda arm: next(iter(arm.tags[depth:]), None)):
        alike = list(group)
        if any(len(arm.tags) > depth + 1 for arm in alike):
            inner += _unions(name + alike[0].labels[depth], alike, names, depth + 1)
            parts.append(inner[-1].name)
        else:
            parts += [names[arm.labels] for arm in alike]
        values += [_value(tag)] * (len(parts) - len(values))
        members |= {tag.member} if tag else set()
    union = " | ".join(parts)
    if len(members) == 1:
        union = f"Annotated[{union}, Discriminator({members.pop()!r}, ({', '.join(values)}))]"
    return [*inner, _alias(name, union, parts)]


def _value(tag: Tag | None) -> str:
    if tag is None:
        return "None"
    return "ELSE" if tag.value == ELSE else repr(tag.value)


def _in_order(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces so that each stands after those it needs, by name otherwise.

    Raises:
        ValueError: definitions need each other in a circle, or two have the same name.
    """
    by_name = {piece.name: piece for piece in pieces}
    if doubles := [piece.name for piece in pieces if by_name[piece.name] is not piece]:
        raise ValueError(f"made twice: {', '.join(doubles)}")
    ordered: dict[str, Piece] = {}

    def place(piece: Piece, above: tuple[str, ...]) -> None:
        if piece.name in above:
            raise ValueError(f"a circle of definitions: {' → '.join([*above, piece.name])}")
        for need in sorted(piece.needs - ordered.keys()):
            place(by_name[need], (*above, piece.name))
        ordered[piece.name] = piece

    for piece in pieces:
        if piece.name not in ordered:
            place(piece, ())
    return list(ordered.values())


def _unstable_members(published: Published) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(published.stable.keys() & published.definitions.keys()):
        more = _words(published.definitions[name]) - _words(published.stable[name])
        if more:
            found[name] = tuple(sorted(more))
    return found


def _words(schema: Schema) -> set[str]:
    """Return the members of an object and the values of its tag, or those of an enumeration."""
    words = set(schema.get("properties", {}))
    for arm in alternatives(schema):
        tags = [member for member in arm.get("properties", {}).values() if "const" in member]
        words |= {str(part["const"]) for part in [arm, *tags] if "const" in part}
    return words
