"""The man in the middle: what an editor starts in place of the agent.

Three threads move bytes and nothing else: client to agent, agent to client, agent's stderr to ours.
Each chunk is noted for the recording before it is forwarded, and forwarded whatever becomes of the
recording. A slow reader is felt by the writer, because a pump holds one chunk at a time.

Where somebody interferes, a direction goes line by line through its lane, see `crossing`.

No event loop, no pydantic, no Textual: this starts in the time that Python itself takes.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Final

from acp_inspector.proxy.child import GRACE, AgentChild
from acp_inspector.proxy.recorder import Recorder, Stream
from acp_protocol.framing import Side

if TYPE_CHECKING:
    from acp_inspector.proxy.interference import Interference

CHUNK: Final = 1 << 16
"""Bytes asked for in one read, which is what a pipe holds."""
DRAIN: Final = 2.0
"""Seconds that the pipes of an agent that has ended may take to run empty."""
FORWARDED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that are passed on to the agent's process group."""


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
    child = AgentChild(command)
    if recorder is not None:
        recorder.event("spawn", pid=child.pid)
    stdin, stdout, stderr = child.take_pipes()
    started(child)
    upwards = _pump("client", wire[0], stdin, recorder, interference)
    downwards = [
        _pump("agent", stdout, wire[1], recorder, interference),
        Pump("stderr", stderr, 2, recorder),
    ]
    with _Signals(child):
        for pump in (upwards, *downwards):
            pump.start()
        code = child.wait()
        if interference is not None:
            # What the agent still said arrives; there is nobody left to wait for.
            interference.finish()
        for pump in downwards:
            pump.join(DRAIN)
        # What the agent started and left behind goes too, and with it the last writer of the pipes.
        child.end()
        for pump in downwards:
            pump.join(DRAIN)
    if recorder is not None:
        recorder.event("exit", **({"code": code} if code >= 0 else {"signal": -code}))
    return code if code >= 0 else 128 - code


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
        while chunk := os.read(self._source, CHUNK):
            self.note(chunk)
            self.write(chunk)

    def note(self, chunk: bytes) -> None:
        """Let the recording have a chunk before it leaves."""
        if self._recorder is not None:
            self._recorder.note(self._stream, chunk)

    def write(self, data: bytes) -> None:
        """Write all of `data`."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._sink, rest) :]

    def close_sink(self) -> None:
        """Let the other end know that nothing more comes; closing twice is no error."""
        # Our own stderr stays: there may be something left to say.
        if self._is_sink_open and self._sink != 2:
            self._is_sink_open = False
            with suppress(OSError):
                os.close(self._sink)


class _Signals:
    """Passes signals on to the agent while it runs; what it ignores ends it after a grace."""

    def __init__(self, child: AgentChild) -> None:
        self._child = child
        self._timer: threading.Timer | None = None

    def __enter__(self) -> None:
        for number in FORWARDED:
            signal.signal(number, self._pass_on)

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._child.signal(number)
        # SIGINT may only mean that the running turn shall stop; the others mean the end.
        if number != signal.SIGINT and self._timer is None:
            self._timer = threading.Timer(GRACE, self._child.signal, [signal.SIGKILL])
            self._timer.daemon = True
            self._timer.start()


def warn(text: str) -> None:
    """Say something to the person whose editor shows the agent's stderr."""
    with suppress(OSError):
        os.write(2, f"acp-console proxy: {text}\n".encode(sys.getfilesystemencoding(), "replace"))
