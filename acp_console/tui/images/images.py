"""The images of a conversation: decoded when they are first seen, and forgotten in time."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count
from typing import Final, TypeAlias

from anyio import fail_after, to_thread

from acp_console.tui.images.decode import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_ROWS,
    NO_FORMAT,
    TOO_LARGE,
    TYPES,
    DecodedImage,
    ImageError,
    Room,
    decode_image,
)
from acp_console.tui.images.drawing import Drawing
from acp_console.tui.images.kitty import FIRST_COLOR, LAST_COLOR, MARKS, KittyPainter, encode_png
from acp_console.tui.images.sixel import SixelPainter, SixelRows
from acp_console.tui.images.terminal import Graphics
from acp_console.wording.values import decoded_size
from acp_protocol.json_values import get, get_string
from acp_protocol.jsonrpc import Json

MAX_KEPT: Final = 48
"""Images that are ready to be drawn, and that the terminal keeps."""
MAX_WAITING: Final = 8
"""Images that wait to be decoded; those on the screen are wanted again."""
DECODE_TIMEOUT_S: Final = 10.0

_Key: TypeAlias = tuple[bytes, int]
_Prepared: TypeAlias = tuple[DecodedImage, "str | SixelRows"]
"""An image, and what of it is sent to the terminal."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    data: str
    room: Room


class Images:
    """What is drawn of images."""

    def __init__(
        self,
        graphics: Graphics,
        write: Callable[[str], object],
        start: Callable[[], object],
        *,
        max_kept: int = MAX_KEPT,
        decode: Callable[[str, Room], DecodedImage] = decode_image,
        timeout_s: float = DECODE_TIMEOUT_S,
    ) -> None:
        """Draw images as `graphics` says.

        Args:
            graphics: what the terminal takes.
            write: writes to the terminal, between two frames.
            start: called when there is something for `decode_wanted`, until it ends.
            max_kept: images that are ready to be drawn, at most.
            decode: decodes one, in a thread.
            timeout_s: seconds until an image is not waited for.
        """
        self.graphics = graphics
        self.changed: set[Callable[[], object]] = set()
        """Called when an image is there, or will not be."""
        self._write = write
        self._start = start
        self._max_kept = max_kept
        self._decode = decode
        self._timeout_s = timeout_s
        self._found: dict[bytes, dict[int, Drawing | str]] = {}
        """What was decoded, or why it is not drawn, by the columns that there were for it."""
        self._wanted: OrderedDict[_Key, _Wanted] = OrderedDict()
        self._is_decoding = False
        self._decoded: _Key | None = None
        """What is just being decoded."""
        self._group = random.randrange(1, len(MARKS))  # noqa: S311 - no secret
        self._numbers = set(range(FIRST_COLOR, LAST_COLOR + 1))
        self._used: dict[Drawing, int] = {}
        """The drawings that are ready, each with its number in the terminal."""
        self._clock = count(1)

    def find(self, block: Json, width: int) -> Drawing | str | None:
        """Return the drawing of a content block in rows of `width` cells.

        A text says why there is none; None: it is no image, or not decoded yet.
        """
        found = image_data(block)
        if found is None:
            return None
        mime_type, data = found
        if mime_type not in TYPES:
            return NO_FORMAT
        if decoded_size(data) > MAX_BYTES:
            return TOO_LARGE
        room = Room(max(min(width, MAX_COLUMNS), 1), MAX_ROWS, self.graphics.cell)
        digest = blake2b(data.encode(errors="replace"), digest_size=16).digest()
        sizes = self._found.setdefault(digest, {})
        known = sizes.get(room.columns)
        if known is None:
            known = next((each for at, each in sizes.items() if _fits(each, at, room)), None)
            if known is not None:
                sizes[room.columns] = known
        if known is None or (isinstance(known, Drawing) and known.painter is None):
            self._want((digest, room.columns), _Wanted(data, room))
        # One for other columns stands there until then: the rows below stay about where they are.
        return known or next((each for each in sizes.values() if isinstance(each, Drawing)), None)

    def _want(self, key: _Key, wanted: _Wanted) -> None:
        if key == self._decoded:
            return
        self._wanted[key] = wanted
        self._wanted.move_to_end(key)
        while len(self._wanted) > MAX_WAITING:
            self._wanted.popitem(last=False)
        if not self._is_decoding:
            self._is_decoding = True
            self._start()

    async def decode_wanted(self) -> None:
        """Decode what is wanted, the newest first, one at a time."""
        try:
            while self._wanted:
                key, wanted = self._wanted.popitem()
                self._decoded = key
                try:
                    with fail_after(self._timeout_s):
                        prepared = await to_thread.run_sync(
                            self._prepare, wanted, abandon_on_cancel=True
                        )
                except ImageError as problem:
                    self._put(key, str(problem))
                except TimeoutError:
                    self._put(key, "decoding it takes too long")
                else:
                    if wanted.room.cell == self.graphics.cell:
                        self._keep(key, *prepared)
                self._decoded = None
                for call in tuple(self.changed):
                    call()
        finally:
            self._is_decoding, self._decoded = False, None

    def _prepare(self, wanted: _Wanted) -> _Prepared:
        """Decode an image and encode it for the terminal; runs long."""
        try:
            image = self._decode(wanted.data, wanted.room)
            if self.graphics.protocol == "kitty":
                return image, encode_png(image.pixels)
            return image, SixelRows(image.pixels, wanted.room.cell, self.graphics.colors)
        except MemoryError:
            raise ImageError("not enough memory") from None

    def _keep(self, key: _Key, image: DecodedImage, sent: str | SixelRows) -> None:
        drawing = self._found.get(key[0], {}).get(key[1])
        if not isinstance(drawing, Drawing):
            drawing = Drawing(image.columns, image.rows, image.about)
            self._put(key, drawing)
        elif drawing.painter is not None:
            # Rows of another width had it decoded meanwhile.
            return
        number = self._numbers.pop()
        self._used[drawing] = number
        if isinstance(sent, str):
            drawing.painter = KittyPainter(number, image.columns, image.rows, sent, self._group)
        else:
            drawing.painter = SixelPainter(sent)
        self.note_drawn(drawing)
        if len(self._used) > self._max_kept:
            self._release(min(self._used, key=lambda each: each.drawn))

    def _put(self, key: _Key, found: Drawing | str) -> None:
        self._found.setdefault(key[0], {})[key[1]] = found

    def note_drawn(self, drawing: Drawing) -> None:
        """Keep a drawing longer than those that were drawn before."""
        drawing.drawn = next(self._clock)

    def _release(self, drawing: Drawing) -> None:
        self._numbers.add(self._used.pop(drawing))
        painter, drawing.painter = drawing.painter, None
        if painter is not None and (command := painter.release()):
            self._write(command)

    def leave(self) -> str:
        """Return what lets the terminal forget all images; each is sent again when it is drawn."""
        painters = (drawing.painter for drawing in self._used)
        return "".join(painter.release() for painter in painters if painter is not None)

    def fit(self, cell: tuple[int, int]) -> None:
        """Draw for cells of another size."""
        if cell != self.graphics.cell:
            for drawing in tuple(self._used):
                self._release(drawing)
            self._found.clear()
            self.graphics = replace(self.graphics, cell=cell)
            for call in tuple(self.changed):
                call()


def _fits(found: Drawing | str, columns: int, room: Room) -> bool:
    """Return whether what was found with some columns is also what a room would give."""
    if isinstance(found, str):
        return True
    is_cut = found.columns == columns < room.columns
    return found.columns <= room.columns and not is_cut


def image_data(block: Json) -> tuple[str, str] | None:
    """Return the type of an image and its bytes in base64; None: the block is no image."""
    kind = get_string(block, "type")
    inner = get(block, "resource") if kind == "resource" else block
    mime_type = get_string(inner, "mimeType").lower()
    data = get_string(inner, "blob" if kind == "resource" else "data")
    is_image = kind == "image" or (kind == "resource" and mime_type.startswith("image/"))
    return (mime_type, data) if is_image and data else None
