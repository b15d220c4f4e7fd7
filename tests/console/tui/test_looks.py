"""Every screen and state as a picture; eight of them also in a small and a large terminal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, cast

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot
from textual.widgets import Input, Static

from acp_console.agents.spec import AgentSpec, command_agent
from acp_console.kept.prompt_history import PromptHistory
from acp_console.kept.session_store import RecordedSessions, StoredSession, Usage
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.ask import PermissionTiming
from acp_inspector.control.client import RunningProxy
from acp_inspector.journal import Journal
from acp_inspector.recording.format import Header, encode_header
from tests.console.conftest import Agent
from tests.console.tui.conftest import say, settled, until

pytestmark = pytest.mark.long

SIZE: Final = (120, 40)
ALL_SIZES: Final = ((80, 24), SIZE, (200, 50))
IN_ALL_SIZES: Final = frozenset(
    {
        "home",
        "chat",
        "permission-edit",
        "form",
        "menu-commands",
        "sessions",
        "new-session",
        "traffic",
    }
)
AT_ONCE: Final = PermissionTiming(typing_pause_s=0, settle_s=0, burst_s=0)

BEFORE: Final = """\
async def submit(cart):
    check(cart)
    post(cart)
    return cart.total

async def cancel(cart):
    cart.clear()
"""
AFTER: Final = """\
async def submit(cart):
    check(cart)
    await post(cart, retries=2)
    return cart.total

async def cancel(cart):
    cart.clear()
    log("cancelled")
"""
CONFIG: Final = """\
[agents.mine]
title = "My agent"
command = ["./run", "--acp"]

[mcp.tracker]
url = "https://tracker.example.org/mcp"

[mcp.browser]
command = "browser-server"
"""
SETUP: Final = f"""
BEFORE, AFTER = {BEFORE!r}, {AFTER!r}
COMMANDS = [
    {{"name": "review", "description": "Review the changes of this branch",
     "input": {{"hint": "what to look at"}}}},
    {{"name": "test", "description": "Run the tests and mend what fails"}},
    {{"name": "compact", "description": "Summarize the conversation to free its context"}}]
MODES = {{"currentModeId": "ask", "availableModes": [
    {{"id": "ask", "name": "Ask first"}}, {{"id": "auto", "name": "Edit at once"}},
    {{"id": "plan", "name": "Plan only"}}]}}
MODELS = {{"currentModelId": "large", "availableModels": [
    {{"modelId": "large", "name": "Large, careful"}},
    {{"modelId": "small", "name": "Small, quick"}}]}}
TITLES = ("Mend the flaky checkout test", "Rename Token to Lexeme", "Draft the changelog")
KEPT = [{{"sessionId": title, "cwd": os.getcwd(), "title": title}} for title in TITLES]

greet(agentInfo={{"name": "gemini-cli", "title": "Gemini CLI", "version": "1"}},
      agentCapabilities={{"loadSession": True, "sessionCapabilities":
          {{"list": {{}}, "delete": {{}}, "fork": {{}}}}}})
tell(id=hear("session/new")["id"], result={{"sessionId": "s1", "modes": MODES, "models": MODELS}})
update("available_commands_update", availableCommands=COMMANDS)

def text(words):
    return {{"type": "content", "content": {{"type": "text", "text": words}}}}

def call(id_, title, kind, *content, status="completed", **more):
    update("tool_call", toolCallId=id_, title=title, kind=kind, status=status,
           content=list(content), **more)

DIFF = {{"type": "diff", "path": "src/checkout.py", "oldText": BEFORE,
        "newText": AFTER}}

def work(turn):
    update("session_info_update", title="Mend the flaky checkout test")
    update("agent_thought_chunk", content={{"type": "text",
        "text": "The test fails only now and then, so something is not awaited."}})
    update("plan", entries=[
        {{"content": "Reproduce the failure", "status": "completed", "priority": "high"}},
        {{"content": "Await the request in submit", "status": "in_progress", "priority": "high"}},
        {{"content": "Run the whole suite", "status": "pending", "priority": "medium"}},
        {{"content": "Write a line for the changelog", "status": "pending", "priority": "low"}}])
    call("t1", "Read src/checkout.py", "read", text("```python\\n" + BEFORE + "```"))
    call("t2", "pytest -q tests/checkout", "execute",
         text("F....\\n1 failed, 4 passed in 3.10s"), status="failed")
    call("t3", "Edit src/checkout.py", "edit", DIFF)
    update("usage_update", used=76000, size=200000, cost={{"amount": 0.42, "currency": "USD"}})
    say('''The request was **not awaited**, so the test raced with it.

1. `submit` now awaits `post`, with two retries.
2. `cancel` writes a line to the log.

```python
await post(cart, retries=2)
```

| test | before | after |
|---|---|---|
| checkout | 4 of 5 | 5 of 5 |
| refund | 9 of 9 | 9 of 9 |

Next I would run the whole suite; shall I?''')
"""
STREAMING: Final = """
prompt = hear("session/prompt")
work(prompt)
call("t4", "pytest -q", "execute", text("........\\ntests/cart ....\\ntests/refund ..."),
     status="in_progress")
say("While that runs, this is what changes for")
hear("never")
"""
FINISHED: Final = """
while True:
    prompt = hear("session/prompt")
    work(prompt)
    end(prompt)
"""
OPTIONS: Final = """
OPTIONS = [{"optionId": "once", "name": "Yes", "kind": "allow_once"},
           {"optionId": "always", "name": "Yes, and always for this file", "kind": "allow_always"},
           {"optionId": "no", "name": "No", "kind": "reject_once"}]
def consent(**tool_call):
    ask("session/request_permission", toolCall=tool_call, options=OPTIONS)

prompt = hear("session/prompt")
"""
PERMISSION: Final = f"""{OPTIONS}
consent(toolCallId="t", title="pytest -q tests/checkout", kind="execute",
        rawInput={{"command": "pytest -q tests/checkout", "cwd": "/home/ada/shop"}})
"""
LONG_PERMISSION: Final = f"""{OPTIONS}
lines = [f"rsync --archive --delete build/{{n}}/ backup/{{n}}/" for n in range(60)]
consent(toolCallId="t", title="Copy the builds", kind="execute",
        rawInput={{"command": "\\n".join(lines)}})
"""
EDIT: Final = f"""{OPTIONS}
consent(toolCallId="t", title="Edit src/checkout.py", kind="edit", content=[DIFF])
"""
FORM: Final = """
prompt = hear("session/prompt")
schema = {"type": "object", "required": ["name", "size"], "properties": {
    "name": {"type": "string", "title": "Name of the branch", "minLength": 3,
             "description": "letters and dashes"},
    "size": {"type": "integer", "minimum": 1, "title": "Commits"},
    "base": {"type": "string", "title": "Base", "oneOf": [
        {"const": "main", "title": "main"}, {"const": "next", "title": "the next release"}]},
    "push": {"type": "boolean", "title": "Push it"},
    "parts": {"type": "array", "title": "Parts", "items": {
        "type": "string", "enum": ["code", "tests", "docs"]}}}}
ask("elicitation/create", mode="form", message="How shall the branch be made?",
    requestedSchema=schema)
"""
QUESTION: Final = """
prompt = hear("session/prompt")
bases = [{"const": "main", "title": "main"}, {"const": "next", "title": "the next release"}]
schema = {"type": "object", "required": ["base"], "properties": {
    "base": {"type": "string", "title": "Base", "default": "next", "oneOf": bases}}}
ask("elicitation/create", mode="form", message="Where shall the branch begin?",
    requestedSchema=schema)
"""
PAGE: Final = """
prompt = hear("session/prompt")
ask("elicitation/create", mode="url", message="Allow access to the issue tracker",
    elicitationId="e1", url="https://tracker.example.org/authorize?client=gemini-cli&scope=issues")
"""
LOGIN: Final = """
greet(agentInfo={"name": "gemini-cli", "title": "Gemini CLI", "version": "1"}, authMethods=[
    {"id": "browser", "name": "Sign in with a browser", "description": "opens a page"},
    {"id": "key", "name": "An API key", "type": "env_var", "vars": [{"name": "EXAMPLE_API_KEY"}],
     "description": "of the provider"}])
while True:
    tell(id=hear("session/new")["id"], error={"code": -32000, "message": "log in first"})
"""
CRASH: Final = """
prompt = hear("session/prompt")
say("I will look at")
sys.stderr.write("Traceback (most recent call last):\\nMemoryError: no memory is left\\n")
sys.stderr.flush()
sys.exit(3)
"""
FAILURE: Final = """
prompt = hear("session/prompt")
work(prompt)
tell(id=prompt["id"], error={"code": -32603, "message": "the model is overloaded"})
hear("never")
"""
LISTS: Final = """
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "session/list":
        tell(id=message["id"], result={"sessions": KEPT})
"""
SUBAGENT: Final = """
def of_child(name, **members):
    tell(method="session/update",
         params={"sessionId": "child", "update": {"sessionUpdate": name, **members}})

def written(words):
    return {"type": "text", "text": words}

cancel = {"cancel": {}}
greet(version=2, info={"name": "gemini-cli", "title": "Gemini CLI", "version": "1"},
      capabilities={"session": {}})
tell(id=hear("session/new")["id"], result={"sessionId": "s1"})
prompt = hear("session/prompt")
tell(id=prompt["id"], result={"messageId": "m1"})
update("subagent_update", sessionId="child", title="Find the other flaky tests",
       capabilities=cancel)
of_child("state_update", state="running")
of_child("agent_message_chunk", messageId="c1", content=written(
    "I run the suite **twenty times** and note what fails."))
of_child("tool_call_update", toolCallId="c", title="pytest -q --count 20", kind="execute",
         status="in_progress", content=[{"type": "content", "content": written("......F....")}])
update("terminal_update", terminalId="t1", command="make watch", capabilities=cancel)
update("state_update", state="running", background=[{"type": "terminal", "terminalId": "t1"}])
hear("never")
"""
ATTACHMENTS: Final = """
prompt = hear("session/prompt")
def attach(**block):
    update("agent_message_chunk", content=block)
say("This is the page before and after, the log, and what the issue says.")
attach(type="image", mimeType="image/png", data="aGVsbG8=" * 900, uri="file:///before.png")
attach(type="image", mimeType="image/png", data="aGVsbG8=" * 1200, uri="file:///after.png")
attach(type="resource", resource={"uri": "file:///checkout.log", "text": "12 lines " * 12})
attach(type="resource_link", name="Issue 12: the checkout test is flaky",
       uri="https://tracker.example.org/12")
end(prompt)
hear("never")
"""
ACCOUNT: Final = """
for line in sys.stdin:
    message = json.loads(line)
    result = {"initialize": {"protocolVersion": 1,
            "agentInfo": {"name": "gemini-cli", "title": "Gemini CLI", "version": "1"},
            "authMethods": [{"id": "browser", "name": "Sign in with a browser"}],
            "agentCapabilities": {"auth": {"status": {}, "logout": {}}}},
        "session/new": {"sessionId": "s1"},
        "auth/status": {"state": "authenticated", "accounts": [
            {"label": "Ada", "email": "ada@example.org", "active": True},
            {"label": "Build machine", "organization": "Example"}]}}.get(message.get("method"))
    if result is not None:
        tell(id=message["id"], result=result)
"""
WAITS: Final = "hear('never')"
DONE: Final = "shall I?"


@dataclass(frozen=True)
class State:
    """A state of the console: how it is reached."""

    steps: Sequence[str | list[str] | Callable[[ConsoleApp], None]]
    """Texts to wait for, keys to press, and what is changed."""
    script: str | None = None
    """What the agent does after `SETUP`, or from the beginning; None: Home is shown."""
    is_furnished: bool = False
    """Whether there are agents, sessions, proxies and recordings."""
    theme: str | None = None
    protocol: int = 1


READY: Final = "● ready"
ASK: Final[list[str]] = [*"mend the flaky test", "enter"]
TALK: Final = (READY, ASK, DONE, READY)
# Frames that name no directory of this machine.
UPDATES: Final = (["slash"], [*"session/update"], ["enter"])
TRAFFIC: Final = (*TALK, ["ctrl+t"], "1 Tree", *UPDATES)


def work_in_shop(app: ConsoleApp) -> None:
    app.screen.query_one("#setup-cwd", Input).value = "/home/ada/shop"


STATES: Final = {
    "home-first": State(["more are known"]),
    "home": State(["Continue", "gemini --acp"], is_furnished=True),
    "home-filtered": State(["Continue", "more are known", [*"gem"], "Agents"], is_furnished=True),
    "home-nothing": State(["more are known", [*"xyzzy"], "Nothing matches"]),
    "home-confirm": State(
        ["more are known", [*"gemini --acp", "enter"], "The catalogue starts"], is_furnished=True
    ),
    "chat-empty": State([READY, "Write to the agent"], WAITS),
    "chat-streaming": State([READY, ASK, "this is what changes"], STREAMING),
    "chat-queued": State(
        [READY, ASK, "this is what changes", [*"and then refund", "enter"], "queued"], STREAMING
    ),
    "chat": State(TALK, FINISHED),
    "chat-light": State(TALK, FINISHED, theme="acp-light"),
    "chat-colorblind": State(TALK, FINISHED, theme="acp-colorblind"),
    "chat-unfolded": State([*TALK, ["tab"], ["k"], ["enter"], "cart.clear()"], FINISHED),
    "permission": State([READY, ASK, "Press a number"], PERMISSION),
    "permission-unread": State([READY, ASK, "Read to the end first"], LONG_PERMISSION),
    "permission-edit": State([READY, ASK, "Read to the end first"], EDIT),
    "permission-split": State([READY, ASK, "Press a number", ["d"]], EDIT),
    "form": State([READY, ASK, "How shall the branch"], FORM),
    "form-errors": State([READY, ASK, "How shall the branch", ["ctrl+s"], "✗"], FORM),
    "question": State([READY, ASK, "Press a number"], QUESTION),
    "page": State([READY, ASK, "tracker.example.org"], PAGE),
    "login": State(["The agent wants you to log in"], LOGIN),
    "menu-commands": State([READY, ["slash"], "/compact"], WAITS),
    "menu-files": State([READY, [*"look at @che"], "src/checkout.py"], WAITS),
    "menu-history": State([READY, ["ctrl+r"], "rename Token"], WAITS),
    "options": State([READY, "Ask first", ["f6"], "Type to filter"], WAITS),
    "sessions": State([READY, ["f7"], "Draft the changelog"], LISTS),
    "crashed": State([READY, ASK, "alt+r restarts the agent"], CRASH),
    "failed": State([READY, ASK, "the model is overloaded"], FAILURE),
    "search": State([*TALK, ["ctrl+f"], [*"refund"]], FINISHED),
    "help": State([READY, ["f1"], "Keys"], WAITS),
    "palette": State([READY, ["ctrl+p"], "Search for commands"], WAITS),
    "settings": State(["more are known", ["alt+s"], "not there yet"]),
    "account": State([READY, ["f12"], "ada@example.org"], ACCOUNT),
    "work": State([READY, ASK, "Subagent", ["f9"], "x cancels"], SUBAGENT, protocol=2),
    "subagent": State(
        [READY, ASK, "Subagent", ["f9"], "x cancels", ["enter"], "twenty times"],
        SUBAGENT,
        protocol=2,
    ),
    "new-session": State([READY, ["alt+n"], "MCP servers", work_in_shop], WAITS, is_furnished=True),
    "attachments": State([READY, ASK, "Issue 12", READY, ["tab"], ["o"], "s saves"], ATTACHMENTS),
    "traffic": State(TRAFFIC, FINISHED),
    "rewound": State([*TRAFFIC, ["g"], [*"jjjjj"]], FINISHED),
    "save": State([*TRAFFIC, ["ctrl+s"], "replace secrets"], FINISHED),
    "compare-with": State([*TRAFFIC, ["D"], "trouble"], FINISHED, is_furnished=True),
    "quit": State([READY, ASK, "this is what changes", ["ctrl+q"], "Quit?"], STREAMING),
}


class KeptSessions(RecordedSessions):
    """Two sessions of this directory, and one of another."""

    def __init__(self, cwd: Path) -> None:
        super().__init__(cwd.parent / "sessions")
        self._cwd = cwd

    def sessions(
        self, *, agent: str | None = None, cwd: Path | None = None, with_empty: bool = False
    ) -> list[StoredSession]:
        del agent, cwd, with_empty
        now = datetime.now(UTC)
        one = StoredSession(
            id="a1",
            session_id="a1",
            agent=AgentSpec("gemini-cli", "Gemini CLI", ("gemini", "--acp"), ""),
            cwd=self._cwd,
            title="Mend the flaky checkout test",
            started=now,
            last_used=now - timedelta(minutes=12, seconds=20),
            state="closed",
            prompts=3,
            usage=Usage(76_000, 200_000, 0.42, "USD"),
            draft="",
            is_empty=False,
            parent=None,
            recording=self._cwd / "none",
        )
        yesterday = now - timedelta(days=1, minutes=1)
        return [
            one,
            replace(
                one,
                title="Rename Token to Lexeme",
                state="interrupted",
                last_used=yesterday,
                usage=Usage(),
                draft="and the docs",
            ),
        ]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a home where nothing changes from machine to machine."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    cwd = tmp_path / "shop"
    (cwd / "src").mkdir(parents=True)
    (cwd / "src" / "checkout.py").write_text(BEFORE)
    (cwd / "notes.md").write_text("# Notes\n")
    # The dialog to save says where it is.
    monkeypatch.chdir(cwd)
    return cwd


def furnish(place: Path) -> None:
    """Add agents and a recording."""
    programs = place.parent / "programs"
    programs.mkdir()
    for name in ("gemini", "npx"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    config = place.parent / "CONFIG" / "acp-console" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG)
    path = place / "trouble.acp.ndjson"
    header = Header("2026-01-01T00:00:00Z", "acp-console", "1", about="what went wrong on Tuesday")
    path.write_bytes(encode_header(header))
    yesterday = time.time() - 90_000
    os.utime(path, (yesterday, yesterday))


def app_in(state: State, place: Path, agent: Agent) -> ConsoleApp:
    history = PromptHistory(place.parent / "prompts")
    for text in ("mend the parser", "write the docs\nin English", "rename Token to Lexeme"):
        history.add(text, place)
    if state.script is None:
        store = KeptSessions(place) if state.is_furnished else None
        proxy = RunningProxy(place, "work", 4242, ("my-agent", "--acp"), str(place), "", None)
        proxies = [proxy] if state.is_furnished else []
        return ConsoleApp(cwd=place, store=store, theme=state.theme, proxies=lambda: proxies)
    is_whole = "initialize" in state.script or "greet(" in state.script
    script = state.script if is_whole else SETUP + state.script
    spec = replace(command_agent(agent(script)), title="Gemini CLI").with_protocol(state.protocol)
    return ConsoleApp(
        agent=spec,
        start="chat",
        cwd=place,
        timing=AT_ONCE,
        history=lambda: history,
        theme=state.theme,
        proxies=list,
        # Frames are at no time.
        journals=lambda: Journal(clock=lambda: 0.0),
    )


async def reach(pilot: Pilot[int], state: State) -> None:
    for step in state.steps:
        if isinstance(step, str):
            await until(pilot, lambda step=step: step in say(pilot.app))
        elif callable(step):
            step(cast("ConsoleApp", pilot.app))
        else:
            await pilot.press(*step)
    for screen in pilot.app.screen_stack:
        for version in screen.query("#version").results(Static):
            version.update("1.0")


@pytest.mark.parametrize("name", STATES)
async def test_it_looks_as_it_should(
    name: str,
    place: Path,
    agent: Agent,
    picture: SnapshotAssertion,
) -> None:
    state = STATES[name]
    if state.is_furnished:
        furnish(place)
    app = app_in(state, place, agent)
    # The spinner stands still.
    app.animation_level = "none"
    sizes = ALL_SIZES if name in IN_ALL_SIZES else (SIZE,)
    async with app.run_test(size=sizes[0]) as pilot:
        await reach(pilot, state)
        for width, height in sizes:
            await pilot.resize_terminal(width, height)
            drawn = await settled(pilot)
            assert drawn == picture(name=f"{width}x{height}")
