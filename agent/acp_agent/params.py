"""Reads params of requests, and makes the errors for params that do not fit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, cast

import anyio

from acp_agent.sessions.options import MODE, MODE_ALIASES, Option
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json

Params: TypeAlias = Mapping[str, Json]
Handler: TypeAlias = Callable[[Params], Awaitable[Json]]

CONTINUUM: Final = "continuum"
"""The dialect whose words, as far as the protocol has none for them, stand in `_meta` by it."""
PLACED_DIALECTS: Final = (CONTINUUM, "openoxide")
"""The dialects whose clients may open a session again without naming its directory."""


def option_value(option: Option, value: Json, member: str) -> str:
    """Return the value of `option` that stands in `member`.

    Raises:
        RequestFailedError: the option has no such value.
    """
    named = (
        MODE_ALIASES.get(value, value) if option.id == MODE and isinstance(value, str) else value
    )
    for choice in option.choices:
        if choice.value == named:
            return choice.value
    raise invalid_params(f"{member}: there is no {option.id} {value!r}")


async def session_directories(params: Params) -> list[Path]:
    """Return the directories that a session is to have, its own first.

    Raises:
        RequestFailedError: one of them is none.
    """
    names = [("cwd", params["cwd"])]
    names += [
        (f"additionalDirectories.{place}", name)
        for place, name in enumerate(params.get("additionalDirectories") or [])
    ]
    return [await directory(name, member) for member, name in names]


async def directory(name: str, member: str = "cwd") -> Path:
    """Return the directory of that name, which stands in `member`.

    Raises:
        RequestFailedError: there is none, or the name is not absolute.
    """
    path = Path(name)
    if not path.is_absolute():
        raise invalid_params(f"{member} is no absolute path")
    try:
        is_directory = await anyio.Path(path).is_dir()
        if ".." in path.parts:
            path = Path(await anyio.Path(path).resolve())
    except (OSError, ValueError):
        is_directory = False
    if not is_directory:
        raise invalid_params(f"{member} is no directory")
    return path


def has_placed_cwd(params: Params) -> bool:
    """Return whether `cwd` was added by us, because the dialect of the client has none."""
    meta = dict_or_empty(params.get("_meta"))
    return any(dict_or_empty(meta.get(name)).get("isPlaced") is True for name in PLACED_DIALECTS)


def invalid_params(reason: str) -> RequestFailedError:
    """Return the refusal of params; `reason` names the member."""
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {reason}")


def session_not_found(session_id: str, reason: str) -> RequestFailedError:
    """Return the refusal of a session that is not there, or not open."""
    return RequestFailedError(jsonrpc.RESOURCE_NOT_FOUND, reason, {"sessionId": session_id})


def open_elsewhere(session_id: str) -> RequestFailedError:
    """Return the refusal of a session that another process has open."""
    reason = "The session is open in another process; close it there first"
    return RequestFailedError(jsonrpc.INVALID_REQUEST, reason, {"sessionId": session_id})


def session_busy() -> RequestFailedError:
    """Return the refusal of what cannot be while a turn runs."""
    return RequestFailedError(
        jsonrpc.INVALID_REQUEST, "A turn is running in this session; cancel it first"
    )


def markers(names: Sequence[str]) -> dict[str, Json]:
    """Return the capabilities of these names as the protocol claims them: by an empty object."""
    return {name: {} for name in names}


def dict_or_empty(value: Json) -> Params:
    """Return the members of an object; none for what is no object."""
    return cast("Params", value) if isinstance(value, dict) else {}
