"""`exec` counts what an agent did without asking, whatever the agent says of it afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_console.cli.exec_output import MAX_CALLS, TurnPrinter
from acp_inspector.journal import Frame

TERMINAL = {"type": "terminal", "terminalId": "t"}
DIFF = {"type": "diff", "path": "a", "newText": "b"}
TEXT = {"type": "content", "content": {"type": "text", "text": "done"}}
RUN = {"sessionUpdate": "tool_call", "kind": "execute", "status": "completed"}


def update(**fields: Any) -> dict[str, Any]:
    known = {"sessionUpdate": "tool_call_update", "toolCallId": "1"}
    params = {"sessionId": "s", "update": {**known, **fields}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def unasked(
    capsys: pytest.CaptureFixture[str], *updates: dict[str, Any], version: int = 1
) -> dict[str, int]:
    printer = TurnPrinter("json", lambda: None, allowed="reads")
    printer.begin("s", version, None)
    for number, message in enumerate(updates):
        printer.show(Frame(number, 0.0, "agent", json.dumps(message).encode(), b"\n"))
    printer.end("s", {"stopReason": "end_turn"})
    return json.loads(capsys.readouterr().out.splitlines()[-1])["unasked"]


@pytest.mark.parametrize(
    ("change", "version"),
    [
        ({"kind": "read"}, 1),
        ({"kind": None}, 2),
        ({"status": "failed"}, 1),
        ({"sessionUpdate": "tool_call", "kind": "read", "status": "completed"}, 1),
    ],
)
def test_what_was_done_stays_done(
    capsys: pytest.CaptureFixture[str], change: dict[str, Any], version: int
) -> None:
    assert unasked(capsys, update(**RUN), update(**change), version=version) == {"execute": 1}


def test_an_id_that_is_given_to_another_call_counts_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    again = [update(**{**RUN, "status": "pending"}), update(status="completed")]
    assert unasked(capsys, update(**RUN), *again) == {"execute": 2}
    assert unasked(capsys, update(**RUN), update(**RUN)) == {"execute": 1}


def test_a_call_that_is_not_remembered_still_counts(capsys: pytest.CaptureFixture[str]) -> None:
    others = [update(toolCallId=f"other-{number}", kind="read") for number in range(MAX_CALLS)]
    assert unasked(capsys, update(**RUN), *others) == {"execute": 1}


@pytest.mark.parametrize(
    ("content", "kind"), [([TERMINAL], "execute"), ([DIFF, TEXT], "edit"), ([TEXT], None)]
)
def test_a_call_without_a_kind_counts_as_what_it_shows(
    capsys: pytest.CaptureFixture[str], content: list[dict[str, Any]], kind: str | None
) -> None:
    found = unasked(capsys, update(status="completed", content=content))
    assert found == ({} if kind is None else {kind: 1})
