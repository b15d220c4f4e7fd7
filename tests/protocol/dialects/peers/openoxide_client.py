"""A client that speaks as OpenOxide's blueprint has it, and knows nothing else.

What it gets goes to stderr, one message on a line; it exits with 0 if all was as the blueprint
says. The blueprint names neither the methods nor the events: they are spelled after its other
words.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import Any

NUMBERS = count(1)
FLAGS = ("file_read", "file_write", "terminal_exec", "web_search", "streaming", "session_fork")
EVENTS = {
    "text_delta": {"text"},
    "tool_call": {"id", "name"},
    "tool_result": {"id", "output"},
    "plan_step": {"step"},
    "diff": {"path", "unified_diff"},
}


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0"} | message, ensure_ascii=False).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def receive() -> dict[str, Any]:
    header = sys.stdin.buffer.readline().decode()
    expect(header.startswith("Content-Length: "), f"a length comes first, not {header!r}")
    length = int(header.removeprefix("Content-Length: ").strip())
    expect(not sys.stdin.buffer.readline().strip(), "one blank line follows")
    message = json.loads(sys.stdin.buffer.read(length))
    sys.stderr.write(json.dumps(message) + "\n")
    return message


def expect(fact: bool, complaint: str) -> None:
    if not fact:
        sys.exit(f"not as the blueprint says: {complaint}")


def ask(method: str, params: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the answer, and the events that came before it."""
    number = next(NUMBERS)
    send({"id": number, "method": method, "params": params})
    events: list[dict[str, Any]] = []
    while True:
        message = receive()
        if message.get("id") == number and "method" not in message:
            return message, events
        if "id" in message:
            send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        else:
            events.append(message["params"])


def main() -> None:
    shown = ask("initialize", {"protocolVersion": 1})[0]["result"]
    expect(all(type(shown.get(flag)) is bool for flag in FLAGS), "flat capabilities")
    for command in shown["slash_commands"]:
        expect(command["command"].startswith("/"), "a command begins with a slash")
    place = sys.argv[1] if len(sys.argv) > 1 else "/"
    made, _ = ask("session/new", {"working_dir": place, "config": {}})
    session = made["result"]["session_id"]
    text = {"type": "text", "text": "Add error handling to the login function"}
    body = {"type": "prompt", "session_id": session, "content": [text]}
    answer, events = ask("session/prompt", body)
    known = [event for event in events if event.get("type") in EVENTS]
    for event in known:
        expect(event["session_id"] == session, "events of this session")
        expect(EVENTS[event["type"]] <= event.keys(), f"what a {event['type']} holds")
    deltas = [event["text"] for event in known if event["type"] == "text_delta"]
    whole = [block.get("text", "") for block in answer["result"]["content"]]
    expect(bool("".join(deltas + whole)), "text, streamed or not")


if __name__ == "__main__":
    main()
