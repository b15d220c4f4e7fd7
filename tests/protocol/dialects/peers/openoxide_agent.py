"""An agent that speaks as OpenOxide's blueprint has it, and knows nothing else.

The blueprint names neither the methods nor the events: they are spelled after its other words.
"""

from __future__ import annotations

import json
import sys
from typing import Any, TypeAlias

Answer: TypeAlias = dict[str, Any] | tuple[int, str] | None
"""A result, or an error's code and message."""

SESSION = "sess_abc123"
CAPABILITIES = {
    "file_read": True,
    "file_write": True,
    "terminal_exec": True,
    "web_search": False,
    "slash_commands": [
        {"command": "/review", "description": "Review recent changes for bugs"},
        {"command": "/explain", "description": "Explain the selected code"},
    ],
    "streaming": True,
    "session_fork": True,
}
DIFF = "--- login.py\n+++ login.py\n@@ -1 +1,2 @@\n login()\n+check()\n"


def receive() -> dict[str, Any]:
    header = sys.stdin.buffer.readline().decode()
    if not header:
        sys.exit(0)
    length = int(header.removeprefix("Content-Length: ").strip())
    sys.stdin.buffer.readline()
    return json.loads(sys.stdin.buffer.read(length))


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0"} | message, ensure_ascii=False).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def emit(type_: str, **event: Any) -> None:
    event = {"type": type_, "session_id": SESSION} | event
    send({"method": "session/update", "params": event})


def run(params: dict[str, Any], id_: Any) -> Answer:
    if params["session_id"] != SESSION:
        return (-32602, "no such session")
    text = params["content"][0]["text"]
    emit("text_delta", text="Adding ünï checks…")
    if text == "wait":
        while receive().get("params", {}).get("request_id") != id_:
            pass
        return {"role": "agent", "content": []}
    emit("plan_step", step="Read login.py")
    emit("tool_call", id="t1", name="edit_file", input={"path": "/login.py"})
    emit("diff", id="t1", path="/login.py", unified_diff=DIFF)
    emit("tool_result", id="t1", output="1 line added")
    uses = [{"id": "t1", "name": "edit_file"}]
    done = [{"type": "text", "text": "Done."}]
    return {"role": "agent", "content": done, "tool_uses": uses, "tool_results": []}


def answer(message: dict[str, Any]) -> Answer:
    params = message.get("params", {})
    match message["method"]:
        case "initialize":
            return CAPABILITIES
        case "session/new":
            return {"session_id": SESSION} if params["working_dir"] else (-32602, "no folder")
        case "session/prompt" if params["type"] == "prompt":
            return run(params, message["id"])
        case _:
            return (-32601, "Method not found")


def main() -> None:
    while True:
        message = receive()
        if "id" not in message:
            continue
        result = answer(message)
        if isinstance(result, tuple):
            code, text = result
            send({"id": message["id"], "error": {"code": code, "message": text}})
        else:
            send({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
