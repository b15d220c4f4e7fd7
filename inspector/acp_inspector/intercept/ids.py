"""Ids of the requests that are injected: a space of their own, which no peer uses.

An id is a beginning with something random in it, and a number. Should a peer's own id ever begin
so, another beginning is taken: what is asked from then on cannot be mistaken for the peer's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from acp_protocol.jsonrpc import RequestId

NAME: Final = "acp-console"
FAMILIES: Final = 10_000
"""Beginnings of foreign ids that are remembered, at most; nobody has that many by accident."""


def _token() -> str:
    return os.urandom(4).hex()


class IdSpace:
    """Gives ids out."""

    def __init__(self, token: Callable[[], str] = _token) -> None:
        self._token = token
        self._issued = 0
        self._foreign: set[str] = set()
        self._family = self._fresh_family()

    def issue(self) -> str:
        """Return an id that was never given out, and never seen."""
        self._issued += 1
        return f"{self._family}-{self._issued}"

    def note(self, seen: RequestId) -> None:
        """Note the id of a peer's own request."""
        if isinstance(seen, str) and seen.startswith(NAME) and len(self._foreign) < FAMILIES:
            self._foreign.add(seen.rpartition("-")[0])
            if self._family in self._foreign:
                self._family = self._fresh_family()

    def may_stand_in(self, raw: bytes) -> bool:
        """Tell, without reading it, whether an id of ours may stand in a frame."""
        # Our ids are plain ASCII: where one is spelled with escapes, there is a \\u.
        return NAME.encode() in raw or b"\\u" in raw

    def _fresh_family(self) -> str:
        while (family := f"{NAME}-{self._token()}") in self._foreign:
            pass
        return family
