"""The reports about judged agents are complete, agree with each other, and name no machine."""

from __future__ import annotations

import re
from typing import Any

import pytest

from acp_inspector.conformance.agent.judge import agent_suite
from acp_inspector.conformance.model import VERDICTS
from tools.make_reports import FOLDER, Agent, Judged, differences, load, report, settled, table

AGENTS = load().agents
INDEX = (FOLDER / "index.md").read_text()


def counts(text: str) -> list[int]:
    return [int(each) for each in re.findall(r"\| (\d+)(?= \|)", text)]


@pytest.mark.parametrize("name", AGENTS)
def test_page_has_each_failure_checked_and_the_counts_of_the_index(name: str) -> None:
    page = (FOLDER / f"{name}.md").read_text()
    failed = re.findall(r"^### (\S+)$", page, re.MULTILINE)
    assert set(failed) == AGENTS[name].checked.keys()
    assert len(failed) == len(re.findall(r"^- checked: \w", page, re.MULTILINE))
    assert agent_suite().cases.keys() >= set(failed)
    (row,) = [line for line in INDEX.splitlines() if f"({name}.md)" in line]
    (line,) = [line for line in page.splitlines() if re.fullmatch(r"(\| \d+ ){5}\|", line)]
    assert counts(row) == counts(line)
    assert counts(line)[VERDICTS.index("fail")] == len(failed)


@pytest.mark.parametrize("name", AGENTS)
def test_page_names_no_directory_of_a_machine(name: str) -> None:
    page = (FOLDER / f"{name}.md").read_text()
    assert not re.findall(r"/(?:tmp|root|opt|Users|home/\w)[^\s\"]*", page)


def judged(**verdicts: str) -> Judged:
    cases: list[dict[str, Any]] = [
        {
            "id": id_,
            "section": "A page",
            "sentence": "It works.",
            "verdict": verdict,
            "reason": "" if verdict == "pass" else "why (and 3 more)",
            "frames": [{"side": "agent", "text": '{"cwd":"/tmp/x/acp-conform-a_1/notes.txt"}'}],
        }
        for id_, verdict in verdicts.items()
    ]
    found = {verdict: list(verdicts.values()).count(verdict) for verdict in VERDICTS}
    return Judged.model_validate({"badge": "B", "profile": "v1", "counts": found, "cases": cases})


def test_verdicts_that_change_from_run_to_run_are_found() -> None:
    runs = [judged(one="pass", other="fail"), judged(one="pass", other="not reached")]
    assert differences(runs) == {"other": ["fail", "not reached"]}


def test_failure_shows_what_was_found_and_what_was_checked() -> None:
    page = report(Agent(title="T", checked={"one": "It does not."}), judged(one="fail", two="pass"))
    assert "- found: why\n- checked: It does not.\n" in page
    assert 'agent  → {"cwd":"/project/notes.txt"}' in page
    assert "two" not in page


def test_agent_that_is_not_judged_now_keeps_its_row() -> None:
    page = load()
    rows = table(page, {"pi": judged(one="pass")}, INDEX).splitlines()
    assert len(rows) == len(AGENTS)
    assert f"| [{AGENTS['pi'].title}](pi.md) | v1 | 1 | 0 | 0 | 0 | 0 |" in rows
    assert set(rows) - set(INDEX.splitlines()) <= {rows[list(AGENTS).index("pi")]}


def test_directories_of_a_run_are_the_same_in_every_report() -> None:
    text = "in /tmp/acp-conform-x1y2z3/a, /var/acp-home-q/home/.x, /tmp/bin/agent"
    assert settled(text) == "in /project/a, ~/.x, /…/agent"
