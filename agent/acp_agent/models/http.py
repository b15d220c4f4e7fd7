"""HTTP client of the model services: sends a request, streams the reply, tries again.

A request is tried again, after longer and longer pauses, as long as nothing of the reply has been
yielded, so that the user reads nothing twice. A connection lasts for one reply. Errors of httpx are
turned into `ServiceFailedError` here.
"""

from __future__ import annotations

import logging
import random
import ssl
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol, TypeAlias
from urllib.parse import urlsplit

import anyio
import httpx

from acp_agent.models.errors import ServiceErrors, ServiceFailedError
from acp_agent.models.providers import Provider
from acp_agent.models.sse import Reader, StreamedReply
from acp_agent.models.types import ModelEvent, Retrying
from acp_protocol.json_codec import Json, encode
from acp_protocol.net import is_loopback
from acp_protocol.version import VERSION

logger = logging.getLogger(__name__)

ANTHROPIC_VERSION: Final = "2023-06-01"
"""The version of Anthropic's API that is spoken; there is no newer one."""
NOTICE_AFTER_S: Final = 2.0
"""Seconds without output after which the user is shown why."""
ENCODINGS: Final = frozenset({"identity", "", "gzip", "x-gzip", "deflate"})
"""Content encodings that are read, although none is requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long to wait for a service, and how often to try again."""

    max_attempts: int = 5
    first_delay_s: float = 0.5
    """Between the first two attempts; each delay is twice as long as the one before."""
    max_delay_s: float = 60.0
    """A service that asks for a longer delay is not tried again."""
    connect_s: float = 10.0
    read_s: float = 300.0
    """Between two chunks of a reply: models think long, and not all send a sign of life."""


class Cassette(Protocol):
    """Records the traffic, or replays it instead of the service."""

    @property
    def is_replayed(self) -> bool:
        """Whether nothing is sent."""
        ...

    def transport(
        self, network: Callable[[], httpx.AsyncClient], secret: str | None
    ) -> httpx.AsyncBaseTransport:
        """Return the transport for requests; `secret` must not be recorded."""
        ...


def is_loopback_url(url: str) -> bool:
    """Return whether `url` is on this machine."""
    return is_loopback(urlsplit(url).hostname or "")


def service_headers(service: Provider) -> dict[str, str]:
    """Return the headers that every request to `service` carries; the client's own replace ours."""
    # Compressed, a stream would arrive in lumps, and a cassette could not be read.
    headers = {"Accept-Encoding": "identity", "User-Agent": f"acp-agent/{VERSION}"}
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


class ModelClient:
    """Sends requests for one model to one URL of a service."""

    def __init__(
        self,
        service: Provider,
        path: str,
        model: str,
        *,
        timeouts: Timeouts | None = None,
        tape: Cassette | None = None,
    ) -> None:
        self.refusals = ServiceErrors(service, model)
        self._service = service
        self._url = service.base_url + path
        content = {"accept": "text/event-stream", "content-type": "application/json"}
        replaced = {name.lower() for name, _ in service.headers}
        own = {name: value for name, value in content.items() if name not in replaced}
        self._headers = own | service_headers(service)
        self._timeouts = timeouts or Timeouts()
        self._tape = tape
        self._httpx_timeout = httpx.Timeout(self._timeouts.read_s, connect=self._timeouts.connect_s)
        self._ssl_context: ssl.SSLContext | None = None

    async def reply(
        self, body: Mapping[str, Json], new_reader: Callable[[], Reader]
    ) -> AsyncGenerator[ModelEvent]:
        """Send `body`; yield the events that a reader makes of the reply.

        Raises:
            ServiceFailedError: there is no reply, or not all of it.
        """
        if self._service.needs_key and self._service.key is None and not self._is_replayed:
            raise self.refusals.without_key()
        raw = encode(body)
        async with self._client() as client:
            started = anyio.current_time()
            attempt = 0
            while True:
                attempt += 1
                try:
                    answer, events = await self._begin(client, raw, new_reader)
                    break
                except ServiceFailedError as error:
                    delay = self._delay_s(error, attempt)
                    if delay is None:
                        raise
                    retry = Retrying(str(error), delay)
                logger.warning("%s Trying again in %.1f s.", retry.reason, delay)
                if anyio.current_time() - started + delay >= NOTICE_AFTER_S:
                    yield retry
                await anyio.sleep(delay)
            async with aclosing(answer):
                for event in events:
                    yield event
                while not answer.is_over:
                    for event in await answer.more():
                        yield event

    @property
    def _is_replayed(self) -> bool:
        return self._tape is not None and self._tape.is_replayed

    def _delay_s(self, error: ServiceFailedError, attempt: int) -> float | None:
        """Return the seconds before the next attempt; None if there is none."""
        timeouts = self._timeouts
        is_too_long = (error.retry_after_s or 0.0) > timeouts.max_delay_s
        if attempt >= timeouts.max_attempts or not error.is_transient or is_too_long:
            return None
        if self._is_replayed:
            return 0.0
        # Jitter: agents that failed together do not come back together.
        jitter = random.uniform(0, timeouts.first_delay_s)  # noqa: S311 - no secret
        delay = min(timeouts.first_delay_s * 2 ** (attempt - 1), timeouts.max_delay_s) + jitter
        # A service that asks for no delay, or for a date in the past, gets ours.
        return error.retry_after_s or delay

    def _client(self) -> httpx.AsyncClient:
        if self._tape is None:
            return self._network()
        transport = self._tape.transport(self._network, self._service.secret)
        return httpx.AsyncClient(transport=transport, timeout=self._httpx_timeout)

    def _network(self) -> httpx.AsyncClient:
        if self._ssl_context is None:
            self._ssl_context = ssl_context(self._url)
        try:
            # A service on this machine is not reached through a proxy.
            return httpx.AsyncClient(
                verify=self._ssl_context,
                timeout=self._httpx_timeout,
                trust_env=not is_loopback_url(self._url),
            )
        except (ImportError, ValueError, httpx.InvalidURL):
            # None of these is about the service's address, which has been checked.
            raise ServiceFailedError(
                "The proxy that the environment names, as in HTTPS_PROXY, cannot be used."
            ) from None

    async def _begin(
        self, client: httpx.AsyncClient, raw: bytes, new_reader: Callable[[], Reader]
    ) -> _Begun:
        """Send the request once; return the answer with its first events."""
        request = client.build_request("POST", self._url, content=raw, headers=self._headers)
        with self._mapped():
            response = await client.send(request, stream=True)
        answer = StreamedReply(response, new_reader(), self.refusals, self._mapped)
        try:
            await self._check(response, answer)
            events = await answer.more()
            while not events and not answer.is_over:
                events = await answer.more()
        except BaseException:
            await answer.aclose()
            raise
        return answer, events

    async def _check(self, response: httpx.Response, answer: StreamedReply) -> None:
        status = response.status_code
        if status != HTTPStatus.OK:
            raise self.refusals.refused(status, response.headers, await answer.beginning())
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ENCODINGS:
            raise self.refusals.malformed(
                f"it is compressed as {encoding}, which was not requested"
            )
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            raise self.refusals.no_stream(await answer.beginning())

    @contextmanager
    def _mapped(self) -> Generator[None]:
        """Turn errors of httpx into `ServiceFailedError`."""
        try:
            yield
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            why = f"no connection within {self._timeouts.connect_s:g} seconds"
            raise self.refusals.unreachable(why, is_passing=True) from None
        except httpx.TimeoutException:
            raise self.refusals.silent(self._timeouts.read_s) from None
        except (httpx.ConnectError, httpx.ProxyError, httpx.UnsupportedProtocol) as problem:
            if (why := tls_error(problem)) is not None:
                raise self.refusals.untrusted(why) from None
            # A service on this machine that does not listen was not started.
            is_passing = not is_loopback_url(self._url)
            why = str(problem) or "no connection"
            raise self.refusals.unreachable(why, is_passing=is_passing) from None
        except httpx.DecodingError:
            raise self.refusals.malformed("it cannot be decompressed") from None
        except httpx.HTTPError:
            raise self.refusals.cut() from None


_Begun: TypeAlias = tuple[StreamedReply, Sequence[ModelEvent]]
"""An answer, and its first events."""
