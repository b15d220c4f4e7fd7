"""The file with the exchanges between an agent and its model service.

NDJSON, one exchange a line, in the order in which they ended. Each run of the recorder begins with
a header line. docs/model-cassettes.md describes the format.
"""

from __future__ import annotations

import base64
import errno
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, PlainSerializer, ValidationError

from acp_inspector.model_service.routes import Route
from acp_inspector.recording.writer import WriteMode
from acp_protocol.errors import AcpError, describe_os_error
from acp_protocol.host.regular_files import (
    PRIVATE_FILE,
    check_regular,
    check_replaceable,
    create_private,
    open_regular,
    part_beside,
)
from acp_protocol.json_codec import encode, parse
from acp_protocol.json_values import as_object, get_text
from acp_protocol.jsonrpc import Json

FORMAT: Final = "acp-console model cassette"
FORMAT_VERSION: Final = 1
CANCELLED: Final = "cancelled"
"""How a response ends that the agent does not read to its end."""


class CassetteError(AcpError):
    """A cassette cannot be read or written."""


def _decoded(value: Json) -> Json:
    """Return the bytes of text, or of base64 in an object."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    encoded = get_text(value, "base64")
    return value if encoded is None else base64.b64decode(encoded, validate=True)


def _encoded(data: bytes | None) -> Json:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


Data = Annotated[bytes, BeforeValidator(_decoded), PlainSerializer(_encoded)]
"""Bytes: in the file text, or an object with base64 if they are no UTF-8."""


class ModelRequest(BaseModel):
    """A request of an agent, without its headers."""

    method: str
    route: str
    path: str
    """Below the base URL of the route."""
    query: str = ""
    """Without keys."""
    body: Any = None
    raw: Data | None = None
    """A body that is no JSON."""

    def __str__(self) -> str:
        query = f"?{self.query}" if self.query else ""
        return f"{self.method} {self.route}{self.path}{query}"


class ModelResponse(BaseModel):
    status: int = 0
    """0: there was no response."""
    headers: dict[str, str] = {}
    chunks: list[Data] = []
    """The body, decompressed, in the chunks that arrived."""
    end: str | None = None
    """None if it is complete; `CANCELLED`, or the name of an error of httpx."""


class ModelExchange(BaseModel):
    request: ModelRequest
    response: ModelResponse
    time: float = 0.0
    """Seconds from the start of the recorder to the request."""
    duration: float = 0.0
    """Seconds from the request to the end of the response."""

    def line(self) -> bytes:
        return encode(self.model_dump()) + b"\n"


class _HeaderRoute(BaseModel):
    upstream: str
    variables: dict[str, str] = {}


class CassetteHeader(BaseModel):
    """The first line of each run of the recorder."""

    format: str = FORMAT
    version: int = FORMAT_VERSION
    created: str = ""
    tool: str = ""
    cwd: str = ""
    home: str = ""
    tmp: str = ""
    routes: dict[str, _HeaderRoute] = {}

    def set_routes(self, routes: Sequence[Route]) -> None:
        """List the routes that have an address."""
        self.routes = {
            route.name: _HeaderRoute(upstream=route.upstream, variables=route.variables)
            for route in routes
            if route.upstream
        }


@dataclass(slots=True)
class ModelCassette:
    """What a file contains."""

    headers: list[CassetteHeader] = field(default_factory=list[CassetteHeader])
    exchanges: list[ModelExchange] = field(default_factory=list[ModelExchange])
    lines: list[int] = field(default_factory=list[int])
    """The number of each exchange's line, from 1."""
    bad_lines: list[int] = field(default_factory=list[int])
    """Lines that contain no exchange."""

    def routes(self) -> list[Route]:
        """Return the routes of all runs; of two with one name, the later one."""
        found = {name: each for header in self.headers for name, each in header.routes.items()}
        return [Route(name, each.upstream, dict(each.variables)) for name, each in found.items()]

    def refused_variables(self) -> dict[str, str]:
        """Return the variables that are not set because of the cassette alone; untrusted."""
        return {
            name: value
            for route in self.routes()
            for name, value in route.refused_variables().items()
        }


def read_cassette(path: Path) -> ModelCassette:
    """Return what the file contains; lines that are cut off are listed, not refused.

    Links, pipes and devices are refused.

    Raises:
        CassetteError: it cannot be read, or is no cassette of this version.
    """
    cassette = ModelCassette()
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, 1):
                _add_line(cassette, number, line)
                if not cassette.headers:
                    raise CassetteError(
                        f"{path} is not a model cassette of version {FORMAT_VERSION}",
                        hint="acp-console model record --cassette FILE -- AGENT makes one",
                    )
    except OSError as problem:
        raise CassetteError(f"cannot read {path}: {describe_os_error(problem)}") from None
    if not cassette.headers:
        raise CassetteError(f"{path} is not a model cassette: it is empty")
    return cassette


def _add_line(cassette: ModelCassette, number: int, line: bytes) -> None:
    try:
        value = as_object(parse(line))
        if "format" in value:
            header = CassetteHeader.model_validate(value)
            if (header.format, header.version) == (FORMAT, FORMAT_VERSION):
                cassette.headers.append(header)
                return
        cassette.exchanges.append(ModelExchange.model_validate(value))
        cassette.lines.append(number)
    except (ValueError, ValidationError):
        cassette.bad_lines.append(number)


def _append(path: Path, line: bytes) -> int:
    """Append the line of a header, and return the descriptor.

    Raises:
        CassetteError: the file is no cassette.
        OSError: it cannot be written.
    """
    if path.stat().st_size:
        read_cassette(path)
    flags = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags)
    try:
        check_regular(path, os.fstat(descriptor))
        os.fchmod(descriptor, PRIVATE_FILE)
        size = os.fstat(descriptor).st_size
        is_cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, b"\n" * is_cut + line)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _overwrite(path: Path, line: bytes) -> int:
    """Put a new file in the place of what is at `path`, and return its descriptor.

    Raises:
        OSError: it cannot be written.
    """
    part = part_beside(path)
    descriptor = create_private(part)
    try:
        os.write(descriptor, line)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        os.close(descriptor)
        raise
    return descriptor


class CassetteWriter:
    """An open cassette; each exchange is one write, so that several writers can append."""

    def __init__(self, path: Path, header: CassetteHeader, mode: WriteMode = "new") -> None:
        """Open the file for its owner only, in directories that may be new; write the header.

        Raises:
            CassetteError: it exists (`new`), is no cassette (`append`), or cannot be written.
        """
        self._line_break = b""
        """Ends a line that was cut off."""
        line = json.dumps(header.model_dump(), ensure_ascii=False).encode() + b"\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            check_replaceable(path)
            if mode == "append" and path.exists():
                self._descriptor = _append(path, line)
            elif mode == "overwrite":
                self._descriptor = _overwrite(path, line)
            else:
                self._descriptor = create_private(path)
                os.write(self._descriptor, line)
        except FileExistsError:
            raise CassetteError(
                f"{path} exists already", hint="choose another name, --append or --overwrite"
            ) from None
        except OSError as problem:
            raise CassetteError(f"cannot write {path}: {describe_os_error(problem)}") from None

    def write(self, line: bytes) -> None:
        """Append a line.

        Raises:
            OSError: it could not be written, or not all of it.
        """
        line = self._line_break + line
        if os.write(self._descriptor, line) < len(line):
            self._line_break = b"\n"
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._line_break = b""

    def close(self) -> None:
        os.close(self._descriptor)
