"""The shapes of version 2 lead a type checker as the protocol's tags lead a reader."""

from __future__ import annotations

from acp_protocol import version
from acp_protocol.schema import v2


def told(update: v2.SessionUpdate) -> str:
    """Read an update by its tag, as far as it is of interest here."""
    match update:
        case {"sessionUpdate": "state_update", "state": "idle"}:
            return str(update.get("stopReason"))
        case {"sessionUpdate": "agent_message_chunk", "messageId": id_}:
            return id_
        case _:
            return ""


def test_the_tags_narrow_the_union() -> None:
    assert told({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}) == (
        "end_turn"
    )
    chunk: v2.SessionUpdate = {
        "sessionUpdate": "agent_message_chunk",
        "messageId": "m1",
        "content": {"type": "text", "text": "hi"},
    }
    assert told(chunk) == "m1"


def test_the_identity_is_among_those_that_the_programs_show() -> None:
    assert v2.SCHEMA_ID in version.SCHEMA_ID.split()
