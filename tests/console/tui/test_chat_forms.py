"""Forms and pages of an agent, and what is asked beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Button, Checkbox, Input, Select, SelectionList

from acp_console.agents.spec import command_agent
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.form import PageView
from tests.console.conftest import Agent
from tests.console.tui.chats import AT_ONCE, chat_of, frames_of, open_chat
from tests.console.tui.conftest import say, until

FORM = """
greet()
open_session()
prompt = hear("session/prompt")
schema = {"type": "object", "required": ["name", "size"], "properties": {
    "name": {"type": "string", "title": "Your name", "minLength": 2},
    "size": {"type": "integer", "minimum": 1},
    "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"},
                                            {"const": "g", "title": "Green"}]},
    "fast": {"type": "boolean", "title": "Fast"},
    "parts": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}}}
answer = ask("elicitation/create", mode="form", message="Tell me more", requestedSchema=schema)
say("got " + json.dumps(answer["result"], sort_keys=True))
end(prompt)
prompt = hear("session/prompt")
# However long the message is, the address stays in sight.
answer = ask("elicitation/create", mode="url", message="Look there" + 300 * "\\n",
             elicitationId="e1", url="https://example.org/path")
say("page " + json.dumps(answer["result"], sort_keys=True))
end(prompt)
hear("never")
"""


async def test_a_form_is_filled_in_and_a_page_is_declined(workplace: Path, agent: Agent) -> None:
    async with open_chat(workplace, agent(FORM), size=(110, 44)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "Tell me more" in say(app) and isinstance(app.focused, Input))
        await pilot.press("A", "enter", "0", "ctrl+s")
        await until(pilot, lambda: say(app).count("✗ ") >= 2)
        form = chat_of(app).open_prompt()
        assert form is not None
        name, size = form.query(Input)
        name.value, size.value = "Ada", "3"
        form.query_one(Select).value = "g"
        form.query_one(Checkbox).value = True
        form.query_one(SelectionList).select("b")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "got " in say(app))
        sent = next(json.loads(each.data) for each in frames_of(app) if b'"action"' in each.data)
        content = {"name": "Ada", "size": 3, "color": "g", "fast": True, "parts": ["b"]}
        assert sent["result"] == {"action": "accept", "content": content}
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"more", "enter")
        await until(pilot, lambda: isinstance(app.focused, PageView))
        await until(pilot, lambda: "https://example.org/path" in say(app) and "No (n)" in say(app))
        await pilot.press(*"later")
        await until(pilot, lambda: chat_of(app).editor.text == "later")
        await pilot.press("tab", "n")
        await until(pilot, lambda: 'page {"action": "decline"}' in say(app))


QUESTION = """
prompt = hear_prompt()
values = [{"const": name[0], "title": name} for name in ("Red", "Green", "Blue")]
field = {"type": "string", "title": "Color", "default": "G", "oneOf": values}
schema = {"type": "object", "required": ["color"], "properties": {"color": field}}
for message in ("Which color?", "And now?", "LONG" + 30 * "\\n" + "end of it", "Again?"):
    answer = ask("elicitation/create", mode="form", message=message, requestedSchema=schema)
    say(json.dumps(answer["result"], sort_keys=True))
end(prompt)
hear("never")
"""


async def test_a_question_with_one_choice_is_answered_by_one_key(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(QUESTION), size=(80, 24)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "› 2 Green" in say(app) and "Press a number" in say(app))
        assert "Which color?" in say(app)
        await pilot.press("3")
        await until(pilot, lambda: "And now?" in say(app) and "Press a number" in say(app))
        await pilot.press("up", "enter")
        # What was not read is not answered.
        await until(pilot, lambda: "Read the question" in say(app))
        await pilot.press("1", *["pagedown"] * 8)
        await until(pilot, lambda: "end of it" in say(app) and "Press a number" in say(app))
        await pilot.press("2")
        await until(pilot, lambda: "Again?" in say(app) and "Press a number" in say(app))
        await pilot.press("n")
        await until(pilot, lambda: "● ready" in say(app))
        sent = [json.loads(each.data)["result"] for each in frames_of(app)
                if b'"action"' in each.data]  # fmt: skip
        given = [{"action": "accept", "content": {"color": each}} for each in "BRG"]
        assert sent == [*given, {"action": "decline"}]


MANY_FIELDS = """
greet()
modes = {"availableModes": [{"id": "a", "name": "Ask"}, {"id": "b", "name": "Bold"}]}
request = hear("session/new")
tell(id=request["id"], result={"sessionId": "s1", "modes": modes | {"currentModeId": "a"}})
prompt = hear("session/prompt")
fields = {f"f{place}": {"type": "string", "title": f"Field {place}"} for place in range(8)}
fields["fast"] = {"type": "boolean", "title": "Fast"}
parts = {"type": "string", "enum": ["a", "b"]}
fields["parts"] = {"type": "array", "items": parts, "default": ["b"]}
schema = {"type": "object", "properties": fields}
ask("elicitation/create", mode="form", message="Tell me more", requestedSchema=schema)
end(prompt)
hear("never")
"""


@pytest.mark.long
async def test_a_form_that_does_not_fit_says_so_and_tab_reaches_all_of_it(
    workplace: Path, agent: Agent
) -> None:
    command = command_agent(agent(MANY_FIELDS))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "mode Ask" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "↓ 6 more below" in say(app))
        # Neither key changes the mode while the form waits.
        chat_of(app).editor.focus()
        await pilot.press("tab")
        await until(pilot, lambda: isinstance(app.focused, Input))
        first = app.focused
        chat_of(app).editor.focus()
        await pilot.press("shift+tab")
        await until(pilot, lambda: app.focused is first)
        await pilot.press(*10 * ["tab"])
        await until(pilot, lambda: isinstance(app.focused, Button))
        await pilot.press("shift+tab")
        await until(pilot, lambda: isinstance(app.focused, SelectionList))
        await until(pilot, lambda: "[ ] a" in say(app) and "[x] b" in say(app))
        assert "[ ] yes" in say(app)
        assert "more below" not in say(app)
        await pilot.press("space")
        await until(pilot, lambda: "[x] a" in say(app))
        assert "mode Ask" in say(app)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("shift+tab")
        await until(pilot, lambda: b'"session/set_mode"' in frames_of(app)[-1].data)


HIDDEN_CONSENT = """
prompt = hear_prompt()
fields = {f"f{place}": {"type": "string", "title": f"Field {place}"} for place in range(12)}
fields["d"] = {"type": "string", "default": "all", "oneOf": [
    {"const": "none", "title": "N"}, {"const": "all", "title": "All [@click=app.quit]q[/] [/]"}]}
fields["parts"] = {"type": "array", "items": {"anyOf": [{"const": "a", "title": "B [/]"}]}}
fields["consent"] = {"type": "boolean", "default": True}
schema = {"type": "object", "properties": fields}
answer = ask("elicitation/create", mode="form", message="Tell me more", requestedSchema=schema)
say("got " + json.dumps(answer["result"]["content"], sort_keys=True))
end(prompt)
hear("never")
"""


async def test_a_form_is_sent_only_once_all_of_it_was_on_the_screen(
    workplace: Path, agent: Agent
) -> None:
    command = command_agent(agent(HIDDEN_CONSENT))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(110, 24)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "more below" in say(app))
        shown = ""
        while not any(b'"action"' in each.data for each in frames_of(app)):
            shown += say(app)
            assert '"action"' not in shown
            await pilot.press("ctrl+s")
            await pilot.pause()
        for text in ("Field 11", "All [@click=app.quit]q[/] [/]", "[ ] B [/]", "consent"):
            assert text in shown
        await until(pilot, lambda: 'got {"consent": true, "d": "all"}' in say(app))


LONG_OF_ALL = """
prompt = hear_prompt()
tell(id=900, method="session/request_permission", params={"sessionId": "s1",
     "toolCall": {"toolCallId": "t", "title": "Run it", "rawInput": {"command": "make\\n" * 40}},
     "options": [{"optionId": "yes", "name": "Yes, " + "always " * 42, "kind": "allow_always"}]})
hear("never")
"""


async def test_the_editor_stays_in_sight_whatever_is_asked(workplace: Path, agent: Agent) -> None:
    async with open_chat(workplace, agent(LONG_OF_ALL), size=(60, 24)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "Allow this?" in say(app))
        await until(pilot, lambda: chat_of(app).editor.region.bottom <= 23)
