"""Validates JSON against the schema: quickly by pydantic, then exactly if that finds an error.

The only module of this package that uses pydantic; it is imported on first use, because most
programs start without validating. Errors that a reader has to tolerate are returned too, marked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.constraints import ELSE
from acp_protocol.schema.explain import SchemaError, check
from acp_protocol.schema.method_spec import Kind
from acp_protocol.schema.methods import VERSIONS, find_method

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_adapters: Final[dict[tuple[str, int], TypeAdapter[Any]]] = {}
_lock: Final = threading.Lock()


def validate_params(
    method: str, params: Json, version: int = 1, *, kind: Kind | None = None
) -> tuple[SchemaError, ...]:
    """Return the errors in the params of `method`; none if the method is unknown.

    Absent params (None) count as an empty object. A name that is both a request and a notification
    counts as the request, unless `kind` is given.
    """
    row = find_method(method, version, kind=kind)
    if row is None or row.params is None:
        return ()
    return validate(row.params, {} if params is None else params, version, path="params")


def parse_params(
    method: str, params: Json, version: int = 1, *, kind: Kind | None = None
) -> tuple[Json, tuple[SchemaError, ...]]:
    """Return the params of `method` without tolerated errors, and all errors that they had.

    Absent params (None) count as an empty object. Parts with other errors stay in place.
    """
    row = find_method(method, version, kind=kind)
    value: Json = {} if params is None else params
    if row is None or row.params is None:
        return value, ()
    # Without pydantic, whose import would slow down the start of an agent.
    found = check(schema_type(row.params, version), value, "params")
    return (found.value if found.errors else value), found.errors


def validate_result(method: str, result: Json, version: int = 1) -> tuple[SchemaError, ...]:
    """Return the errors in the result of `method`; none if the method is unknown."""
    row = find_method(method, version, kind="request")
    if row is None or row.result is None:
        return ()
    return validate(row.result, result, version, path="result")


def validate(
    definition: str, value: Json, version: int = 1, *, path: str = ""
) -> tuple[SchemaError, ...]:
    """Return the errors of `value`, which is at `path`, against the definition of that name.

    Raises as `schema_type` does.
    """
    if _adapter(definition, version).validator.isinstance_python(value, strict=True):
        return ()
    return check(schema_type(definition, version), value, path).errors


def accepts(
    definition: str, version: int = 1, *, known_only: bool = False
) -> Callable[[Json], bool]:
    """Return a fast function that tests values against the definition of that name.

    With `known_only` it also refuses fields and words that the definition does not have.

    Raises as `schema_type` does.
    """
    adapter = _adapter(definition, version)
    if not known_only:
        return partial(adapter.validator.isinstance_python, strict=True)
    from pydantic_core import SchemaValidator

    closed = SchemaValidator(_closed(adapter.core_schema))
    return partial(closed.isinstance_python, strict=True)


def _closed(schema: Any) -> Any:
    """Return a core schema that accepts only known fields and words."""
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
    """Return the type of a definition: a TypedDict, or an alias if it is no plain object.

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
