"""An answer that a service streams: its messages, one by one, and what a reader makes of them.

Source: HTML Standard, "Server-sent events".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, suppress
from http import HTTPStatus
from typing import Final, Protocol

import httpx
from httpx_sse import EventSource, ServerSentEvent

from acp_agent.models.errors import ServiceErrors
from acp_agent.models.types import ModelEvent
from acp_agent.models.wire import members, replace_surrogates
from acp_protocol.json_codec import Json, parse

ANSWER_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of one streamed answer that are taken."""
REFUSAL_LIMIT: Final = 64 * 1024
"""Bytes of a refusal that are read."""
STREAM: Final = "text/event-stream"
DONE: Final = "[DONE]"
"""What marks the end of a stream of chat completions."""


_END: Final[Mapping[str, Json]] = {}
"""Stands for that among the messages."""


class Reader(Protocol):
    """Folds what one answer streams into events."""

    @property
    def is_over(self) -> bool:
        """Whether the answer is whole; what comes behind it is not looked at."""
        ...

    def feed(self, message: Mapping[str, Json]) -> Sequence[ModelEvent]:
        """Return the events that `message` completes.

        Raises:
            ServiceFailedError: it is an error, or none of the service's messages.
        """
        ...

    def ended(self, *, is_announced: bool = False) -> Sequence[ModelEvent]:
        """Return the last events: the stream has ended, and may have told so.

        Raises:
            ServiceFailedError: the answer was not whole.
        """
        ...


class StreamedReply:
    """An answer that is on its way; `mapped` turns what httpx raises into sentences."""

    def __init__(
        self,
        response: httpx.Response,
        reader: Reader,
        refusals: ServiceErrors,
        mapped: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._response = response
        self._reader = reader
        self._refusals = refusals
        self._mapped = mapped
        self._messages = _messages(response, refusals)
        self.is_over = False

    async def more(self) -> Sequence[ModelEvent]:
        """Return the events that the next message completes, maybe none."""
        with self._mapped():
            message = await anext(self._messages, None)
        if message is None or message is _END:
            self.is_over = True
            return self._reader.ended(is_announced=message is _END)
        events = self._reader.feed(message)
        self.is_over = self._reader.is_over
        return events

    async def beginning(self) -> bytes:
        """Return the first bytes of the answer's body, as many as arrive."""
        body = b""
        with suppress(httpx.HTTPError):
            async for chunk in self._response.aiter_bytes():
                body += chunk
                if len(body) >= REFUSAL_LIMIT:
                    break
        return body[:REFUSAL_LIMIT]

    async def aclose(self) -> None:
        """Leave the answer, read or not."""
        await self._messages.aclose()
        await self._response.aclose()


class _Bounded(httpx.AsyncByteStream):
    """The body of an answer, up to a limit."""

    def __init__(self, response: httpx.Response, refusals: ServiceErrors) -> None:
        self._response = response
        self._refusals = refusals

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for chunk in self._response.aiter_bytes():
            taken += len(chunk)
            if taken > ANSWER_LIMIT:
                raise self._refusals.too_big(ANSWER_LIMIT)
            yield chunk


async def _messages(
    response: httpx.Response, refusals: ServiceErrors
) -> AsyncGenerator[Mapping[str, Json]]:
    """Yield the messages of a stream, up to its end or to its marker `_END`."""
    kind = response.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != STREAM:
        raise refusals.malformed(f"it is {kind or 'of no type'}, not {STREAM}")
    # The charset is not the sender's to choose.
    bounded = httpx.Response(
        HTTPStatus.OK,
        headers={"Content-Type": f"{STREAM}; charset=utf-8"},
        stream=_Bounded(response, refusals),
    )
    async with aclosing(EventSource(bounded).aiter_sse()) as events:
        async for event in events:
            if event.data == DONE:
                yield _END
                return
            if event.data:
                yield _message(event, refusals)


def _message(event: ServerSentEvent, refusals: ServiceErrors) -> Mapping[str, Json]:
    try:
        message = parse(event.data.encode())
    except ValueError:
        raise refusals.malformed(f"no JSON in its stream, {event.data!r}") from None
    if "\\u" in event.data:
        # Nothing but an escape can spell half a character.
        message = replace_surrogates(message)
    if not isinstance(message, dict):
        raise refusals.malformed(f"no object in its stream, {event.data!r}")
    return members(message)
