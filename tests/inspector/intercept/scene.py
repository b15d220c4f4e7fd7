"""A proxy's inside without pipes, threads and time: frames come, bytes leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from acp_inspector.intercept.controller import InterceptController
from acp_inspector.intercept.injection import IdSpace
from acp_inspector.intercept.live_filter import LiveFilters, Matcher
from acp_inspector.intercept.message import Hook
from acp_inspector.journal import Frame, Journal, JournalEvent
from acp_protocol.framing import Side, WireFrame
from acp_protocol.jsonrpc import Json

REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt"}'
NOTIFICATION = b'{"jsonrpc":"2.0","method":"session/update"}'


def everything(frame: Frame) -> bool:
    return bool(frame.seq)


def holding(text: bytes) -> Matcher:
    """Return what matches frames that hold `text`."""
    return lambda frame: text in frame.data


def counted_ids() -> IdSpace:
    """Return ids that are the same in every run."""
    tokens = (f"t{number}" for number in count())
    return IdSpace(lambda: next(tokens))


@dataclass
class Scene:
    """Both channels of an interceptor, and the journal that it writes."""

    hooks: list[Hook] = field(default_factory=list[Hook])
    now: float = 0.0
    warnings: list[str] = field(default_factory=list[str])
    kills: list[int] = field(default_factory=list[int])
    filters: LiveFilters | None = None

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Begin anew, with the rules and add-ons that there are by now."""
        self.journal = Journal(clock=self.clock)
        self.controller = InterceptController(
            self,
            hooks=self.hooks,
            kill=self.kills.append,
            warn=self.warnings.append,
            clock=self.clock,
            ids=counted_ids(),
            filters=self.filters,
        )

    def clock(self) -> float:
        return self.now

    def inject(self, side: Side, frame: WireFrame) -> Frame:
        return self.journal.wire(side, frame)

    def event(self, name: str, **data: Json) -> JournalEvent:
        return self.journal.event(name, **data)

    def put(self, side: Side, *lines: bytes, end: bytes = b"\n") -> list[int]:
        """Let frames come; return their numbers."""
        frames = [self.journal.frame(side, line, end) for line in lines]
        for frame in frames:
            self.controller.channels[side].put(frame)
        return [frame.seq for frame in frames]

    def out(self, side: Side) -> list[bytes]:
        """Return what leaves without any wait."""
        channel = self.controller.channels[side]
        written: list[bytes] = []
        while isinstance(piece := channel.take_nowait(), bytes):
            written.append(piece)
        return written

    def passed(self, side: Side, *lines: bytes) -> list[bytes]:
        """Let frames come, and return what leaves."""
        self.put(side, *lines)
        return self.out(side)

    def events(self, *leave_out: str) -> list[tuple[str, dict[str, Json]]]:
        """Return the events so far."""
        return [
            (entry.name, dict(entry.data))
            for entry in self.journal.entries
            if isinstance(entry, JournalEvent) and entry.name not in leave_out
        ]
