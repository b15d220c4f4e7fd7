"""The sources of traffic for the watch screen: a running proxy, or a recording.

A recording is read in place. A thread reads from a proxy into a queue, which the screen empties at
its own pace; while the queue is full, only the thread waits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from queue import Empty, Queue
from typing import Final, Protocol

from acp_console.listeners import Listeners
from acp_console.traffic.marks import NotesFile
from acp_inspector.control.client import AttachError, ProxyClient, RunningProxy
from acp_inspector.filter.entries import RecordingEntries
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Footer, Header, RecordingLine
from acp_protocol.errors import AcpError

MAX_QUEUED: Final = 10_000
"""Most entries in the queue."""


class TrafficSource(Protocol):
    """The traffic of a running proxy or of a recording."""

    @property
    def title(self) -> str: ...

    @property
    def is_live(self) -> bool: ...

    @property
    def dialect(self) -> str | None:
        """The dialect that the user has chosen."""
        ...

    @property
    def notes(self) -> NotesFile:
        """Where its marks are kept."""
        ...


class ProxySource:
    """A running proxy to attach to."""

    is_live = True

    def __init__(self, proxy: RunningProxy, dialect: str | None = None) -> None:
        """Attach to `proxy`; without `dialect` it is recognised."""
        self.proxy = proxy
        self.dialect = dialect
        self.title = f"{proxy.name} ({proxy.pid})"
        # Process numbers are used again, times are not.
        apart = sha256(f"{proxy.path} {proxy.pid} {proxy.created}".encode()).hexdigest()[:16]
        self.notes = NotesFile(None, apart=f"proxy-{apart}")
        self._attachment: ProxyClient | None = None

    def recording(self) -> RecordingEntries | None:
        """Return the proxy's recording if it is readable here; the caller closes it."""
        if self.proxy.recording is None:
            return None
        try:
            recording = RecordingEntries(Path(self.proxy.recording), self.dialect)
        except AcpError:
            return None
        if "series" in recording.header.meta:
            # Rotation will continue in another file; the control socket yields all entries.
            recording.close()
            return None
        self.notes = NotesFile(recording.path)
        return recording

    def lines(self) -> Iterator[RecordingLine]:
        """Yield the entries so far, then new ones as they are recorded."""
        try:
            self._attachment = ProxyClient(self.proxy.path)
        except OSError:
            raise AcpError(f"the proxy {self.title} is gone") from None
        yield from self._attachment.watch()

    def close(self) -> None:
        if self._attachment is not None:
            self._attachment.close()


class FileSource:
    """A recording on disk, possibly still being written."""

    is_live = False

    def __init__(self, path: Path, dialect: str | None = None) -> None:
        """Show the recording at `path`; without `dialect` it is named there, or recognised."""
        self.path = path
        self.dialect = dialect
        self.title = path.name
        self.notes = NotesFile(path)

    def open(self) -> RecordingEntries:
        """Return the recording; the caller closes it.

        Raises:
            RecordingError: it cannot be read, or is not a recording.
        """
        return RecordingEntries(self.path, self.dialect)


class ProxyWatcher:
    """A thread that waits for the end of a proxy."""

    header: Header | None = None
    unreadable = 0
    problem: AcpError | None = None

    def __init__(self, source: ProxySource) -> None:
        self._path = source.proxy.path
        self._attachment: ProxyClient | None = None
        self._is_closed = False
        self.news = Listeners()
        """Called by the thread."""
        self.is_over = False
        """The proxy is gone; its entries may still be unread."""

    def start(self) -> None:
        threading.Thread(target=self._run, name="presence", daemon=True).start()

    def take(self, most: int) -> list[Entry]:
        """Return nothing: the entries are read from the file."""
        del most
        return []

    def close(self) -> None:
        self._is_closed = True
        if self._attachment is not None:
            self._attachment.close()

    def _run(self) -> None:
        with suppress(OSError, AttachError), ProxyClient(self._path) as self._attachment:
            self._attachment.hello()
            if not self._is_closed:
                self._attachment.wait_closed()
        self.is_over = True
        self.news()


class ProxyReader:
    """A thread that reads entries from a proxy."""

    def __init__(self, source: ProxySource) -> None:
        self._source = source
        self._read: Queue[Entry] = Queue(MAX_QUEUED)
        self._is_closed = False
        self.news = Listeners()
        """Called by the thread."""
        self.header: Header | None = None
        self.unreadable = 0
        """Number of lines that could not be parsed."""
        self.problem: AcpError | None = None
        """Why reading failed, if it did."""
        self.is_over = False
        """Whether the proxy has ended; entries may still wait for `take`."""

    def start(self) -> None:
        threading.Thread(target=self._run, name="reading", daemon=True).start()

    def take(self, most: int) -> list[Entry]:
        """Return the next entries, at most `most`; empty if none has arrived."""
        taken: list[Entry] = []
        with suppress(Empty):
            while len(taken) < most:
                taken.append(self._read.get_nowait())
        return taken

    def close(self) -> None:
        self._is_closed = True
        # The thread may be waiting for space in the queue.
        self.take(MAX_QUEUED)
        self._source.close()

    def _run(self) -> None:
        try:
            for line in self._source.lines():
                match line:
                    case Header():
                        self.header = line
                    case Frame() | StderrChunk() | JournalEvent():
                        self._read.put(line)
                    case Footer():
                        pass
                    case _:
                        self.unreadable += 1
                self.news()
                if self._is_closed:
                    return
        except AcpError as problem:
            self.problem = problem
        finally:
            self.is_over = True
            self.news()
