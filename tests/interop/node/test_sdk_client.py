"""A client of version 1 on the official TypeScript SDK with our agent, and through our proxy."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.interop.node.programs import AGENT, CONSOLE, console, lines, run


def talk(npm: Path, place: Path, *agent: object) -> subprocess.CompletedProcess[str]:
    """Let the SDK's client use every method of an agent; its exit code says whether all held."""
    return run(place, "node", npm / "client_v1.mjs", *agent)


def summary(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["failures"] == []
    assert done.returncode == 0
    return told


def test_every_method_of_our_agent_is_as_the_sdk_wants_it(npm: Path, place: Path) -> None:
    told = summary(talk(npm, place, *AGENT))
    assert told["agent"] == "acp-agent"
    assert told["early"] == -32600
    assert told["refusals"] == {
        "signIn": -32602,
        "newSession": -32602,
        "unknownSession": -32002,
        "unknownMethod": -32601,
        "extension": -32601,
    }
    turns = ("talk", "allowed", "rejected", "cancelled", "givenUp", "auto")
    assert {name: (told[name]["end"], told[name]["statuses"]) for name in turns} == {
        "talk": ("end_turn", []),
        "allowed": ("end_turn", ["pending", "in_progress", "completed"]),
        "rejected": ("end_turn", ["pending", "failed"]),
        "cancelled": ("cancelled", ["pending", "failed"]),
        "givenUp": (-32800, ["pending", "failed"]),
        "auto": ("end_turn", ["pending", "in_progress", "completed"]),
    }
    assert (told["mode"], told["unknownMode"]) == ("ask", -32602)
    assert (told["titles"], told["closed"], told["left"]) == (["hello", "hello"], -32002, 1)
    assert told["code"] == 0


def test_the_proxy_changes_nothing_that_either_side_sees(
    npm: Path, place: Path, tmp_path: Path
) -> None:
    agent = ("node", npm / "agent_v1.mjs")
    path = tmp_path / "it.acp.ndjson"
    through = (*CONSOLE, "proxy", "--record", path, "--", *agent)
    assert summary(talk(npm, place, *through)) == summary(talk(npm, place, *agent))
    rows = lines(console(place, "show", "--format", "json", path))
    assert [row for row in rows if row["kind"] == "malformed"] == []
    assert {row["method"] for row in rows} >= {
        "initialize",
        "session/new",
        "session/prompt",
        "session/update",
        "session/request_permission",
        "session/cancel",
        "$/cancel_request",
        "fs/read_text_file",
        "fs/write_text_file",
    }
