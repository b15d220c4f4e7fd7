"""What an event of a recording says, as a sentence; `SENTENCES` has one for each kind."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from string import Formatter
from typing import Final

from acp_console.wording.values import plural
from acp_inspector.journal import JournalEvent
from acp_inspector.session.edits import FrameEdit, edit_of, edit_text
from acp_inspector.session.items import Item, Notice
from acp_inspector.views.frame_row import SUMMARY_WIDTH
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_text import json_text
from acp_protocol.json_values import as_list
from acp_protocol.jsonrpc import Json

EDITED: Final = "✎"
"""Before a frame that was sent with other bytes than it came with."""
MAX_FRAMES: Final = 8
"""Most edited frames of an item that are named."""
BY: Final = " {by}"
CAUSES: Final[Mapping[str, str]] = {
    "person": "by a person",
    "time limit": "by the time limit",
    "no observer is attached": "because no observer is attached",
    "end": "at the end",
    "no stream": "because no stream is open for it",
    "proxy": "by the proxy",
}
"""What acted on a frame, if not a rule or an add-on."""

SENTENCES: Final[Mapping[str, tuple[str, ...]]] = {
    "spawn": ("the agent was started", ", process {pid}", ": {command}"),
    "dialect": ("the dialect is {dialect}",),
    "connect": ("a connection to the agent was opened", " at {url}"),
    "eof": ("the {from} closed its stream",),
    "exit": ("the agent ended", " with exit code {code}", " by signal {signal}"),
    "dropped": (
        "entries are missing here", " ({count} of them)", ", {bytes:byte}", " of {from}", ": {why}",
    ),
    "note": ("note", BY, " on frame {of}", ": {text}"),
    "decision": ("the user chose {choice}", " for {title}"),
    "held": (
        "⏸ frame {of} is held", ", breakpoint {filter}", ", message {entry} of its array",
    ),
    "released": ("▶ frame {of} was released", BY, ", after frame {after}"),
    "edited": (EDITED, " {change} in", " frame {of}", ", edited", BY),
    "corrupted": (EDITED, " {change} in", " frame {of}", ", corrupted", BY),
    "discarded": ("✕ frame {of} was dropped", BY, ", it answers frame {answers}"),
    "answered": ("✕ frame {of} was dropped and answered", BY),
    "injected": (
        "+ frame {of} was inserted", BY, " after frame {after}", " before frame {before}",
        ", it answers frame {answers}",
    ),
    "duplicated": ("frame {of} was sent {times:time}", BY),
    "delayed": ("frame {of} was sent {seconds} s later", BY),
    "throttled": ("frame {of} was sent at {rate} bytes a second", BY),
    "split": ("frame {of} was sent in pieces of {bytes:byte}", BY, ", {pause} s apart"),
    "reordered": (
        "frame {of} was made to wait for {frames:later frame}", BY, ", for {seconds} s at most",
    ),
    "preceded": ("this was sent before frame {of}", BY, ": {text}"),
    "line_ended": ("the line of frame {of} was ended with {ending}", BY),
    "cut": ("frame {of} was cut after {at:byte}", BY),
    "hung": ("✕ frame {of} and all after it were dropped", BY),
    "crashed": ("✕ the agent was killed in place of frame {of}", BY, ", with signal {signal}"),
    "refused": (
        "✕ a request got the status {status}", BY, ", that of frame {of}", ", request {id}",
    ),
    "late": (
        "a response was held back for {seconds} s", BY, ", that to frame {of}",
        ", that to request {id}",
    ),
    "http_request": ("HTTP request: {method} {path}", ", with frame {of} once more"),
    "http_response": (
        "HTTP response with status {status}", " to request {id}", BY, ": {why}", ": {body}",
    ),
    "sse_event": ("a message on the response stream of request {id}",),
    "ws_message": ("a message on a WebSocket", ", {kind}", ", of request {id}"),
    "ws_close": (
        "the WebSocket of request {id} was closed", " by the {from}", " with code {code}",
        ": {reason}",
    ),
    "http_end": ("the exchange of request {id} ended", ", broken off by the {from}", ": {why}"),
}  # fmt: skip
"""The sentence of each event: its first part, and those for which the event has all members.

`{count:entry}` is a number of that noun.
"""


def event_text(event: JournalEvent, width: int = SUMMARY_WIDTH) -> str:
    """Return an event on one line, safe to show: its sentence, or else its members."""
    sentence = _sentence(event.name, _members(event))
    if not sentence:
        named = (f"{key} {_word(value)}" for key, value in event.data.items())
        sentence = " ".join([event.name, *named])
    return single_line(sentence, width)


def edits_text(edits: Sequence[FrameEdit], left_out: Collection[int] = ()) -> str:
    """Return edits on one line: of a single one its sentence, of several their frames; "" of none.

    Of an edit that one of the entries `left_out` reports, it does not say what it changed.
    """
    if not edits:
        return ""
    if len(edits) == 1:
        [edit] = edits
        change = None if edit.seq in left_out else edit_text(edit)
        members = {"of": edit.of, "by": _cause(edit.by), "change": change}
        return single_line(_sentence("edited", members), SUMMARY_WIDTH)
    shown = ", ".join(str(each.of) for each in edits[:MAX_FRAMES])
    more = f" and {len(edits) - MAX_FRAMES} more" if len(edits) > MAX_FRAMES else ""
    return single_line(f"{EDITED} frames {shown}{more} were edited", SUMMARY_WIDTH)


def edits_notice(item: Item, edits: Sequence[FrameEdit]) -> Notice:
    """Return the notice for an item that edits have changed."""
    return Notice(f"edits {item.key}", edits_text(edits), edits[-1].of)


def _sentence(name: str, members: Mapping[str, Json]) -> str:
    """Return the sentence of a kind of event; empty if there is none."""
    first, *others = SENTENCES.get(name, ("",))
    begin = _filled(first, members)
    return begin and begin + "".join(_filled(part, members) for part in others)


def _cause(by: str) -> str | None:
    return CAUSES.get(by, f"by {by}") if by else None


def _members(event: JournalEvent) -> dict[str, Json]:
    """Return what the sentence of an event may speak of."""
    members = {**event.data}
    if isinstance(by := members.get("by"), str):
        members["by"] = _cause(by)
    if command := as_list(members.get("command")):
        members["command"] = " ".join(map(_word, command))
    if "ending" in members:
        members["ending"] = json.dumps(members["ending"])
    if event.name == "decision":
        members["choice"] = members.get("option_name") or members.get("option")
    if (edit := edit_of(event)) is not None:
        members["change"] = edit_text(edit)
    return members


def _filled(part: str, members: Mapping[str, Json]) -> str:
    """Return a part of a sentence with its members; empty if one of them is missing."""
    words: list[str] = []
    for text, name, noun, _ in Formatter().parse(part):
        words.append(text)
        if name is None:
            continue
        value = members.get(name)
        if value is None or isinstance(value, dict | list):
            return ""
        if noun:
            if type(value) is not int:
                return ""
            words.append(plural(value, noun))
        else:
            words.append(_word(value))
    return "".join(words)


def _word(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)
