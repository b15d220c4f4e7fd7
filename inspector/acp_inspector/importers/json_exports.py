"""Exports that are one JSON document with a list of messages: acp-devtools and Zed.

`ArraySplitter` reads such a list without loading the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from acp_inspector.importers.model import (
    FrameItem,
    Item,
    NoteItem,
    StderrItem,
    broken,
    request,
    response,
    seconds,
)
from acp_protocol import jsonrpc
from acp_protocol.framing import Side, split_ending
from acp_protocol.jsonrpc import Json

CHUNK_BYTES: Final = 1 << 16
"""Bytes that are read at once, at first."""

MALFORMED: Final = (
    *(ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError),
)
"""Exceptions raised by values of unexpected types."""
CUT: Final = NoteItem("the file ends in the middle of the list", is_broken=True)

_TOKEN: Final = re.compile(
    rb'"(?:[^"\\]|\\.)*+(?P<end>"|\\?\Z)|#[0-9]+=|#[0-9]*\Z|[][(){}]', re.DOTALL
)


class ArraySplitter:
    """Yields the elements of one long list, one at a time; works for JSON and for Lisp."""

    def __init__(
        self,
        file: BinaryIO,
        *,
        opens: tuple[bytes, bytes],
        depth: int,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        """Read `file`.

        Args:
            file: The document.
            opens: The tokens that open the list and each of its elements.
            depth: Number of open containers within the list, including the list.
            chunk_bytes: Bytes per read; doubled while no element ends.
        """
        self._file = file
        self._chunk_bytes = chunk_bytes
        self._container, self._element = opens
        self._depth = depth
        self._open: list[bytes] = []
        self._start = -1
        self._label = -1
        self._label_end = -1
        self.is_cut = False
        """Whether the file ended in the middle of the list."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes of each element."""
        buffer, at, size = b"", 0, self._chunk_bytes
        while chunk := self._file.read(size):
            buffer += chunk
            size *= 2
            for found in _TOKEN.finditer(buffer, at):
                if _is_partial(found):
                    break
                at = found.end()
                if self._takes(found):
                    yield buffer[self._start : at]
                    self._start = -1
            keep = min((mark for mark in (self._start, self._label) if mark >= 0), default=at)
            if keep:
                size = self._chunk_bytes
            buffer, at = buffer[keep:], at - keep
            self._start, self._label = self._start - keep, self._label - keep
            self._label_end -= keep
        self.is_cut = bool(self._open) or self._start >= 0

    def _takes(self, found: re.Match[bytes]) -> bool:
        """Process a token; return whether it ends an element."""
        token = found[0]
        if token.startswith(b"#"):
            self._label, self._label_end = found.span()
            return False
        label, self._label = self._label, -1
        if token in (b"(", b"[", b"{"):
            if self._is_at_elements() and token == self._element:
                is_labelled = label >= 0 and self._label_end == found.start()
                self._start = label if is_labelled else found.start()
            self._open.append(token)
        elif token in (b")", b"]", b"}") and self._open:
            self._open.pop()
            return self._start >= 0 and self._is_at_elements()
        return False

    def _is_at_elements(self) -> bool:
        return len(self._open) == self._depth and self._open[-1] == self._container


def read_elements(
    file: BinaryIO, *, opens: tuple[bytes, bytes], depth: int, read: Callable[[bytes], Item]
) -> Iterator[Item]:
    """Yield the result of `read` for each element; unreadable elements are kept as text."""
    elements = ArraySplitter(file, opens=opens, depth=depth)
    for element in elements:
        try:
            yield read(element)
        except MALFORMED:
            yield broken(element)
    if elements.is_cut:
        yield CUT


def _is_partial(found: re.Match[bytes]) -> bool:
    """Return whether the token may continue in the next chunk."""
    token = found[0]
    if token.startswith(b'"'):
        return found["end"] != b'"'
    return token.startswith(b"#") and not token.endswith(b"=")


# acp-devtools
#
# `session.json`, as acp-devtools exports it: one object with a list of `messages`.
#
# Each has `timestamp` (milliseconds since 1970), `direction`, and the line as it was in `raw`.
#
# Source: acp-devtools, packages/core/src/storage/export.ts and src/acp/types.ts.

_DEVTOOLS_HEAD: Final = re.compile(rb'\s*\{(?=[^\[]*"exportedAt"\s*:)[^\[]*"messages"\s*:\s*\[')
MILLISECOND: Final = 0.001
_DEVTOOLS_SIDES: Final[dict[str, Side]] = {"editor-to-agent": "client", "agent-to-editor": "agent"}


def is_devtools(head: bytes) -> bool:
    return _DEVTOOLS_HEAD.match(head) is not None


def read_devtools(file: BinaryIO) -> Iterator[Item]:
    return read_elements(file, opens=(b"[", b"{"), depth=2, read=_devtools_item)


def _devtools_item(element: bytes) -> FrameItem:
    entry = jsonrpc.parse(element)
    raw, end = split_ending(entry["raw"].encode(errors="surrogatepass"))
    return FrameItem(
        _DEVTOOLS_SIDES[entry["direction"]], raw, end, seconds(entry["timestamp"], MILLISECOND)
    )


# Zed
#
# What Zed's "Copy All Messages" puts on the clipboard, in its view "dev: open acp logs".
#
# One list, each element with `_direction` (`outgoing`, `incoming`, `stderr`), `_type`, `id`,
# `method` and `params`; the `params` of a response are its result or its error. Messages are
# parsed JSON.
#
# Source: Zed, crates/acp_tools/src/acp_tools.rs, `serialize_observed_messages`.

_ZED_SIDES: Final[dict[str, Side]] = {"outgoing": "client", "incoming": "agent"}
ERROR: Final = "an answer with code and message is an error"


def is_zed(head: bytes) -> bool:
    return head.lstrip().startswith(b"[") and b'"_direction"' in head


def read_zed(file: BinaryIO) -> Iterator[Item]:
    return read_elements(file, opens=(b"[", b"{"), depth=1, read=_zed_item)


def _zed_item(element: bytes) -> Item:
    entry = jsonrpc.parse(element)
    kind, params = entry["_type"], entry["params"]
    if entry["_direction"] == "stderr":
        return StderrItem(f"{params}\n".encode(errors="surrogatepass"))
    side = _ZED_SIDES[entry["_direction"]]
    match kind:
        case "request":
            return FrameItem(side, request(entry["method"], params, entry["id"], has_id=True))
        case "notification":
            return FrameItem(side, request(entry["method"], params, has_id=False))
        case "response":
            is_error = _is_error(params)
            raw = response(entry["id"], params, is_error=is_error)
            return FrameItem(side, raw, guess=ERROR if is_error else "")
        case _:
            raise ValueError("a kind of message that is not known")


def _is_error(payload: Json) -> bool:
    return (
        isinstance(payload, dict)
        and {"code", "message"} <= payload.keys() <= {"code", "message", "data"}
        and isinstance(payload["code"], int)
    )
