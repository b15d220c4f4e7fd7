"""One run of the proxy: the agent, its forwarders, and the recording and control beside them.

The traffic needs neither recording nor control. If one cannot be opened, that is reported once, and
the proxy runs without it; only invalid options (a filter, rule or add-on) are refused before the
agent starts.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from acp_inspector.control.server import (
    ControlServer,
    LazyController,
    SocketDirectoryError,
    commands_on,
)
from acp_inspector.control.sinks import (
    ChangeNotifier,
    FileLog,
    LogSource,
    MemoryLog,
    ObservedSink,
    frames_of,
)
from acp_inspector.journal import DIALECT, Frame, Sink
from acp_inspector.proxy.dialect_watch import DialectWatch
from acp_inspector.proxy.forwarder import Forwarder, InterceptingForwarder
from acp_inspector.proxy.process import GRACE_S, AgentProcess, Signals
from acp_inspector.proxy.recorder import Recorder
from acp_inspector.recording.format import Header, RecordingError, RecordingExistsError, new_header
from acp_inspector.recording.lines import MAX_HEADER
from acp_inspector.recording.recovery import open_writer
from acp_inspector.recording.rotation import expand_template
from acp_inspector.recording.spool import Spool
from acp_inspector.recording.writer import RecordingWriter, WriteMode
from acp_protocol.errors import AcpError, describe_os_error
from acp_protocol.framing import Side
from acp_protocol.host.orphan_guard import OrphanGuard
from acp_protocol.host.process_marks import OURS

if TYPE_CHECKING:
    from acp_inspector.intercept.addons import Addon
    from acp_inspector.intercept.controller import InterceptController
    from acp_inspector.intercept.message import Hook, InterceptedFrame
    from acp_inspector.intercept.rules import InterceptRule
    from acp_inspector.recording.rotation import RotatingWriter
    from acp_inspector.redaction.stream import EntryRedactor

Warn = Callable[[str], None]

DRAIN_TIMEOUT_S: Final = 2.0
"""Seconds after which the processes that an agent has left behind are ended too."""
WARNING_TIMEOUT_S: Final = 1.0
"""Seconds that the end waits for warnings to be read."""
SWITCH_INTERVAL_S: Final = 0.000001
"""Seconds for which a thread may keep the interpreter's lock while a forwarder waits for it.

With Python's default of 5 ms a forwarder may wait that long for the recorder's thread.
"""


def run_proxy(
    command: Sequence[str],
    session: ProxySession | None = None,
    *,
    stdio: tuple[int, int] = (0, 1),
    grace: float = GRACE_S,
    drain_timeout: float = DRAIN_TIMEOUT_S,
) -> int:
    """Run `command` with our stdin, stdout and stderr as its own; return the code to exit with.

    The code is the agent's, or 128 + n if signal n has ended it. The caller closes the session.

    Args:
        command: The agent.
        session: Records and intercepts the traffic.
        stdio: The descriptors of the client.
        grace: Seconds that the agent has to end after a signal, or after its client has left.
        drain_timeout: Seconds that processes which the agent has left behind have to end.

    Raises:
        AgentStartError: the command could not be started.
    """
    session = session or ProxySession()
    recorder = session.recorder
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with Signals(grace) as signals:
        process = AgentProcess(command)
        signals.pass_to(process)
        # The agent is starting meanwhile.
        guard = OrphanGuard(round(GRACE_S), round(GRACE_S), OURS)
        guard.watch(process.pid)
        if recorder is not None:
            recorder.event("spawn", pid=process.pid)
            if session.dialect is not None:
                recorder.event(DIALECT, dialect=session.dialect)
        stdin, stdout, stderr = process.take_pipes()
        session.kill = process.signal
        to_agent = session.forwarder("client", stdio[0], stdin)
        to_client = session.forwarder("agent", stdout, stdio[1])
        from_agent = [to_client, Forwarder("stderr", stderr, 2, recorder)]
        for forwarder in (to_agent, *from_agent):
            forwarder.start()
        _watch_client(to_agent, to_client, process, grace)
        code = signals.wait(process)
        if session.controller is not None:
            session.controller.finish()
        limit = time.monotonic() + drain_timeout
        for forwarder in from_agent:
            forwarder.join(max(limit - time.monotonic(), 0))
        # This ends processes that the agent left behind, and so the last writers of the pipes.
        process.end()
        guard.unwatch(process.pid)
        guard.close()
        for forwarder in from_agent:
            _drain(forwarder, signals, drain_timeout)
    if recorder is not None:
        recorder.event("exit", **({"code": code} if code >= 0 else {"signal": -code}))
    return code if code >= 0 else 128 - code


def _drain(forwarder: Forwarder, signals: Signals, timeout: float) -> None:
    """Wait until everything was read, however slowly, unless a signal ends the agent.

    A source that is silent for `timeout` seconds is held open by a process outside the group.
    """
    is_silent = False
    while forwarder.is_alive() and not is_silent and not signals.ends_agent:
        writes = forwarder.writes
        forwarder.join(timeout)
        is_silent = forwarder.writes == writes and not forwarder.is_writing
    forwarder.join(timeout if signals.ends_agent else 0)


def _watch_client(
    to_agent: Forwarder, to_client: Forwarder, process: AgentProcess, grace: float
) -> None:
    """End the agent when its client has left, even if the agent does not notice.

    A client that has only closed the proxy's stdin still waits for responses. A client that no
    longer reads has left if it sends nothing more, or if the agent reads nothing of what it has
    sent. The same holds for a client that sends nothing more to an agent that has closed its
    stdout.
    """

    def watch() -> None:
        reads_nothing = to_client.wait_for_lost_sink()
        while to_agent.is_alive() and not (
            to_agent.is_stuck_for(grace) and (reads_nothing or to_agent.has_lost_source())
        ):
            pass
        if to_agent.is_alive() or not process.ends_within(grace):
            process.end()

    threading.Thread(target=watch, name="client", daemon=True).start()


def warn(text: str) -> None:
    """Write a warning to stderr, which editors show or log."""
    with suppress(OSError):
        os.write(2, f"acp-console proxy: {text}\n".encode(sys.getfilesystemencoding(), "replace"))


class BackgroundWarner:
    """Warns from a thread of its own, because writing to stderr blocks if it is not read."""

    def __init__(self, warn: Warn) -> None:
        self._warn = warn
        self._texts: SimpleQueue[str | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="warnings", daemon=True)
        self._starting = threading.Lock()

    def __call__(self, text: str) -> None:
        self._texts.put(text)
        with self._starting:
            if self._thread.ident is None:
                self._thread.start()

    def close(self) -> None:
        """Wait a moment until all warnings are written."""
        self._texts.put(None)
        if self._thread.ident is not None:
            self._thread.join(WARNING_TIMEOUT_S)

    def _write(self) -> None:
        while (text := self._texts.get()) is not None:
            self._warn(text)


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """The options of `acp-console proxy`."""

    record: str | None = None
    """Where to record: a path, or a pattern for one."""
    mode: WriteMode = "new"
    redacts: bool = False
    """Whether secrets are removed from the recording and from what observers read."""
    rotate_size: int | None = None
    """Bytes after which the next file is begun."""
    rotate_age: float | None = None
    """Seconds after which the next file is begun."""
    name: str | None = None
    """The proxy's name for observers; the agent's by default."""
    has_control: bool = True
    """Whether observers may attach."""
    breakpoints: Sequence[str] = ()
    """Filters of frames to pause."""
    hold_limit: float | None = None
    """Seconds after which a paused frame is released; a minute by default."""
    rules: Path | None = None
    addons: Sequence[Path] = ()
    dialect: str | None = None
    """That of the traffic, if it was chosen."""

    @property
    def rotates(self) -> bool:
        """Whether there may be several files."""
        return self.rotate_size is not None or self.rotate_age is not None

    @property
    def intercepts(self) -> bool:
        """Whether frames are intercepted from the first one on."""
        return bool(self.breakpoints or self.rules or self.addons)


class ProxySession:
    """The recorder, controller and control socket of a running proxy; each is optional."""

    def __init__(self, warn: Warn = warn, *, is_remote: bool = False) -> None:
        self.recorder: Recorder | None = None
        self.controller: LazyController | None = None
        self.kill: Callable[[int], None] = lambda signal: None
        """Sends a signal to the agent."""
        self.dropped: Callable[[InterceptedFrame], None] = lambda frame: None
        """Called with a frame that is not sent; must not wait."""
        self.writer: RecordingWriter | RotatingWriter | None = None
        self.control: ControlServer | None = None
        self.warn = BackgroundWarner(warn)
        self.dialect: str | None = None
        """That of the traffic, if it was chosen."""
        self.is_remote = is_remote
        self.rules: Sequence[InterceptRule] = ()
        self._addons: Sequence[Addon] = ()

    def forwarder(self, side: Side, source: int, sink: int) -> Forwarder:
        if self.recorder is None or self.controller is None:
            return Forwarder(side, source, sink, self.recorder)
        forwarder = InterceptingForwarder(side, source, sink, self.recorder)
        self.controller.connect(side, forwarder.open_channel)
        return forwarder

    def create_controller(
        self,
        recorder: Recorder,
        options: ProxyOptions,
        earlier: Callable[[], Iterable[Frame]] = tuple,
    ) -> InterceptController:
        """Load rules and add-ons, and set the breakpoints.

        Args:
            recorder: Records interventions.
            options: Those of the command.
            earlier: Returns the frames so far.

        Raises:
            AcpError: a filter, a rule or an add-on is invalid.
        """
        from acp_inspector.intercept.controller import HOLD_TIMEOUT_S, InterceptController
        from acp_inspector.intercept.live_filter import LiveFilters

        filters = LiveFilters(options.dialect, earlier)
        hooks: list[Hook] = []
        if options.rules is not None:
            from acp_inspector.intercept.rules import load_rules

            self.rules = load_rules(options.rules, filters.compile, is_http=self.is_remote)
            hooks += self.rules
        if options.addons:
            from acp_inspector.intercept.addons import Addon

            self._addons = [Addon(path, self.warn) for path in options.addons]
            hooks += self._addons
        controller = InterceptController(
            recorder,
            hooks=hooks,
            kill=self._kill,
            dropped=self._drop,
            warn=self.warn,
            hold_timeout=options.hold_limit or HOLD_TIMEOUT_S,
            filters=filters,
        )
        for expression in options.breakpoints:
            controller.set_breakpoint(expression, is_lasting=True)
        return controller

    def _kill(self, number: int) -> None:
        self.kill(number)

    def _drop(self, frame: InterceptedFrame) -> None:
        self.dropped(frame)

    def withdraw_recording(self) -> None:
        """Remove a recording that is empty because no agent was started."""
        if self.writer is not None:
            self.writer.discard_if_empty()

    def close(self) -> None:
        """Write the remaining entries, give observers a moment to read them, and end."""
        for addon in self._addons:
            addon.close()
        if self.recorder is not None:
            self.recorder.close()
        if self.control is not None:
            self.control.close()
        self.warn.close()


@dataclass(frozen=True, slots=True)
class Remote:
    """A connection over the network."""

    transport: str
    """The transport that the header of a recording names."""
    agent: str
    """A short name of the agent."""
    number: int
    """The number of the connection in this run of the proxy, from 1."""


def open_session(
    command: Sequence[str],
    options: ProxyOptions,
    warn: Warn = warn,
    *,
    remote: Remote | None = None,
) -> ProxySession:
    """Open recording and control socket.

    `command` is that of the agent, or its URL if it is `remote`.

    Raises:
        RecordingExistsError: the file exists, and the options neither append nor overwrite.
        RecordingError: only a part of the recording would be redacted, or its name is invalid.
        AcpError: a filter, a rule or an add-on is invalid.
    """
    session = ProxySession(warn, is_remote=remote is not None)
    is_plain = not (options.has_control or options.intercepts)
    if options.record is None and is_plain:
        return session
    transport = "stdio" if remote is None else remote.transport
    header = new_header(command, _working_directory(), dialect=options.dialect, transport=transport)
    path = _path(command, options, remote)
    redactor = _redactor(path, options)
    if redactor is not None:
        header = redactor.header(header)
    writer = _writer(path, options, header, session.warn)
    if writer is None and is_plain:
        return session
    session.writer = writer
    notifier = ChangeNotifier()
    memory = MemoryLog(header)
    # Observers read the file, or the lines in memory if there is none or are several.
    reads_memory = writer is None or options.rotates
    sinks: list[Sink] = [writer] if writer is not None else []
    sink: Sink = ObservedSink([*sinks, memory] if reads_memory else sinks, notifier)
    if redactor is not None:
        from acp_inspector.redaction.stream import RedactingSink

        sink = RedactingSink(sink, redactor, session.warn)
    spool = _spool(path, writer, session.warn) if redactor is None else None
    watch = DialectWatch() if options.dialect is None else None
    recorder = Recorder(sink, warn=session.warn, spool=spool, dialects=watch)
    session.dialect = options.dialect
    file = None if reads_memory or writer is None else path
    log = _Log(file, writer, memory, begin=_size_of(file) if options.mode == "append" else 0)
    session.recorder = recorder
    controller = LazyController(lambda: session.create_controller(recorder, options, log.frames))
    if options.intercepts:
        try:
            controller.get()
        except AcpError:
            session.withdraw_recording()
            session.close()
            raise
    session.controller = controller
    about = {
        "command": header.command,
        "cwd": header.cwd,
        "created": header.created,
        "recording": None if path is None else str(path.absolute()),
    }
    if options.has_control:
        name = options.name or _agent_name(command, remote)
        if remote is not None and remote.number > 1:
            name = f"{name}-{remote.number}"
        session.control = _control(name, about, log.open, notifier, controller, session.warn)
    return session


@dataclass(frozen=True, slots=True)
class _Log:
    """What observers read: the recording, or the lines in memory."""

    file: Path | None
    """The recording; None if they read the memory."""
    writer: RecordingWriter | RotatingWriter | None
    memory: MemoryLog
    begin: int
    """Where this connection begins; what was there before is not of it."""

    def open(self) -> LogSource:
        """Open the log.

        Raises:
            OSError: the recording cannot be read.
        """
        if self.file is None or self.writer is None:
            return self.memory
        return FileLog(self.file, self.writer.has_begun)

    def frames(self) -> Iterator[Frame]:
        """Yield the frames of this connection, as far as they can be read."""
        with suppress(OSError):
            log = self.open()
            try:
                yield from frames_of(log, self.begin)
            finally:
                if isinstance(log, FileLog):
                    log.close()


def _size_of(path: Path | None) -> int:
    return path.stat().st_size if path is not None and path.is_file() else 0


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        # The directory was deleted; the agent may still work, so continue.
        return Path(os.environ.get("PWD", "/"))


def _agent_name(command: Sequence[str], remote: Remote | None) -> str:
    return PurePath(command[0]).name if remote is None else remote.agent


def _path(command: Sequence[str], options: ProxyOptions, remote: Remote | None) -> Path | None:
    """Return where to record.

    Raises:
        RecordingError: the pattern is invalid.
    """
    if options.record is None:
        return None
    return expand_template(
        options.record,
        agent=_agent_name(command, remote),
        pid=os.getpid(),
        at=datetime.now().astimezone(),
        connection=None if remote is None else remote.number,
    )


def _redactor(path: Path | None, options: ProxyOptions) -> EntryRedactor | None:
    """Return the redactor for entries; None if nothing is redacted.

    Raises:
        RecordingError: only a part of the recording would be redacted.
    """
    appended = path if options.mode == "append" else None
    if appended is not None:
        from acp_inspector.redaction.files import check_append

        check_append(appended, redacts=options.redacts)
    if not options.redacts:
        return None
    from acp_inspector.redaction.stream import EntryRedactor, next_placeholder

    return EntryRedactor(first=1 if appended is None else next_placeholder(appended))


def _writer(
    path: Path | None, options: ProxyOptions, header: Header, warn: Warn
) -> RecordingWriter | RotatingWriter | None:
    """Return the writer of the recording; None if nothing is recorded or it cannot be opened."""
    if path is None:
        return None
    try:
        if not options.rotates:
            return open_writer(path, header, mode=options.mode, warn=warn, retry_when_full=True)
        from acp_inspector.recording.rotation import RotatingWriter, RotationLimits

        limits = RotationLimits(options.rotate_size, options.rotate_age)
        return RotatingWriter(
            path, header, limits, mode=options.mode, warn=warn, retry_when_full=True
        )
    except RecordingExistsError:
        raise
    except RecordingError as problem:
        # The agent has to work with or without a recording.
        warn(f"{problem}; the traffic goes on without a recording")
        return None


def _spool(
    path: Path | None, writer: RecordingWriter | RotatingWriter | None, warn: Warn
) -> Spool | None:
    """Return a spool beside a recording that is a file; None if it cannot be made."""
    if path is None or writer is None or not path.is_file():
        return None
    last_number = writer.first_number - 1
    try:
        with path.open("rb") as file:
            # Of a rotated recording, the first part may not be the one that is written.
            first = file.readline(MAX_HEADER) if writer.has_begun() else writer.first_line
        return Spool(path, first, last_number, has_begun=writer.has_begun, warn=warn)
    except OSError as problem:
        warn(
            f"there is no spool beside {path} ({describe_os_error(problem)}): if the proxy is "
            "killed, the last frames may be missing from the recording"
        )
        return None


def _control(
    name: str,
    about: Mapping[str, Any],
    open_log: Callable[[], LogSource],
    notifier: ChangeNotifier,
    controller: LazyController,
    warn: Warn,
) -> ControlServer | None:
    try:
        return ControlServer(
            name,
            about,
            open_log,
            notifier,
            commands=commands_on(controller),
            observers_left=controller.observers_left,
            count_held=controller.count_held,
        )
    except (SocketDirectoryError, OSError) as problem:
        reason = describe_os_error(problem) if isinstance(problem, OSError) else str(problem)
        warn(f"control socket unavailable: {reason}")
        return None
