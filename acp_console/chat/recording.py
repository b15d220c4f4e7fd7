"""Record a chat to a file."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from acp_console.agents.login_redaction import login_redaction
from acp_console.agents.spec import AgentSpec
from acp_console.chat.permissions import PermissionPrompt
from acp_inspector.journal import Entry, Journal
from acp_inspector.recording.format import RecordingError, new_header
from acp_inspector.recording.recovery import open_writer
from acp_inspector.recording.writer import WriteMode
from acp_protocol.errors import describe_os_error


@contextmanager
def record_journal(
    journal: Journal,
    agent: AgentSpec,
    cwd: Path,
    path: Path | None,
    *,
    mode: WriteMode = "new",
    warn: Callable[[str], None],
) -> Generator[int]:
    """Record the new entries of `journal` to `path` while the block runs; no path: do nothing.

    Missing directories of the path are created. Yield what the recording adds to the numbers of
    the journal.

    A recording without an entry is removed at the end: an agent that could not be started leaves
    its file name free for the next try. `warn` gets one sentence when writing fails.

    Raises:
        RecordingError: the file exists already or cannot be written.
    """
    if path is None:
        yield 0
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        reason = describe_os_error(problem)
        raise RecordingError(f"cannot record to {path}: {reason}") from None
    header = new_header(agent.command, cwd, transport=agent.transport, dialect=agent.dialect)
    keeping = login_redaction(agent, path, warn)
    writer = open_writer(path, keeping.header(header), mode=mode, warn=warn)
    sink = keeping.sink(writer)

    def write(entry: Entry) -> None:
        number, time = entry.seq + writer.first_number - 1, entry.time + writer.time_offset
        sink.write([replace(entry, seq=number, time=time)])

    unsubscribe = journal.subscribe(write)
    try:
        yield writer.first_number - 1
    finally:
        unsubscribe()
        writer.discard_if_empty()
        writer.close()


def report_decision(journal: Journal, request: PermissionPrompt, option_id: str) -> None:
    """Add what the user decided about a permission to the journal, before the response."""
    option = next((each for each in request.options if each.id == option_id), None)
    journal.event(
        "decision",
        session=request.session_id,
        request=request.request_id,
        title=request.title,
        option=option_id,
        option_name=option.name if option else "",
        kind=option.kind if option else "",
    )
