"""Moves a stream of events: its bytes as they came, or event by event where that is wanted."""

from __future__ import annotations

import asyncio
from typing import Protocol

from acp_inspector.http_proxy.connection import Carrier, CarrierGoneError, ProxyConnection
from acp_inspector.http_proxy.event_stream import (
    MAX_EVENT_BYTES,
    EventSplitter,
    StreamEvent,
    new_event,
    read_event,
)
from acp_inspector.intercept.message import InterceptedFrame
from acp_protocol.jsonrpc import Json


class StreamedExchange(Protocol):
    """The exchange whose response is a stream."""

    connection: ProxyConnection
    number: int
    has_ended: bool

    def abort(self, why: str) -> None:
        """Break the exchange off."""
        ...

    async def write(self, data: bytes) -> None:
        """Write a part of the response."""
        ...


class EventSender(Carrier):
    """The stream of one response, and what sends its frames."""

    def __init__(self, exchange: StreamedExchange, max_event: int = MAX_EVENT_BYTES) -> None:
        super().__init__()
        self._exchange = exchange
        self._connection = exchange.connection
        self._splitter = EventSplitter(max_event)
        self._max_event = max_event
        self._is_begun = False
        """Whether the beginning of the event that has not ended was sent."""
        self._writing = asyncio.Lock()

    async def move(self, chunk: bytes) -> None:
        """Send a chunk, or what it brings event by event."""
        is_long = self._splitter.held + len(chunk) > self._max_event
        if not self._connection.wants("agent") or is_long:
            await self._pass(chunk)
            return
        before = self._splitter.held
        events = self._splitter.feed(chunk)
        if self._is_begun:
            # The rest of an event follows its beginning.
            end = events[0].size - before if events else len(chunk)
            self._is_begun = not events
            await self._note(events[:1])
            await self._write(chunk[:end])
            events = events[1:]
        for event in events:
            if event.data is None:
                await self._write(event.raw)
            else:
                await self._admit(event, event.data)

    async def finish(self) -> None:
        """Send what is under way, and what came of an event that has no end."""
        await self.wait_settled()
        rest = self._splitter.rest()
        if rest and not self._is_begun:
            await self._write(rest)
        event = read_event(rest)
        if event.data is not None:
            await self._connection.note("agent", "sse_event", self._members(event), event.data, b"")

    async def send(self, frame: InterceptedFrame, wire: bytes) -> None:
        """Send a frame as an event."""
        if self._exchange.has_ended:
            raise CarrierGoneError("the stream is closed")
        raw, prefix = frame.raw, frame.prefix
        if frame.cut_at is not None:
            await self._write(prefix + b"data: " + raw[: frame.cut_at])
            self._exchange.abort(f"cut by {frame.cut_by}")
            return
        event = wire or new_event(raw)
        if wire and raw is not frame.frame.data:
            event = read_event(wire).with_data(raw)
        if frame.ending is not None:
            event = event.replace(b"\r\n", b"\n").replace(b"\n", frame.ending)
        async with self._writing:
            for _ in range(frame.copies):
                for piece in frame.pieces(prefix + event):
                    if isinstance(piece, bytes):
                        await self._exchange.write(piece)
                    else:
                        await self._connection.pause(piece)
                prefix = b""

    async def _pass(self, chunk: bytes) -> None:
        """Send a chunk as it came, behind what was kept of its first event."""
        begun = b"" if self._is_begun else self._splitter.rest()
        await self._note(self._splitter.feed(chunk))
        self._is_begun = self._splitter.held > 0
        await self._write(begun + chunk)

    async def _note(self, events: list[StreamEvent]) -> None:
        for event in events:
            if event.data is not None:
                await self._connection.note("agent", "sse_event", self._members(event), event.data)

    async def _admit(self, event: StreamEvent, data: bytes) -> None:
        members = self._members(event)
        frame = await self._connection.admit("agent", "sse_event", members, data, self, event.raw)
        if frame is not None:
            await self._write(event.raw)

    def _members(self, event: StreamEvent) -> dict[str, Json]:
        named: dict[str, Json] = {"event": event.name, "event_id": event.id}
        shown = {key: value for key, value in named.items() if value and value != "message"}
        return {"id": self._exchange.number} | shown

    async def _write(self, data: bytes) -> None:
        async with self._writing:
            await self._exchange.write(data)
