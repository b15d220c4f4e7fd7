"""`exec` with agents that speak a dialect: what it sends them, and what it says about the rest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from acp_console.cli import exit_codes
from acp_inspector.journal import Frame
from acp_inspector.messages import DecodedFrame
from acp_inspector.recording.reader import read_recording
from tests.console.conftest import Call

PEERS = Path(__file__).parents[2] / "protocol/dialects/peers"
OURS = (sys.executable, "-m", "acp_agent", "--no-config")


def peer(name: str) -> tuple[str, ...]:
    return sys.executable, str(PEERS / f"{name}_agent.py")


def sent(recording: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the methods and params that the client sent, as they were sent."""
    frames = [each for each in read_recording(recording).entries if isinstance(each, Frame)]
    calls = [DecodedFrame(each) for each in frames if each.side == "client"]
    return [(each.method or "", each.members.get("params") or {}) for each in calls]


def test_a_mode_that_the_agent_has_not_named_is_not_set(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "a.acp.ndjson"
    done = call("exec", "--record", str(file), "x", "--", *peer("continuum"))
    assert (done.code, done.out) == (exit_codes.DONE, "The architecture\n is simple.\n")
    assert "session/set_mode" not in dict(sent(file))
    assert "none of the agent's modes (code) says that it asks" in done.err


def test_the_user_may_set_a_mode_of_the_document(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "a.acp.ndjson"
    words = ("--mode", "architect", "--record", str(file))
    assert call("exec", *words, "x", "--", *peer("continuum")).code == exit_codes.DONE
    assert dict(sent(file))["session/set_mode"] == {"mode": "architect"}


@pytest.mark.parametrize("dialect", ["continuum", "acpex", "openoxide"])
def test_our_agent_recognises_our_client(call: Call, dialect: str) -> None:
    done = call("exec", "--dialect", dialect, "hello you", "--", *OURS)
    assert done.code == exit_codes.DONE, done.err
    assert "> hello you" in done.out
