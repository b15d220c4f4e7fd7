"""Traffic that acp.el, on which agent-shell stands, saves from its traffic buffer.

One list, each element with `:direction`, `:kind` and `:object`, the parsed message. Its reader made
one and the same `nil` of null, of false and of the empty object.

Source: acp.el, acp-traffic.el, `acp-traffic-save-to`; acp.el, `acp--parse-json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, Final, cast

from acp_inspector.importers.elements import Elements
from acp_inspector.importers.items import Item, Remark, Said, broken
from acp_inspector.importers.lisp import Reader, Symbol, member, to_json
from acp_protocol import jsonrpc
from acp_protocol.framing import Side

_SIDES: Final[dict[str, Side]] = {"outgoing": "client", "incoming": "agent"}


def is_acp_el(head: bytes) -> bool:
    """Tell whether it is a list of acp.el's."""
    return head.lstrip().startswith(b"(") and b"(:direction . " in head


def read_acp_el(file: BinaryIO) -> Iterator[Item]:
    """Yield a frame for each element."""
    reader = Reader()
    elements = Elements(file, opens=(b"(", b"("), depth=1)
    for element in elements:
        try:
            yield _item(reader.read(element.decode()))
        except (ValueError, KeyError, RecursionError):
            yield broken(element)
    if elements.is_cut:
        yield Remark("the file ends in the middle of the list", is_broken=True)


def _item(told: Any) -> Said:
    direction = member(told, ":direction")
    message = to_json(member(told, ":object"))
    if not isinstance(direction, Symbol) or not isinstance(message, dict):
        raise ValueError("no message")  # noqa: TRY004 - the file's fault, not a caller's
    members = cast("dict[str, Any]", message)
    if members.get("params", True) is None:
        # The params of ACP are objects.
        members["params"] = {}
    return Said(_SIDES[direction.name], jsonrpc.encode(members))
