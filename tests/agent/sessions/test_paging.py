"""Cursors: they lead on, and whatever else stands in their place is refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_agent.sessions.store import Store, Wanted, continued, cursor_behind


@given(st.text() | st.binary().map(lambda content: content.decode("latin-1")))
def test_what_nobody_gave_is_no_cursor(cursor: str) -> None:
    assert continued(cursor, Wanted()) is None


def test_a_cursor_leads_on_in_its_own_list() -> None:
    store = Store()
    records = [store.create(name, "/a b/ä", [], {}) for name in "abc"]
    wanted = Wanted(cwd="/a b/ä")
    cursor = cursor_behind(records[1], wanted)
    behind = continued(cursor, wanted)
    assert behind is not None
    assert [record.id for record in store.page(behind, 10)] == ["a"]
    assert continued(cursor, Wanted()) is None
    assert continued(cursor, Wanted(cwd="/a b/ä", archived="only")) is None
