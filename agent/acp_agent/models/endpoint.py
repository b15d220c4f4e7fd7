"""The way to a service and back: a request goes out, what is streamed comes in.

A failure that may pass is tried again, with longer and longer rests, as long as nothing of the
answer was passed on: nobody hears the same words twice. A connection lasts for one reply, so that
nothing stays open between two of them.

What httpx raises ends here: from here on there are sentences.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol, TypeAlias

import anyio
import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential, wait_random

from acp_agent.models.answer import Answer, Reader
from acp_agent.models.model import Delayed, ModelEvent
from acp_agent.models.refusals import Refusals, ServiceFailedError
from acp_agent.models.services import Service
from acp_agent.models.trust import certificates, distrust, is_near
from acp_protocol.json_text import Json, encode
from acp_protocol.version import VERSION

logger = logging.getLogger(__name__)

UNSAID: Final = 2.0
"""Seconds that a user waits without being told why."""

PACKINGS: Final = frozenset({"identity", "", "gzip", "x-gzip", "deflate"})
"""How an answer may be compressed although it was not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a service is waited for; all but `tries` in seconds."""

    tries: int = 5
    first_rest: float = 0.5
    """Between the first two tries; each rest is twice as long as the one before."""
    longest_rest: float = 60.0
    """A service that wants more is not asked again."""
    connect: float = 10.0
    silence: float = 300.0
    """Between two pieces of an answer: models think long, and not all say so meanwhile."""


class Tape(Protocol):
    """What keeps the traffic, or stands in for the service."""

    @property
    def is_replayed(self) -> bool:
        """Whether nothing goes out."""
        ...

    def transport(
        self, network: Callable[[], httpx.AsyncClient], secret: str | None
    ) -> httpx.AsyncBaseTransport:
        """Return what requests go through; `secret` must not be kept."""
        ...


class Endpoint:
    """Where a service answers requests for models."""

    def __init__(
        self,
        service: Service,
        path: str,
        model: str,
        *,
        headers: Mapping[str, str] | None = None,
        patience: Patience | None = None,
        tape: Tape | None = None,
    ) -> None:
        self.refusals = Refusals(service, model)
        self._service = service
        self._url = service.base_url + path
        # Compressed, a stream would come in lumps, and a cassette could not be read.
        named = {
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": f"acp-agent/{VERSION}",
            **(headers or {}),
        }
        set_ = {name.lower() for name, _ in service.headers}
        own = {name: told for name, told in named.items() if name.lower() not in set_}
        self._headers = own | dict(service.headers)
        self._patience = patience or Patience()
        self._tape = tape
        self._timeout = httpx.Timeout(self._patience.silence, connect=self._patience.connect)
        self._trust: ssl.SSLContext | None = None

    async def reply(
        self, body: Mapping[str, Json], new_reader: Callable[[], Reader]
    ) -> AsyncGenerator[ModelEvent]:
        """Send `body`; yield what a reader makes of the answer.

        Raises:
            ServiceFailedError: there is no answer, or not all of it.
        """
        is_replayed = self._tape is not None and self._tape.is_replayed
        if self._service.needs_key and self._service.key is None and not is_replayed:
            raise self.refusals.without_key()
        raw = encode(body)
        async with self._client() as client:
            begun: _Begun | None = None
            delays = _Delays()
            async for attempt in self._retrying(delays):
                if (delay := delays.next) is not None:
                    if delays.is_long:
                        yield delay
                    await anyio.sleep(delay.seconds)
                with attempt:
                    begun = await self._begin(client, raw, new_reader)
            assert begun is not None
            answer, events = begun
            async with aclosing(answer):
                for event in events:
                    yield event
                while not answer.is_over:
                    for event in await answer.more():
                        yield event

    def _client(self) -> httpx.AsyncClient:
        if self._tape is None:
            return self._network()
        transport = self._tape.transport(self._network, self._service.secret)
        return httpx.AsyncClient(transport=transport, timeout=self._timeout)

    def _network(self) -> httpx.AsyncClient:
        if self._trust is None:
            self._trust = certificates(self._url)
        try:
            # Who is on this machine is not reached through a proxy, whatever is set for others.
            return httpx.AsyncClient(
                verify=self._trust, timeout=self._timeout, trust_env=not is_near(self._url)
            )
        except (ImportError, ValueError, httpx.InvalidURL):
            # None of these is about the service's address, which has been checked.
            raise ServiceFailedError(
                "The proxy that the environment names, as in HTTPS_PROXY, cannot be used."
            ) from None

    def _retrying(self, delays: _Delays) -> AsyncRetrying:
        patience = self._patience
        # By chance a little longer: agents that failed together do not come back together.
        growing = wait_exponential(patience.first_rest, patience.longest_rest) + wait_random(
            0, patience.first_rest
        )

        def rest(state: RetryCallState) -> float:
            if self._tape is not None and self._tape.is_replayed:
                # What is played back knows its answer already.
                return 0.0
            wanted = _problem(state)
            # No rest, or a date that has passed, would be no relief to anybody.
            return (wanted.wait if wanted else None) or growing(state)

        def is_worth_it(problem: BaseException) -> bool:
            return (
                isinstance(problem, ServiceFailedError)
                and problem.is_passing
                and (problem.wait or 0.0) <= patience.longest_rest
            )

        return AsyncRetrying(
            # Whoever tries sleeps: it has to be told first.
            sleep=_at_once,
            stop=stop_after_attempt(patience.tries),
            wait=rest,
            retry=retry_if_exception(is_worth_it),
            before_sleep=delays.take,
            reraise=True,
        )

    async def _begin(
        self, client: httpx.AsyncClient, raw: bytes, new_reader: Callable[[], Reader]
    ) -> _Begun:
        """Ask once; return the answer with its first events."""
        request = client.build_request("POST", self._url, content=raw, headers=self._headers)
        with self._mapped():
            response = await client.send(request, stream=True)
        answer = Answer(response, new_reader(), self.refusals, self._mapped)
        try:
            await self._check(response, answer)
            events = await answer.more()
            while not events and not answer.is_over:
                events = await answer.more()
        except BaseException:
            await answer.aclose()
            raise
        return answer, events

    async def _check(self, response: httpx.Response, answer: Answer) -> None:
        status = response.status_code
        if status != HTTPStatus.OK:
            raise self.refusals.refused(status, response.headers, await answer.beginning())
        packing = response.headers.get("content-encoding", "identity").strip().lower()
        if packing not in PACKINGS:
            raise self.refusals.malformed(f"it is compressed as {packing}, which nobody asked for")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            raise self.refusals.no_stream(await answer.beginning())

    @contextmanager
    def _mapped(self) -> Generator[None]:
        """Turn what httpx raises into sentences."""
        try:
            yield
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            why = f"no connection within {self._patience.connect:g} seconds"
            raise self.refusals.unreachable(why, is_passing=True) from None
        except httpx.TimeoutException:
            raise self.refusals.silent(self._patience.silence) from None
        except (httpx.ConnectError, httpx.ProxyError, httpx.UnsupportedProtocol) as problem:
            if (why := distrust(problem)) is not None:
                raise self.refusals.untrusted(why) from None
            # Who does not listen on this machine was not started: that does not pass by itself.
            is_passing = not is_near(self._url)
            why = str(problem) or "no connection"
            raise self.refusals.unreachable(why, is_passing=is_passing) from None
        except httpx.DecodingError:
            raise self.refusals.malformed("it cannot be decompressed") from None
        except httpx.HTTPError:
            raise self.refusals.cut() from None


_Begun: TypeAlias = tuple[Answer, Sequence[ModelEvent]]
"""An answer, and its first events."""


class _Delays:
    """Says why nothing is heard for a while: on stderr, and where it is long to the user."""

    def __init__(self) -> None:
        self._begun = anyio.current_time()
        self.next: Delayed | None = None
        """Before the next try."""

    @property
    def is_long(self) -> bool:
        """Whether somebody who waits since the first try would wonder."""
        waited = anyio.current_time() - self._begun
        return self.next is not None and waited + self.next.seconds >= UNSAID

    def take(self, state: RetryCallState) -> None:
        problem = _problem(state)
        logger.warning("%s Trying again in %.1f s.", problem, state.upcoming_sleep)
        self.next = Delayed(str(problem), state.upcoming_sleep)


async def _at_once(seconds: float) -> None:
    del seconds


def _problem(state: RetryCallState) -> ServiceFailedError | None:
    """Return what went wrong at the last try."""
    problem = state.outcome.exception() if state.outcome is not None else None
    return problem if isinstance(problem, ServiceFailedError) else None
