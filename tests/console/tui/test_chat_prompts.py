"""Prompts in a chat: sent, queued, stopped, completed from commands, files and history."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from textual.events import Key

from acp_console.agents.spec import DEMO_AGENT, command_agent
from acp_console.kept.prompt_history import PromptHistory
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.options import OptionsScreen
from acp_console.tui.chat.permission import PermissionView
from acp_console.tui.help import HelpScreen
from acp_console.tui.home.screen import HomeScreen
from acp_inspector.journal import Frame
from tests.console.conftest import Agent
from tests.console.tui.chats import AT_ONCE, chat_of, open_chat
from tests.console.tui.conftest import say, until


async def test_a_prompt_is_answered_in_streamed_markdown_and_shown_wherever_one_has_scrolled(
    workplace: Path,
) -> None:
    async with open_chat(workplace, size=(80, 24)) as (app, pilot):
        await pilot.press(*"read notes.txt", "enter")
        await until(pilot, lambda: "returned 2 lines" in say(app))
        await until(pilot, lambda: "● ready" in say(app))
        shown = say(app)
        assert "Read notes.txt" in shown
        assert "✓ Read notes.txt" in shown
        # Wherever one has scrolled.
        await pilot.press(*"help", "enter")
        await until(pilot, lambda: "plan, think" in say(app) and "● ready" in say(app))
        await pilot.press("ctrl+home")
        await until(pilot, lambda: "plan, think" not in say(app))
        await pilot.press(*"plan", "enter")
        await until(pilot, lambda: "The plan is complete" in say(app))


@pytest.mark.long
async def test_version_two_looks_the_same_and_its_question_keeps_its_keys(workplace: Path) -> None:
    async with open_chat(workplace, DEMO_AGENT.with_protocol(2), size=(100, 60)) as (app, pilot):
        await until(pilot, lambda: "mode Ask" in say(app))
        app.screen.query_one("#editor").insert("edit notes.txt: one => changed")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - the editor
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        assert "- one" in say(app)
        assert "+ changed" in say(app)
        await pilot.press("f2")
        await until(pilot, lambda: chat_of(app).traffic.pane.traffic.table.has_focus)
        await pilot.press("f2")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await pilot.press("1")
        await until(pilot, lambda: "✓ Edit notes.txt" in say(app))
        await until(pilot, lambda: "● ready" in say(app))
    assert (workplace / "notes.txt").read_text() == "changed\ntwo\n"


@pytest.mark.long
async def test_an_agent_in_a_dialect_is_chatted_with_like_any_other(workplace: Path) -> None:
    script = Path(__file__).parents[2] / "protocol/dialects/peers/acpex_agent.py"
    async with open_chat(workplace, [sys.executable, str(script)]) as (app, pilot):
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "Refactoring complete!" in say(app))
        assert "read_file" in say(app)
        assert "dialect acpex" in say(app).splitlines()[0]


async def test_escape_stops_the_turn_and_answers_the_open_question(workplace: Path) -> None:
    async with open_chat(workplace) as (app, pilot):
        await pilot.press(*"edit notes.txt", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await pilot.press("escape")
        await until(pilot, lambda: "— cancelled" in say(app))
        assert (workplace / "notes.txt").read_text() == "one\ntwo\n"
        assert not app.screen.query(PermissionView)


WORDLESS = """
prompt = hear_prompt()
details = {"details": "the model takes no images"}
tell(id=prompt["id"], error={"code": -32603, "message": "Internal error", "data": details})
end(hear("session/prompt"))
prompt = hear("session/prompt")
say("a reply")
end(prompt)
hear("never")
"""


async def test_why_a_turn_failed_stays_and_a_turn_without_a_reply_says_so(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(WORDLESS)) as (app, pilot):
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: "turn failed" in say(app))
        await pilot.press(*"two", "enter")
        await until(pilot, lambda: "— ended without a reply" in say(app))
        assert "Internal error (-32603): the model takes no images" in say(app)
        await pilot.press(*"three", "enter")
        await until(pilot, lambda: "a reply" in say(app) and "● ready" in say(app))
        assert say(app).count("without a reply") == 1


@pytest.mark.long
async def test_prompts_sent_while_busy_wait_and_stopping_the_turn_puts_them_back(
    workplace: Path,
) -> None:
    async with open_chat(workplace, notifications=True) as (app, pilot):
        await pilot.press(*"run cat", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        chat_of(app).editor.focus()
        await pilot.press(*"search two", "enter")
        await until(pilot, lambda: "1 prompt queued" in say(app))
        await pilot.press(*"search one", "enter")
        await until(pilot, lambda: "2 prompts queued" in say(app))
        await pilot.press("tab", "shift+tab")
        app.screen.query_one(PermissionView).focus()
        await pilot.press("1")
        await until(pilot, lambda: "notes.txt:2: two" in say(app))
        await until(pilot, lambda: "notes.txt:1: one" in say(app))
        await until(pilot, lambda: "● ready" in say(app) and "queued" not in say(app))
        # Back into the editor, before what is half written.
        await pilot.press(*"run cat", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        chat_of(app).editor.focus()
        await pilot.press(*"one", "enter", *"two", "enter", *"half")
        await until(pilot, lambda: "2 prompts queued" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Not sent, back in the editor: 2 prompts." in say(app))
        assert chat_of(app).editor.text == "one\ntwo\nhalf"
        await until(pilot, lambda: "● ready" in say(app) and "queued" not in say(app))


async def test_lines_that_are_written_quickly_stay_in_order(workplace: Path) -> None:
    async with open_chat(workplace) as (app, pilot):
        for key, character in [("a", "a"), ("ctrl+j", None), ("b", "b"), ("shift+enter", None)]:
            app.post_message(Key(key, character))
        app.post_message(Key("c", "c"))
        await until(pilot, lambda: len(chat_of(app).editor.text) == 5)
        assert chat_of(app).editor.text == "a\nb\nc"


@pytest.mark.long
async def test_f1_explains_the_keys_and_f3_leaves_for_the_agents(workplace: Path) -> None:
    async with open_chat(workplace) as (app, pilot):
        await pilot.press("f1")
        await until(pilot, lambda: "Stop the running turn" in say(app))
        await pilot.press("escape")
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))


@pytest.mark.long
async def test_output_of_a_command_is_shown_while_it_runs(workplace: Path, agent: Agent) -> None:
    """The agent never asks for the output."""
    flag = workplace / "go-on"
    command = f"echo first; while [ ! -e {flag} ]; do sleep 0.02; done; echo second"
    script = f"""
prompt = hear_prompt()
made = ask("terminal/create", command="sh", args=["-c", {command!r}])["result"]["terminalId"]
update("tool_call", toolCallId="t", title="Run it", kind="execute", status="in_progress",
       content=[{{"type": "terminal", "terminalId": made}}])
hear("never")
"""
    async with open_chat(workplace, agent(script), size=(100, 30)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: bool(re.search(r"^\W*first\W*$", say(app), re.MULTILINE)))
        flag.touch()
        await until(pilot, lambda: bool(re.search(r"^\W*second\W*$", say(app), re.MULTILINE)))


@pytest.mark.long
async def test_escape_can_be_pressed_any_number_of_times_while_the_agent_reads_nothing(
    workplace: Path, agent: Agent
) -> None:
    command = agent("greet(); open_session(); time.sleep(60)")
    async with open_chat(workplace, command, size=(100, 30)) as (app, pilot):
        # More than the pipe holds.
        chat_of(app).editor.text = "x" * 200_000
        await pilot.press("enter")
        await until(pilot, lambda: "◐ working" in say(app))
        await pilot.press(*["escape"] * 40)
        await until(pilot, lambda: "◐ stopping" in say(app))


async def test_chat_shows_a_stray_line_on_stdout_at_once(workplace: Path, agent: Agent) -> None:
    script = """
for word in ("hel\\x1blo", "again", "again"):
    print(word, flush=True)
hear("never")
"""
    app = ConsoleApp(agent=command_agent(agent(script)), start="chat", cwd=workplace)
    async with app.run_test(size=(140, 30)) as pilot:
        await until(pilot, lambda: "(and 2 more such lines)" in say(app))
        assert "wrote a line to stdout that is not a message: hel␛lo" in say(app)
        assert "◐ starting" in say(app)


@pytest.mark.long
async def test_help_begins_with_the_keys_of_the_screen(workplace: Path) -> None:
    async with open_chat(workplace, size=(80, 24)) as (app, pilot):
        assert "Stop" not in say(app)
        await pilot.press("f1")
        await until(pilot, lambda: "Show or hide the traffic" in say(app))
        assert "List of agents" not in say(app)


@pytest.mark.long
async def test_the_sidebar_shows_plan_and_changed_files(workplace: Path) -> None:
    async with open_chat(workplace, size=(140, 40)) as (app, pilot):
        await pilot.press(*"/tour", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await until(pilot, lambda: "Press a number" in say(app))
        assert "Files  1" not in say(app)
        await pilot.press("y")
        await until(pilot, lambda: "Plan  " in say(app) and "Files  1" in say(app))
        assert "acp-tour.txt" in say(app)
        await pilot.press("ctrl+b")
        await until(pilot, lambda: "Files  1" not in say(app))


@pytest.mark.long
async def test_commands_are_offered_after_a_slash_and_files_after_an_at(workplace: Path) -> None:
    """A file is sent with the prompt."""
    async with open_chat(workplace) as (app, pilot):
        await until(pilot, lambda: chat_of(app).chat.conversation is not None)
        await pilot.press("slash")
        await until(pilot, lambda: chat_of(app).prompt.menu.display)
        await pilot.press(*"tou", "tab")
        await until(pilot, lambda: chat_of(app).editor.text == "/tour ")
        assert not chat_of(app).prompt.menu.display
        await pilot.press("ctrl+w", "ctrl+w", "slash", "escape")
        await until(pilot, lambda: not chat_of(app).prompt.menu.display)
        assert chat_of(app).editor.text == "/"
        await pilot.press("ctrl+u")
        await until(pilot, lambda: not chat_of(app).editor.text)
        await pilot.press(*"help with ")
        # The files were not looked for when tab is pressed.
        for key, character in (("at", "@"), ("n", "n"), ("o", "o"), ("tab", "\t")):
            app.post_message(Key(key, character))
        await until(pilot, lambda: chat_of(app).editor.text == "help with @notes.txt ")
        assert chat_of(app).editor.has_focus
        await pilot.press("enter")
        entries = chat_of(app).chat.journal.entries
        await until(
            pilot,
            lambda: any(b'"resource' in each.data for each in entries if isinstance(each, Frame)),
        )


COMMANDS = """
greet()
open_session()
commands = [{"name": name, "description": ""} for name in ("memory", "memory show", "memory list")]
update("available_commands_update", availableCommands=commands)
while True:
    prompt = hear("session/prompt")
    say("heard " + prompt["params"]["prompt"][0]["text"])
    end(prompt)
"""


@pytest.mark.long
async def test_commands_with_spaces_are_offered_word_by_word(workplace: Path, agent: Agent) -> None:
    command = command_agent(agent(COMMANDS))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        editor, menu = chat_of(app).editor, chat_of(app).prompt.menu
        await pilot.press(*"/mem", "tab")
        await until(pilot, lambda: editor.text == "/memory ")
        await pilot.press(*"l", "tab")
        await until(pilot, lambda: editor.text == "/memory list ")
        await pilot.press("enter")
        await until(pilot, lambda: "heard /memory list" in say(app) and "● ready" in say(app))
        # A whole command is sent by Enter, unless the user has moved to another one.
        await pilot.press(*"/memory", "enter")
        await until(pilot, lambda: say(app).count("heard /memory") == 2 and "● ready" in say(app))
        await pilot.press(*"/memory")
        await until(pilot, lambda: menu.display)
        await pilot.press("down", "enter")
        await until(pilot, lambda: editor.text == "/memory show ")
        await pilot.press(*"@no", "tab")
        await until(pilot, lambda: editor.text == "/memory show @notes.txt ")


@pytest.mark.long
async def test_earlier_prompts_are_searched(workplace: Path, tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "prompts")
    for text in ("mend the parser", "write the docs\nin English", "mend the tests"):
        history.add(text, workplace)
    async with open_chat(workplace, history=lambda: history) as (app, pilot):
        await pilot.press("ctrl+r", *"mend")
        await until(pilot, lambda: "mend the parser" in say(app))
        assert "write the docs" not in say(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: chat_of(app).editor.text == "mend the parser")
        await pilot.press("ctrl+r", *" x", "escape")
        await until(pilot, lambda: chat_of(app).editor.text == "mend the parser")
        await pilot.press("ctrl+u", "up", "up")
        await until(pilot, lambda: chat_of(app).editor.text == "write the docs\nin English")


async def test_a_question_mark_is_help_where_no_text_is_written(workplace: Path) -> None:
    async with open_chat(workplace) as (app, pilot):
        chat = chat_of(app)
        await pilot.press(*"why?")
        assert chat.editor.text == "why?"
        chat.conversation.focus()
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("question_mark", "tab")
        chat.editor.clear()
        chat.editor.focus()
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("escape", "alt+o")
        await until(pilot, lambda: isinstance(app.screen, OptionsScreen))
