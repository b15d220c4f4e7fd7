"""A client of the mid-2026 draft of version 2 that sends batches, by the rules of its own page.

What it gets goes to stderr as it came; it exits with 0 if all was as the page says.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import Any, cast

NUMBERS = count(1)


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def receive() -> Any:
    """Return the next value that is no update."""
    while True:
        line = sys.stdin.readline()
        expect(line.endswith("\n"), "the agent is gone")
        sys.stderr.write(line)
        value: Any = json.loads(line)
        if isinstance(value, list) or "method" not in value:
            return cast("Any", value)


def expect(fact: bool, complaint: str) -> None:
    if not fact:
        sys.exit(f"not as the page says: {complaint}")


def call(method: str, id_: int | None = None, **params: Any) -> dict[str, Any]:
    id_member = {} if id_ is None else {"id": id_}
    return {"jsonrpc": "2.0", "method": method, "params": params} | id_member


def ask(method: str, **params: Any) -> Any:
    number = next(NUMBERS)
    write(json.dumps(call(method, number, **params)))
    answer = receive()
    expect(answer["id"] == number, "an answer has the id of its question")
    return answer["result"]


def is_refusal(value: Any, code: int) -> bool:
    """Tell whether `value` is a single error response to nobody."""
    if isinstance(value, list) or "result" in value:
        return False
    return value["id"] is None and value["error"]["code"] == code


def hold_batches(session: str) -> None:
    first, second = next(NUMBERS), next(NUMBERS)
    cancel = call("session/cancel", sessionId=session)
    batch = [call("session/list", first), cancel, call("no/such_method", second)]
    write(json.dumps(batch))
    answers = receive()
    expect(isinstance(answers, list), "a batch is answered by an array")
    expect({answer["id"] for answer in answers} == {first, second}, "one response per request")
    expect(len(answers) == 2, "no response to a notification")
    write("[")
    expect(is_refusal(receive(), -32700), "invalid JSON gets one parse error")
    write("[]")
    expect(is_refusal(receive(), -32600), "an empty batch gets one error, no array")
    write(json.dumps([cancel, cancel]))
    number = next(NUMBERS)
    write(json.dumps([1, call("session/list", number), {"foo": "bar"}]))
    answers = receive()
    expect(isinstance(answers, list), "nothing answers a batch of notifications")
    by_id = [answer for answer in answers if answer["id"] == number]
    rest = [answer for answer in answers if answer["id"] is None]
    expect(len(by_id) == 1, "an invalid entry does not fail the batch")
    expect(len(rest) == 2, "each invalid entry has its response")
    expect(all(is_refusal(answer, -32600) for answer in rest), "invalid entries get -32600")


def hold_turn(session: str) -> None:
    text = {"type": "text", "text": "Hello"}
    answer = ask("session/prompt", sessionId=session, prompt=[text])
    expect(isinstance(answer, dict), "a prompt is answered when it is taken")
    tags: list[str] = []
    while True:
        line = sys.stdin.readline()
        expect(line.endswith("\n"), "the agent is gone")
        sys.stderr.write(line)
        update = json.loads(line)["params"]["update"]
        tags.append(update["sessionUpdate"])
        if tags[-1] == "state_update" and update["state"] == "idle":
            break
    said = [tag for tag in tags if tag in ("agent_message", "agent_message_chunk")]
    expect(bool(said), "the agent says something")


def main() -> None:
    info = {"name": "batch-client", "version": "1.0.0"}
    shown = ask("initialize", protocolVersion=2, info=info, capabilities={})
    expect(shown["protocolVersion"] == 2, "the version is 2")
    place = sys.argv[1] if len(sys.argv) > 1 else "/"
    session = ask("session/new", cwd=place, mcpServers=[])["sessionId"]
    hold_batches(session)
    hold_turn(session)


if __name__ == "__main__":
    main()
