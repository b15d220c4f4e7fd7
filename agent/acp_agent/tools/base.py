"""How a tool is written: a pydantic model of its arguments, and a function that prepares a call.

This module imports pydantic, so only modules that define tools import it; `registry` imports those
when the first session opens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Generic, Self, TypeAlias, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from acp_agent.models.types import ToolSpec
from acp_agent.tools.call import (
    NAME_WIDTH,
    Outcome,
    PreparedCall,
    ReportContent,
    ToolFailedError,
)
from acp_agent.world.workspace import Workspace
from acp_protocol.host.sandbox import FileRefusedError
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind
from acp_protocol.user_files.sentences import error_sentence

MAX_NUMBER: Final = 10**9
"""The largest whole number that a tool takes."""


def _check_encodable(value: str) -> str:
    r"""Refuse half a character, as JSON's `\ud83d`: no file and no client can hold it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("no_utf8", "has no UTF-8 form") from None
    return value


def _whole_number(value: Any) -> Any:
    """Turn `3.0` into 3: JSON has one type of numbers, and models write either."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text: TypeAlias = Annotated[str, AfterValidator(_check_encodable)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=MAX_NUMBER), BeforeValidator(_whole_number)]
"""A whole number from 1 on."""


class Arguments(BaseModel):
    """Arguments of a tool call, or an object among them.

    Types are strict: "true" is not a boolean. Null means an argument that is not given, because
    services whose schemas make every argument required have models send it.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, Json]", value)
        return {name: member for name, member in members.items() if member is not None}

    @classmethod
    def read(cls, arguments: Mapping[str, Json]) -> Self:
        """Return the arguments of a call.

        Raises:
            ToolFailedError: one is missing, unknown or of the wrong type; the message names it.
        """
        try:
            return cls.model_validate(dict(arguments))
        except ValidationError as error:
            problems = [_sentence(each) for each in error.errors(include_url=False)]
        raise ToolFailedError("; ".join(problems))


A = TypeVar("A", bound=Arguments)
Prepare: TypeAlias = Callable[[A, Workspace], Awaitable[PreparedCall]]


@dataclass(frozen=True, slots=True)
class BuiltinTool(Generic[A]):
    """One of the agent's own tools; a refused file fails the call."""

    offer: ToolSpec
    kind: ToolKind
    arguments: type[A]
    function: Prepare[A]

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        """Return the call, see `Tool`."""
        wanted = self.arguments.read(arguments)
        with _refusals_as_failures():
            call = await self.function(wanted, workspace)

        async def run(report: ReportContent) -> Outcome:
            with _refusals_as_failures():
                return await call.run(report)

        return replace(call, run=run)


def tool(
    name: str, kind: ToolKind, description: str, arguments: type[A]
) -> Callable[[Prepare[A]], BuiltinTool[A]]:
    """Make a tool of a function that returns the call without having changed anything yet."""

    def decorate(function: Prepare[A]) -> BuiltinTool[A]:
        return BuiltinTool(tool_offer(name, description, arguments), kind, arguments, function)

    return decorate


@contextmanager
def _refusals_as_failures() -> Generator[None]:
    try:
        yield
    except FileRefusedError as problem:
        raise ToolFailedError(str(problem)) from None


def tool_offer(name: str, description: str, arguments: type[Arguments]) -> ToolSpec:
    """Return the description of a tool that the model gets."""
    schema = arguments.model_json_schema()
    definitions = schema.pop("$defs", {})
    schema.pop("description", None)
    return ToolSpec(name, description, {"required": [], **_trimmed(schema, definitions)})


def _trimmed(schema: Mapping[str, Json], definitions: Mapping[str, Json]) -> dict[str, Json]:
    """Return `schema` without titles, defaults, nulls and references: models need none of them."""
    if "$ref" in schema:
        meant = definitions[str(schema["$ref"]).rpartition("/")[2]]
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        # A class is described for readers of the code.
        return _trimmed({**meant, "description": None, **rest}, definitions)
    if "anyOf" in schema:
        choices: list[dict[str, Json]] = schema["anyOf"]
        (choice,) = (each for each in choices if each != {"type": "null"})
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        return _trimmed({**choice, **rest}, definitions)
    trimmed = {
        key: value
        for key, value in schema.items()
        if key not in {"title", "default"} and value is not None
    }
    if "properties" in trimmed:
        properties: dict[str, Any] = trimmed["properties"]
        trimmed["properties"] = {
            name: _trimmed(member, definitions) for name, member in properties.items()
        }
    if "items" in trimmed:
        trimmed["items"] = _trimmed(trimmed["items"], definitions)
    return trimmed


def _sentence(error: ErrorDetails) -> str:
    """Return what is wrong with one argument, for the model."""
    path = "".join(
        f"[{part + 1}]" if isinstance(part, int) else f".{single_line(part, NAME_WIDTH)}"
        for part in error["loc"]
    ).removeprefix(".")
    if error["type"] == "extra_forbidden":
        return f"there is no argument {path}"
    return f"the argument {path} {error_sentence(error, table='an object')}"
