"""Drops are reported in few events, whose sums are right."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.recording.numbering import DropCounter, Stream

streams: st.SearchStrategy[Stream | None] = st.sampled_from(["client", "agent", "stderr", None])


@given(st.lists(st.tuples(streams, st.integers(0, 9), st.integers(0, 1))))
def test_a_run_is_one_event_for_each_stream_in_the_order_of_their_numbers(
    missing: list[tuple[Stream | None, int, int]],
) -> None:
    drops = DropCounter()
    sizes: Counter[object] = Counter()
    counts: Counter[object] = Counter()
    for n, (stream, size, count) in enumerate(missing, start=1):
        drops.add(n, n / 10, stream, "why", size=size, count=count)
        sizes[stream] += size
        counts[stream] += count
    assert bool(drops) is bool(missing)
    events = drops.take()
    assert not drops
    assert len(events) == len({stream for stream, _, _ in missing})
    assert [event.seq for event in events] == sorted(event.seq for event in events)
    assert [event.time for event in events] == [event.seq / 10 for event in events]
    for event in events:
        assert (event.name, event.data["why"]) == ("dropped", "why")
        stream = event.data.get("from")
        assert event.data.get("bytes", 0) == sizes[stream]
        assert event.data.get("count", 0) == counts[stream]
        assert missing[event.seq - 1][0] == stream


def test_drops_are_counted_by_reason() -> None:
    drops = DropCounter()
    drops.add(1, 0.0, "agent", "this", size=5)
    drops.add(2, 0.0, "agent", "that", count=1)
    assert [event.data for event in drops.take()] == [
        {"bytes": 5, "from": "agent", "why": "this"},
        {"count": 1, "from": "agent", "why": "that"},
    ]
