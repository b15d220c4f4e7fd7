"""What is said to a person about failures, once for each kind: traffic repeats itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from acp_protocol.errors import AcpError
from acp_protocol.host.text import one_line

KINDS: Final = 1000
"""Kinds that are told apart; what comes beyond is not said any more."""
WIDTH: Final = 300
"""Characters of one complaint, at most."""


class Complaints:
    """Passes each kind of complaint on once."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._kinds: set[str] = set()
        self._lock = threading.Lock()

    def once(self, kind: str, sentence: str) -> None:
        """Say `sentence`, unless something of that kind has been said."""
        with self._lock:
            if kind in self._kinds or len(self._kinds) >= KINDS:
                return
            self._kinds.add(kind)
        self.tell(sentence)

    def anew(self) -> Complaints:
        """Return one that has said nothing yet, to the same ear."""
        return Complaints(self._warn)

    def failure(self, who: str, problem: BaseException) -> None:
        """Say, once for each sort of problem, that `who` has failed."""
        kind = type(problem).__name__
        try:
            reason = str(problem)
        except Exception:  # noqa: BLE001 - an exception may be anybody's, and say nothing
            reason = "it does not say why"
        # Our own errors are sentences; other people's may be no more than their name.
        told = reason if isinstance(problem, AcpError) else f"{kind}: {reason}"
        self.once(f"{who}/{kind}", f"{who} failed and is passed over: {told}")

    def tell(self, sentence: str) -> None:
        """Say `sentence`; never raises, because the traffic does not depend on it."""
        try:
            self._warn(one_line(sentence, WIDTH))
        except Exception:  # noqa: BLE001 - nobody is left to whom this could be said
            return
