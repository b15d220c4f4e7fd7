"""Frames for tests of what looks at traffic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from acp_inspector.journal import Frame
from acp_inspector.messages import DecodedFrame
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.views.frame_row import FrameRow, decoded_row
from acp_protocol.framing import Side

Said: TypeAlias = tuple[Side, Mapping[str, Any] | bytes]


def frames(*said: Said) -> list[Frame]:
    """Return what was said as frames, a tenth of a second apart; bytes stand for themselves."""
    return [
        Frame(n, n / 10, side, what if isinstance(what, bytes) else encoded(what))
        for n, (side, what) in enumerate(said, start=1)
    ]


def encoded(message: Mapping[str, Any]) -> bytes:
    """Return a message's line; the version is added."""
    return json.dumps({"jsonrpc": "2.0"} | dict(message)).encode()


def ask(side: Side, id_: str | int | None, method: str, **params: Any) -> Said:
    """Return a request."""
    return side, {"id": id_, "method": method, "params": params}


def answer(side: Side, id_: str | int | None, result: Any) -> Said:
    """Return a result."""
    return side, {"id": id_, "result": result}


def batch(*said: Said) -> Said:
    """Return what one side said as an array."""
    lines = [what if isinstance(what, bytes) else encoded(what) for _, what in said]
    return said[0][0], b"[" + b",".join(lines) + b"]"


def update(name: str, /, *, session: str = "s1", **members: Any) -> Said:
    """Return the agent's `session/update`."""
    inner = {"sessionUpdate": name} | members
    return "agent", {"method": "session/update", "params": {"sessionId": session, "update": inner}}


def chunk(
    text: str, *, kind: str = "agent_message_chunk", session: str = "s1", **more: Any
) -> Said:
    """Return a piece of text."""
    return update(kind, session=session, content={"type": "text", "text": text}, **more)


def prompt(id_: int, text: str, *, session: str = "s1") -> Said:
    """Return the client's prompt."""
    blocks = [{"type": "text", "text": text}]
    return ask("client", id_, "session/prompt", sessionId=session, prompt=blocks)


def paired_row(frame: Frame, exchanges: Exchanges) -> FrameRow:
    """Return the row of the next frame, in the published protocol."""
    decoded = DecodedFrame(frame)
    exchanges.pair(decoded)
    return decoded_row(decoded)
