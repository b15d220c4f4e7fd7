"""Plain text looked for in frames, in any case."""

from __future__ import annotations

from acp_inspector.analysis.summary import Row
from acp_inspector.journal import Frame
from acp_protocol.jsonrpc import encode


class TextFilter:
    """Lets through the frames that hold a text, in their bytes or in their row."""

    def __init__(self, text: str) -> None:
        self._text = text.casefold()
        # In JSON a quote, a backslash or a newline is spelled with a backslash before it.
        self._escaped = encode(text).decode()[1:-1].casefold()

    @property
    def is_empty(self) -> bool:
        """Whether everything passes."""
        return not self._text

    def matches(self, frame: Frame, row: Row) -> bool:
        """Tell whether the frame holds the text."""
        if not self._text or self._text in f"{row.kind} {row.method} {row.summary}".casefold():
            return True
        raw = frame.raw.decode(errors="replace").casefold()
        return self._text in raw or self._escaped in raw
