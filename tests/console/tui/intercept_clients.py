"""An intercept client without a proxy: it holds what it is given, and notes its commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from acp_console.traffic.intercept import HeldFrame, InjectedFrame, InterceptClient, InterceptState
from acp_inspector.control.client import AttachError
from acp_protocol.framing import Side

ASK = (
    b'{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1",'
    b'"toolCall":{"toolCallId":"c1","title":"Edit [b]a.txt[/b]"},'
    b'"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}'
)
PROMPT = (
    b'{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1",'
    b'"prompt":[{"type":"text","text":"hi"}]}}'
)


class FakeInterceptClient(InterceptClient):
    """Nothing happens by itself."""

    def __init__(self, *holds: HeldFrame, **state: Any) -> None:
        super().__init__(Path("nowhere"))
        self.state = InterceptState("there", held_frames=holds, **state)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.wholes: dict[int, bytes] = {}

    def send_command(self, command: str, /, **members: Any) -> None:
        self.asked.append((command, members))

    def inject(self, side: Side, raw: bytes, *, is_forced: bool, keeps_id: bool) -> InjectedFrame:
        self.asked.append(
            ("inject", {"from": side, "raw": raw, "force": is_forced, "keep_id": keeps_id})
        )
        sent = InjectedFrame(side, raw.decode())
        self.sent.append(sent)
        return sent

    def read_frame(self, hold: HeldFrame) -> bytes:
        if hold.is_whole:
            return hold.raw
        if hold.id not in self.wholes:
            raise AttachError("it has left")
        return self.wholes[hold.id]

    def become(self, *holds: HeldFrame, **state: Any) -> None:
        """Hold these from now on."""
        self.state = replace(self.state, held_frames=holds, **state)
        self.news()


def held(raw: bytes = PROMPT, **fields: Any) -> HeldFrame:
    """Return a message that is paused at a breakpoint."""
    values: dict[str, Any] = {
        "id": 1,
        "seq": 12,
        "side": "client",
        "seconds_left": 47.0,
        "queued_behind": 0,
        "size": len(raw),
        **fields,
    }
    return HeldFrame(raw=raw, **values)
