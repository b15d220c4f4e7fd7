"""The bytes of a recording, compressed or not; its content decides, not its name.

Compressed data that are cut or broken are read as far as they go, to the byte; what ails them is
told at the end. What comes out at once is bounded, however much a few bytes stand for.
"""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Protocol, Self, TypeAlias

from acp_inspector.recording.format import RecordingError

PIECE: Final = 1 << 16
"""Compressed bytes that are read in one go."""
OUTPUT: Final = 1 << 20
"""Bytes that come out in one go, at most."""
CUT: Final = "the compressed data end in the middle"
BROKEN: Final = "the compressed data are broken from here on"
FOLLOWED: Final = "something else stands behind the compressed data"

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"


class Decompressor(Protocol):
    """Takes one stream of compressed data apart, as those of the standard library do."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether nothing more comes out before something is put in."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What was put in and stands behind the stream's end."""
        ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Put `data` in, and take at most `max_length` bytes out."""
        ...


_Maker: TypeAlias = Callable[[], Decompressor]


class RecordingStream:
    """The bytes of the file at `path`, decompressed, from the first to the last."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            OSError: it cannot be opened or read.
            RecordingError: nothing here can read how it is compressed.
        """
        self._source = path.open("rb")
        self._outputs: _Outputs | None = None
        self.file: BinaryIO = self._source
        """Where they are read."""
        try:
            magic = self._source.peek(len(_ZSTD))[: len(_ZSTD)]
            if maker := _maker(path, magic):
                self._outputs = _Outputs(self._source, magic, maker)
                self.file = io.BufferedReader(self._outputs, OUTPUT)
        except BaseException:
            self._source.close()
            raise

    @property
    def is_compressed(self) -> bool:
        """Whether the file holds something else than what is read here."""
        return self._outputs is not None

    @property
    def fault(self) -> str | None:
        """Why the bytes end where they do, when that is too early; known once they have ended."""
        return self._outputs.fault if self._outputs else None

    def close(self) -> None:
        """Read no more; closing twice is no error."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Outputs(io.RawIOBase):
    """What comes out of compressed data, as a file that ends where they are no longer good."""

    def __init__(self, source: BinaryIO, magic: bytes, maker: _Maker) -> None:
        self._outputs = self._all(source, magic, maker)
        self._rest = memoryview(b"")
        self.fault: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] - BufferedReader gives this
        self._rest = self._rest or memoryview(next(self._outputs, b""))
        count = min(len(self._rest), len(buffer))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def _all(self, source: BinaryIO, magic: bytes, maker: _Maker) -> Iterator[bytes]:
        streams = _Streams(source, magic, maker)
        try:
            for output in streams.outputs():
                streams.given += len(output)
                yield output
        except _broken_errors():
            # What the broken piece held before the break was lost with the exception. A second
            # run gets it out, byte by byte.
            self.fault = BROKEN
            yield from streams.rest_before_the_break()
            return
        self.fault = streams.fault


class _Streams:
    """Compressed streams that stand one behind the other, as gzip and zstd allow."""

    def __init__(self, source: BinaryIO, magic: bytes, maker: _Maker) -> None:
        self._source = source
        self._magic = magic
        self._maker = maker
        self.given = 0
        """Bytes that somebody has got."""
        self.piece_at = 0
        """Where the piece begins that is being read."""
        self.fault: str | None = None

    def outputs(self, single_from: float = float("inf")) -> Iterator[bytes]:
        """Yield what comes out; from place `single_from` on, byte after byte is put in."""
        inner = self._maker()
        while piece := self._source.read(1 if self.piece_at >= single_from else PIECE):
            while piece or not (inner.needs_input or inner.eof):
                if inner.eof:
                    if not piece.startswith(self._magic[: len(piece)]):
                        self.fault = FOLLOWED if piece.strip(b"\0") else None
                        return
                    inner = self._maker()
                output = inner.decompress(piece, OUTPUT)
                piece = inner.unused_data if inner.eof else b""
                if output:
                    yield output
            self.piece_at += PIECE if single_from > self.piece_at else 1
        if not inner.eof:
            self.fault = CUT

    def rest_before_the_break(self) -> Iterator[bytes]:
        """Yield what comes out behind what was given, up to the break."""
        again = _Streams(self._source, self._magic, self._maker)
        self._source.seek(0)
        skip = self.given
        try:
            for output in again.outputs(single_from=self.piece_at):
                if len(output) > skip:
                    yield output[skip:]
                skip = max(0, skip - len(output))
        except _broken_errors():
            return


class _Gzip:
    """zlib's decompressor with the manners of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        data = self._inner.unconsumed_tail + data
        output = self._inner.decompress(data, max(0, max_length))
        is_full = len(output) == max_length
        self.needs_input = not (self._inner.eof or self._inner.unconsumed_tail or is_full)
        return output


def _maker(path: Path, magic: bytes) -> _Maker | None:
    if magic.startswith(_GZIP):
        return _Gzip
    if magic != _ZSTD:
        return None
    # Late, because hardly any recording is compressed so, and the proxy must start light.
    try:
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdDecompressor
        else:
            from backports.zstd import ZstdDecompressor
    except ImportError:
        raise RecordingError(
            f"cannot read {path}: this Python lacks zstd; unzstd the file first"
        ) from None
    return ZstdDecompressor


def _broken_errors() -> tuple[type[Exception], ...]:
    """Return what decompressors raise; that of zstd exists only where it was imported."""
    for name in ("compression.zstd", "backports.zstd"):
        if module := sys.modules.get(name):
            return (zlib.error, module.ZstdError)
    return (zlib.error,)
