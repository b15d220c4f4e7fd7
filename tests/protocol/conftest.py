"""What the talks of two peers are held over."""

from __future__ import annotations

import pytest

from acp_protocol.transport.memory import memory_pair
from tests.protocol import connected_peers

WIRES = {"memory": memory_pair, "pipes": connected_peers.pipe_pair}


@pytest.fixture(params=list(WIRES))
def over_every_wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the talks of a test in memory, where each frame waits for its reader, and over pipes."""
    monkeypatch.setattr(connected_peers, "pair", WIRES[request.param])


@pytest.fixture
def over_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the talks of a test over pipes, where frames are read and written without waiting."""
    monkeypatch.setattr(connected_peers, "pair", connected_peers.pipe_pair)
