"""Permission requests under ids of their own, and the calls that they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import AllowLevel, PermissionPrompt, PolicyDecider, allows
from acp_console.chat.requested_calls import find_announced, with_announced
from acp_protocol.jsonrpc import Notification, Request

INPUT: dict[str, Any] = {"file_path": "a.txt", "old_string": "x", "new_string": "y"}
DIFF: dict[str, Any] = {"type": "diff", "path": "a.txt", "oldText": "x", "newText": "y"}
EDIT: dict[str, Any] = {"title": "Edit `a.txt`", "kind": "edit", "content": [DIFF]}
"""As an agent announces an edit, with another input than it asks with."""
ASK: dict[str, Any] = {"toolCallId": "own", "title": "Edit `a.txt`", "rawInput": INPUT}
WRITE: dict[str, Any] = {
    "title": "Write `a.txt`",
    "kind": "edit",
    "rawInput": {"file_path": "a.txt"},
}
READ: dict[str, Any] = {"title": "Read `a.txt`", "kind": "read", "rawInput": {"file_path": "a.txt"}}
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


async def is_allowed(
    ask: dict[str, Any], *announced: dict[str, Any], allowed: AllowLevel = "edits"
) -> bool:
    handlers = ClientHandlers(PolicyDecider(allowed, lambda _ask, _allows: None))
    handlers.open_session("s1", Path("/ada"))
    for number, call in enumerate(announced):
        update = {"sessionUpdate": "tool_call", "toolCallId": f"c{number}"} | call
        params: dict[str, Any] = {"sessionId": "s1", "update": update}
        handlers.observe_notification(Notification("session/update", params, b""))
    params = {"sessionId": "s1", "toolCall": {"toolCallId": "own"} | ask, "options": OPTIONS}
    request = Request(1, "session/request_permission", params, b"")
    outcome: Any = await handlers.handle_request(request)
    return outcome["outcome"].get("optionId") == "yes"


@pytest.mark.parametrize(
    ("ask", "announced", "level"),
    [
        (ASK, EDIT, "edits"),
        ({"title": WRITE["title"], "rawInput": WRITE["rawInput"]}, WRITE, "edits"),
        ({"title": WRITE["title"], "rawInput": WRITE["rawInput"], "kind": "other"}, WRITE, "edits"),
        ({"title": READ["title"], "rawInput": READ["rawInput"]}, READ, "reads"),
    ],
)
async def test_a_request_is_decided_by_the_call_that_was_announced(
    ask: dict[str, Any], announced: dict[str, Any], level: AllowLevel
) -> None:
    assert await is_allowed(ask, announced, allowed=level)
    assert not await is_allowed(ask, allowed=level)
    assert not await is_allowed(ask, announced, allowed="none")


OTHERS: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    # A title alone.
    ({"title": EDIT["title"]}, [EDIT]),
    ({"title": EDIT["title"], "rawInput": {"file_path": "a.txt"}}, [EDIT]),
    ({"title": EDIT["title"], "rawInput": {"target": "b.txt"}}, [EDIT]),
    ({"title": "Edit", "rawInput": INPUT}, [EDIT | {"title": "Edit", "content": list[Any]()}]),
    # Another title: one input may be that of several tools.
    ({"title": "Delete `a.txt`", "rawInput": READ["rawInput"]}, [READ]),
    ({"title": "Delete `a.txt`", "rawInput": WRITE["rawInput"]}, [WRITE]),
    # Other texts than those that are shown.
    (ASK | {"rawInput": INPUT | {"new_string": "z"}}, [EDIT]),
    (ASK | {"rawInput": INPUT | {"file_path": "b.txt"}}, [EDIT]),
    # Something runs besides.
    (ASK | {"rawInput": INPUT | {"command": "rm a"}}, [EDIT]),
    (ASK, [EDIT | {"kind": "execute"}]),
    # More files than one.
    (ASK, [EDIT | {"locations": [{"path": "/etc/passwd"}]}]),
    (ASK | {"rawInput": INPUT | {"also": "/etc/passwd"}}, [EDIT]),
    (ASK, [EDIT | {"content": [DIFF, DIFF | {"path": "b.txt"}]}]),
    # Two calls, of which each may be meant.
    (ASK, [EDIT, EDIT]),
    # They disagree.
    (ASK | {"kind": "execute"}, [EDIT]),
    (ASK | {"kind": "delete"}, [EDIT]),
    # It has ended.
    (ASK, [EDIT | {"status": "completed"}]),
]


@pytest.mark.parametrize(("ask", "announced"), OTHERS)
async def test_nothing_is_allowed_by_a_call_that_may_be_another(
    ask: dict[str, Any], announced: list[dict[str, Any]]
) -> None:
    assert not await is_allowed(ask, *announced)


CALLS = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["Edit", "Read", ""]),
        "kind": st.sampled_from(["read", "edit", "execute", "other", "?"]),
        "rawInput": st.sampled_from(
            [{}, {"path": "a"}, {"path": "/etc/x"}, {"path": "a", "text": "y"}, {"command": "ls"}]
        ),
        "locations": st.sampled_from([[], [{"path": "a"}], [{"path": "/etc/x"}]]),
        "content": st.sampled_from([[], [{"type": "diff", "path": "a", "newText": "y"}]]),
    },
)


@given(CALLS, st.lists(CALLS, max_size=3), st.sampled_from(["none", "reads", "edits"]))
def test_what_neither_allows_by_itself_both_do_not_allow_by_a_title(
    request: dict[str, Any], announced: list[dict[str, Any]], level: AllowLevel
) -> None:
    found = find_announced(request, announced)
    if found is None:
        return
    joined = with_announced(found, request)
    ask, call = (PermissionPrompt(1, "s", each, (), Path("/ada")) for each in (joined, found))
    if allows(level, ask):
        # The announced call is allowed by its own structured fields.
        assert allows(level, call)
        assert not ask.paths_outside
        assert found.get("rawInput") == request.get("rawInput") or call.is_diff
