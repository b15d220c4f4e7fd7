"""Captures of `{"t", "dir", "line"}`, one a line.

`t` is seconds, `dir` one of `c2a`, `a2c` and `stderr`, `line` what was said, `b64` the same where
it is not UTF-8, `noeol` says that it did not end, `proc` is the n-th start of the agent.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from acp_inspector.importers.items import Item, Murmured, Remark, Said, broken, seconds
from acp_inspector.journal import split_ending
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

_HEAD: Final = re.compile(
    rb'\s*\{(?=[^\n]*"t"\s*:)(?=[^\n]*"line"\s*:)[^\n]*"dir"\s*:\s*"(c2a|a2c|stderr)"'
)
_SIDES: Final[dict[str, Side]] = {"c2a": "client", "a2c": "agent"}


def is_capture(head: bytes) -> bool:
    """Tell whether the first line is one of a capture."""
    return _HEAD.match(head) is not None


def read_capture(file: BinaryIO) -> Iterator[Item]:
    """Yield what each line tells."""
    process: Json = None
    for line in file:
        try:
            told = jsonrpc.parse(line)
            item = _item(told)
        except (ValueError, TypeError, KeyError, binascii.Error):
            yield broken(line)
            continue
        if told.get("proc") != process:
            process = told.get("proc")
            yield Remark(f"the agent was started again (proc {process})", item.at)
        yield item


def _item(told: Json) -> Said | Murmured:
    at = seconds(told["t"])
    raw = base64.b64decode(told["b64"], validate=True) if "b64" in told else _encoded(told["line"])
    end = b"" if told.get("noeol") else b"\n"
    if told["dir"] == "stderr":
        return Murmured(raw + end, at)
    side = _SIDES[told["dir"]]
    if not end:
        return Said(side, raw, end, at)
    return Said(side, *split_ending(raw), at)


def _encoded(line: Json) -> bytes:
    if not isinstance(line, str):
        raise TypeError("the line is no text")
    return line.encode(errors="surrogatepass")
