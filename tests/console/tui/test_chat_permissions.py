"""Permission requests in a chat: nothing is decided that was not on the screen."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from textual.events import Key, Paste

from acp_console.tui.chat.ask import PermissionTiming
from acp_console.tui.chat.choice_list import ChoiceLine, ChoiceList
from acp_console.tui.chat.form import PageView
from acp_console.tui.chat.permission import CallDetails, PermissionView
from acp_console.tui.confirm import ConfirmScreen
from tests.console.conftest import Agent
from tests.console.tui.chats import ASKS, AT_ONCE, BURST, chat_of, open_chat
from tests.console.tui.conftest import place_of, say, until


async def test_a_permission_is_answered_by_its_number_by_mouse_and_at_the_keys_in_its_hint(
    workplace: Path,
) -> None:
    notes = workplace / "notes.txt"
    async with open_chat(workplace, size=(150, 31)) as (app, pilot):
        for answer, content, word in (
            ("Reject", "one\ntwo\n", "✗ Edit notes.txt"),
            ("Allow", "changed\ntwo\n", "✓ Edit notes.txt"),
        ):
            chat_of(app).editor.insert("edit notes.txt: one => changed")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.focused, PermissionView))
            await until(pilot, lambda: "Press a number" in say(app))
            shown = say(app)
            assert "- one" in shown
            assert "+ changed" in shown
            assert "? waits for you" in say(app)
            number = re.search(rf"(\d) {answer}", shown)
            assert number
            await pilot.press(number[1])
            await until(pilot, lambda: word in say(app) and "● ready" in say(app))  # noqa: B023 - it is waited for at once
            assert notes.read_text() == content
            assert not app.screen.query(PermissionView)
        # By mouse, and in one column where the traffic leaves no room for two.
        await pilot.press(*"run echo hi", "enter")
        await until(pilot, lambda: "Press a number" in say(app))
        choices = app.screen.query_one(ChoiceList)
        assert choices.has_class("-columns")
        await pilot.press("ctrl+t")
        await until(pilot, lambda: not choices.has_class("-columns"))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: choices.has_class("-columns"))
        await until(pilot, lambda: "Press a number" in say(app))
        assert await pilot.click("PermissionView ChoiceLine")
        await until(pilot, lambda: "✓ Run echo hi" in say(app) and "● ready" in say(app))
        # At the keys in the hint.
        await pilot.press(*"edit notes.txt: two => three", "enter")
        await until(pilot, lambda: "d: side by side" in say(app))
        assert not re.search("- two .*three", say(app))
        await pilot.click(offset=place_of(app, "d: side"))
        await until(pilot, lambda: re.search("- two .*three", say(app)))
        await pilot.click(offset=place_of(app, "No, and say why"))
        await until(pilot, lambda: not app.screen.query(PermissionView))
        assert "Tell the agent why" in say(app)
        assert notes.read_text() == "changed\ntwo\n"


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.long
async def test_message_that_begins_with_a_digit_answers_no_permission_prompt(
    workplace: Path, agent: Agent
) -> None:
    clock = Clock()
    timing = PermissionTiming(typing_pause_s=0.01, settle_s=0.5, clock=clock)
    async with open_chat(workplace, agent(ASKS), size=(100, 30), timing=timing) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "1 Yes" in say(app))
        # The last key was just pressed: the prompt leaves the focus where it is.
        assert chat_of(app).editor.has_focus
        clock.now = 10
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        # It has just taken the focus: this digit is the beginning of a message.
        for key in "1x":
            app.screen.query_one(PermissionView).post_message(Key(key, key))
        await until(pilot, lambda: chat_of(app).editor.has_focus)
        clock.now = 20
        await pilot.press(*" more thing")
        assert chat_of(app).editor.text == "1x more thing"
        await until(pilot, lambda: "? waits for you" in say(app))
        # The user goes there: now a number counts.
        app.screen.query_one(PermissionView).focus()
        await pilot.press("1")
        await until(pilot, lambda: "● ready" in say(app) and "yes" in say(app))


LONG_QUESTION = """
prompt = hear_prompt()
lines = "\\n".join(f"line {number}" for number in range(100))
answer = ask_consent(toolCallId="t", title="Run it", kind="execute", rawInput={"command": lines})
say("you said " + answer)
end(prompt)
prompt = hear("session/prompt")
say("heard " + prompt["params"]["prompt"][0]["text"])
end(prompt)
hear("never")
"""


@pytest.mark.parametrize("skip", ["", "key", "mouse"])
async def test_nobody_allows_what_was_not_on_the_screen(
    workplace: Path, agent: Agent, skip: str
) -> None:
    async with open_chat(workplace, agent(LONG_QUESTION)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await until(pilot, lambda: "Read to the end first" in say(app))
        assert "line 0" in say(app)
        await pilot.press("1", "y")
        assert await pilot.click("PermissionView ChoiceLine")
        await pilot.pause()
        assert app.screen.query(PermissionView)
        if skip == "key":
            await pilot.press("!")
        elif skip == "mouse":
            await pilot.click(offset=place_of(app, "! skips"))
        else:
            await pilot.press(*["pagedown"] * 12)
            await until(pilot, lambda: "line 99" in say(app))
        await until(pilot, lambda: "Press a number" in say(app))
        await pilot.press("y")
        await until(pilot, lambda: "you said yes" in say(app))


async def test_what_the_screen_cuts_off_or_a_dialog_covers_was_not_seen(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(
        workplace, agent(LONG_QUESTION.replace("range(100)", "range(2)")), size=(40, 5)
    ) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "line 0" in say(app))
        assert "line 1" not in say(app)
        details = app.screen.query_one(CallDetails)
        assert not details.has_shown_end
        app.push_screen(ConfirmScreen("Really?", yes="Yes"))
        await until(pilot, lambda: "Really?" in say(app))
        await pilot.resize_terminal(100, 40)
        await until(pilot, lambda: "line 1" in say(app))
        assert not details.has_shown_end
        await pilot.press("escape")
        await until(pilot, lambda: "Press a number" in say(app))


LONG_ADDRESS = """
prompt = hear_prompt()
answer = ask("elicitation/create", mode="url", message="Look there", elicitationId="e1",
             url=f"https://{'x' * 2000}.org/" + "x" * 2000 + "/end")
say("page " + answer["result"]["action"])
end(prompt)
hear("never")
"""


@pytest.mark.long
async def test_an_address_is_read_to_its_end_before_it_is_copied(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(LONG_ADDRESS), size=(80, 24)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PageView))
        await until(pilot, lambda: "Read the address to its end" in say(app))
        assert "No (n)" in say(app)
        await pilot.press("o", "c")
        assert await pilot.click("PageView Button.allow")
        await pilot.pause()
        assert app.screen.query(PageView)
        await pilot.press(*["pagedown"] * 20)
        await until(pilot, lambda: "/end" in say(app))
        await until(pilot, lambda: "Read the address to its end" not in say(app))
        await pilot.press("c")
        await until(pilot, lambda: "page accept" in say(app))


LONG_TITLE = """
prompt = hear_prompt()
title = "echo " + "a" * 900 + " && rm -rf work"
ask_consent(toolCallId="t", title=title, kind="execute")
end(prompt)
hear("never")
"""


@pytest.mark.long
async def test_a_command_in_the_title_is_wholly_shown_before_it_is_allowed(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(LONG_TITLE), size=(80, 40)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await until(pilot, lambda: "Press a number" in say(app))
        assert "&& rm -rf work" in say(app)
        await pilot.press("n")


ALWAYS_FIRST = """
prompt = hear_prompt()
kinds = ["allow_always", "allow_always", "allow_once", "reject_once"]
options = [{"optionId": f"{kind} {n}", "name": f"Option {n}", "kind": kind}
           for n, kind in enumerate(kinds)]
call = {"toolCallId": "t", "title": "Run it", "kind": "execute"}
answer = ask("session/request_permission", toolCall=call, options=options)
say("you said " + answer["result"]["outcome"]["optionId"])
end(prompt)
hear("never")
"""


@pytest.mark.long
async def test_what_allows_once_comes_before_what_allows_always(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(ALWAYS_FIRST)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await until(pilot, lambda: "Press a number" in say(app))
        labels = [each.line.label for each in app.screen.query(ChoiceLine)]
        assert labels[:4] == [
            "Option 2", "Option 0 (always)", "Option 1 (always)", "Option 3",
        ]  # fmt: skip
        await pilot.press("1")
        await until(pilot, lambda: "you said allow_once 2" in say(app))


async def test_text_that_comes_at_once_answers_no_permission_prompt(
    workplace: Path, agent: Agent
) -> None:
    """Lines from a slow connection, one with Enter, one with a choice in front, and a paste."""
    async with open_chat(workplace, agent(LONG_QUESTION), timing=BURST) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        prompt = app.screen.query_one(PermissionView)
        for key in "fix12":
            prompt.post_message(Key(key, key))
        await until(pilot, lambda: chat_of(app).editor.text == "fix12")
        prompt.focus()
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        for key in ("x", "enter"):
            prompt.post_message(Key(key, "\r" if key == "enter" else key))
        await until(pilot, lambda: chat_of(app).chat.queued == ["fix12x"])
        for text in ("no", "2x"):
            chat_of(app).editor.text = ""
            prompt.focus()
            await until(pilot, lambda: isinstance(app.focused, PermissionView))
            for key in text:
                prompt.post_message(Key(key, key))
            await until(pilot, lambda text=text: chat_of(app).editor.text == text)
        prompt.focus()
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        prompt.post_message(Paste(" and 1"))
        await until(pilot, lambda: chat_of(app).editor.text == "2x and 1")
        assert prompt.is_mounted
        prompt.focus()
        await pilot.press("n")
        await until(pilot, lambda: "you said no" in say(app))


@pytest.mark.long
async def test_a_rejection_can_be_explained_in_the_next_prompt(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(LONG_QUESTION)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await pilot.press("w")
        await until(pilot, lambda: "Tell the agent why" in say(app))
        await until(pilot, lambda: "you said no" in say(app))
        await pilot.press(*"use ls", "enter")
        await until(pilot, lambda: "heard use ls" in say(app))


@pytest.mark.long
async def test_permission_prompt_takes_the_focus_once(workplace: Path, agent: Agent) -> None:
    timing = replace(AT_ONCE, flash_s=1000)
    async with open_chat(workplace, agent(ASKS), size=(100, 30), timing=timing) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        chat_of(app).editor.focus()
        # Any update of the screen.
        chat_of(app).chat.journal.event("mark")
        await until(
            pilot,
            lambda: chat_of(app).chat.entries_read == len(chat_of(app).chat.journal),
        )
        await pilot.press("2")
        assert chat_of(app).editor.text == "2"
        assert "? waits for you" in say(app)
        await until(pilot, lambda: "2 went to your message" in say(app))


@pytest.mark.long
async def test_click_on_a_permission_prompt_that_just_appeared_decides_nothing(
    workplace: Path, agent: Agent
) -> None:
    clock = Clock()
    timing = PermissionTiming(typing_pause_s=0.01, settle_s=0.5, clock=clock)
    async with open_chat(workplace, agent(ASKS), size=(100, 30), timing=timing) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "1 Yes" in say(app))
        assert await pilot.click("PermissionView ChoiceLine")
        await pilot.pause()
        assert "? waits for you" in say(app)
        clock.now = 0.6
        assert await pilot.click("PermissionView ChoiceLine")
        await until(pilot, lambda: "● ready" in say(app))


CHANGES_ITS_MIND = """
prompt = hear_prompt()
tell(id=700, method="session/request_permission", params={"sessionId": "s1",
     "toolCall": {"toolCallId": "t", "title": "Run it", "rawInput": {"command": "make"}},
     "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]})
while not os.path.exists("go"):
    time.sleep(0.01)
update("tool_call_update", toolCallId="t", rawInput={"command": "rm -r /"})
hear("never")
"""


@pytest.mark.long
async def test_a_call_that_changes_while_it_asks_is_shown_as_it_is_now(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(CHANGES_ITS_MIND)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "command: make" in say(app))
        (workplace / "go").touch()
        await until(pilot, lambda: "command: rm -r /" in say(app))
        assert "command: make" not in say(app)


@pytest.mark.long
async def test_what_was_chosen_for_a_call_as_it_was_is_not_sent(
    workplace: Path, agent: Agent
) -> None:
    reply = 'say("you said " + hear(None)["result"]["outcome"]["optionId"])'
    async with open_chat(workplace, agent(CHANGES_ITS_MIND.replace('hear("never")', reply))) as (
        app,
        pilot,
    ):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "command: make" in say(app))
        before = app.screen.query_one(PermissionView)
        (workplace / "go").touch()
        await until(pilot, lambda: "command: rm -r /" in say(app))
        now = app.screen.query_one(PermissionView)
        # A choice may be on its way when the call changes.
        app.screen.post_message(PermissionView.OptionChosen(before, before.permission, "yes"))
        await pilot.pause()
        assert app.screen.query_one(PermissionView) is now
        await until(pilot, lambda: "Press a number" in say(app))
        await pilot.press("y")
        await until(pilot, lambda: "you said yes" in say(app))


ASKS_TWICE = """
prompt = hear_prompt()
options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
for id_, title in ((700, "Run make"), (701, "Run rm -rf /")):
    tell(id=id_, method="session/request_permission", params={
        "sessionId": "s1", "toolCall": {"toolCallId": "t", "title": title}, "options": options})
    while not os.path.exists("go"):
        time.sleep(0.01)
for _ in range(2):
    answer = hear(None)
    say(str(answer["id"]) + answer["result"]["outcome"]["outcome"])
end(prompt)
hear("never")
"""
"""Asks again about the same call, without a response, once there is a file `go`."""


@pytest.mark.long
async def test_second_permission_request_for_a_call_replaces_the_first(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(ASKS_TWICE)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        (workplace / "go").touch()
        await until(pilot, lambda: "Run rm -rf /" in say(app))
        await until(pilot, lambda: "700cancelled" in say(app))
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await pilot.press("1")
        await until(pilot, lambda: "701selected" in say(app))
        await until(pilot, lambda: "● ready" in say(app))


@pytest.mark.long
async def test_permission_prompt_that_the_traffic_covered_decides_nothing_at_once(
    workplace: Path, agent: Agent
) -> None:
    clock = Clock()
    timing = PermissionTiming(typing_pause_s=0.01, settle_s=0.5, clock=clock)
    async with open_chat(workplace, agent(ASKS), size=(100, 30), timing=timing) as (app, pilot):
        await pilot.press(*"go", "enter", "f2")
        await until(pilot, lambda: "request_permission" in say(app))
        clock.now = 10
        await pilot.press("f2")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await pilot.press("1")
        assert "? waits for you" in say(app)
        await until(pilot, lambda: "press 1 again" in say(app))
        assert chat_of(app).editor.text == ""
