"""The connections of a recording, their framing, and what the recording lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.messages import Decoder
from acp_inspector.recording.reader import Recording
from acp_protocol.dialects.registry import open_translator
from acp_protocol.dialects.spellings import NO_DIALECT
from acp_protocol.framing import Framing
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get_int, get_text

_WIDTH: Final = 200


def framing_of(recording: Recording) -> Framing:
    """Return how a client separates the frames of a recording."""
    if any(frame.header for frame in recording.frames):
        return "headers"
    translator = open_translator(recorded_dialect(recording))
    return "lines" if translator is None else translator.framing


def recorded_dialect(recording: Recording) -> str | None:
    """Return the dialect of a recording; None for the published protocol."""
    decoder = Decoder()
    decoder.begin_recording(recording.header.dialect, recording.header.cwd)
    found: str | None = None
    for entry in recording.entries:
        if isinstance(entry, JournalEvent):
            decoder.note(entry)
        elif isinstance(entry, Frame):
            decoder.decode(entry)
        found = decoder.dialect or decoder.named or found
    return None if found == NO_DIALECT else found


def connections(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return the entries of each connection that has frames.

    A new one begins with a new process, or where the numbers begin anew because files were joined.
    A client that finds out how its agent speaks starts it once more: an attempt that got not one
    frame before the next process was started is no connection.
    """
    parts: list[list[Entry]] = [[]]
    for entry in entries:
        is_new_process = isinstance(entry, JournalEvent) and entry.begins_connection
        if is_new_process or (parts[-1] and entry.seq <= parts[-1][-1].seq):
            parts.append([])
        parts[-1].append(entry)
    frames = [{each.side for each in part if isinstance(each, Frame)} for part in parts]
    last = len(parts) - 1
    return [
        part
        for n, (part, sides) in enumerate(zip(parts, frames, strict=True))
        if "agent" in sides or (sides and n == last)
    ] or [[]]


def gaps(recording: Recording) -> list[str]:
    """Return a sentence for each thing that the recording lacks."""
    found = [f"line {line.line} of the file: {line.reason}" for line in recording.bad_lines]
    before = joined = 0
    for entry in recording.entries:
        is_dropped = isinstance(entry, JournalEvent) and entry.name == "dropped"
        if entry.seq > before + 1 and not is_dropped and entry.seq - before - 1 <= joined:
            # These were lines of frames that are joined.
            joined -= entry.seq - before - 1
        elif entry.seq > before + 1 and not is_dropped:
            missing = (
                f"{before + 1} to {entry.seq - 1}" if entry.seq > before + 2 else f"{before + 1}"
            )
            found.append(f"number {missing} is missing in the recording")
        before = entry.seq
        joined += entry.wire.count(b"\n") if isinstance(entry, Frame) and entry.header else 0
        if isinstance(entry, JournalEvent) and is_dropped:
            found.append(_dropped(entry))
    return found


def _dropped(event: JournalEvent) -> str:
    """Return what a recorder left out before this event; untrusted."""
    count, size = get_int(event.data, "count"), get_int(event.data, "bytes")
    amounts = [f"{count} entries" if count != 1 else "1 entry"] if count else []
    amounts += [f"{size} bytes"] if size else []
    what = " with ".join(amounts) or "some entries"
    sender, why = get_text(event.data, "from"), get_text(event.data, "why")
    text = f"the recorder left out {what}" + (f" of {sender}" if sender else "")
    return single_line(f"{text}: {why}" if why else text, _WIDTH)
