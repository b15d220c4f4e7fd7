"""HTTP client of the model services: sends a request, streams the response, tries again.

A request is tried again, after longer and longer pauses, as long as no event of the response has
been yielded, so that the user reads nothing twice. A connection lasts for one response, and a
`StreamReader` turns its messages into events. Errors of httpx become `ServiceFailedError` here.

Source: HTML Standard, "Server-sent events".
"""

from __future__ import annotations

import itertools
import logging
import random
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar, Final
from urllib.parse import urlsplit

import anyio
import httpx
from httpx_sse import EventSource

from acp_agent.models.errors import (
    CUT,
    INVALID,
    NO_KEY,
    SILENT,
    TOO_BIG,
    UNREACHABLE,
    UNTRUSTED,
    ServiceErrors,
    ServiceFailedError,
)
from acp_agent.models.types import (
    HistoryEntry,
    ModelEvent,
    Retrying,
    SlashCommand,
    ToolSpec,
)
from acp_agent.models.wire import ToolNames, replace_surrogates
from acp_agent.settings.model import ModelSettings
from acp_agent.settings.providers import Provider
from acp_protocol.json_codec import Json, encode, parse
from acp_protocol.json_values import as_object
from acp_protocol.net import is_loopback
from acp_protocol.version import VERSION

STREAM: Final = "text/event-stream"
JSON: Final = "application/json"
DONE: Final = "[DONE]"
"""Marks the end of a stream of chat completions."""


class StreamReader(ABC):
    """Turns the messages of one response into events."""

    def __init__(
        self, errors: ServiceErrors, maker: str, settings: ModelSettings, names: ToolNames
    ) -> None:
        self._errors = errors
        self._maker = maker
        """The name of the model, for the blocks that only it can read."""
        self._settings = settings
        self._names = names
        self.is_over = False
        """Whether the response is complete; what follows is not read."""

    @abstractmethod
    def feed(self, message: Mapping[str, Json]) -> Sequence[ModelEvent]:
        """Return the events that `message` completes.

        Raises:
            ServiceFailedError: it is an error, or no message of the service.
        """

    @abstractmethod
    def pieces(self, response: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return a response that came as a whole as messages of a stream, for `feed`."""

    @abstractmethod
    def ended(self, *, is_announced: bool = False) -> Sequence[ModelEvent]:
        """Return the last events after the stream ended, by its marker if `is_announced`.

        Raises:
            ServiceFailedError: the response is incomplete.
        """


class _Bounded(httpx.AsyncByteStream):
    """The body of a response, up to a limit."""

    def __init__(self, response: httpx.Response, errors: ServiceErrors, max_bytes: int) -> None:
        self._response = response
        self._errors = errors
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._response.aiter_bytes():
            size += len(chunk)
            if size > self._max_bytes:
                raise self._errors.error(TOO_BIG, str(self._max_bytes))
            yield chunk


async def stream_messages(
    response: httpx.Response, errors: ServiceErrors, max_bytes: int
) -> AsyncGenerator[Mapping[str, Json] | None]:
    """Yield the messages of a stream, and None for the marker of its end."""
    if _content_type(response) != STREAM:
        kind = response.headers.get("content-type", "")
        raise errors.error(INVALID, f"it is {kind or 'of no type'}, not {STREAM}")
    # The standard fixes the charset, whatever the header says.
    bounded = httpx.Response(
        HTTPStatus.OK,
        headers={"Content-Type": f"{STREAM}; charset=utf-8"},
        stream=_Bounded(response, errors, max_bytes),
    )
    async with aclosing(EventSource(bounded).aiter_sse()) as events:
        async for event in events:
            if event.data == DONE:
                yield None
                return
            if event.data:
                yield _message(event.data, errors)


async def whole_response(
    response: httpx.Response, errors: ServiceErrors, max_bytes: int
) -> Mapping[str, Json]:
    """Return a response that is one JSON object.

    Raises:
        ServiceFailedError: it is none.
    """
    pieces = [piece async for piece in _Bounded(response, errors, max_bytes)]
    try:
        text = b"".join(pieces).decode()
    except UnicodeDecodeError:
        raise errors.error(INVALID, "it is not UTF-8") from None
    return _message(text, errors)


def _content_type(response: httpx.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _message(data: str, errors: ServiceErrors) -> Mapping[str, Json]:
    try:
        message = parse(data.encode())
    except ValueError:
        raise errors.error(INVALID, f"no JSON in its stream, {data!r}") from None
    if "\\u" in data:
        # Only an escape can spell a lone surrogate.
        message = replace_surrogates(message)
    if not isinstance(message, dict):
        raise errors.error(INVALID, f"no object in its stream, {data!r}")
    return as_object(message)


logger = logging.getLogger(__name__)

ANTHROPIC_VERSION: Final = "2023-06-01"
"""The version of Anthropic's API that is spoken; there is no newer one."""
NOTICE_AFTER_S: Final = 2.0
"""Seconds without output after which the user is shown why."""
MAX_ERROR_BYTES: Final = 64 * 2**10
"""Bytes of an error response that are read."""
ENCODINGS: Final = frozenset({"identity", "", "gzip", "x-gzip", "deflate"})
"""Content encodings that are read, although none is requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """How long to wait for a service, how often to try again, and how much to read."""

    max_attempts: int = 5
    first_delay_s: float = 0.5
    """Between the first two attempts; each delay is twice as long as the one before."""
    max_delay_s: float = 60.0
    """A service that asks for a longer delay is not tried again."""
    connect_s: float = 10.0
    read_s: float = 300.0
    """Between two chunks of a response: models think long, and not all send a sign of life."""
    max_bytes: int = 64 * 2**20
    """Of one response."""


def is_loopback_url(url: str) -> bool:
    """Return whether `url` is on this machine."""
    return is_loopback(urlsplit(url).hostname or "")


def service_headers(service: Provider, content: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return `content` and the headers of every request; those of the ACP client replace them."""
    # Compressed, a stream would arrive in lumps.
    headers = {"Accept-Encoding": "identity", "User-Agent": f"acp-agent/{VERSION}"}
    headers |= content or {}
    if service.api == "anthropic":
        headers["anthropic-version"] = ANTHROPIC_VERSION
    if service.key:
        is_bearer = service.is_bearer or service.api != "anthropic"
        token = {"Authorization": f"Bearer {service.key}"}
        headers |= token if is_bearer else {"x-api-key": service.key}
    replaced = {name.lower() for name, _ in service.headers}
    own = {name: value for name, value in headers.items() if name.lower() not in replaced}
    return own | dict(service.headers)


def ssl_context(url: str) -> ssl.SSLContext:
    """Return the trusted certificates for `url`; none for plain HTTP on this machine.

    Raises:
        ServiceFailedError: the user's certificates cannot be read.
    """
    if not url.startswith("https:") and is_loopback_url(url):
        # Loading them takes longer than everything else of a connection.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx.create_ssl_context()
    except OSError:
        raise ServiceFailedError(
            "The certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read."
        ) from None


def network_client(
    url: str, verify: ssl.SSLContext, timeout: httpx.Timeout | float
) -> httpx.AsyncClient:
    """Return a client for `url`, which goes through a proxy unless `url` is on this machine.

    Raises:
        ServiceFailedError: the proxy in the environment cannot be used.
    """
    try:
        return httpx.AsyncClient(verify=verify, timeout=timeout, trust_env=not is_loopback_url(url))
    except (ImportError, ValueError, httpx.InvalidURL):
        # None of these is about the service's address, which has been checked.
        raise ServiceFailedError(
            "The proxy that the environment names, as in HTTPS_PROXY, cannot be used."
        ) from None


def tls_error(error: BaseException) -> str | None:
    """Return why TLS failed; None if `error` has another cause."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted, {cause.verify_message}"
        # A peer that hangs up in the handshake may be restarting.
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
            return "it does not speak TLS as we do"
        cause = cause.__cause__ or cause.__context__
    return None


class ServiceModel(ABC):
    """A model that a service runs."""

    path: ClassVar[str]
    """Where requests go, below the service's URL."""
    reader: ClassVar[type[StreamReader]]
    commands: Sequence[SlashCommand] = ()

    def __init__(
        self,
        service: Provider,
        model: str,
        settings: ModelSettings,
        *,
        limits: ClientLimits | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = f"{service.prefix}:{model}"
        self.takes_images = service.takes_images if settings.images is None else settings.images
        self._service = service
        self._model = model
        self._settings = settings
        self._errors = ServiceErrors(service, model)
        self._url = service.base_url + self.path
        self._headers = service_headers(
            service,
            {"Accept": STREAM if settings.stream else JSON, "Content-Type": JSON},
        )
        self._limits = limits or ClientLimits()
        self._transport = transport
        self._ssl_context: ssl.SSLContext | None = None

    @abstractmethod
    def _body(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec], names: ToolNames
    ) -> dict[str, Json]:
        """Return the request that continues `history`."""

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[ModelEvent]:
        """Yield what the service streams.

        Raises:
            ServiceFailedError: there is no response, or not all of it.
        """
        if self._service.needs_key and self._service.key is None:
            raise self._errors.error(NO_KEY)
        names = ToolNames(tools)
        raw = encode(self._body(history, tools, names))
        async with self._client() as client:
            started = anyio.current_time()
            for attempt in itertools.count(1):
                has_events = False
                reader = self.reader(self._errors, self.name, self._settings, names)
                try:
                    async with aclosing(self._stream(client, raw, reader)) as events:
                        async for event in events:
                            has_events = True
                            yield event
                except ServiceFailedError as error:
                    delay = None if has_events else self._delay_s(error, attempt)
                    if delay is None:
                        raise
                    retry = Retrying(str(error), delay)
                else:
                    return
                logger.warning("%s Trying again in %.1f s.", retry.reason, delay)
                if anyio.current_time() - started + delay >= NOTICE_AFTER_S:
                    yield retry
                await anyio.sleep(delay)

    def _delay_s(self, error: ServiceFailedError, attempt: int) -> float | None:
        """Return the seconds before the next attempt; None if there is none."""
        limits = self._limits
        is_too_long = (error.retry_after_s or 0.0) > limits.max_delay_s
        if attempt >= limits.max_attempts or not error.is_transient or is_too_long:
            return None
        # Jitter: agents that failed together do not come back together.
        jitter = random.uniform(0, limits.first_delay_s)  # noqa: S311 - no secret
        delay = min(limits.first_delay_s * 2 ** (attempt - 1), limits.max_delay_s) + jitter
        # A service that asks for no delay, or for a date in the past, gets ours.
        return error.retry_after_s or delay

    def _client(self) -> httpx.AsyncClient:
        timeout = httpx.Timeout(self._limits.read_s, connect=self._limits.connect_s)
        if self._transport is not None:
            return httpx.AsyncClient(transport=self._transport, timeout=timeout)
        if self._ssl_context is None:
            self._ssl_context = ssl_context(self._url)
        return network_client(self._url, self._ssl_context, timeout)

    async def _stream(
        self, client: httpx.AsyncClient, raw: bytes, reader: StreamReader
    ) -> AsyncGenerator[ModelEvent]:
        """Send the request once; yield the events of the response."""
        with self._mapped_errors():
            async with client.stream(
                "POST", self._url, content=raw, headers=self._headers
            ) as response:
                await self._check(response)
                if _content_type(response) == JSON:
                    whole = await whole_response(response, self._errors, self._limits.max_bytes)
                    for message in reader.pieces(whole):
                        for event in reader.feed(message):
                            yield event
                    for event in () if reader.is_over else reader.ended(is_announced=True):
                        yield event
                    return
                messages = stream_messages(response, self._errors, self._limits.max_bytes)
                is_announced = False
                async with aclosing(messages):
                    async for message in messages:
                        if message is None:
                            is_announced = True
                            break
                        for event in reader.feed(message):
                            yield event
                        if reader.is_over:
                            return
                for event in reader.ended(is_announced=is_announced):
                    yield event

    async def _check(self, response: httpx.Response) -> None:
        """Refuse a response that is no stream."""
        status = response.status_code
        if status != HTTPStatus.OK:
            raise self._errors.refused(status, response.headers, await _beginning(response))
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ENCODINGS:
            why = f"it is compressed as {encoding}, which was not requested"
            raise self._errors.error(INVALID, why)
        if self._settings.stream and _content_type(response) == JSON:
            raise self._errors.no_stream(await _beginning(response))

    @contextmanager
    def _mapped_errors(self) -> Generator[None]:
        """Turn errors of httpx into `ServiceFailedError`."""
        try:
            yield
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            why = f"no connection within {self._limits.connect_s:g} seconds"
            raise self._errors.error(UNREACHABLE, why, is_transient=True) from None
        except httpx.TimeoutException:
            raise self._errors.error(SILENT, f"{self._limits.read_s:g}") from None
        except (httpx.ConnectError, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
            if (why := tls_error(error)) is not None:
                raise self._errors.error(UNTRUSTED, why) from None
            # A service on this machine that does not listen was not started.
            is_transient = not is_loopback_url(self._url)
            why = str(error) or "no connection"
            raise self._errors.error(UNREACHABLE, why, is_transient=is_transient) from None
        except httpx.DecodingError:
            raise self._errors.error(INVALID, "it cannot be decompressed") from None
        except httpx.HTTPError:
            raise self._errors.error(CUT) from None


async def _beginning(response: httpx.Response) -> bytes:
    """Return the first bytes of a body, as many as arrive."""
    body = b""
    with suppress(httpx.HTTPError):
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) >= MAX_ERROR_BYTES:
                break
    return body[:MAX_ERROR_BYTES]
