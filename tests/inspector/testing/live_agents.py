"""Small agents for replays: a script in Python on top of a few functions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio

from acp_inspector.journal import Entry
from acp_inspector.recording.format import Header
from acp_inspector.recording.reader import Recording
from acp_inspector.replay.client_player import MissHandler, PlayLimits, play_as_client
from acp_inspector.replay.directories import replay_directories
from acp_inspector.replay.result import ReplayResult
from acp_inspector.replay.trust import TRUSTED
from tests.inspector.talks import Said, answer, ask, frames

LIMIT = 30.0
"""Seconds after which a replay counts as hung."""
PRELUDE = """
import json, os, select, sys

heard = []

def hear(method=None, id=None, session=None):
    def fits(message):
        params = message.get("params") or {}
        return (
            (method is None or message.get("method") == method)
            and (id is None or ("method" not in message and message.get("id") == id))
            and (session is None or params.get("sessionId") == session)
        )
    while True:
        for message in heard:
            if fits(message):
                heard.remove(message)
                return message
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        heard.append(json.loads(line))

def send(**members):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\\n")
    sys.stdout.flush()

def respond(request, **result):
    send(id=request["id"], result=result)

def update(name, session="live", **members):
    inner = {"sessionUpdate": name, **members}
    send(method="session/update", params={"sessionId": session, "update": inner})

def text(words, session="live", kind="agent_message_chunk"):
    update(kind, session, content={"type": "text", "text": words})

def request(id, method, session="live", **params):
    send(id=id, method=method, params={"sessionId": session, **params})

def start(*sessions, version=1):
    respond(hear("initialize"), protocolVersion=version)
    for session in sessions:
        respond(hear("session/new"), sessionId=session)

def is_something_sent(seconds):
    return bool(select.select([0], [], [], seconds)[0])
"""
QUICK = PlayLimits(timeout=10, settle=0.1, quiet=0.5)


def agent(script: str) -> list[str]:
    """Return the command of an agent that runs `script`, and then reads to the end."""
    return [sys.executable, "-c", f"{PRELUDE}\n{script}\nhear('never')"]


def begun(*sessions: str, version: int = 1) -> list[Said]:
    """Return the start of a conversation; `sessions` are opened."""
    opened = [
        each
        for number, session in enumerate(sessions, start=2)
        for each in (
            ask("client", number, "session/new", cwd="/w"),
            answer("agent", number, {"sessionId": session}),
        )
    ]
    return [
        ask("client", 1, "initialize", protocolVersion=version),
        answer("agent", 1, {"protocolVersion": version}),
        *opened,
    ]


def ended(id_: int) -> Said:
    return answer("agent", id_, {"stopReason": "end_turn"})


def recording(entries: Sequence[Entry], *, redacted: list[str] | None = None) -> Recording:
    header = replace(Header("", "", ""), redacted=redacted)
    return Recording(Path("x.acp.ndjson"), header, tuple(entries), (), None)


async def replay(
    recorded: Sequence[Said] | Recording,
    command: list[str],
    cwd: Path,
    *,
    limits: PlayLimits = QUICK,
    on_miss: MissHandler | None = None,
) -> ReplayResult:
    played = recorded if isinstance(recorded, Recording) else recording(frames(*recorded))
    with anyio.fail_after(LIMIT):
        directories = replay_directories(played.frames, cwd, cwd, recorded_cwd="")
        return await play_as_client(
            played,
            command,
            directories,
            limits=limits,
            on_miss=on_miss,
            allows_redacted=True,
            trust=TRUSTED,
        )
