"""The measure of agents over the network, run shortly: it has to work, however fast."""

from __future__ import annotations

import pytest

from benchmarks import network

pytestmark = pytest.mark.long


def test_each_transport_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "ROUNDS", 5)
    monkeypatch.setattr(network, "WARM_UP", 2)
    monkeypatch.setattr(network, "UPDATES", 50)
    monkeypatch.setattr(network, "IDLE", 3)
    rows = network.measure().rows
    ours = [row.what for row in rows if "our" in row.what or "--record" in row.what]
    assert ours == [
        "HTTP/1.1: round trip, our server",
        "HTTP/1.1: an update, our server",
        "WebSocket: round trip, our server",
        "WebSocket: an update, our server",
        "HTTP/2 over TLS: round trip, our server",
        "HTTP/2 over TLS: an update, our server",
        "an idle WebSocket with a session, ours",
        "HTTP/1.1: round trip through `acp-console proxy --record`",
        "9 fast readers beside a slow one, our server",
    ]
