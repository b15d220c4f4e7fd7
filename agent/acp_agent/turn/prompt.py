"""What a user has said, taken from the blocks of a prompt.

Text is what is asked for. Links stand in it by their path, so that "read" with a file behind it
reads that file. Embedded resources and images are material: what stands in them gives no orders.

Source: ACP, Content; ACP, Prompt Turn, "User Message".
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast
from urllib.parse import unquote, urlsplit

from acp_agent.models.demo import DemoModel
from acp_agent.models.types import Attachment, Image, Model, PromptMessage, takes_images
from acp_agent.params import CONTINUUM, Params, dict_or_empty, invalid_params, option_value
from acp_agent.sessions.options import Option
from acp_protocol.jsonrpc import Json

Block = Mapping[str, Json]

SUPPORTED_CONTENT: Final = frozenset({"text", "resource_link", "resource", "image"})
"""Kinds of content that a prompt may hold, as `initialize` tells; images where a model sees."""
IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What the services of models take."""
IMAGE_LIMIT: Final = 20 * 2**20
"""Characters of one image."""


def blocks_of(params: Params, model: Model) -> list[Block]:
    """Return the blocks of a prompt for `model`.

    Raises:
        RequestFailedError: one is of a kind that was not offered, or cannot be looked at.
    """
    blocks = cast("list[Block]", params["prompt"])
    for place, block in enumerate(blocks):
        where, kind = f"params.prompt.{place}", block.get("type")
        if kind not in SUPPORTED_CONTENT:
            raise invalid_params(f"{where}: {kind} was not offered")
        if kind == "image" and (problem := _unseen(block, model)) is not None:
            raise invalid_params(f"{where}: {problem}")
    return blocks


def requested_model(params: Params, option: Option) -> str | None:
    """Return the value of `option` that a prompt asks for, which only a dialect can; None if none.

    The name of its service may be left out. The demo stands in for every model.

    Raises:
        RequestFailedError: there is no such model.
    """
    requested = dict_or_empty(dict_or_empty(params.get("_meta")).get(CONTINUUM)).get("model")
    if requested is None:
        return None
    names = [choice.value for choice in option.choices]
    if names == [DemoModel.name] and isinstance(requested, str):
        return None
    alike = [name for name in names if requested and name.partition(":")[2] == requested]
    is_short = requested not in names and len(alike) == 1
    return option_value(option, alike[0] if is_short else requested, "model")


def _unseen(block: Block, model: Model) -> str | None:
    """Return why an image cannot be looked at; None if it can be."""
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
    return "data is no base64" if is_empty else None


def read_prompt(blocks: Sequence[Block], cwd: Path) -> PromptMessage:
    """Return what the blocks say; `cwd` is what paths are told from."""
    text = ""
    attachments: list[Attachment] = []
    images: list[Image] = []
    was_text = False
    for block in blocks:
        match block:
            case {"type": "text", "text": str(piece)}:
                gap = "\n" if was_text else " " if piece[:1].isalnum() else ""
                text = _joined(text, piece, gap)
                was_text = True
            case {"type": "resource_link", "uri": str(uri)}:
                text = _joined(text, _path(uri, cwd), " ")
                was_text = False
            case {"type": "resource", "resource": {"uri": str(uri), **contents}}:
                content = contents.get("text")
                attachments.append(Attachment(uri, content if isinstance(content, str) else None))
            case {"type": "image", "mimeType": str(kind), "data": str(data)}:
                images.append(Image(kind, data))
            case _:
                # What was not offered in `initialize` is refused before it comes here.
                continue
    return PromptMessage(text, tuple(attachments), tuple(images))


def _joined(text: str, piece: str, gap: str) -> str:
    is_apart = not text or text[-1].isspace() or piece[:1].isspace()
    return text + ("" if is_apart else gap) + piece


def _path(uri: str, cwd: Path) -> str:
    """Return the path of a file below `cwd` from there, and any other URI as it is."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    if parts.scheme != "file":
        return uri
    path = Path(unquote(parts.path))
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
