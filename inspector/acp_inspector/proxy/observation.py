"""Everything about a proxy that looks on: the recording, and the socket for observers.

None of it is needed for the traffic. What cannot be had is told once, and done without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from acp_inspector.proxy.control import Control
from acp_inspector.proxy.log import FileLog, FollowedSink, Growth, Log, MemoryLog, Sink
from acp_inspector.proxy.recorder import Recorder
from acp_inspector.proxy.runtime import RuntimeDirectoryError
from acp_inspector.recording.format import Header, RecordingError, RecordingExistsError
from acp_inspector.recording.origin import header_of_this_run
from acp_inspector.recording.writer import Mode, RecordingWriter
from acp_protocol.errors import describe_os_error

Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What somebody wants to see of a proxy."""

    record: Path | None = None
    mode: Mode = "new"
    name: str | None = None
    """How observers call the proxy; the agent's by default."""
    has_control: bool = True
    """Whether observers may attach."""


class Observation:
    """The recorder of a running proxy, and whoever is attached to it."""

    def __init__(self, recorder: Recorder | None = None, control: Control | None = None) -> None:
        self.recorder = recorder
        self.control = control

    def close(self) -> None:
        """Write what is left, let observers read it, and end."""
        if self.recorder is not None:
            self.recorder.close()
        if self.control is not None:
            self.control.close()


def observe(command: Sequence[str], wishes: Wishes, warn: Warn) -> Observation:
    """Open what was wished for.

    Raises:
        RecordingExistsError: there is a file of that name, and nobody said what to do with it.
    """
    if wishes.record is None and not wishes.has_control:
        return Observation()
    header = header_of_this_run(command, Path.cwd())
    writer = _writer(wishes, header, warn)
    if writer is None and not wishes.has_control:
        return Observation()
    growth = Growth()
    memory = MemoryLog(header)
    sink: Sink = FollowedSink(memory if writer is None else writer, growth)
    path = wishes.record

    def open_log() -> Log:
        return memory if writer is None or path is None else FileLog(path)

    control = _control(command, wishes, header, open_log, growth, warn)
    return Observation(Recorder(sink), control)


def _writer(wishes: Wishes, header: Header, warn: Warn) -> RecordingWriter | None:
    """Return what writes the recording; None when nothing shall be or can be recorded."""
    if wishes.record is None:
        return None
    try:
        return RecordingWriter(wishes.record, header, mode=wishes.mode, warn=warn)
    except RecordingExistsError:
        raise
    except RecordingError as problem:
        # The agent has to work whatever becomes of the recording.
        warn(f"{problem}; the traffic goes on without a recording")
        return None


def _control(
    command: Sequence[str],
    wishes: Wishes,
    header: Header,
    open_log: Callable[[], Log],
    growth: Growth,
    warn: Warn,
) -> Control | None:
    if not wishes.has_control:
        return None
    about = {
        "command": list(command),
        "cwd": header.cwd,
        "created": header.created,
        "recording": None if wishes.record is None else str(wishes.record.absolute()),
    }
    try:
        return Control(wishes.name or PurePath(command[0]).name, about, open_log, growth)
    except (RuntimeDirectoryError, OSError) as problem:
        reason = describe_os_error(problem) if isinstance(problem, OSError) else str(problem)
        warn(f"nobody can attach: {reason}")
        return None
