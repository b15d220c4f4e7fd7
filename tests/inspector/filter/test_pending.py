"""Whether a request waits for its response does not depend on how much of a file was indexed."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.entries import RecordingEntries
from acp_inspector.filter.frames import EntryFields
from acp_inspector.filter.search import FilterSearch
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.format import Header
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.session.exchanges import Exchanges

REQUEST = b'{"jsonrpc":"2.0","id":%d,"method":"session/prompt"}'
RESULT = b'{"jsonrpc":"2.0","id":%d,"result":{}}'
RESTARTED: list[Entry] = [
    JournalEvent(1, 0.1, "spawn", {"pid": 1}),
    Frame(2, 0.2, "client", REQUEST % 1),
    Frame(3, 0.3, "client", REQUEST % 2),
    Frame(4, 0.4, "agent", RESULT % 2),
    JournalEvent(5, 0.5, "spawn", {"pid": 2}),
    Frame(6, 0.6, "client", REQUEST % 1),
    Frame(7, 0.7, "agent", RESULT % 1),
    Frame(8, 0.8, "agent", REQUEST % 1),
]


@pytest.mark.parametrize("text", ["pending", "not pending", "latency exists", "kind == request"])
def test_filter_over_a_file_equals_the_fold_over_its_frames(text: str, tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    writer = RecordingWriter(path, Header("2026-01-01T00:00:00.000Z", "test", "v1"))
    writer.write(RESTARTED)
    writer.close()
    wanted = compile_filter(text)
    exchanges = Exchanges()
    for entry in RESTARTED:
        if isinstance(entry, Frame):
            exchanges.apply(entry)
        elif isinstance(entry, JournalEvent) and entry.begins_connection:
            exchanges.restart(entry.seq)
    folded = [
        row for row, entry in enumerate(RESTARTED) if wanted.matches(EntryFields(entry, exchanges))
    ]
    for step in (1, 200, 1 << 20, 1 << 20):
        with RecordingEntries(path) as file:
            while file.index_more(step):
                pass
            assert list(FilterSearch(file, wanted).find_all()) == folded
