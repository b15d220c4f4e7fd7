"""What is moved to a temporary file is the same when it comes back."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.filter.entries import EntryList
from acp_inspector.journal import Entries, Entry, Frame, Journal, JournalEvent, StderrChunk
from acp_inspector.session.conversations import Conversations
from acp_inspector.spill import SpillFile
from tests.inspector.talks import answer, frames, prompt, update

BYTES = st.binary(max_size=300)
ENTRIES = st.lists(
    st.builds(
        Frame, st.integers(1, 9), st.floats(0, 9), st.sampled_from(["client", "agent"]), BYTES
    )
    | st.builds(StderrChunk, st.integers(1, 9), st.floats(0, 9), BYTES)
    | st.builds(JournalEvent, st.integers(1, 9), st.floats(0, 9), st.just("spawn")),
    max_size=40,
)


@given(ENTRIES, st.integers(0, 2000), st.integers(1, 2000), st.data())
def test_entries_are_the_same_wherever_they_are_kept(
    said: list[Entry], in_memory: int, block: int, data: st.DataObject
) -> None:
    entries = Entries(said, in_memory=in_memory, block=block)
    assert list(entries) == said
    assert len(entries) == len(said)
    part = data.draw(st.slices(len(said)))
    assert entries[part] == said[part]
    for place in range(-len(said), len(said)):
        assert entries[place] == said[place]
    with pytest.raises(IndexError):
        entries[len(said)]


def test_entries_can_be_read_by_another_thread_while_they_arrive() -> None:
    entries = Entries(in_memory=10_000, block=1_000)
    is_over = threading.Event()
    wrong: list[int] = []

    def read() -> None:
        while not is_over.is_set() or len(entries) < 3_000:
            wrong.extend(n for n, entry in enumerate(entries, 1) if entry.seq != n)
            last = len(entries)
            wrong.extend(entry.seq for entry in entries[last // 2 : last // 2 + 1] if not entry.seq)

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(1, 3_001):
        entries.append(Frame(n, 0.0, "agent", b"{}"))
    is_over.set()
    reader.join()
    assert wrong == []


def test_a_journal_numbers_its_entries_on_when_older_ones_are_in_the_file() -> None:
    journal = Journal(entries=Entries(in_memory=1_000, block=500))
    for n in range(100):
        journal.frame("agent", b"%d" % n)
    assert [entry.seq for entry in journal.entries] == list(range(1, 101))


def test_requests_find_their_responses_when_both_are_in_the_file() -> None:
    answered = answer("agent", 1, {"stopReason": "end_turn"})
    said = frames(prompt(1, "go"), answered, *[update("plan", entries=[])] * 50)
    entries = EntryList(said, in_memory=1_000)
    assert (entries.response_row(0), entries.request_row(1)) == (1, 0)
    assert [entries[row] for row in range(len(said))] == said


def test_two_requests_of_a_batch_with_one_id_both_get_their_responses() -> None:
    talks = Conversations()
    head = {"jsonrpc": "2.0", "id": 1}
    prompted = {**head, "method": "session/prompt", "params": {"sessionId": "s1", "prompt": ""}}
    chosen = {**head, "method": "session/set_mode", "params": {"sessionId": "s1", "modeId": "m"}}
    talks.apply(Frame(1, 0.0, "client", json.dumps([prompted, chosen]).encode()))
    talks.apply(
        Frame(2, 0.0, "agent", b'{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}')
    )
    talks.apply(Frame(3, 0.0, "agent", b'{"jsonrpc":"2.0","id":1,"result":{}}'))
    info = talks.sessions["s1"].info
    assert (info.open_prompts, info.current_mode) == (0, "m")


def test_a_value_that_is_nested_too_deeply_stays_in_memory() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    file = SpillFile()
    assert file.write(deep) is None
    place = file.write("next")
    assert place is not None
    assert file.read(place) == "next"


FULL_DISK = """
import resource, signal
from acp_inspector.journal import Entries, Frame
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
entries = Entries(in_memory=1_000, block=500)
for n in range(1_000):
    entries.append(Frame(n, 0.0, "agent", b"%d" % n))
assert [entry.data for entry in entries] == [b"%d" % n for n in range(1_000)]
print("all there")
"""


def test_without_space_for_the_file_everything_stays_in_memory() -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK], capture_output=True, check=False)
    assert (done.stdout, done.returncode) == (b"all there\n", 0)
