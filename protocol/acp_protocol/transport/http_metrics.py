"""What a server has done and has open, in the OpenMetrics text format.

Source: OpenMetrics 1.0, "Text Format".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_protocol.transport.served_connections import Connections

MEDIA_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def metrics_text(connections: Connections, requests: Mapping[int, int]) -> str:
    """Return the metrics; `requests` has the number of requests by the status of the response."""
    counts = connections.counts
    lines: list[str] = []

    def add(kind: str, name: str, about: str, values: Mapping[str, int]) -> None:
        lines.append(f"# TYPE acp_{name} {kind}")
        lines.append(f"# HELP acp_{name} {about}")
        suffix = "_total" if kind == "counter" else ""
        lines.extend(f"acp_{name}{suffix}{labels} {value}" for labels, value in values.items())

    def one(value: int) -> dict[str, int]:
        return {"": value}

    add("gauge", "connections", "Open connections.", one(len(connections)))
    add("gauge", "websockets", "Open connections over a WebSocket.", one(counts.sockets))
    add("gauge", "streams", "Event streams that are read.", one(counts.streams))
    add("gauge", "sessions", "Sessions of the open connections.", one(connections.sessions))
    add("gauge", "unread_bytes", "Bytes that wait for readers.", one(connections.unread))
    add("counter", "opened_connections", "Connections so far.", one(counts.opened))
    moved = {
        '{direction="in"}': counts.received_messages,
        '{direction="out"}': counts.sent_messages,
    }
    add("counter", "messages", "Messages from and to clients.", moved)
    moved = {'{direction="in"}': counts.received_bytes, '{direction="out"}': counts.sent_bytes}
    add("counter", "message_bytes", "Bytes of the messages from and to clients.", moved)
    by_status = {f'{{status="{status}"}}': number for status, number in sorted(requests.items())}
    add("counter", "http_requests", "Requests by the status of their response.", by_status)
    return "\n".join([*lines, "# EOF\n"])
