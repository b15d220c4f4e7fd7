"""What a person does to the traffic of a running proxy, in a thread beside the screen.

The screen asks for deeds and looks at the state; it never waits for a socket.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, cast

from acp_inspector.attach.attachment import AttachError, Attachment

LOOK: Final = 0.25
"""Seconds between two looks at what is held."""


@dataclass(frozen=True, slots=True)
class HeldFrame:
    """A frame that waits for a decision, as the proxy tells of it."""

    id: int
    n: int
    side: str
    left: float
    """Seconds until it leaves by itself."""
    waiting: int
    """Frames that wait behind it."""
    text: str


@dataclass(frozen=True, slots=True)
class DeskState:
    """What is held, and why."""

    is_paused: bool = False
    breakpoints: tuple[tuple[int, str], ...] = ()
    """Number and filter of each."""
    holds: tuple[HeldFrame, ...] = field(default=())


class Desk:
    """Asks one proxy for deeds, one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wishes: SimpleQueue[tuple[str, dict[str, Any]] | None] = SimpleQueue()
        self.state = DeskState()
        self.refusals: deque[str] = deque(maxlen=20)
        """Why deeds were not done, for the screen to tell."""

    def start(self) -> None:
        """Begin to look."""
        threading.Thread(target=self._run, name="desk", daemon=True).start()

    def do(self, deed: str, **members: Any) -> None:
        """Ask for a deed; what comes of it shows in the state, or as a refusal."""
        self._wishes.put((deed, members))

    def close(self) -> None:
        """Leave; what was held for this person is released by the proxy."""
        self._wishes.put(None)

    def _run(self) -> None:
        with suppress(OSError), Attachment(self._path) as attachment:
            while True:
                try:
                    wish = self._wishes.get(timeout=LOOK)
                except Empty:
                    pass
                else:
                    if wish is None:
                        return
                    self._ask(attachment, wish)
                try:
                    self.state = _read(attachment.ask("state"))
                except AttachError:
                    # The proxy is gone, and everything that was held with it.
                    self.state = DeskState()
                    return

    def _ask(self, attachment: Attachment, wish: tuple[str, dict[str, Any]]) -> None:
        deed, members = wish
        try:
            attachment.ask(deed, **members)
        except AttachError as problem:
            self.refusals.append(str(problem))


def _read(state: Any) -> DeskState:
    told = cast("dict[str, Any]", state)
    holds = tuple(
        HeldFrame(
            hold["id"],
            hold["n"],
            hold["from"],
            float(hold["left"]),
            hold["waiting"],
            hold.get("text", f"{len(hold.get('b64', ''))} signs that are no text"),
        )
        for hold in told["holds"]
    )
    points = tuple((point["id"], point["filter"]) for point in told["breakpoints"])
    return DeskState(told["paused"], points, holds)
