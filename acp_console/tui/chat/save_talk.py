"""Saves a chat: the dialog of the traffic asks how, and the same code writes the file."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from anyio import to_thread
from textual.screen import Screen

from acp_console.chat.chat_session import ChatSession
from acp_console.kept.session_store import (
    RecordedSessions,
    export_journal,
    export_recording,
    name_slug,
)
from acp_console.tui.traffic.save_screen import SaveScreen, save_as_wanted
from acp_inspector.filter.entries import RecordingEntries
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls

if TYPE_CHECKING:
    from textual.app import App

ROWS: Final = "this chat"


async def save_talk(app: App[int], chat: ChatSession, store: RecordedSessions | None) -> None:
    """Ask where to save a chat, and as what; other sessions of its agent are left out."""
    with TemporaryDirectory(prefix="acp-talk-") as folder:
        recording = Path(folder, "talk.acp.ndjson")
        try:
            await to_thread.run_sync(_write, chat, store, recording)
            with RecordingEntries(recording) as entries:
                await to_thread.run_sync(entries.index_all)
                await _ask_and_save(app, entries, name_slug(chat.name) or "talk")
        except AcpError as problem:
            app.notify(escape_controls(str(problem)), severity="error", markup=False)


async def _ask_and_save(app: App[int], entries: RecordingEntries, name: str) -> None:
    rows = range(len(entries))
    asking = SaveScreen(entries, {ROWS: rows}, ROWS, format_="Markdown", name=name)
    wanted = await app.push_screen_wait(asking)
    if wanted is not None:
        screen: Screen[object] = app.screen
        await save_as_wanted(screen, entries, wanted)


def _write(chat: ChatSession, store: RecordedSessions | None, path: Path) -> None:
    """Write a recording of a chat: all of its runs, or what came since the console began."""
    run, session_id = chat.agent.run_record, chat.session_id
    if store is not None and run is not None and run.recording is not None:
        kept = store.sessions(with_empty=True)
        found = [each for each in kept if each.recording == run.recording]
        if session := next((each for each in found if each.session_id == session_id), None):
            export_recording(session, path)
            return
    sessions = {each.session_id for each in chat.agent.sessions}
    others = [each for each in sessions if each is not None and each != session_id]
    export_journal(chat.journal, chat.spec, chat.cwd, others, path)
