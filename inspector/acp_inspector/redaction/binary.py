"""Bytes that are no text, as recordings spell them: `b64`, `stderr_b64`, `was_b64`.

Base64 under other names (images, say) is left alone: what is in there is nobody's plain text.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Final

_MARK: Final = 'b64":"'
_SPELLED: Final = re.compile(r'(?<=["_]b64":")[A-Za-z0-9+/]{7,}={0,2}(?=")')


def spelled_texts(line: str) -> Iterator[str]:
    """Yield what the members of `line` that hold bytes say, whatever is no UTF-8 as surrogates."""
    if _MARK in line:
        for found in _SPELLED.finditer(line):
            if (text := _text(found[0])) is not None:
                yield text


def replace_in_bytes(line: str, change: Callable[[str], str]) -> str:
    """Return `line` with what its bytes say changed; what `change` leaves stays as spelled."""
    if _MARK not in line:
        return line

    def changed(found: re.Match[str]) -> str:
        text = _text(found[0])
        if text is None or (after := change(text)) == text:
            return found[0]
        return base64.b64encode(after.encode(errors="surrogateescape")).decode()

    return _SPELLED.sub(changed, line)


def _text(spelling: str) -> str | None:
    try:
        return base64.b64decode(spelling, validate=True).decode(errors="surrogateescape")
    except binascii.Error:
        return None
