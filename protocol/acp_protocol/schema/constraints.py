"""Rules of the published schema beyond types, as marks in `Annotated`.

Pydantic calls each mark for its part of a core schema, a plain dict, so that nothing of pydantic is
imported. Tolerance belongs to the protocol: a reader treats a malformed optional value as absent
rather than refuse the whole message.

Source: ACP schema, `x-deserialize-default-on-error`, `x-deserialize-skip-invalid-items`,
`x-deserialize-default-on-null`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias, cast

CoreSchema: TypeAlias = dict[str, Any]
GetSchema: TypeAlias = Callable[[Any], CoreSchema]

ELSE: Final = "*"
"""Among the values of a tag: any string that selects no other arm."""


@dataclass(frozen=True, slots=True)
class Range:
    """Least and greatest value of a number; None is no bound."""

    least: float | None = None
    greatest: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetSchema) -> CoreSchema:
        bounds = {"ge": self.least, "le": self.greatest}
        return handler(source) | {key: bound for key, bound in bounds.items() if bound is not None}


@dataclass(frozen=True, slots=True)
class MinLength:
    """Least number of characters of a string or entries of a list."""

    length: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetSchema) -> CoreSchema:
        return handler(source) | {"min_length": self.length}


@dataclass(frozen=True, slots=True)
class Discriminator:
    """A union of objects whose arms are selected by the field `tag`."""

    tag: str
    values: tuple[str | None, ...]
    """The value that selects each arm, in order; an arm of None needs no tag and may always fit."""

    def branch_key(self, tag: object) -> str | None:
        """Return which of `values` an object with `tag` is looked up by."""
        if not isinstance(tag, str):
            return None
        return tag if tag in self.values else ELSE

    def branches(self, key: str | None) -> tuple[int, ...]:
        """Return the positions of the arms that may fit, the selected ones first."""
        keys = (None,) if key is None else (key, None)
        return tuple(
            place for key in keys for place, value in enumerate(self.values) if value == key
        )

    def __get_pydantic_core_schema__(self, source: Any, handler: GetSchema) -> CoreSchema:
        """Validate the selected arms only."""
        arms = handler(source)["choices"]
        choices: dict[str, CoreSchema] = {}
        for key in (*self.values, ELSE, None):
            if places := self.branches(key):
                choices[key or ""] = _union([arms[place] for place in places])
        is_closed = ELSE not in choices
        discriminator = self.tag if is_closed else self._key_of
        return {"type": "tagged-union", "discriminator": discriminator, "choices": choices}

    def _key_of(self, value: Any) -> str | None:
        if not isinstance(value, dict):
            return None
        return self.branch_key(cast("dict[str, Any]", value).get(self.tag)) or ""


@dataclass(frozen=True, slots=True)
class OnError:
    """How a reader treats a malformed value."""

    value: bool = False
    """The whole value is read as absent."""
    items: bool = False
    """Malformed entries of a list are left out."""
    null: bool = False
    """Null is read as the empty value, though its sender may not write it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetSchema) -> CoreSchema:
        """Validate strictly; `explain.check` marks what is tolerated."""
        schema = handler(source)
        return schema["schema"] if self.null else schema


def _union(arms: list[CoreSchema]) -> CoreSchema:
    return arms[0] if len(arms) == 1 else {"type": "union", "choices": arms}


I32: TypeAlias = Annotated[int, Range(-(2**31), 2**31 - 1)]
I64: TypeAlias = Annotated[int, Range(-(2**63), 2**63 - 1)]
U16: TypeAlias = Annotated[int, Range(0, 2**16 - 1)]
U32: TypeAlias = Annotated[int, Range(0, 2**32 - 1)]
U64: TypeAlias = Annotated[int, Range(0, 2**64 - 1)]

VALUE: Final = OnError(value=True)
ITEMS: Final = OnError(items=True)
VALUE_AND_ITEMS: Final = OnError(value=True, items=True)
NULL: Final = OnError(null=True)
