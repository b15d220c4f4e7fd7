"""The messages of a streamed response, and the reader that turns them into events.

Source: HTML Standard, "Server-sent events".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Final

import httpx
from httpx_sse import EventSource

from acp_agent.models.errors import INVALID, TOO_BIG, ServiceErrors
from acp_agent.models.types import ModelEvent
from acp_agent.models.wire import ToolNames, replace_surrogates
from acp_agent.settings.model import ModelSettings
from acp_protocol.json_codec import Json, parse
from acp_protocol.json_values import as_object

STREAM: Final = "text/event-stream"
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
    kind = response.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != STREAM:
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
