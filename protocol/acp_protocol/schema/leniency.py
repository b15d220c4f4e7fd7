"""Reads a value as the protocol's tolerance wants it read: without what its sender got wrong.

The schema marks members of which a malformed value must not cost the whole message. Such a member
is read as absent, such an entry of a list is left out, null stands for an empty list or object.
What is wrong without being marked stays as it is, for somebody else to refuse.

Source: ACP schema, `x-deserialize-default-on-error`, `x-deserialize-skip-invalid-items`,
`x-deserialize-default-on-null`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NotRequired, Union, cast, get_args, get_origin

from typing_extensions import is_typeddict

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.complaints import Plan, find_complaints, take_apart
from acp_protocol.schema.marks import Tagged, Tolerance

_ABSENT: Final = object()


def borne(shape: Any, value: Json) -> Json:
    """Return `value` without what `shape` lets a reader bear; `value` itself is not changed."""
    parts = take_apart(shape)
    if parts.is_object and isinstance(value, dict):
        return _object(parts.type_, cast("Mapping[str, Json]", value))
    if parts.origin is list and isinstance(value, list):
        return [borne(parts.args[0], entry) for entry in cast("list[Json]", value)]
    if parts.origin is dict and isinstance(value, dict):
        entries = cast("Mapping[str, Json]", value)
        return {name: borne(parts.args[1], entry) for name, entry in entries.items()}
    if parts.origin is Union:
        # The arm that the value was meant for is one without hard complaints, if there is any.
        for arm in _arms(parts, value):
            return borne(arm, value)
    return value


def _object(shape: Any, value: Mapping[str, Json]) -> dict[str, Json]:
    read: dict[str, Json] = {}
    for name, member in value.items():
        annotation = shape.__annotations__.get(name)
        kept = member if annotation is None else _member(annotation, member)
        if kept is not _ABSENT:
            read[name] = kept
        elif name in shape.__required_keys__:
            # Whoever reads a required member looks it up without asking whether it is there.
            read[name] = _nothing(_bare(annotation))
    return read


def _member(annotation: Any, value: Json) -> Json:
    bare = _bare(annotation)
    for mark in take_apart(annotation).marks:
        if not isinstance(mark, Tolerance):
            continue
        if mark.null and value is None:
            return _nothing(bare)
        if mark.items and isinstance(value, list):
            value = [entry for entry in cast("list[Json]", value) if not _is_broken(bare, [entry])]
        if mark.value and _is_broken(bare, value):
            return _ABSENT
    return borne(bare, value)


def _is_broken(shape: Any, value: Json) -> bool:
    return any(not complaint.lenient for complaint in find_complaints(shape, value))


def _bare(annotation: Any) -> Any:
    """Return the shape of a member without what is said of reading it."""
    shape = get_args(annotation)[0] if get_origin(annotation) is NotRequired else annotation
    is_borne = any(isinstance(mark, Tolerance) for mark in take_apart(shape).marks)
    return shape.__origin__ if is_borne else shape


def _nothing(shape: Any) -> Json:
    kinds = take_apart(shape).kinds
    if "array" in kinds:
        return []
    return {} if "object" in kinds else None


def _arms(parts: Plan, value: Json) -> list[Any]:
    arms: Sequence[Any] = parts.args
    for mark in parts.marks:
        if isinstance(mark, Tagged) and isinstance(value, dict):
            tag: Json = cast("dict[str, Json]", value).get(mark.tag)
            arms = [parts.args[place] for place in mark.places(mark.key(tag))]
    holding = [arm for arm in arms if not _is_broken(arm, value)]
    # First one that has nothing to bear; then an object whose own members are there.
    return sorted(holding, key=lambda arm: (bool(find_complaints(arm, value)), -_known(arm, value)))


def _known(arm: Any, value: Json) -> int:
    if is_typeddict(type_ := take_apart(arm).type_) and isinstance(value, dict):
        return len(type_.__annotations__.keys() & cast("dict[str, Json]", value).keys())
    return 0
