"""The steps of a journal that holds several processes."""

from __future__ import annotations

from acp_inspector.compare.diff import compare
from acp_inspector.journal import Entry, JournalEvent
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt

LOAD = [ask("client", 1, "session/load", sessionId="s1", cwd="/w"), answer("agent", 1, {})]
END = answer("agent", 3, {"stopReason": "end_turn"})


def restarted(first: list[Said], second: list[Said]) -> list[Entry]:
    """Return what was said to two processes, one after the other."""
    before = frames(*first)
    spawn = JournalEvent(len(before) + 1, len(before) / 10, "spawn", {})
    return [*before, spawn, *frames(*first, LOAD[0], *second)[len(before) + 1 :]]


def test_a_turn_does_not_go_on_in_the_next_process() -> None:
    """What comes late there is between two turns, whether the process before was killed or not."""
    whole = [*LOAD, prompt(3, "a"), END]
    killed = [*LOAD, prompt(3, "a")]
    second = [*LOAD, chunk("late"), prompt(3, "b"), END]
    found = compare(restarted(whole, second), restarted(killed, second)).differences
    assert [difference.name for difference in found] == ["response to session/prompt"]
