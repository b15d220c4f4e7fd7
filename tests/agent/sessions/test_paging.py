"""Cursors: they lead on, and whatever else stands in their place is refused."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from acp_agent.settings.types import DatabaseUrl
from acp_agent.store.database import SessionQuery, SessionStore, decode_cursor, encode_cursor


@given(st.text() | st.binary().map(lambda content: content.decode("latin-1")))
def test_what_nobody_gave_is_no_cursor(cursor: str) -> None:
    assert decode_cursor(cursor, SessionQuery()) is None


def test_a_cursor_leads_on_in_its_own_list(storage: Path | DatabaseUrl) -> None:
    store = SessionStore(storage)
    records = [store.create(name, "/a b/ä", [], {}) for name in "abc"]
    wanted = SessionQuery(cwd="/a b/ä")
    cursor = encode_cursor(records[1], wanted)
    behind = decode_cursor(cursor, wanted)
    assert behind is not None
    assert [record.id for record in store.page(behind, 10)] == ["a"]
    assert decode_cursor(cursor, SessionQuery()) is None
    assert decode_cursor(cursor, SessionQuery(cwd="/a b/ä", archived="only")) is None
