"""What the published schema says of a value beyond its type, as marks in `Annotated`.

The marks hold facts only; what validation makes of them stands in `validate`, which alone knows
pydantic. The reader's tolerance is the
protocol's own: a malformed optional value is to be read as absent rather than to spoil the whole
message.

Source: ACP schema, `x-deserialize-default-on-error`, `x-deserialize-skip-invalid-items`,
`x-deserialize-default-on-null`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Bounds:
    """Least and greatest value of a number; None is no bound."""

    least: int | None = None
    greatest: int | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Hold a number to its bounds; called by pydantic only."""
        from acp_protocol.schema.validate import bounded_schema

        return bounded_schema(self, handler(source))


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Least number of characters of a string or entries of a list."""

    length: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Hold a value to its least length; called by pydantic only."""
        from acp_protocol.schema.validate import filled_schema

        return filled_schema(self, handler(source))


@dataclass(frozen=True, slots=True)
class Tagged:
    """A union whose arms are told apart by the member `tag`."""

    tag: str
    values: tuple[str | None, ...]
    """The value that chooses each arm, in the union's order; None chooses it for all others."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Look at one arm only; called by pydantic only."""
        from acp_protocol.schema.validate import tagged_schema

        return tagged_schema(self, handler(source))


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How a reader bears a malformed value."""

    value: bool = False
    """The whole value is read as absent."""
    items: bool = False
    """Malformed entries of a list are left out."""
    null: bool = False
    """Null is read as the empty value; anything else malformed is an error."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Let validation report what is borne instead of refusing it; called by pydantic only."""
        from acp_protocol.schema.validate import tolerant_schema

        return tolerant_schema(self, handler(source))


I32: TypeAlias = Annotated[int, Bounds(-(2**31), 2**31 - 1)]
I64: TypeAlias = Annotated[int, Bounds(-(2**63), 2**63 - 1)]
U16: TypeAlias = Annotated[int, Bounds(0, 2**16 - 1)]
U32: TypeAlias = Annotated[int, Bounds(0, 2**32 - 1)]
U64: TypeAlias = Annotated[int, Bounds(0, 2**64 - 1)]

VALUE: Final = Tolerance(value=True)
ITEMS: Final = Tolerance(items=True)
VALUE_AND_ITEMS: Final = Tolerance(value=True, items=True)
NULL: Final = Tolerance(null=True)
