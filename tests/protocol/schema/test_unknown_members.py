"""Members that a shape does not know are named, and only those."""

from __future__ import annotations

from typing import Any

import pytest

from acp_protocol.schema.explain import extension_values, unknown_fields
from acp_protocol.schema.validate import accepts, schema_type

TEXT = {"type": "text", "text": "Hi"}


def update(**members: Any) -> dict[str, Any]:
    """Return the params of a session update."""
    return {"sessionId": "s1", "update": members}


SAID: list[tuple[dict[str, Any], list[str]]] = [
    (update(sessionUpdate="agent_message_chunk", content=TEXT), []),
    (update(sessionUpdate="agent_message_chunk", content=TEXT, _meta={"mine": 1}), []),
    (update(sessionUpdate="agent_message_chunk", content=TEXT, mine=1), ["params.update.mine"]),
    (
        update(sessionUpdate="agent_message_chunk", content=TEXT | {"mine": 1}),
        ["params.update.content.mine"],
    ),
    (
        update(
            sessionUpdate="tool_call",
            toolCallId="t",
            title="T",
            rawInput={"anything": 1},
            locations=[{"path": "/a"}, {"path": "/b", "row": 1}],
        ),
        ["params.update.locations.1.row"],
    ),
    (
        update(
            sessionUpdate="tool_call",
            toolCallId="t",
            title="T",
            content=[{"type": "content", "content": TEXT, "mine": 1}],
        ),
        ["params.update.content.0.mine"],
    ),
]


@pytest.mark.parametrize(("params", "strangers"), SAID)
def test_strangers_are_found_wherever_they_stand(
    params: dict[str, Any], strangers: list[str]
) -> None:
    assert unknown_fields(schema_type("SessionNotification"), params, "params") == strangers
    assert accepts("SessionNotification", known_only=True)(params) is not bool(strangers)
    assert accepts("SessionNotification")(params)


def test_what_is_of_an_unknown_kind_has_no_strangers_but_is_one_by_its_name() -> None:
    params = update(sessionUpdate="_mine", anything={"a": 1})
    wanted = schema_type("UpdateSessionNotification", 2)
    assert unknown_fields(wanted, params) == []
    assert extension_values(wanted, params) == ["update.sessionUpdate"]
    assert accepts("UpdateSessionNotification", 2)(params)
    assert not accepts("UpdateSessionNotification", 2, known_only=True)(params)


def test_words_that_a_shape_lets_be_are_found() -> None:
    said = {"sessionUpdate": "tool_call_update", "toolCallId": "t"}
    wanted = schema_type("UpdateSessionNotification", 2)
    known, own = update(**said, kind="read"), update(**said, kind="_paint")
    assert extension_values(wanted, known) == []
    assert extension_values(wanted, own) == ["update.kind"]
    glance = accepts("UpdateSessionNotification", 2, known_only=True)
    assert glance(known)
    assert not glance(own)


def test_a_stranger_at_the_root_is_named_without_a_path() -> None:
    assert unknown_fields(schema_type("CancelNotification"), {"sessionId": "s", "why": 1}) == [
        "why"
    ]


LACKING: list[tuple[dict[str, Any], list[str]]] = [
    (update(sessionUpdate="tool_call_update", tool_call_id="t"), ["update.tool_call_id"]),
    (
        update(sessionUpdate="agent_message_chunk", content={"type": "image", "mime_type": "x"}),
        ["update.content.mime_type"],
    ),
    (
        update(sessionUpdate="agent_message_chunk", content={"text": "Hi", "mine": 1}),
        ["update.content.mine"],
    ),
    (update(sessionUpdate="_mine", mine=1), []),
]


@pytest.mark.parametrize(("params", "strangers"), LACKING)
def test_what_lacks_a_member_has_strangers_none_the_less(
    params: dict[str, Any], strangers: list[str]
) -> None:
    assert unknown_fields(schema_type("SessionNotification"), params) == strangers
