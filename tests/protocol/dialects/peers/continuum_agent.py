"""An agent that speaks as Continuum Router's document has it, and knows nothing else."""

from __future__ import annotations

import json
import sys
from typing import Any, TypeAlias

Answer: TypeAlias = dict[str, Any] | tuple[int, str] | None
"""A result, or an error's code and message; None when the answer comes later."""

SESSION = "550e8400-e29b-41d4-a716-446655440000"
TIME = "2026-03-08T12:00:00Z"
CAPABILITIES = {
    "loadSession": True,
    "image": False,
    "audio": False,
    "embeddedContext": False,
    "mcp": True,
    "mcpCapabilities": {"acp": True},
}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


def tell(method: str, **params: Any) -> None:
    send({"method": method, "params": {"sessionId": SESSION} | params})


class Agent:
    def __init__(self) -> None:
        self.is_initialized = False
        self.mode = ""
        self.prompt: Any = None

    def answer(self, method: str, params: dict[str, Any], id_: Any) -> Answer:
        if method == "initialize":
            self.is_initialized = True
            info = {"name": "Continuum Router", "version": "1.3.0-beta.1"}
            return {
                "protocolVersion": 1,
                "agentCapabilities": CAPABILITIES,
                "agentInfo": info,
                "authMethods": [],
            }
        if not self.is_initialized:
            return (-32002, "Server not initialized")
        match method:
            case "authenticate":
                return {} if "method" in params else (-32602, "method is missing")
            case "session/new" | "session/load":
                return self.open(params)
            case "session/set_mode":
                before, self.mode = self.mode, params["mode"]
                return {"mode": self.mode, "previousMode": before}
            case "session/cancel":
                self.cancel()
                return {}
            case "session/prompt":
                return self.run(params, id_)
            case _:
                return (-32601, "Method not found")

    def open(self, params: dict[str, Any]) -> Answer:
        if "cwd" in params or params.get("sessionId", SESSION) != SESSION:
            return (-32001, "Session not found")
        self.mode = params.get("mode", "code")
        times = {"createdAt": TIME, "updatedAt": TIME}
        return {"sessionId": SESSION} | times | {"mode": self.mode, "historyLength": 0}

    def run(self, params: dict[str, Any], id_: Any) -> Answer:
        if params["sessionId"] != SESSION:
            return (-32001, "Session not found")
        text = params["content"][0]["text"]
        tell("session/update", content=[{"type": "text", "text": "The architecture"}])
        if text == "wait":
            self.prompt = id_
            return None
        tool = {"toolCallId": "tc-1", "title": "Edit File", "kind": "edit"}
        places = [{"uri": "file:///src/main.rs", "startLine": 42}]
        tell("session/request_permission", **tool, locations=places)
        tell("session/update", **tool, status="completed")
        blocks = [{"type": "text", "text": " is"}, {"type": "text", "text": " simple."}]
        tell("session/update", content=blocks)
        return {"stopReason": "end_turn"}

    def cancel(self) -> None:
        if self.prompt is not None:
            send({"id": self.prompt, "result": {"stopReason": "cancelled"}})
            self.prompt = None


def main() -> None:
    agent = Agent()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        answer = agent.answer(message["method"], message.get("params", {}), message["id"])
        if isinstance(answer, tuple):
            code, text = answer
            send({"id": message["id"], "error": {"code": code, "message": text}})
        elif answer is not None:
            send({"id": message["id"], "result": answer})


if __name__ == "__main__":
    main()
