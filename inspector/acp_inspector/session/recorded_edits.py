"""The edits of a recording, found before its frames are read."""

from __future__ import annotations

from pathlib import Path

from acp_inspector.journal import JournalEvent
from acp_inspector.recording.format import decode_line
from acp_inspector.recording.scan import RecordingScan
from acp_inspector.session.edits import EDIT_EVENTS, Edits


def read_edits(path: Path) -> Edits:
    """Return the edits of the recording at `path`, whose bad lines are passed over.

    There are none in what is no regular file: it can be read only once.

    Raises:
        RecordingError: it cannot be read.
    """
    found = Edits()
    if not path.is_file():
        return found
    with RecordingScan(path, lambda bad_line: None) as recording:
        for block in recording.blocks():
            places = {
                at for name in EDIT_EVENTS for at in block.lines_with(b'"%b"' % name.encode())
            }
            for at in sorted(places):
                event = decode_line(block.line_at(at))
                if isinstance(event, JournalEvent):
                    found.note(event)
    return found
