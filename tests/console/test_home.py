"""What the first screen lists for a typed text, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_console.agents.spec import command_agent
from acp_console.home import Entry, Section, shown_entries

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
