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
from acp_inspector.session.history import ItemCache
from acp_inspector.session.items import TerminalItem, ToolCallItem
from acp_inspector.spill import SpillFile
from acp_inspector.views.to_json import session_to_json
from tests.inspector.session.traffic import talks
from tests.inspector.talks import Said, answer, ask, frames, prompt, update

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


@given(talks(), st.integers(0, 27))
def test_a_conversation_is_the_same_with_its_items_in_a_file(talk: list[Said], n: int) -> None:
    whole = Conversations()
    packed = Conversations(cache=ItemCache(in_memory=0))
    for frame in frames(*talk):
        changes = [(each.session_id, each.is_new) for each in whole.apply(frame)]
        assert [(each.session_id, each.is_new) for each in packed.apply(frame)] == changes
    for moment in (n, len(talk)):
        for session_id, snapshot in whole.at(moment).items():
            other = packed.at(moment)[session_id]
            assert session_to_json(other) == session_to_json(snapshot)
            assert [item.last for item in other.items] == [item.last for item in snapshot.items]
    for session_id, talk_now in whole.sessions.items():
        calls = [call.key for call in talk_now.open_calls()]
        assert [call.key for call in packed.sessions[session_id].open_calls()] == calls


def test_an_item_in_the_file_takes_further_updates() -> None:
    talks = Conversations(cache=ItemCache(in_memory=0))
    before = update("tool_call", toolCallId="a", title="Read", rawInput={"path": "x"})
    other = update("tool_call", toolCallId="b", title="Write")
    after = update("tool_call_update", toolCallId="a", status="completed")
    for frame in frames(before, other, after, other, other):
        talks.apply(frame)
    call = talks.sessions["s1"].items[0]
    assert isinstance(call, ToolCallItem)
    assert (call.facts.title, call.facts.status) == ("Read", "completed")
    assert call.facts.raw_input == {"path": "x"}


def test_an_open_permission_request_stays_the_one_that_is_answered() -> None:
    talks = Conversations(cache=ItemCache(in_memory=0))
    called = {"toolCallId": "a", "title": "Run"}
    asked, *others = frames(
        ask("agent", 1, "session/request_permission", sessionId="s1", toolCall=called, options=[]),
        *[update("tool_call", toolCallId=f"c{n}", title="Read") for n in range(5)],
    )
    talks.apply(asked)
    call = talks.sessions["s1"].items[0]
    assert isinstance(call, ToolCallItem)
    permission = call.permission
    for frame in others:
        talks.apply(frame)
    assert call.permission is permission


def test_a_call_that_changes_twice_in_a_frame_has_its_last_state() -> None:
    talks = Conversations(cache=ItemCache(in_memory=0))

    def changed(key: str, **fields: str) -> dict[str, object]:
        told = {"sessionUpdate": "tool_call_update", "toolCallId": key, **fields}
        params = {"sessionId": "s1", "update": told}
        return {"jsonrpc": "2.0", "method": "session/update", "params": params}

    batch = [changed("a", status="in_progress"), changed("b"), changed("a", status="completed")]
    others = [changed("b", title="B"), changed("c", title="C"), changed("b", title="B2")]
    for n, said in enumerate([changed("a", title="A"), changed("b"), batch, *others], 1):
        talks.apply(Frame(n, 0.0, "agent", json.dumps(said).encode()))
    call = talks.sessions["s1"].items[0]
    assert isinstance(call, ToolCallItem)
    assert call.facts.status == "completed"


def test_output_that_comes_after_a_command_has_ended_is_kept() -> None:
    cache = ItemCache(in_memory=0)
    terminal, other = TerminalItem("t"), TerminalItem("u")
    terminal.change(1, is_over=True)
    terminal.live = "early"
    cache.note(terminal, 10)
    cache.note(other, 10)
    terminal.live = "early and late"
    assert (terminal.facts.is_over, terminal.live) == (True, "early and late")


def test_items_that_change_in_turn_and_do_not_fit_do_not_fill_the_disk() -> None:
    file = SpillFile()
    talks = Conversations(cache=ItemCache(file, in_memory=20_000))
    content = [{"type": "content", "content": {"type": "text", "text": "x" * 1_000}}]
    said = [update("tool_call_update", toolCallId=key, content=content) for key in "ab"] * 200
    size = 0
    for frame in frames(*said):
        size += len(frame.data)
        talks.apply(frame)
    place = file.write("the end")
    assert place is not None
    assert place[0] < 6 * size


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
