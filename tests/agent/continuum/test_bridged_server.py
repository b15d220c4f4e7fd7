"""A server that the agent bridges for its client."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from acp_agent.continuum.bridged_server import BridgedServer
from acp_agent.mcp.declarations import Limits, StdioServer
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.jsonrpc import Json

LIMIT = 20.0
"""Seconds after which a test counts as hung."""
TALKATIVE = """
import sys
print('{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}', flush=True)
sys.stdin.read()
"""


async def test_a_server_ends_when_its_client_is_gone(tmp_path: Path) -> None:
    async def notify(method: str, params: Json) -> None:
        raise ConnectionClosedError

    bridged = BridgedServer(
        "c1", StdioServer("s", (sys.executable, "-c", TALKATIVE)), Limits(), notify
    )
    with anyio.fail_after(LIMIT):
        await bridged.run(tmp_path)
    assert not bridged.is_open
    assert bridged.failure == "was disconnected"
