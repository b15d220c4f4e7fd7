"""Templates of messages: the required fields of a method, with empty values."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, Final, Literal, Union, cast

from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.explain import type_info
from acp_protocol.schema.method_spec import Kind, MethodSpec
from acp_protocol.schema.methods import find_method, methods_sent_by
from acp_protocol.schema.validate import schema_type, validate_params, validate_result

MAX_DEPTH: Final = 8
"""Levels of a template; deeper ones are empty."""
_EMPTY: Final = frozenset({"mcpServers", "additionalDirectories", "env", "args"})
"""Lists that may be empty."""
_PLAIN: Final = (str, bool, int, float, dict, list)


def methods_of(side: Side, version: int = 1) -> list[MethodSpec]:
    """Return the methods that `side` may send, by name."""
    rows = {(row.name, row.kind): row for row in methods_sent_by(side, version)}
    return [rows[key] for key in sorted(rows)]


def call_template(row: MethodSpec, known: Mapping[str, Json] | None = None) -> Json:
    """Return a call of a method with its required fields; `known` has values by field name."""
    message: dict[str, Json] = {"jsonrpc": "2.0"}
    if row.kind == "request":
        message["id"] = 0
    message["method"] = row.name
    if row.params is not None:
        filled = _Filled(known or {}).value(schema_type(row.params, row.version))
        message["params"] = filled
    return message


def result_template(method: str, version: int = 1, known: Mapping[str, Json] | None = None) -> Json:
    """Return a result of a method with its required fields; {} for unknown methods."""
    row = find_method(method, version, kind="request")
    if row is None or row.result is None:
        return {}
    return _Filled(known or {}).value(schema_type(row.result, row.version))


def validation_errors(message: Json, request_method: str | None = None) -> list[str]:
    """Return the validation errors of a message; none if it is valid in some protocol version.

    `message` is a call, or the result of the method `request_method`.
    """
    call = cast("dict[str, Json]", message) if isinstance(message, dict) else {}
    name = call.get("method") if request_method is None else request_method
    if not isinstance(name, str):
        return []
    kind: Kind = "request" if request_method is not None or "id" in call else "notification"
    versions = [version for version in (1, 2) if find_method(name, version, kind=kind)]
    found = [
        validate_params(name, call.get("params"), version, kind=kind)
        if request_method is None
        else validate_result(name, message, version)
        for version in versions
    ]
    fewest = min(found, key=len, default=())
    return [str(error) for error in fewest]


class _Filled:
    """Fills types with empty values."""

    def __init__(self, known: Mapping[str, Json]) -> None:
        self._known = known

    def value(self, wanted: Any, name: str = "", depth: int = 0) -> Json:
        if name in self._known:
            return self._known[name]
        info = type_info(wanted)
        if depth >= MAX_DEPTH:
            return None
        if info.is_object:
            fields = info.type_.__annotations__.items()
            required = info.type_.__required_keys__
            return {
                key: self.value(type_, key, depth + 1) for key, type_ in fields if key in required
            }
        if info.origin is Union:
            arms = [arm for arm in info.args if arm is not NoneType]
            return self.value(arms[0], name, depth) if arms else None
        if info.origin is Literal:
            return info.args[0]
        if info.origin is list:
            return [] if name in _EMPTY else [self.value(info.args[0], "", depth + 1)]
        kind: Any = info.origin or info.type_
        # Any other type may hold anything.
        return cast("Json", kind() if kind in _PLAIN else {})
