"""How fast `snapshot` reads a long stream, and what each of its stages costs."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson

from acp_inspector.journal import Frame
from acp_inspector.lint.engine import lint
from acp_inspector.recording.format import new_header
from acp_inspector.recording.reader import Recording, garbage_collection_off, read_recording
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.replay.snapshot import (
    compare_with_snapshot,
    snapshot_path,
    take_snapshot,
    write_snapshot,
)
from acp_inspector.views.session_model import SessionModel
from benchmarks.lint import SESSION, begin_session, sender, use_tool
from benchmarks.table import Row, Section, Spread

FRAMES: Final = int(os.environ.get("BENCH_STREAM_FRAMES", "200000"))
ROUNDS: Final = 3
THOUGHTS: Final = 40
"""Chunks of thought in each turn."""
CHUNKS: Final = 200
"""Chunks of its message, the most of what an agent sends."""
TOOLS: Final = 2
"""Tool calls, each with a request for permission."""
PROGRESS: Final = 20
"""Updates of each tool call while it runs."""


def measure() -> Section:
    """Read a stream by JSON alone, by each stage alone, and whole."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stream.acp.ndjson")
        writer = RecordingWriter(path, new_header(["agent"], Path("/home/ada")))
        writer.write(stream(FRAMES))
        writer.close()
        recording = read_recording(path)
        write_snapshot(snapshot_path(path), take_snapshot(recording))
        entries = recording.entries
        stages: tuple[tuple[str, Callable[[], object]], ...] = (
            ("orjson, each line and its message", lambda: _read(path)),
            ("reading the file", lambda: read_recording(path)),
            ("the rules of lint", lambda: lint(entries)),
            (
                "the conversations and exchanges",
                lambda: _fold(recording),
            ),
            (
                "the whole, with the stored snapshot",
                lambda: _replay(path),
            ),
        )
        spreads = [Spread.of([_duration(run) for _ in range(ROUNDS)]) for _, run in stages]
    count, floor = len(recording.frames), spreads[0].median
    goals = ("", "", "≥ 20,000/s", "", "≥ 12,000/s")
    return Section(
        f"comparing {count:,} frames of a stream with a snapshot",
        tuple(
            Row(
                what,
                f"{count / spread.median:,.0f}/s",
                f"{count / spread.slow:,.0f}/s",
                f"{spread.median / floor:.1f} × orjson",
                goal,
            )
            for (what, _), spread, goal in zip(stages, spreads, goals, strict=True)
        ),
    )


def _duration(run: Callable[[], object]) -> float:
    """Return the seconds of CPU that it takes: it waits for nothing."""
    began = time.process_time()
    run()
    return time.process_time() - began


def _read(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)


def _replay(path: Path) -> None:
    with garbage_collection_off():
        result = compare_with_snapshot(read_recording(path))
    if result is None or not result.is_passed:
        raise ValueError("the recording does not equal its snapshot")


def _fold(recording: Recording) -> None:
    SessionModel(has_conversations_only=True).read(recording.entries)


def stream(count: int) -> list[Frame]:
    """Return a connection of at least that many frames: turns with long texts and a tool call."""
    frames: list[Frame] = []
    send, update_session = sender(frames)
    begin_session(send)
    turn = 0
    while len(frames) < count:
        turn += 1
        prompt = [{"type": "text", "text": f"Explain part {turn} of the file."}]
        params: dict[str, Any] = {"sessionId": SESSION, "prompt": prompt}
        send("client", id=turn + 1, method="session/prompt", params=params)
        for kind, chunks in (("agent_thought_chunk", THOUGHTS), ("agent_message_chunk", CHUNKS)):
            for n in range(chunks):
                content = {"type": "text", "text": f"words {n} of turn {turn}, "}
                update_session(kind, content=content)
        for n in range(TOOLS):
            use_tool(send, update_session, TOOLS * turn + n, PROGRESS)
        update_session("usage_update", used=turn * 100, size=200_000)
        send("agent", id=turn + 1, result={"stopReason": "end_turn"})
    return frames
