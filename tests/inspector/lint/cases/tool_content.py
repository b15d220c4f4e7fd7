"""Talks about what tool calls show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps

TEXT: dict[str, Any] = {"type": "text", "text": "Hello"}
WRAPPED: dict[str, Any] = {"type": "content", "content": TEXT}


def _turn(talk: Talk, *told: Callable[[], Any]) -> None:
    """Have one turn, with what is told in the midst of it, and the tool call t1 ended."""
    talk.open()
    prompt = talk.prompt()
    if talk.version == 2:
        talk.accept(prompt)
    for each in told:
        each()
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    if talk.version == 2:
        talk.state("idle", stopReason="end_turn")
    else:
        talk.finish(prompt)


def _tool(talk: Talk, **members: Any) -> None:
    """Have one turn with a tool call."""
    _turn(talk, lambda: talk.tool(**members))


def _update(talk: Talk, **members: Any) -> int:
    return talk.update("tool_call_update", toolCallId="t1", **members)


def _chunk(talk: Talk, content: Any) -> int:
    return talk.update("tool_call_content_chunk", toolCallId="t1", content=content)


@breaks("bare-tool-content")
def a_block_is_not_wrapped(talk: Talk) -> None:
    _tool(talk, content=[WRAPPED, TEXT])


@breaks("bare-tool-content")
def content_is_a_string(talk: Talk) -> None:
    _tool(talk, content="Hello")


@breaks("bare-tool-content", 2)
def a_block_of_a_chunk_is_not_wrapped(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _chunk(talk, TEXT))


@keeps("bare-tool-content")
def a_block_is_wrapped(talk: Talk) -> None:
    _tool(talk, content=[WRAPPED])


@keeps("bare-tool-content", 2)
def an_item_of_ones_own_is_no_block(talk: Talk) -> None:
    _tool(talk, content=[WRAPPED, {"type": "_table", "rows": []}])


@breaks("relative-location")
def a_location_is_relative(talk: Talk) -> None:
    _tool(talk, locations=[{"path": "main.py", "line": 1}])


@breaks("relative-location", 2)
def a_location_is_a_uri(talk: Talk) -> None:
    _tool(talk, locations=[{"path": "file:///main.py"}])


@keeps("relative-location")
def a_location_is_absolute(talk: Talk) -> None:
    _tool(talk, locations=[{"path": f"{CWD}/main.py", "line": 1}])


@keeps("relative-location", 2)
def a_location_is_on_a_drive(talk: Talk) -> None:
    _tool(talk, locations=[{"path": "D:\\main.py"}])


@breaks("location-line-below-one")
def a_line_is_0(talk: Talk) -> None:
    _tool(talk, locations=[{"path": f"{CWD}/main.py", "line": 0}])


@breaks("location-line-below-one", 2)
def a_line_is_0_in_version_2(talk: Talk) -> None:
    _tool(talk, locations=[{"path": f"{CWD}/main.py", "line": 0}])


@keeps("location-line-below-one")
def a_line_is_1(talk: Talk) -> None:
    _tool(talk, locations=[{"path": f"{CWD}/main.py", "line": 1}])


@keeps("location-line-below-one", 2)
def a_line_is_1_in_version_2(talk: Talk) -> None:
    _tool(talk, locations=[{"path": f"{CWD}/main.py", "line": 1}])


def _terminal(talk: Talk) -> None:
    create = talk.ask("terminal/create", {"sessionId": "s1", "command": "ls"}, side="agent")
    talk.answer(create, terminalId="x1")


def _release(talk: Talk) -> None:
    release = talk.ask("terminal/release", sessionId="s1", terminalId="x1", side="agent")
    talk.answer(release)


def _show(talk: Talk) -> int:
    return _update(talk, content=[{"type": "terminal", "terminalId": "x1"}])


@breaks("unknown-embedded-terminal")
def a_shown_terminal_was_never_created(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _show(talk))


@breaks("unknown-embedded-terminal")
def a_terminal_is_shown_after_its_release(talk: Talk) -> None:
    _turn(
        talk,
        talk.tool,
        lambda: _terminal(talk),
        lambda: _release(talk),
        lambda: _show(talk),
    )


@keeps("unknown-embedded-terminal")
def a_terminal_is_shown_again_after_its_release(talk: Talk) -> None:
    _turn(
        talk,
        talk.tool,
        lambda: _terminal(talk),
        lambda: _show(talk),
        lambda: _release(talk),
        lambda: _show(talk),
    )


@keeps("unknown-embedded-terminal")
def a_terminal_of_the_agent_is_shown_to_who_takes_it(talk: Talk) -> None:
    talk.initialize({"_meta": {"terminal_output": True}})
    talk.new_session()
    prompt = talk.prompt()
    talk.tool(
        status="completed",
        content=[{"type": "terminal", "terminalId": "x1"}],
        _meta={"terminal_info": {"terminal_id": "x1"}},
    )
    talk.finish(prompt)


@breaks("chunk-of-unknown-call", 2)
def a_chunk_comes_before_its_tool_call(talk: Talk) -> None:
    _turn(talk, lambda: _chunk(talk, WRAPPED), talk.tool)


@keeps("chunk-of-unknown-call", 2)
def a_chunk_follows_its_tool_call(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _chunk(talk, WRAPPED))


@breaks("tool-chunk-list", 2)
def a_chunk_of_a_tool_call_is_a_list(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _chunk(talk, [WRAPPED]))


@keeps("tool-chunk-list", 2)
def a_chunk_of_a_tool_call_is_one_item(talk: Talk) -> None:
    _turn(talk, talk.tool, lambda: _chunk(talk, WRAPPED))
