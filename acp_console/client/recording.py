"""Record a chat to a file."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from acp_console.client.agents import AgentSpec
from acp_inspector.journal import Journal
from acp_inspector.recording.format import new_header
from acp_inspector.recording.writer import RecordingWriter


@contextmanager
def record_journal(
    journal: Journal,
    agent: AgentSpec,
    cwd: Path,
    path: Path | None,
    *,
    warn: Callable[[str], None],
) -> Generator[None]:
    """Record the new entries of `journal` to `path` while the block runs; no path: do nothing.

    A recording without an entry is removed at the end: an agent that could not be started leaves
    its file name free for the next try. `warn` gets one sentence when writing fails.

    Raises:
        RecordingError: the file exists already or cannot be written.
    """
    if path is None:
        yield
        return
    writer = RecordingWriter(path, new_header(agent.command, cwd), warn=warn)
    unsubscribe = journal.subscribe(lambda entry: writer.write([entry]))
    try:
        yield
    finally:
        unsubscribe()
        writer.discard_if_empty()
        writer.close()
