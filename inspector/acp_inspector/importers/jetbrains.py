"""Logs of JetBrains IDEs: lines with `OUT: {…}` for what the IDE says and `IN: {…}` for the agent.

The lines that were seen are `2026-02-14 20:22:39,308 [ 318210]   FINE - AcpTransport - OUT: {…}`.

Source: a log in agentclientprotocol/registry, pull request 30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO, Final

from acp_inspector.importers.items import Item, Remark, Said, broken
from acp_protocol import jsonrpc
from acp_protocol.framing import Side

_LINE: Final = re.compile(
    rb"(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3})?(?P<between>[^{]*?)\b"
    rb"(?P<way>OUT|IN): (?P<raw>[\[{].*)",
    re.DOTALL,
)
_TIME: Final = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3}")
_SIDES: Final[dict[bytes, Side]] = {b"OUT": "client", b"IN": "agent"}


def is_jetbrains(head: bytes) -> bool:
    """Tell whether a line of the log's beginning holds a message."""
    return any(_LINE.match(line) is not None for line in head.split(b"\n"))


def read_jetbrains(file: BinaryIO) -> Iterator[Item]:
    """Yield a frame for each message, and a remark for every other line of the log."""
    for line in file:
        text = line.rstrip(b"\r\n")
        if not text:
            continue
        found = _LINE.match(text)
        time = _TIME.match(text)
        at = _seconds(time[0]) if time else None
        if found is None:
            yield Remark(text.decode(errors="backslashreplace"), at)
        elif jsonrpc.is_json(found["raw"]):
            yield Said(_SIDES[found["way"]], found["raw"], at=at)
        else:
            yield broken(text, at)


def _seconds(time: bytes) -> float | None:
    """Return the seconds since 1970, as if the clock on the wall showed UTC."""
    text = time.decode().replace(",", ".").replace("T", " ")
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
