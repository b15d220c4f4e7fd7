"""What the first screen lists for a typed text, and in which order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from acp_console.agents.spec import DEMO_AGENT, command_agent
from acp_console.home import (
    Entry,
    Section,
    fitted_entries,
    list_rows,
    session_entries,
    shown_entries,
)
from acp_console.kept.session_store import RecordedSessions, StoredSession, Usage

AGENT = command_agent(["x"])


def line(section: Section, title: str, detail: str = "") -> Entry:
    return Entry(section, "●", title, detail, "", AGENT)


LINES = (
    line("Continue", "mend the network", "Demo agent"),
    line("Agents", "patchwork"),
    line("Agents", "workbench"),
    line("Agents", "editor", "an agent for work"),
    line("Live proxies", "work", "my-agent --acp"),
)


def titles(text: str) -> list[str]:
    return [entry.title for entry in shown_entries(LINES, text, Path("/"))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The exact name comes first, then its begin, a part of it, and what only mentions it.
        ("work", ["work", "workbench", "patchwork", "editor", "mend the network"]),
        ("WORK ", ["work", "workbench", "patchwork", "editor", "mend the network"]),
        ("workb", ["workbench"]),
        ("", [entry.title for entry in LINES]),
    ],
)
def test_the_best_match_comes_first_and_sections_stay_whole(text: str, expected: list[str]) -> None:
    assert titles(text) == expected


CATALOGUE = [
    line("Continue", "today"),
    replace(line("Continue", "long ago"), is_minor=True),
    line("Agents", "demo"),
    *(replace(line("Agents", f"known {number}"), is_minor=True) for number in range(5)),
    line("Recordings", "trouble.acp.ndjson"),
]


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (0, ["today", "demo", "trouble.acp.ndjson"]),
        (10, ["today", "demo", "known 0", "known 1", "trouble.acp.ndjson"]),
        (14, [each.title for each in CATALOGUE]),
    ],
)
def test_agents_of_the_catalogue_fill_the_room_and_then_old_sessions(
    rows: int, shown: list[str]
) -> None:
    found = fitted_entries(CATALOGUE, rows)
    assert [entry.title for entry in found] == shown
    assert not rows or list_rows(found) <= rows


def test_rows_of_sessions_with_one_title_differ(tmp_path: Path) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    one = StoredSession(
        id="a",
        session_id="a",
        agent=DEMO_AGENT,
        cwd=tmp_path,
        title="/tour",
        started=now,
        last_used=now - timedelta(hours=2),
        state="closed",
        prompts=1,
        usage=Usage(76_000, 200_000, 0.42, "USD"),
        draft="",
        is_empty=False,
        parent=None,
        recording=tmp_path / "none",
    )
    kept = [one, replace(one, id="b", prompts=14, usage=Usage(), last_used=now)]

    class Kept(RecordedSessions):
        def sessions(self, **_: object) -> list[StoredSession]:
            return kept

    notes = [each.note for each in session_entries(Kept(tmp_path), tmp_path, now)]
    assert notes == ["38 %  $0.42  1 turn  2 h", "14 turns  now"]
