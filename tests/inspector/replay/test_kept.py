"""What is ignored is not compared, and counted."""

from __future__ import annotations

from acp_inspector.analysis.ignores import Ignore
from acp_inspector.filter.language import compile_filter
from acp_inspector.filter.paths import read_path
from acp_inspector.journal import Frame
from acp_inspector.replay.kept import kept_beats
from tests.inspector.lint.talk import Talk


def frames() -> list[Frame]:
    """Return a turn of text, with an answer at its end."""
    talk = Talk()
    talk.open()
    talk.turn()
    return [entry for entry in talk.entries if isinstance(entry, Frame)]


def test_without_ignores_everything_is_kept() -> None:
    names = [beat.name for beat in kept_beats(frames(), ())]
    assert names == [
        *("answer to initialize", "answer to session/new"),
        *("agent_message_chunk", "answer to session/prompt"),
    ]


def test_frames_that_a_filter_means_are_no_beats_and_answers_know_their_question() -> None:
    text = "update == agent_message_chunk or kind == result and method == session/new"
    ignore = Ignore(text, compile_filter(text))
    names = [beat.name for beat in kept_beats(frames(), [ignore])]
    assert names == ["answer to initialize", "answer to session/prompt"]
    assert ignore.applied == 2


def test_a_place_is_cut_out_of_every_message() -> None:
    ignore = Ignore("$.result.agentInfo", read_path("$.result.agentInfo"))
    first = kept_beats(frames(), [ignore])[0]
    assert "agentInfo" not in first.value["result"]
    assert ignore.applied == 1
