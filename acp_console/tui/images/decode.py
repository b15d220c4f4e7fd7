"""Decodes images of agents, within limits on bytes, pixels and formats."""

from __future__ import annotations

import io
import warnings
from base64 import b64decode
from binascii import Error as Base64Error
from dataclasses import dataclass
from functools import cache
from math import ceil
from types import ModuleType
from typing import TYPE_CHECKING, Final

from acp_console.wording.values import decoded_size
from acp_protocol.errors import AcpError

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_BYTES: Final = 16 * 2**20
MAX_PIXELS: Final = 24_000_000
"""Pixels of an image, at most: about 100 MB while it is decoded."""
MAX_COLUMNS: Final = 60
MAX_ROWS: Final = 20
"""Cells that an image takes, at most."""
FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
_ORIENTATION: Final = 0x0112
"""The tag of EXIF."""
_TURNS: Final = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
_ON_SIDE: Final = frozenset({"TRANSPOSE", "ROTATE_270", "TRANSVERSE", "ROTATE_90"})
TYPES: Final = frozenset({"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"})


TOO_LARGE: Final = f"more than {MAX_BYTES >> 20} MiB"
NO_FORMAT: Final = "no PNG, JPEG, GIF or WebP image"


class ImageError(AcpError):
    """An image is not drawn; the message says why, behind "not drawn: "."""


@dataclass(frozen=True, slots=True)
class Room:
    """The cells that an image may take, and the pixels of one."""

    columns: int = MAX_COLUMNS
    rows: int = MAX_ROWS
    cell: tuple[int, int] = (10, 20)


@dataclass(frozen=True, slots=True)
class DecodedImage:
    """An image as large as it is drawn."""

    pixels: Image
    """Whole cells, with nothing in what the image does not fill."""
    columns: int
    rows: int
    about: str
    """Its own size, and what is left out."""


def decode_image(data: str, room: Room) -> DecodedImage:
    """Return the image with these bytes in base64, scaled down to the room.

    Raises:
        ImageError: it is too large, of another format or damaged.
    """
    if decoded_size(data) > MAX_BYTES:
        raise ImageError(TOO_LARGE)
    try:
        content = b64decode(data, validate=True)
    except (Base64Error, ValueError):
        raise ImageError("its data is not base64") from None
    pillow = _pillow()
    try:
        return _decode(pillow, content, room)
    except (ImageError, MemoryError):
        raise
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        raise ImageError(_TOO_MANY) from None
    except pillow.UnidentifiedImageError:
        raise ImageError(NO_FORMAT) from None
    except Exception:  # noqa: BLE001 - decoders raise whatever they meet in damaged data
        raise ImageError("its data is damaged") from None


_TOO_MANY: Final = f"more than {MAX_PIXELS // 1_000_000} million pixels"


def _decode(pillow: ModuleType, content: bytes, room: Room) -> DecodedImage:
    with pillow.open(io.BytesIO(content), formats=FORMATS) as image:
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise ImageError(_TOO_MANY)
        if not width or not height:
            raise ImageError("it has no pixels")
        turn = _turn(image)
        is_on_side = turn in _ON_SIDE
        if is_on_side:
            width, height = height, width
        is_animated = bool(getattr(image, "is_animated", False))
        cell_width, cell_height = room.cell
        scale = min(room.columns * cell_width / width, room.rows * cell_height / height, 1.0)
        size = (max(int(width * scale), 1), max(int(height * scale), 1))
        # A JPEG is decoded at a fraction of its size where that is enough.
        image.draft("RGB", (max(size) * 2, max(size) * 2))
        image.load()
        scaled = image.convert("RGBA").resize(
            size[::-1] if is_on_side else size, pillow.Resampling.LANCZOS, reducing_gap=2.0
        )
        if turn is not None:
            scaled = scaled.transpose(pillow.Transpose[turn])
    columns, rows = ceil(size[0] / cell_width), ceil(size[1] / cell_height)
    pixels = pillow.new("RGBA", (columns * cell_width, rows * cell_height))
    pixels.paste(scaled)
    about = f"{width} × {height}" + (" · the first picture of an animation" if is_animated else "")
    return DecodedImage(pixels, columns, rows, about)


def _turn(image: Image) -> str | None:
    """Return how an image has to be turned, as cameras say it."""
    try:
        return _TURNS.get(image.getexif().get(_ORIENTATION, 1))
    except Exception:  # noqa: BLE001 - an image whose remarks are damaged is one all the same
        return None


@cache
def _pillow() -> ModuleType:
    from PIL import Image

    # It refuses far more pixels than it should, before anything is decoded.
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    return Image
