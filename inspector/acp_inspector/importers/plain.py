"""Messages, one a line, with nothing around them: as acpx keeps them, and anybody's `tee`.

Source: acpx, docs/2026-02-27-acpx-session-model.md, "ACP Stream Contract".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from acp_inspector.importers.items import Item, Said
from acp_inspector.importers.sides import NOISE, Sides
from acp_inspector.journal import split_ending
from acp_inspector.recording.validity import BOM


def is_plain(head: bytes) -> bool:
    """Tell whether one of the first lines is a message."""
    lines = head.split(b"\n")[:20]
    return any(
        line.lstrip().startswith((b"{", b"["))
        and (b'"jsonrpc"' in line or (b'"method"' in line and b'"params"' in line))
        for line in lines
    )


def read_plain(file: BinaryIO) -> Iterator[Item]:
    """Yield a frame for each line; who said it is guessed."""
    sides = Sides()
    for number, told in enumerate(file):
        line = told if number else told.removeprefix(BOM)
        if not line.strip():
            continue
        raw, end = split_ending(line[:-1]) if line.endswith(b"\n") else (line, b"")
        side, guess = sides.side(raw)
        yield Said(side, raw, end, guess=guess, is_broken=guess == NOISE)
