"""Everything about a proxy beside its pumps: the recording, the observers, who interferes.

None of it is needed for the traffic. What cannot be had is told once, and done without; only what
somebody wrote down wrongly (a filter, a rule, an add-on) is refused before the agent is started.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from acp_inspector.proxy.control import Control
from acp_inspector.proxy.deeds import deeds_on
from acp_inspector.proxy.interference import Interference
from acp_inspector.proxy.log import (
    DoubleSink,
    FileLog,
    FollowedSink,
    Growth,
    Log,
    MemoryLog,
    Sink,
)
from acp_inspector.proxy.recorder import Recorder
from acp_inspector.proxy.runtime import RuntimeDirectoryError
from acp_inspector.recording.format import Header, RecordingError, RecordingExistsError
from acp_inspector.recording.names import recording_path
from acp_inspector.recording.origin import header_of_this_run
from acp_inspector.recording.writer import Mode, RecordingWriter
from acp_protocol.errors import AcpError, describe_os_error

if TYPE_CHECKING:
    from acp_inspector.intercept.addons import Addon
    from acp_inspector.intercept.interceptor import Interceptor
    from acp_inspector.intercept.matching import Matching
    from acp_inspector.intercept.passage import Interferer
    from acp_inspector.proxy.child import AgentChild
    from acp_inspector.recording.rotation import RotatingWriter
    from acp_inspector.redaction.sieve import Sieve

Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What somebody wants to see of a proxy."""

    record: str | None = None
    """Where to record: a path, or a pattern for one."""
    mode: Mode = "new"
    redacts: bool = False
    """Whether secrets are taken out of what is recorded and what observers read."""
    rotate_size: int | None = None
    """Bytes after which the next file is begun."""
    rotate_age: float | None = None
    """Seconds after which the next file is begun."""
    name: str | None = None
    """How observers call the proxy; the agent's by default."""
    has_control: bool = True
    """Whether observers may attach."""
    breakpoints: Sequence[str] = ()
    """Filters of frames to be held."""
    hold_limit: float | None = None
    """Seconds that a frame is held at most; a minute, if nobody says."""
    rules: Path | None = None
    addons: Sequence[Path] = ()

    @property
    def rotates(self) -> bool:
        """Whether there may be several files."""
        return self.rotate_size is not None or self.rotate_age is not None

    @property
    def interferes(self) -> bool:
        """Whether frames are to be looked at from the first one on."""
        return bool(self.breakpoints or self.rules or self.addons)


class Observation:
    """The recorder of a running proxy, and whoever is attached to it."""

    def __init__(self) -> None:
        self.recorder: Recorder | None = None
        self.control: Control | None = None
        self.interference: Interference | None = None
        self.writer: RecordingWriter | RotatingWriter | None = None
        self._addons: list[Addon] = []
        self._child: AgentChild | None = None

    def started(self, child: AgentChild) -> None:
        """Hear which agent it is about."""
        self._child = child

    def kill(self, number: int) -> None:
        """Send the agent a signal, because a rule says so."""
        if self._child is not None:
            self._child.signal(number)

    def interfere(self, recorder: Recorder, wishes: Wishes, warn: Warn) -> Interference:
        """Return what will make the interceptor, or has made it if it is wanted at once.

        Raises:
            AcpError: a filter, a rule or an add-on makes no sense.
        """

        def make() -> Interceptor:
            from acp_inspector.intercept.interceptor import HOLD_LIMIT, Interceptor
            from acp_inspector.intercept.matching import Matching

            matching = Matching()
            interferers = [*self._rules(wishes, matching), *self._loaded(wishes, warn)]
            interceptor = Interceptor(
                recorder,
                interferers=interferers,
                kill=self.kill,
                warn=warn,
                hold_limit=wishes.hold_limit or HOLD_LIMIT,
                matching=matching,
            )
            for expression in wishes.breakpoints:
                interceptor.set_breakpoint(expression, is_lasting=True)
            return interceptor

        interference = Interference(make)
        if wishes.interferes:
            interference.get()
        return interference

    def _rules(self, wishes: Wishes, matching: Matching) -> Sequence[Interferer]:
        if wishes.rules is None:
            return ()
        from acp_inspector.intercept.rulebook import load_rules

        return load_rules(wishes.rules, matching.matcher)

    def _loaded(self, wishes: Wishes, warn: Warn) -> Sequence[Interferer]:
        if wishes.addons:
            from acp_inspector.intercept.addons import Addon

            self._addons = [Addon(path, warn) for path in wishes.addons]
        return self._addons

    def withdraw(self) -> None:
        """Leave nothing of a recording in which nothing stands: there is no agent."""
        if self.writer is not None:
            self.writer.withdraw()

    def close(self) -> None:
        """Write what is left, let observers read it, and end."""
        for addon in self._addons:
            addon.close()
        if self.recorder is not None:
            self.recorder.close()
        if self.control is not None:
            self.control.close()


def observe(command: Sequence[str], wishes: Wishes, warn: Warn) -> Observation:
    """Open what was wished for.

    Raises:
        RecordingExistsError: there is a file of that name, and nobody said what to do with it.
        RecordingError: half of the recording would be redacted, or its name makes no sense.
        AcpError: a filter, a rule or an add-on makes no sense.
    """
    observation = Observation()
    is_silent = not (wishes.has_control or wishes.interferes)
    if wishes.record is None and is_silent:
        return observation
    header = header_of_this_run(command, _working_directory())
    path = _path(command, wishes)
    sieve = _sieve(path, wishes)
    if sieve is not None:
        header = sieve.header(header)
    writer = _writer(path, wishes, header, warn)
    if writer is None and is_silent:
        return observation
    observation.writer = writer
    growth = Growth()
    memory = MemoryLog(header)
    if writer is None:
        sink: Sink = memory
    else:
        # Observers of several files read the lines in memory, as where nothing is recorded.
        sink = DoubleSink(writer, memory) if wishes.rotates else writer
    if sieve is not None:
        from acp_inspector.redaction.sieve import RedactedSink

        sink = RedactedSink(sink, sieve, warn)
    recorder = Recorder(FollowedSink(sink, growth), warn=warn)

    def open_log() -> Log:
        if path is None or writer is None or wishes.rotates:
            return memory
        return FileLog(path, writer.has_begun)

    observation.recorder = recorder
    try:
        interference = observation.interfere(recorder, wishes, warn)
    except AcpError:
        observation.withdraw()
        observation.close()
        raise
    observation.interference = interference
    about = {
        "command": header.command,
        "cwd": header.cwd,
        "created": header.created,
        "recording": None if path is None else str(path.absolute()),
    }
    name = wishes.name or PurePath(command[0]).name
    if wishes.has_control:
        observation.control = _control(name, about, open_log, growth, interference, warn)
    return observation


def _path(command: Sequence[str], wishes: Wishes) -> Path | None:
    """Return where to record.

    Raises:
        RecordingError: the pattern makes no sense.
    """
    if wishes.record is None:
        return None
    agent = PurePath(command[0]).name
    return recording_path(
        wishes.record, agent=agent, pid=os.getpid(), at=datetime.now().astimezone()
    )


def _sieve(path: Path | None, wishes: Wishes) -> Sieve | None:
    """Return what takes secrets out of entries, if that is wished for.

    Raises:
        RecordingError: half of the recording would be redacted.
    """
    appended = path if wishes.mode == "append" else None
    if appended is not None:
        from acp_inspector.redaction.mixture import refuse_mixture

        refuse_mixture(appended, redacts=wishes.redacts)
    if not wishes.redacts:
        return None
    from acp_inspector.redaction.sieve import Sieve, next_placeholder

    return Sieve(first=1 if appended is None else next_placeholder(appended))


def _writer(
    path: Path | None, wishes: Wishes, header: Header, warn: Warn
) -> RecordingWriter | RotatingWriter | None:
    """Return what writes the recording; None when nothing shall be or can be recorded."""
    if path is None:
        return None
    try:
        if not wishes.rotates:
            return RecordingWriter(path, header, mode=wishes.mode, warn=warn, waits_for_room=True)
        from acp_inspector.recording.rotation import Limits, RotatingWriter

        limits = Limits(wishes.rotate_size, wishes.rotate_age)
        return RotatingWriter(
            path, header, limits, mode=wishes.mode, warn=warn, waits_for_room=True
        )
    except RecordingExistsError:
        raise
    except RecordingError as problem:
        # The agent has to work whatever becomes of the recording.
        warn(f"{problem}; the traffic goes on without a recording")
        return None


def _control(
    name: str,
    about: Mapping[str, Any],
    open_log: Callable[[], Log],
    growth: Growth,
    interference: Interference,
    warn: Warn,
) -> Control | None:
    try:
        return Control(
            name,
            about,
            open_log,
            growth,
            deeds=deeds_on(interference),
            left=interference.left,
        )
    except (RuntimeDirectoryError, OSError) as problem:
        reason = describe_os_error(problem) if isinstance(problem, OSError) else str(problem)
        warn(f"nobody can attach: {reason}")
        return None


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        # Somebody has deleted it under us: the agent may not mind, so nor do we.
        return Path(os.environ.get("PWD", "/"))
