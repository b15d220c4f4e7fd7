"""Pages of the docs against the code that they describe, and their examples against readers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from acp_inspector import journal
from acp_inspector.conformance.agent.judge import agent_suite
from acp_inspector.conformance.client.judge import client_suite
from acp_inspector.conformance.client.stage import PERSONAS
from acp_inspector.control import server, sinks
from acp_inspector.intercept import controller
from acp_inspector.lint.registry import rules
from acp_inspector.proxy import forwarder, recorder
from acp_inspector.recording import format as recording_format
from acp_inspector.recording import numbering
from acp_inspector.redaction import stream
from acp_protocol import framing
from acp_protocol.host import sandbox, terminals

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
RECORDED = [
    ROOT / "inspector/acp_inspector",
    ROOT / "acp_console/chat",
    ROOT / "protocol/acp_protocol/transport",
]
"""Where events of a recording are made."""


_EVENT = re.compile(r"event\(|Event\(|EventItem\(|\bedit\(|entry\.name")
"""What a module has that makes or reads events; most have nothing of it."""


@cache
def nodes(folder: Path) -> list[ast.AST]:
    """Return what the modules in a folder that know events are made of."""
    sources = [path.read_text() for path in sorted(folder.rglob("*.py"))]
    trees = [ast.parse(text) for text in sources if _EVENT.search(text)]
    return [node for tree in trees for node in ast.walk(tree)]


def events_in_the_table() -> dict[str, set[str]]:
    """Return the events that the page lists, with the members that it says they have."""
    page = (DOCS / "recording-format.md").read_text()
    section = page.partition("\n## Events\n")[2].partition("\n## ")[0]
    rows: dict[str, set[str]] = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            _, names, members, _, _ = line.split("|")
            rows |= {name: set(_ticked(members)) for name in _ticked(names)}
    return rows


def _ticked(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


def events_in_the_code() -> Iterator[tuple[str, set[str]]]:
    """Yield each event that is made somewhere, with the members that stand beside its name."""
    for folder in RECORDED:
        for node in nodes(folder):
            if isinstance(node, ast.Call):
                yield from _event(node)


def _event(call: ast.Call) -> Iterator[tuple[str, set[str]]]:
    words = [
        word.value if isinstance(word, ast.Constant) else getattr(journal, word.id, None)
        for word in call.args
        if isinstance(word, ast.Constant | ast.Name)
    ]
    names = [word for word in words if isinstance(word, str) and word.isidentifier()]
    members = {keyword.arg for keyword in call.keywords if keyword.arg}
    match call.func:
        case ast.Attribute(attr="event") if names:
            yield names[0], members
        case ast.Attribute(attr="add_event") if names:
            yield names[0], members | {"of", "by"}
        case ast.Name(id="JournalEvent" | "EventItem") if names:
            yield names[0], set()
        case ast.Attribute(attr="edit") if names:
            # The name that an edit has in the recording when it is none by intent.
            yield names[0], {"of", "by", "was", "now"}
        case _:
            pass


def events_that_are_read() -> Iterator[str]:
    """Yield the events that something here knows though nothing here may make them."""
    for node in nodes(RECORDED[0]):
        match node:
            case ast.Compare(left=ast.Attribute(value=ast.Name(id="entry"), attr="name")):
                words = [word for part in node.comparators for word in ast.walk(part)]
                yield from (str(word.value) for word in words if isinstance(word, ast.Constant))
            case _:
                pass


def test_the_page_on_recordings_lists_every_event_and_no_other() -> None:
    # An edit gives its name on; the usual one is a default.
    made = {name for name, _ in events_in_the_code()} | {"edited"}
    listed = set(events_in_the_table())
    assert made - listed == set()
    assert listed - made - set(events_that_are_read()) == set()


def test_the_page_on_recordings_names_the_members_of_each_event() -> None:
    listed = events_in_the_table()
    missing = {name: members - listed[name] for name, members in events_in_the_code()}
    assert {name: members for name, members in missing.items() if members} == {}


BOUNDS = {
    "a frame that is parsed": framing.MAX_FRAME_BYTES,
    "nesting of JSON in a recording": recording_format.MAX_DEPTH,
    "bytes that wait to be recorded": recorder.MAX_QUEUED_BYTES,
    "a line that is recorded": numbering.MAX_LINE_BYTES,
    "a line that is held, or looked at by a breakpoint, a rule or an add-on": (
        forwarder.MAX_LINE_BYTES
    ),
    "lines that observers read where nothing is recorded": sinks.MAX_MEMORY_BYTES,
    "observers of a proxy": server.MAX_OBSERVERS,
    "a line that is redacted while recording": stream.MAX_ENTRY_BYTES,
    "a file that an agent reads or writes": sandbox.SIZE_LIMIT,
    "output of a terminal": terminals.OUTPUT_LIMIT,
    "a hold at a breakpoint": controller.HOLD_TIMEOUT_S,
}


def test_the_page_on_security_gives_the_bounds_of_the_code() -> None:
    page = (DOCS / "security.md").read_text()
    section = page.partition("\n## Nothing grows without limit\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    documented = {row[0].removeprefix("| "): row[1] for row in rows}
    units = {"MiB": 2**20, "seconds": 1, "": 1}
    read = {
        what: int(number) * units[unit]
        for what, (number, _, unit) in (
            (what, documented[what].partition(" ")) for what in documented
        )
    }
    assert read == BOUNDS
    assert recorder.QUEUE_TIMEOUT_S == 2.0


def test_every_page_that_counts_the_rules_has_their_number() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.glob("*.md")]
    counts = {
        page.name: set(re.findall(r"(?<! of )\b(\d{3}) (?:lint )?rules\b", page.read_text()))
        for page in pages
    }
    assert {"README.md", "CHANGELOG.md", "rules.md"} <= {name for name in counts if counts[name]}
    assert set().union(*counts.values()) == {str(len(rules()))}


def test_the_changelog_has_the_number_of_cases_and_personas() -> None:
    agent_1, agent_2, client_1, client_2 = (
        len(suite.select(profile))
        for suite in (agent_suite(), client_suite())
        for profile in ("v1", "v2")
    )
    text = (ROOT / "CHANGELOG.md").read_text()
    assert f"{agent_1} cases (version 1; {agent_2} for version 2)" in text
    assert f"{client_1} ({client_2}) cases of {len(PERSONAS)} personas" in text
