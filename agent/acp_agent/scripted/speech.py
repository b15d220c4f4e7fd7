"""How a scenario speaks: what keeps its frames apart, and in which dialect they are.

Steps and answers are in the protocol's own words; a dialect is put on where they leave, and taken
off where the client is heard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from acp_protocol.dialects.base import Dialect, Translation
from acp_protocol.framing import Framing, HeaderFramer, LineFramer

FRAMINGS: Final[dict[str, Framing]] = {"lines": "lines", "content-length": "headers"}
"""The words of a scenario that choose how frames are kept apart."""


class FrameCodec:
    """The way of speaking on one connection, which a dialect remembers things of."""

    def __init__(self, framing: Framing = "lines", dialect: Dialect | None = None) -> None:
        self.framing: Final = framing
        self._dialect = dialect

    def framer(self) -> LineFramer | HeaderFramer:
        """Return what cuts the client's bytes into frames."""
        return LineFramer() if self.framing == "lines" else HeaderFramer()

    def written(self, raw: bytes) -> Sequence[bytes | None]:
        """Return the frames that an official one becomes; a None where there is no word for it."""
        return (raw,) if self._dialect is None else self._dialect.write(raw, "agent") or (None,)

    def read(self, raw: bytes) -> Translation:
        """Return what a frame of the client says in official words, and what it gets at once."""
        return Translation((raw,)) if self._dialect is None else self._dialect.read(raw, "client")


def frame_codec(framing: str | None, dialect: str | None) -> FrameCodec:
    """Return a way of speaking for one connection; without a framing, that of the dialect.

    Raises:
        LocalProtocolError: there is no such dialect.
    """
    wanted = None if framing is None else FRAMINGS[framing]
    if dialect is None:
        return FrameCodec(wanted or "lines")
    # Dialects are rare, and what they bring along takes time at every start.
    from acp_protocol.dialects.registry import open_dialect

    spoken = open_dialect(dialect)
    return FrameCodec(wanted or spoken.framing, spoken)
