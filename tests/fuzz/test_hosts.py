"""The client's services: whatever an agent asks of them, the answer is a result or says why not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PolicyDecider
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    Json,
    Notification,
    Request,
)
from acp_protocol.schema.validate import validate_result
from tests.fuzz.hostile import texts, values

pytestmark = pytest.mark.long

ROOT = "{root}"
"""Stands for the session's directory, which has another name in each run."""
METHODS = ["fs/read_text_file", "fs/write_text_file", "session/request_permission", "terminal/kill"]
parts = texts | st.sampled_from(["..", ".", "", "notes.txt", "link", "sub", "fifo", "\0"])
paths = st.lists(parts, max_size=4).map(lambda names: "/".join([ROOT, *names]))
call = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("toolCallId", "kind", "content", "locations", "status"), values)
)
kinds = st.sampled_from(["allow_once", "allow_always", "reject_once", "reject_always"])
options = st.lists(
    st.fixed_dictionaries({"optionId": texts, "name": texts, "kind": kinds}), max_size=3
)
members: dict[str, st.SearchStrategy[Json]] = {
    "path": paths | values,
    "content": texts | values,
    "line": st.integers(-1, 2**65) | values,
    "limit": st.integers(-1, 2**65) | values,
    "toolCall": call | st.fixed_dictionaries({"toolCallId": texts}) | values,
    "options": options | values,
    "terminalId": texts | values,
    "_meta": values,
}
asked: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"sessionId": st.just("s1") | values}, optional=members
)


def make_root(root: Path) -> None:
    (root / "sub").mkdir(parents=True)
    (root / "notes.txt").write_text("notes")
    (root / "link").symlink_to(root.parent)
    (root.parent / "notes.txt").write_text("secret")


def placed(params: Json, root: Path) -> Json:
    """Return params with the path of the session's directory in them."""
    match params:
        case {"path": str(path), **rest}:
            return {**rest, "path": path.replace(ROOT, str(root))}
        case _:
            return params


async def answered(host: ClientHandlers, request: Request) -> Json:
    try:
        return await host.handle_request(request)
    except RequestFailedError as refusal:
        return refusal


@settings(deadline=None)
@given(asks=st.lists(st.tuples(st.sampled_from(METHODS), asked | values), max_size=4))
async def test_a_host_answers_whatever_it_is_asked(asks: list[tuple[str, Json]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "root")
        make_root(root)
        host = ClientHandlers(PolicyDecider("all", lambda _ask, _is_allowed: None))
        host.open_session("s1", root)
        for method, params in asks:
            request = Request(1, method, placed(params, root), b"")
            answer = await answered(host, request)
            if isinstance(answer, RequestFailedError):
                assert answer.code in {INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND}
                assert answer.message
            else:
                assert validate_result(method, answer) == ()
                assert "secret" not in str(answer)
        assert (root.parent / "notes.txt").read_text() == "secret"
        assert sorted(path.name for path in root.parent.iterdir()) == ["notes.txt", "root"]


@settings(deadline=None)
@given(
    updates=st.lists(
        values
        | st.fixed_dictionaries({"sessionId": st.just("s1"), "update": call | values})
        | call.map(
            lambda update: {
                "sessionId": "s1",
                "update": {"sessionUpdate": "tool_call", "toolCallId": "t1", **update},
            }
        ),
        max_size=6,
    ),
    question=options.map(lambda offered: {"toolCall": {"toolCallId": "t1"}, "options": offered}),
)
async def test_nothing_that_was_told_breaks_a_question(
    updates: list[Json], question: dict[str, Json]
) -> None:
    host = ClientHandlers(PolicyDecider("reads", lambda _ask, _is_allowed: None))
    for params in updates:
        await host.handle_notification(Notification("session/update", params, b""))
    request = Request(1, "session/request_permission", {"sessionId": "s1", **question}, b"")
    assert validate_result(request.method, await host.handle_request(request)) == ()
