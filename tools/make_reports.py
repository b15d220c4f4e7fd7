"""Judge agents and make their reports: `python -m tools.make_reports --agents agents.json`.

The agents, their prompts and what was found about each failure by hand stand in
`docs/conformance/agents.toml`; how they are started is not the same everywhere, and stands in a
JSON file outside of the repository: by name, `command` and `env`, the whole environment.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, TypeAdapter

from acp_inspector.conformance.model import VERDICTS

ROOT: Final = Path(__file__).parent.parent
FOLDER: Final = ROOT / "docs/conformance"
RESULTS: Final = ROOT / "build/conformance"
HEAD: Final = "\n".join(
    (f"| agent | profile | {' | '.join(VERDICTS)} |", "|---" * (2 + len(VERDICTS)) + "|")
)
"""The head of the table of all agents."""
FRAMES: Final = 4
"""Frames of a failure that a page shows, at most."""
WIDTH: Final = 240
"""Characters of such a frame."""
OUR_DIRECTORY: Final = re.compile(r"/[\w/.-]*?/acp-conform-\w+")
MORE: Final = re.compile(r" \(and \d+ more\)")
OUR_HOME: Final = re.compile(r"/[\w/.-]*?/acp-home-\w+/home")
OTHERS: Final = re.compile(r"/(?:tmp|root|opt|home|Users|var)/(?:[\w.@+-]+/)*([\w.@+-]+)")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Agent(Strict):
    """What a page says about an agent beside the verdicts."""

    title: str
    profile: str = "v1"
    auth: str | None = None
    jobs: int = 3
    """Fewer for an agent whose processes disturb each other."""
    prompts: dict[str, str] = {}
    lacks: list[str] = []
    """Kinds of prompts that it does nothing about."""
    note: str = ""
    varies: list[str] = []
    """Cases that are not judged alike in all runs, for a reason that the note has."""
    checked: dict[str, str] = {}
    """By case: why it fails, as found by hand."""
    as_usual: list[str] = []
    """Cases that were checked, too, and fail for the usual reason."""


class Page(Strict):
    """The file with all agents."""

    date: str
    prompts: dict[str, str]
    """Prompts for agents that have none of their own."""
    usual: dict[str, str]
    """By case: why it fails with several agents."""
    agents: dict[str, Agent]


class Start(BaseModel):
    """How an agent is started on this machine."""

    command: list[str]
    env: dict[str, str] = {}


class Frame(BaseModel):
    side: str
    text: str


class Verdict(BaseModel):
    id: str
    section: str
    sentence: str
    verdict: str
    reason: str
    frames: list[Frame]


class Judged(BaseModel):
    """A report of `acp-console conform --json`."""

    badge: str
    profile: str
    counts: dict[str, int]
    cases: list[Verdict]


def load() -> Page:
    page = Page.model_validate(tomllib.loads((FOLDER / "agents.toml").read_text()))
    for agent in page.agents.values():
        agent.checked |= {id_: page.usual[id_] for id_ in agent.as_usual}
    return page


def judge(name: str, page: Page, start: Start | None, output: Path) -> None:
    """Judge an agent once, and write the report as JSON."""
    agent = page.agents[name]
    words = ["--profile", agent.profile, "--json", "--output", str(output)]
    words += ["--jobs", str(agent.jobs)]
    if agent.auth:
        words += ["--auth", agent.auth]
    with tempfile.TemporaryDirectory(prefix="acp-home-") as folder:
        if start is None:
            words += ["demo"]
        else:
            prompts = {**page.prompts, **agent.prompts}
            kinds = [kind for kind in prompts if kind not in agent.lacks]
            words += [f"--prompt-for={kind}={prompts[kind]}" for kind in kinds]
            words += ["--", *_command(start, Path(folder) / "home")]
        subprocess.run([sys.executable, "-m", "acp_console", "conform", *words], check=False)


def _command(start: Start, home: Path) -> Iterator[str]:
    """Yield the command of an agent with a copy of its home: what it stores is not kept."""
    old = start.env.get("HOME")
    if old is not None:
        shutil.copytree(old, home, symlinks=True)

    def moved(text: str) -> str:
        return text.replace(old, str(home)) if old else text

    if start.env:
        yield from ["env", "-i", *(f"{key}={moved(value)}" for key, value in start.env.items())]
    yield from map(moved, start.command)


def read(name: str, results: Path) -> list[Judged]:
    """Return the reports of all runs."""
    files = sorted(results.glob(f"{name}.[0-9]*.json"))
    return [Judged.model_validate_json(file.read_text()) for file in files]


def differences(runs: list[Judged]) -> dict[str, list[str]]:
    """Return the verdicts of the cases that were not judged alike in all runs."""
    verdicts = [{case.id: case.verdict for case in run.cases} for run in runs]
    rows = {id_: [each.get(id_, "-") for each in verdicts] for id_ in verdicts[0]}
    return {id_: row for id_, row in rows.items() if len(set(row)) > 1}


def settled(text: str) -> str:
    """Return a text without what is only so on this machine, or in this run."""
    ours = OUR_HOME.sub("~", OUR_DIRECTORY.sub("/project", text))
    return MORE.sub("", OTHERS.sub(r"/…/\1", ours))


def report(agent: Agent, run: Judged) -> str:
    """Return the page of an agent."""
    parts = [f"# {agent.title}\n", f"**{run.badge}.**\n"]
    if agent.note:
        parts.append(f"{agent.note}\n")
    parts.append("| " + " | ".join(VERDICTS) + " |\n" + "|---" * len(VERDICTS) + "|")
    parts.append("| " + " | ".join(str(run.counts[each]) for each in VERDICTS) + " |\n")
    if failures := [case for case in run.cases if case.verdict == "fail"]:
        parts.append("## Failures\n")
        parts += [_failure(agent, case) for case in failures]
    for verdict in ("advice", "not offered", "not reached"):
        if rows := _by_reason(run, verdict):
            parts.append(f"## {verdict.capitalize()}\n")
            parts += [f"- {settled(reason)}: {ids}" for reason, ids in rows.items()]
            parts.append("")
    return "\n".join(parts)


def _failure(agent: Agent, case: Verdict) -> str:
    frames = "\n".join(map(_frame, case.frames[-FRAMES:]))
    return (
        f"### {case.id}\n\n{case.sentence}\n\n- section: {case.section}\n"
        f"- found: {settled(case.reason)}\n- checked: {agent.checked[case.id]}\n\n"
        f"```\n{frames}\n```\n"
    )


def _frame(frame: Frame) -> str:
    text = settled(frame.text)
    return f"{frame.side:<6} → {text[:WIDTH]}{'…' if len(text) > WIDTH else ''}"


def _by_reason(run: Judged, verdict: str) -> Mapping[str, str]:
    rows: dict[str, list[str]] = {}
    for case in run.cases:
        if case.verdict == verdict:
            rows.setdefault(case.reason, []).append(f"`{case.id}`")
    return {reason: ", ".join(ids) for reason, ids in rows.items()}


def table(page: Page, runs: Mapping[str, Judged], old: str) -> str:
    """Return the rows of all agents; one that was not judged now keeps its old row."""
    rows: list[str] = []
    for name, agent in page.agents.items():
        if run := runs.get(name):
            cells = [f"[{agent.title}]({name}.md)", run.profile]
            cells += [str(run.counts[each]) for each in VERDICTS]
            rows.append("| " + " | ".join(cells) + " |")
        else:
            rows += [line for line in old.splitlines() if f"]({name}.md)" in line]
    return "\n".join(rows)


def write(page: Page, results: Path) -> int:
    """Write the pages of all agents that have results; return the number of problems."""
    problems = 0
    judged: dict[str, Judged] = {}
    for name, agent in page.agents.items():
        runs = read(name, results)
        if not runs:
            print(f"{name}: not judged; its report stays")
            continue
        for id_, verdicts in differences(runs).items():
            if id_ in agent.varies:
                continue
            print(f"{name}: {id_} is not the same in all runs: {', '.join(verdicts)}")
            problems += 1
        failed = {case.id for case in runs[-1].cases if case.verdict == "fail"}
        for id_ in sorted(failed ^ agent.checked.keys()):
            state = "fails, and was not checked" if id_ in failed else "was checked, and passes"
            print(f"{name}: {id_} {state}")
            problems += 1
        if failed <= agent.checked.keys():
            judged[name] = runs[-1]
            (FOLDER / f"{name}.md").write_text(report(agent, runs[-1]))
    index = FOLDER / "index.md"
    before, _, rest = index.read_text().partition("| agent |")
    old, _, after = rest.partition("\n\n")
    dated = re.sub(r"on \d{4}-\d\d-\d\d", f"on {page.date}", before)
    index.write_text(f"{dated}{HEAD}\n{table(page, judged, old)}\n\n{after}")
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="agents to judge, else all")
    parser.add_argument("--agents", type=Path, help="JSON file with commands and environments")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the verdicts")
    parser.add_argument("--runs", type=int, default=2, help="how often each agent is judged")
    options = parser.parse_args()
    page = load()
    starts: dict[str, Any] = json.loads(options.agents.read_text()) if options.agents else {}
    known = TypeAdapter(dict[str, Start]).validate_python(starts)
    options.results.mkdir(parents=True, exist_ok=True)
    for run in range(1, options.runs + 1):
        for name in options.names or page.agents:
            if name in known or name.startswith("demo"):
                judge(name, page, known.get(name), options.results / f"{name}.{run}.json")
    sys.exit(write(page, options.results) > 0)


if __name__ == "__main__":
    main()
