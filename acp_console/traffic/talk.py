"""The conversation as it stood after an entry: what the chat shows of that moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acp_console.wording.events import edits_notice
from acp_inspector.session.conversation import SessionInfo, SessionSnapshot
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import Item


@dataclass(frozen=True, slots=True)
class Talk:
    """The last items of a session after entry `n`; nothing in it changes."""

    n: int
    session_id: str
    info: SessionInfo
    items: Sequence[Item]
    """Behind each that edits have changed, a notice says so."""
    frames: Sequence[int]
    """The frame that mentioned each item first; of such a notice the edited frame."""
    left_out: int
    """Earlier items that are not in `items`."""
    sessions: int
    """Sessions that were known by then."""


def talk_at(
    conversations: Conversations,
    n: int,
    most: int,
    session_id: str | None = None,
) -> Talk | None:
    """Return a session after entry `n`; None if no session was known by then.

    Args:
        conversations: the fold over the entries, at `n` or beyond.
        n: the number of the entry.
        most: items to return, at most.
        session_id: the session; None or an unknown one: the one that said something last.
    """
    known = conversations.at(n)
    chosen = known.get(session_id or "")
    if chosen is None:
        chosen = max(known.values(), key=_last_frame, default=None)
    if chosen is None:
        return None
    left_out = max(len(chosen.items) - most, 0)
    items, frames = list[Item](), list[int]()
    for item, frame in zip(chosen.items[left_out:], chosen.items.frames(left_out), strict=True):
        items.append(item)
        frames.append(frame)
        if edits := chosen.edits_of(item):
            frames.append(edits[-1].of)
            items.append(edits_notice(item, edits))
    return Talk(n, chosen.session_id, chosen.info, items, frames, left_out, len(known))


def _last_frame(session: SessionSnapshot) -> int:
    return max(session.items.frames(-1), default=0)
