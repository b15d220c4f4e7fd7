"""Opens recordings, compressed or not; the content decides, not the name.

Compressed data that is truncated or corrupt is read as far as possible; `DecompressedFile.problem`
then says why it ends.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, ClassVar, Final, Self

from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.joining import BEGIN, holds_lines, joined_lines
from acp_inspector.recording.lines import stream_lines
from acp_inspector.recording.recovery import Unwritten, read_unwritten
from acp_protocol.errors import describe_os_error

OUTPUT: Final = 1 << 20
"""Most bytes that are decompressed at a time."""
TRUNCATED: Final = "the compressed data is truncated"
CORRUPT: Final = "the compressed data is corrupt from here on"
TOO_LARGE: Final = (
    "the compressed data grows to more than {} times its size; acp-console --huge reads it"
)
MAX_RATIO: Final = 100
"""How much larger than its file the content may be; recordings grow to 10 to 40 times."""
FREE: Final = 64 * 2**20
"""Bytes that any file may grow to."""

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_STEP: Final = 1 << 13
"""Most bytes that are lost before a corrupt place in the compressed data."""


class DecompressedFile:
    """A file to read sequentially, decompressed if it is compressed."""

    max_ratio: ClassVar[int | None] = MAX_RATIO
    """The limit of this process; None for none."""
    on_open: ClassVar[Callable[[DecompressedFile], object] | None] = None
    """Gets each file that this process opens, for who shows how far it is read."""

    def __init__(self, path: Path, *, is_joined: bool = True) -> None:
        """Open the file, with what a killed proxy had not written at its end.

        With `is_joined`, the frames of an earlier recording that holds them as lines are joined.

        Raises:
            OSError: the file cannot be opened or read.
            RecordingError: the file is compressed with zstd, which this Python lacks.
        """
        self.path = path
        self.reached = 0
        """The end of the last bytes that were read at an offset, instead of one after another."""
        self.unwritten = read_unwritten(path)
        """What is read after the file itself; it is never compressed."""
        self.source: io.BufferedReader = path.open("rb")
        """The file itself."""
        if DecompressedFile.on_open is not None:
            DecompressedFile.on_open(self)
        self._decompressed: _Decompressed | None = None
        self._problem: str | None = None
        self.file: BinaryIO = self.source
        """Reads the decompressed bytes."""
        if self.unwritten is not None:
            self.file = io.BufferedReader(_Continued(self.source, self.unwritten), OUTPUT)
        else:
            self._decompress(path)
        try:
            if is_joined and holds_lines(self._begin()):
                self._join()
        except BaseException:
            self.close()
            raise

    def _decompress(self, path: Path) -> None:
        try:
            magic = self.source.peek(len(_ZSTD))[: len(_ZSTD)]
            if magic.startswith(_GZIP):
                errors = (zlib.error, gzip.BadGzipFile)
                inner = gzip.GzipFile(fileobj=self.source)
                self._decompressed = _Decompressed(inner, errors, self._max_size(path))
            elif magic == _ZSTD:
                # Imported late: few recordings need it, and the proxy must start fast.
                if sys.version_info >= (3, 14):
                    from compression import zstd
                else:
                    from backports import zstd
                inner = zstd.ZstdFile(self.source)
                errors = (zstd.ZstdError,)
                self._decompressed = _Decompressed(inner, errors, self._max_size(path))
            if self._decompressed is not None:
                self.file = io.BufferedReader(self._decompressed, OUTPUT)
        except BaseException as error:
            self.source.close()
            if isinstance(error, ImportError):
                raise RecordingError(
                    f"cannot read {path}: this Python lacks zstd; unzstd the file first"
                ) from None
            raise

    def _max_size(self, path: Path) -> float:
        size = path.stat().st_size
        return inf if self.max_ratio is None else max(FREE, self.max_ratio * size)

    def _begin(self) -> bytes:
        if self._decompressed is not None:
            return self._decompressed.ahead(BEGIN)
        if self.source.seekable():
            return os.pread(self.source.fileno(), BEGIN, 0)
        return self.source.peek(BEGIN)

    def _join(self) -> None:
        """Put a copy with joined frames in the place of the file."""
        with TemporaryFile(buffering=OUTPUT) as copy:
            copy.writelines(joined_lines(stream_lines(self.file)))
            copy.flush()
            self._problem = self.problem
            self.close()
            self.source = open(os.dup(copy.fileno()), "rb")  # noqa: PTH123, SIM115 - a descriptor
        self.source.seek(0)
        self.file, self.unwritten, self._decompressed = self.source, None, None

    @property
    def is_compressed(self) -> bool:
        return self._decompressed is not None

    @property
    def fraction_read(self) -> float:
        """How much of the file itself is read, from 0 to 1; any thread may look."""
        try:
            descriptor = self.source.fileno()
            size = os.fstat(descriptor).st_size
            at = max(self.reached, os.lseek(descriptor, 0, os.SEEK_CUR))
        except ValueError:
            # It is closed.
            return 1.0
        except OSError:
            # It is a pipe, whose end is not known.
            return 0.0
        return min(1.0, at / size) if size else 1.0

    @property
    def problem(self) -> str | None:
        """Why the data ends too early; known only once it is read to the end."""
        return self._decompressed.problem if self._decompressed else self._problem

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self.source.close()
        if self.unwritten is not None:
            self.unwritten.lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Continued(io.RawIOBase):
    """A raw file of the whole lines of a recording and what its proxy had not written."""

    def __init__(self, source: BinaryIO, unwritten: Unwritten) -> None:
        self._source = source
        self._left = unwritten.size
        self._lines = unwritten.lines
        self._lines.seek(0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] - BufferedReader gives this
        piece = self._source.read(min(len(buffer), self._left)) if self._left else b""
        # The file has become shorter where there is less of it.
        self._left = self._left - len(piece) if piece else 0
        piece = piece or self._lines.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


@contextmanager
def open_whole(path: Path, *, is_joined: bool = True) -> Generator[BinaryIO]:
    """Open a file, compressed or not, to read all of it; see `DecompressedFile`.

    Raises:
        RecordingError: it cannot be read, or, after the block, not to its end.
    """
    try:
        with DecompressedFile(path, is_joined=is_joined) as stream:
            yield stream.file
            problem = stream.problem
    except OSError as error:
        raise RecordingError(f"cannot read {path}: {describe_os_error(error)}") from None
    if problem:
        raise RecordingError(f"cannot read all of {path}: {problem}")


class _Decompressed(io.RawIOBase):
    """A raw file of decompressed bytes that ends where the compressed data is corrupt."""

    def __init__(
        self, inner: io.BufferedIOBase, errors: tuple[type[Exception], ...], max_size: float
    ) -> None:
        """`errors` are those that `inner` raises for corrupt data."""
        self._inner = inner
        self._left = max_size
        self._errors = errors
        self._ahead = b""
        """Bytes that were looked at and not read yet."""
        self.problem: str | None = None

    def ahead(self, size: int) -> bytes:
        """Return about the next `size` bytes, which are read later."""
        while len(self._ahead) < size and (piece := self._decompress(_STEP)):
            self._ahead += piece
        return self._ahead

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] - BufferedReader gives this
        if self._ahead:
            piece, self._ahead = self._ahead[: len(buffer)], self._ahead[len(buffer) :]
        else:
            piece = self._decompress(min(len(buffer), _STEP))
        buffer[: len(piece)] = piece
        return len(piece)

    def _decompress(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; nothing at the end."""
        if self.problem is not None:
            return b""
        try:
            piece = self._inner.read1(size)
        except EOFError:
            self.problem = TRUNCATED
            return b""
        except self._errors:
            self.problem = CORRUPT
            return b""
        self._left -= len(piece)
        if self._left < 0:
            self.problem = TOO_LARGE.format(DecompressedFile.max_ratio)
            return b""
        return piece
