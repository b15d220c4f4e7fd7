"""Records the traffic with a service in a file, and replays it from there.

The bytes of responses are recorded, cut as they came, so that a replayed response runs through the
same code as one from the network, faults included. Requests are found by path and body; headers of
requests are never recorded, and a key elsewhere is replaced by stars.

The first line of a file names its format; each further line is one exchange as JSON, in the order
in which the exchanges ended.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Annotated, Any, Final, Self

import httpx
from pydantic import (
    BaseModel,
    BeforeValidator,
    PlainSerializer,
    Strict,
    ValidationError,
    model_validator,
)

from acp_agent.models.errors import ServiceFailedError
from acp_agent.models.providers import MIN_SECRET_LENGTH, SettingsError
from acp_agent.models.wire import entries, members
from acp_protocol.host.regular_files import open_regular
from acp_protocol.json_codec import Json, parse

logger = logging.getLogger(__name__)

FORMAT: Final = "acp-agent cassette"
FORMAT_VERSION: Final = 1
RECORDED_HEADERS: Final = frozenset(
    {"content-type", "content-encoding", "retry-after", "retry-after-ms"}
)
COMPRESSED: Final = frozenset({"gzip", "x-gzip", "deflate"})
"""Encodings of bodies that are recorded decompressed."""
CANCELLED: Final = "left"
"""How an exchange ends if we do not read the response to its end."""
FAULTS: Final[dict[str, type[httpx.RequestError]]] = {
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
"""How an exchange may fail."""
MASK: Final = "*"
_MASKS: Final = re.compile(rf"\{MASK}{{{MIN_SECRET_LENGTH},}}")


def _decoded(value: Json) -> bytes | None:
    """Return the bytes of a chunk: text, or base64 in an object."""
    if isinstance(value, str):
        return value.encode()
    encoded = members(value).get("base64")
    return base64.b64decode(encoded, validate=True) if isinstance(encoded, str) else None


def _encoded(chunk: bytes) -> Json:
    try:
        return chunk.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(chunk).decode()}


class RecordedRequest(BaseModel):
    path: str = ""
    body: Any = None
    """Masked once it is in a file."""


class RecordedResponse(BaseModel):
    status: Annotated[int, Strict()] = 0
    """0: no response came."""
    headers: dict[str, str] = {}
    chunks: list[Annotated[bytes, BeforeValidator(_decoded), PlainSerializer(_encoded)]] = []
    end: str | None = None
    """A fault, or `CANCELLED`; None if the response is complete."""

    @model_validator(mode="after")
    def _check_end(self) -> Self:
        if self.end not in FAULTS and (self.end not in (None, CANCELLED) or self.status == 0):
            raise ValueError("no response ends like this")
        return self


class RecordedExchange(BaseModel):
    """A request, and its response."""

    request: RecordedRequest
    response: RecordedResponse

    def line(self, secret: str | None) -> bytes:
        """Return the exchange as a line of a file, without `secret`."""
        if secret:
            self.request.body = masked(self.request.body, secret)
            self.response.headers = masked(self.response.headers, secret)
            self.response.chunks = _masked_chunks(self.response.chunks, secret)
        line = json.dumps(self.model_dump(), ensure_ascii=False)
        return line.encode("utf-8", "surrogatepass") + b"\n"


def fingerprint(path: str, body: Json) -> str:
    """Return what equal requests have in common; masks of any length are equal."""
    spelled = json.dumps([path, body], sort_keys=True, ensure_ascii=True)
    return sha256(_MASKS.sub(MASK, spelled).encode()).hexdigest()


class RecordingCassette:
    """Records every exchange in a new file; if that fails, the traffic goes on."""

    is_replayed = False

    def __init__(self, path: Path) -> None:
        """Create the file.

        Raises:
            SettingsError: it exists, or cannot be created.
        """
        self._path = path
        head = {"format": FORMAT, "version": FORMAT_VERSION}
        try:
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(number, "wb") as file:
                file.write(json.dumps(head).encode() + b"\n")
        except FileExistsError:
            raise SettingsError(
                f"The cassette {path} exists: replay it, or remove it to record anew."
            ) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "the name is invalid"
            raise SettingsError(f"The cassette {path} cannot be made: {reason}.") from None

    def transport(
        self, network: Callable[[], httpx.AsyncClient], secret: str | None
    ) -> httpx.AsyncBaseTransport:
        """Return a transport that passes requests on, and records the exchanges."""

        def record(exchange: RecordedExchange) -> None:
            try:
                with self._path.open("ab") as file:
                    file.write(exchange.line(secret))
            except OSError as error:
                logger.warning("cannot write to the cassette %s: %s", self._path, error.strerror)

        return _RecordingTransport(network(), record)


class _RecordingTransport(httpx.AsyncBaseTransport):
    def __init__(
        self, network: httpx.AsyncClient, record: Callable[[RecordedExchange], None]
    ) -> None:
        self._network = network
        self._record = record

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        # How it ends is not known yet, so it is not validated.
        recorded = RecordedExchange.model_construct(
            request=RecordedRequest(path=request.url.path, body=parse(await request.aread())),
            response=RecordedResponse.model_construct(),
        )
        try:
            response = await self._network.send(request, stream=True)
        except httpx.TransportError as error:
            recorded.response.end = type(error).__name__
            self._record(recorded)
            raise
        headers = response.headers.copy()
        is_compressed = headers.get("content-encoding", "").strip().lower() in COMPRESSED
        if is_compressed:
            del headers["content-encoding"]
        recorded.response.status = response.status_code
        recorded.response.headers = {
            name: value for name, value in headers.items() if name in RECORDED_HEADERS
        }
        # Compressed, a file could not be read, and a key in it not be found.
        chunks = response.aiter_bytes() if is_compressed else response.aiter_raw()
        stream = _RecordedStream(response, chunks, recorded, self._record)
        return httpx.Response(response.status_code, headers=headers, stream=stream)

    async def aclose(self) -> None:
        await self._network.aclose()


class _RecordedStream(httpx.AsyncByteStream):
    """The body of a response, recorded while it is read."""

    def __init__(
        self,
        response: httpx.Response,
        chunks: AsyncIterator[bytes],
        recorded: RecordedExchange,
        record: Callable[[RecordedExchange], None],
    ) -> None:
        self._response = response
        self._chunks = chunks
        self._recorded: RecordedExchange | None = recorded
        self._record = record
        recorded.response.end = CANCELLED

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert self._recorded is not None
        recorded = self._recorded.response
        try:
            async for chunk in self._chunks:
                recorded.chunks.append(chunk)
                yield chunk
        except (httpx.TransportError, httpx.DecodingError) as error:
            recorded.end = type(error).__name__
            raise
        recorded.end = None

    async def aclose(self) -> None:
        if self._recorded is not None:
            self._record(self._recorded)
            self._recorded = None
        await self._response.aclose()


class ReplayingCassette:
    """Replays the recorded responses; a request that was not recorded is an error."""

    is_replayed = True

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            SettingsError: it cannot be read, or is no cassette; the message names the line.
        """
        self._path = path
        self._waiting: dict[str, deque[RecordedResponse]] = defaultdict(deque)
        for exchange in _read(path):
            request = exchange.request
            self._waiting[fingerprint(request.path, request.body)].append(exchange.response)

    def transport(
        self, network: Callable[[], httpx.AsyncClient], secret: str | None
    ) -> httpx.AsyncBaseTransport:
        """Return a transport that answers from the file; nothing is sent."""
        del network

        async def answer(request: httpx.Request) -> httpx.Response:
            body = masked(parse(await request.aread()), secret)
            key = fingerprint(request.url.path, body)
            if not self._waiting.get(key):
                why = "was recorded less often" if key in self._waiting else "was not recorded"
                raise ServiceFailedError(
                    f"The cassette {self._path} has no response to this request: it {why}. "
                    "Record it anew."
                )
            recorded = self._waiting[key].popleft()
            if recorded.status == 0:
                raise FAULTS[recorded.end or ""]("as recorded")
            chunks = self._chunks(recorded)
            return httpx.Response(recorded.status, headers=recorded.headers, content=chunks)

        return httpx.MockTransport(answer)

    async def _chunks(self, recorded: RecordedResponse) -> AsyncIterator[bytes]:
        for chunk in recorded.chunks:
            yield chunk
        if recorded.end == CANCELLED:
            raise ServiceFailedError(
                f"The cassette {self._path} ends within this response: it was cancelled when it "
                "was recorded."
            )
        if recorded.end is not None:
            raise FAULTS[recorded.end]("as recorded")


def _read(path: Path) -> list[RecordedExchange]:
    try:
        with open_regular(path) as file:
            lines = file.read().splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the name is invalid"
        raise SettingsError(f"The cassette {path} cannot be read: {reason}.") from None
    exchanges: list[RecordedExchange] = []
    for number, line in enumerate(lines or [b""], 1):
        try:
            value = parse(line)
        except ValueError as error:
            reason = f"Line {number} of the cassette {path} is no JSON: {error}."
            raise SettingsError(reason) from None
        if number == 1:
            head = members(value)
            if head.get("format") != FORMAT or head.get("version") != FORMAT_VERSION:
                raise SettingsError(f"{path} is no cassette of version {FORMAT_VERSION}.")
            continue
        try:
            exchanges.append(RecordedExchange.model_validate(value))
        except ValidationError:
            reason = f"Line {number} of the cassette {path} holds no exchange."
            raise SettingsError(reason) from None
    return exchanges


def masked(value: Json, secret: str | None) -> Json:
    """Return `value` with stars for each literal `secret` in its strings and names."""
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


def _masked_chunks(chunks: Sequence[bytes], secret: str) -> list[bytes]:
    """Return `chunks` with stars for each literal `secret`, also where it is cut in two."""
    body = b"".join(chunks).replace(secret.encode(), MASK.encode() * len(secret.encode()))
    ends = list(accumulate(map(len, chunks), initial=0))
    return [body[start:end] for start, end in pairwise(ends)]
