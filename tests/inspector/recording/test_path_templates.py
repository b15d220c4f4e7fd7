"""Names for recordings, by the date, the agent and the process."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.recording.format import RecordingError, part_path
from acp_inspector.recording.rotation import MAX_AGENT_NAME, expand_template

AT = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)


def named(pattern: str, agent: str = "my-agent") -> str:
    return str(expand_template(pattern, agent=agent, pid=42, at=AT))


def test_date_agent_and_process_are_filled_in() -> None:
    assert named("/r/%Y-%m-%d/{agent}-{pid}.acp.ndjson") == "/r/2026-01-02/my-agent-42.acp.ndjson"


def test_doubled_characters_are_escapes() -> None:
    assert named("%%Y{{agent}}") == "%Y{agent}"


@pytest.mark.parametrize(
    ("agent", "name"),
    [("/opt/bin/agent", "agent"), ("Größe 7", "Gr-e-7"), ("..", "agent"), ("%Y{pid}", "Y-pid")],
)
def test_an_agent_cannot_choose_another_folder(agent: str, name: str) -> None:
    assert named("{agent}", agent) == name


@given(st.text())
def test_any_agent_gives_one_plain_name(agent: str) -> None:
    name = named("{agent}", agent)
    assert "/" not in name
    assert name.strip(".")
    assert len(name) <= MAX_AGENT_NAME


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("%Q", "%Q is not a date directive"),
        ("%D", "%D is not a date directive"),
        ("100%", "% is not a date directive"),
        ("{user}", "{user} is neither {agent} nor {pid}"),
        ("{agent", "unmatched {"),
        ("}", "unmatched }"),
        ("", "it is empty or contains a NUL character"),
        ("a\0", "it is empty or contains a NUL character"),
    ],
)
def test_an_invalid_template_is_explained_in_one_sentence(pattern: str, reason: str) -> None:
    with pytest.raises(RecordingError) as caught:
        named(pattern)
    assert str(caught.value) == f"cannot name a recording by {pattern!r}: {reason}"


@given(st.text(alphabet="%{}aYQ/ \0.", max_size=12))
def test_any_pattern_is_a_path_or_a_sentence(pattern: str) -> None:
    with suppress(RecordingError):
        named(pattern)


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("r/a.acp.ndjson", "r/a.2.acp.ndjson"),
        ("a.b.log", "a.b.2.log"),
        ("plain", "plain.2"),
    ],
)
def test_the_part_number_is_before_the_suffix(path: str, part: str) -> None:
    assert part_path(Path(path), 2) == Path(part)
    assert part_path(Path(path), 1) == Path(path)
