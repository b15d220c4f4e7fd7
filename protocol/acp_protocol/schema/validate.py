"""Holds JSON against the shapes: a quick look by pydantic, an exact one where that finds a fault.

The only room that knows pydantic, and it knows it late: a program that never checks anything starts
without it. What the schema lets a reader bear is a `Complaint` too, marked lenient.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.constraints import ELSE
from acp_protocol.schema.explain import SchemaError, drop_invalid, find_errors
from acp_protocol.schema.method_spec import Kind
from acp_protocol.schema.methods import VERSIONS, find_method

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = [
    "SchemaError",
    "accepts",
    "parse_params",
    "schema_type",
    "validate",
    "validate_params",
    "validate_result",
]

_adapters: Final[dict[tuple[str, int], TypeAdapter[Any]]] = {}
_lock: Final = threading.Lock()


def validate_params(
    method: str, params: Json, version: int = 1, *, kind: Kind | None = None
) -> tuple[SchemaError, ...]:
    """Return what is wrong with the params of `method`; nothing if the method is not known.

    Absent params (None) are taken for an empty object: it is members that are required. A name that
    is both a request and a notification is taken for the request, unless `kind` tells.
    """
    row = find_method(method, version, kind=kind)
    if row is None or row.params is None:
        return ()
    return validate(row.params, {} if params is None else params, version, path="params")


def parse_params(
    method: str, params: Json, version: int = 1, *, kind: Kind | None = None
) -> tuple[Json, tuple[SchemaError, ...]]:
    """Return the params of `method` without what a reader bears, and what was wrong with them.

    Absent params (None) are read as an empty object. What is wrong beyond bearing stays in place.
    """
    row = find_method(method, version, kind=kind)
    value: Json = {} if params is None else params
    if row is None or row.params is None:
        return value, ()
    # The exact look alone: what asks for params to be read must start without pydantic.
    wanted = schema_type(row.params, version)
    complaints = tuple(find_errors(wanted, value, "params"))
    return (drop_invalid(wanted, value) if complaints else value), complaints


def validate_result(method: str, result: Json, version: int = 1) -> tuple[SchemaError, ...]:
    """Return what is wrong with the result of `method`; nothing if the method is not known."""
    row = find_method(method, version, kind="request")
    if row is None or row.result is None:
        return ()
    return validate(row.result, result, version, path="result")


def validate(
    definition: str, value: Json, version: int = 1, *, path: str = ""
) -> tuple[SchemaError, ...]:
    """Return what is wrong with `value`, which stands at `path`, as the definition of that name.

    Raises:
        KeyError: there is no such definition.
        ValueError: the version is not built in.
    """
    if _adapter(definition, version).validator.isinstance_python(value, strict=True):
        return ()
    return tuple(find_errors(schema_type(definition, version), value, path))


def accepts(
    definition: str, version: int = 1, *, known_only: bool = False
) -> Callable[[Json], bool]:
    """Return what tells, at a glance, whether a value holds as the definition of that name.

    With `known_only` it must not have members or words that the definition does not know either.

    Raises:
        KeyError: there is no such definition.
        ValueError: the version is not built in.
    """
    adapter = _adapter(definition, version)
    if not known_only:
        return partial(adapter.validator.isinstance_python, strict=True)
    from pydantic_core import SchemaValidator

    closed = SchemaValidator(_closed(adapter.core_schema))
    return partial(closed.isinstance_python, strict=True)


def _closed(schema: Any) -> Any:
    """Return a core schema that takes no members and no words beside the known ones."""
    if isinstance(schema, list | tuple):
        return [_closed(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    changed = {name: _closed(each) for name, each in members.items() if name != "metadata"}
    match members.get("type"):
        case "typed-dict":
            changed.pop("extras_schema", None)
            changed["extra_behavior"] = "forbid"
        case "tagged-union":
            changed["choices"].pop(ELSE, None)
        case "union":
            arms = changed["choices"]
            if any(arm["type"] == "literal" for arm in arms):
                changed["choices"] = [arm for arm in arms if arm["type"] != "str"]
        case _:
            pass
    return changed


def schema_type(definition: str, version: int = 1) -> Any:
    """Return the shape of a definition: a TypedDict, or an alias for what is no plain object.

    Raises:
        KeyError: there is no such definition.
        ValueError: the version is not built in.
    """
    if version not in VERSIONS:
        raise ValueError(f"protocol version {version} is not built in")
    return vars(import_module(f"acp_protocol.schema.v{version}"))[definition]


def _adapter(definition: str, version: int) -> TypeAdapter[Any]:
    with _lock:
        if (definition, version) not in _adapters:
            from pydantic import TypeAdapter

            _adapters[definition, version] = TypeAdapter(schema_type(definition, version))
        return _adapters[definition, version]
