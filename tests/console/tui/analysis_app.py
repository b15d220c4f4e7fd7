"""An app that holds nothing but the analysis of a few entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from textual.app import App, ComposeResult

from acp_console.traffic.analysis import AnalysisFolds
from acp_console.tui.analysis.pane import AnalysisPane
from acp_console.tui.analysis.tab import AnalysisTab
from acp_console.tui.footer import KeyFooter
from acp_inspector.filter.entries import EntryList
from acp_inspector.journal import Entry, JournalEvent
from acp_inspector.recording.format import Header
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.views.session_model import SessionModel
from tests.console.tui.conftest import entries, update

EVIL = "\x1b[31m[b]red[/b] [link=file:///x]y\u202e\u200b\x07 日本語 "
"""What a terminal or a markup would obey, and wide characters."""


class AnalysisApp(App[None]):
    """Shows what is known of entries, and notes what is chosen."""

    def __init__(self, said: Iterable[Entry], *, is_over: bool = True) -> None:
        super().__init__()
        self.said = EntryList(said)
        self.folds = AnalysisFolds(lambda: self.said, is_over=lambda: is_over)
        self.now: float | None = None
        """Seconds since the traffic began; None: it has ended."""
        self.pane = AnalysisPane(self.folds, now=lambda: self.now)
        self.targets: list[int | str] = []
        self.steps: list[int] = []
        self.has_left = False

    def compose(self) -> ComposeResult:
        yield self.pane
        yield KeyFooter()

    def on_unmount(self) -> None:
        self.folds.close()

    def extend(self, said: Sequence[Entry]) -> None:
        """Take what is said next."""
        self.said.extend(said)
        self.folds.wake()

    def on_analysis_tab_target_chosen(self, event: AnalysisTab.TargetChosen) -> None:
        self.targets.append(event.target)

    def on_analysis_pane_stepped(self, event: AnalysisPane.Stepped) -> None:
        self.steps.append(event.step)

    def on_analysis_pane_closed(self) -> None:
        self.has_left = True


def analysed(said: Sequence[Entry]) -> SessionModel:
    """Return what is known of entries."""
    model = SessionModel()
    model.read(said)
    return model


def talk(text: str = "hi") -> list[Entry]:
    """Return a turn in which a permission waits, and a file cannot be read."""
    capabilities = {"loadSession": True, "promptCapabilities": {"image": True}}
    return entries(
        ("client", {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}),
        ("agent", {"id": 0, "result": {"protocolVersion": 1, "agentCapabilities": capabilities}}),
        ("client", {"id": 1, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}}),
        ("agent", {"id": 1, "result": {"sessionId": "s1"}}),
        (
            "client",
            {
                "id": 2,
                "method": "session/prompt",
                "params": {"sessionId": "s1", "prompt": [{"type": "text", "text": text}]},
            },
        ),
        update("agent_message_chunk", content={"type": "text", "text": f"Reading {text}."}),
        (
            "agent",
            {"id": 2, "method": "fs/read_text_file", "params": {"sessionId": "s1", "path": "/w/a"}},
        ),
        ("client", {"id": 2, "error": {"code": -32601, "message": "no such method"}}),
        update("tool_call", toolCallId="c1", title=f"Edit {text}", kind="edit", status="pending"),
        (
            "agent",
            {
                "id": 3,
                "method": "session/request_permission",
                "params": {
                    "sessionId": "s1",
                    "toolCall": {"toolCallId": "c1"},
                    "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
                },
            },
        ),
    )


def recording(folder: Path) -> Path:
    """Write a recording of 52 entries and its end, the same each year, and return its place."""
    spoken = [
        *talk("/tour"),
        *entries(*(_chunk(n) for n in range(38))),
        *entries(
            ("client", {"id": 3, "result": {"outcome": {"outcome": "cancelled"}}}),
            ("agent", {"id": 2, "result": {"stopReason": "end_turn"}}),
        ),
    ]
    said: list[Entry] = [JournalEvent(1, 0.0, "spawn", {"pid": 7})]
    said += [replace(entry, seq=n, time=n / 10) for n, entry in enumerate(spoken, start=2)]
    said.append(JournalEvent(len(said) + 1, 6.0, "exit", {"code": 0}))
    header = Header("2026-01-01T00:00:00+00:00", "a test", "", about="a turn, as it was")
    path = folder / "talk.acp.ndjson"
    writer = RecordingWriter(path, header)
    writer.write(said)
    writer.close()
    return path


def _chunk(n: int) -> tuple[str, dict[str, object]]:
    return update("agent_message_chunk", content={"type": "text", "text": f"Word {n}. "})
