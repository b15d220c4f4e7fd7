"""An agent that speaks as ACPex's document has it, and knows nothing else."""

from __future__ import annotations

import json
import sys
from typing import Any, TypeAlias

Answer: TypeAlias = dict[str, Any] | tuple[int, str] | None
"""A result, or an error's code and message."""

SESSION = "session_12345"
CAPABILITIES = {
    "sessions": {"new": True, "load": False},
    "mcp": {"http": False, "sse": False},
    "prompts": {"audio": False, "image": True, "embeddedContext": True},
}
PLAN = {"steps": ["1. Analyze current code", "2. Identify issues", "3. Propose fixes"]}
CALL = {
    "toolCallId": "call_123",
    "type": "function",
    "function": {"name": "read_file", "arguments": '{"path": "/src/main.ex"}'},
}
OUTPUT = {"toolCallId": "call_123", "output": "defmodule Main do..."}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


def update(kind: str, content: Any) -> None:
    params = {"sessionId": SESSION, "update": {"kind": kind, "content": content}}
    send({"method": "session/update", "params": params})


def say(text: str) -> None:
    blocks = [{"type": "text", "text": text}]
    update("agent_message_chunk", {"role": "assistant", "content": blocks})


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def read_file(path: str) -> Any:
    """Ask the client for a file; return its result, or its error's code."""
    send(
        {"id": "f1", "method": "fs/read_text_file", "params": {"sessionId": SESSION, "path": path}}
    )
    message = receive()
    return message.get("result") or message["error"]["code"]


def run(params: dict[str, Any]) -> Answer:
    if params["sessionId"] != SESSION:
        return (-32001, "Session not found")
    text = params["content"][0]["text"]
    update("agent_thought_chunk", {"thought": "I need to analyze the function first..."})
    say("I'll refactor this function by...")
    if text == "wait":
        while receive().get("method") != "session/cancel":
            pass
        return {"content": [], "stopReason": "cancelled"}
    if text == "read":
        say(f"got {read_file('/nonexistent.txt')}")
    update("plan", PLAN)
    update("tool_call", CALL)
    update("tool_call_update", OUTPUT)
    complete = [{"type": "text", "text": "Refactoring complete!"}]
    return {"content": complete, "stopReason": "done"}


def answer(method: str, params: dict[str, Any]) -> Answer:
    match method:
        case "initialize":
            return {
                "protocolVersion": 1,
                "agentCapabilities": CAPABILITIES,
                "meta": {"name": "AI Agent", "version": "2.0.0"},
                "authenticationMethods": [],
            }
        case "authenticate":
            is_right = params.get("data", {}).get("apiKey") == "right"
            return {} if is_right else (-32001, "Invalid API key")
        case "session/new":
            return {"sessionId": SESSION} if params["cwd"] else (-32602, "Invalid params")
        case "session/load":
            return (-32004, "Capability not supported")
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
