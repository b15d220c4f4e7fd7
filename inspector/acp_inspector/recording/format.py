r"""The lines of a recording, without I/O.

A recording is newline-delimited JSON. What a frame said stands in it verbatim: as the value of
`msg` where the line was JSON, spliced in and cut out by position, never written anew from a parsed
value; as `text` where it was other UTF-8; as `b64` where it was neither.

Source: docs/recording-format.md.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import platform
import re
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, cast

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_protocol import jsonrpc
from acp_protocol.errors import AcpError
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json
from acp_protocol.version import SCHEMA_ID, VERSION

BOM: Final = b"\xef\xbb\xbf"
"""Stands before the text in files of some systems, and never before JSON."""


FORMAT_VERSION: Final = 1
SUFFIX: Final = ".acp.ndjson"
MAX_DEPTH: Final = 200
"""Nesting beyond which a frame is kept as text: its reader may have less stack than we."""

_SLOW_LINES: Final = 200
"""Lines that are parsed by the standard library before orjson is worth its import."""
_LARGE: Final = 1 << 20
"""Bytes of a line for which orjson, which reserves twelve times as many, needs too much memory."""
_Parse: TypeAlias = Callable[[bytes | bytearray], Any]

_FRAME_START: Final = re.compile(
    rb'\{"n":(0|[1-9][0-9]{0,17}),"t":((?:0|[1-9][0-9]{0,17})\.[0-9]+),"from":"(client|agent)","msg":'
)
_NO_BRACKETS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[^]\[{}"]++', re.DOTALL)
_TO_SQUARE: Final = bytes.maketrans(b"{}", b"[]")


class RecordingError(AcpError):
    """A file cannot be read as a recording, or not be written as one."""


class RecordingExistsError(RecordingError):
    """There is a file of that name already, and nobody said what to do with it."""


class Digest(Protocol):
    """What has been hashed so far."""

    def update(self, data: bytes | bytearray, /) -> None:
        """Hash `data` behind what was hashed before."""
        ...

    def copy(self) -> Digest:
        """Return one that has hashed the same so far."""
        ...

    def hexdigest(self) -> str:
        """Return the hash in hex."""
        ...


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: what was recorded, how and where."""

    created: str
    """RFC 3339 with milliseconds, UTC."""
    tool: str
    schema: str
    transport: str = "stdio"
    command: list[str] = field(default_factory=list[str])
    cwd: str = ""
    platform: str = ""
    env: list[str] = field(default_factory=list[str])
    """Names of the environment's variables; never their values."""
    redacted: list[str] | None = None
    about: str | None = None
    meta: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Footer:
    """The last line of a clean end."""

    counts: Mapping[str, int]
    digest: str
    """SHA-256 of all bytes before this line, in hex."""


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line that says nothing we know; the reader goes on behind it."""

    reason: str


RecordingLine: TypeAlias = Header | Entry | Footer | UnreadableLine


FRAME_LINE: Final[Mapping[Side, bytes]] = {
    "client": b'{"n":%d,"t":%.6f,"from":"client","msg":%b}\n',
    "agent": b'{"n":%d,"t":%.6f,"from":"agent","msg":%b}\n',
}
"""The line of a frame that is JSON and ended with a newline."""


def encode_header(header: Header) -> bytes:
    """Return the header's line, with its newline."""
    members = {key: value for key, value in asdict(header).items() if value is not None}
    return jsonrpc.encode({"acp_recording": FORMAT_VERSION} | members) + b"\n"


def encode_footer(footer: Footer) -> bytes:
    """Return the footer's line, with its newline."""
    return jsonrpc.encode({"end": dict(footer.counts), "digest": footer.digest}) + b"\n"


def encode_entry(entry: Entry) -> bytes:
    """Return the entry's line, with its newline."""
    if isinstance(entry, Frame) and entry.line_ending == b"\n" and is_json(entry.data):
        # What almost every line is, spelled in one go: a flood consists of these.
        return FRAME_LINE[entry.side] % (entry.seq, entry.time, entry.data)
    start = b'{"n":%d,"t":%.6f' % (entry.seq, entry.time)
    match entry:
        case Frame(side=side, data=raw):
            return b'%b,"from":"%b",%b%b}\n' % (
                start,
                side.encode(),
                _content(raw),
                encode_end(entry.line_ending),
            )
        case StderrChunk(data=text):
            return b'%b,"from":"agent",%b}\n' % (start, _text("stderr", "stderr_b64", text))
        case JournalEvent(name=name, data=data):
            members = jsonrpc.encode({"event": name} | dict(data))
            return b"%b,%b\n" % (start, members[1:])


def decode_line(line: bytes) -> RecordingLine:
    """Return what a line (without its newline) says; `Unreadable` where it says nothing we know."""
    if start := _FRAME_START.match(line):
        # If what stands between the start and the last brace is one value, there is nothing else.
        raw = line[start.end() : -1]
        if line.endswith(b"}") and not raw.startswith(BOM) and _parses(raw):
            n, at, side = start.groups()
            return Frame(int(n), float(at), "client" if side == b"client" else "agent", raw)
    try:
        members = _members(line.decode())
    except UnicodeDecodeError:
        return UnreadableLine("no UTF-8")
    except (ValueError, RecursionError):
        return UnreadableLine("no JSON object")
    try:
        return _read(members)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError, binascii.Error):
        return UnreadableLine("members are missing or of the wrong type")


def is_json(raw: bytes | bytearray) -> bool:
    """Tell whether `raw` can stand in a recording as a JSON value."""
    if raw.startswith(BOM) or b"\n" in raw:
        return False
    # Nesting takes two bytes a level, so short frames need no count.
    return not (len(raw) > 2 * MAX_DEPTH and _is_too_deep(raw)) and _parses(raw)


def are_json(lines: Sequence[bytes], block: bytes) -> bool:
    r"""Tell whether JSON `lines`, which stand together in `block`, may all be kept as values.

    False does not say that none may: each then has to be asked alone. The newline at the end of a
    line is white space.
    """
    longest = max(map(len, lines))
    if b"\r" in block or (longest > 2 * MAX_DEPTH and _has_many_openings(block, len(lines))):
        return False
    loads = _PARSER.fast(longest, len(lines))
    if loads is None:
        return all(_parses(line) and not line.startswith(BOM) for line in lines)
    try:
        # orjson refuses a byte order mark.
        deque(map(loads, lines), maxlen=0)
    except (ValueError, RecursionError):
        return False
    return True


def _parses(raw: bytes | bytearray) -> bool:
    """Tell whether `jsonrpc.parse` reads `raw`, whatever its nesting."""
    loads = _PARSER.fast(len(raw), 1)
    if loads is not None:
        # Whatever it takes the standard library takes too, but not the other way round.
        with suppress(ValueError, RecursionError):
            loads(raw)
            return True
    return jsonrpc.is_json(bytes(raw))


class _Parser:
    """Parses to judge; imports faster parsers once they are worth that."""

    def __init__(self) -> None:
        self._lines = 0
        self._small: _Parse | None = None
        self._large: _Parse | None = None

    def fast(self, size: int, lines: int) -> _Parse | None:
        """Return a fast parser for lines of up to `size` bytes; None if it is not worth it yet."""
        if size >= _LARGE:
            if self._large is None:
                from pydantic_core import from_json

                self._large = partial(from_json, allow_inf_nan=False, cache_strings=False)
            return self._large
        if self._small is None:
            self._lines += lines
            if self._lines > _SLOW_LINES:
                import orjson

                self._small = orjson.loads
        return self._small


_PARSER: Final = _Parser()


def _has_many_openings(block: bytes | bytearray, lines: int) -> bool:
    """Tell whether there are enough brackets for one line to be too deep; each line adds one."""
    # Counting looks at every byte; replacing leaps from one bracket to the next.
    openings = block.replace(b"{", b"[")
    return b"[" in openings.replace(b"[", b" ", MAX_DEPTH + lines)


def _is_too_deep(raw: bytes | bytearray) -> bool:
    """Tell whether JSON is nested too deeply."""
    if len(raw) < _LARGE and not _has_many_openings(raw, 0):
        return False
    brackets = _NO_BRACKETS.sub(b"", raw).translate(_TO_SQUARE)
    # Each step takes the innermost level away.
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)


def _content(raw: bytes) -> bytes:
    return b'"msg":' + raw if is_json(raw) else _text("text", "b64", raw)


def _text(key: str, binary_key: str, raw: bytes) -> bytes:
    try:
        return jsonrpc.encode({key: raw.decode()})[1:-1]
    except UnicodeDecodeError:
        return jsonrpc.encode({binary_key: base64.b64encode(raw).decode()})[1:-1]


def encode_end(end: bytes) -> bytes:
    """Return the member that tells what ended a frame's line, if that was no newline."""
    return b"" if end == b"\n" else b',"end":' + jsonrpc.encode(end.decode())


# Reading. A member is kept with the text it stood as, from its colon to the comma or brace behind.

_Members: TypeAlias = dict[str, tuple[Json, str]]
_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r]*")


def _members(line: str) -> _Members:
    """Return the members of the object that `line` spells, each with its own text."""
    members: _Members = {}
    at = _skip(line, 0)
    if line[at : at + 1] != "{":
        raise ValueError("no object")
    at = _skip(line, at + 1)
    while line[at : at + 1] != "}":
        key, at = _value(line, at)
        at = _skip(line, at)
        if line[at : at + 1] != ":":
            raise ValueError("no colon")
        start = at + 1
        value, at = _value(line, _skip(line, start))
        at = _skip(line, at)
        members[key] = (value, line[start:at])
        if line[at : at + 1] == ",":
            at = _skip(line, at + 1)
        elif line[at : at + 1] != "}":
            raise ValueError("neither comma nor end")
    if _skip(line, at + 1) != len(line):
        raise ValueError("something behind the object")
    return members


def _value(line: str, at: int) -> tuple[Any, int]:
    return _DECODER.raw_decode(line, at)


def _skip(line: str, at: int) -> int:
    found = _SPACE.match(line, at)
    return found.end() if found else at


def _read(members: _Members) -> RecordingLine:
    values = {key: value for key, (value, _) in members.items()}
    if "acp_recording" in values:
        return _read_header(values)
    if "digest" in values:
        counts = {name: count for name, count in values["end"].items() if type(count) is int}
        return Footer(counts, str(values["digest"]))
    n, at = values.pop("n"), float(values.pop("t"))
    if type(n) is not int:
        raise TypeError("n is no integer")
    if "event" in values:
        return JournalEvent(n, at, str(values.pop("event")), values)
    if "stderr" in values:
        return StderrChunk(n, at, values["stderr"].encode())
    if "stderr_b64" in values:
        return StderrChunk(n, at, _bytes(values["stderr_b64"]))
    return Frame(n, at, _side(values["from"]), _raw(members), values.get("end", "\n").encode())


def _side(value: Json) -> Side:
    if value == "client":
        return "client"
    if value == "agent":
        return "agent"
    raise ValueError("from is neither client nor agent")


def _raw(members: _Members) -> bytes:
    if "msg" in members:
        return members["msg"][1].encode()
    if "text" in members:
        return members["text"][0].encode()
    return _bytes(members["b64"][0])


def _bytes(value: str) -> bytes:
    return base64.b64decode(value, validate=True)


def _read_header(values: dict[str, Json]) -> Header | UnreadableLine:
    version = values.pop("acp_recording")
    if version != FORMAT_VERSION:
        return UnreadableLine(f"format version {version} is not known here")
    # A recording comes from anywhere: what is of the wrong type counts as empty.
    redacted = values.get("redacted")
    meta = values.get("meta")
    return Header(
        created=_as_text(values["created"]),
        tool=_as_text(values["tool"]),
        schema=_as_text(values["schema"]),
        transport=_as_text(values.get("transport", "stdio")),
        command=_as_texts(values.get("command")),
        cwd=_as_text(values.get("cwd")),
        platform=_as_text(values.get("platform")),
        env=_as_texts(values.get("env")),
        redacted=_as_texts(redacted) if isinstance(redacted, list) else None,
        about=_as_text(values.get("about")) or None,
        meta=cast("dict[str, Json]", meta) if isinstance(meta, dict) else {},
    )


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _as_texts(value: Json) -> list[str]:
    return [str(each) for each in cast("list[Json]", value)] if isinstance(value, list) else []


def new_header(
    command: Sequence[str], cwd: Path, *, transport: str = "stdio", about: str | None = None
) -> Header:
    """Return the header for a recording that begins now; the environment gives its names only."""
    return Header(
        created=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        tool=f"acp-console {VERSION}",
        schema=SCHEMA_ID,
        transport=transport,
        command=list(command),
        cwd=str(cwd),
        platform=f"{sys.platform} {platform.machine()} Python {platform.python_version()}",
        env=sorted(os.environ),
        about=about,
    )
