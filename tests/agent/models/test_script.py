"""What the demo model makes of a prompt."""

from __future__ import annotations

import pytest

from acp_agent.models.demo import TOUR_FILE, help_text, script
from acp_agent.models.types import (
    Attachment,
    ModelEvent,
    PlanChange,
    PromptMessage,
    ReasoningDelta,
    TextDelta,
    ToolResult,
    ToolSpec,
    ToolUse,
)

DONE = ToolResult("any", "")


def played(prompt: str | PromptMessage, *answers: ToolResult) -> list[ModelEvent]:
    """Return all that is said and done on `prompt`; calls without an answer here succeed."""
    running = script(PromptMessage(prompt) if isinstance(prompt, str) else prompt)
    given = iter(answers)
    events: list[ModelEvent] = []
    answer: ToolResult | None = None
    while True:
        try:
            event = running.send(answer)
        except StopIteration:
            return events
        events.append(event)
        answer = next(given, DONE) if isinstance(event, ToolUse) else None


def calls(prompt: str, *answers: ToolResult) -> list[tuple[str, dict[str, object]]]:
    events = played(prompt, *answers)
    return [(event.name, dict(event.arguments)) for event in events if isinstance(event, ToolUse)]


def said(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize(
    ("prompt", "call"),
    [
        ("read a b.txt", ("read", {"path": "a b.txt"})),
        ("/read x", ("read", {"path": "x"})),
        ("  READ x  ", ("read", {"path": "x"})),
        ("search TODO", ("search", {"pattern": "TODO", "path": "."})),
        ("search a b in src", ("search", {"pattern": "a b", "path": "src"})),
        ("edit x: a => b", ("edit", {"path": "x", "old": "a", "new": "b"})),
        ("edit x: a =>", ("edit", {"path": "x", "old": "a", "new": ""})),
        ("edit x: one more", ("edit", {"path": "x", "old": None, "new": "one more\n"})),
        (
            "edit x",
            (
                "edit",
                {"path": "x", "old": None, "new": "This line was added by the demo agent.\n"},
            ),
        ),
        ("write x: a: b", ("write", {"path": "x", "text": "a: b\n"})),
        ("write x: now then later", ("write", {"path": "x", "text": "now then later\n"})),
        ("move x to y z", ("move", {"path": "x", "to": "y z"})),
        ("delete x", ("delete", {"path": "x"})),
        ("run ls -la 'a b'", ("run", {"command": ["ls", "-la", "a b"]})),
        ("call w__look place=Rome n=1", ("w__look", {"place": "Rome", "n": 1})),
        ('/call look {"place": "New York"}', ("look", {"place": "New York"})),
        ("run echo $HOME; rm x", ("run", {"command": ["echo", "$HOME;", "rm", "x"]})),
    ],
)
def test_an_order_is_one_call(prompt: str, call: tuple[str, dict[str, object]]) -> None:
    assert calls(prompt) == [call]


def test_orders_are_joined_by_lines_and_by_then() -> None:
    names = [name for name, _ in calls("read a then /run ls\n\nsearch b\nwrite c: d then delete c")]
    assert names == ["read", "run", "search", "write", "delete"]


@pytest.mark.parametrize("prompt", ["write out.txt some words", "write out.txt"])
def test_a_write_without_its_colon_is_explained(prompt: str) -> None:
    assert calls(prompt) == []
    assert "doesn't say what to write. Use `write FILE: TEXT`" in said(played(prompt))


@pytest.mark.parametrize("prompt", ["move x", "move x to ", "move to y"])
def test_a_move_that_does_not_say_where_to_is_told(prompt: str) -> None:
    assert calls(prompt) == []
    assert "doesn't say where to" in said(played(prompt))


def test_a_command_line_that_cannot_be_taken_apart_is_told() -> None:
    events = played("run echo 'a")
    assert [type(event) for event in events] == [TextDelta]
    assert "cannot be" not in said(events)
    assert "is not a valid command line" in said(events)


@pytest.mark.parametrize("told", ["place", "=x", "{no", "'a"])
def test_arguments_that_cannot_be_read_are_told(told: str) -> None:
    assert "can't be read as arguments" in said(played(f"call look {told}"))


def test_the_tools_are_named_as_they_are_offered() -> None:
    offers = (ToolSpec("look", "Look out", {}), ToolSpec("w__go", "Go", {}))
    events = list(script(PromptMessage("tools then help"), offers))
    assert "- `look`: Look out" in said(events)
    assert "- `w__go`: Go" in said(events)


def test_a_plan_goes_from_its_first_step_to_the_last() -> None:
    plans = [event for event in played("plan") if isinstance(event, PlanChange)]
    done = [[step.status for step in plan.entries].count("completed") for plan in plans]
    assert done == [0, 1, 2, 3]
    assert [step.status for step in plans[1].entries] == ["completed", "in_progress", "pending"]


def test_thoughts_come_before_words() -> None:
    events = played("think about it")
    assert [type(event) for event in events] == [ReasoningDelta, TextDelta]


@pytest.mark.parametrize("prompt", ["help", "/help me", "", "  \n "])
def test_help_is_given_when_asked_for_or_when_nothing_is_said(prompt: str) -> None:
    assert said(played(prompt)) == help_text()


@pytest.mark.parametrize("prompt", ["hello", "readme", "read", "let us then reading list it"])
def test_what_is_no_order_is_repeated_with_help(prompt: str) -> None:
    text = said(played(prompt))
    assert f"> {prompt}\n" in text
    assert text.endswith(help_text())


def test_many_lines_that_are_no_orders_get_one_answer() -> None:
    text = said(played("Dear agent,\n\nwhat is this?\nread a\nand that?"))
    assert "> Dear agent,\n> what is this?\n" in text
    assert "> and that?\n" in text
    assert text.count(help_text()) == 2
    assert text.index("I'll read `a`") < text.index("> and that?")


def test_an_answer_that_holds_a_fence_stays_in_its_own() -> None:
    text = said(played("read a", ToolResult("read", "```\nx\n```")))
    assert "````\n```\nx\n```\n````" in text


def test_a_long_answer_is_repeated_in_part() -> None:
    text = said(played("read a", ToolResult("read", "\n".join(map(str, range(20))))))
    assert "returned 20 lines" in text
    assert "7\n… 12 more\n```" in text


def test_the_tour_shows_each_feature_and_cleans_up() -> None:
    events = played("/tour")
    assert {type(event) for event in events} == {ReasoningDelta, TextDelta, PlanChange, ToolUse}
    names = [event.name for event in events if isinstance(event, ToolUse)]
    assert names == ["write", "read", "search", "edit", "run", "delete"]
    assert "```python" in said(events)
    assert "|---|" in said(events)


def test_the_tour_ends_where_its_file_was_not_written() -> None:
    events = played("/tour", ToolResult("write", "it is there already", is_failed=True))
    assert [event.name for event in events if isinstance(event, ToolUse)] == ["write"]
    assert said(events).endswith(
        "The file was not written: it is there already. The tour ends here.\n\n"
    )


def test_a_tour_that_may_not_clean_up_says_what_stays() -> None:
    no = ToolResult("delete", "rejected by the user", is_failed=True)
    text = said(played("/tour", DONE, DONE, DONE, DONE, DONE, no))
    assert f"`{TOUR_FILE}` is still there: rejected by the user." in text


def test_attachments_are_noticed() -> None:
    attachments = (Attachment("file:///a", "abc"), Attachment("file:///b", None))
    text = said(played(PromptMessage("think", attachments)))
    assert text.startswith("You attached:\n\n- `file:///a`, 3 characters\n- `file:///b`, no text\n")


def test_help_lists_forms_and_pages_only_where_the_client_shows_them() -> None:
    both = (ToolSpec("ask_user", "", {}), ToolSpec("open_page", "", {}))
    for order in ("`ask ", "`form`", "`open "):
        assert order in help_text(both)
        assert order not in help_text()


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("ask Why?", "Your client can't show forms."),
        ("form", "Your client can't show forms."),
        ("open https://example.org", "Your client can't open pages."),
    ],
)
def test_a_form_or_a_page_is_refused_where_the_client_shows_none(prompt: str, text: str) -> None:
    assert said(played(prompt)).strip() == text
