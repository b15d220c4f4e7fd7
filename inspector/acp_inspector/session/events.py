"""What a message means for the sessions of a connection; `fold.Sessions` returns these events.

Each message gives first the fact of the wire: `RequestSent`, `ResponseReceived`, `Malformed`, the
event of its kind for an update of the agent (`UPDATES` says which), and `NotificationSent` for any
other notification. Then comes what it means: `SessionOpened` or `SessionClosed`, and `TurnBegan`
or `TurnEnded`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, TypeAlias

from acp_inspector.journal import Frame
from acp_inspector.session.exchanges import Exchange
from acp_inspector.session.turn import SessionTurn
from acp_protocol.jsonrpc import Json, Message, frozen_dataclass
from acp_protocol.schema.vocabulary import (
    ASYNCHRONOUS,
    CALL_UPDATES,
    TEXT_CHUNKS,
    WHOLE_MESSAGES,
)
from acp_protocol.schema.words import UpdateKind


@frozen_dataclass
class _Event:
    is_fact: ClassVar = True
    """Whether it is the fact of the wire, of which each message has one."""
    frame: Frame
    message: Message
    session: str | None
    """The session that it is about; None: it names none."""
    turn: SessionTurn | None
    """The turn that it belongs to: the one that it begins, joins or ends, else the newest one that
    runs in its session."""


@frozen_dataclass
class RequestSent(_Event):
    """A request of either side."""

    exchange: Exchange | None


@frozen_dataclass
class ResponseReceived(_Event):
    """A response of either side; the exchange is None if no open request has its id."""

    exchange: Exchange | None


@frozen_dataclass
class NotificationSent(_Event):
    """A notification that is no update of the agent."""


@frozen_dataclass
class Malformed(_Event):
    """A frame that is no message."""


@frozen_dataclass
class Updated(_Event):
    """A `session/update` of the agent with no event of its own, of known or unknown kind."""

    kind: str
    """Its `sessionUpdate`; empty if it has none."""
    update: Json


@frozen_dataclass
class TextAdded(Updated):
    """A whole message or the next piece of one."""


@frozen_dataclass
class CallChanged(Updated):
    """A tool call was announced or has changed."""


@frozen_dataclass
class TerminalChanged(Updated):
    """A terminal that the agent shows has changed (version 2)."""


@frozen_dataclass
class OptionChanged(Updated):
    """A property of the session has changed, which can happen at any time: also between turns."""


@frozen_dataclass
class StateChanged(Updated):
    """The agent has reported its state (version 2)."""


@frozen_dataclass
class _Meaning(_Event):
    is_fact: ClassVar = False


@frozen_dataclass
class SessionOpened(_Meaning):
    """A session was created, loaded, resumed or forked; the message is the response."""

    exchange: Exchange
    """Its request opened it."""


@frozen_dataclass
class SessionClosed(_Meaning):
    """A session was closed or deleted; the message is the response."""


@frozen_dataclass
class TurnBegan(_Meaning):
    """A turn has begun: by a prompt, or in version 2 because the agent reports that it runs."""


@frozen_dataclass
class TurnEnded(_Meaning):
    """A turn has ended; `turn` knows why."""


SessionEvent: TypeAlias = (
    RequestSent
    | ResponseReceived
    | NotificationSent
    | Malformed
    | Updated
    | TextAdded
    | CallChanged
    | TerminalChanged
    | OptionChanged
    | StateChanged
    | SessionOpened
    | SessionClosed
    | TurnBegan
    | TurnEnded
)

UPDATES: Final[Mapping[UpdateKind, type[Updated]]] = {
    **dict.fromkeys((*TEXT_CHUNKS, *WHOLE_MESSAGES, "session_message"), TextAdded),
    **dict.fromkeys(CALL_UPDATES, CallChanged),
    **dict.fromkeys(("terminal_update", "terminal_output_chunk"), TerminalChanged),
    **dict.fromkeys(ASYNCHRONOUS, OptionChanged),
    "state_update": StateChanged,
}
"""The event of each kind of update; of all others it is `Updated`."""
