"""A client that speaks as ACPex's document has it, and knows nothing else.

What it gets goes to stderr as it came; it exits with 0 if all was as the document says.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import Any

NUMBERS = count(1)
CAPABILITIES = {
    "fileSystem": {"readTextFile": True, "writeTextFile": True},
    "terminal": {
        "create": True,
        "output": True,
        "waitForExit": True,
        "kill": True,
        "release": True,
    },
    "prompts": {"audio": False, "image": True, "embeddedContext": False},
}
CONTENTS = {
    "agent_message_chunk": {"role", "content"},
    "agent_thought_chunk": {"thought"},
    "tool_call": {"toolCallId", "type", "function"},
    "tool_call_update": {"toolCallId", "output"},
    "plan": {"steps"},
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
        sys.exit(f"not as the document says: {complaint}")


def serve(message: dict[str, Any]) -> None:
    """Answer a request of the agent: there is one file, and nothing else."""
    if message["method"] == "fs/read_text_file":
        send({"id": message["id"], "result": {"content": "defmodule Main do..."}})
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})


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
    info = {"name": "My Editor", "version": "1.0.0"}
    opening = {"protocolVersion": 1, "clientInfo": info, "capabilities": CAPABILITIES}
    shown = ask("initialize", opening | {"authenticationMethods": []})[0]["result"]
    expect(shown["protocolVersion"] == 1, "the version is 1")
    expect(shown["agentCapabilities"]["sessions"]["new"] is True, "sessions can be made")
    expect({"name", "version"} <= shown["meta"].keys(), "the agent's name and version")
    expect(isinstance(shown["authenticationMethods"], list), "authentication methods")
    place: dict[str, Any] = {"cwd": sys.argv[1] if len(sys.argv) > 1 else "/", "mcpServers": []}
    session = ask("session/new", place)[0]["result"]["sessionId"]
    unknown, _ = ask("session/prompt", {"sessionId": "nobody", "content": []})
    expect(unknown.get("error", {}).get("code") == -32001, "not found is -32001")
    source = {"type": "resource", "uri": "file:///src/main.ex", "mimeType": "text/x-elixir"}
    content = [{"type": "text", "text": "Refactor this function"}, source]
    answer, updates = ask("session/prompt", {"sessionId": session, "content": content})
    known = [update for update in updates if update.get("kind") in CONTENTS]
    for update in known:
        is_whole = CONTENTS[update["kind"]] <= update["content"].keys()
        expect(is_whole, f"what a {update['kind']} holds")
    texts = [each for each in known if each["kind"] == "agent_message_chunk"]
    expect(bool(texts), "the answer is streamed")
    expect(isinstance(answer["result"]["content"], list), "the result has content")
    expect(answer["result"]["stopReason"] == "done", "the turn is done")


if __name__ == "__main__":
    main()
