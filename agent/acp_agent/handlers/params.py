"""Reads params of requests, and makes the errors for params that do not fit."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import anyio

from acp_agent.models.types import Model, takes_images
from acp_agent.options import MODE, MODE_ALIASES, OfferedOption
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json

Params: TypeAlias = Mapping[str, Json]
Handler: TypeAlias = Callable[[Params], Awaitable[Json]]

SUPPORTED_CONTENT: Final = frozenset({"text", "resource_link", "resource", "image"})
"""Kinds of content that a prompt may hold; images only if the model takes them."""
IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
IMAGE_LIMIT: Final = 20 * 2**20
"""Characters of one image."""


def invalid_params(reason: str, data: Json = None) -> RequestFailedError:
    """Return the error for invalid params; `reason` names the field."""
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {reason}", data)


def markers(names: Sequence[str]) -> dict[str, Json]:
    """Return the capabilities of these names as the protocol has them: empty objects."""
    return {name: {} for name in names}


def option_value(option: OfferedOption, value: Json, field: str) -> str:
    """Return the value of `option` that `field` holds.

    Raises:
        RequestFailedError: the option has no such value.
    """
    is_mode = option.id == MODE and isinstance(value, str)
    wanted = MODE_ALIASES.get(value, value) if is_mode else value
    if wanted not in [choice.value for choice in option.choices]:
        raise invalid_params(f"{field}: there is no {option.id} {value!r}")
    return wanted


async def session_directories(params: Params) -> list[Path]:
    """Return the directories of a session, the `cwd` first.

    Raises:
        RequestFailedError: one of them does not exist, or is not absolute.
    """
    fields = {"cwd": params["cwd"]}
    for place, name in enumerate(params.get("additionalDirectories") or []):
        fields[f"additionalDirectories.{place}"] = name
    return [await _directory(name, field) for field, name in fields.items()]


async def _directory(name: str, field: str) -> Path:
    path = Path(name)
    if not path.is_absolute():
        raise invalid_params(f"{field} is not an absolute path")
    try:
        is_directory = await anyio.Path(path).is_dir()
        if ".." in path.parts:
            path = Path(await anyio.Path(path).resolve())
    except (OSError, ValueError):
        is_directory = False
    if not is_directory:
        raise invalid_params(f"{field} is not a directory")
    return path


def prompt_blocks(
    params: Params, model: Model, offered: Collection[str] = SUPPORTED_CONTENT
) -> list[Params]:
    """Return the content blocks of a prompt for `model`; `offered` are the kinds of content.

    Raises:
        RequestFailedError: one is of an unsupported kind, or an image that the model cannot take.
    """
    blocks: list[Params] = params["prompt"]
    for place, block in enumerate(blocks):
        where, kind = f"params.prompt.{place}", block.get("type")
        if kind not in offered:
            data = {"reason": jsonrpc.NOT_OFFERED}
            raise invalid_params(f"{where}: {kind} was not offered", data)
        if kind == "image" and (problem := _image_error(block, model)) is not None:
            raise invalid_params(f"{where}: {problem}")
    return blocks


def _image_error(block: Params, model: Model) -> str | None:
    kind, data = block["mimeType"], block["data"]
    if not takes_images(model):
        return f"the model {model.name} does not look at images; choose another one, or none"
    if kind not in IMAGE_TYPES:
        return f"mimeType {kind!r} is none of {', '.join(sorted(IMAGE_TYPES))}"
    if len(data) > IMAGE_LIMIT:
        return f"data has more than {IMAGE_LIMIT} characters"
    try:
        is_empty = not b64decode(data, validate=True)
    except ValueError:
        is_empty = True
    return "data is not base64" if is_empty else None
