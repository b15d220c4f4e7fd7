"""What Zed's "Copy All Messages" puts on the clipboard, in its view "dev: open acp logs".

One list, each element with `_direction` (`outgoing`, `incoming`, `stderr`), `_type`, `id`, `method`
and `params`, which of an answer holds its result or its error. Messages stand in it parsed.

Source: Zed, crates/acp_tools/src/acp_tools.rs, `serialize_observed_messages`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from acp_inspector.importers.elements import Elements
from acp_inspector.importers.items import Item, Murmured, Remark, Said, answer, broken, request
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

_SIDES: Final[dict[str, Side]] = {"outgoing": "client", "incoming": "agent"}
ERROR: Final = "an answer with code and message is an error"


def is_zed(head: bytes) -> bool:
    """Tell whether it is a list of Zed's."""
    return head.lstrip().startswith(b"[") and b'"_direction"' in head


def read_zed(file: BinaryIO) -> Iterator[Item]:
    """Yield what each element tells."""
    elements = Elements(file, opens=(b"[", b"{"), depth=1)
    for element in elements:
        try:
            yield _item(jsonrpc.parse(element))
        except (ValueError, TypeError, KeyError):
            yield broken(element)
    if elements.is_cut:
        yield Remark("the file ends in the middle of the list", is_broken=True)


def _item(told: Json) -> Item:
    kind, params = told["_type"], told["params"]
    if told["_direction"] == "stderr":
        return Murmured(f"{params}\n".encode(errors="surrogatepass"))
    side = _SIDES[told["_direction"]]
    match kind:
        case "request":
            return Said(side, request(told["method"], params, told["id"], has_id=True))
        case "notification":
            return Said(side, request(told["method"], params, has_id=False))
        case "response":
            is_error = _is_error(params)
            raw = answer(told["id"], params, is_error=is_error)
            return Said(side, raw, guess=ERROR if is_error else "")
        case _:
            raise ValueError("a kind of message that is not known")


def _is_error(payload: Json) -> bool:
    return (
        isinstance(payload, dict)
        and {"code", "message"} <= payload.keys() <= {"code", "message", "data"}
        and isinstance(payload["code"], int)
    )
