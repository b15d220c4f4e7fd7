"""Agents as scripts, and the command line as a person calls it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from acp_console.agents import spec
from acp_console.agents.spec import DEMO_AGENT
from acp_console.cli.main import run
from tests.warm import WARM

TALK = '''
import json, os, sys, time

def tell(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()

def hear(method):
    """Return the next message of that method; an answer is of the method None."""
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == method:
            return message
    sys.exit(0)

def greet(version=1, **more):
    tell(id=hear("initialize")["id"], result={"protocolVersion": version, **more})

def open_session():
    tell(id=hear("session/new")["id"], result={"sessionId": "s1"})

def update(name, **members):
    tell(method="session/update",
         params={"sessionId": "s1", "update": {"sessionUpdate": name, **members}})

def say(text):
    update("agent_message_chunk", content={"type": "text", "text": text})

def ask(method, **params):
    """Ask the client and return its whole answer."""
    tell(id=900, method=method, params={"sessionId": "s1", **params})
    return hear(None)

def ask_consent(**tool_call):
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
               {"optionId": "no", "name": "No", "kind": "reject_once"}]
    answer = ask("session/request_permission", toolCall=tool_call, options=options)
    return answer["result"]["outcome"].get("optionId", "cancelled")

def hear_prompt():
    """Do what comes before the first prompt, and return that."""
    greet()
    open_session()
    return hear("session/prompt")

def end(prompt, reason="end_turn", **more):
    tell(id=prompt["id"], result={"stopReason": reason, **more})
'''

Agent: TypeAlias = Callable[[str], list[str]]
"""Makes the command of an agent that does what a script says."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call of the command line ended."""

    code: int
    out: str
    err: str


Call: TypeAlias = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def warm_demo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start the demo agent without importing it anew."""
    command, warm = DEMO_AGENT.command, (*WARM, "-m", "acp_agent")
    monkeypatch.setattr(spec, "ACP_AGENT", warm)
    object.__setattr__(DEMO_AGENT, "command", (*warm, "--no-config"))
    yield
    object.__setattr__(DEMO_AGENT, "command", command)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """Write agents whose scripts may use the words of `TALK`."""

    def write(script: str) -> list[str]:
        path = tmp_path / "scripted_agent.py"
        path.write_text(f"{TALK}\n{script}\n")
        return [sys.executable, "-I", "-S", str(path)]

    return write


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Call the command line in this process."""

    def call_now(*words: str) -> Outcome:
        with pytest.raises(SystemExit) as ending:
            run(words)
        shown = capsys.readouterr()
        code = ending.value.code
        assert isinstance(code, int)
        assert not any(line.startswith("Traceback") for line in shown.err.splitlines())
        return Outcome(code, shown.out, shown.err)

    return call_now
