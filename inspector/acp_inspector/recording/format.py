r"""The lines of a recording, without I/O.

A recording is newline-delimited JSON. It keeps the bytes of each frame verbatim: as the value of
`msg` if the frame is JSON (spliced in and cut out by position, never re-encoded from a parsed
value), as `text` if it is other UTF-8, as `b64` if it is neither.

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
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_protocol import jsonrpc
from acp_protocol.errors import AcpError
from acp_protocol.framing import Side, with_length
from acp_protocol.json_values import as_list, as_object, as_string, as_text
from acp_protocol.jsonrpc import Json
from acp_protocol.version import SCHEMA_ID, VERSION

BOM: Final = b"\xef\xbb\xbf"
MARKED: Final = "it begins with a byte order mark"
"""Byte order mark; valid before text in some files, never before JSON."""


FORMAT_VERSION: Final = 1
SUFFIX: Final = ".acp.ndjson"
MAX_DEPTH: Final = 200
"""Nesting depth above which a frame is stored as text: a reader may have a smaller stack."""

_SLOW_LINES: Final = 200
"""Lines to parse with the standard library before importing orjson pays off."""
_LARGE: Final = 1 << 20
"""Line size in bytes from which orjson, which allocates twelve times as much, is avoided."""
_Parse: TypeAlias = Callable[[bytes | bytearray], Any]

_FRAME_START: Final = re.compile(
    rb'\{"n":(0|[1-9][0-9]{0,17}),"t":((?:0|[1-9][0-9]{0,17})\.[0-9]+),"from":"(client|agent)","msg":'
)
_OBJECT_START: Final = re.compile(rb"[ \t\r]*\{")
_NO_BRACKETS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[^]\[{}"]++', re.DOTALL)
_TO_SQUARE: Final = bytes.maketrans(b"{}", b"[]")


class RecordingError(AcpError):
    """A file cannot be read or written as a recording."""


class RecordingExistsError(RecordingError):
    """A file of that name exists, and neither append nor overwrite was requested."""


class Digest(Protocol):
    """An incremental hash."""

    def update(self, data: bytes | bytearray, /) -> None: ...

    def copy(self) -> Digest: ...

    def hexdigest(self) -> str: ...


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
    """Names of the environment variables; never their values."""
    redacted: list[str] | None = None
    about: str | None = None
    dialect: str | None = None
    """The dialect of the frames, if it was chosen; readers recognise others."""
    meta: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Footer:
    """The last line of a recording that was closed cleanly."""

    counts: Mapping[str, int]
    digest: str
    """SHA-256 of all bytes before this line, in hex."""


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line that cannot be decoded; the reader skips it and continues."""

    reason: str
    is_other_version: bool = field(default=False, compare=False)
    """Whether it is a header of another version of the format."""


RecordingLine: TypeAlias = Header | Entry | Footer | UnreadableLine


def header_error(path: Path, first: RecordingLine) -> RecordingError:
    """Return the error for a file whose first line is not a header."""
    if isinstance(first, UnreadableLine) and first.is_other_version:
        return RecordingError(
            f"cannot read {path}: {first.reason}", hint="use the version of the tool that wrote it"
        )
    if first == UnreadableLine(MARKED):
        return RecordingError(f"{path} is not a recording: {MARKED}", hint="save it without one")
    return RecordingError(f"{path} is not a recording: its first line is not a header")


FRAME_LINE: Final[Mapping[Side, bytes]] = {
    "client": b'{"n":%d,"t":%.6f,"from":"client","msg":%b}\n',
    "agent": b'{"n":%d,"t":%.6f,"from":"agent","msg":%b}\n',
}
"""The line of a frame that is JSON and ended with a newline."""


def encode_header(header: Header) -> bytes:
    members = {key: value for key, value in asdict(header).items() if value is not None}
    return jsonrpc.encode({"acp_recording": FORMAT_VERSION} | members) + b"\n"


def encode_footer(footer: Footer) -> bytes:
    """Return the footer's line, with its newline."""
    return jsonrpc.encode({"end": dict(footer.counts), "digest": footer.digest}) + b"\n"


def encode_entry(entry: Entry) -> bytes:
    """Return the entry's line, with its newline."""
    if (
        isinstance(entry, Frame)
        and entry.line_ending == b"\n"
        and not entry.header
        and is_json(entry.data)
    ):
        # Fast path for almost every line.
        return FRAME_LINE[entry.side] % (entry.seq, entry.time, entry.data)
    start = b'{"n":%d,"t":%.6f' % (entry.seq, entry.time)
    match entry:
        case Frame(side=side, data=raw):
            content = b'"msg":' + raw if is_json(raw) else _text("text", "b64", raw)
            rest = encode_rest(entry)
            return b'%b,"from":"%b",%b%b}\n' % (start, side.encode(), content, rest)
        case StderrChunk(data=text):
            return b'%b,"from":"agent",%b}\n' % (start, _text("stderr", "stderr_b64", text))
        case JournalEvent(name=name, data=data):
            members = jsonrpc.encode({"event": name} | dict(data))
            return b"%b,%b\n" % (start, members[1:])


def decode_line(line: bytes) -> RecordingLine:
    """Decode a line without its newline; `UnreadableLine` if that is not possible."""
    if start := _FRAME_START.match(line):
        # If the text up to the last brace is a single value, the line has no other keys.
        raw = line[start.end() : -1]
        if line.endswith(b"}") and _parses(raw) and not raw.startswith(BOM):
            n, at, side = start.groups()
            return Frame(int(n), float(at), "client" if side == b"client" else "agent", raw)
    if line.startswith(BOM):
        return UnreadableLine(MARKED)
    try:
        members = members_of(line.decode())
    except UnicodeDecodeError:
        return UnreadableLine("no UTF-8")
    except (ValueError, RecursionError):
        return UnreadableLine("no JSON object")
    try:
        return _read(members)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError, binascii.Error):
        return UnreadableLine("members are missing or of the wrong type")


def is_json(raw: bytes | bytearray) -> bool:
    """Return whether `raw` can be stored in a recording as a JSON value."""
    if raw.startswith(BOM) or b"\n" in raw:
        return False
    # Each level of nesting takes two bytes, so short frames need no check.
    return not (len(raw) > 2 * MAX_DEPTH and _is_too_deep(raw)) and _parses(raw)


def are_json(lines: Sequence[bytes], block: bytes) -> bool:
    r"""Return whether all `lines`, which together make up `block`, can be stored as JSON values.

    If False, some of them still may be: check each with `is_json`. The newline at the end of a
    line counts as white space.
    """
    longest = max(map(len, lines))
    if b"\r" in block or (longest > 2 * MAX_DEPTH and _has_many_openings(block, len(lines))):
        return False
    loads = _PARSER.fast(longest, len(lines))
    if loads is None:
        return all(_parses(line) and not line.startswith(BOM) for line in lines)
    try:
        # orjson rejects a byte order mark.
        deque(map(loads, lines), maxlen=0)
    except (ValueError, RecursionError):
        return False
    return True


def are_objects(lines: Sequence[bytes], block: bytes) -> bool:
    """Return whether all `lines`, which are parts of `block`, are surely JSON objects.

    If False, some of them still may be: check each with `is_json`.
    """
    if b"NaN" in block or b"Infinity" in block:
        return False
    try:
        deque(map(_PARSER.objects, lines), maxlen=0)
    except ValueError:
        return False
    return True


def _parses(raw: bytes | bytearray) -> bool:
    """Return whether `jsonrpc.parse` accepts `raw`, at any nesting depth."""
    loads = _PARSER.fast(len(raw), 1)
    if loads is not None:
        try:
            loads(raw)
        except (ValueError, RecursionError):
            # The standard library accepts all that this accepts, and more.
            pass
        else:
            return True
    return jsonrpc.is_json(bytes(raw))


class _Parser:
    """Validating JSON parsers; imports the faster ones once they pay off."""

    def __init__(self) -> None:
        self._lines = 0
        self._small: _Parse | None = None

    def fast(self, size: int, lines: int) -> _Parse | None:
        """Return a fast parser for lines of up to `size` bytes; None if it does not pay off yet."""
        if size >= _LARGE:
            return self._large
        if self._small is None:
            self._lines += lines
            if self._lines > _SLOW_LINES:
                import orjson

                self._small = orjson.loads
        return self._small

    @cached_property
    def objects(self) -> _Parse:
        """Parses objects without making values from them; accepts NaN and Infinity."""
        from pydantic_core import SchemaValidator, core_schema

        fields = core_schema.typed_dict_schema({}, extra_behavior="ignore")
        return SchemaValidator(fields).validate_json

    @cached_property
    def _large(self) -> _Parse:
        """Parses without making values from an object: a long text would be kept twice."""
        from pydantic_core import from_json

        objects = self.objects

        def parse(raw: bytes | bytearray) -> object:
            if _OBJECT_START.match(raw) and b"NaN" not in raw and b"Infinity" not in raw:
                return objects(raw)
            return from_json(raw, allow_inf_nan=False, cache_strings=False)

        return parse


_PARSER: Final = _Parser()


def _has_many_openings(block: bytes | bytearray, lines: int) -> bool:
    """Return whether there are enough brackets for one line to be too deep; each line adds one."""
    # Faster than counting, which looks at every byte.
    openings = block.replace(b"{", b"[")
    return b"[" in openings.replace(b"[", b" ", MAX_DEPTH + lines)


def _is_too_deep(raw: bytes | bytearray) -> bool:
    if len(raw) < _LARGE and not _has_many_openings(raw, 0):
        return False
    brackets = _NO_BRACKETS.sub(b"", raw).translate(_TO_SQUARE)
    # Each step removes the innermost level.
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)


def _text(key: str, binary_key: str, raw: bytes) -> bytes:
    try:
        return jsonrpc.encode({key: raw.decode()})[1:-1]
    except UnicodeDecodeError:
        return jsonrpc.encode({binary_key: base64.b64encode(raw).decode()})[1:-1]


def encode_rest(frame: Frame) -> bytes:
    """Return the members of a frame that is no line with a plain newline: `end` and `head`."""
    end = _end_of(frame.header)
    member = b""
    if frame.line_ending != end:
        member = b"," + _text("end", "end_b64", frame.line_ending)
    return member + (b"," + _text("head", "head_b64", frame.header) if frame.header else b"")


def _end_of(header: bytes) -> bytes:
    """Return the usual line ending of a frame: none after a header."""
    return b"" if header else b"\n"


# Reading. Each member is kept with its source text, from the colon to the next comma or brace.


class JsonMember(NamedTuple):
    """A field of an object in a text."""

    value: Any
    start: int
    """Offset of the value."""
    end: int
    source: str
    """The text from the colon to the next comma or brace."""


_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r]*")
_HEAD_MEMBER: Final = re.compile(r'"head(?:_b64)?"\s*:')


def members_of(line: str) -> dict[str, JsonMember]:
    """Return the fields of the object that `line` is.

    Raises:
        ValueError: it is none.
    """
    members: dict[str, JsonMember] = {}
    at = _skip(line, 0)
    if line[at : at + 1] != "{":
        raise ValueError("no object")
    at = _skip(line, at + 1)
    while line[at : at + 1] != "}":
        key, at = _DECODER.raw_decode(line, at)
        at = _skip(line, at)
        if line[at : at + 1] != ":":
            raise ValueError("no colon")
        colon, start = at, _skip(line, at + 1)
        value, end = _DECODER.raw_decode(line, start)
        at = _skip(line, end)
        members[key] = JsonMember(value, start, end, line[colon + 1 : at])
        if line[at : at + 1] == ",":
            at = _skip(line, at + 1)
        elif line[at : at + 1] != "}":
            raise ValueError("no comma or end")
    if _skip(line, at + 1) != len(line):
        raise ValueError("trailing data")
    return members


def with_right_length(line: str) -> str:
    """Return a line in which the header of a frame, if it has one, has the length of the frame."""
    if not _HEAD_MEMBER.search(line):
        return line
    frame = decode_line(line.removesuffix("\n").encode(errors="surrogateescape"))
    header = with_length(frame.header, len(frame.data)) if isinstance(frame, Frame) else b""
    if not isinstance(frame, Frame) or header == frame.header:
        return line
    members = members_of(line.removesuffix("\n"))
    key, old = next((key, members[key]) for key in ("head", "head_b64") if key in members)
    text = header.decode() if key == "head" else base64.b64encode(header).decode()
    return f"{line[: old.start]}{jsonrpc.encode(text).decode()}{line[old.end :]}"


def _skip(line: str, at: int) -> int:
    found = _SPACE.match(line, at)
    return found.end() if found else at


def _read(members: dict[str, JsonMember]) -> RecordingLine:
    values = {key: member.value for key, member in members.items()}
    if "acp_recording" in values:
        return _read_header(values)
    if "digest" in values:
        counts = {name: count for name, count in values["end"].items() if type(count) is int}
        return Footer(counts, str(values["digest"]))
    n, at = values.pop("n"), float(values.pop("t"))
    if type(n) is not int:
        raise TypeError("n is not an integer")
    if "event" in values:
        return JournalEvent(n, at, str(values.pop("event")), values)
    if "stderr" in values:
        return StderrChunk(n, at, values["stderr"].encode())
    if "stderr_b64" in values:
        return StderrChunk(n, at, base64.b64decode(values["stderr_b64"], validate=True))
    if values["from"] not in ("client", "agent"):
        raise ValueError("from is neither client nor agent")
    if "msg" in members:
        raw = members["msg"].source.encode()
    elif "text" in members:
        raw = values["text"].encode()
    else:
        raw = base64.b64decode(values["b64"], validate=True)
    header = _bytes(values, "head", b"")
    return Frame(n, at, values["from"], raw, _bytes(values, "end", _end_of(header)), header)


def _bytes(values: Mapping[str, Any], key: str, default: bytes) -> bytes:
    if key in values:
        return values[key].encode()
    encoded = values.get(f"{key}_b64")
    return default if encoded is None else base64.b64decode(encoded, validate=True)


def _read_header(values: dict[str, Json]) -> Header | UnreadableLine:
    version = values.pop("acp_recording")
    if version != FORMAT_VERSION:
        return UnreadableLine(f"format version {version} is not known here", is_other_version=True)
    # Recordings are untrusted: a value of the wrong type counts as empty.
    redacted = values.get("redacted")
    return Header(
        created=as_string(values["created"]),
        tool=as_string(values["tool"]),
        schema=as_string(values["schema"]),
        transport=as_string(values.get("transport", "stdio")),
        command=_texts(values.get("command")),
        cwd=as_string(values.get("cwd")),
        platform=as_string(values.get("platform")),
        env=_texts(values.get("env")),
        redacted=_texts(redacted) if isinstance(redacted, list) else None,
        about=as_text(values.get("about")) or None,
        dialect=as_text(values.get("dialect")) or None,
        meta=as_object(values.get("meta")),
    )


def _texts(value: Json) -> list[str]:
    return [str(each) for each in as_list(value)]


def new_header(
    command: Sequence[str],
    cwd: Path,
    *,
    transport: str = "stdio",
    about: str | None = None,
    dialect: str | None = None,
) -> Header:
    """Return the header of a recording that starts now."""
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
        dialect=dialect,
    )


def part_path(path: Path, number: int) -> Path:
    """Return the path of part `number` of the recording at `path`; part 1 is `path` itself."""
    return path if number == 1 else marked_path(path, f".{number}")


def marked_path(path: Path, mark: str) -> Path:
    """Return the path of a recording with `mark` before its suffix."""
    suffix = SUFFIX if path.name.endswith(SUFFIX) else path.suffix
    stem = path.name[: len(path.name) - len(suffix)]
    return path.with_name(f"{stem}{mark}{suffix}")


def series_of(path: Path, header: Header) -> str:
    """Return the id shared by all parts of the recording that starts at `path`."""
    series = header.meta.get("series")
    return series if isinstance(series, str) else f"{path.name} of {header.created}"
