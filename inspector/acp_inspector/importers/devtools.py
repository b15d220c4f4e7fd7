"""`session.json`, as acp-devtools exports it: one object with a list of `messages`.

Each has `timestamp` (milliseconds since 1970), `direction`, and the line as it was in `raw`.

Source: acp-devtools, packages/core/src/storage/export.ts and src/acp/types.ts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from acp_inspector.importers.elements import Elements
from acp_inspector.importers.items import Item, Remark, Said, broken, seconds
from acp_inspector.journal import split_ending
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

_HEAD: Final = re.compile(rb'\s*\{(?=[^\[]*"exportedAt"\s*:)[^\[]*"messages"\s*:\s*\[')
MILLISECOND: Final = 0.001
_SIDES: Final[dict[str, Side]] = {"editor-to-agent": "client", "agent-to-editor": "agent"}


def is_devtools(head: bytes) -> bool:
    """Tell whether it is an export."""
    return _HEAD.match(head) is not None


def read_devtools(file: BinaryIO) -> Iterator[Item]:
    """Yield a frame for each message."""
    elements = Elements(file, opens=(b"[", b"{"), depth=2)
    for element in elements:
        try:
            yield _item(jsonrpc.parse(element))
        except (ValueError, TypeError, KeyError, AttributeError):
            yield broken(element)
    if elements.is_cut:
        yield Remark("the file ends in the middle of the list", is_broken=True)


def _item(told: Json) -> Said:
    raw, end = split_ending(told["raw"].encode(errors="surrogatepass"))
    return Said(_SIDES[told["direction"]], raw, end, seconds(told["timestamp"], MILLISECOND))
