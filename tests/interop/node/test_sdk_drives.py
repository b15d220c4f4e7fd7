"""Each method that our agent answers and asks, driven by the official TypeScript SDK."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from acp_inspector.lint.engine import lint
from acp_inspector.recording.reader import read_recording
from acp_protocol.schema.methods import methods_sent_by
from tests.agent.mcp.rooms import WEATHER
from tests.interop.answered import NOTIFIED, all_answered, said
from tests.interop.node.programs import AGENT, CONSOLE, run
from tests.interop.published import misfits
from tests.interop.python_sdk_drives import BRIDGED, TWO_MODELS
from tests.warm import WARM

Methods: TypeAlias = frozenset[str]
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "sessions": ("--unstable",),
    "login": ("--unstable", "--auth", "required"),
    "providers": ("--unstable", "--config", "acp-agent.toml"),
    "over_acp": ("--unstable",),
    "bridge": ("--config", "acp-agent.toml"),
}
FILES = {"providers": TWO_MODELS, "bridge": BRIDGED}
SERVER = json.dumps([*WARM, WEATHER, "stdio"])
UNPUBLISHED = {"bridge"}
"""What is about a dialect of the protocol."""
OPENED = {"initialize", "session/new"}
SAID = OPENED | {"session/prompt"}
CONSENT = {"session/update", "session/request_permission"}
QUESTIONS = {"elicitation/create", "elicitation/complete"}
CHANGES = {f"session/{deed}" for deed in ("archive", "unarchive", "status", "set_title", "delete")}
PROVIDERS = {"initialize", "providers/set", "providers/list", "providers/disable"}
DRIVES: Mapping[tuple[int, str], tuple[set[str], set[str]]] = {
    (1, "talk"): (
        SAID | {"session/cancel", "$/cancel_request"},
        CONSENT
        | {"fs/read_text_file", "fs/write_text_file", "$/cancel_request"}
        | {f"terminal/{deed}" for deed in ("create", "wait_for_exit", "output", "kill", "release")},
    ),
    (1, "prompts"): (SAID | {"session/close"}, CONSENT),
    (1, "questions"): (SAID, {"session/update"} | QUESTIONS),
    (1, "sessions"): (
        SAID
        | CHANGES
        | {f"session/{deed}" for deed in ("load", "resume", "close", "fork", "list")}
        | {"session/set_mode", "session/set_config_option"},
        {"session/update", "fs/read_text_file"},
    ),
    (1, "login"): (
        SAID | {"authenticate", "logout", "auth/status"},
        {"session/update", "auth/status_update"},
    ),
    (1, "providers"): (PROVIDERS, set()),
    (1, "over_acp"): (
        SAID | {"session/cancel", "session/close", "mcp/message"},
        CONSENT | {"mcp/message", "$/cancel_request"},
    ),
    (1, "bridge"): ({"initialize", "mcp/connect", "mcp/message", "mcp/disconnect"}, set()),
    (2, "talk"): (
        SAID | {"session/cancel", "tool_call/cancel", "terminal/cancel", "$/cancel_request"},
        CONSENT | {"$/cancel_request"},
    ),
    (2, "prompts"): (SAID | {"session/close"}, CONSENT),
    (2, "questions"): (SAID, {"session/update"} | QUESTIONS),
    (2, "sessions"): (
        SAID
        | CHANGES
        | {f"session/{deed}" for deed in ("resume", "close", "fork", "list", "set_config_option")},
        {"session/update"},
    ),
    (2, "login"): (
        SAID | {"auth/login", "auth/logout", "auth/status"},
        {"session/update", "auth/status_update"},
    ),
    (2, "providers"): (PROVIDERS, set()),
    (2, "over_acp"): (
        SAID | {"session/cancel", "session/close", "mcp/message"},
        CONSENT | {"mcp/message", "$/cancel_request"},
    ),
}
"""What is said in each drive, by the client and by the agent."""
UNHEARD = {"proxy/successor"}
"""What is no business of an agent: proxies say it to each other."""


@pytest.mark.parametrize(("version", "name"), DRIVES)
def test_what_the_sdk_drives_is_right_by_schema_and_rules(
    npm: Path, place: Path, tmp_path: Path, shared: Path, version: int, name: str
) -> None:
    if name in FILES:
        (place / "acp-agent.toml").write_text(FILES[name])
    path, options = tmp_path / "it.acp.ndjson", OPTIONS.get(name, ())
    agent = (*AGENT, "--protocol", version, *options)
    through = (*CONSOLE, "proxy", "--record", path, "--", *agent)
    done = run(place, "node", npm / f"drives_v{version}.mjs", name, *through, WEATHER=SERVER)
    assert json.loads(done.stdout) == {"code": 0, "failures": []}
    recording = read_recording(path)
    assert (said(recording, "client"), said(recording, "agent")) == DRIVES[version, name]
    if name in UNPUBLISHED:
        return
    assert misfits(recording, shared) == []
    report = lint(recording.entries, unstable="--unstable" in options)
    assert not report.failed
    assert [each.message for each in report.findings if each.severity != "info"] == []


@pytest.mark.parametrize("version", [1, 2])
def test_each_method_that_our_agent_answers_is_driven(version: int) -> None:
    driven = {method for (of, _), (says, _) in DRIVES.items() if of == version for method in says}
    assert driven == all_answered(version) | NOTIFIED | {"$/cancel_request"}


@pytest.mark.parametrize("version", [1, 2])
def test_each_method_that_an_agent_may_say_is_heard(version: int) -> None:
    heard = {method for (of, _), (_, says) in DRIVES.items() if of == version for method in says}
    assert heard == {row.name for row in methods_sent_by("agent", version)} - UNHEARD
