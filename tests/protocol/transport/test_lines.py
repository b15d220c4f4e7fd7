"""Frames over a pair of byte streams, however they are kept apart."""

from __future__ import annotations

import os

import anyio
import pytest

from acp_protocol.framing import Framing, encode_frame
from acp_protocol.host.fd_streams import FdReceiveStream, FdSendStream
from acp_protocol.transport.stdio import StreamTransport

LIMIT = 10.0
"""Seconds after which a transport counts as hung."""


class Ends:
    """A transport, and the bytes on its wire."""

    def __init__(self, framing: Framing | None) -> None:
        incoming, self._writer = os.pipe()
        self._reader, outgoing = os.pipe()
        streams = FdReceiveStream(incoming), FdSendStream(outgoing)
        self.transport = StreamTransport(*streams, framing=framing)

    def write(self, data: bytes) -> None:
        os.write(self._writer, data)

    def read(self) -> bytes:
        return os.read(self._reader, 65536)

    async def aclose(self) -> None:
        await self.transport.aclose()
        os.close(self._writer)
        os.close(self._reader)


@pytest.mark.parametrize("framing", ["lines", "headers"])
async def test_a_transport_uses_the_framing_it_was_given(framing: Framing) -> None:
    ends = Ends(framing)
    with anyio.fail_after(LIMIT):
        await ends.transport.send(b'{"a":1}')
        assert ends.read() == encode_frame(b'{"a":1}', framing)
        ends.write(encode_frame(b"one", framing) + encode_frame(b"two", framing))
        assert [await ends.transport.receive() for _ in range(2)] == [b"one", b"two"]
    assert ends.transport.framing == framing
    await ends.aclose()


@pytest.mark.parametrize("framing", ["lines", "headers"])
async def test_frames_are_sent_in_the_framing_of_the_peer(framing: Framing) -> None:
    ends = Ends(None)
    with anyio.fail_after(LIMIT):
        ends.write(encode_frame(b"{}", framing))
        assert ends.transport.framing is None
        assert await ends.transport.receive() == b"{}"
        await ends.transport.send(b"{}")
        assert ends.read() == encode_frame(b"{}", framing)
    await ends.aclose()


async def test_lines_are_written_until_the_peer_has_sent_something() -> None:
    ends = Ends(None)
    with anyio.fail_after(LIMIT):
        await ends.transport.send(b"{}")
        assert ends.read() == b"{}\n"
    await ends.aclose()
