"""Clients on the official TypeScript SDK with our agent, and through our proxy."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from tests.interop.node.programs import AGENT, CONSOLE, console, lines, run

REFUSALS = {
    "newSession": -32602,
    "unknownSession": -32002,
    "unknownMethod": -32601,
    "extension": -32601,
}
ALL_V1 = {
    "initialize",
    "authenticate",
    "session/new",
    "session/list",
    "session/close",
    "session/set_mode",
    "session/prompt",
    "session/cancel",
    "session/update",
    "session/request_permission",
    "$/cancel_request",
    "fs/read_text_file",
    "fs/write_text_file",
}
ALL_V2 = {
    "initialize",
    "session/new",
    "session/list",
    "session/resume",
    "session/close",
    "session/set_config_option",
    "session/prompt",
    "session/cancel",
    "session/update",
    "session/request_permission",
    "tool_call/cancel",
    "terminal/cancel",
    "$/cancel_request",
}
ALL = {1: ALL_V1, 2: ALL_V2}
"""What is said in a talk: all that our agent has, and what it asks."""
DONE = ["pending", "in_progress", "completed"]


def ours(version: int) -> tuple[str, ...]:
    return (*AGENT, "--protocol", str(version))


def talk(npm: Path, place: Path, version: int, *agent: object) -> dict[str, Any]:
    """Let the SDK's client use every method of an agent, and return what came of it.

    Its exit code says whether all was as the SDK and the protocol want it.
    """
    done: subprocess.CompletedProcess[str]
    done = run(place, "node", npm / f"client_v{version}.mjs", *agent)
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["failures"] == []
    assert (done.returncode, told["code"]) == (0, 0)
    return told


def ends(told: dict[str, Any]) -> dict[str, Any]:
    """Return how each turn of a talk ended, and what became of its tool call."""
    turns: dict[str, dict[str, Any]] = {
        name: turn for name, turn in told.items() if isinstance(turn, dict) and "statuses" in turn
    }
    return {
        name: (turn["stopReason" if "stopReason" in turn else "end"], turn["statuses"])
        for name, turn in turns.items()
    }


@pytest.mark.parametrize("newest", [1, 2])
def test_every_method_of_version_1_is_as_the_sdk_wants_it(
    npm: Path, place: Path, newest: int
) -> None:
    told = talk(npm, place, 1, *ours(newest))
    assert (told["agent"], told["early"]) == ("acp-agent", -32600)
    assert told["refusals"] == REFUSALS | {"signIn": -32602}
    assert ends(told) == {
        "talk": ("end_turn", []),
        "allowed": ("end_turn", DONE),
        "rejected": ("end_turn", ["pending", "failed"]),
        "cancelled": ("cancelled", ["pending", "failed"]),
        "givenUp": (-32800, ["pending", "failed"]),
        "unasked": ("end_turn", DONE),
    }
    assert (told["mode"], told["unknownMode"]) == ("ask", -32602)
    assert (told["titles"], told["closed"], told["left"]) == (["hello"] * 3, -32002, 3)


def test_every_method_of_version_2_is_as_the_sdk_wants_it(npm: Path, place: Path) -> None:
    told = talk(npm, place, 2, *ours(2))
    assert told["agent"] == "acp-agent"
    assert told["refusals"] == REFUSALS | {"resume": -32002}
    assert ends(told) == {
        "talk": ("end_turn", []),
        "allowed": ("end_turn", DONE),
        "rejected": ("end_turn", ["pending", "failed"]),
        "cancelled": ("cancelled", ["pending", "cancelled"]),
        "unasked": ("end_turn", DONE),
    }
    assert told["isQuestionWithdrawn"]
    assert (told["first"], told["held"]) == ("cancelled", -32800)
    assert (told["before"], told["after"]) == ("end_turn", "end_turn")
    assert told["cancelPart"] == {"toolCall": -32602, "terminal": -32602}
    assert (told["mode"], told["unknownOption"]) == ("ask", [-32602, -32602])
    assert (told["titles"], told["closed"]) == (["hello"] * 2, -32002)
    assert (told["replayed"], told["resumed"]) == ("idle", "end_turn")


@pytest.mark.parametrize("version", [1, 2])
def test_the_proxy_changes_nothing_that_either_side_sees(
    npm: Path, place: Path, tmp_path: Path, version: int
) -> None:
    agent = ("node", npm / f"agent_v{version}.mjs")
    path = tmp_path / "it.acp.ndjson"
    through = (*CONSOLE, "proxy", "--record", path, "--", *agent)
    assert talk(npm, place, version, *through) == talk(npm, place, version, *agent)
    rows = lines(console(place, "show", "--format", "json", path))
    assert [row for row in rows if row["kind"] == "malformed"] == []
    assert {row["method"] for row in rows} >= ALL[version]


@pytest.mark.parametrize("version", [1, 2])
def test_all_that_our_agent_says_fits_the_schema_of_the_sdk(
    npm: Path, place: Path, tmp_path: Path, version: int
) -> None:
    """The SDK's own reading bears what is malformed here and there; its schema does not."""
    path = tmp_path / "it.acp.ndjson"
    talk(npm, place, version, *CONSOLE, "proxy", "--record", path, "--", *ours(version))
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    frames = [(entry["from"], entry["msg"]) for entry in entries if "msg" in entry]
    assert {frame["method"] for _, frame in frames if "method" in frame} >= ALL[version]
    schema_path = npm / f"node_modules/@agentclientprotocol/sdk/schema/v{version}/schema.json"
    assert [*_misfits(frames, json.loads(schema_path.read_text()))] == []


def _misfits(frames: list[tuple[str, dict[str, Any]]], schema: dict[str, Any]) -> list[str]:
    """Return what does not fit in the agent's frames."""
    names = {
        (shape["x-method"], name.endswith("Response")): name
        for name, shape in schema["$defs"].items()
        if "x-method" in shape
    }
    asked: dict[str, str] = {}
    misfits: list[str] = []
    for side, frame in frames:
        method = frame.get("method")
        if side == "client" and method and "id" in frame:
            asked[repr(frame["id"])] = method
        if side != "agent" or "error" in frame:
            continue
        is_answer = method is None
        name = names[asked[repr(frame["id"])] if method is None else method, is_answer]
        wanted = Draft202012Validator(schema | {"anyOf": [{"$ref": f"#/$defs/{name}"}]})
        said = frame["result"] if is_answer else frame["params"]
        misfits += [f"{name}: {error.message}" for error in wanted.iter_errors(said)]
    return misfits


@pytest.mark.parametrize("version", [1, 2])
def test_a_recording_stands_for_our_agent(
    npm: Path, place: Path, tmp_path: Path, version: int
) -> None:
    path, report = tmp_path / "it.acp.ndjson", tmp_path / "verdict.json"
    recorded = talk(npm, place, version, *CONSOLE, "proxy", "--record", path, "--", *ours(version))
    options = ("--trust", "--report", report)
    done = run(place, "node", npm / f"client_v{version}.mjs", *CONSOLE, "mock", *options, path)
    played = json.loads(done.stdout)
    if version == 2:
        # In version 2 the agent itself changes files, and a recording changes none.
        assert played.pop("failures") == ["the file was changed"]
        assert recorded.pop("failures") == []
        for each in (*played.values(), *recorded.values()):
            if isinstance(each, dict):
                cast("dict[str, Any]", each).pop("file", None)
    assert played == recorded
    assert json.loads(report.read_text())["passed"]


def test_a_client_that_asks_in_another_order_is_told_so(
    npm: Path, place: Path, tmp_path: Path
) -> None:
    path, report = tmp_path / "it.acp.ndjson", tmp_path / "verdict.json"
    recorded = talk(npm, place, 1, *CONSOLE, "proxy", "--record", path, "--", *ours(1))
    options = ("--trust", "--report", report)
    command = ("node", npm / "client_v1.mjs", *CONSOLE, "mock", *options, path)
    done = run(place, *command, CLIENT_ORDER="reversed")
    assert json.loads(done.stdout) == recorded
    verdict = json.loads(report.read_text())
    assert verdict["passed"]
    assert verdict["tolerated"]["request-order"] >= 3
