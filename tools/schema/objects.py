"""Objects, laid out: `allOf` merged, alternatives spread, so that each arm is one plain object."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Final

from tools.schema.published import Schema, alternatives, reference

ELSE: Final = "*"
"""All other values of a tag; see `ELSE` in `acp_protocol.schema.constraints`."""

_TOLERANCES: Final = "x-deserialize-"


@dataclass(frozen=True)
class Tag:
    """The member and the value that choose an arm."""

    member: str
    value: str


@dataclass(frozen=True)
class Arm:
    """One plain object: its members, and which of them must be there."""

    members: dict[str, Schema] = field(default_factory=dict[str, Schema])
    required: frozenset[str] = frozenset()
    labels: tuple[str, ...] = ()
    """What tells it from its neighbours, from the outer alternative to the inner one."""
    tags: tuple[Tag, ...] = ()
    """The tags that are asked for, from the outer one to the inner one."""

    @property
    def label(self) -> str:
        """The labels as a part of a class name."""
        return "".join(self.labels)

    def joined(self, other: Arm) -> Arm:
        """Return the object that is both; of a member that stands in both, `other` is narrower."""
        members = dict(self.members)
        for name, schema in other.members.items():
            members[name] = _tolerances(members.get(name, {})) | schema
        return Arm(
            members,
            self.required | other.required,
            self.labels + other.labels,
            self.tags + other.tags,
        )

    def is_like(self, other: Arm) -> bool:
        """Return whether both describe the same object."""
        return (self.members, self.required) == (other.members, other.required)


class Layout:
    """Finds the objects among the definitions, and the arms of each."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self._definitions = definitions

    def is_object(self, schema: Schema) -> bool:
        """Return whether `schema` has members of its own, in itself, its parts or its arms."""
        if "properties" in schema or schema.get("type") == "object":
            return True
        if any(self.is_object(self._resolved(part)) for part in schema.get("allOf", ())):
            return True
        return any("properties" in arm for arm in alternatives(schema))

    def arms(self, schema: Schema) -> list[Arm]:
        """Return every plain object that `schema` allows, in its order.

        Raises:
            ValueError: an arm for all other tags leaves out others than its neighbours take.
        """
        schema = self._resolved(schema)
        own = Arm(dict(schema.get("properties", {})), frozenset(schema.get("required", ())))
        parts = [[own], *(self.arms(part) for part in schema.get("allOf", ()))]
        if arms := alternatives(schema):
            _require_true_else(arms)
            parts.append([arm for part in arms for arm in self._labelled(part)])
        return [_join(combination) for combination in product(*parts)]

    def _labelled(self, part: Schema) -> list[Arm]:
        label, tag = _label(part), _tag(part)
        tags = (tag,) if tag else ()
        return [
            replace(arm, labels=(label, *arm.labels), tags=tags + arm.tags)
            for arm in self.arms(part)
        ]

    def _resolved(self, schema: Schema) -> Schema:
        return self._definitions[reference(schema) or ""] if "$ref" in schema else schema


def _join(arms: Iterable[Arm]) -> Arm:
    joined = Arm()
    for arm in arms:
        joined = joined.joined(arm)
    return joined


def _tolerances(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key.startswith(_TOLERANCES)}


def _tag(arm: Schema) -> Tag | None:
    for member, schema in arm.get("properties", {}).items():
        if "const" in schema:
            return Tag(member, schema["const"])
    if left_out := _left_out(arm):
        return Tag(left_out[0].member, ELSE)
    return None


def _left_out(arm: Schema) -> list[Tag]:
    return [tag for part in alternatives(arm.get("not", {})) if (tag := _tag(part))]


def _require_true_else(arms: list[Schema]) -> None:
    taken = {tag for arm in arms if (tag := _tag(arm)) and tag.value != ELSE}
    for arm in arms:
        if "not" in arm and {*_left_out(arm)} != taken:
            raise ValueError(f"{_left_out(arm)} are left out, but {taken} are taken")


def _label(arm: Schema) -> str:
    tag = _tag(arm)
    words = tag.value if tag and tag.value != ELSE else arm.get("title") or reference(arm) or ""
    return "".join(word[:1].upper() + word[1:] for word in words.replace("-", "_").split("_"))
