"""A conversation as Markdown, to read elsewhere; nothing in it can act on a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from difflib import unified_diff
from typing import Final, assert_never

from acp_console.wording.calls import call_result
from acp_console.wording.events import edits_text
from acp_console.wording.message_markdown import code_block, contained
from acp_console.wording.transcript import notice_sign, notice_text, turn_end_text
from acp_console.wording.values import decoded_size, format_size
from acp_inspector.session.conversation import Conversation
from acp_inspector.session.items import (
    Item,
    Notice,
    PlanItem,
    SessionMessage,
    TextItem,
    Thought,
    ToolCallItem,
    TurnEnd,
    UserMessage,
)
from acp_protocol.host.sanitize import prose_text, single_line
from acp_protocol.json_text import json_text
from acp_protocol.json_values import get, get_list, get_string, get_text
from acp_protocol.jsonrpc import Json

WIDTH: Final = 160
"""Characters of a line that is made from untrusted text, at most."""
MAX_DIFF_CHARS: Final = 400_000
"""Characters of two texts up to which their difference is worked out."""
_MARKS: Final = re.compile(r"([\\`*_\[\]<>#|~])")
_STEPS: Final = {"completed": "[x]"}


def document_lines(
    talks: Iterable[Conversation],
    *,
    title: str = "",
    facts: Iterable[str] = (),
    agent: str = "Agent",
    left_out: Collection[int] = (),
) -> Iterator[str]:
    """Yield conversations as one document.

    Args:
        talks: the conversations.
        title: the heading above all of them; empty: each has its own.
        facts: lines about them.
        agent: the heading above what the agent says.
        left_out: entries whose texts must not be in it, such as events that report edits.
    """
    if title:
        yield from (f"# {markdown_text(title)}", "")
    lines = [f"- {markdown_text(each)}" for each in facts]
    yield from [*lines, ""] if lines else ()
    for talk in talks:
        if not title:
            yield from (f"# {markdown_text(talk.info.title or talk.session_id)}", "")

        def note_on(item: Item, talk: Conversation = talk) -> str:
            return edits_text(talk.current_edits_of(item), left_out)

        yield from markdown_lines(talk.items, agent, note_on)


def markdown_lines(
    items: Iterable[Item],
    agent: str,
    note_on: Callable[[Item], str] = lambda item: "",
) -> Iterator[str]:
    """Yield a conversation; texts of user and agent are Markdown and stay within their messages.

    Args:
        items: the conversation.
        agent: the heading above what the agent says.
        note_on: returns what the line below an item says; empty if there is none.
    """
    speaker = ""
    for item in items:
        heading = "You" if isinstance(item, UserMessage) else markdown_text(agent)
        if heading != speaker or isinstance(item, UserMessage):
            speaker = heading
            yield from (f"## {heading}", "")
        if lines := list(_item(item)):
            yield from (*lines, "")
        if note := note_on(item):
            yield from (f"*{markdown_text(note)}*", "")


def _item(item: Item) -> Iterator[str]:
    match item:
        case Thought():
            yield from _quoted("*Thought*", item)
        case SessionMessage():
            yield from _quoted(f"*Session {markdown_text(item.sender.now)}*", item)
        case TextItem():
            yield from _message(item)
        case ToolCallItem():
            yield from _call(item)
        case PlanItem():
            yield "**Plan**"
            yield ""
            for entry in item.entries:
                mark = _STEPS.get(get_string(entry, "status"), "[ ]")
                yield f"- {mark} {markdown_text(get_string(entry, 'content'))}"
        case TurnEnd():
            if item.error or item.stop_reason not in {None, "end_turn"}:
                yield f"*{markdown_text(turn_end_text(item))}*"
        case Notice():
            sign = notice_sign(item).replace("·", "")
            yield f"*{markdown_text(f'{sign} {notice_text(item)}'.strip())}*"
        case _:
            assert_never(item)


def _message(item: TextItem) -> Iterator[str]:
    for number, (text, block) in enumerate(item.segments()):
        lines = contained(prose_text(text).rstrip())
        yield from ["", *lines] if number and lines else lines
        if block is not None:
            yield from ["", _block(block)] if lines else [_block(block)]


def _quoted(heading: str, item: TextItem) -> Iterator[str]:
    yield f"> {heading}"
    yield ">"
    yield from (f"> {line}".rstrip() for line in contained(prose_text(item.text)))


def _call(item: ToolCallItem) -> Iterator[str]:
    facts = item.facts
    title = markdown_text(facts.title or facts.name or item.key)
    about = (facts.kind, item.status, *call_result(item).parts)
    yield " · ".join((f"**{title}**", *map(markdown_text, about)))
    for permission in item.permissions:
        chosen = get_text(permission.outcome, "optionId")
        names = {
            get_text(each, "optionId"): get_string(each, "name") for each in permission.options
        }
        outcome = names.get(chosen) or chosen or get_string(permission.outcome, "outcome") or "open"
        yield from ("", f"Permission: {markdown_text(outcome)}")
    for block in item.content:
        if get_text(block, "type") != "terminal":
            yield from ("", *_content(block))
    for terminal in item.terminals.values():
        command = f"$ {terminal.facts.command}\n" if terminal.facts.command else ""
        yield from ("", *code_block(command + terminal.text))


def _content(block: Json) -> Iterator[str]:
    match block:
        case {"type": "diff", "patch": {"text": str(patch)}}:
            yield from code_block(patch, "diff")
        case {"type": "diff", "path": str(path), "newText": str(new)}:
            old = get_string(block, "oldText")
            if len(old) + len(new) > MAX_DIFF_CHARS:
                yield from (f"{markdown_text(path)}:", "", *code_block(new))
                return
            lines = unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="")
            yield from code_block("\n".join(lines), "diff")
        case {"type": "diff"}:
            for change in get_list(block, "changes"):
                what = f"{get_string(change, 'operation')} {get_string(change, 'path')}"
                yield f"- {markdown_text(what)}"
        case {"type": "content", "content": {"type": "text", "text": str(text)}}:
            yield from code_block(text)
        case {"type": "content", "content": content}:
            yield _block(content)
        case _:
            yield _block(block)


def _block(block: Json) -> str:
    """Return a line for content that is not text."""
    resource = get(block, "resource")
    where = get_text(block, "uri") or get_text(resource, "uri")
    about = [get_string(block, "type") or "nothing", where]
    about.append(get_text(block, "mimeType") or get_text(resource, "mimeType"))
    if data := get_text(block, "data") or get_text(resource, "blob"):
        about.append(format_size(decoded_size(data)))
    if all(each is None for each in about[1:]):
        about.append(json_text(block))
    return f"*[{markdown_text(' '.join(each for each in about if each))}]*"


def markdown_text(text: str) -> str:
    """Return a text on one line that Markdown shows as it is."""
    return _MARKS.sub(r"\\\1", single_line(text, WIDTH))
