"""Questions and answers by rows: the same pairs as those that are found by reading everything."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.analysis.exchanges import Exchange, Exchanges
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording import index as index_module
from acp_inspector.recording import pairing as module
from acp_inspector.recording.file import RecordingFile
from acp_inspector.recording.format import Header, encode_entry, encode_header
from acp_inspector.recording.index import Index
from acp_inspector.recording.outlines import outline

SPELLINGS: Final[tuple[Callable[[dict[str, Any]], str], ...]] = (
    lambda members: json.dumps(members, separators=(",", ":"), ensure_ascii=False),
    json.dumps,
    lambda members: json.dumps(dict(reversed(members.items()))),
    lambda members: "\ufeff" + json.dumps(members),
)
IDS: Final[tuple[Any, ...]] = (1, 2, "1", 'a"é', "", None, -3)
TOLD: Final[tuple[dict[str, Any], ...]] = (
    {"method": "session/prompt", "params": {}},
    {"result": {"id": 1}},
    {"error": {"code": 1, "message": '"id"'}},
)
NOTICE: Final[dict[str, Any]] = {"method": "session/update", "params": {"id": 1}}
MESSAGES: Final = [{"jsonrpc": "2.0", "id": id_} | told for id_ in IDS for told in TOLD]
RAWS: Final = [
    spell(members).encode()
    for members in (*MESSAGES, {"jsonrpc": "2.0"} | NOTICE)
    for spell in SPELLINGS
]
frames = st.tuples(st.sampled_from(["client", "agent"]), st.sampled_from(RAWS))


@given(st.lists(frames | st.none(), max_size=40))
def test_pairs_are_those_of_the_exchanges(said: list[tuple[Any, bytes] | None]) -> None:
    """Frames, and between them other processes."""
    entries: list[Entry] = [
        JournalEvent(row, row / 10, "spawn", {"pid": row})
        if told is None
        else Frame(row, row / 10, *told)
        for row, told in enumerate(said, start=1)
    ]
    exchanges = Exchanges()
    for entry in entries:
        if isinstance(entry, Frame):
            exchanges.apply(entry)
        else:
            exchanges.restart(entry.n)
    with pytest.MonkeyPatch.context() as patch, closing(Index()) as index:
        patch.setattr(index_module, "ROWS", 8)
        for first in range(0, len(entries), 3):
            block = b"".join(map(encode_entry, entries[first : first + 3]))
            index.add(outline(block, 0, index.methods))
        for row, entry in enumerate(entries):
            exchange = exchanges.of(entry) if isinstance(entry, Frame) else None
            question, answer = _pair_of(exchange)
            assert index.question_of(row) == (question if answer == row else None)
            assert index.answer_of(row) == (answer if question == row else None)
            assert index.pairing.is_open(row) == (question == row and answer is None)


def _pair_of(exchange: Exchange | None) -> tuple[int | None, int | None]:
    if exchange is None:
        return None, None
    return exchange.question.n - 1, exchange.answer.n - 1 if exchange.answer else None


def test_a_kept_index_knows_what_still_waits_for_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    ask = Frame(1, 0.0, "client", b'{"jsonrpc":"2.0","id":"x","method":"a"}')
    answer = Frame(2, 1.0, "agent", b'{"jsonrpc":"2.0","id":"x","result":{}}')
    path.write_bytes(encode_header(Header("", "", "")) + encode_entry(ask))
    RecordingFile(path, keeps_index=True).complete().close()
    with path.open("ab") as file:
        file.write(encode_entry(answer))
    with RecordingFile(path) as recording:
        assert (len(recording), recording.index.pairing.is_open(0)) == (1, True)
        recording.complete()
        assert (recording.question_of(1), recording.answer_of(0)) == (0, 1)


def test_only_so_many_questions_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OPEN", 2)
    pairing = module.Pairing()
    asked = [module.Envelope(row, "client", b"%d" % row, is_answer=False) for row in range(3)]
    assert list(pairing.take(0, 3, asked)) == [module.ASKS] * 3
    told = [module.Envelope(row, "agent", b"%d" % row, is_answer=True) for row in range(3)]
    assert list(pairing.take(3, 3, told)) == [0, 2, 3]
