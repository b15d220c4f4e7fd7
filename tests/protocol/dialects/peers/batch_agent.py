"""An agent of the mid-2026 draft of version 2 that takes batches, by the rules of its own page."""

from __future__ import annotations

import json
import sys
from typing import Any, cast

SESSION = "sess-1"


def write(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def update(tag: str, **members: Any) -> None:
    params = {"sessionId": SESSION, "update": {"sessionUpdate": tag} | members}
    write({"jsonrpc": "2.0", "method": "session/update", "params": params})


def error(id_: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


def run() -> None:
    """Stream a turn, whose question has been answered already."""
    content = [{"type": "text", "text": "Hello"}]
    update("user_message", messageId="m1", content=content)
    update("state_update", state="running")
    chunk = {"type": "text", "text": "Hello to you."}
    update("agent_message_chunk", messageId="m2", content=chunk)
    update("tool_call_update", toolCallId="t1", title="Read", kind="read", status="completed")
    update("state_update", state="idle", stopReason="end_turn")


class Agent:
    def __init__(self) -> None:
        self.has_turn = False

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the response to one entry; None for a notification and for a response."""
        if "method" not in message and ("result" in message or "error" in message):
            return None
        is_call = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
        if not is_call:
            return error(None, -32600, "Invalid Request")
        if "id" not in message:
            return None
        result = self.result(message["method"], message.get("params", {}))
        if result is None:
            return error(message["id"], -32601, "Method not found")
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def result(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        match method:
            case "initialize":
                info = {"name": "batch-agent", "version": "1.0.0"}
                capabilities: Any = {"session": {}}
                return {"protocolVersion": 2, "info": info, "capabilities": capabilities}
            case "session/new":
                return {"sessionId": SESSION}
            case "session/list":
                return {"sessions": [{"sessionId": SESSION, "cwd": "/"}]}
            case "session/prompt" if params.get("sessionId") == SESSION:
                self.has_turn = True
                return {}
            case _:
                return None

    def take(self, line: str) -> None:
        try:
            value: Any = json.loads(line)
        except ValueError:
            write(error(None, -32700, "Parse error"))
            return
        if isinstance(value, list):
            self.take_batch(cast("list[Any]", value))
            return
        response = self.take_entry(value)
        if response is not None:
            write(response)

    def take_batch(self, batch: list[Any]) -> None:
        if not batch:
            write(error(None, -32600, "Invalid Request"))
            return
        answers = [self.take_entry(entry) for entry in batch]
        if responses := [answer for answer in answers if answer is not None]:
            write(responses)

    def take_entry(self, entry: Any) -> dict[str, Any] | None:
        if isinstance(entry, dict):
            return self.answer(cast("dict[str, Any]", entry))
        return error(None, -32600, "Invalid Request")


def main() -> None:
    agent = Agent()
    for line in sys.stdin:
        agent.take(line)
        if agent.has_turn:
            agent.has_turn = False
            run()


if __name__ == "__main__":
    main()
