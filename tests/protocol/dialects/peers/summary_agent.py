"""An agent that speaks as the early summary of version 1 has it, and knows nothing else."""

from __future__ import annotations

import json
import sys
from typing import Any, TypeAlias

Answer: TypeAlias = dict[str, Any] | tuple[int, str] | None
"""A result, or an error's code and message."""

SESSION = "sess-1"
TOOL = {"toolCallId": "call-1", "title": "Edit the file", "kind": "edit"}
OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
ENTRY = {"content": "Edit it", "priority": "high", "status": "in_progress"}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def update(tag: str, **members: Any) -> None:
    params = {"sessionId": SESSION, "update": {"sessionUpdate": tag} | members}
    send({"method": "session/update", "params": params})


def say(text: str, tag: str = "agent_message_chunk") -> None:
    update(tag, content={"type": "text", "text": text})


def is_allowed() -> bool:
    params = {"sessionId": SESSION, "toolCall": TOOL, "options": OPTIONS}
    send({"id": "p1", "method": "session/request_permission", "params": params})
    outcome = receive()["result"]["outcome"]
    return outcome == {"outcome": "selected", "optionId": "yes"}


def run(params: dict[str, Any]) -> Answer:
    if params["sessionId"] != SESSION:
        return (-32602, "no such session")
    say("Let me see.")
    if params["prompt"][0]["text"] == "wait":
        while receive().get("method") != "session/cancel":
            pass
        return {"stopReason": "cancelled"}
    update("plan", entries=[ENTRY])
    update("tool_call", **TOOL, status="pending", content=[], rawInput={"path": "/a.txt"})
    if is_allowed():
        diff = {"type": "diff", "path": "/a.txt", "oldText": None, "newText": "a\n"}
        places = [{"path": "/a.txt", "line": 1}]
        done = {"status": "completed", "content": [diff], "locations": places}
        update("tool_call_update", toolCallId="call-1", **done)
    else:
        update("tool_call_update", toolCallId="call-1", status="failed")
    say(" Done.")
    return {"stopReason": "end_turn"}


def answer(method: str, params: dict[str, Any]) -> Answer:
    match method:
        case "initialize":
            prompts = {"image": False, "audio": False, "embeddedContext": False}
            capabilities = {"loadSession": True, "promptCapabilities": prompts}
            return {"protocolVersion": 1, "agentCapabilities": capabilities, "authMethods": []}
        case "authenticate":
            return None
        case "session/new":
            is_whole = params["cwd"].startswith("/") and isinstance(params["mcpServers"], list)
            return {"sessionId": SESSION} if is_whole else (-32602, "Invalid params")
        case "session/load":
            say("Hello", "user_message_chunk")
            say("Hello to you")
            return None
        case "session/prompt":
            return run(params)
        case _:
            return (-32601, "Method not found")


def main() -> None:
    while True:
        message = receive()
        if "id" not in message:
            continue
        result = answer(message["method"], message.get("params", {}))
        if isinstance(result, tuple):
            code, text = result
            send({"id": message["id"], "error": {"code": code, "message": text}})
        else:
            send({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
