"""An agent that floods its client: `flood.py KIND COUNT RATE TIMES`.

After session/new it prepares COUNT updates of KIND and sends `READY`; after a prompt it sends the
updates and `DONE`. RATE is in updates a second, 0 for as fast as the pipe takes them. The agent
writes the time at which `session/cancel` arrived to the file TIMES, on the clock of
`time.monotonic`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

READY = "zREADYz"
DONE = "zDONEz"
BLOCK = 1 << 16
"""Bytes in one write, about."""
WORDS = "the agent writes a sentence about streams and pipes, then another one. "

_canceled = threading.Event()


def line(method: str, params: dict[str, Any], **more: object) -> bytes:
    """Return a request or a notification as one line."""
    return (
        json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode() + b"\n"
    )


def update(kind: str, /, **fields: object) -> bytes:
    """Return an update of the one session."""
    return line("session/update", {"sessionId": "s1", "update": {"sessionUpdate": kind, **fields}})


def text(content: str) -> bytes:
    """Return a chunk of the agent's message."""
    return update("agent_message_chunk", content={"type": "text", "text": content})


def block(content: str) -> dict[str, object]:
    """Return the content of a tool call."""
    return {"type": "content", "content": {"type": "text", "text": content}}


def chunks(count: int) -> Iterator[bytes]:
    """Yield chunks of 40 bytes, a paragraph every ten."""
    for n in range(count):
        end = "\n\n" if n % 10 == 9 else " "
        yield text(f"Some **markdown** text {n:07d} of forty{end}")


def tools(count: int) -> Iterator[bytes]:
    """Yield tool calls that are complete at once."""
    for n in range(count):
        yield update(
            "tool_call",
            toolCallId=f"call-{n}",
            title=f"Read file {n}.txt",
            kind="read",
            status="completed",
            content=[block(f"contents of file {n}\nits second line\n")],
        )


def outputs(count: int) -> Iterator[bytes]:
    """Yield tool calls with 100 kB of output each."""
    for n in range(count):
        lines = "".join(f"line {line} of output {n}, which is long\n" for line in range(2500))
        yield update(
            "tool_call",
            toolCallId=f"call-{n}",
            title=f"Read file {n}.txt",
            kind="read",
            status="completed",
            content=[block(lines)],
        )


def prose(count: int) -> Iterator[bytes]:
    """Yield paragraphs of 4,000 bytes."""
    paragraph = (WORDS * 60)[:3990]
    return (text(f"{n:07d} {paragraph}\n\n") for n in range(count))


def cells(count: int) -> Iterator[bytes]:
    """Yield the rows of a table with 100 columns."""
    yield text("\n\n" + "| head " * 100 + "|\n" + "|---" * 100 + "|\n")
    for n in range(count):
        yield text("".join(f"| {n}.{column} " for column in range(100)) + "|\n")
    yield text("\n\n")


def permissions(count: int) -> Iterator[bytes]:
    """Yield permission requests that nobody responds to."""
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    for n in range(count):
        call = {"toolCallId": f"call-{n}", "title": f"Run step {n}", "kind": "execute"}
        params = {"sessionId": "s1", "toolCall": call, "options": options}
        yield line("session/request_permission", params, id=f"p{n}")


def one_call(count: int) -> Iterator[bytes]:
    """Yield updates of one tool call, each with new content."""
    yield update("tool_call", toolCallId="call", title="Run the tests", kind="execute")
    for n in range(count):
        yield update(
            "tool_call_update",
            toolCallId="call",
            status="in_progress",
            content=[block(f"line {n} of the output of a long program that goes on and on\n")],
        )


KINDS: dict[str, Callable[[int], Iterator[bytes]]] = {
    "chunks": chunks,
    "tools": tools,
    "outputs": outputs,
    "prose": prose,
    "cells": cells,
    "permissions": permissions,
    "one-call": one_call,
}


def write(data: bytes) -> None:
    """Write all of `data` to stdout."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def blocks(lines: Iterable[bytes]) -> list[bytes]:
    """Return the lines in blocks of about `BLOCK` bytes."""
    gathered: list[bytes] = []
    joined = bytearray()
    for data in lines:
        joined += data
        if len(joined) >= BLOCK:
            gathered.append(bytes(joined))
            joined.clear()
    return [*gathered, bytes(joined)]


def flood(ready: list[bytes], rate: float, request_id: object) -> None:
    """Write the prepared bytes, `rate` of them a second, and end the turn."""
    begin = time.monotonic()
    for number, data in enumerate(ready):
        if rate and _canceled.wait(max(0.0, begin + number / rate - time.monotonic())):
            break
        write(data)
    reason = "cancelled" if _canceled.is_set() else "end_turn"
    response = {"jsonrpc": "2.0", "id": request_id, "result": {"stopReason": reason}}
    write(text(f"\n\n{DONE}\n") + json.dumps(response).encode() + b"\n")


def main() -> None:
    """Serve one client, until it closes our stdin."""
    kind, count, rate = KINDS[sys.argv[1]], int(sys.argv[2]), float(sys.argv[3])
    times = Path(sys.argv[4])
    ready: list[bytes] = []
    for data in sys.stdin.buffer:
        message = json.loads(data)
        method, request_id = message.get("method"), message.get("id")
        results = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s1"}}
        if method in results:
            response = {"jsonrpc": "2.0", "id": request_id, "result": results[method]}
            write(json.dumps(response).encode() + b"\n")
        if method == "session/new":
            # Prepared before the prompt, so that a flood is not slowed by what builds it.
            ready = list(kind(count)) if rate else blocks(kind(count))
            write(text(f"{READY}\n\n"))
        elif method == "session/prompt":
            threading.Thread(target=flood, args=(ready, rate, request_id), daemon=True).start()
        elif method == "session/cancel":
            times.write_text(str(time.monotonic()))
            _canceled.set()


if __name__ == "__main__":
    main()
