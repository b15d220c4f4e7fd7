"""A client that speaks as the early summary of version 1 has it, and knows nothing else.

What it gets goes to stderr as it came; it exits with 0 if all was as the summary says.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import Any

NUMBERS = count(1)
STOPS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
UPDATES = {
    "plan": {"entries"},
    "agent_message_chunk": {"content"},
    "user_message_chunk": {"content"},
    "tool_call": {"toolCallId", "title"},
    "tool_call_update": {"toolCallId"},
}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    expect(line.endswith("\n"), "the agent is gone")
    sys.stderr.write(line)
    return json.loads(line)


def expect(fact: bool, complaint: str) -> None:
    if not fact:
        sys.exit(f"not as the summary says: {complaint}")


def serve(message: dict[str, Any]) -> None:
    """Answer a request of the agent: allow what can be allowed once, read, write nowhere."""
    params, answer = message["params"], {"result": None}
    match message["method"]:
        case "session/request_permission":
            expect({"sessionId", "toolCall", "options"} <= params.keys(), "a permission")
            options = [each for each in params["options"] if each["kind"] == "allow_once"]
            chosen = {"outcome": "selected", "optionId": options[0]["optionId"]}
            answer = {"result": {"outcome": chosen}}
        case "fs/read_text_file":
            expect(params["path"].startswith("/"), "an absolute path")
            answer = {"result": {"content": "text\n"}}
        case "fs/write_text_file":
            expect(isinstance(params["content"], str), "content to write")
        case _:
            answer = {"error": {"code": -32601, "message": "Method not found"}}
    send({"id": message["id"]} | answer)


def ask(method: str, params: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the answer, and the updates that came before it."""
    number = next(NUMBERS)
    send({"id": number, "method": method, "params": params})
    updates: list[dict[str, Any]] = []
    while True:
        message = receive()
        expect(message.get("jsonrpc") == "2.0", "a message without jsonrpc")
        if message.get("id") == number and "method" not in message:
            return message, updates
        if "id" in message:
            serve(message)
        elif message["method"] == "session/update":
            updates.append(message["params"]["update"])


def main() -> None:
    files = {"readTextFile": True, "writeTextFile": True}
    opening = {"protocolVersion": 1, "clientCapabilities": {"fs": files}}
    shown = ask("initialize", opening)[0]["result"]
    expect(shown["protocolVersion"] == 1, "the version is 1")
    place: dict[str, Any] = {"cwd": sys.argv[1] if len(sys.argv) > 1 else "/", "mcpServers": []}
    session = ask("session/new", place)[0]["result"]["sessionId"]
    expect(isinstance(session, str), "a session's id")
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "Edit the file"}]}
    answer, updates = ask("session/prompt", prompt)
    known = [each for each in updates if each["sessionUpdate"] in UPDATES]
    for update in known:
        is_whole = UPDATES[update["sessionUpdate"]] <= update.keys()
        expect(is_whole, f"what a {update['sessionUpdate']} holds")
    chunks = [each for each in known if each["sessionUpdate"] == "agent_message_chunk"]
    expect(bool(chunks), "the answer is streamed")
    expect(answer["result"]["stopReason"] in STOPS, "a stop reason")


if __name__ == "__main__":
    main()
