"""What the tables of a scenario have in common: types of values, and what to say of wrong ones.

Every validator raises a whole sentence without its subject. `ScenarioPart` turns pydantic's own
errors into such sentences; `acp_agent.scripted.scenario` adds the line and the place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, ClassVar, Final, Self, TypeAlias, cast, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from acp_protocol import jsonrpc
from acp_protocol.host.did_you_mean import nearest as nearest_word
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.toml_source import KeyPath

BIG: Final = 2**31
MAX_SECONDS: Final = 86400.0
"""Seconds that a single wait may last."""
FEW: Final = 12
"""Words that a remark names all, where none is similar."""
SHOWN: Final = 60
"""Characters of a key or a word that a message repeats, at most."""
_WRONG: Final = "wrong"
_TABLE: Final = "has to be a table, as in `{ key = value }`"
_SENTENCES: Final = {
    "missing": "is missing",
    "string_type": "has to be a text",
    "bool_type": "has to be `true` or `false`",
    "model_type": _TABLE,
    "dict_type": _TABLE,
}


def wrong(sentence: str) -> PydanticCustomError:
    """Return what a validator raises about its value; the subject of `sentence` is the key."""
    return PydanticCustomError(_WRONG, "{sentence}", {"sentence": sentence})


def wrong_at(*problems: tuple[KeyPath, str]) -> ValidationError:
    """Return what a validator raises about values within its own."""
    details = [
        InitErrorDetails(type=wrong(sentence), loc=path, input=None) for path, sentence in problems
    ]
    return ValidationError.from_exception_data("scenario", details)


def listed(words: Sequence[str]) -> str:
    """Return words as a sentence lists them."""
    ticked = [f"`{word}`" for word in words]
    return " or ".join([", ".join(ticked[:-1]), ticked[-1]] if len(ticked) > 1 else ticked)


def nearest(word: object, known: Sequence[str]) -> str:
    """Return the half sentence that names the known word most similar to `word`; "" if none is."""
    found = nearest_word(word, known) if isinstance(word, str) else None
    return f"; did you mean `{found}`?" if found else ""


@dataclass(frozen=True, slots=True)
class Known:
    """Marks a field for words of the protocol; any other is allowed, and remarked upon."""

    what: str
    words: Callable[[], Sequence[str]]

    def remark(self, value: object) -> str | None:
        """Return what there is to say about `value`; None if the protocol has it."""
        words = self.words()
        if not isinstance(value, str) or not value or value in words or value.startswith("_"):
            return None
        others = f"; there is {listed(words)}" if len(words) <= FEW else ""
        guess = nearest(value, words) or others
        return f"is `{single_line(value, SHOWN)}`, which is no {self.what}{guess}"


class ScenarioPart(BaseModel):
    """A table of a scenario; its fields are the keys of the file."""

    # Few scenarios use many of the tables, and each takes milliseconds to build.
    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", frozen=True, strict=True, defer_build=True
    )

    @classmethod
    def key_names(cls) -> list[str]:
        """Return the keys that the table may have, its own before those of its base classes."""
        names = [name for base in cls.__mro__ for name in vars(base).get("__annotations__", {})]
        fields = cls.model_fields
        return [fields[name].alias or name for name in dict.fromkeys(names) if name in fields]

    def children(self) -> Iterator[tuple[str, Any]]:
        """Yield the key and the value of each field."""
        for name, field in type(self).model_fields.items():
            yield field.alias or name, getattr(self, name)

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield the key and a sentence for each value that is allowed, but perhaps not meant."""
        for name, field in type(self).model_fields.items():
            # What is not set has the default, a word of the protocol: its schema is not imported.
            for known in field.metadata if name in self.model_fields_set else ():
                if isinstance(known, Known) and (remark := known.remark(getattr(self, name))):
                    yield field.alias or name, remark

    @classmethod
    def unknown_key(cls, key: str) -> str:
        """Return what to say about a key that the table does not have."""
        guess = nearest(key, cls.key_names()) or f"; there is {listed(cls.key_names())}"
        return f"is not known here{guess}"

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(value)
        except ValidationError as error:
            problems = [(each["loc"], cls._sentence(each)) for each in error.errors()]
            raise wrong_at(*problems) from None

    @classmethod
    def _sentence(cls, error: ErrorDetails) -> str:
        match error["type"]:
            case "extra_forbidden":
                return cls.unknown_key(str(error["loc"][-1]))
            case "literal_error":
                words = re.findall("'([^']*)'", error["ctx"]["expected"] if "ctx" in error else "")
                return f"has to be {listed(words)}{nearest(error['input'], words)}"
            case kind:
                return _SENTENCES.get(kind) or error["msg"].replace("Input should be", "has to be")


def whole(least: int = 1, most: int = BIG, *words: str) -> BeforeValidator:
    """Return the check for a whole number, or one of some words in its place."""

    def check(value: Any) -> Any:
        if value in words or (type(value) is int and least <= value <= most):
            return value
        others = f", or {listed(words)}{nearest(value, words)}" if words else ""
        raise wrong(f"has to be a whole number from {least} to {most}{others}")

    return BeforeValidator(check)


def as_number(value: Any, most: float = MAX_SECONDS) -> float:
    """Return a number from 0 on."""
    if type(value) not in {int, float} or not 0 <= value <= most:
        raise wrong(f"has to be a number from 0 to {most:g}")
    return float(value)


def number(most: float = MAX_SECONDS) -> BeforeValidator:
    """Return the check for a number from 0 on."""
    return BeforeValidator(partial(as_number, most=most))


def as_texts(value: Any) -> Sequence[str]:
    """Return several texts; one alone may be without brackets."""
    if isinstance(value, str):
        return [value]
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [None]
    if not all(isinstance(item, str) for item in items):
        raise wrong("has to be a text, or a list of texts")
    return items


def _as_bytes(value: Any) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise wrong("has to be bytes like `ff fe 0a`") from None


def _as_list(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise wrong("has to be a list of tables, as in `[{ key = value }]`")
    return cast("Any", value)


def _as_commands(value: Any) -> Any:
    """Return what each command does; a list has only the names."""
    return {name: name for name in as_texts(value)} if isinstance(value, list | str) else value


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_json(each) for each in cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        return all(_is_json(each) for each in cast("list[Any]", value))
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | int)


def _as_json(value: Any) -> Json:
    if not _is_json(value):
        raise wrong("has to be a value that JSON knows: no date, no inf, no nan")
    return value


def parsed(value: Any) -> Json:
    """Return a JSON value; a text is read as JSON, where null can be written."""
    if not isinstance(value, str) or value.startswith("$"):
        return _as_json(value)
    try:
        return jsonrpc.parse(value.encode())
    except ValueError as error:
        raise wrong(f"has to be a table, or a text that is JSON: {error}") from None


def _parsed_object(value: Any) -> Json:
    found = parsed(value)
    if not isinstance(found, dict | str):
        raise wrong("has to be a table, or a text that is an object in JSON")
    return cast("Json", found)


def parsed_list(value: Any) -> list[Json]:
    found = parsed(value)
    if not isinstance(found, list):
        raise wrong("has to be a list")
    return cast("list[Json]", found)


def objects_with(*names: str) -> BeforeValidator:
    """Return the check for a list of objects, each of which has one of the members `names`."""

    def check(value: Any) -> list[Json]:
        found = parsed_list(value)
        if not all(
            isinstance(each, dict) and any(name in each for name in names) for each in found
        ):
            raise wrong(f"has to be a list of tables with {listed(names)}")
        return found

    return BeforeValidator(check)


Count: TypeAlias = Annotated[int, whole()]
Seconds: TypeAlias = Annotated[float, number()]
Chance: TypeAlias = Annotated[float, number(1.0)]
Texts: TypeAlias = Annotated[Sequence[str], BeforeValidator(as_texts)]
HexBytes: TypeAlias = Annotated[bytes, BeforeValidator(_as_bytes)]
Commands: TypeAlias = Annotated[dict[str, str], BeforeValidator(_as_commands)]
"""What each command does, by its name."""
AnyJson: TypeAlias = Annotated[Any, BeforeValidator(_as_json)]
"""A JSON value; a text stays a text."""
ParsedJson: TypeAlias = Annotated[Any, BeforeValidator(parsed)]
"""A JSON value; a text is read as JSON, unless it begins with a `$name`."""
JsonObject: TypeAlias = Annotated[Any, BeforeValidator(_parsed_object)]
JsonList: TypeAlias = Annotated[Sequence[Any], BeforeValidator(parsed_list)]
TABLES: Final = BeforeValidator(_as_list)
"""The check for a list of tables, before each of them is looked at."""


# The schema takes time to import, so only the scenarios that use its words do so.


@cache
def tool_kinds() -> Sequence[str]:
    from acp_protocol.schema import v1

    return get_args(v1.ToolKind)


@cache
def tool_statuses() -> Sequence[str]:
    """Return the statuses of a tool call in either version."""
    from acp_protocol.schema import v1, v2

    words: dict[str, None] = {}
    for union in (v1.ToolCallStatus, v2.ToolCallStatus):
        for each in get_args(union):
            words |= {each: None} if isinstance(each, str) else dict.fromkeys(get_args(each))
    return tuple(words)


@cache
def stop_reasons() -> Sequence[str]:
    from acp_protocol.schema import v1

    return get_args(v1.StopReason)


@cache
def update_names() -> Sequence[str]:
    """Return the `sessionUpdate` of every update in either version."""
    from acp_protocol.schema import v1, v2

    tags: list[Any] = [get_args(each)[1] for each in (v1.SessionUpdate, v2.SessionUpdate)]
    return tuple({word: None for tag in tags for word in tag.values if word != "*"})
