"""Images as agents send them, and what a terminal gets of them."""

from __future__ import annotations

import io
import re
from base64 import b64encode
from typing import Any

from PIL import Image

from acp_protocol.jsonrpc import Json

CELL = (10, 20)


def encoded(width: int, height: int, form: str = "PNG", **options: Any) -> str:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(buffer, form, **options)
    return b64encode(buffer.getvalue()).decode()


def block(data: str, mime_type: str = "image/png") -> Json:
    return {"type": "image", "mimeType": mime_type, "data": data}


def commands(text: str) -> list[tuple[dict[str, str], str]]:
    """Return keys and data of each graphics command."""
    found = re.findall(r"\x1b_G([^;\x1b]*);([^\x1b]*)\x1b\\", text)
    return [(dict(pair.split("=") for pair in keys.split(",")), data) for keys, data in found]
