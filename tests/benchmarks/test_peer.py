"""The children that are measured."""

from __future__ import annotations

import sys

import pytest

from acp_protocol.jsonrpc import Notification, read_message
from benchmarks.peer import CAT, PUMP, Peer, SilentPeerError, message

pytestmark = pytest.mark.long


@pytest.mark.parametrize("size", [260, 4096, 65536])
def test_a_message_has_exactly_the_size_that_was_asked_for(size: int) -> None:
    line = message(size)
    assert len(line) == size
    assert line.count(b"\n") == 1
    assert isinstance(read_message(line.removesuffix(b"\n")), Notification)


def test_the_bare_pump_passes_bytes_both_ways_and_ends_with_its_command() -> None:
    with Peer([*PUMP, *CAT]) as peer:
        peer.write(b"there and back\n")
        assert peer.read() == b"there and back\n"
        peer.end()


def test_a_child_that_ends_badly_is_told() -> None:
    with (
        Peer([sys.executable, "-c", "raise SystemExit(7)"]) as peer,
        pytest.raises(SilentPeerError, match="ended with 7"),
    ):
        peer.end()


def test_a_child_that_leaves_without_an_answer_is_told() -> None:
    with Peer(["true"]) as peer, pytest.raises(SilentPeerError, match="true ended too early"):
        peer.read()
