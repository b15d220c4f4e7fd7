"""The states of a chat, and what leads from one to another; nothing else decides that.

| state         | is shown as  | what is so                                                       |
|---------------|--------------|------------------------------------------------------------------|
| `opening`     | starting     | the agent starts, or is asked to open the session                |
| `configuring` | starting     | the session is open; its mode and options are being set          |
| `signing_in`  | starting     | the session is open; a login goes on, and prompts wait for it    |
| `ready`       | ready        | the agent waits for a prompt                                     |
| `reading`     | working      | the files that a prompt mentions are read; nothing is sent yet   |
| `working`     | working      | a turn runs                                                      |
| `cancelling`  | stopping     | the user has cancelled the turn; the agent is notified next      |
| `stopping`    | stopping     | the agent knows it, and has not ended the turn yet               |
| `refused`     | stopped      | the agent runs, but did not open the session, as without a login |
| `failed`      | stopped      | the agent has ended, or could not start, before it opened one    |
| `ended`       | stopped      | the agent has ended, and the session with it; a restart goes on  |
| `lost`        | reconnecting | the connection to a remote agent broke; it is opened again soon  |

That the agent waits for the user, for a permission or a form, is no state of its own: it can do so
in several, also while it opens the session. What a chat does on the way from one state to another,
such as to give back a prompt that was not sent, is in `ChatSession`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

State: TypeAlias = Literal[
    "opening",
    "configuring",
    "signing_in",
    "ready",
    "reading",
    "working",
    "cancelling",
    "stopping",
    "refused",
    "failed",
    "ended",
    "lost",
]
ShownState: TypeAlias = Literal[
    "starting", "ready", "working", "stopping", "stopped", "reconnecting"
]
Event: TypeAlias = Literal[
    "agent_starts",
    "opened",
    "configured",
    "refused",
    "agent_ended",
    "connection_lost",
    "prompt",
    "prompt_sent",
    "turn_over",
    "cancel",
    "cancel_sent",
    "sign_in",
    "signed_in",
]

SHOWN: Final[Mapping[State, ShownState]] = {
    "opening": "starting",
    "configuring": "starting",
    "signing_in": "starting",
    "ready": "ready",
    "reading": "working",
    "working": "working",
    "cancelling": "stopping",
    "stopping": "stopping",
    "refused": "stopped",
    "failed": "stopped",
    "ended": "stopped",
    "lost": "reconnecting",
}
OPEN: Final[frozenset[State]] = frozenset(SHOWN) - {"opening", "refused", "failed", "lost"}
"""The states in which the agent has opened the session; in `ended`, it had."""
TRANSITIONS: Final[Mapping[Event, Mapping[State, State]]] = {
    "agent_starts": dict.fromkeys(SHOWN, "opening"),
    "agent_ended": {state: "ended" if state in OPEN else "failed" for state in SHOWN},
    "connection_lost": dict.fromkeys(SHOWN, "lost"),
    "opened": {"opening": "configuring"},
    "configured": {"configuring": "ready"},
    "refused": {"opening": "refused", "configuring": "ended"},
    "prompt": {"ready": "reading"},
    "prompt_sent": {"reading": "working"},
    "turn_over": {"working": "ready", "cancelling": "ready", "stopping": "ready"},
    "cancel": {"reading": "ready", "working": "cancelling", "stopping": "cancelling"},
    "cancel_sent": {"cancelling": "stopping"},
    "sign_in": {"refused": "opening", "ready": "signing_in"},
    "signed_in": {"signing_in": "ready"},
}
"""Where each event leads, by the state before; in other states it changes nothing."""


class ChatState:
    """The state of one chat; it changes by events only."""

    def __init__(self) -> None:
        self.now: State = "opening"

    def take(self, event: Event) -> bool:
        """Go where an event leads; return whether it leads somewhere from here."""
        after = TRANSITIONS[event].get(self.now)
        if after is None:
            return False
        self.now = after
        return True

    @property
    def shown(self) -> ShownState:
        return SHOWN[self.now]

    @property
    def is_open(self) -> bool:
        """Whether the agent has opened the session."""
        return self.now in OPEN
