"""Traces of the Rust SDK's conductor (`.jsons`): one event a line, between named components.

A conductor stands between a client and a chain of proxies that ends in the agent. What is imported
is the client's connection; what its parts say among each other is counted and left out.

Source: agentclientprotocol/rust-sdk, md/trace-viewer.md, "Event Schema".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from acp_inspector.importers.items import Item, LeftOut, Said, answer, broken, request, seconds
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

CLIENT: Final = "client"
ELSEWHERE: Final = "messages between the conductor's parts"
MCP: Final = "messages of MCP"

_HEAD: Final = re.compile(
    rb'\s*\{(?=[^\n]*"ts"\s*:)(?=[^\n]*"from"\s*:)(?=[^\n]*"to"\s*:)'
    rb'[^\n]*"type"\s*:\s*"(request|response|notification)"'
)


def is_conductor(head: bytes) -> bool:
    """Tell whether the first line is an event of a trace."""
    return _HEAD.match(head) is not None


def read_conductor(file: BinaryIO) -> Iterator[Item]:
    """Yield a frame for each event of the client's connection."""
    of_mcp: set[tuple[str, str]] = set()
    for line in file:
        if not line.strip():
            continue
        try:
            yield _item(jsonrpc.parse(line), of_mcp)
        except (ValueError, TypeError, KeyError, AttributeError):
            yield broken(line)


def _item(told: Json, of_mcp: set[tuple[str, str]]) -> Item:
    sender, receiver = str(told["from"]).lower(), str(told["to"]).lower()
    if CLIENT not in {sender, receiver}:
        return LeftOut(ELSEWHERE)
    side: Side = "client" if sender == CLIENT else "agent"
    at, kind = seconds(told["ts"]), told["type"]
    # An answer does not say of which protocol it is; its question did.
    asker = (receiver if kind == "response" else sender, jsonrpc.encode(told.get("id")).decode())
    if told.get("protocol") == "mcp" or (kind == "response" and asker in of_mcp):
        of_mcp ^= {asker} if "id" in told else set()
        return LeftOut(MCP)
    match kind:
        case "request":
            raw = request(told["method"], told["params"], told["id"], has_id=True)
        case "notification":
            raw = request(told["method"], told["params"], has_id=False)
        case "response":
            raw = answer(told["id"], told["payload"], is_error=told["is_error"] is True)
        case _:
            raise ValueError("a kind of event that is not known")
    return Said(side, raw, at=at)
