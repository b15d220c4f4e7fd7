"""The official TypeScript SDK over HTTP and WebSocket: its clients, and its server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interop.node.programs import AGENT, MODE_NOTE, console, lines, run, updates_of
from tests.interop.node.test_sdk_client import DONE, REFUSALS, ends
from tests.interop.served import ENVIRONMENT, served, spelled

EDIT = "edit notes.md: milk => bread"
TRANSPORTS = ["http", "ws"]


def talk(npm: Path, place: Path, version: int, transport: str, url: str) -> dict[str, Any]:
    """Let the SDK's client use every method of the agent behind a URL."""
    script = npm / f"client_v{version}.mjs"
    done = run(place, "node", script, spelled(url, transport), **ENVIRONMENT)
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["failures"] == []
    assert done.returncode == 0
    return told


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_method_of_version_1_is_as_the_client_of_the_sdk_wants_it(
    npm: Path, place: Path, transport: str
) -> None:
    ours = (*AGENT, "serve", "--http", "127.0.0.1:0", "--token-env", "ACP_TOKEN")
    with served(place, *ours) as url:
        told = talk(npm, place, 1, transport, url)
    assert told["refusals"] == REFUSALS | {"signIn": -32602}
    assert ends(told) == {
        "talk": ("end_turn", []),
        "allowed": ("end_turn", DONE),
        "rejected": ("end_turn", ["pending", "failed"]),
        "cancelled": ("cancelled", ["pending", "failed"]),
        "givenUp": (-32800, ["pending", "failed"]),
        "unasked": ("end_turn", DONE),
    }
    assert (told["titles"], told["closed"], told["left"]) == (["hello"] * 3, -32002, 3)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_method_of_version_2_is_as_the_client_of_the_sdk_wants_it(
    npm: Path, place: Path, transport: str
) -> None:
    ours = (*AGENT, "serve", "--http", "127.0.0.1:0", "--token-env", "ACP_TOKEN")
    with served(place, *ours, "--protocol", 2) as url:
        told = talk(npm, place, 2, transport, url)
    assert told["refusals"] == REFUSALS | {"resume": -32002}
    assert told["isQuestionWithdrawn"]
    assert (told["first"], told["held"]) == ("cancelled", -32800)
    assert (told["before"], told["after"]) == ("end_turn", "end_turn")
    assert (told["titles"], told["closed"]) == (["hello"] * 2, -32002)
    assert (told["replayed"], told["resumed"]) == ("idle", "end_turn")


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("version", [1, 2])
def test_our_client_talks_to_the_server_of_the_sdk(
    npm: Path, place: Path, tmp_path: Path, version: int, transport: str
) -> None:
    path = tmp_path / "it.acp.ndjson"
    with served(place, "node", npm / "remote_agent.mjs", version) as url:
        to = ("--protocol", version, "--url", spelled(url, transport))
        said = console(place, "exec", "--record", path, "good morning", *to)
        edited = console(place, "exec", "--allow", "edits", EDIT, *to)
        failed = console(place, "exec", "fail", *to)
    assert (said.returncode, said.stdout, said.stderr) == (
        0,
        "You said: good morning\n",
        MODE_NOTE,
    )
    assert (edited.returncode, (place / "notes.md").read_text()) == (0, "Buy bread.\n")
    assert failed.returncode == 4
    linted = lines(console(place, "lint", "--format", "json", path))
    assert [each for each in linted if each.get("severity") == "error"] == []


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_each_kind_of_update_and_odd_text_comes_through(
    npm: Path, place: Path, transport: str
) -> None:
    with served(place, "node", npm / "remote_agent.mjs", 1) as url:
        to = ("--url", spelled(url, transport))
        everything = console(place, "exec", "--format", "json", "everything", *to)
        odd = console(place, "exec", "--format", "json", "odd", *to)
    kinds = [update["sessionUpdate"] for update in updates_of(everything)]
    assert len(kinds) == 16
    *few, long = [update["content"]["text"] for update in updates_of(odd)]
    assert few == ["a\u2028b\u0085c", "😀", "\ud800", "\x00\x1b[31m", "\r\n"]
    assert len(long) == 10_000_000
