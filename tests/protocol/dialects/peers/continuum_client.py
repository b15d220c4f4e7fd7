"""A client that speaks as Continuum Router's document has it, and knows nothing else.

What it gets goes to stderr as it came; it exits with 0 if all was as the document says.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import Any

NUMBERS = count(1)
FLAGS = ("loadSession", "image", "audio", "embeddedContext", "mcp")
HISTORY = {"createdAt": str, "updatedAt": str, "mode": str, "historyLength": int}
STOPS = ("end_turn", "max_tokens", "refusal", "cancelled")


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


def ask(method: str, params: Any = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the answer, and the notifications that came before it."""
    number = next(NUMBERS)
    send({"id": number, "method": method} | ({} if params is None else {"params": params}))
    told: list[dict[str, Any]] = []
    while True:
        message = receive()
        expect(message.get("jsonrpc") == "2.0", "a message without jsonrpc")
        if message.get("id") == number and "method" not in message:
            return message, told
        if "id" not in message:
            told.append(message)
        elif message["method"] == "session/request_permission":
            expect({"toolCallId", "title", "kind"} <= message["params"].keys(), "a permission")
            send({"id": message["id"], "result": "allow_once"})
        else:
            send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})


def main() -> None:
    early, _ = ask("session/new", {"mode": "code"})
    expect(early.get("error", {}).get("code") == -32002, "not initialized is -32002")
    capabilities = {"readTextFile": True, "writeTextFile": True, "terminal": False}
    info = {"name": "MyEditor", "version": "1.0.0"}
    opening = {"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info}
    shown = ask("initialize", opening)[0]["result"]
    flags = shown["agentCapabilities"]
    expect(shown["protocolVersion"] == 1, "the version is 1")
    expect(all(type(flags.get(flag)) is bool for flag in FLAGS), "flat capabilities")
    expect({"name", "version"} <= shown["agentInfo"].keys(), "the agent's name and version")
    session = ask("session/new", {"mode": "code"})[0]["result"]
    is_whole = all(isinstance(session.get(name), kind) for name, kind in HISTORY.items())
    expect(is_whole, f"what a session is: {session}")
    unknown, _ = ask("session/prompt", {"sessionId": "nobody", "content": []})
    expect(unknown.get("error", {}).get("code") == -32001, "an unknown session is -32001")
    prompt = {
        "sessionId": session["sessionId"],
        "content": [{"type": "text", "text": "Explain the architecture of this project"}],
        "stream": True,
        "temperature": 0.7,
    }
    answer, told = ask("session/prompt", prompt)
    updates: list[Any] = [each["params"] for each in told if each["method"] == "session/update"]
    blocks: list[Any] = [block for params in updates for block in params.get("content", ())]
    ids = {params["sessionId"] for params in updates}
    expect(ids == {session["sessionId"]}, "updates of this session")
    expect(any(block.get("text") for block in blocks), "text in updates")
    expect(answer["result"]["stopReason"] in STOPS, "a stop reason")
    expect("result" in ask("session/cancel")[0], "cancelling is answered")


if __name__ == "__main__":
    main()
