"""Runs of an agent, recorded in a session store as a chat would record them."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from acp_console.agents.spec import AgentSpec
from acp_console.kept.session_store import RecordedSessions
from acp_inspector.journal import Frame, Journal
from acp_inspector.session.conversations import Conversations
from acp_protocol.framing import Side

Message: TypeAlias = tuple[Side, dict[str, Any]]
"""Who sends it, and its members."""


def speak(journal: Journal, *messages: Message) -> None:
    for side, message in messages:
        journal.line(side, json.dumps({"jsonrpc": "2.0", **message}).encode())


def opening(method: str, session: str, *, id_: int = 1, cwd: Path = Path("/")) -> list[Message]:
    known = {} if method == "session/new" else {"sessionId": session}
    return [
        ("client", {"id": id_, "method": method, "params": {"cwd": str(cwd), **known}}),
        ("agent", {"id": id_, "result": {"sessionId": session}}),
    ]


def update(session: str, name: str, **members: Any) -> Message:
    params = {"sessionId": session, "update": {"sessionUpdate": name, **members}}
    return "agent", {"method": "session/update", "params": params}


def text_block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def turn(session: str, text: str, *, id_: int = 2) -> list[Message]:
    params = {"sessionId": session, "prompt": [text_block(text)]}
    return [
        ("client", {"id": id_, "method": "session/prompt", "params": params}),
        update(session, "agent_message_chunk", content=text_block(f"re: {text}")),
        ("agent", {"id": id_, "result": {"stopReason": "end_turn"}}),
    ]


AGENT = AgentSpec("fake", "Fake", ("fake", "--acp"), "")


@contextmanager
def running(store: RecordedSessions, *messages: Message) -> Generator[Journal]:
    """Record a run of an agent in which these messages were sent."""
    journal = Journal()
    talks = Conversations()
    with store.record(journal, AGENT, Path("/")) as run:
        speak(journal, *messages)
        for frame in journal.entries:
            assert isinstance(frame, Frame)
            for change in talks.apply(frame):
                run.note(talks.sessions[change.session_id])
        yield journal
        assert run.recording is None or run.recording.exists()


def recorded(store: RecordedSessions, *messages: Message) -> None:
    with running(store, *messages):
        pass
