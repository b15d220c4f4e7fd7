"""The two streams between a transport of ours and a session of the SDK."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

Streams: TypeAlias = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]
"""What a session of the SDK reads from, and what it writes to."""
FarStreams: TypeAlias = tuple[
    MemoryObjectSendStream[SessionMessage | Exception], MemoryObjectReceiveStream[SessionMessage]
]
"""The other ends."""


@contextmanager
def stream_pair(buffer: int = 0) -> Generator[tuple[Streams, FarStreams]]:
    """Open both ends, and close them at the end; `buffer` messages for the session may wait."""
    to_session, at_session = anyio.create_memory_object_stream[SessionMessage | Exception](buffer)
    session_writes, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    with to_session, at_session, session_writes, from_session:
        yield (at_session, session_writes), (to_session, from_session)
