"""Frames of a dialect beside the official ones that say the same, and what to hold them against."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from acp_protocol.dialects.base import Dialect
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json, encode
from acp_protocol.schema.validate import validate_params, validate_result


@dataclass(frozen=True)
class Exchange:
    """A request and its answer, in the dialect and officially."""

    title: str
    method: str
    theirs: tuple[Json, Json]
    """Params and result in the dialect."""
    ours: tuple[Json, Json]
    """Params and result in official v1."""
    written: tuple[Json, Json] | None = None
    """What is written for `ours`, where that cannot be all of `theirs`."""
    asked_by: Side = "client"

    def __str__(self) -> str:
        return self.title


def other(side: Side) -> Side:
    return "agent" if side == "client" else "client"


def frame(**members: Json) -> bytes:
    return encode({"jsonrpc": "2.0"} | members)


def call(method: str, params: Json = None, id: Json = None) -> bytes:  # noqa: A002
    members = {"method": method} | ({} if id is None else {"id": id})
    return frame(**members | ({} if params is None else {"params": params}))


def said(*frames: bytes) -> list[Json]:
    """Return what the frames say; all must be JSON-RPC and all official shapes must hold."""
    values = [json.loads(raw) for raw in frames]
    assert all(value["jsonrpc"] == "2.0" for value in values)
    return values


def frames_of(traffic: Path) -> Iterator[tuple[bytes, Side]]:
    """Yield the frames of a file of real traffic, and who sent them."""
    sides: dict[str, Side] = {"c2a": "client", "a2c": "agent"}
    for line in traffic.read_bytes().splitlines():
        entry = json.loads(line)
        if entry["dir"] in sides:
            yield entry["line"].encode(), sides[entry["dir"]]


def update(update: Json, session: str = "s1") -> Json:
    params = {"sessionId": session, "update": update}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def plain(value: Json) -> Json:
    """Return `value` without what stands in `_meta`, which is for what has no other place."""
    if isinstance(value, dict):
        members = cast("dict[str, Json]", value).items()
        return {name: plain(member) for name, member in members if name != "_meta"}
    if isinstance(value, list):
        return [plain(entry) for entry in cast("list[Json]", value)]
    return value


def is_valid(value: Json) -> bool:
    """Tell whether a call is as the schema wants it, down to what a reader would bear."""
    kind = "request" if "id" in value else "notification"
    return not validate_params(value["method"], value.get("params"), kind=kind)


def hold_reading(dialect: Dialect, exchange: Exchange) -> None:
    """Check that an exchange of the dialect is read as the official one, and validly so."""
    side = exchange.asked_by
    question = dialect.read(call(exchange.method, exchange.theirs[0], id=7), side)
    assert question.replies == ()
    (asked,) = said(*question.forward)
    assert plain(asked) == plain(json.loads(call(exchange.method, exchange.ours[0], id=7)))
    assert is_valid(asked)
    answer = dialect.read(frame(id=7, result=exchange.theirs[1]), other(side))
    answered = said(*answer.forward)[-1]
    assert plain(answered["result"]) == exchange.ours[1]
    assert validate_result(exchange.method, answered["result"]) == ()


def hold_writing(dialect: Dialect, exchange: Exchange) -> None:
    """Check that an official exchange is written as that of the dialect."""
    side = exchange.asked_by
    params, result = exchange.written or exchange.theirs
    (asked,) = said(*dialect.write(call(exchange.method, exchange.ours[0], id=7), side))
    assert asked == json.loads(call(exchange.method, params, id=7))
    answered = said(*dialect.write(frame(id=7, result=exchange.ours[1]), other(side)))
    assert answered[-1] == {"jsonrpc": "2.0", "id": 7, "result": result}
