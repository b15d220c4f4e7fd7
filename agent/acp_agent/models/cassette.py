"""The traffic with a service, kept in a file and played back from it.

What is kept lies below all that understands an answer: its bytes, cut as they came. So a replayed
answer runs through the same code as one from the network, faults included. Requests are found again
by their path and what they say; keys, like all headers of requests, are never kept.

A file holds one line of JSON for the kind of file, and then one for each exchange, in the order in
which the exchanges ended.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final

import httpx

from acp_agent.models.errors import ServiceFailedError
from acp_agent.models.providers import MIN_SECRET_LENGTH, SettingsError
from acp_agent.models.wire import entries, members, text
from acp_protocol.json_codec import Json, parse

logger = logging.getLogger(__name__)

FORMAT: Final = "acp-agent cassette"
FORMAT_VERSION: Final = 1
KEPT_HEADERS: Final = frozenset(
    {"content-type", "content-encoding", "retry-after", "retry-after-ms"}
)
PACKED: Final = frozenset({"gzip", "x-gzip", "deflate"})
"""How what is kept unpacked may have come."""
FAULTS: Final[Mapping[str, type[httpx.RequestError]]] = {
    fault.__name__: fault
    for fault in (
        httpx.ConnectError,
        httpx.ConnectTimeout,
        httpx.DecodingError,
        httpx.ReadError,
        httpx.ReadTimeout,
        httpx.RemoteProtocolError,
        httpx.WriteError,
        httpx.WriteTimeout,
    )
}
"""How an exchange may end but by its end."""
LEFT: Final = "left"
"""How an exchange ends that we did not hear to its end."""
MASK: Final = "*"
_MASKS: Final = re.compile(rf"\{MASK}{{{MIN_SECRET_LENGTH},}}")


@dataclass(slots=True)
class Exchange:
    """A request, and what came of it."""

    path: str
    request_body: Json
    """Its body; in a file, and from there, it is masked, as the answers are."""
    status: int = 0
    """0: no answer came."""
    headers: Sequence[tuple[str, str]] = ()
    chunks: Sequence[bytes] = ()
    end: str | None = None
    """A fault, or `LEFT`; None where the answer came to its end."""

    def line(self, secret: str | None) -> bytes:
        """Return the exchange as a line of a file, without `secret`."""
        line = {
            "request": {
                "path": self.path,
                "body": masked(self.request_body, secret),
            },
            "response": {
                "status": self.status,
                "headers": masked(dict(self.headers), secret),
                "chunks": [_encoded_chunk(chunk) for chunk in _chunks_without(self.chunks, secret)],
                "end": self.end,
            },
        }
        return json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def fingerprint(path: str, request_body: Json) -> str:
    """Return what is the same for requests that ask the same, however they are spelled.

    Masks are the same, whatever the length of the key that they stand for.
    """
    spelled = json.dumps([path, request_body], sort_keys=True, ensure_ascii=True)
    return sha256(_MASKS.sub(MASK, spelled).encode()).hexdigest()


class RecordingCassette:
    """Keeps every exchange in a new file; a disk that is full does not stop the traffic."""

    is_replayed = False

    def __init__(self, path: Path) -> None:
        """Begin the file.

        Raises:
            SettingsError: it is there already, or cannot be made.
        """
        self._path = path
        head = {"format": FORMAT, "version": FORMAT_VERSION}
        try:
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(number, "wb") as file:
                file.write(json.dumps(head).encode() + b"\n")
        except FileExistsError:
            raise SettingsError(
                f"The cassette {path} is there already: replay it, or remove it to record anew."
            ) from None
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or "the name is none"
            raise SettingsError(f"The cassette {path} cannot be made: {reason}.") from None

    def transport(
        self, network: Callable[[], httpx.AsyncClient], secret: str | None
    ) -> httpx.AsyncBaseTransport:
        """Return what passes requests on to the network, and keeps what comes back."""
        return _Recorder(network(), lambda exchange: self._keep(exchange, secret))

    def _keep(self, exchange: Exchange, secret: str | None) -> None:
        try:
            with self._path.open("ab") as file:
                file.write(exchange.line(secret))
        except OSError as problem:
            logger.warning("cannot write to the cassette %s: %s", self._path, problem.strerror)


class _Recorder(httpx.AsyncBaseTransport):
    """Passes requests on to the network, and keeps what comes back."""

    def __init__(self, network: httpx.AsyncClient, keep: Callable[[Exchange], None]) -> None:
        self._network = network
        self._keep = keep

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = Exchange(request.url.path, parse(await request.aread()))
        try:
            response = await self._network.send(request, stream=True)
        except httpx.TransportError as problem:
            exchange.end = type(problem).__name__
            self._keep(exchange)
            raise
        exchange.status = response.status_code
        headers = response.headers.copy()
        is_packed = headers.get("content-encoding", "").strip().lower() in PACKED
        if is_packed:
            # Packed, the tape could not be read, and nobody would see a key in it.
            del headers["content-encoding"]
        exchange.headers = [
            (name, value) for name, value in headers.items() if name in KEPT_HEADERS
        ]
        return httpx.Response(
            response.status_code,
            headers=headers,
            stream=_RecordedStream(response, exchange, self._keep, is_packed=is_packed),
        )

    async def aclose(self) -> None:
        await self._network.aclose()


class _RecordedStream(httpx.AsyncByteStream):
    """The body of an answer, kept while it is read."""

    def __init__(
        self,
        response: httpx.Response,
        exchange: Exchange,
        keep: Callable[[Exchange], None],
        *,
        is_packed: bool,
    ) -> None:
        self._response = response
        self._is_packed = is_packed
        self._exchange = exchange
        self._keep = keep
        self._chunks: list[bytes] = []
        self._end: str | None = LEFT
        self._is_kept = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async with aclosing(_body(self._response, is_packed=self._is_packed)) as chunks:
                async for chunk in chunks:
                    self._chunks.append(chunk)
                    yield chunk
        except (httpx.TransportError, httpx.DecodingError) as problem:
            self._end = type(problem).__name__
            raise
        self._end = None

    async def aclose(self) -> None:
        if not self._is_kept:
            self._is_kept = True
            self._exchange.chunks = self._chunks
            self._exchange.end = self._end
            self._keep(self._exchange)
        await self._response.aclose()


async def _body(response: httpx.Response, *, is_packed: bool) -> AsyncGenerator[bytes]:
    async for chunk in response.aiter_bytes() if is_packed else response.aiter_raw():
        yield chunk


class ReplayingCassette:
    """Answers as the service has answered; what it was never asked is a clear error."""

    is_replayed = True

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            SettingsError: it is not there, or is no cassette; the message names the line.
        """
        self._path = path
        self._waiting: dict[str, deque[Exchange]] = defaultdict(deque)
        for exchange in _read(path):
            self._waiting[fingerprint(exchange.path, exchange.request_body)].append(exchange)

    def transport(
        self, network: Callable[[], httpx.AsyncClient], secret: str | None
    ) -> httpx.AsyncBaseTransport:
        """Return what answers from the file; nothing goes out."""
        del network

        async def answer(request: httpx.Request) -> httpx.Response:
            request_body = masked(parse(await request.aread()), secret)
            return self._answer(fingerprint(request.url.path, request_body))

        return httpx.MockTransport(answer)

    def _answer(self, wanted: str) -> httpx.Response:
        if not self._waiting.get(wanted):
            often = "so often" if wanted in self._waiting else "like this"
            raise ServiceFailedError(
                f"The cassette {self._path} holds no answer to this request: nobody asked {often} "
                "when it was recorded. Record it anew."
            )
        exchange = self._waiting[wanted].popleft()
        if exchange.status == 0:
            raise FAULTS[exchange.end or ""]("as recorded")
        return httpx.Response(
            exchange.status,
            headers=list(exchange.headers),
            stream=_ReplayedStream(exchange, self._path),
        )


class _ReplayedStream(httpx.AsyncByteStream):
    """The body of an answer, as it was kept."""

    def __init__(self, exchange: Exchange, path: Path) -> None:
        self._exchange = exchange
        self._path = path

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._exchange.chunks:
            yield chunk
        if self._exchange.end == LEFT:
            raise ServiceFailedError(
                f"The cassette {self._path} ends within this answer: it was cancelled when it was "
                "recorded."
            )
        if self._exchange.end is not None:
            raise FAULTS[self._exchange.end]("as recorded")


def _read(path: Path) -> list[Exchange]:
    try:
        lines = path.read_bytes().splitlines()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "the name is none"
        raise SettingsError(f"The cassette {path} cannot be read: {reason}.") from None
    head = members(_json(path, 1, lines[0] if lines else b""))
    if head.get("format") != FORMAT or head.get("version") != FORMAT_VERSION:
        raise SettingsError(f"{path} is no cassette of version {FORMAT_VERSION}.")
    return [_exchange(path, number, line) for number, line in enumerate(lines[1:], 2)]


def _json(path: Path, number: int, line: bytes) -> Json:
    try:
        return parse(line)
    except ValueError as problem:
        reason = f"line {number} of the cassette {path} is no JSON: {problem}"
        raise SettingsError(f"{reason[0].upper()}{reason[1:]}.") from None


def _exchange(path: Path, number: int, line: bytes) -> Exchange:
    content = members(_json(path, number, line))
    request, response = members(content.get("request")), members(content.get("response"))
    end, status = response.get("end"), response.get("status")
    try:
        chunks = [_chunk(chunk) for chunk in entries(response.get("chunks"))]
    except ValueError:
        status = None
        chunks = []
    is_known = text(end) in FAULTS or (end in (None, LEFT) and status != 0)
    if type(status) is not int or not is_known:
        raise SettingsError(f"Line {number} of the cassette {path} holds no exchange.")
    return Exchange(
        path=text(request.get("path")),
        request_body=request.get("body"),
        status=status,
        headers=[(name, text(value)) for name, value in members(response.get("headers")).items()],
        chunks=chunks,
        end=end,
    )


def masked(value: Json, secret: str | None) -> Json:
    """Return `value` with stars for each literal `secret` in its texts and names."""
    if not secret:
        return value
    stars = MASK * len(secret)
    if isinstance(value, str):
        return value.replace(secret, stars)
    if isinstance(value, list):
        return [masked(each, secret) for each in entries(value)]
    if isinstance(value, dict):
        pairs = members(value).items()
        return {name.replace(secret, stars): masked(each, secret) for name, each in pairs}
    return value


def _chunks_without(chunks: Sequence[bytes], secret: str | None) -> Sequence[bytes]:
    """Return `chunks` with stars for each literal `secret`, also where it is cut in two."""
    if not secret:
        return chunks
    body = b"".join(chunks).replace(secret.encode(), MASK.encode() * len(secret.encode()))
    ends = list(accumulate(map(len, chunks), initial=0))
    return [body[start:end] for start, end in pairwise(ends)]


def _encoded_chunk(chunk: bytes) -> Json:
    """Return a chunk as a file holds it: readable where it is text."""
    try:
        return chunk.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(chunk).decode()}


def _chunk(value: Json) -> bytes:
    """Return the bytes of a chunk.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, str):
        return value.encode()
    encoded = members(value).get("base64")
    if not isinstance(encoded, str):
        raise ValueError("a chunk is text or base64")  # noqa: TRY004 - it is the file's fault
    return base64.b64decode(encoded, validate=True)
