"""How fast traffic is held against all rules, and how fast it only fits its schema."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import jsonschema_rs
import orjson
from pydantic import TypeAdapter

from acp_inspector.journal import Frame
from acp_inspector.lint.engine import Linter
from acp_protocol.framing import Side
from acp_protocol.schema.methods import METHODS
from acp_protocol.schema.validate import schema_type
from benchmarks.table import Row, Section, Spread

TURNS: Final = int(os.environ.get("BENCH_TURNS", "500"))
CHUNKS: Final = 40
"""Pieces of text in each turn, which is most of what an agent sends."""
ROUNDS: Final = 5
SESSION: Final = "3f2c8f5e-6f0b-4c52-9d2b-5a1d7f0e8c11"


def measure() -> Section:
    """Judge the same messages by JSON alone, by their schemas, and by the whole catalogue."""
    frames = traffic(TURNS)
    validators = _validators()
    floors = (
        ("orjson, reading alone", lambda: _read(frames)),
        ("jsonschema-rs, reading and validating", lambda: _validate(frames, validators)),
        ("the whole catalogue", lambda: _lint(frames)),
    )
    spreads = [Spread.of(times) for times in _timed([each for _, each in floors])]
    rival = spreads[1].median
    goals = ("", "", "≥ 20,000/s")
    return Section(
        f"holding {len(frames):,} messages against the rules",
        tuple(
            Row(
                what,
                f"{len(frames) / spread.median:,.0f}/s",
                f"{len(frames) / spread.slow:,.0f}/s",
                f"{spread.median / rival:.1f} × jsonschema-rs",
                goal,
            )
            for (what, _), spread, goal in zip(floors, spreads, goals, strict=True)
        ),
    )


def _timed(what: Sequence[Callable[[], None]]) -> list[list[float]]:
    """Return the durations of each, taken in turns so that what else goes on meets them all."""
    times: list[list[float]] = [[] for _ in what]
    for each in what:
        each()
    for _ in range(ROUNDS):
        for run, durations in zip(what, times, strict=True):
            began = time.process_time()
            run()
            durations.append(time.process_time() - began)
    return times


def _read(frames: Sequence[Frame]) -> None:
    for frame in frames:
        orjson.loads(frame.data)


def _validators() -> dict[tuple[str, str], jsonschema_rs.Validator]:
    """Return what validates the params and the result of each method of version 1."""
    found: dict[tuple[str, str], jsonschema_rs.Validator] = {}
    for row in METHODS:
        if row.version == 1:
            for kind, definition in (("params", row.params), ("result", row.result)):
                if definition is not None:
                    schema = TypeAdapter(schema_type(definition)).json_schema()
                    found[row.name, kind] = jsonschema_rs.validator_for(schema)
    return found


def _validate(
    frames: Sequence[Frame], validators: dict[tuple[str, str], jsonschema_rs.Validator]
) -> None:
    methods: dict[tuple[Side, int], str] = {}
    for frame in frames:
        message = orjson.loads(frame.data)
        method = message.get("method")
        if method is None:
            requester: Side = "agent" if frame.side == "client" else "client"
            valid = validators[methods[requester, message["id"]], "result"].is_valid(
                message["result"]
            )
        else:
            if "id" in message:
                methods[frame.side, message["id"]] = method
            valid = validators[method, "params"].is_valid(message["params"])
        if not valid:
            raise ValueError(f"frame {frame.seq} does not fit its schema")


def _lint(frames: Sequence[Frame]) -> None:
    linter = Linter()
    for frame in frames:
        linter.feed(frame)
    linter.finish()
    if linter.report.counts["error"]:
        raise ValueError(f"the traffic is wrong: {linter.report.findings[0].message}")


def traffic(turns: int) -> list[Frame]:
    """Return a connection of that many turns: text, a tool call that was allowed, a plan."""
    frames: list[Frame] = []
    send, update_session = sender(frames)
    begin_session(send)
    for turn in range(turns):
        prompt = [{"type": "text", "text": "Read the file and tell me what is in it."}]
        send(
            "client",
            id=turn + 2,
            method="session/prompt",
            params={"sessionId": SESSION, "prompt": prompt},
        )
        for _ in range(CHUNKS):
            update_session(
                "agent_message_chunk", content={"type": "text", "text": "some of the words of "}
            )
        use_tool(send, update_session, turn)
        send("agent", id=turn + 2, result={"stopReason": "end_turn"})
    return frames


def sender(frames: list[Frame]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return functions that append a message to `frames`, and an update of the session."""

    def send(side: Side, **message: Any) -> None:
        n = len(frames) + 1
        raw = json.dumps({"jsonrpc": "2.0"} | message, separators=(",", ":")).encode()
        frames.append(Frame(n, n / 1000, side, raw))

    def update_session(variant: str, **members: Any) -> None:
        update = {"sessionUpdate": variant} | members
        send("agent", method="session/update", params={"sessionId": SESSION, "update": update})

    return send, update_session


def begin_session(send: Callable[..., None]) -> None:
    """Send the opening of a connection and of its session."""
    info = {"name": "bench", "version": "1"}
    client = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
    params = {"protocolVersion": 1, "clientCapabilities": client, "clientInfo": info}
    agent = {"loadSession": True, "promptCapabilities": {"image": True}}
    result = {"protocolVersion": 1, "agentCapabilities": agent, "agentInfo": info}
    send("client", id=0, method="initialize", params=params)
    send("agent", id=0, result=result | {"authMethods": []})
    send("client", id=1, method="session/new", params={"cwd": "/home/ada", "mcpServers": []})
    send("agent", id=1, result={"sessionId": SESSION})


def use_tool(
    send: Callable[..., None], update_session: Callable[..., None], turn: int, progress: int = 0
) -> None:
    """Send a tool call that was allowed, with `progress` updates of its output, and a plan."""
    tool = f"call-{turn}"
    place = [{"path": "/home/ada/a.txt", "line": 1}]
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    permission = {"sessionId": SESSION, "toolCall": {"toolCallId": tool}, "options": options}
    title = {"title": "Read a file", "kind": "read", "status": "pending"}
    update_session("tool_call", toolCallId=tool, locations=place, **title)
    send("agent", id=turn, method="session/request_permission", params=permission)
    send("client", id=turn, result={"outcome": {"outcome": "selected", "optionId": "yes"}})
    update_session("tool_call_update", toolCallId=tool, status="in_progress")
    for n in range(progress):
        seen = [{"type": "content", "content": {"type": "text", "text": "line\n" * n}}]
        update_session("tool_call_update", toolCallId=tool, content=seen)
    read = [{"type": "content", "content": {"type": "text", "text": "Hello"}}]
    update_session("tool_call_update", toolCallId=tool, status="completed", content=read)
    update_session("plan", entries=[{"content": "Read", "priority": "high", "status": "completed"}])
