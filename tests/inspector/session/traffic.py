"""Talks that hold a little of everything, made by hypothesis and by real agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from tests.inspector.talks import Said, answer, ask, chunk, update

TRAFFIC = (
    *("claude", "claude.load", "claude.v2", "cline", "fast-agent", "gemini", "gemini.edge"),
    *("gemini.load", "kimi", "kimi.load", "pi", "pi.edge", "py-echo", "pydantic-acp", "qwen"),
    *("ts-dual", "ts-dual.edge", "ts-dual.v2", "ts-dual.v2b", "ts-example"),
)
"""Names of the files of real traffic."""
WORDS = st.text("ab ⏎é", max_size=4)
IDS = st.sampled_from(["x", "y"])
SESSIONS = st.sampled_from(["s1", "s2"])
BLOCK = st.fixed_dictionaries({"type": st.just("text"), "text": WORDS})
CONTENT = st.lists(
    st.fixed_dictionaries({"type": st.just("content"), "content": BLOCK})
    | st.fixed_dictionaries({"type": st.just("terminal"), "terminalId": IDS}),
    max_size=2,
)
STATUS = st.sampled_from(["pending", "in_progress", "completed", "failed"])


TEXT_KINDS = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk")
FIELDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "tool_call": {"toolCallId": IDS, "title": WORDS, "status": STATUS, "content": CONTENT},
    "tool_call_update": {"toolCallId": IDS, "title": st.none(), "content": CONTENT},
    "agent_message": {"messageId": IDS, "content": st.none() | st.lists(BLOCK, max_size=2)},
    "plan": {"entries": st.lists(st.just({"content": "a"}), max_size=2)},
    "plan_update": {"plan": st.fixed_dictionaries({"planId": IDS, "entries": st.just([])})},
    "terminal_update": {"terminalId": IDS, "output": st.just({"data": "YQ=="})},
    "terminal_output_chunk": {"terminalId": IDS, "data": st.sampled_from(["Yg==", "no"])},
    "state_update": {"state": st.sampled_from(["running", "idle", "requires_action"])},
    "usage_update": {"used": st.integers(0, 9), "cost": st.none() | st.just({"amount": 1})},
    "session_info_update": {"title": st.none() | WORDS},
    "compaction_update": {"compactionId": IDS, "status": STATUS, "summary": st.lists(BLOCK)},
    "subagent_update": {"sessionId": SESSIONS, "title": WORDS},
    "available_commands_update": {"availableCommands": st.just([{"name": "x"}])},
    "current_mode_update": {"currentModeId": IDS},
    "brand_new": {},
}
"""Updates that are no chunks, and what may stand in them; ids always do."""


@st.composite
def chunks(draw: st.DrawFn) -> Said:
    """Draw a piece of text, with or without an id."""
    more = {"messageId": draw(IDS)} if draw(st.booleans()) else {}
    kind = draw(st.sampled_from(TEXT_KINDS))
    return chunk(draw(WORDS), kind=kind, session=draw(SESSIONS), **more)


@st.composite
def updates(draw: st.DrawFn) -> Said:
    """Draw an update of any other kind."""
    name = draw(st.sampled_from(sorted(FIELDS)))
    always = {key: value for key, value in FIELDS[name].items() if key.endswith("Id")}
    others = {key: value for key, value in FIELDS[name].items() if key not in always}
    members = draw(st.fixed_dictionaries(always, optional=others))
    return update(name, session=draw(SESSIONS), **members)


OUTCOME = {"outcome": {"outcome": "selected", "optionId": "yes"}}
NUMBERS = st.integers(1, 3)
ANSWERED: list[Any] = [
    *({"stopReason": "end_turn"}, {"stopReason": "cancelled"}, OUTCOME, {}, None),
    *({"messageId": "x"}, {"terminalId": "x"}, {"output": "ab", "truncated": False}),
    *({"sessionId": "s1", "modes": {"currentModeId": "x"}}, {"action": "accept"}),
]
ASKED: list[tuple[Side, str, dict[str, Any]]] = [
    ("agent", "session/request_permission", {"toolCall": {"toolCallId": "x"}, "options": []}),
    ("agent", "elicitation/create", {"message": "?"}),
    ("agent", "terminal/create", {"command": "ls"}),
    ("agent", "terminal/output", {"terminalId": "x"}),
    ("client", "session/load", {"cwd": "/"}),
    ("client", "session/prompt", {"prompt": [{"type": "text", "text": "go"}]}),
]
HELLO: tuple[Said, ...] = (
    ask("client", 9, "initialize"),
    answer("agent", 9, {"protocolVersion": 2}),
)


@st.composite
def asks(draw: st.DrawFn) -> Said:
    """Draw a request of either side."""
    side, method, params = draw(st.sampled_from(ASKED))
    return ask(side, draw(NUMBERS), method, sessionId=draw(SESSIONS), **params)


@st.composite
def answers(draw: st.DrawFn) -> Said:
    """Draw an answer of either side, whether somebody asked or not."""
    side: Side = draw(st.sampled_from(("client", "agent")))
    if draw(st.integers(0, 4)) == 0:
        return side, {"id": draw(NUMBERS), "error": {"code": -32603, "message": "no"}}
    return answer(side, draw(NUMBERS), draw(st.sampled_from(ANSWERED)))


@st.composite
def talks(draw: st.DrawFn) -> list[Said]:
    """Draw what is said, in version 1 or 2; much of it makes little sense."""
    said = draw(st.lists(updates() | chunks() | asks() | answers(), max_size=25))
    return [*(HELLO if draw(st.booleans()) else ()), *said]


def real_frames(shared: Path, name: str) -> list[Frame]:
    """Return the frames of one file of real traffic."""
    found: list[Frame] = []
    for line in (shared / "traffic" / f"{name}.ndjson").read_bytes().splitlines():
        row = json.loads(line)
        if "line" in row and row["dir"] in {"c2a", "a2c"}:
            side = "client" if row["dir"] == "c2a" else "agent"
            found.append(Frame(len(found) + 1, row["t"], side, row["line"].encode()))
    return found
