"""Reads a whole recording once, in blocks of lines, without decoding most of them.

`read_lines` decodes every line, and an index has columns for every line. A scan has neither: it
recognises lines in the layout that our writer produces by one regular expression, and decodes only
those that a caller wants, and those in another layout.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeAlias

from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.recording.format import (
    Digest,
    Footer,
    Header,
    RecordingLine,
    UnreadableLine,
    are_objects,
    decode_line,
)
from acp_inspector.recording.index import MAX_WAITING, envelopes_of
from acp_inspector.recording.lines import (
    BLOCK,
    MAX_HEADER,
    MAX_LINE,
    SkippedLine,
    line_blocks,
    line_end,
)
from acp_inspector.recording.random_access import FileContent, os_errors
from acp_inspector.recording.reader import (
    DIGEST_MISMATCH,
    LINE_CUT_OFF,
    LINE_TOO_LONG,
    BadLine,
    header_of,
)
from acp_protocol.jsonrpc import read_message

HASHED: Final = 8 << 20
"""Bytes to hash at a time; the thread that does it waits for the interpreter's lock each time."""

_START: Final = rb'\{"n":(?:0|[1-9]\d{0,17}),"t":\d{1,12}\.\d{6},"from":"'
_Key: TypeAlias = tuple[bytes, bytes]
"""The sender of a request, and its id as compact JSON."""
_LINES: Final = re.compile(
    # Any number of messages that are neither a request nor a response, if their keys have the usual
    # order; then one that is, or a line that has to be decoded.
    rb'(?:%b(?:client|agent)","msg":(?!\{"jsonrpc":"2\.0","id":).*\}\n)*+'
    rb'(?:()(?:%b(client|agent)","msg":\{"jsonrpc":"2\.0","id":(-?\d+|"[^"\\\n]*+"),'
    rb'"(?:method":()"[^"\\\n]*+"(?:\}|,"params":[\[{])|(?:result|error)":).*\}\n|(.*\n)))?+'
    % (_START, _START)
)
"""Start, sender and id of a request or response, whether it is a request, and another line."""
_FRAMES: Final = re.compile(
    rb'\{"n":(?:0|[1-9]\d{0,17}),"t":(?:0|[1-9]\d{0,17})\.\d+,"from":"(?:client|agent)",'
    rb'"msg":(.*)\}\n|.*\n'
)
"""The data of a frame; empty for another line."""
_OPPOSITE: Final = {b"client": b"agent", b"agent": b"client"}
_ID: Final = b'"id"'
"""Occurs in every request and response, unless their keys are escaped."""


class Block(NamedTuple):
    """Some lines, all with their newlines."""

    offset: int
    content: bytes

    @property
    def end(self) -> int:
        """The offset behind the last line."""
        return self.offset + len(self.content)

    def line_at(self, offset: int) -> bytes:
        """Return the line that starts at an offset of the file, without its newline."""
        begin = offset - self.offset
        return self.content[begin : self.content.index(b"\n", begin)]

    def lines_with(self, text: bytes) -> Iterator[int]:
        """Yield the offset of each line that contains a text."""
        content = self.content
        at = content.find(text)
        while 0 <= at < len(content):
            yield self.offset + content.rfind(b"\n", 0, at) + 1
            at = content.find(text, content.index(b"\n", at) + 1)


class Outline(NamedTuple):
    """Offsets of lines in a block."""

    requests: list[int]
    responses: dict[int, list[int]]
    """Each response, with the offset of its request; an array has several."""
    others: list[int]
    """Lines that are no messages in the layout that our writer produces; some come twice."""
    begins: list[int]
    """Events that begin a connection, or name its dialect."""


class RecordingScan:
    """One pass over a recording, from its first line to its last.

    Every method that reads the file raises RecordingError if that fails.
    """

    def __init__(
        self, path: Path, on_bad_line: Callable[[BadLine], object], *, max_line: int = MAX_LINE
    ) -> None:
        """Open the recording at `path`.

        Args:
            path: The file.
            on_bad_line: Called with each bad line that is found, in their order.
            max_line: Longer lines, in bytes, are bad lines.

        Raises:
            RecordingError: there is no such file, it cannot be read, or it is not a recording.
        """
        self._path = path
        self._on_bad_line = on_bad_line
        self._max_line = max_line
        with os_errors(path):
            self._content = FileContent(path)
        self._hasher = _Hasher(self._read)
        self._waiting: dict[_Key, deque[int]] = {}
        """The offsets of the requests without a response, by sender and id."""
        self._counted = (0, 1)
        """An offset, and the number of the line there."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._hasher.close()
        self._content.close()

    def count_frames(self) -> int:
        """Return the number of frames; every line is checked as if it were decoded."""
        count = 0
        for block in self.blocks():
            content = block.content
            frames: list[bytes] = _FRAMES.findall(content)
            if are_objects(frames, content):
                count += len(frames)
                continue
            at = block.offset
            for line in content[:-1].split(b"\n"):
                row = decode_line(line)
                count += isinstance(row, Frame)
                self.check(at, row)
                at += len(line) + 1
        return count

    def blocks(self) -> Iterator[Block]:
        """Yield the lines after the header, but for those that are too long, or cut off."""
        at = self._header_size()
        is_cut = False
        for block in line_blocks(self._pieces(at), self._max_line):
            if isinstance(block, SkippedLine):
                self._report(at, LINE_TOO_LONG)
                at += block.size
                continue
            end = block.rfind(b"\n") + 1
            if end:
                yield Block(at, block[:end])
                self._hasher.reach(at + end)
            at += end
            if rest := block[end:]:
                is_cut = isinstance(decode_line(rest), UnreadableLine)
                if is_cut:
                    self._report(at, self._content.problem or LINE_CUT_OFF)
                else:
                    yield Block(at, rest + b"\n")
                at += len(rest)
        if self._content.problem and not is_cut:
            self._report(at, self._content.problem)

    def outline(self, block: Block) -> Outline:
        """Pair the requests and responses of the next block, and check its other lines."""
        first, content = block
        found: list[tuple[int, _Key | None, bool]] = []
        others: list[int] = []
        begins: list[int] = []
        for line in _LINES.finditer(content):
            _, side, id_, request, other = line.groups()
            if side is not None:
                is_request = request is not None
                requester = side if is_request else _OPPOSITE[side]
                found.append((first + line.start(1), (requester, id_), is_request))
            elif other is not None:
                others.append(first + line.start(1))
        # Requests and responses with their keys in another order.
        late: set[int] = set()
        if content.count(_ID) > len(found):
            late = set(block.lines_with(_ID)).difference(others, (at for at, *_ in found))
        for at in sorted([*others, *late]):
            row = decode_line(block.line_at(at))
            if isinstance(row, Frame):
                message = read_message(row.data)
                for each in envelopes_of(row.side, message):
                    key = each.requester.encode(), each.id
                    found.append((at, key, not each.is_response))
                    others.append(at)
            elif isinstance(row, JournalEvent) and row.begins_connection:
                found.append((at, None, False))
                begins.append(at)
            elif isinstance(row, JournalEvent) and row.dialect is not None:
                begins.append(at)
            else:
                self.check(at, row)
        found.sort(key=itemgetter(0))
        return Outline(*self._pair(found), others, begins)

    def _pair(
        self, found: Iterable[tuple[int, _Key | None, bool]]
    ) -> tuple[list[int], dict[int, list[int]]]:
        """Return the requests among some messages, and the responses with their requests."""
        waiting = self._waiting
        requests: list[int] = []
        responses: dict[int, list[int]] = {}
        for at, key, is_request in found:
            if key is None:
                waiting.clear()
            elif is_request:
                requests.append(at)
                if key not in waiting:
                    waiting[key] = deque([at])
                    if len(waiting) > MAX_WAITING:
                        del waiting[next(iter(waiting))]
                elif len(waiting[key]) < MAX_WAITING:
                    waiting[key].append(at)
            elif key in waiting:
                responses.setdefault(at, []).append(waiting[key].popleft())
                if not waiting[key]:
                    del waiting[key]
        return requests, responses

    def frame_at(self, offset: int, block: Block) -> Frame | None:
        """Return the frame whose line starts at `offset`, in `block` or before it; None if none."""
        if offset >= block.offset:
            line = block.line_at(offset)
        else:
            end = line_end(self._read, offset, block.offset)
            line = self._read(offset, end - offset).rstrip(b"\n")
        row = decode_line(line)
        return row if isinstance(row, Frame) else None

    def check(self, offset: int, row: RecordingLine) -> None:
        """Report a row if it cannot be read, or if it is a footer with a wrong digest."""
        if isinstance(row, UnreadableLine):
            self._report(offset, row.reason)
        elif isinstance(row, Footer) and row.digest != self._hasher.hexdigest(offset):
            self._report(offset, DIGEST_MISMATCH)

    @cached_property
    def header(self) -> Header:
        return header_of(self._path, self._first_line, self._content.problem)

    @property
    def _first_line(self) -> bytes:
        return self._read(0, line_end(self._read, 0, MAX_HEADER))

    def _header_size(self) -> int:
        # It is checked, too.
        return len(self._first_line) if self.header else 0

    def _pieces(self, at: int) -> Iterator[bytes]:
        size = min(BLOCK, self._max_line)
        while piece := self._read(at, size):
            yield piece
            at += len(piece)

    def _read(self, at: int, size: int) -> bytes:
        with os_errors(self._path):
            self._content.unpack(at + size)
            return self._content.read(at, size)

    def _report(self, offset: int, reason: str) -> None:
        at, line = self._counted
        for begin in range(at, offset, HASHED):
            line += self._read(begin, min(HASHED, offset - begin)).count(b"\n")
        self._counted = offset, line
        self._on_bad_line(BadLine(line, reason, offset))


class _Hasher:
    """The digest of the start of a file, computed by a thread while the file is read."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._read = read
        self._digest: Digest = hashlib.sha256()
        self._end = 0
        self._thread = ThreadPoolExecutor(1)

    def reach(self, end: int) -> None:
        """Hash the bytes before `end`, once they are enough for one step."""
        while end - self._end >= HASHED:
            self._hash(self._end + HASHED)

    def hexdigest(self, end: int) -> str:
        """Return the digest of the bytes before `end`, which does not decrease."""
        self.reach(end)
        self._hash(end)
        return self._thread.submit(self._digest.hexdigest).result()

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)

    def _hash(self, end: int) -> None:
        begin, self._end = self._end, end
        self._thread.submit(lambda: self._digest.update(self._read(begin, end - begin)))
