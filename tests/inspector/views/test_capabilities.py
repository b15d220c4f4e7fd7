"""What was claimed, what was used, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_inspector.views.capabilities import AGENT, CLIENT, Capability
from acp_inspector.views.session_model import SessionModel
from tests.inspector.session.traffic import TRAFFIC, real_frames
from tests.inspector.talks import Said, answer, ask, frames, update


def matrix(*said: Said) -> dict[str, Capability]:
    model = SessionModel()
    model.read(frames(*said))
    return {row.path: row for row in model.capabilities.rows()}


def hello(client: Any = None, agent: Any = None, version: int = 1) -> tuple[Said, Said]:
    names = ("clientCapabilities", "agentCapabilities")
    if version == 2:
        names = ("capabilities", "capabilities")
    return (
        ask("client", 0, "initialize", protocolVersion=version, **{names[0]: client or {}}),
        answer("agent", 0, {"protocolVersion": version, names[1]: agent or {}}),
    )


READ = ask("agent", 1, "fs/read_text_file", sessionId="s1", path="/a")
NO_METHOD: Said = ("client", {"id": 1, "error": {"code": -32601, "message": "no"}})
FILES = f"{CLIENT}.fs.readTextFile"


def test_what_is_claimed_used_and_answered_works() -> None:
    rows = matrix(*hello({"fs": {"readTextFile": True}}), READ, answer("client", 1, {}))
    row = rows[FILES]
    assert (row.side, row.claim, row.claimed_in) == ("client", True, 1)
    assert (row.used, row.first_used, row.worked, row.failed, row.mark) == (1, 3, 1, 0, "")


def test_what_is_used_without_a_claim_is_marked() -> None:
    assert matrix(*hello({"fs": {"readTextFile": False}}), READ)[FILES].mark == (
        "used without a claim"
    )
    assert matrix(*hello(), READ)[FILES].mark == "used without a claim"


def test_what_is_claimed_and_refused_is_marked() -> None:
    row = matrix(*hello({"fs": {"readTextFile": True}}), READ, NO_METHOD)[FILES]
    assert (row.mark, row.failed, row.refused) == ("claimed and refused", 1, 1)


def test_what_is_claimed_and_never_used_is_told_and_what_is_neither_stands_there_too() -> None:
    rows = matrix(*hello(agent={"loadSession": True}))
    assert rows[f"{AGENT}.loadSession"].mark == "never used"
    silent = rows[f"{AGENT}.sessionCapabilities.fork"]
    assert (silent.is_known, silent.is_claimed, silent.mark) == (True, False, "")


@pytest.mark.parametrize("value", [False, None, 0, "yes", []])
def test_what_is_no_marker_claims_nothing(value: Any) -> None:
    assert not matrix(*hello({"fs": {"readTextFile": value}}))[FILES].is_claimed


@pytest.mark.parametrize(
    ("said", "path"),
    [
        (
            ask("client", 1, "session/prompt", sessionId="s", prompt=[{"type": "image"}]),
            f"{AGENT}.promptCapabilities.image",
        ),
        (
            ask("client", 1, "session/new", cwd="/", mcpServers=[{"type": "http"}]),
            f"{AGENT}.mcpCapabilities.http",
        ),
        (
            ask("client", 1, "session/new", cwd="/", additionalDirectories=["/a"]),
            f"{AGENT}.sessionCapabilities.additionalDirectories",
        ),
        (update("notice", severity="info", title="x"), f"{CLIENT}.session.notices"),
        (
            update("config_option_update", configOptions=[{"type": "boolean"}]),
            f"{CLIENT}.session.configOptions.boolean",
        ),
        (ask("agent", 1, "elicitation/create", mode="url"), f"{CLIENT}.elicitation.url"),
        (ask("agent", 1, "terminal/create", sessionId="s"), f"{CLIENT}.terminal"),
        (ask("client", 1, "authenticate", methodId="x"), "authMethods"),
    ],
)
def test_use_is_seen_in_methods_and_in_what_they_hold(said: Said, path: str) -> None:
    rows = matrix(*hello(), said)
    assert rows[path].used == 1
    used = [row.path for row in rows.values() if row.used]
    assert set(used) <= {path, f"{CLIENT}.elicitation"}


def test_version_two_has_rows_of_its_own() -> None:
    image = ask("client", 1, "session/prompt", sessionId="s", prompt=[{"type": "image"}])
    said = (*hello(agent={"session": {"prompt": {"image": {}}}}, version=2), image)
    rows = matrix(*said, answer("agent", 1, {"messageId": "m"}))
    assert FILES not in rows
    assert rows[f"{AGENT}.session.prompt.image"].worked == 1
    assert rows[f"{AGENT}.session"].used == 1
    assert rows[f"{AGENT}.session"].mark == ""


def test_what_nobody_knows_is_kept_beside() -> None:
    rows = matrix(*hello(agent={"_meta": {"example.org": {"teleport": True}}, "flies": True}))
    assert {path: row.mark for path, row in rows.items() if not row.is_known} == {
        f"{AGENT}._meta.example.org": "extension",
        f"{AGENT}.flies": "unknown",
    }


def test_what_belongs_to_a_known_capability_is_no_claim_of_its_own() -> None:
    inner: Any = {"mode": {"override": {}}}
    rows = matrix(
        *hello(agent={"mcpCapabilities": {}, "sessionCapabilities": {"systemPrompt": inner}})
    )
    assert [row.path for row in rows.values() if row.is_claimed] == [
        f"{AGENT}.sessionCapabilities.systemPrompt"
    ]
    assert [row.mark for row in rows.values() if row.is_claimed] == ["never used"]


def test_terminal_sign_in_is_used_by_being_offered() -> None:
    offered: Said = answer("agent", 0, {"authMethods": [{"type": "terminal", "id": "x"}]})
    rows = matrix(hello()[0], offered)
    assert rows[f"{CLIENT}.auth.terminal"].mark == "used without a claim"
    assert rows["authMethods"].is_claimed


@pytest.mark.parametrize("name", TRAFFIC)
def test_real_agents_have_their_claims_read(shared: Path, name: str) -> None:
    model = SessionModel()
    model.read(real_frames(shared, name))
    claimed = [row.path for row in model.capabilities.rows() if row.is_claimed]
    # One file ends with an initialize that is none.
    assert claimed or name == "ts-dual.edge"


def test_the_abilities_of_a_dialect_are_listed() -> None:
    abilities = {"file_read": True, "terminal_exec": False, "session_fork": True}
    said: list[Said] = [
        ask("client", 0, "initialize", protocolVersion=1),
        answer("agent", 0, abilities),
        ask("client", 1, "session/fork", session_id="s1"),
    ]
    rows = matrix(*said)
    own = {path: row for path, row in rows.items() if "openoxide" in path}
    assert {path.rpartition(".")[2]: row.claim for path, row in own.items()} == abilities
    assert {row.mark for row in own.values()} == {"extension"}
    fork = rows[f"{AGENT}.sessionCapabilities.fork"]
    assert (fork.is_claimed, fork.used) == (True, 1)
