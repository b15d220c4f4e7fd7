"""Talks in which messages were changed on their way."""

from __future__ import annotations

import json
from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps


def edited(talk: Talk, was: dict[str, Any], now: dict[str, Any]) -> None:
    """Send a message that left otherwise than it came."""
    talk.open()
    call = {"jsonrpc": "2.0", "method": "session/cancel"}
    frame = talk.tell("session/cancel", **was)
    lines = {
        name: json.dumps(call | {"params": params}) for name, params in (("was", was), ("now", now))
    }
    talk.event("edited", of=frame, by="rule", **lines)


@breaks("unknown-value-lost", 2)
def a_meta_was_lost(talk: Talk) -> None:
    edited(talk, {"sessionId": "s1", "_meta": {"acme.dev/a": 1}}, {"sessionId": "s1"})


@breaks("unknown-value-lost", 2)
def an_unknown_member_was_lost(talk: Talk) -> None:
    edited(talk, {"sessionId": "s1", "reason": "tired"}, {"sessionId": "s2"})


@keeps("unknown-value-lost", 2)
def a_meta_was_kept(talk: Talk) -> None:
    meta = {"acme.dev/a": {"b": 1}}
    edited(talk, {"sessionId": "s1", "_meta": meta}, {"sessionId": "s2", "_meta": meta})
