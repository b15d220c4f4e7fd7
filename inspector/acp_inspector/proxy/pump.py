"""The man in the middle: what an editor starts in place of the agent.

Three threads move bytes and nothing else: client to agent, agent to client, agent's stderr to ours.
Each chunk is noted for the recording before it is forwarded, and forwarded whatever becomes of the
recording. A slow reader is felt by the writer, because a pump holds one chunk at a time.

Where somebody interferes, a direction goes line by line through its lane, see `crossing`.

No event loop, no pydantic, no Textual: this starts in the time that Python itself takes.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from acp_inspector.proxy.child import GRACE, AgentChild
from acp_inspector.proxy.gaps import Stream
from acp_inspector.proxy.recorder import Recorder
from acp_inspector.proxy.signals import Signals
from acp_protocol.framing import Side
from acp_protocol.host.guard import Guard

if TYPE_CHECKING:
    from acp_inspector.proxy.interference import Interference

CHUNK: Final = 1 << 16
"""Bytes asked for in one read, which is what a pipe holds."""
DRAIN: Final = 2.0
"""Seconds after which what an agent that has ended left behind is ended too."""
TURN: Final = 0.000001
"""Seconds for which a thread may keep the interpreter's lock while a pump waits for it.

The recorder would keep it as long as it has something to do; a pump wants it for a microsecond.
"""


def run_proxy(
    command: Sequence[str],
    recorder: Recorder | None = None,
    interference: Interference | None = None,
    started: Callable[[AgentChild], None] = lambda child: None,
    *,
    wire: tuple[int, int] = (0, 1),
) -> int:
    """Run `command` with our stdin, stdout and stderr as its own; return the code to exit with.

    The code is the agent's, or 128 + n when signal n ended it. The recorder stays open: it is not
    this one's to close.

    Raises:
        AgentStartError: the command could not be started.
    """
    sys.setswitchinterval(TURN)
    with Signals() as signals:
        child = AgentChild(command)
        signals.pass_to(child)
        # Here the agent has its own start to do, and nobody has heard of it yet.
        guard = Guard(round(GRACE), round(GRACE))
        guard.watch(child.pid)
        if recorder is not None:
            recorder.event("spawn", pid=child.pid)
        stdin, stdout, stderr = child.take_pipes()
        started(child)
        upwards = _pump("client", wire[0], stdin, recorder, interference)
        downwards = [
            _pump("agent", stdout, wire[1], recorder, interference),
            Pump("stderr", stderr, 2, recorder),
        ]
        for pump in (upwards, *downwards):
            pump.start()
        _watch_client(upwards, downwards[0], child)
        code = child.wait()
        if interference is not None:
            # What the agent still said arrives; there is nobody left to wait for.
            interference.finish()
        limit = time.monotonic() + DRAIN
        for pump in downwards:
            pump.join(max(limit - time.monotonic(), 0))
        # What the agent started and left behind goes too, and with it the last writer of the pipes.
        child.end()
        guard.dismiss(child.pid)
        guard.close()
        for pump in downwards:
            _drain(pump, signals)
    if recorder is not None:
        recorder.event("exit", **({"code": code} if code >= 0 else {"signal": -code}))
    return code if code >= 0 else 128 - code


def _drain(pump: Pump, signals: Signals) -> None:
    """Wait until all that was said has been taken, however slowly, unless a signal wants the end.

    A source that keeps silent for `DRAIN` seconds is held by somebody who left the agent's group.
    """
    is_silent = False
    while pump.is_alive() and not is_silent and not signals.has_come:
        moved = pump.moved
        pump.join(DRAIN)
        is_silent = pump.moved == moved and not pump.is_writing
    pump.join(DRAIN if signals.has_come else 0)


def _watch_client(upwards: Pump, downwards: Pump, child: AgentChild) -> None:
    """See to it that the agent ends when its client has, though it may hear nothing of that.

    A client that has only closed our stdin still waits for answers. One that reads no answers is
    gone when it says nothing more, or when the agent takes nothing of what it has said. So is one
    that says nothing more to an agent that has closed its stdout, and so will never answer.
    """

    def watch() -> None:
        reads_nothing = downwards.wait_for_lost_sink()
        while upwards.is_alive() and not (
            upwards.is_stuck_for(GRACE) and (reads_nothing or upwards.has_lost_source())
        ):
            pass
        if upwards.is_alive() or not child.ends_within(GRACE):
            child.end()

    threading.Thread(target=watch, name="client", daemon=True).start()


def _pump(
    side: Side, source: int, sink: int, recorder: Recorder | None, interference: Interference | None
) -> Pump:
    if interference is None or recorder is None:
        return Pump(side, source, sink, recorder)
    from acp_inspector.proxy.crossing import Crossing

    return Crossing(side, source, sink, recorder, interference)


class Pump(threading.Thread):
    """Moves one stream from `source` to `sink` until either ends, then closes both."""

    def __init__(self, stream: Stream, source: int, sink: int, recorder: Recorder | None) -> None:
        super().__init__(name=f"pump {stream}", daemon=True)
        self._stream: Stream = stream
        self._source = source
        self._sink = sink
        self._is_sink_open = True
        self._recorder = recorder
        self.is_writing = False
        """Whether somebody has to take something for this to go on."""
        self.moved = 0
        """Times that something has left."""
        self._has_lost_sink = False
        self._closing = os.pipe()
        """Where it can be read that the sink has been closed."""

    def run(self) -> None:
        """Move chunks; the interpreter's lock is free while a read or a write waits."""
        with suppress(OSError):
            self.move()
        if self._recorder is not None and self._stream != "stderr":
            self._recorder.event("eof", **{"from": self._stream})
        with suppress(OSError):
            os.close(self._source)
        self.close_sink()

    def move(self) -> None:
        """Move chunks until the stream ends.

        Raises:
            OSError: one of the ends is gone.
        """
        while chunk := self.read():
            self.note(chunk)
            self.write(chunk)

    def read(self) -> bytes:
        """Return what there is, at least a byte; nothing when the stream has ended."""
        while True:
            try:
                return os.read(self._source, CHUNK)
            except BlockingIOError:
                _wait_for(self._source, select.POLLIN)

    def note(self, chunk: bytes) -> None:
        """Let the recording have a chunk before it leaves."""
        if self._recorder is not None:
            self._recorder.note(self._stream, chunk)

    def write(self, data: bytes) -> None:
        """Write all of `data`."""
        rest = memoryview(data)
        self.is_writing = True
        try:
            while rest:
                rest = rest[self._write_some(rest) :]
                self.moved += 1
        except OSError:
            self._has_lost_sink = True
            raise
        finally:
            self.is_writing = False

    def _write_some(self, data: memoryview) -> int:
        while True:
            try:
                return os.write(self._sink, data)
            except BlockingIOError:
                _wait_for(self._sink, select.POLLOUT)

    def wait_for_lost_sink(self) -> bool:
        """Wait until nobody reads any more; False if this has closed its sink before."""
        poll = select.poll()
        poll.register(self._sink, 0)
        # As long as the kernel looks at the sink, closing it does not reach the other end.
        poll.register(self._closing[0], select.POLLIN)
        found = dict(poll.poll()).get(self._sink, 0)
        # The number may be another file's by now, hence the question whether it is still ours.
        is_gone = bool(found & (select.POLLERR | select.POLLHUP))
        return self._has_lost_sink or (is_gone and self._is_sink_open)

    def has_lost_source(self) -> bool:
        """Tell whether nobody can write any more, though there may be something left to read."""
        poll = select.poll()
        poll.register(self._source, 0)
        return bool(poll.poll(0))

    def is_stuck_for(self, limit: float) -> bool:
        """Wait for the end, `limit` seconds at most; tell whether nobody took anything meanwhile.

        Who has nothing to write is not stuck.
        """
        moved, was_writing = self.moved, self.is_writing
        self.join(limit)
        return self.is_alive() and was_writing and self.is_writing and self.moved == moved

    def close_sink(self) -> None:
        """Let the other end know that nothing more comes; closing twice is no error."""
        # Our own stderr stays: there may be something left to say.
        if self._is_sink_open and self._sink != 2:
            self._is_sink_open = False
            with suppress(OSError):
                os.close(self._sink)
            os.write(self._closing[1], b".")


def _wait_for(descriptor: int, event: int) -> None:
    """Wait where an editor has left its end of our stdin or stdout not to wait by itself."""
    poll = select.poll()
    poll.register(descriptor, event)
    poll.poll()


def warn(text: str) -> None:
    """Say something to the person whose editor shows the agent's stderr."""
    with suppress(OSError):
        os.write(2, f"acp-console proxy: {text}\n".encode(sys.getfilesystemencoding(), "replace"))
