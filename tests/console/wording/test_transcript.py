"""A conversation as lines of text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis.strategies import lists, sampled_from
from markdown_it import MarkdownIt

from acp_console.wording.message_markdown import contained, new_parser
from acp_console.wording.transcript import change_lines, transcript_lines
from acp_console.wording.transcript_html import html_page
from acp_console.wording.transcript_markdown import markdown_lines
from acp_inspector.session.conversations import Conversations
from acp_inspector.views.state_diff import state_changes
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

EVIL = "\x1b[2J\x9b[b]\r\n\u202e"


def folded(*said: Said) -> Conversations:
    conversations = Conversations()
    for frame in frames(*said):
        conversations.apply(frame)
    return conversations


def lines(*said: Said) -> list[str]:
    """Return the lines of session s1, the first one left out."""
    return list(transcript_lines(folded(*said).get("s1").at(len(said))))[1:]


def test_a_mode_in_which_the_agent_does_not_ask_has_a_warning() -> None:
    said = [update("current_mode_update", currentModeId=id_) for id_ in ("plan", "yolo")]
    assert lines(*said) == ["  · mode: plan", "  ⚠ mode: yolo"]
    written = markdown_lines(folded(*said).get("s1").items, "Agent")
    assert "*⚠ mode: yolo*" in list(written)


def test_each_kind_of_item_has_its_line() -> None:
    shown = lines(
        prompt(1, "first\nsecond"),
        chunk("hm", kind="agent_thought_chunk"),
        chunk("Hello"),
        update("plan", entries=[{"content": "look", "status": "completed"}, {}]),
        ask("agent", 1, "elicitation/create", sessionId="s1", message="Name?"),
        answer("client", 1, {"action": "decline"}),
        update("compaction_update", compactionId="c", status="completed"),
        update("session_message", messageId="m", senderSessionId="s2", content=[{"type": "image"}]),
        answer("agent", 1, {"stopReason": "refusal"}),
    )
    assert shown == [
        "  you: first",
        "    second",
        "  thought: hm",
        "  agent: Hello",
        "  plan, 2 steps",
        "    completed: look",
        "    ?:",
        "  · asks you: Name? · declined",
        "  · context compaction: completed",
        "  session s2:",
        "    [image]",
        "  ✗ refused: the agent does not go on with this",
    ]


def test_a_form_says_what_the_user_did_with_it_in_markdown_too() -> None:
    conversations = folded(
        ask("agent", 1, "elicitation/create", sessionId="s1", message="Name?"),
        answer("client", 1, {"action": "accept", "content": {}}),
        ask("agent", 2, "elicitation/create", sessionId="s1", message="Why?"),
    )
    shown = list(markdown_lines(conversations.get("s1").items, "agent"))
    assert "*asks you: Name? · accepted*" in shown
    assert "*asks you: Why? · open*" in shown


def test_an_open_block_of_code_ends_with_its_message_in_markdown() -> None:
    conversations = folded(prompt(1, "go"), chunk("~~~~\n```\n## You"), prompt(2, "on"))
    shown = list(markdown_lines(conversations.get("s1").items, "agent"))
    assert shown[shown.index("## agent") + 2 :] == [
        "~~~~",
        "```",
        "## You",
        "~~~~",
        "",
        *shown[-4:],
    ]
    assert shown[-4:-1] == ["## You", "", "on"]
    whole = folded(prompt(1, "go"), chunk("- a\n  ```\n  b\n\n```\nc\n```"))
    assert "\n".join(markdown_lines(whole.get("s1").items, "agent")).count("```") == 3


def test_a_tool_call_shows_its_way_its_consent_and_its_terminal() -> None:
    content = [{"type": "terminal", "terminalId": "t"}, {"type": "diff", "path": "/a"}]
    shown = lines(
        ask("agent", 1, "terminal/create", sessionId="s1", command="make"),
        answer("client", 1, {"terminalId": "t"}),
        update("tool_call", toolCallId="c", title="Build", kind="execute", content=content),
        ask("agent", 2, "session/request_permission", sessionId="s1", toolCall={"toolCallId": "c"}),
        ask("agent", 3, "terminal/output", sessionId="s1", terminalId="t"),
        answer("client", 3, {"output": "ok\n"}),
        update("tool_call_update", toolCallId="c", status="failed"),
    )
    assert shown == [
        "  · ran make without asking",
        "  tool Build (execute): pending → failed · 1 line",
        "    permission: open",
        "    [terminal]",
        "    [diff of /a]",
        "    $ make",
        "      ok",
    ]


def test_errors_stand_at_the_end() -> None:
    refused: Said = ("agent", {"id": 1, "error": {"code": -32602, "message": "no such mode"}})
    shown = lines(
        chunk("x"), ask("client", 1, "session/set_mode", sessionId="s1", modeId="m"), refused
    )
    assert shown[-1] == (
        "  error of the agent to session/set_mode in frame 3: no such mode (-32602)"
    )


def test_what_changed_is_told_in_lines() -> None:
    fold = folded(chunk("Hel"), chunk("lo"), update("session_info_update", title="Greeting"))
    shown = [line for each in state_changes(fold.at(1), fold.at(3)) for line in change_lines(each)]
    assert shown == ["* agentmessage-1 goes on: lo", '* title: null → "Greeting"']
    gone = [line for each in state_changes(fold.at(1), {}) for line in change_lines(each)]
    assert gone == ["- session s1"]
    new = [line for each in state_changes({}, fold.at(1)) for line in change_lines(each)]
    assert new[:2] == ["+ session s1", "+ agentmessage-1: agent “Hel”"]


def test_no_line_gives_orders_to_a_terminal() -> None:
    said: tuple[Said, ...] = (
        prompt(1, EVIL),
        update("tool_call", toolCallId=EVIL, title=EVIL, kind=EVIL, status=EVIL),
        update("plan", entries=[{"content": EVIL, "status": EVIL}]),
        update("session_info_update", title=EVIL),
        update(EVIL),
        ("agent", {"id": 1, "error": {"code": 1, "message": EVIL}}),
    )
    fold = folded(*said)
    shown = list(transcript_lines(fold.get("s1").at(6)))
    changed = [line for each in state_changes({}, fold.at(6)) for line in change_lines(each)]
    assert all(line.isprintable() for line in [*shown, *changed])


FORGED = """\
# The tour

You
---
> ## You

<!-- hidden
```sh
# stays <b>
```
"""


def test_headings_and_html_of_a_message_stay_within_it() -> None:
    conversations = folded(prompt(1, "go"), chunk(FORGED), prompt(2, "on"))
    shown = list(markdown_lines(conversations.get("s1").items, "agent"))
    assert shown[4:] == [
        *("## agent", "", "### The tour", "", "#### You", "", "> #### You", ""),
        *("\\<!-- hidden", "```sh", "# stays <b>", "```", "", "## You", "", "on", ""),
    ]


MARKS = ("# You", "## You", "You", "---", "===", "<!--", "<b>", "`", "```", "~~~", "> ", "- ",
         "    ", "\n", "\n\n", " ", "\\", "| a |", "[x](<y>)", "-", "=", "a",
         "[a]: b", "[a]")  # fmt: skip


@given(lists(sampled_from(MARKS), max_size=14).map("".join))
@settings(max_examples=200, deadline=None)
def test_a_message_in_a_document_shows_what_was_sent_and_ends_where_it_ends(text: str) -> None:
    """By a parser that reads no HTML, and one that does."""
    plain, free = new_parser(), MarkdownIt("commonmark")
    lines = "\n".join(contained(text))
    made = plain.render(lines)
    assert made == free.render(lines)
    assert re.search("<h[12]>", made) is None
    assert letters(made) == letters(plain.render(text))
    assert free.render(f"{lines}\n\n## You\n\non").endswith("<h2>You</h2>\n<p>on</p>\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("> a\n> ===", "> ### a\n>"),
        ("* a\n  * b\n    c\n    ---", "* a\n  * #### b c\n\n"),
        ("b\n-\n-", "#### b\n\n-"),
        ("a ##\n===", "### a \\#\\#\n"),
        ("[a]: http://b", "\\[a]: http://b"),
        ("[a]:\n===", "### [a]:\n"),
        ("- [^1]: b\n  c", "- \\[^1]: b\n  c"),
        ("[INFO]: d [x](y)", "\\[INFO]: d [x](y)"),
        ("```||\n-|-", "```\n-|-\n```"),
        ("a ` | b\n-|-\n` | <b> `", "a ` | b\n-|-\n` | \\<b> `"),
    ],
)
def test_what_reaches_beyond_a_message_is_shown_in_it(text: str, shown: str) -> None:
    assert "\n".join(contained(text)) == shown


def test_the_path_of_a_large_change_is_text() -> None:
    change = {"type": "diff", "path": "a`<b>`", "oldText": "", "newText": "x" * 400_001}
    said = update("tool_call", toolCallId="c", title="t", content=[change])
    written = list(markdown_lines(folded(prompt(1, "go"), said).get("s1").items, "agent"))
    assert "a\\`\\<b\\>\\`:" in written


def letters(page: str) -> str:
    return "".join(filter(str.isalnum, re.sub(r"<[^>]*>", "", page)))


def test_what_is_nested_too_deeply_for_markdown_is_code() -> None:
    deep = ">" * 5000 + " deep"
    assert contained(deep) == ["```", deep, "```"]
    assert "deep" in "".join(html_page(contained("- " * 40 + "deep")))
