"""The conversations of one connection: the fold of its frames, which never fails.

Source: ACP, Prompt Turn; Tool Calls; Session Modes; ACP version 2, Prompt Lifecycle.
"""

from __future__ import annotations

from collections.abc import Sequence

from acp_inspector.analysis.conversation import Change, Conversation
from acp_inspector.analysis.items import member, string
from acp_inspector.analysis.questions import Asked, take_answer, take_request
from acp_inspector.analysis.reading import Reader
from acp_inspector.analysis.snapshot import Snapshot, Trouble
from acp_inspector.analysis.turns import Cursor, Turn
from acp_inspector.analysis.updates import apply_update
from acp_inspector.journal import Frame
from acp_protocol.dialects.dialect import Dialect
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    Batch,
    Failure,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
    id_key,
)


class Conversations:
    """Takes the frames of a connection, one after the other."""

    def __init__(self, dialect: Dialect | None = None) -> None:
        """Read what is spoken in `dialect`; None: recognise it."""
        self._reader = Reader(dialect)
        self.cursor = Cursor()
        """Where it stands."""
        self.sessions: dict[str, Conversation] = {}
        self.version = 1
        """The protocol version that was agreed on."""
        self.troubles: list[Trouble] = []
        """Error answers to questions that belong to no session."""
        self._asked: dict[tuple[Side, tuple[str, RequestId]], Asked] = {}

    def get(self, session_id: str) -> Conversation:
        """Return the conversation of a session, an empty one if nothing was said yet."""
        if session_id not in self.sessions:
            self.sessions[session_id] = Conversation(session_id, self.version, self.cursor)
        return self.sessions[session_id]

    def apply(self, frame: Frame, messages: Sequence[Message] | None = None) -> list[Change]:
        """Take the next frame; return what it changed. Never fails, whatever the frame says.

        Args:
            frame: The next one.
            messages: What it means in official words, where the caller has read it already.
        """
        self.cursor.n, self.cursor.at = frame.n, frame.at
        said = self._reader.messages(frame) if messages is None else messages
        return [change for message in said for change in self._apply(frame.side, message)]

    def restart(self, n: int, at: float) -> None:
        """Begin a new connection with entry `n`: what the last one has left undone stays so.

        Args:
            n: Number of the entry that tells of the new process.
            at: Its time, in seconds since the journal began.
        """
        self.cursor.n, self.cursor.at = n, at
        self._asked.clear()
        self.version = 1
        for talk in self.sessions.values():
            talk.cut_off()

    def at(self, n: int) -> dict[str, Snapshot]:
        """Return each session that was known after frame `n`, as it stood then."""
        known = ((key, talk) for key, talk in self.sessions.items() if talk.begun <= n)
        return {key: talk.at(n) for key, talk in known}

    def turn_of(self, session_id: str | None) -> Turn | None:
        """Return the turn of a session that goes on, or that the last frame has ended."""
        talk = self.sessions.get(session_id or "")
        if talk is None or not talk.turns:
            return None
        last = talk.turns[-1]
        return talk.turn or (last if last.ended == self.cursor.n else None)

    def asked(self, side: Side, id_: RequestId) -> Asked | None:
        """Return the question that waits for its answer under that id."""
        return self._asked.get((side, id_key(id_)))

    def _apply(self, side: Side, message: Message) -> list[Change]:
        match message:
            case Request() as request:
                asked, changes = take_request(self, side, request)
                self._asked[side, id_key(request.id)] = asked
                return changes
            case Notification(method="session/update", params=params) if side == "agent":
                session_id, update = member(params, "sessionId"), member(params, "update")
                if not isinstance(session_id, str):
                    return []
                return self._update(self.get(session_id), update)
            case Result() | Failure() as answer:
                asker: Side = "agent" if side == "client" else "client"
                asked = self._asked.pop((asker, id_key(answer.id)), None)
                return [] if asked is None else take_answer(self, side, asked, answer)
            case Batch(entries=entries):
                return [change for entry in entries for change in self._apply(side, entry)]
            case _:
                return []

    def _update(self, talk: Conversation, update: object) -> list[Change]:
        change = apply_update(talk, update)
        child = string(update, "sessionId")
        if child and string(update, "sessionUpdate") == "subagent_update":
            self.get(child).set(parent=talk.session_id)
        return [change]
